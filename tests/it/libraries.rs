//! Tests of what a library brings into a file: what is named, under which names, and beside which names of the file.

use crate::complete::all_variants;
use crate::explore::search;
use crate::load::load_bytes;
use crate::support::{disappointed, program, read};
use raceflip::campaign::{RunResult, named};
use raceflip::explore::SearchPlan;
use raceflip::lang::{Source, expand, parse, print};
use std::collections::BTreeMap;

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
    let (of_library, own): (Vec<u32>, Vec<u32>) = lines.iter().partition(|line| **line == 3);
    assert!(of_library.len() > 2 && own == [2, 4], "{lines:?}");
}

const COROUTINES: &str = "src/lang/library/coroutines.race";

/// Mistakes in the library `coroutines`: a piece of its text, and what stands there instead.
const MISTAKES: [(&str, &str); 18] = [
    ("if value != last { return value }", "return value"),
    ("for value in flow.replayed {", "for value in c.pending {"),
    ("if flow.replayed.len == flow.replay { let oldest = flow.replayed.remove(0) }", ""),
    ("if c.count >= capacity { return true }", "if c.count > capacity { return true }"),
    ("return flow.on_overflow == DROP_LATEST", "return false"),
    ("flow.on_overflow != DROP_OLDEST && lacks_room(flow)", "lacks_room(flow)"),
    ("fetch_add(c.count, -1)\n        serve_waiting(c.flow)", "fetch_add(c.count, -1)"),
    ("remove(at)\n        serve_waiting(flow)", "remove(at)"),
    ("if capacity == 0 { flow.offered = next_one } else { next_one.given = true }", "next_one.given = true"),
    ("if !next_one.waits.cancelled {", "if true {"),
    ("if cas(m.locked, false, true) { return }    // it was unlocked meanwhile", ""),
    ("    sync m {\n        if turn.come { unlock(m) }\n    }", "    if turn.come { unlock(m) }"),
    ("if turn.come { unlock(m) }", ""),
    ("if !first.waits.cancelled {", "if true {"),
    ("first.come = true\n                return", "first.come = true"),
    ("if !m.locked { throw IllegalState, \"the mutex is not locked\" }", ""),
    ("if !cas(d.completed, false, true) { return false }", ""),
    ("d.value = value\n    d.done = true", "d.done = true\n    d.value = value"),
];

/// Returns the facts about the library that do not hold if `text` is the library.
fn broken_facts(text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, defines) in all_variants() {
        let fact = read(&path);
        if !path.contains("/fact_") || !fact.contains("use coroutines\n") {
            continue;
        }
        let model = load_bytes(&path, (fact.replace("use coroutines\n", "") + text).as_bytes(), &defines);
        let plan = SearchPlan { observe: named(&model.program), reduce: true, ..SearchPlan::new(&model) };
        let found = search(&plan);
        let ends: BTreeMap<RunResult, u64> = found.ends.keys().map(|end| (end.ended.clone(), 1)).collect();
        if model.program.expectations.iter().any(|line| disappointed(line, &ends).is_some()) {
            broken.push(path);
        }
    }
    broken
}

#[test]
fn mistakes_in_the_coroutines_are_noticed() {
    let text = read(COROUTINES);
    assert_eq!(broken_facts(&text), [""; 0], "the facts hold");
    for (right, mistake) in MISTAKES {
        assert_eq!(text.matches(right).count(), 1, "{right}");
        assert!(!broken_facts(&text.replace(right, mistake)).is_empty(), "not noticed: {mistake}");
    }
}

/// An error whose second place is in a library has two excerpts, however near the numbers of the lines are.
#[test]
fn an_error_can_point_into_a_library() {
    let long =
        format!("use android\nlooper main\nactivity A on main {{ }}\n{}thread t {{ start A(1) }}\n", "\n".repeat(10));
    for text in ["use coroutines\nlet q = StateFlow\n", &long] {
        let told = raceflip::vm::Model::from_text("m.race", text, &[]).unwrap_err().to_string();
        assert!(told.contains("m.race:") && told.contains("library "), "{told}");
    }
}
