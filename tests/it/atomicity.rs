//! Compares the analysis of atomicity with its definition, and with all orders of small traces.

use crate::atomicity_compare::{Seen, compare_all};
use crate::part_traces::{BASE, Shape, trace};
use raceflip::detect::atomicity::{AtomicityOptions, Specification, analyze};
use std::sync::atomic::AtomicBool;

fn all(seeds: std::ops::Range<u64>, most: u32) -> Seen {
    compare_all(seeds, most).unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn the_analysis_finds_what_the_definition_says() {
    let seen = all(0..600, 50);
    // Neither answer is rare, and neither are cases that need a second pass.
    println!("{seen:?}");
    assert!(seen.certain > 1_000 && seen.joint > 50 && seen.many_passes > 100, "{seen:?}");
    assert!(seen.transactions > 3 * (seen.certain + seen.joint) / 2 && seen.cycles > 1_000, "{seen:?}");
    // The task of a block knows before the block what another transaction as a whole knows of it.
    all(5_100..5_102, 36);
    let long = all(10_000..10_010, 200);
    assert!(long.certain > 50, "{long:?}");
}

#[test]
fn a_violated_transaction_is_in_one_piece_in_no_order() {
    let seen = all(20_000..22_000, 18);
    assert!(seen.orders_tried > 8_000 && seen.certain > 100, "{seen:?}");
}

#[test]
#[ignore = "minutes: 20,000 traces; in release"]
fn the_analysis_finds_what_the_definition_says_of_twenty_thousand_traces() {
    let seen = all(100_000..120_000, 60);
    println!("{seen:?}");
    assert!(seen.steps > 3_000_000 && seen.certain > 30_000, "{seen:?}");
}

/// The peak of an analysis is at most 80 bytes for each operation of a trace with 1,000 locations, and grows with the
/// trace (by at most a third more, for the doubling of vectors).
#[test]
fn the_memory_of_an_analysis_grows_with_the_trace() {
    let peak = |times: usize| {
        let shape = Shape {
            operations: times * 100_000,
            tasks: times as u32 * 2_000,
            locations: 1_000,
            instances: 100,
            ..BASE
        };
        let trace = trace(&shape);
        let stop = AtomicBool::new(false);
        let run = || analyze(&trace, Specification::Lifecycle, AtomicityOptions::default(), &stop);
        let mut found = None;
        let bytes = allocation_counter::measure(|| found = run()).bytes_max;
        let found = found.expect("nothing stops it");
        assert!(found.violated > 50 && !found.findings.is_empty(), "{}", shape.name);
        bytes as f64 / trace.ops.len() as f64
    };
    let (one, four) = (peak(1), peak(4));
    println!("{one} and {four} bytes an operation");
    assert!(one < 80.0 && four < 4.0 / 3.0 * one, "{one}, {four}");
}
