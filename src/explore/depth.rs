//! Depth-first search: expands the state that was found last. It holds few states that are found and not visited, so
//! that it goes deep in little memory; ways are not shortest ones. It has one worker, so that it visits the same
//! states wherever a bound cuts it.

use super::level::{Arena, StateNode};
use super::monitor::Monitor;
use super::proviso;
use super::searched::{SearchState, SearchStorage};
use super::table::{FreshState, MOST_IN_SHARD};
use super::worker::Worker;
use super::{Bounds, SearchContext, SearchPlan};
use crate::world::{Program, Scale, Snapshot};

// States between two reports of the progress.
const BATCH: u64 = 4_096;

// The table of one worker is a single shard.
const MOST: u64 = MOST_IN_SHARD as u64;

/// Visits every state that can be reached, within the bounds.
pub(super) fn search<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    monitor: &M,
    storage: SearchStorage,
    context: SearchContext<'_>,
) -> SearchState<P::Guest, M> {
    let bounds = Bounds { states: plan.bounds.states.min(MOST), ..plan.bounds };
    let mut searched = SearchState::start(plan, scale, monitor, storage, 1);
    let mut worker = Worker::new(plan, scale, &searched);
    let (mut open, mut found) = (Vec::new(), Vec::new());
    searched.table.next_level(&mut found);
    open.extend(found.drain(..).map(|fresh| (fresh, 0)));
    let mut looked: u64 = 0;
    loop {
        let Some((mut fresh, depth)) = open.pop() else {
            let again = proviso::left_out(plan, &mut searched, context.stop);
            if again.is_empty() {
                return searched.through();
            }
            worker.in_full.clone_from(&searched.in_full);
            open.extend(again.into_iter().map(|fresh| (fresh, searched.depth)));
            continue;
        };
        searched.depth = searched.depth.max(depth);
        worker.until = Some(searched.until(&bounds));
        worker.most_spare = searched.most_spare(plan);
        worker.keeps_graph = searched.storage != SearchStorage::States;
        let whole =
            worker.expand(&mut searched.table.access(true), &mut fresh, &Arena::new(0), (depth, 0), context.stop);
        searched.table.next_level(&mut found);
        complete(&fresh.node, &mut found);
        if whole {
            worker.keep(fresh.node);
        } else {
            open.push((fresh, depth));
        }
        // Reversed, so that the first choice is on top of the stack and is followed first.
        open.extend(found.drain(..).rev().map(|fresh| (fresh, depth + 1)));
        looked += 1;
        searched.largest = searched.largest.max(worker.node_bytes);
        let frontier = open.len() as u64;
        searched.hold(frontier);
        let due = looked.is_multiple_of(BATCH) || open.is_empty() || worker.finds.accepted.is_some();
        if due || !whole || searched.room(&bounds) == 0 {
            searched.finds.merge(&mut worker.finds);
            if searched.is_over((plan, &bounds, scale), depth, frontier, context) {
                return searched;
            }
        }
    }
}

// Gives the states that differ little from their parent vectors of their own.
fn complete<G, M>(parent: &StateNode<G, M>, found: &mut [FreshState<StateNode<G, M>>]) {
    let StateNode::Vector(parent) = parent else { return };
    for state in found {
        if let StateNode::Near(near) = &state.node {
            let mut vector = parent.clone();
            near.apply(&mut vector);
            state.node = StateNode::Vector(vector);
        }
    }
}
