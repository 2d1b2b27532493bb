//! Depth first: what was found last is looked at first. It holds few states that were found and not looked at, so it goes deep in little memory; ways are no
//! shortest ones. One worker does it, so that it visits the same states wherever a bound cuts it.

use super::breadth::{Keep, Searched};
use super::monitor::Monitor;
use super::table::{MOST_IN_SHARD, Table};
use super::worker::{Finds, Worker};
use super::{Context, Cut, Plan, Status};
use crate::world::Scale;
use std::sync::atomic::Ordering;

// States between two looks at the bounds.
const BATCH: u64 = 4_096;

/// Visits every state that can be reached, within the bounds.
pub(super) fn search<M: Monitor>(
    plan: &Plan<'_>,
    scale: Scale,
    monitor: &M,
    keep: Keep,
    context: Context<'_>,
) -> Searched<M> {
    let first = super::first(plan, scale, monitor);
    let table = Table::new(plan.reduces(), 1);
    let mut worker = Worker::new(plan, scale, &first, keep);
    let finds = Finds { fits: first.machine.world.scale().fits, ..Finds::default() };
    super::breadth::insert_first(&table, &first);
    let mut searched = Searched { table, finds, first, depth: 0, cut: None, frontier: 0, memory: 0 };
    let (mut open, mut found) = (Vec::new(), Vec::new());
    searched.table.next_level(&mut found);
    open.extend(found.drain(..).map(|fresh| (fresh, 0)));
    let mut looked: u64 = 0;
    while let Some((mut fresh, depth)) = open.pop() {
        searched.depth = searched.depth.max(depth);
        worker.expand(&searched.table, &mut fresh, depth, 0);
        worker.spare.push(fresh.node);
        searched.table.next_level(&mut found);
        // The first choice is followed first.
        open.extend(found.drain(..).rev().map(|fresh| (fresh, depth + 1)));
        looked += 1;
        let through = open.is_empty();
        if !looked.is_multiple_of(BATCH) && !through && worker.finds.accepted.is_none() {
            continue;
        }
        searched.finds.merge(&mut worker.finds);
        let states = searched.table.len();
        searched.frontier = open.len() as u64;
        let memory = searched.table.bytes() + (open.len() + worker.spare.len()) as u64 * worker.node_bytes;
        searched.memory = searched.memory.max(memory);
        let (transitions, frontier) = (searched.finds.transitions, searched.frontier);
        context.progress.at(&Status { states, transitions, frontier, memory, depth });
        searched.cut = plan.bounds.cut(states, memory, context.stop.load(Ordering::Relaxed));
        // The table of one worker is a single shard.
        if searched.cut.is_none() && states + BATCH * 64 > MOST_IN_SHARD as u64 {
            searched.cut = Some(Cut::States);
        }
        if through {
            searched.cut = None;
        }
        if searched.finds.accepted.is_some()
            || searched.cut.is_some()
            || super::misfit(plan, scale, &searched.finds).is_some()
        {
            return searched;
        }
    }
    if searched.finds.cut_by_depth > 0 {
        searched.frontier = searched.finds.cut_by_depth;
        searched.cut = Some(Cut::Depth);
    }
    searched
}
