//! Compares CAFA's order, and the use-free races in it, with their definitions on random traces.

use crate::causal_compare::compare;
use raceflip::detect::causality::{CausalityRules, External};

fn all(seeds: std::ops::Range<u64>, most: u32) -> (u64, u64) {
    let mut total = (0, 0);
    for seed in seeds {
        let (pairs, ordered) = compare(seed, most).unwrap_or_else(|wrong| panic!("{wrong}"));
        total = (total.0 + pairs, total.1 + ordered);
    }
    total
}

#[test]
fn passes_find_what_the_rules_say() {
    all(0..1_000, 60);
    let (pairs, ordered) = all(1_000..1_120, 300);
    // The relation is not trivial.
    assert!(pairs > 2_000_000 && ordered > pairs / 20 && ordered < pairs * 9 / 10, "{pairs} pairs, {ordered} ordered");
}

#[test]
#[ignore = "minutes: 10,000 traces of up to 300 operations; in release"]
fn passes_find_what_the_rules_say_of_ten_thousand_traces() {
    let (pairs, ordered) = all(0..10_000, 300);
    // The figures of `docs/detectors.md`.
    assert_eq!((pairs, ordered), (948_982_676, 255_996_236));
}

#[test]
fn the_rules_of_the_paper_order_less() {
    let with = |printed, external| CausalityRules { printed, external };
    let (mut more, mut fewer) = (0, 0);
    for seed in 0..60 {
        let trace = crate::causal_traces::trace(seed, 200);
        let [full, printed] =
            [false, true].map(|printed| crate::causal_compare::query(&trace, with(printed, External::Free)));
        for j in trace.ops.ids() {
            for i in (0..j.0).map(raceflip::trace::OpNo) {
                more += u32::from(full.is_ordered(i, j) && !printed.is_ordered(i, j));
                fewer += u32::from(!full.is_ordered(i, j) && printed.is_ordered(i, j));
            }
        }
    }
    assert!(more > 1_000 && fewer == 0, "{more} {fewer}");
}

#[test]
fn use_free_races_classes_and_filters_are_what_their_definitions_say() {
    let mut total = [0; 2];
    for seed in 0..1_500 {
        let counts = crate::causal_uses::compare(seed).unwrap_or_else(|wrong| panic!("{wrong}"));
        (0..2).for_each(|i| total[i] += counts[i]);
    }
    assert!(total[0] > 3_000 && total[1] > 150, "{total:?}");
}
