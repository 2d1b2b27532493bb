//! Generates `docs/results/trace_models.md`: verdicts on the races of eight logs of real apps.
//! `cargo test --release --test it trace_models_table -- --ignored` rewrites it.

use crate::cli::{call, file, scratch};
use crate::droidracer_logs::{LOGS, Log};
use crate::support::read;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

const HEAD: &str = "\
# Verdicts on recorded traces

Written by `cargo test --release --test it trace_models_table -- --ignored`: eight logs that DroidRacer wrote of real apps (`tests/it/traces`). The races are those under the rules of DroidRacer's program (`raceflip analyze LOG --rules source --confirm`),
which reproduce the races that DroidRacer reports ([results/droidracer.md](droidracer.md)); each pair of operations counts. *Bodies* and *statements* are the size of the [model of the log](../from_trace.md). *Seconds* are of the whole command, on a shared machine (AMD EPYC, 2 cores). It ends after two minutes (`--time 2m`): races that it has not reached by then are unconfirmed.

A model of a log has neither values nor branches, and its locks and signals are those of one run. So *real* means that the app can perform the two accesses side by side, or in both orders, if what it does does not depend on what it reads; and *refuted* means that forks, joins, posts, queues,
enables, signals and locks that this run had allow only one order.

| log | operations | bodies | statements | races | harmful | real | refuted | unconfirmed | seconds |
|---|---|---|---|---|---|---|---|---|---|
";

/// Returns the row of a log, without its seconds.
fn row(log: &Log) -> String {
    let path = log.path();
    let judged = call(&["analyze", &path, "--rules", "source", "--confirm", "--time", "2m", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&judged.out).unwrap_or_else(|_| panic!("{}", judged.err));
    let races = report["races"].as_array().unwrap();
    // A race that the time does not suffice for has no verdict.
    let verdict = |race: &serde_json::Value| race["verdict"].as_str().unwrap_or("unconfirmed").to_owned();
    let count = |wanted: &str| races.iter().filter(|race| verdict(race) == wanted).count();
    let verdicts = ["harmful", "real", "refuted", "unconfirmed"].map(count);
    assert_eq!(verdicts.iter().sum::<usize>(), races.len(), "{}", log.name);
    let verdicts = verdicts.map(|n| n.to_string()).join(" | ");
    let made = call(&["trace", "to-model", &path]);
    let size = made.err.lines().find_map(|line| line.strip_prefix("note: the model has ")).expect(&made.err);
    let numbers: Vec<&str> = size.split(' ').filter(|word| word.parse::<usize>().is_ok()).collect();
    format!("| {} | {} | {} | {} | {verdicts} |", log.name, report["operations"], numbers.join(" | "), races.len())
}

#[test]
fn the_verdicts_of_the_page_are_those_of_the_smallest_log() {
    let page = read("docs/results/trace_models.md");
    let log = LOGS.iter().find(|log| log.name == "remind-me").unwrap();
    let row = row(log);
    assert!(page.contains(&row), "{row} is not in\n{page}");
}

const SEARCHED: &str = "
## All states

The traces that EM-Explorer made of five of these logs, searched completely with one worker and 4 GB (`raceflip explore --jobs 1`). *Accesses* are those that are left. Beside them is what EM-DPOR needs on the same traces, by [its paper](https://arxiv.org/abs/1511.03213).
States and interleavings are not the same thing: a search visits a state once, whatever the number of interleavings that lead to it.

| trace | operations | accesses | states | seconds | EM-DPOR: interleavings, time |
|---|---|---|---|---|---|
";

/// The traces of EM-Explorer, with what EM-DPOR needs on each.
pub(crate) const SEARCHES: [(&str, &str); 5] = [
    ("remind-me", "3, 0.08 s"),
    ("mytracks", "405,013, 101 min"),
    ("charachter-recognition", "756, 12.4 s"),
    ("music", "266, 5.4 s"),
    ("aarddict", "14, 1.3 s"),
];

/// Returns the row of a trace: operations, accesses left, states.
fn searched(app: &str) -> String {
    let path = format!("tests/it/traces/em-explorer/test-traces/tacas-2016/{app}/trace.txt");
    let made = call(&["trace", "to-model", &path]);
    let model = file(&scratch(&format!("trace-models-{app}")), "trace.race", &made.out);
    let found = call(&["explore", &model, "--jobs", "1", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&found.out).unwrap_or_else(|_| panic!("{}", found.err));
    assert_eq!(report["complete"], true, "{app}");
    let operations = call(&["trace", "stat", &path, "--format", "json"]);
    let stat: serde_json::Value = serde_json::from_str(&operations.out).unwrap();
    let accesses = made.out.matches("    @a").count();
    format!("| {app} | {} | {accesses} | {} |", stat["files"][0]["operations"], report["states"])
}

#[test]
fn small_models_of_traces_are_searched_completely() {
    let page = read("docs/results/trace_models.md");
    for app in ["remind-me", "charachter-recognition"] {
        let row = searched(app);
        assert!(page.contains(&row), "{row} is not in\n{page}");
    }
}

#[test]
#[ignore = "it writes a file"]
fn trace_models_table() {
    let mut text = HEAD.to_owned();
    for log in &LOGS {
        let start = Instant::now();
        let row = row(log);
        writeln!(text, "{row} {:.1} |", start.elapsed().as_secs_f64()).unwrap();
    }
    text.push_str(SEARCHED);
    for (app, other) in SEARCHES {
        let start = Instant::now();
        let row = searched(app);
        writeln!(text, "{row} {:.1} | {other} |", start.elapsed().as_secs_f64()).unwrap();
    }
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/trace_models.md"), text).unwrap();
}
