//! Tests of plain accesses of atomics: the exhaustive search against the enumeration of all runs, and which pairs race.

use crate::explore::search;
use crate::mixed_models;
use crate::trust::compare_models;
use raceflip::detect::Pair;
use raceflip::explore::SearchPlan;
use raceflip::vm::Model;
use std::collections::BTreeSet;

/// The search has the same ends, pairs and orders as the enumeration of all runs, with one worker and with two.
#[test]
fn searches_find_what_all_runs_come_to() {
    let all = compare_models(("mixed", mixed_models::model), 0..1_000, 3_000);
    assert!(all.models > 500, "{all:?}");
}

// The pairs of labels that are side by side in some state.
fn beside(text: &str) -> BTreeSet<(String, String)> {
    let model = Model::from_text("mixed.race", text, &[]).unwrap();
    let found = search(&SearchPlan { pairs: true, ..SearchPlan::new(&model) });
    let label = |site| model.program.sites[site].label.clone().unwrap_or_default();
    found.adjacent.keys().map(|Pair { a, b }| (label(*a), label(*b))).collect()
}

#[test]
fn an_atomic_races_with_its_plain_accesses_alone() {
    let pairs = |text: &str| beside(text).into_iter().map(|(a, b)| format!("{a}{b}")).collect::<Vec<_>>();
    let one =
        |a: &str, b: &str| pairs(&format!("atomic n = 0\nvar x = 0\nthread t {{ @a: {a} }}\nthread u {{ @b: {b} }}"));
    assert_eq!(one("plain n = 1", "fetch_add(n, 1)"), ["ab"]);
    assert_eq!(one("plain n = 1", "x = n"), ["ab"]);
    assert_eq!(one("x = plain n", "n = 1"), ["ab"]);
    assert_eq!(one("plain n = 1", "plain n = 2"), ["ab"]);
    assert_eq!(one("x = plain n", "cas(n, 0, 1)"), ["ab"]);
    // A compare-and-swap that does not swap only reads.
    assert!(one("x = plain n", "cas(n, 7, 1)").is_empty());
    assert!(one("n = 1", "fetch_add(n, 1)").is_empty());
    assert!(one("x = plain n", "if n == 0 { skip }").is_empty());
    // Two operations on an atomic do not race, although a third access is plain.
    let three = "atomic n = 0\nthread t { @a: n = 1 }\nthread u { @b: n = 2 }\nthread v { @c: plain n = 3 }";
    assert_eq!(pairs(three), ["ac", "bc"]);
    // Each field and each variable is an atomic of its own.
    let fields = "class Box { atomic v = 0; atomic w = 0 }\nlet o = new Box\n\
                  thread t { @a: plain o.v = 1; @b: o.w = 1 }\nthread u { @c: o.v = 2; @d: o.w = 2 }";
    assert_eq!(pairs(fields), ["ac"]);
}
