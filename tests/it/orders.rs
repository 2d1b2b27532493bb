//! Tests of the classes of recorded traces.

use crate::causal_traces;
use crate::cli::{REFUSED, call, file, scratch};
use crate::orders_naive::{self, Orders};
use crate::orders_traces;
use crate::traces::logs;
use raceflip::detect::orders::{NoClasses, OrderClasses, OrderOptions, order_classes};
use raceflip::event::PostTime;
use raceflip::formats::orders::OrdersReport;
use raceflip::formats::traces::{read, read_orders};
use raceflip::trace::{Action, Builder, OpNo, SiteNo, Trace};
use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::AtomicBool;

const APPS: &str = "tests/it/traces/em-explorer/test-traces/tacas-2016";

/// The apps of EM-Explorer, with their numbers of open conflicts and of classes.
pub(crate) const COUNTS: [(&str, usize, usize); 5] = [
    ("remind-me", 1, 2),
    ("music", 13, 6),
    ("charachter-recognition", 18, 20),
    ("aarddict", 1, 2),
    ("mytracks", 9, 10),
];

/// Returns the trace of an app, with the orders of what the outside world does.
pub(crate) fn app(name: &str) -> (Trace, Vec<(OpNo, OpNo)>) {
    let text = |file: &str| fs::read_to_string(format!("{APPS}/{name}/{file}")).unwrap();
    let trace = read("trace.txt", text("trace.txt").as_bytes()).unwrap();
    let known = read_orders("dependence.txt", text("dependence.txt").as_bytes(), &trace).unwrap();
    (trace, known)
}

pub(crate) fn classes(trace: &Trace, known: &[(OpNo, OpNo)]) -> Result<OrderClasses, NoClasses> {
    let options = OrderOptions { most: 100_000, known, only: None };
    order_classes(trace, &options, &AtomicBool::new(false))
}

// Whether the classes are those of brute force, and the conflicts that are not open have one order in all runs.
fn assert_equal(found: &OrderClasses, naive: &Orders, about: &str) {
    assert!(found.complete, "{about}");
    let open: Vec<(OpNo, OpNo)> = found.conflicts.iter().map(|conflict| (conflict.first, conflict.second)).collect();
    let listed: BTreeSet<Vec<bool>> = found.classes.iter().cloned().collect();
    assert_eq!(listed.len(), found.classes.len(), "each class once: {about}");
    let mut expected = BTreeSet::new();
    for class in &naive.classes {
        let (mut turned, mut number) = (Vec::new(), 0);
        for (conflict, second_first) in naive.conflicts.iter().zip(class) {
            if open.get(number) == Some(conflict) {
                turned.push(*second_first);
                number += 1;
            } else {
                assert!(!second_first, "{conflict:?} is open: {about}");
            }
        }
        assert_eq!(number, open.len(), "{about}");
        expected.insert(turned);
    }
    assert_eq!(listed, expected, "{about}");
    assert_eq!(found.ordered + open.len(), naive.conflicts.len(), "{about}");
    // The trace itself is a run, if it keeps to the rules of its queues.
    if naive.classes.contains(&vec![false; naive.conflicts.len()]) {
        assert!(found.classes[0].iter().all(|turned| !turned), "{about}");
    }
}

#[test]
fn the_apps_of_em_explorer_have_these_classes() {
    for (name, open, count) in COUNTS {
        let (trace, known) = app(name);
        let found = classes(&trace, &known).unwrap();
        assert_eq!((found.conflicts.len(), found.classes.len(), found.complete), (open, count, true), "{name}");
    }
    // Without the order of the outside world there are more.
    assert!(classes(&app("aarddict").0, &[]).unwrap().classes.len() > 2);
}

#[test]
fn traces_by_hand_have_the_classes_of_all_their_runs() {
    let (mut traces, mut all) = (0, 0);
    for (name, text) in logs().into_iter().filter(|(name, _)| orders_naive::is_by_hand(name)) {
        let trace = read(&name, text.as_bytes()).unwrap();
        let found = classes(&trace, &[]).unwrap();
        let naive = orders_naive::orders(&trace, &[], 1_000_000).unwrap();
        assert_equal(&found, &naive, &name);
        traces += 1;
        all += found.classes.len();
    }
    assert_eq!(traces, 25);
    assert!(all > 75, "{all}");
}

#[test]
fn generated_traces_have_the_classes_of_all_their_runs() {
    let (mut compared, mut most, mut contradictions, mut fronts) = (0, 0, 0, 0);
    // Small traces of loopers, and traces with everything, also with queues that break their rules.
    let loopers = (0..2000).map(|seed| (seed, orders_traces::trace(seed)));
    for (seed, trace) in loopers.chain((0..2000).map(|seed| (seed, causal_traces::trace(seed, 34)))) {
        if !orders_naive::is_known(&trace) {
            continue;
        }
        let Some(naive) = orders_naive::orders(&trace, &[], 5_000) else { continue };
        let about = || format!("seed {seed} {:#?}", trace.ops);
        match classes(&trace, &[]) {
            Ok(found) => {
                assert_equal(&found, &naive, &about());
                compared += 1;
                most = most.max(found.classes.len());
                let front = |task: &raceflip::trace::Task| task.time == PostTime::Front && task.begin.is_some();
                fronts += u32::from(trace.tasks.iter().any(front) && found.classes.len() > 1);
            }
            // No queue could have made such a trace.
            Err(NoClasses::Contradiction) => {
                assert!(!naive.classes.contains(&vec![false; naive.conflicts.len()]), "{}", about());
                contradictions += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    let counts = format!("{compared} {most} {contradictions} {fronts}");
    assert!(compared > 600 && most > 20 && fronts > 20, "{counts}");
}

// Threads that write one variable each way round: n! classes.
fn writers(n: usize) -> Trace {
    let mut builder = Builder::new();
    let x = builder.location("x", "x");
    for i in 0..n {
        let thread = builder.thread(&format!("writer {i}"));
        builder.push(thread, Action::Write(x), SiteNo::NONE, 0).unwrap();
    }
    builder.finish()
}

#[test]
fn a_count_that_is_cut_says_so() {
    let trace = writers(5);
    let count = |most, stop| {
        let options = OrderOptions { most, ..OrderOptions::default() };
        let found = order_classes(&trace, &options, &AtomicBool::new(stop)).unwrap();
        (found.classes.len(), found.complete)
    };
    assert_eq!([count(119, false), count(120, false), count(1000, false)], [(119, false), (120, true), (120, true)]);
    assert_eq!(count(1000, true), (0, false));
    let refused = classes(&writers(100), &[]).unwrap_err();
    assert_eq!(refused, NoClasses::Conflicts(4950));
    assert_eq!(classes(&writers(5000), &[]).unwrap_err(), NoClasses::Operations(5000));
}

#[test]
fn the_command_lists_the_classes() {
    let trace = format!("{APPS}/mytracks/trace.txt");
    let known = format!("{APPS}/mytracks/dependence.txt");
    let run = call(&["trace", "orders", &trace, "--known", &known]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    for part in ["9 of them open; 10 classes of orders\n", "   a  ", "  (the trace)\n", "(line "] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let quiet = call(&["trace", "orders", &trace, "--known", &known, "--quiet"]).out;
    assert!(quiet.lines().count() == 2 && run.out.starts_with(&quiet), "{quiet}");
    let json = call(&["trace", "orders", &trace, "--known", &known, "--format", "json"]);
    let report: OrdersReport = serde_json::from_str(&json.out).unwrap();
    assert_eq!((report.open.len(), report.classes.len(), report.complete), (9, 10, true));
    assert!(report.classes[0].turned.is_empty());
    assert_eq!(report.choices.iter().map(Vec::len).sum::<usize>(), 9);
    let cut = call(&["trace", "orders", &trace, "--known", &known, "--limit", "4"]);
    assert_eq!(cut.status, 0);
    assert!(
        cut.out.contains("at least 4 classes") && cut.err.contains("the limit is reached"),
        "{}{}",
        cut.out,
        cut.err
    );
    let place = &report.open[0].over;
    let one = call(&["trace", "orders", &trace, "--known", &known, "--only", place]);
    assert!(one.status == 0 && one.out.len() < run.out.len(), "{}", one.out);
}

#[test]
fn the_command_refuses_what_it_cannot_count() {
    let folder = scratch("orders-refused");
    let trace = format!("{APPS}/mytracks/trace.txt");
    let broken = file(&folder, "broken.txt", "1 START\n2 FLY tid:1\n");
    let words = file(&folder, "words.txt", "src:21 dest:27\n21 before 27\n");
    let back = file(&folder, "back.txt", "src:27 dest:21\n");
    let zero = file(&folder, "zero.txt", "src:0 dest:27\n");
    let none = file(&folder, "none.txt", "src:21 dest:9999\n");
    for (args, says) in [
        (vec![broken.as_str()], "broken.txt:2:3: `FLY` is not an operation"),
        (
            vec![&trace, "--known", &words],
            "words.txt:2:1: the line is not an order of two lines; write `src:21 dest:27`",
        ),
        (vec![&trace, "--known", &back], "back.txt:1:1: line 27 is not before line 21"),
        (vec![&trace, "--known", &none], "none.txt:1:1: line 9999 of the trace is no operation of a thread"),
        (vec![&trace, "--known", &zero], "zero.txt:1:1: lines are counted from 1"),
        (vec![&trace, "--only", "nothing"], "the trace has no location or field `nothing`"),
        (vec![&trace, "--limit", "0"], "0 is not in 1.."),
    ] {
        let run = call(&[&["trace", "orders"], args.as_slice()].concat());
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""), "{args:?}");
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
    }
}
