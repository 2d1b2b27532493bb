//! Breadth first: level by level, so that what is found is found on a shortest way.
//!
//! A level is done in batches, a batch by all workers at once. What a batch finds does not depend on who does what, so bounds, which are looked at
//! between two batches, cut at the same place for any number of workers.

use super::monitor::{Monitor, Node};
use super::table::{Fresh, SHARDS, StateId, Table, Way};
use super::worker::{Finds, Worker};
use super::{Context, Cut, Plan, Status};
use crate::world::{Canonicalizer, Scale};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

// States of a level between two looks at the bounds.
const BATCH: usize = 4_096;
// States that a worker takes at a time.
const PIECE: usize = 32;
// Nodes that a worker keeps for their room.
const MOST_SPARE: usize = 1_024;

/// What a search has come to.
pub(super) struct Searched<M> {
    pub(super) table: Table<Box<Node<M>>>,
    pub(super) finds: Finds,
    pub(super) first: Node<M>,
    pub(super) depth: u32,
    /// What ended it before it was through.
    pub(super) cut: Option<Cut>,
    /// States that were found and not looked at.
    pub(super) frontier: u64,
    /// The most bytes that it took, about.
    pub(super) memory: u64,
}

/// What a search keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    /// The states.
    States,
    /// The transitions as well.
    Graph,
}

/// Visits every state that can be reached, within the bounds. It also ends where the scale of the clock does not fit.
pub(super) fn search<M: Monitor>(
    plan: &Plan<'_>,
    scale: Scale,
    monitor: &M,
    keep: Keep,
    context: Context<'_>,
) -> Searched<M> {
    let first = super::first(plan, scale, monitor);
    let table = Table::new(plan.reduces(), SHARDS);
    insert_first(&table, &first);
    let mut workers: Vec<Worker<'_, M>> =
        (0..plan.jobs.max(1)).map(|_| Worker::new(plan, scale, &first, keep)).collect();
    let finds = Finds { fits: first.machine.world.scale().fits, ..Finds::default() };
    let mut searched = Searched { table, finds, first, depth: 0, cut: None, frontier: 0, memory: 0 };
    let mut level = Vec::new();
    searched.table.next_level(&mut level);
    while !level.is_empty() {
        let size = level.len();
        let before = searched.table.len();
        let mut queue = level.into_iter().enumerate();
        while queue.len() > 0 {
            let batch: Vec<_> = queue.by_ref().take(BATCH).collect();
            expand(&mut workers, &searched.table, batch, searched.depth, context.stop);
            workers.iter_mut().for_each(|w| searched.finds.merge(&mut w.finds));
            let states = searched.table.len();
            let found = states - before;
            searched.frontier = queue.len() as u64 + found;
            let of_nodes = (size as u64 + found) * workers.iter().map(|w| w.node_bytes).max().unwrap_or(0);
            let memory = searched.table.bytes() + of_nodes;
            searched.memory = searched.memory.max(memory);
            let (transitions, frontier, depth) = (searched.finds.transitions, searched.frontier, searched.depth);
            context.progress.at(&Status { states, transitions, frontier, memory, depth });
            searched.cut = plan.bounds.cut(states, memory, context.stop.load(Ordering::Relaxed));
            if searched.finds.accepted.is_some() {
                return searched;
            }
            if searched.cut.is_some() || super::misfit(plan, scale, &searched.finds).is_some() {
                return searched;
            }
        }
        level = Vec::new();
        searched.table.next_level(&mut level);
        if !level.is_empty() {
            searched.depth += 1;
        }
    }
    if searched.finds.cut_by_depth > 0 {
        searched.frontier = searched.finds.cut_by_depth;
        searched.cut = Some(Cut::Depth);
    }
    searched
}

/// Puts the first state into an empty table.
pub(super) fn insert_first<M: Monitor>(table: &Table<Box<Node<M>>>, first: &Node<M>) {
    let mut first = first.clone();
    let digest = first.digest(&mut Canonicalizer::new());
    let root = Way { digest, parent: StateId::NONE, rank: 0, sleep: 0 };
    table.insert(root, &Box::new(first), &mut Vec::new());
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
        for worker in workers {
            scope.spawn(|| work(worker));
        }
    });
}
