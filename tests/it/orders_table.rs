//! Generates `docs/results/orders.md`: the classes of EM-Explorer's traces.
//! `cargo test --release --test it orders_table -- --ignored` rewrites it.

use crate::orders::{COUNTS, app, classes};
use crate::orders_naive;
use crate::support::read;
use crate::trace_models_table::SEARCHES;
use crate::traces::logs;
use raceflip::formats::traces;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

const HEAD: &str = "\
# Orders of recorded traces

Written by `cargo test --release --test it orders_table -- --ignored`. `raceflip trace orders` counts the [ways in which runs with the operations of a trace can order its conflicts](../traces.md#which-orders-come-about-together).

## Apps

The traces of five apps that EM-Explorer ships, with the orders of what the outside world does (`dependence.txt`). *Milliseconds* are those of the count, without reading the file, the least of five rounds on a shared machine (AMD EPYC, 2 cores). Beside them is what EM-DPOR explores on the same traces, by [its paper](https://arxiv.org/abs/1511.03213):
maximal traces, of which an algorithm that is not optimal may explore several in one class, and the time of the whole exploration.

| trace | operations | conflicts | of them open | classes | milliseconds | EM-DPOR: interleavings, time |
|---|---|---|---|---|---|---|
";

const BY_HAND: &str = "
## Traces by hand

The traces that EM-Explorer's authors wrote to show what their algorithm does, without those that deadlock. A test compares the classes of each with those of all runs, which a simulation in the tests enumerates state by state.

| trace | operations | open conflicts | classes |
|---|---|---|---|
";

/// Returns the row of an app, without its time.
fn row(name: &str) -> String {
    let (trace, known) = app(name);
    let found = classes(&trace, &known).unwrap();
    let (open, count) = (found.conflicts.len(), found.classes.len());
    format!("| {name} | {} | {} | {open} | {count} |", trace.ops.len(), found.ordered + open)
}

fn by_hand() -> String {
    let mut rows = String::new();
    for (name, text) in logs().iter().filter(|(name, _)| orders_naive::is_by_hand(name)) {
        let trace = traces::read(name, text.as_bytes()).unwrap();
        let found = classes(&trace, &[]).unwrap();
        let parts: Vec<&str> = name.split('/').collect();
        let short = parts[parts.len() - 3..parts.len() - 1].join("/");
        let (open, count) = (found.conflicts.len(), found.classes.len());
        writeln!(rows, "| {short} | {} | {open} | {count} |", trace.ops.len()).unwrap();
    }
    rows
}

#[test]
fn the_page_has_the_counts() {
    let page = read("docs/results/orders.md");
    let by_hand = by_hand();
    let rows = COUNTS.iter().map(|(name, ..)| row(name)).chain(by_hand.lines().map(str::to_owned));
    for row in rows {
        assert!(page.contains(&row), "{row} is not in\n{page}");
    }
}

#[test]
#[ignore = "it writes a file"]
fn orders_table() {
    let mut text = HEAD.to_owned();
    for (name, ..) in COUNTS {
        let (trace, known) = app(name);
        let round = || {
            let start = Instant::now();
            let found = classes(&trace, &known);
            let seconds = start.elapsed().as_secs_f64();
            assert!(found.is_ok());
            seconds * 1e3
        };
        let least = (0..5).map(|_| round()).fold(f64::MAX, f64::min);
        let (_, other) = SEARCHES.iter().find(|(of, _)| *of == name).unwrap();
        writeln!(text, "{} {least:.2} | {other} |", row(name)).unwrap();
    }
    text.push_str(BY_HAND);
    text.push_str(&by_hand());
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/orders.md"), text).unwrap();
}
