//! Tests of warnings about constructs that are allowed but probably not intended.

use raceflip::lang::{Source, parse, warnings};

fn check(text: &str, expected: &[&str]) {
    let source = Source::new("a.race", text).unwrap();
    let file = parse(&source).unwrap();
    let found: Vec<String> = warnings(&source, &file).into_iter().map(|w| w.message).collect();
    assert_eq!(found, expected, "{text}");
}

const BASE: &str = "var x = 0\nlooper main\nthread t { post f() to main }\ntask f() { x = 1 }\n";

fn with(more: &str, expected: &[&str]) {
    check(&format!("{BASE}{more}\n"), expected);
}

#[test]
fn what_nothing_uses() {
    with("", &[]);
    with("task g() { x = 2 }", &["nothing runs the task `g`"]);
    // A task that posts itself is not run by anything else, and the lock that only this task uses is unused.
    with(
        "lock l; task g() { sync l { post g() to main } }",
        &["nothing uses the lock `l`", "nothing runs the task `g`"],
    );
    with("event e on main { x = 2 }", &["nothing enables the event `e`"]);
    with("event e on main { x = 2 }; thread u { disable e }", &["nothing enables the event `e`"]);
    with("event e on main { x = 2 }; thread u { enable e }", &[]);
    with("event e on main initially 1 { x = 2 }", &[]);
    with("looper other", &["nothing is posted to the looper `other`"]);
    with("looper other { x = 3 }", &[]);
    with(
        "mutex m; condition c; semaphore s = 1",
        &["nothing uses the mutex `m`", "nothing uses the condition `c`", "nothing uses the semaphore `s`"],
    );
    with("const N = 2", &["nothing uses the constant `N`"]);
    with("const N = 2; expect no failure if N == 2", &[]);
    with("var y = 0", &["nothing uses the variable `y`"]);
    with("class A { var x = 0 }", &["nothing uses the class `A`"]);
    // An `expect` line runs nothing, but it uses variables.
    with("var y = 0; expect outcomes of y: ok 0", &[]);
    with("listener L; task g() { x = 2 }; thread u { register g to L; perform L() }", &[]);
    // Labels and fields have names of their own, so they do not use a lock of the same name.
    with("lock l; thread u { @l: x = 2 }", &["nothing uses the lock `l`"]);
    // A branch that a constant rules out still counts as a use.
    with("const FIXED = 1; lock l; thread u { if FIXED == 0 { sync l { x = 2 } } }", &[]);
}

#[test]
fn a_model_in_which_nothing_starts() {
    check("var x = 0\n", &["nothing uses the variable `x`", "nothing starts in this model"]);
    check(
        "looper main\ntask f() { skip }\n",
        &["nothing is posted to the looper `main`", "nothing runs the task `f`", "nothing starts in this model"],
    );
}

#[test]
fn an_exception_with_the_name_of_java() {
    with("thread u { throw NullPointerException }", &["`NullPointerException` is an exception of the model's own"]);
    with("thread u { throw Oops }", &[]);
}

#[test]
fn parts_of_kinds_that_do_nothing() {
    let kind = "looper main\nkind lamp {\n    stage dark, lit, broken, odd\n    verb plug makes { ask glow() }\n";
    let rows =
        "    glow: dark -> lit by request { if true { stage = odd } }\n    blink: during lit by request { skip }\n}\n";
    let text = format!("{kind}{rows}lamp L on main {{ }}\n");
    check(
        &format!("{text}thread t {{ plug L }}\n"),
        &["no row reaches the stage `broken`", "no verb asks for the row `blink`"],
    );
    check(
        &format!("{text}thread t {{ skip }}\n"),
        &[
            "nothing is posted to the looper `main`",
            "nothing uses the kind `lamp`",
            "no row reaches the stage `broken`",
            "no verb asks for the row `blink`",
            "nothing uses the component `L`",
        ],
    );
}
