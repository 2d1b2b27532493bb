//! Tests of exceptions that the app catches: reports tell them, and `--caught` makes them failures.

use crate::cli::token;
use crate::cli::{call, file, scratch};

/// A use-free race whose exception is caught, and one statement later the app goes on.
const TEXT: &str = r#"app "caught"
var p: Object = new Object
var shown = 0
looper main
event free on main initially 1 { @free: p = null }
event show on main initially 1 { try { @use: use p; shown = 1 } catch NullPointer { shown = 2 } }
"#;

#[test]
fn a_caught_exception_is_told_and_is_no_failure() {
    let model = file(&scratch("caught"), "caught.race", TEXT);
    let told = call(&["confirm", &model]);
    assert_eq!(told.status, 1, "{}", told.err);
    assert!(told.out.contains("REAL  p") && !told.out.contains("HARMFUL"), "{}", told.out);
    assert!(told.out.contains("@free first: caught NullPointer at :6:46 in 64 runs"), "{}", told.out);
    assert!(!told.out.contains("@use first: caught"), "{}", told.out);
    let json: serde_json::Value = serde_json::from_str(&call(&["confirm", &model, "--format", "json"]).out).unwrap();
    let caught = &json["pairs"][0]["orders"][0]["caught"][0];
    assert_eq!((&caught["exception"], &caught["site"]), (&"NullPointer".into(), &"@use.use".into()), "{caught}");
}

#[test]
fn with_the_option_it_is_a_failure_that_its_token_replays() {
    let model = file(&scratch("caught_fails"), "caught.race", TEXT);
    let told = call(&["confirm", &model, "--caught"]);
    assert!(told.out.contains("HARMFUL  p") && told.out.contains("NullPointer: caught at :6:50"), "{}", told.out);
    // The search of all states agrees.
    let found = call(&["explore", &model, "--caught"]);
    assert!(found.out.contains("NullPointer"), "{}", found.out);
    assert!(!call(&["explore", &model]).out.contains("NullPointer"));
    let token = token(&told);
    let again = call(&["replay", &model, &token]);
    assert_eq!(again.status, 1, "{}{}", again.out, again.err);
    assert!(again.out.contains("NullPointer"), "{}", again.out);
    let wrong = call(&["run", &model, "-D", "app.caught=2"]);
    assert!(wrong.status == 2 && wrong.err.contains("app.caught"), "{}", wrong.err);
}

#[test]
fn what_only_passes_a_finally_or_ends_a_thread_is_not_caught() {
    let text = TEXT
        .replace("catch NullPointer { shown = 2 }", "finally { shown = 2 }")
        .replace("\"caught\"", "\"x\" { uncaught = thread }");
    let model = file(&scratch("not_caught"), "m.race", &text);
    let told = call(&["confirm", &model]);
    assert!(!told.out.contains("caught NullPointer"), "{}", told.out);
    // A handler of another exception catches nothing either.
    let other = TEXT.replace("catch NullPointer", "catch Arithmetic");
    let model = file(&scratch("other_caught"), "m.race", &other);
    let told = call(&["confirm", &model]);
    assert!(told.out.contains("HARMFUL  p"), "{}", told.out);
}
