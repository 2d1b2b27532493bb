//! Breadth first: level by level, so that what is found is found on a shortest way.
//!
//! A level is done in batches, a batch by all workers at once. What a batch finds does not depend on who does what, so bounds, which are looked at
//! between two batches, cut at the same place for any number of workers.

use super::monitor::{Monitor, Node};
use super::searched::{Keep, Searched};
use super::table::{Fresh, SHARDS, Table};
use super::worker::Worker;
use super::{Context, Plan};
use crate::world::Scale;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

// States of a level between two looks at the bounds.
const BATCH: usize = 4_096;
// States that a worker takes at a time.
const PIECE: usize = 32;
// Nodes that a worker keeps for their room.
const MOST_SPARE: usize = 1_024;

/// Visits every state that can be reached, within the bounds.
pub(super) fn search<M: Monitor>(
    plan: &Plan<'_>,
    scale: Scale,
    monitor: &M,
    keep: Keep,
    context: Context<'_>,
) -> Searched<M> {
    let mut searched = Searched::start(plan, scale, monitor, SHARDS);
    let mut workers: Vec<Worker<'_, M>> =
        (0..plan.jobs.max(1)).map(|_| Worker::new(plan, scale, &searched.first, keep)).collect();
    let mut level = Vec::new();
    searched.table.next_level(&mut level);
    while !level.is_empty() {
        let size = level.len() as u64;
        let before = searched.table.len();
        let mut queue = level.into_iter().enumerate();
        while queue.len() > 0 {
            let batch: Vec<_> = queue.by_ref().take(BATCH).collect();
            expand(&mut workers, &searched.table, batch, searched.depth, context.stop);
            workers.iter_mut().for_each(|w| searched.finds.merge(&mut w.finds));
            let found = searched.table.len() - before;
            let frontier = queue.len() as u64 + found;
            let nodes = (size + found) * workers.iter().map(|w| w.node_bytes).max().unwrap_or(0);
            if searched.is_over((plan, &plan.bounds, scale), searched.depth, (frontier, nodes), context) {
                return searched;
            }
        }
        level = Vec::new();
        searched.table.next_level(&mut level);
        searched.depth += u32::from(!level.is_empty());
    }
    searched.through()
}

type Batch<M> = Vec<(usize, Fresh<Box<Node<M>>>)>;

fn expand<M: Monitor>(
    workers: &mut [Worker<'_, M>],
    table: &Table<Box<Node<M>>>,
    batch: Batch<M>,
    depth: u32,
    stop: &AtomicBool,
) {
    let alone = batch.len() <= 2 * PIECE;
    let queue = Mutex::new(batch.into_iter());
    let work = |worker: &mut Worker<'_, M>| {
        loop {
            let piece: Batch<M> = queue.lock().by_ref().take(PIECE).collect();
            if piece.is_empty() || stop.load(Ordering::Relaxed) {
                break;
            }
            for (place, mut fresh) in piece {
                worker.expand(table, &mut fresh, depth, place as u64);
                if worker.spare.len() < MOST_SPARE {
                    worker.spare.push(fresh.node);
                }
            }
        }
    };
    if alone || workers.len() == 1 {
        return work(&mut workers[0]);
    }
    std::thread::scope(|scope| {
        let mut workers = workers.iter_mut();
        let mine = workers.next();
        for worker in workers {
            // The system may give no more threads: those that there are do the work.
            if std::thread::Builder::new().spawn_scoped(scope, || work(worker)).is_err() {
                break;
            }
        }
        if let Some(worker) = mine {
            work(worker);
        }
    });
}
