//! Breadth-first search, level by level, so that everything is found on a shortest way.
//!
//! All workers share a batch of a level. The findings of a batch do not depend on which worker expands which state,
//! so that bounds, which are checked between two batches, cut at the same place for any number of workers. A batch
//! contains only as many states as can lead to no more new states than the bounds leave room for. If the choices of a
//! single state may be too many, one worker follows them one by one, up to the bound.

use super::choices;
use super::level::{Arena, Level, StateNode};
use super::monitor::Monitor;
use super::proviso;
use super::searched::{SearchState, SearchStorage};
use super::table::{FreshState, SHARDS, Table, TableAccess};
use super::worker::Worker;
use super::{SearchContext, SearchPlan};
use crate::world::{Program, Scale, Snapshot};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

// States of a level between two checks of the bounds.
const BATCH: usize = 4_096;
// States that a worker takes at a time.
const PIECE: usize = 32;

/// Visits every state that can be reached, within the bounds.
pub(super) fn search<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    monitor: &M,
    storage: SearchStorage,
    context: SearchContext<'_>,
) -> SearchState<P::Guest, M> {
    let mut searched = SearchState::start(plan, scale, monitor, storage, SHARDS);
    let mut workers: Vec<Worker<'_, P, M>> =
        (0..plan.jobs.max(1)).map(|_| Worker::new(plan, scale, &searched)).collect();
    let mut level = Level::new(searched.vectors.as_ref().map(|(shared, _)| &**shared));
    level.next(&searched.table);
    loop {
        if !go_on(plan, scale, &mut searched, &mut workers, &mut level, context) {
            return searched;
        }
        let again = proviso::left_out(plan, &mut searched, context.stop);
        if again.is_empty() {
            return searched.through();
        }
        workers.iter_mut().for_each(|worker| worker.in_full.clone_from(&searched.in_full));
        level.take(again);
    }
}

// Visits all states from a level on. Returns false if the search is over before.
fn go_on<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    searched: &mut SearchState<P::Guest, M>,
    workers: &mut [Worker<'_, P, M>],
    level: &mut Level<P::Guest, M>,
    context: SearchContext<'_>,
) -> bool {
    while !level.states.is_empty() {
        let (before, of_level) = (searched.table.len(), level.states.len() as u64);
        let mut queue = std::mem::take(&mut level.states).into_iter().enumerate().peekable();
        while queue.len() > 0 {
            let room = searched.room(&plan.bounds);
            for worker in &mut *workers {
                worker.most_spare = searched.most_spare(plan);
                worker.keeps_graph = searched.storage != SearchStorage::States;
            }
            let mut batch: Batch<P::Guest, M> = Vec::new();
            let mut may_find = 0;
            let widest = searched.widest(room / BATCH as u64);
            // A batch takes states as long as the successors of all of them fit into the bounds.
            while batch.len() < BATCH
                && let Some((_, fresh)) = queue.peek()
            {
                may_find += match (&fresh.node, widest) {
                    (StateNode::Whole(node), _) => choices::most(&node.machine.world, plan.clock),
                    (_, Some(widest)) => widest,
                    (node, None) => searched.most(node, &level.arena),
                };
                if may_find > room && !batch.is_empty() {
                    break;
                }
                batch.extend(queue.next());
            }
            if may_find > room && batch.len() == 1 {
                workers[0].until = Some(searched.until(&plan.bounds));
            }
            let left = expand(workers, (&searched.table, &level.arena), batch, searched.depth, context.stop);
            workers[0].until = None;
            searched.full |= left > 0;
            for worker in workers.iter_mut() {
                searched.finds.merge(&mut worker.finds);
                searched.largest = searched.largest.max(worker.node_bytes);
            }
            // The vectors of a level are kept until its last state has been expanded.
            searched.expanded = of_level - queue.len() as u64 - left;
            let found = searched.table.len() - before;
            let frontier = queue.len() as u64 + left + found;
            if searched.is_over((plan, &plan.bounds, scale), searched.depth, frontier, context) {
                return false;
            }
        }
        level.next(&searched.table);
        searched.depth += u32::from(!level.states.is_empty());
    }
    true
}

type Batch<G, M> = Vec<(usize, FreshState<StateNode<G, M>>)>;

// Expands the states of a batch. Returns how many of them are left because the search was stopped or there was no
// room for their successors.
fn expand<P: Program<Guest: Snapshot>, M: Monitor>(
    workers: &mut [Worker<'_, P, M>],
    (table, arena): (&Table<StateNode<P::Guest, M>>, &Arena),
    batch: Batch<P::Guest, M>,
    depth: u32,
    stop: &AtomicBool,
) -> u64 {
    let alone = batch.len() <= 2 * PIECE;
    let left = AtomicU64::new(batch.len() as u64);
    let queue = Mutex::new(batch.into_iter());
    let work = |worker: &mut Worker<'_, P, M>, mut table: TableAccess<'_, _>| {
        worker.learn();
        loop {
            let piece: Batch<P::Guest, M> = queue.lock().by_ref().take(PIECE).collect();
            if piece.is_empty() {
                break;
            }
            for (place, mut fresh) in piece {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if worker.expand(&mut table, &mut fresh, arena, (depth, place as u64), stop) {
                    left.fetch_sub(1, Ordering::Relaxed);
                }
                worker.keep(fresh.node);
            }
        }
    };
    if alone || workers.len() == 1 {
        work(&mut workers[0], table.access(true));
    } else {
        std::thread::scope(|scope| {
            let mut workers = workers.iter_mut();
            let mine = workers.next();
            for worker in workers {
                // If the system refuses more threads, those that exist do the work.
                if std::thread::Builder::new().spawn_scoped(scope, || work(worker, table.access(false))).is_err() {
                    break;
                }
            }
            if let Some(worker) = mine {
                work(worker, table.access(false));
            }
        });
    }
    left.into_inner()
}
