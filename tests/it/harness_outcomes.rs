//! Tests that the harness models end as their `expect` lines say, and as the data about queue facts and bugs says.
//!
//! The seeds are fixed, so the results do not depend on chance. The number of seeds is chosen as follows: n seeds miss
//! an outcome that a random walk has with probability p with a probability of (1 - p)^n. The rarest outcome that is
//! asserted here is the ERROR of `racefuzzer_fig2` with p about 0.5%; 5,000 seeds miss it with a probability below
//! 1e-10.

use crate::support::{disappointed, models, program, read, text, walk};
use raceflip::campaign::{EndKind as Kind, RunResult, named};
use raceflip::exec::value_text;
use raceflip::lang::program::{EndValue, ExpectationKind};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: u64 = 5_000;

/// A queue fact of the data file.
#[derive(Deserialize)]
struct Fact {
    id: String,
    expected_outcomes: Vec<String>,
}

/// A bug of the data file.
#[derive(Deserialize)]
struct Bug {
    id: String,
    expected_outcomes: Vec<String>,
    expected_fixed: Option<Vec<String>>,
    expected_partial: Option<Vec<String>>,
}

/// Failures of queue facts whose names differ: the name in the data, and the name in the model.
const QUEUE_NAMES: [(&str, &str); 1] = [("OverwrittenByPending", "set_value_stays")];

/// Outcome of Q29 in the data and here. Android keeps the messages behind the fence in a queue that no looper serves
/// any more, so the data has `stuck[]`. Here a looper that quits drops the messages that its fences hold back (queue
/// rule 6), so nothing is left that could be stuck.
const Q29: (&str, &str) = ("stuck[]", "ok[]");

/// Failures of bugs whose names differ: the name in the data, and the exception, property or message of the model. All
/// other failures have the same name in both.
const BUG_NAMES: [(&str, &str); 9] = [
    ("EventLost", "no_event_lost"),
    ("Leak", "no_leak"),
    ("LostEvent", "not_lost"),
    ("LostUpdate", "no_lost_update"),
    ("LostWork", "no_lost_work"),
    ("NPE", "NullPointer"),
    ("RunAfterUnsubscribe", "ran after unsubscribe"),
    ("WrongDirectory", "shows_current"),
    ("hang", "deadlock"),
];

/// Returns the expectations of a model under some constants that do not hold, and all ends that occurred.
fn broken(path: &str, defines: &[(&str, i64)]) -> (Vec<String>, BTreeMap<RunResult, u64>) {
    let program = program(path, &read(path), defines).unwrap_or_else(|e| panic!("{e}"));
    let ends = walk(&program, &named(&program), SEEDS);
    let mut wrong: Vec<String> = program
        .expectations
        .iter()
        .filter_map(|e| disappointed(e, &ends))
        .map(|w| format!("{path} {defines:?} {w}"))
        .collect();
    if ends.keys().any(|e| matches!(e.kind, Kind::Limit(_))) {
        wrong.push(format!("{path} {defines:?} reaches a limit: {}", text(&ends)));
    }
    (wrong, ends)
}

#[test]
fn queue_facts_are_facts() {
    let facts: Vec<Fact> = serde_json::from_str(&read("tests/data/queue_facts.json")).unwrap();
    assert_eq!(facts.len(), 30);
    let paths = models("harnesses/queue");
    let mut wrong = Vec::new();
    for fact in &facts {
        let prefix = format!("harnesses/queue/{}_", fact.id.to_lowercase());
        let found: Vec<&String> = paths.iter().filter(|p| p.starts_with(&prefix)).collect();
        let [path] = found[..] else {
            wrong.push(format!("{} has {} models", fact.id, found.len()));
            continue;
        };
        let (problems, ends) = broken(path, &[]);
        wrong.extend(problems);
        let checked = program(path, &read(path), &[]).unwrap();
        let complete = checked.expectations.iter().any(|e| matches!(e.kind, ExpectationKind::Outcomes { .. }));
        assert!(complete, "{path} does not say all its outcomes");
        let wanted: BTreeSet<String> = fact.expected_outcomes.iter().map(|o| here(&fact.id, o)).collect();
        let seen: BTreeSet<String> = ends.keys().map(as_data).collect();
        if seen != wanted {
            wrong.push(format!("{path}: the data has {wanted:?}, seen {seen:?}"));
        }
    }
    assert_eq!(paths.len(), facts.len(), "a model that is no fact");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the outcomes of the fact that a model of `harnesses/queue` is about.
pub(crate) fn fact(path: &str) -> BTreeSet<String> {
    let facts: Vec<Fact> = serde_json::from_str(&read("tests/data/queue_facts.json")).unwrap();
    let fact =
        facts.iter().find(|f| path.contains(&format!("/{}_", f.id.to_lowercase()))).expect("each model is of a fact");
    fact.expected_outcomes.iter().map(|o| here(&fact.id, o)).collect()
}

/// Translates an outcome of the data into the words of this project.
fn here(id: &str, outcome: &str) -> String {
    if id == "Q29" {
        assert_eq!(outcome, Q29.0);
        return Q29.1.to_owned();
    }
    let outcome = outcome.replace("hang[", "deadlock[");
    QUEUE_NAMES.iter().find(|(data, _)| *data == outcome).map_or(outcome, |(_, model)| (*model).to_owned())
}

/// Returns an end in the notation of the data, such as `ok[1,2]`. A failure is written by its name alone.
pub(crate) fn as_data(end: &RunResult) -> String {
    let log = end.values.values().next();
    match (&end.kind, log) {
        (Kind::Failure { .. }, _) | (_, None) => end.kind.word(),
        (kind, Some(log @ EndValue::List(_))) => format!("{}{}", kind.word(), value_text(log)).replace(' ', ""),
        // The data has numbers only, no truth values.
        (kind, Some(EndValue::Truth(truth))) => format!("{}[{}]", kind.word(), i64::from(*truth)),
        (kind, Some(value)) => format!("{}[{}]", kind.word(), value_text(value)),
    }
}

/// Returns the variants of the models of bugs: path, value of `FIXED`, and the outcomes of the data, in the model's
/// words.
pub(crate) fn bugs() -> Vec<(String, i64, BTreeSet<String>)> {
    let bugs: Vec<Bug> = serde_json::from_str(&read("tests/data/bugs.json")).unwrap();
    let mut all = Vec::new();
    for path in models("harnesses/bugs") {
        let text = read(&path);
        let id = text.trim_start_matches("// ").split('.').next().unwrap();
        let bug = bugs.iter().find(|b| b.id == id).unwrap_or_else(|| panic!("{path} names no bug: `{id}`"));
        let variants = [Some(&bug.expected_outcomes), bug.expected_fixed.as_ref(), bug.expected_partial.as_ref()];
        for (fixed, wanted) in (0..).zip(variants) {
            let Some(wanted) = wanted else { continue };
            all.push((path.clone(), fixed, wanted.iter().map(|o| bug_name(o).to_owned()).collect()));
        }
    }
    all
}

#[test]
fn bugs_happen_and_repairs_hold() {
    let bugs: Vec<Bug> = serde_json::from_str(&read("tests/data/bugs.json")).unwrap();
    let paths = models("harnesses/bugs");
    assert_eq!((paths.len(), bugs.len()), (47, 47));
    let mut wrong = Vec::new();
    let mut ids = BTreeSet::new();
    for path in &paths {
        let header = read(path);
        let id = header.trim_start_matches("// ").split('.').next().unwrap();
        let bug = bugs.iter().find(|b| b.id == id).unwrap_or_else(|| panic!("{path} names no bug: `{id}`"));
        assert!(ids.insert(id.to_owned()), "{path}: a second model of {id}");
        let variants = [Some(&bug.expected_outcomes), bug.expected_fixed.as_ref(), bug.expected_partial.as_ref()];
        for (fixed, wanted) in (0..).zip(variants) {
            let Some(wanted) = wanted else { continue };
            // A bug without a known repair has no constant `FIXED`.
            let given = [("FIXED", fixed)];
            let defines = if fixed == 0 { &given[..0] } else { &given[..] };
            let (problems, ends) = broken(path, defines);
            wrong.extend(problems);
            let wanted: BTreeSet<&str> = wanted.iter().map(|o| bug_name(o)).collect();
            let seen: BTreeSet<String> = ends.keys().map(|e| e.kind.word()).collect();
            if !seen.iter().map(String::as_str).eq(wanted.iter().copied()) {
                wrong.push(format!("{path} FIXED={fixed}: the data has {wanted:?}, seen {}", text(&ends)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Translates an outcome of a bug into the words of its model.
fn bug_name(outcome: &str) -> &str {
    BUG_NAMES.iter().find(|(data, _)| *data == outcome).map_or(outcome, |(_, model)| *model)
}

#[test]
fn figures_of_papers_end_as_they_say() {
    let paths = models("harnesses/papers");
    assert!(paths.len() >= 18);
    let mut wrong = Vec::new();
    for path in &paths {
        let variants: &[&[(&str, i64)]] =
            if read(path).contains("\nconst FIXED") { &[&[("FIXED", 0)], &[("FIXED", 1)]] } else { &[&[]] };
        for defines in variants {
            wrong.extend(broken(path, defines).0);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
