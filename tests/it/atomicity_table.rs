//! Generates `docs/results/atomicity.md`: what the models of Mondal's report show, how often directed runs meet their
//! goals and close deadlock rings, verdicts on blocks of real bugs, and the counts of eight logs of real apps.
//! `cargo test --release --test it atomicity_table -- --ignored` rewrites it.

use crate::atomicity_compare::compare_all;
use crate::atomicity_directed::{BUGS, Bug, GOALS, TRIALS, verdicts_on_blocks};
use crate::atomicity_rows::{ROWS, Row};
use crate::atomicity_search;
use crate::droidracer_logs::LOGS;
use crate::rings::{HARNESSES, RingRow, detected, directed, harness};
use raceflip::base::mix;
use raceflip::campaign::ViolationVerdict;
use raceflip::detect::atomicity::{AtomicityOptions, Specification, analyze, usual};
use raceflip::event::Outcome;
use raceflip::exec::{LoopEnd, NoObserver, run};
use raceflip::sched::RandomWalk;
use raceflip::world::Limits;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const HEAD: &str = "\
# Atomicity and deadlock rings

Written by `cargo test --release --test it atomicity_table -- --ignored`. [Atomicity](../atomicity.md) explains the words.

## The report of Mondal

Cycles for which a transaction is to blame for certain, over all runs of a model (over 1,000 random walks where a model has more than 10,000 runs, and over 1,000 runs of detection for chapter 5 with components). *Report* has its numbers of violations by trees and by life cycles (tables 6.1 to 6.4).
The numbers of Seal2 cannot be compared: the report does not say which traces they are of.

| of | report | model | specification | priority 1 | priority 2 | priority 3 | cycles |
|---|---|---|---|---|---|---|---|
";

const GOALS_HEAD: &str = "
Section 4.5 of the report: a loop of 50 rounds, in each of which another thread writes between, comes back 50 times and is one cycle.

## Directed runs

Number of runs that violate the transaction: of 100 runs under the best goal that the analysis derives from a random walk with the transaction in one piece, and of 100 random walks.

| model | transaction | goal | directed | random walks |
|---|---|---|---|---|
";

const BUGS_HEAD: &str = "
## Blocks of bugs

Verdicts on the declared blocks, in the buggy and in the repaired variant. `account` is a model of ours: a balance is asked in one section of a lock and changed in another one. CS/account of SCTBench fails by an order of whole sections, so that no block of it is to blame; its `check` as a block is REFUTED.

| bug | model | buggy | repaired |
|---|---|---|---|
";

const RINGS_HEAD: &str = "
## Deadlock rings

Number of runs that end in the deadlock of the ring: of 100 trials of its best way; and number of 100 random walks that deadlock at all.

| model | threads | directed | random walks |
|---|---|---|---|
";

const NO_RING: &str = "
These have no ring among their candidates: ";

const LOGS_HEAD: &str = "
The philosophers of SCTBench (CS/din_phil) take their forks under a common lock, so that no two of them are ever at their forks at once. What CS/din_phil7 deadlocks on is one thread that asks twice for a lock that is not reentrant.

## Logs of real apps

What `analyze --atomicity` counts in eight logs that DroidRacer wrote of real apps. Nothing is known about which of these violations are harmful; Mondal's own ten traces of each app are not public.

| log | specification | transactions | to blame | only jointly | findings of priority 1 | 2 | 3 | marked as likely harmless | not searched in full |
|---|---|---|---|---|---|---|---|---|---|
";

const SPEED: &str = "
## Cost

Instructions of the analysis of life cycles, alone and joint, on the synthetic traces of `benches/atomicity` (10,000 locations, 4 loopers, 8 threads; 50 instances are open at once unless the row says otherwise). They are counted with [callgrind](https://valgrind.org/docs/manual/cl-manual.html), because the machine was shared; the counts are
a record, and this test does not measure them. A pass is one way through the trace, of which each trace takes 7 to 10. The peak is without the trace itself. `cargo bench --bench atomicity` measures times, and writes them to `atomicity_speed.md`.

| trace | operations | instructions | for each operation and pass | bytes an operation |
|---|---|---|---|---|
| 5,000 tasks, 250 instances | 250,000 | 1,735 million | 771 | 70 |
| four times as long | 1,000,000 | 6,039 million | 863 | 67 |
| without the search for cycles | 250,000 | 851 million | 378 | 25 |
| without it, all 250 instances at once | 250,000 | 1,743 million | 871 | 32 |
| 20,000 tasks, 1,000 instances | 1,000,000 | not counted | | 63 |
| four times as long | 4,000,000 | not counted | | 59 |

Four times the trace takes 3.5 times the instructions. Before edges within a transaction were thinned out, the trace of 4,000,000 operations took 1,250 bytes an operation.
";

fn defines(of: &[(&str, i64)]) -> String {
    let all: Vec<String> = of.iter().map(|(name, value)| format!(" `{name} = {value}`")).collect();
    all.concat()
}

fn of_row(row: &Row) -> String {
    let found = row.found();
    let count = |priority: u8| found.iter().filter(|(of, _)| *of == priority).count();
    let mut paths: BTreeMap<String, usize> = BTreeMap::new();
    found.iter().for_each(|(_, path)| *paths.entry(path.join(", ")).or_default() += 1);
    let times = |(path, n): (&String, &usize)| if *n == 1 { path.clone() } else { format!("{path} ({n} times)") };
    let paths: Vec<String> = paths.iter().map(times).collect();
    let Row { of, report, model, specification, declared, .. } = row;
    let of_name = if declared.is_empty() { String::new() } else { format!(" of {declared}") };
    format!(
        "| {of} | {report} | [{model}](../../harnesses/{model}.race){} | {}{of_name} | {} | {} | {} | {} |",
        defines(row.defines),
        specification.name(),
        count(1),
        count(2),
        count(3),
        paths.join("; ")
    )
}

fn verdicts(bug: &Bug, repaired: bool) -> String {
    let mut count: BTreeMap<ViolationVerdict, usize> = BTreeMap::new();
    verdicts_on_blocks(&bug.load(repaired)).into_iter().for_each(|verdict| *count.entry(verdict).or_default() += 1);
    let all: Vec<String> = count.iter().map(|(verdict, n)| format!("{n} {}", verdict.word())).collect();
    all.join(", ")
}

fn of_ring((path, of, threads): RingRow) -> String {
    let model = harness(path, of);
    let found = directed(&model);
    let best = found.rings.iter().flat_map(|ring| &ring.ways).map(|way| way.hits).max().unwrap_or(0);
    let mut machine = model.machine(Limits::default());
    let mut deadlocks = |seed: u64| {
        let stop = AtomicBool::new(false);
        let summary = run(&mut machine, &mut RandomWalk::default(), mix(7, seed), &mut NoObserver, &stop);
        matches!(summary.end, LoopEnd::Outcome(Outcome::Deadlock(_)))
    };
    let walks = (0..100).filter(|seed| deadlocks(*seed)).count();
    let name = path.trim_start_matches("harnesses/").trim_end_matches(".race");
    format!("| [{name}](../../{path}){} | {threads} | {best} | {walks} |", defines(of))
}

fn without_rings() -> String {
    type Case = (&'static str, &'static [(&'static str, i64)]);
    let cases: [Case; 6] = [
        ("harnesses/locks/three_locks.race", &[("FIXED", 1)]),
        ("harnesses/locks/philosophers.race", &[("FIXED", 1)]),
        ("harnesses/sctbench/din_phil.race", &[("N", 2)]),
        ("harnesses/sctbench/din_phil.race", &[("N", 4)]),
        ("harnesses/sctbench/din_phil.race", &[("N", 6)]),
        ("harnesses/calfuzzer/testdeadlock2.race", &[]),
    ];
    let all = cases.iter().map(|(path, of)| {
        assert!(detected(&harness(path, of)).is_empty(), "{path} {of:?}");
        format!("{}{}", path.trim_start_matches("harnesses/").trim_end_matches(".race"), defines(of))
    });
    all.collect::<Vec<_>>().join(", ")
}

fn of_logs(rows: &mut String) {
    for log in &LOGS {
        let trace = log.case().trace;
        let mut specifications = usual(&trace);
        specifications.extend((!specifications.contains(&Specification::Tree)).then_some(Specification::Tree));
        for specification in specifications {
            let stop = AtomicBool::new(false);
            let found = analyze(&trace, specification, AtomicityOptions::default(), &stop).expect("nothing stops it");
            let of = |priority: u8| found.findings.iter().filter(|finding| finding.priority == priority).count();
            let marked = found.findings.iter().filter(|finding| finding.counts() && finding.is_marked()).count();
            writeln!(
                rows,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {marked} | {} |",
                log.name,
                specification.name(),
                found.transactions,
                found.violated,
                found.joint,
                of(1),
                of(2),
                of(3),
                found.left_out
            )
            .unwrap();
        }
    }
}

#[test]
#[ignore = "it writes a file, and takes minutes"]
fn atomicity_table() {
    let mut page = HEAD.to_owned();
    ROWS.iter().for_each(|row| page += &(of_row(row) + "\n"));
    page += GOALS_HEAD;
    for goal in &GOALS {
        let model = goal.load();
        let (strategy, hits) = goal.best(&model).unwrap_or_default();
        let order = strategy.split(",way=").next().unwrap_or_default();
        writeln!(
            page,
            "| [{0}](../../harnesses/{0}.race){1} | {2} | `{order}` | {hits} of {TRIALS} | {3} of {TRIALS} |",
            goal.model,
            defines(goal.defines),
            goal.declared,
            goal.walks(&model)
        )
        .unwrap();
    }
    page += BUGS_HEAD;
    for bug in &BUGS {
        let repaired = bug.repair.map_or("none is known".to_owned(), |_| verdicts(bug, true));
        let buggy = verdicts(bug, false);
        writeln!(page, "| {} | [{1}](../../{1}) | {buggy} | {repaired} |", bug.name, bug.model).unwrap();
    }
    page += RINGS_HEAD;
    HARNESSES.iter().for_each(|row| page += &(of_ring(*row) + "\n"));
    page += &format!("{NO_RING}{}.\n", without_rings());
    page += LOGS_HEAD;
    of_logs(&mut page);
    let traces = compare_all(100_000..120_000, 60).unwrap_or_else(|wrong| panic!("{wrong}"));
    let atomicity_search::Compared { models, with, .. } = atomicity_search::compare_many();
    write!(
        page,
        "\n## Compared with the definition\n\n20,000 random traces of {} operations over all settings (each specification, with and without edges of locks), {} transactions: {} to blame for certain and {} only jointly, {} cycles. {} transactions of small traces were compared with all orders of their trace. No difference.\n\n\
         {models} generated models, all runs of which were enumerated, against the search of states: {with} with a violation. No difference.\n",
        traces.steps, traces.transactions, traces.certain, traces.joint, traces.cycles, traces.orders_tried
    )
    .unwrap();
    page += SPEED;
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/atomicity.md"), page).unwrap();
}
