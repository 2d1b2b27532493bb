//! Tests of the parser on hostile texts: each one gives errors or a tree, in bounded time, on a small stack, and never
//! a panic.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use raceflip::lang::{Diagnostic, MAX_SOURCE, Source, ast, parse, print, render};

/// Stack size in bytes of every pass over a tree in these tests: half the stack of a test thread.
const STACK: usize = 1 << 20;
/// Time limit for a text, far more than a megabyte needs even in an unoptimized build on a busy machine.
const LONG: Duration = Duration::from_secs(10);

/// Parses a text, renders its errors or prints, compares and drops its tree, on a small stack. Returns the result of
/// parsing.
fn survive(text: &str) -> Result<ast::File, Vec<Diagnostic>> {
    let source = Source::new("hostile.race", text).unwrap();
    let begun = Instant::now();
    let result = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            let result = parse(&source);
            match &result {
                Ok(tree) => {
                    let printed = Source::new("printed.race", &print(tree));
                    // Indentation may make the printed text exceed the size limit; `Source::new` then returns an error.
                    if let Ok(printed) = printed {
                        assert_eq!(parse(&printed).as_ref(), Ok(tree));
                    }
                    drop(tree.clone());
                }
                Err(errors) => {
                    assert!((1..=20).contains(&errors.len()), "{} errors", errors.len());
                    for error in errors {
                        assert!(error.span.start <= error.span.end && error.span.end as usize <= source.text().len());
                    }
                    assert!(!render(&source, errors, true).is_empty());
                    let plain = render(&source, errors, false);
                    assert!(plain.len() < 200_000, "{} bytes of errors", plain.len());
                }
            }
            result
        })
        .unwrap()
        .join()
        .unwrap();
    assert!(begun.elapsed() < LONG, "took {:?}", begun.elapsed());
    result
}

#[test]
fn nested_too_deep() {
    let many = 100_000;
    let cases = [
        ("const a = ", "(", "1", ")"),
        ("const a = ", "!", "b", ""),
        ("const a = ", "-", "1", ""),
        ("const a = ", "f(", "1", ")"),
        ("const a = ", "b[", "1", "]"),
        ("const a = ", "1 || (1 && (1 == (1 | (1 ^ (1 & (1 << (1 + (1 * (", "1", ""),
        ("var a = [", "[", "", "]"),
        ("var a: ", "list[", "int", "]"),
        ("var a: ", "int[b", "1", "]"),
        ("init ", "{", "", "}"),
        ("init { ", "if a { ", "", "}"),
        ("init { if a { } ", "else if a { } ", "", "}"),
        ("init { ", "loop { ", "", "}"),
        ("init { ", "try { } catch { ", "", "}"),
        ("init { ", "sync ", "", ""),
        ("init { ", "await ", "", ""),
        ("init { x = ", "(post f(", "", ")"),
        ("property p always { ", "all i in 0..1: ", "true", " }"),
        ("expect outcomes of a: ok ", "[", "1", "]"),
        ("class C ", "{ var a ", "", "}"),
        ("", "{", "", ""),
        ("", "}", "", ""),
        ("", "task f() {\n", "", ""),
    ];
    for (before, open, inner, close) in cases {
        for repeats in [100, 130, 300, many] {
            let repeats = repeats.min((MAX_SOURCE - 100) / (open.len() + close.len()).max(1));
            let text = format!("{before}{}{inner}{}", open.repeat(repeats), close.repeat(repeats));
            let result = survive(&text);
            assert!(repeats == 100 || result.is_err() || open.starts_with("expect"), "{before}{open} {repeats}");
        }
    }
}

#[test]
fn depth_that_is_allowed() {
    for (before, open, inner, close) in [
        ("const a = ", "(", "1", ")"),
        ("const a = ", "!", "b", ""),
        ("const a = ", "f(", "1", ")"),
        ("var a: ", "list[", "int", "]"),
        ("init { ", "if a { ", "", "}"),
        ("init { if a { } ", "else if a { } ", "", ""),
    ] {
        let end = if before.starts_with("init") { "}" } else { "" };
        let text = format!("{before}{}{inner}{}{end}", open.repeat(100), close.repeat(100));
        assert!(survive(&text).is_ok(), "{text}");
    }
}

#[test]
fn long_chains() {
    for link in [" + 1", " && b", ".f", "[0]", ".f()", " * -1"] {
        assert!(survive(&format!("const a = b{}", link.repeat(250))).is_ok(), "{link}");
        let result = survive(&format!("const a = b{}", link.repeat(100_000)));
        assert!(result.unwrap_err()[0].message.contains("too long"), "{link}");
    }
    // This nesting is as deep as both limits together allow.
    let deep = format!("const a = {}1{}", "1 + (1 + -f(".repeat(25), "))".repeat(25));
    assert!(survive(&deep).is_ok());
}

#[test]
fn a_megabyte_of_anything() {
    let filled = |piece: &str| piece.repeat(MAX_SOURCE / piece.len());
    for piece in [
        "a",
        "a ",
        "a\n",
        "0",
        "9 ",
        "\"",
        "\" ",
        "\"\n",
        "\\",
        "@",
        "@a: ",
        "#",
        "# ",
        "\u{0}",
        "\u{e9}",
        "\u{1f980} ",
        ";",
        "\n",
        "//",
        "/*",
        "/* */",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "{}",
        "} {",
        "( [ {",
        ",",
        ".",
        "..",
        "=",
        "==",
        "~",
        "task f() { }\n",
        "task f() { x = }\n",
        "task f() {\n",
        "if x {",
        "else ",
        "expect race @a ~ ",
        "post f() to m ",
        "var x = 1\n",
        "expect outcomes: ok, ",
        "x = y\n",
        "let x = [1, ",
        "a + ",
        "a < b < c\n",
        "\t",
        "\u{1b}[31m",
        "_",
        "\u{feff}",
        "'",
    ] {
        let _ = survive(&filled(piece));
        let _ =
            survive(&format!("task f() {{ {} }}", &filled(piece)[..filled(piece).floor_char_boundary(MAX_SOURCE / 2)]));
    }
    let lines: String = (0..20_000).map(|line| format!("var v{line} = {line}\n")).collect();
    assert_eq!(survive(&lines).unwrap().items.len(), 20_000);
}

#[test]
fn odd_texts() {
    let fine = ["", "\n", "\u{feff}", "   ", "// only a comment", ";;;\n;", "var a\r\nvar b\rvar c", "\u{feff}var a"];
    for text in fine {
        assert!(survive(text).is_ok(), "{text:?}");
    }
    assert!(survive("const a = -9223372036854775808").is_ok());
    let bad = [
        "\u{0}",
        "var a\u{0}b",
        "\"",
        "app \"",
        "app \"a\\",
        "app \"\\q\"",
        "task",
        "task f",
        "task f(",
        "task f(a: ",
        "task f() {",
        "init { x",
        "init { @",
        "init { @a",
        "init { @a:",
        "init { @a: }",
        "expect",
        "expect race",
        "expect race @a ~",
        "/*",
        "/* a */ b",
        "const a = 9223372036854775808",
        "const a = 99999999999999999999999999999",
        "const a = 0x",
        "const a = 1.5",
        "const a = 12ab",
        "const a = 0xfffffffffffffffff",
        "}",
        "init }",
        "init { } }",
        "var a b",
        "init { else { } }",
        "init { catch }",
        "init { let }",
        "var \u{e9} = 1",
        "init { x = y z }",
        "property p always { }",
        "property p always { a; b }",
    ];
    for text in bad {
        assert!(survive(text).is_err(), "{text:?}");
    }
}

#[test]
fn rendering_bears_any_span() {
    let check = |text: &str, start, end| {
        let source = Source::new("a.race", text).unwrap();
        let span = ast::Span { start, end };
        let error = Diagnostic::new(span, "a", "b").note(span, "c").note(ast::Span { start: 0, end: u32::MAX }, "d");
        for colour in [false, true] {
            assert!(render(&source, std::slice::from_ref(&error), colour).len() < 10_000);
        }
    };
    let long = "\u{e9}".repeat(300_000);
    for text in ["", "\n", "a", "a\n", "\u{e9}\n\u{e9}", "\t\u{0}\u{1b}[1m\n\n\n", long.as_str()] {
        for (start, end) in
            [(0, 0), (0, 1), (1, 1), (1, 2), (2, 1), (3, 500_000), (400_001, 400_003), (u32::MAX, u32::MAX)]
        {
            check(text, start, end);
        }
    }
}

/// Generates words and symbols of the language in random order.
fn soup() -> impl Strategy<Value = String> {
    let pieces = [
        "if",
        "else",
        "while",
        "for",
        "in",
        "loop",
        "break",
        "return",
        "let",
        "new",
        "null",
        "self",
        "assert",
        "await",
        "fail",
        "throw",
        "try",
        "catch",
        "finally",
        "sync",
        "post",
        "fork",
        "to",
        "after",
        "at",
        "front",
        "async",
        "as",
        "wait",
        "with",
        "queue",
        "quit",
        "cancel",
        "all",
        "on",
        "enable",
        "register",
        "task",
        "thread",
        "looper",
        "event",
        "expect",
        "race",
        "order",
        "outcomes",
        "ok",
        "failure",
        "init",
        "class",
        "var",
        "atomic",
        "property",
        "always",
        "end",
        "list",
        "int",
        "x",
        "y",
        "f",
        "@a",
        "@",
        ":",
        "~",
        "(",
        ")",
        "()",
        "[",
        "]",
        "{",
        "}",
        "{ }",
        ",",
        ".",
        "..",
        "=",
        "==",
        "+=",
        "+",
        "-",
        "*",
        "!",
        "<",
        "&&",
        "\"s\"",
        "0",
        "17",
        ";",
        "\n",
        "\n",
        "// c\n",
        "9223372036854775808",
        "\u{e9}",
        "\"",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..60).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(source) = Source::from_bytes("a.race", &bytes) {
            let _ = survive(source.text());
        }
    }

    #[test]
    fn random_text(text in "\\PC{0,200}") {
        let _ = survive(&text);
    }

    #[test]
    fn token_soup(text in soup()) {
        let _ = survive(&text);
    }

    #[test]
    fn statement_soup(text in soup()) {
        let _ = survive(&format!("task f() {{ {text} }}"));
    }

    #[test]
    fn models_with_a_hole(which in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(), length in 0usize..40, insert in soup()) {
        let model = super::lang_parse::models();
        let (_, text) = which.get(model);
        let from = text.floor_char_boundary(from.index(text.len()));
        let to = text.floor_char_boundary((from + length).min(text.len()));
        let insert = if length % 2 == 0 { insert.as_str() } else { "" };
        let _ = survive(&format!("{}{insert}{}", &text[..from], &text[to..]));
    }
}
