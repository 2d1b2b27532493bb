//! Tests of what a library brings into a file: what is named, under which names, and beside which names of the file.

use crate::support::program;
use raceflip::lang::{Source, expand, parse, print};

/// Returns the first line of the errors of a file, or an empty text.
fn error(text: &str) -> String {
    let error = program("a.race", text, &[]).err().unwrap_or_default();
    error.lines().next().unwrap_or_default().to_owned()
}

/// Returns a file with what its libraries bring in.
fn written(text: &str) -> String {
    let source = Source::new("a.race", text).unwrap();
    print(&expand(&parse(&source).unwrap()).unwrap().expect("it uses a library"))
}

fn declares(text: &str, name: &str) -> bool {
    let begins = |line: &str, word: &str| line.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '(']));
    ["class ", "task ", "async task ", "let "].iter().any(|word| {
        let whole = format!("{word}{name}");
        text.lines().any(|line| begins(line, &whole))
    })
}

const FLOW: &str = "use coroutines\nlet events = new SharedFlow\nlooper main\n";

/// A file gets what it names, and what that needs in turn; nothing else.
#[test]
fn a_library_brings_in_what_is_named() {
    let idle = written("use coroutines\nthread t { skip }");
    assert_eq!(idle, "thread t {\n    skip\n}\n");
    let flow = written(&format!("{FLOW}async task f() {{ emit(events, 1) }}\nthread t {{ launch f() on main }}"));
    for name in ["SharedFlow", "Collector", "WaitingEmission", "emit", "try_emit", "hand_out", "DROP_OLDEST"] {
        assert!(declares(&flow, name), "{name}: {flow}");
    }
    for name in ["StateFlow", "Mutex", "changed", "next", "leave", "unlock", "CompletableDeferred"] {
        assert!(!declares(&flow, name), "{name}: {flow}");
    }
}

/// What a file means by a name of its own never changes the text of a library, and the other way around.
#[test]
fn locals_of_a_library_are_its_own() {
    let file = "var value = 1\nvar c = 2\nvar flow = 3\nvar capacity = 4\nvar at = 5\n\
                async task f() { emit(events, value + c + flow + capacity + at) }\nthread t { launch f() on main }\n";
    assert_eq!(error(&format!("{FLOW}{file}")), "");
    // The text of a kind has locals as well.
    assert_eq!(error("use android\nlooper main\nvar next = 0\nactivity A on main { on pause { next = 1 } }"), "");
}

#[test]
fn a_name_of_a_library_is_taken() {
    let file = "task emit(n) { skip }\nthread t { emit(1) }";
    assert_eq!(error(&format!("{FLOW}{file}")), "error: `emit` is declared twice");
    assert_eq!(error(file), "");
    assert_eq!(error(&format!("{FLOW}thread t {{ let emit = 1 }}")), "error: `emit` hides a task");
    // Without `use` there is no such name.
    assert_eq!(error("let events = new SharedFlow\nthread t { skip }"), "error: unknown class `SharedFlow`");
}

/// Verbs belong to the libraries that a file uses: `cancel` stays a statement beside a library without verbs.
#[test]
fn only_libraries_that_are_used_have_verbs() {
    let file = "looper main\nasync task f() { sleep 5 }\ntask g() {\n    let j = launch f()\n    cancel j\n}\n\
                thread t { post g() to main }";
    let source = |uses: &str| format!("{uses}{file}");
    assert_eq!(error(&source("use coroutines\n")), "");
    assert_eq!(error(&source("")), "");
    assert!(written(&source("use coroutines\n")).contains("cancel j"));
}

/// A site in the text of a library is shown where the file brings the library in.
#[test]
fn sites_of_a_library_are_at_its_use() {
    let file = "let m = new Mutex\ntask f() { unlock(m) }\nuse coroutines\nthread t { f() }";
    let program = program("a.race", file, &[]).unwrap();
    let lines: Vec<u32> = program.sites.iter().map(|site| site.line).collect();
    assert!(lines.len() > 2 && lines.iter().all(|line| *line == 3 || *line == 4), "{lines:?}");
}
