//! Tests of the harnesses by exhaustive search: their complete sets of ends match the data, and no random walk has an
//! end that the search lacks.

use crate::explore::search;
use crate::harness_outcomes::{as_data, bugs, fact};
use crate::load::{Model, load, models};
use crate::support::{disappointed, models as names, walk};
use raceflip::campaign::{RunResult, named};
use raceflip::explore::{Bounds, SearchPlan, SearchReport};
use raceflip::lang::Source;
use raceflip::lang::parse;
use raceflip::lang::variants::variants;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

// Bound on the states of a model in this test.
const STATES: u64 = 60_000;

fn complete(model: &Model) -> Option<SearchReport> {
    let bounds = Bounds { states: STATES, ..Bounds::default() };
    let plan = SearchPlan { bounds, observe: named(&model.program), reduce: true, ..SearchPlan::new(model) };
    Some(search(&plan)).filter(SearchReport::complete)
}

fn at(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn queue_facts_hold_in_every_state() {
    for path in names("harnesses/queue") {
        let found = complete(&load(&at(&path), &[])).unwrap_or_else(|| panic!("{path} has too many states"));
        let ends: BTreeSet<String> = found.ends.keys().map(|e| as_data(&e.ended)).collect();
        assert_eq!(ends, fact(&path), "{path}");
    }
}

/// The facts about messages, and the apps with timers, end in all states as their `expect` lines say.
#[test]
fn messages_and_timers_have_their_complete_outcomes() {
    let (mut searched, mut wrong) = (0, Vec::new());
    let of_messages = |path: &str| path.starts_with("harnesses/messages/") || path.starts_with("harnesses/timers/");
    for (path, defines) in all_variants().into_iter().filter(|(path, _)| of_messages(path)) {
        let model = load(&at(&path), &defines);
        let found = complete(&model).unwrap_or_else(|| panic!("{path} {defines:?} has too many states"));
        let ends: BTreeMap<RunResult, u64> = found.ends.keys().map(|e| (e.ended.clone(), 1)).collect();
        let expectations = &model.program.expectations;
        let broken = expectations.iter().filter_map(|e| disappointed(e, &ends));
        wrong.extend(broken.map(|problem| format!("{path} {defines:?} {problem}")));
        searched += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(searched > 25, "{searched}");
}

#[test]
fn bugs_have_their_complete_outcomes() {
    let (mut searched, mut wrong) = (0, Vec::new());
    for (path, fixed, wanted) in bugs() {
        let defines: &[(String, i64)] = &[("FIXED".to_owned(), fixed)];
        let model = load(&at(&path), if fixed == 0 { &[] } else { defines });
        let Some(found) = complete(&model) else {
            wrong.push(format!("{path} FIXED={fixed} has too many states"));
            continue;
        };
        searched += 1;
        let ends: BTreeSet<String> = found.ends.keys().map(|e| e.ended.kind.word()).collect();
        if ends != wanted {
            wrong.push(format!("{path} FIXED={fixed}: the data has {wanted:?}, the search {ends:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(searched > 80, "{searched}");
}

/// Returns every variant of every harness: its path from the top of the repository, and the constants that select it.
pub(crate) fn all_variants() -> Vec<(String, Vec<(String, i64)>)> {
    let mut all = Vec::new();
    for path in models("harnesses") {
        let relative = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string().replace('\\', "/");
        let source = Source::from_bytes(&relative, &std::fs::read(&path).unwrap()).unwrap();
        let file = parse(&source).unwrap_or_else(|_| panic!("{relative} is right"));
        let program = load(&path, &[]).program;
        let of = variants(&file, &program, &Vec::new()).unwrap_or_else(|_| panic!("{relative} has variants"));
        all.extend(of.into_iter().map(|defines| (relative.clone(), defines)));
    }
    all
}

#[test]
fn no_random_walk_comes_to_what_search_does_not() {
    let (mut searched, mut ends) = (0, 0);
    for (path, defines) in all_variants() {
        let model = load(&at(&path), &defines);
        let Some(found) = complete(&model) else { continue };
        let known: BTreeSet<_> = found.ends.keys().map(|e| e.ended.clone()).collect();
        for end in walk(&model.program, &named(&model.program), 200).into_keys() {
            assert!(known.contains(&end), "{path} {defines:?}: a walk ends {}", end.text());
            ends += 1;
        }
        searched += 1;
    }
    assert!(searched > 230 && ends > 300, "{searched} variants, {ends} ends");
}
