//! The proviso of stubborn sets: no actor may be left out forever.
//!
//! A step that is left out comes later, unless the others repeat a cycle before it. So a search looks, after it
//! has ended, at the strongly connected components of its graph that no transition leaves: each actor that is open in
//! one has to act in it (Valmari, *Stubborn sets for reduced state space generation*). Where one does not, a state is
//! expanded in full, and the search goes on. Conditions that are tested during a search ("some successor is new")
//! expand most states of our models in full.

use super::graph::Graph;
use super::level::StateNode;
use super::monitor::Monitor;
use super::path;
use super::searched::SearchState;
use super::table::{FreshState, StateId};
use super::{ClockMode, Cut, SearchPlan};
use crate::base::mutant::{self, Mutant};
use crate::world::{Program, Snapshot};
use std::sync::atomic::AtomicBool;

/// Returns the states that have to be expanded in full: one of each component in which an open actor never acts.
pub(super) fn left_out<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    searched: &mut SearchState<P::Guest, M>,
    stop: &AtomicBool,
) -> Vec<FreshState<StateNode<P::Guest, M>>> {
    let how = plan.stubbornness().filter(|how| how.proviso && searched.relations.is_some());
    if how.is_none() || searched.cut.is_some() || searched.finds.reduced == 0 || !searched.finds.goes_back {
        return Vec::new();
    }
    if mutant::is(Mutant::NoProviso) {
        return Vec::new();
    }
    let mut states: Vec<(u128, StateId)> = Vec::new();
    let mut graph = Graph::new(&searched.finds.graph, &searched.table);
    let Ok(left) = graph.components(stop, |traits| traits.is_closed && traits.never_act() != 0) else {
        searched.cut = Some(Cut::Stopped);
        return Vec::new();
    };
    for component in &left {
        let waits = component.states.iter().filter(|state| graph.open(**state) & component.traits.never_act() != 0);
        // By its digest, which does not depend on the workers.
        states.extend(waits.map(|state| (searched.table.digest(*state), *state)).min());
        debug_assert!(states.iter().all(|(_, id)| !searched.in_full.contains(id)), "all actors act in such a state");
    }
    states.sort_unstable();
    (0..).zip(states).map(|(place, (_, id))| again(searched, id, place)).collect()
}

// Returns a visited state as a node from which the search goes on.
fn again<G: Snapshot, M: Monitor>(
    searched: &mut SearchState<G, M>,
    id: StateId,
    place: u64,
) -> FreshState<StateNode<G, M>> {
    searched.in_full.insert(id);
    let way = searched.table.way(id);
    let choices = path::through(&searched.first, &way, ClockMode::Exact);
    let choices = choices.expect("a search finds its way again to what it has visited");
    let mut node = searched.first.clone();
    choices.iter().for_each(|choice| _ = node.follow(*choice));
    let vector = searched.vectors.as_mut().and_then(|(shared, scratch)| {
        scratch.learn(shared);
        scratch.vector_of(shared, &node.machine)
    });
    let node = match vector {
        Some(vector) => StateNode::Vector(vector.into()),
        None => StateNode::Whole(Box::new(node)),
    };
    FreshState { id, rank: place, node, sleep: 0 }
}
