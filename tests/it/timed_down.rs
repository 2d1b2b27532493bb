//! Tests of `down s for d`: a `down` with a timeout.

use crate::explore::{context, search};
use crate::support;
use raceflip::campaign::{self, NoProgress, confirm};
use raceflip::explore::{ClockMode, SearchPlan};
use raceflip::vm::Model;
use std::collections::BTreeSet;

fn model(text: &str) -> Model {
    Model::from_text("t.race", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns all ends of a model, with the values of its variables, by exhaustive search. Asserts that a search without
/// reduction and random walks find the same ends.
fn ends(text: &str) -> Vec<String> {
    let model = model(text);
    let of = crate::enumerate::words(&model.program);
    let searched = |reduce, clock| -> BTreeSet<String> {
        let found = search(&SearchPlan { reduce, clock, observe: of.clone(), ..SearchPlan::new(&model) });
        assert!(found.complete(), "{text}");
        found.ends.keys().map(|end| end.ended.text()).collect()
    };
    let all = searched(true, ClockMode::Exact);
    assert_eq!(searched(false, ClockMode::Exact), all, "without reduction: {text}");
    let walked: BTreeSet<String> = support::walk(&model.program, &of, 400).keys().map(|end| end.text()).collect();
    assert_eq!(walked, all, "random walks: {text}");
    all.into_iter().collect()
}

#[test]
fn both_results_come_about_where_both_can() {
    let cases: [(&str, &str, &[&str]); 11] = [
        // No thread performs `up`, so the timeout expires.
        ("", "got = down s for 5", &["ok 0 false"]),
        // One `up` happens, and no other thread takes it.
        ("up s;", "got = down s for 5", &["ok 0 false", "ok 0 true"]),
        // `up` and the timeout come at the same instant, so either may be first.
        ("sleep 5; up s;", "got = down s for 5", &["ok 0 false", "ok 0 true"]),
        // The clock may advance past a thread that could run.
        ("sleep 9; up s;", "got = down s for 5", &["ok 0 false", "ok 0 true"]),
        // A timeout of 0 or less is a single attempt.
        ("", "got = down s for 0", &["ok 0 false"]),
        ("up s;", "got = down s for 0", &["ok 0 false", "ok 0 true"]),
        ("up s;", "got = down s for -3", &["ok 0 false", "ok 0 true"]),
        // `down ... for` as a statement, and as a condition.
        ("up s;", "down s for 5; got = true", &["ok 0 true"]),
        ("", "if !(down s for 5) { got = true }", &["ok 0 true"]),
        // After a timeout, a later `up` is still available to a `down` without a timeout.
        ("up s;", "if !(down s for 1) { down s; got = true }", &["ok 0 false", "ok 0 true"]),
        // There is one `up` for two threads, so only one of them succeeds.
        ("if (down s for 3) { x = 1 };", "up s; got = down s for 2", &["ok 0 true", "ok 1 false"]),
    ];
    for (other, waits, expected) in cases {
        let text = format!(
            "semaphore s = 0\nvar x = 0\nvar got = false\nthread a {{ {other} skip }}\nthread b {{ {waits} }}\n"
        );
        assert_eq!(ends(&text), expected, "{text}");
    }
}

#[test]
fn the_longest_and_shortest_times_are_fine() {
    for time in ["9223372036854775807", "0 - 9223372036854775807", "0x7fffffffffffffff"] {
        let text = format!("semaphore s = 1\nvar got = false\nthread b {{ got = down s for {time} }}\n");
        let model = model(&text);
        let found = search(&SearchPlan { observe: crate::enumerate::words(&model.program), ..SearchPlan::new(&model) });
        let ends: Vec<String> = found.ends.keys().map(|end| end.ended.text()).collect();
        assert!(ends.contains(&"ok true".to_owned()), "{time}: {ends:?}");
        assert!(!ends.iter().any(|end| end.starts_with("deadlock")), "{time}: {ends:?}");
    }
}

/// A `down` that succeeded is ordered after the `up`; a `down` that timed out is not.
#[test]
fn what_it_orders_is_what_it_took() {
    let text = |then: &str| {
        format!(
            "semaphore s = 0\nvar x = 0\nthread a {{ @w: x = 1; up s }}\nthread b {{ let ok = down s for 5; {then} }}\n"
        )
    };
    let real = |then: &str| {
        let model = model(&text(then));
        let plan = campaign::CampaignPlan {
            detection: campaign::DetectionPlan { runs: 60, ..campaign::DetectionPlan::default() },
            trials: campaign::TrialPlan { count: 60, ..campaign::TrialPlan::default() },
            ..campaign::CampaignPlan::new(&model)
        };
        let found = confirm(&plan, campaign::CampaignContext { stop: context().stop, progress: &NoProgress });
        let real: Vec<bool> = found.pairs.iter().map(|pair| pair.proof.confirmed()).collect();
        real
    };
    assert!(!real("if ok { @r: x = 2 }").contains(&true), "it has taken what came after the write");
    assert!(real("if !ok { @r: x = 2 }").contains(&true), "it gave up: nothing orders it");
}
