//! Table tests of the lexer: source texts and their tokens.

use super::*;

/// Formats tokens as text: words and symbols as written, `^` before a token whose newline ends a statement, `S<value>`
/// for a string.
fn tokens(text: &str) -> String {
    let lexed = lex(text);
    let shown = lexed.tokens.iter().map(|token| {
        let written = &text[token.span.start as usize..token.span.end as usize];
        let shown = match token.kind {
            TokenKind::Str(index) => format!("S<{}>", lexed.strings[index]),
            TokenKind::Int(value) => value.to_string(),
            TokenKind::Unknown => "?".to_owned(),
            TokenKind::End => "end".to_owned(),
            _ => written.to_owned(),
        };
        if token.newline { format!("^{shown}") } else { shown }
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn tokens_and_newlines() {
    let check = |text: &str, expected: &str| assert_eq!(tokens(text), expected, "{text:?}");
    check("", "end");
    check("a\nb", "a ^b end");
    check("a // c\n\n // d\nb\n", "a ^b end");
    check("a +\nb,\nc =\nd ==\ne", "a + b , c = d == e end");
    check("}\nelse {\n}\ncatch {\n}\n\nfinally", "} else { ^} catch { ^} finally end");
    check("elsewhere\nelse_", "elsewhere ^else_ end");
    check("a<=b<<c<d", "a <= b << c < d end");
    check("0..N 1.x ..= a", "0 .. N 1 . x .. = a end");
    check("a-=-1--b", "a -= - 1 - - b end");
    check("0x1F 1_000 0X_f", "31 1000 15 end");
    check("9223372036854775808", "9223372036854775808 end");
    check(r#""a\"b\\\n" "" x"#, "S<a\"b\\\n> S<> x end");
    check("\"a\nb", "S<a> ^b end");
    check("a $$$ b 'x y' c", "a ? b ? c end");
    check("@a:b~@c", "@ a : b ~ @ c end");
}

#[test]
fn errors() {
    let check = |text: &str, expected: &[&str]| {
        let messages: Vec<_> = lex(text).errors.into_iter().map(|error| error.message).collect();
        assert_eq!(messages, expected, "{text:?}");
    };
    check("a", &[]);
    check("9223372036854775809 0x8000000000000001", &["the number is too large"; 2]);
    check("1a 0x 0b1 1.5 _1", &["this is not a number"; 3]);
    check("\"a", &["the string does not end"]);
    check("\"\\q\\u\"", &["unknown escape in a string"; 2]);
    check("\"\\\n\"", &["the string does not end"; 2]);
    check("/* a\n b */ c", &["there are no `/* */` comments"]);
    check("\u{0}\u{0}$", &["unknown character U+0000"]);
    check("\u{e9}t\u{e9}", &["the name has letters that are not ASCII"]);
    check(&"# ".repeat(1000), &["unknown character `#`"; MAX_ERRORS]);
}

#[test]
fn comments_are_kept() {
    let source = Source::new("a.race", "// a\nx // b\n\"// c\" //").unwrap();
    let texts: Vec<_> =
        comments(&source).into_iter().map(|at| &source.text()[at.start as usize..at.end as usize]).collect();
    assert_eq!(texts, ["// a", "// b", "//"]);
}
