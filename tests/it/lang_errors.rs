//! Tests of the rendered error messages for typical mistakes.

use insta::assert_snapshot;
use raceflip::lang::{Source, parse, render};

fn errors(text: &str) -> String {
    let source = Source::new("a.race", text).unwrap();
    render(&source, &parse(&source).unwrap_err(), false)
}

#[test]
fn typo_in_an_item() {
    assert_snapshot!(errors("loper main\nvar x = 0\n"), @r#"
        error: `loper` does not begin an item
         --> a.race:1:1
          |
        1 | loper main
          | ^^^^^ expected an item
          |
          = help: did you mean `looper`?
    "#);
}

#[test]
fn typo_in_a_statement() {
    assert_snapshot!(errors("task f() {\n    pots g() to main\n    x = 1\n}\n"), @r#"
        error: `pots` does not begin a statement
         --> a.race:2:5
          |
        2 |     pots g() to main
          |     ^^^^ expected a statement
          |
          = help: did you mean `post`?
    "#);
}

#[test]
fn async_before_the_place() {
    assert_snapshot!(errors("task f() {\n    post g() async to main\n}\n"), @r#"
        error: expected `to`, found `async`
         --> a.race:2:14
          |
        2 |     post g() async to main
          |              ^^^^^ expected `to`
          |
          = help: put `async` after the place: `post g() to main async`
    "#);
}

#[test]
fn operation_inside_an_expression() {
    assert_snapshot!(errors("task f() {\n    let ok = 1 + post g() to main\n}\n"), @r#"
        error: `post` cannot be used inside an expression
         --> a.race:2:18
          |
        2 |     let ok = 1 + post g() to main
          |                  ^^^^ it can only be a whole right side
          |
          = help: put it in parentheses, `(post ...)`, or bind its value with `let`
    "#);
}

#[test]
fn chained_comparison() {
    assert_snapshot!(errors("property p always { 0 <= x < N }\n"), @r#"
        error: comparisons do not chain
         --> a.race:1:28
          |
        1 | property p always { 0 <= x < N }
          |                       --   ^ this is a second comparison
          |                       |
          |                       this is the first one
          |
          = help: write `a < b && b < c`, or put one of them in parentheses
    "#);
}

#[test]
fn several_at_once() {
    assert_snapshot!(errors(
        "task f() {\n    x = = 1\n    y = 2\n    i++\n    let for = 3\n}\nvar z = [1, 2\nexpect rce @a ~ @b\n"
    ), @r#"
        error: expected an expression, found `=`
         --> a.race:2:9
          |
        2 |     x = = 1
          |         ^ expected an expression
          |
          = help: use `==` for equality

        error: `i` does not begin a statement
         --> a.race:4:5
          |
        4 |     i++
          |     ^ expected a statement
          |
          = help: write `i += 1`

        error: `for` is a reserved word
         --> a.race:5:9
          |
        5 |     let for = 3
          |         ^^^ expected the name of a local variable
          |
          = help: choose another name

        error: expected `]`, found `expect`
         --> a.race:8:1
          |
        7 | var z = [1, 2
          |         - this one is not closed
        8 | expect rce @a ~ @b
          | ^^^^^^ expected `]`

        error: expected an expectation, found `rce`
         --> a.race:8:8
          |
        8 | expect rce @a ~ @b
          |        ^^^ expected an expectation
          |
          = help: did you mean `race`?
    "#);
}

#[test]
fn a_block_that_is_not_closed() {
    assert_snapshot!(errors("task f() {\n    if x {\n        y = 1\n\ntask g() { }\n"), @r#"
        error: the `{` is not closed
         --> a.race:2:10
          |
        2 |     if x {
          |          ^ there is no `}` before the next item
        ...
        5 | task g() { }
          | ---- expected `}` before this
    "#);
}

#[test]
fn a_brace_on_its_own_line() {
    assert_snapshot!(errors("task f()\n{\n    x = 1\n}\n"), @r#"
        error: expected the `{` of the task, found the end of the line
         --> a.race:1:9
          |
        1 | task f()
          |         ^ expected the `{` of the task
          |
          = help: a newline ends a statement: put the `{` on the line before
    "#);
}

#[test]
fn a_string_that_does_not_end() {
    assert_snapshot!(errors("app \"music\nvar x = 'a'\n"), @r#"
        error: the string does not end
         --> a.race:1:5
          |
        1 | app "music
          |     ^ the string begins here
          |
          = help: end a string with `"` on the line that it begins on, and write `\n` for a newline in it

        error: unknown character `'`
         --> a.race:2:9
          |
        2 | var x = 'a'
          |         ^^^ the language has no such character
          |
          = help: put strings in straight double quotes
    "#);
}

#[test]
fn a_reserved_word() {
    assert_snapshot!(errors("looper loop\n"), @r#"
        error: `loop` is a reserved word
         --> a.race:1:8
          |
        1 | looper loop
          |        ^^^^ expected the name of the looper
          |
          = help: choose another name
    "#);
}

#[test]
fn else_on_its_own_after_a_semicolon() {
    assert_snapshot!(errors("task f() {\n    if x { y = 1 };\n    else { y = 2 }\n}\n"), @r#"
        error: expected a statement, found `else`
         --> a.race:3:5
          |
        3 |     else { y = 2 }
          |     ^^^^ expected a statement
          |
          = help: put `else` right after the `}` that it belongs to, without a `;`
    "#);
}

#[test]
fn a_fraction_and_a_number_too_large() {
    assert_snapshot!(errors("const A = 1.5\nconst B = 9223372036854775808\n"), @r#"
        error: expected the name of a field, found `5`
         --> a.race:1:13
          |
        1 | const A = 1.5
          |             ^ expected the name of a field
          |
          = help: use integers: the language has no fractions

        error: the number is too large
         --> a.race:2:11
          |
        2 | const B = 9223372036854775808
          |           ^^^^^^^^^^^^^^^^^^^ it does not fit into 64 bits
          |
          = help: use a number up to 9223372036854775807
    "#);
}

#[test]
fn a_local_var() {
    assert_snapshot!(errors("task f() {\n    var x = 1\n}\n"), @r#"
        error: `var` cannot be used in a block
         --> a.race:2:5
          |
        2 |     var x = 1
          |     ^^^ it can be used only at the top of a file
          |
          = help: declare a local variable with `let`
    "#);
}

#[test]
fn a_verb_without_its_operand() {
    assert_snapshot!(errors("task f() {\n    use\n}\n"), @r#"
        error: this is not a statement
         --> a.race:2:5
          |
        2 |     use
          |     ^^^ it has no effect
          |
          = help: complete the statement: `use` needs something after it, and a call is `use()`
    "#);
}

#[test]
fn words_of_other_languages() {
    let check = |statement: &str, help: &str| {
        let text = errors(&format!("task f() {{\n    {statement}\n}}\n"));
        assert!(text.contains(&format!("= help: {help}")), "{statement}:\n{text}");
    };
    check("int y = 3", "a local variable is `let x = 0`");
    check("elseif x { }", "write `else if`");
    check("synchronized m { }", "write `sync m { ... }`");
    check("do { }", "write `loop { ... }`");
    check("switch x { }", "write `if`, `else if` and `else`");
    check("for (i = 0; i < 3; i++) { }", "write `for i in 0..3 { ... }`");
    check("x == 1", "a comparison or sum alone does nothing");
    check("log == 1", "a comparison or sum alone does nothing");
}
