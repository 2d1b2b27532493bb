//! Shared code of tests of models: it compiles a model, runs it under many seeded random walks, and compares its
//! outcomes with its expectations.

use raceflip::campaign::{RunResult, judge};
use raceflip::exec::{NoObserver, run};
use raceflip::lang::program::{Expectation, GlobalId};
use raceflip::lang::{Program, Source, check, parse, render};
use raceflip::sched::RandomWalk;
use raceflip::vm::{Vm, compile};
use raceflip::world::{Limits, Machine};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Reads a file of the repository, by its path from the top.
pub(crate) fn read(path: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns the paths of the `.race` files of a folder, sorted, from the top of the repository.
pub(crate) fn models(folder: &str) -> Vec<String> {
    let at = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let names = fs::read_dir(at).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    let mut paths: Vec<String> = names.filter(|n| n.ends_with(".race")).map(|n| format!("{folder}/{n}")).collect();
    paths.sort();
    paths
}

/// Returns the checked program of a text, or its rendered errors.
pub(crate) fn program(name: &str, text: &str, defines: &[(&str, i64)]) -> Result<Program, String> {
    let source = Source::new(name, text).map_err(|e| e.to_string())?;
    let file = parse(&source).map_err(|e| render(&source, &e, false))?;
    let defines: Vec<(String, i64)> = defines.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    check(&file, &source, &defines).map_err(|e| {
        let wrong: Vec<String> = e.defines.iter().map(|d| format!("{d}\n")).collect();
        wrong.concat() + &render(&source, &e.diagnostics, false)
    })
}

/// Performs random walks with the seeds `0..seeds`. Returns every end that occurred, with its count.
pub(crate) fn walk(program: &Program, of: &BTreeSet<GlobalId>, seeds: u64) -> BTreeMap<RunResult, u64> {
    let code = Arc::new(compile(program).unwrap_or_else(|e| panic!("{e}")));
    let mut machine = Machine::new(Vm::new(code), Limits::default());
    let (mut strategy, go_on) = (RandomWalk::new(), AtomicBool::new(false));
    let mut ends = BTreeMap::new();
    for seed in 0..seeds {
        let summary = run(&mut machine, &mut strategy, seed, &mut NoObserver, &go_on);
        let outcome = summary.outcome().expect("a random walk comes to an end");
        *ends.entry(RunResult::new(program, of, outcome, &machine.world)).or_insert(0) += 1;
    }
    ends
}

/// Returns how the ends contradict an expectation about outcomes; `None` if it holds or is not about outcomes.
pub(crate) fn disappointed(expectation: &Expectation, ends: &BTreeMap<RunResult, u64>) -> Option<String> {
    let unmet = judge(&expectation.kind, ends.keys()).filter(|u| !u.is_met())?;
    let Expectation { line, text: expected, .. } = expectation;
    Some(format!("line {line}: `{expected}`, missing: {:?}, but seen: {}", unmet.missing, text(ends)))
}

/// Returns the ends on one line, each with its count.
pub(crate) fn text(ends: &BTreeMap<RunResult, u64>) -> String {
    let mut short: BTreeMap<String, u64> = BTreeMap::new();
    for (end, times) in ends {
        *short.entry(end.text()).or_insert(0) += times;
    }
    short.iter().map(|(end, times)| format!("{end} ({times})")).collect::<Vec<_>>().join(", ")
}
