//! Tests of pools: the exhaustive search against the enumeration of all runs, a pool against threads that receive their
//! tasks from a channel, and workers that are alike against workers that the search keeps apart.

use crate::explore::search;
use crate::pool_models::{self, PoolModel};
use crate::trust::compare_models;
use raceflip::exec::{EndKind, RunResult};
use raceflip::explore::{Bounds, SearchPlan, SearchReport};
use raceflip::vm::Model;
use std::collections::BTreeSet;

/// The search has the same ends, pairs and orders as the enumeration of all runs, with one worker and with two.
#[test]
fn searches_find_what_all_runs_come_to() {
    let all = compare_models(("pools", pool_models::model), 0..250, 30_000);
    assert!(all.models > 30, "{all:?}");
}

#[test]
#[ignore = "takes minutes"]
fn searches_find_what_all_runs_of_many_models_come_to() {
    compare_models(("pools", pool_models::model), 0..8_000, 30_000);
}

// Searches all states of a model and watches the variables `x`, `y` and `log`, as far as it has them.
fn searched(text: &str) -> Option<SearchReport> {
    let model = Model::from_text("pools.race", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let globals = model.program.globals.enumerate();
    let observe = globals.filter(|(_, g)| ["x", "y", "log"].contains(&g.name.as_str())).map(|(id, _)| id).collect();
    let bounds = Bounds { states: 30_000, ..Bounds::default() };
    let found = search(&SearchPlan { observe, bounds, ..SearchPlan::new(&model) });
    found.complete().then_some(found)
}

// How runs end, and with which values. Names of threads differ between two ways to write a model, so that deadlocks
// are only told by that word.
fn ends(found: &SearchReport) -> BTreeSet<String> {
    // A site has another number in another text.
    let text = |ended: &RunResult| {
        let mut ended = ended.clone();
        if let EndKind::Failure { site, .. } = &mut ended.kind {
            *site = None;
        }
        format!("{ended:?}")
    };
    let word = |ended: &RunResult| if text(ended).contains("Deadlock") { "deadlock".to_owned() } else { text(ended) };
    found.ends.keys().map(|end| word(&end.ended)).collect()
}

#[test]
fn a_pool_does_what_threads_with_a_channel_do() {
    let (mut compared, mut failing) = (0, 0);
    for seed in 0..400 {
        let model = PoolModel::new(seed, 5 + (seed % 3) as u32, false);
        let (pool, channel) = (model.with_pool(), model.with_channel());
        let (Some(one), Some(two)) = (searched(&pool), searched(&channel)) else { continue };
        let (one, two) = (ends(&one), ends(&two));
        assert_eq!(one, two, "seed {seed}\n{pool}\n{channel}");
        compared += 1;
        failing += u32::from(one.iter().any(|end| end.contains("one")));
    }
    assert!(compared > 250 && failing > 20, "{compared} {failing}");
}

#[test]
fn workers_that_are_alike_end_as_workers_that_are_kept_apart() {
    let (mut compared, mut fewer) = (0, 0);
    for seed in 0..500 {
        let model = PoolModel::new(seed, 5 + (seed % 3) as u32, true);
        let (text, apart) = (model.with_pool(), model.with_unlike_workers());
        if text.contains("self") {
            continue;
        }
        let (Some(alike), Some(apart)) = (searched(&text), searched(&apart)) else { continue };
        assert_eq!(ends(&alike), ends(&apart), "seed {seed}\n{text}");
        assert!(alike.states <= apart.states, "seed {seed}: {} {}\n{text}", alike.states, apart.states);
        compared += 1;
        fewer += u32::from(alike.states < apart.states);
    }
    assert!(compared > 150 && fewer > 50, "{compared} {fewer}");
}

#[test]
fn further_idle_workers_cost_no_states() {
    let text = |workers: u32| {
        format!("pool io = {workers}\nvar x = 0\ntask f() {{ x += 1 }}\nthread t {{ post f() to io; post f() to io }}")
    };
    let states = |workers| searched(&text(workers)).expect("a small model").states;
    assert_eq!(states(2), states(3));
    assert_eq!(states(2), states(8));
}
