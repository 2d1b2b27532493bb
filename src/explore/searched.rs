//! What a search has come to, and where it ends: what breadth first and depth first share.

use super::monitor::{Monitor, Node};
use super::table::{StateId, Table, Way};
use super::worker::Finds;
use super::{Bounds, Context, Cut, Plan, Status};
use crate::world::{Canonicalizer, Scale};
use std::sync::atomic::Ordering;

/// What a search keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    /// The states.
    States,
    /// The transitions as well.
    Graph,
}

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
    /// Bytes of the largest state, about.
    pub(super) largest: u64,
    /// There was no room for all that a state leads to.
    pub(super) full: bool,
    // Bytes that it takes now, about.
    holds: u64,
}

// Bytes of a state in the table, about, and of a node's place in a level.
const OF_A_STATE: u64 = 64;
// Bytes of a transition and of a state of the graph, about: where they are found, and where components are looked for.
const OF_AN_EDGE: usize = 96;
const OF_AN_OPEN: usize = 64;
// Of the memory that is allowed, nodes that only lend their room take one part of so many; the most that a worker keeps of them in any case.
const PART_OF_SPARE: u64 = 32;
const MOST_SPARE: u64 = 1_024;

impl<M: Monitor> Searched<M> {
    /// A search that has found the first state.
    pub(super) fn start(plan: &Plan<'_>, scale: Scale, monitor: &M, shards: usize) -> Self {
        let mut first = super::first(plan, scale, monitor);
        let table = Table::new(plan.reduces(), shards);
        let digest = first.digest(&mut Canonicalizer::new());
        let root = Way { digest, parent: StateId::NONE, rank: 0, sleep: 0 };
        table.insert(root, &Box::new(first.clone()), &mut Vec::new());
        let finds = Finds { fits: first.machine.world.scale().fits, ..Finds::default() };
        let largest = first.bytes();
        Self { table, finds, first, depth: 0, cut: None, frontier: 0, memory: 0, largest, full: false, holds: 0 }
    }

    /// How many more states may be found until a bound cuts.
    pub(super) fn room(&self, bounds: &Bounds) -> u64 {
        // What workers keep for its room does not count one by one, as it depends on how many they are.
        let bytes = (bounds.memory - bounds.memory / PART_OF_SPARE).saturating_sub(self.holds);
        bounds.states.saturating_sub(self.table.len()).min(bytes / (self.largest + OF_A_STATE))
    }

    /// How many nodes a worker may keep for their room.
    pub(super) fn most_spare(&self, plan: &Plan<'_>) -> usize {
        let bytes = plan.bounds.memory / PART_OF_SPARE / plan.jobs.max(1) as u64;
        (bytes / self.largest.max(1)).min(MOST_SPARE) as usize
    }

    /// It keeps so many nodes now.
    pub(super) fn hold(&mut self, nodes: u64) {
        let graph = self.finds.edges.len() * OF_AN_EDGE + self.finds.open.len() * OF_AN_OPEN;
        self.holds = self.table.bytes() + nodes * self.largest + graph as u64;
        self.memory = self.memory.max(self.holds);
    }

    /// Tells how far it is, which is at this depth, and looks at the bounds: whether it ends here. It also does where the monitor has seen what it was
    /// looking for, and where the scale of the clock does not fit.
    pub(super) fn is_over(
        &mut self,
        (plan, bounds, scale): (&Plan<'_>, &Bounds, Scale),
        depth: u32,
        frontier: u64,
        context: Context<'_>,
    ) -> bool {
        self.hold(frontier);
        self.frontier = frontier;
        let (states, memory, transitions) = (self.table.len(), self.holds, self.finds.transitions);
        context.progress.at(&Status { states, transitions, frontier, memory, depth });
        let full = self.full || self.room(bounds) == 0;
        let cut = bounds.cut(states, full, context.stop.load(Ordering::Relaxed));
        // Where nothing is left to look at no bound has cut anything off.
        self.cut = cut.filter(|cut| frontier > 0 || *cut == Cut::Stopped);
        self.cut.is_some() || self.finds.accepted.is_some() || super::misfit(plan, scale, &self.finds).is_some()
    }

    /// There is nothing left to look at, but what the bound of depth has left.
    pub(super) fn through(mut self) -> Self {
        if self.finds.cut_by_depth > 0 {
            self.frontier = self.finds.cut_by_depth;
            self.cut = Some(Cut::Depth);
        }
        self
    }
}
