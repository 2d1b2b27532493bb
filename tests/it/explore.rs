//! The exhaustive search against other ways to the same answer.

use crate::agree::search;
use crate::enumerate::{enumerate, words};
use crate::tiny;
use raceflip::explore::{Clock, Plan};
use raceflip::vm::Model;
use std::collections::BTreeSet;

#[test]
fn it_comes_to_the_ends_of_all_runs() {
    let mut compared = 0;
    for (i, text) in tiny::pairs().chain((0..1_000).map(tiny::model)).enumerate() {
        let model = Model::from_text(&format!("tiny {i}"), &text, &[]).unwrap();
        let of = words(&model.program);
        // Random walks' clock: then both see the same instants.
        let Some(all) = enumerate(&model.program, &of, true, 3_000) else { continue };
        for (reduce, clock) in [(false, Clock::Critical), (false, Clock::Exact), (true, Clock::Exact)] {
            let found = search(&Plan { reduce, clock, observe: of.clone(), ..Plan::new(&model) });
            assert!(found.complete(), "{i} {:?}", found.cut);
            let ends: BTreeSet<_> = found.ends.keys().map(|e| e.ended.clone()).collect();
            let missing: Vec<_> = all.ends.difference(&ends).collect();
            assert!(missing.is_empty(), "tiny {i} {reduce} {clock:?}: {missing:?} are missing\n{text}");
            if clock == Clock::Critical {
                assert_eq!(ends, all.ends, "tiny {i} {reduce} {clock:?}\n{text}");
            }
        }
        compared += 1;
    }
    assert!(compared > 3_000, "only {compared} models");
}
