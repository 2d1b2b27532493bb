//! Tests of `raceflip test --bless`: lines that do not hold are rewritten if the correct line is known.

use crate::cli::{FOUND, REFUSED, Ran, call, file, scratch};

const NOTHING: i32 = 0;

const APP: &str = "var x = 0\nlock m\nthread a { @a: x = 1; sync m { @na: notify m } }\nthread b { @b: x = 2; @c: assert x == 2, \"lost\" }\n";

/// Blesses a model with these lines; returns its new text and the output.
fn blessed(name: &str, text: &str) -> (String, Ran) {
    let folder = scratch(name);
    let path = file(&folder, "m.race", text);
    let run = call(&["test", "--bless", "--walks", "300", "--trials", "60", "--no-save", &path]);
    (std::fs::read_to_string(&path).unwrap(), run)
}

#[test]
fn each_kind_of_line_says_what_is_so() {
    let cases = [
        ("expect no failure", "expect failure"),
        ("expect  failure \"lost\"", "expect  failure \"lost\""),
        ("expect no  failure \"lost\" at @c // c", "expect failure \"lost\" at @c // c"),
        ("expect deadlock", "expect no deadlock"),
        ("expect stuck   // no", "expect no stuck   // no"),
        ("expect livelock", "expect no livelock"),
        ("expect outcomes: ok // c", "expect outcomes: ok, failure \"lost\" // c"),
        ("expect outcomes of x:  ok 7,\n    deadlock", "expect outcomes of x:  ok 1, ok 2, failure \"lost\""),
        ("expect order @a, @b: never", "expect order @a, @b: real"),
        ("expect order @a, @a: real", "expect order @a, @a: never"),
        ("expect no race @a ~ @b", "expect race @a ~ @b: harmful"),
        ("expect race @a ~ @b: false", "expect race @a ~ @b: harmful"),
    ];
    for (i, (line, then)) in cases.iter().enumerate() {
        // The text before and after the line stays the same to the byte.
        let text = |line: &str| format!("// before\n{APP}{line}\n\n   // after\n");
        let (now, run) = blessed(&format!("bless-{i}"), &text(line));
        assert_eq!(now, text(then), "{}", run.err);
        assert_eq!(run.status, NOTHING, "{line}: {}", run.err);
        assert_eq!(run.err.contains("blessed "), line != then, "{line}: {}", run.err);
        let again = scratch(&format!("bless-{i}-again"));
        let again = file(&again, "m.race", &now);
        let again = call(&["test", "--walks", "300", "--trials", "60", "--no-save", &again]);
        assert_eq!(again.status, NOTHING, "{then}: {}", again.out);
    }
}

#[test]
fn what_is_not_decided_is_left_and_said() {
    let (now, run) = blessed("bless-left", &format!("{APP}expect races 9\nexpect deadlock\n"));
    assert_eq!(now, format!("{APP}expect races 9\nexpect no deadlock\n"));
    assert_eq!(run.status, FOUND);
    assert!(run.err.contains("unchanged ") && run.err.contains("depends on the runs"), "{}", run.err);
    let variants =
        "const F = 0\nthread t { if F == 0 { fail \"x\" } }\nexpect failure \"y\"\nexpect no failure if F == 1\n";
    let (now, run) = blessed("bless-unknown-message", variants);
    assert_eq!((now.as_str(), run.status), (variants, REFUSED), "an error writes nothing: {}", run.err);
    let variants = variants.replace("\"y\"", "\"x\"");
    let (now, run) = blessed("bless-variants", &variants);
    assert_eq!((now, run.status), (variants, FOUND));
    assert!(run.err.contains("the variants differ"), "{}", run.err);
}

#[test]
fn a_model_without_lines_gets_one() {
    let (now, run) = blessed("bless-none", APP);
    assert_eq!(now, format!("{APP}\nexpect outcomes: ok, failure \"lost\"\n"), "{}", run.err);
    let fine = "thread t { skip }";
    let (now, run) = blessed("bless-none-fine", fine);
    assert_eq!((now, run.status), (format!("{fine}\n\nexpect outcomes: ok\n"), NOTHING), "{}", run.err);
    let (again, run) = blessed("bless-none-again", &format!("{fine}\n\nexpect outcomes: ok\n"));
    assert_eq!(again, format!("{fine}\n\nexpect outcomes: ok\n"));
    assert!(!run.err.contains("blessed"), "{}", run.err);
}

#[test]
fn ends_of_lines_and_a_byte_order_mark_stay() {
    let text = format!("\u{feff}{APP}expect deadlock // é\nexpect no failure\n").replace('\n', "\r\n");
    let then = format!("\u{feff}{APP}expect no deadlock // é\nexpect failure\n").replace('\n', "\r\n");
    assert_eq!(blessed("bless-crlf", &text).0, then);
}

#[test]
fn one_file_that_cannot_be_read_keeps_all_as_they_are() {
    let folder = scratch("bless-several");
    let good = file(&folder, "a.race", "thread t { skip }\nexpect deadlock\n");
    let other = file(&folder, "b.race", "thread t { skip }\nexpect stuck\n");
    let bad = file(&folder, "c.race", "thread {\n");
    let run = call(&["test", "--bless", "--no-save", &good, &other, &bad]);
    assert_eq!(run.status, REFUSED);
    assert!(run.err.contains("nothing was rewritten"), "{}", run.err);
    assert!(std::fs::read_to_string(&good).unwrap().contains("expect deadlock"));
    let run = call(&["test", "--bless", "--no-save", &good, &other]);
    assert_eq!(run.status, NOTHING, "{}", run.err);
    assert!(std::fs::read_to_string(&good).unwrap().contains("expect no deadlock"));
    assert!(std::fs::read_to_string(&other).unwrap().contains("expect no stuck"));
    // A test of some variants only must not rewrite lines that also concern the others.
    assert_eq!(call(&["test", "--bless", "-D", "F=1", &good]).status, REFUSED);
}
