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
}

impl<M: Monitor> Searched<M> {
    /// A search that has found the first state.
    pub(super) fn start(plan: &Plan<'_>, scale: Scale, monitor: &M, shards: usize) -> Self {
        let mut first = super::first(plan, scale, monitor);
        let table = Table::new(plan.reduces(), shards);
        let digest = first.digest(&mut Canonicalizer::new());
        let root = Way { digest, parent: StateId::NONE, rank: 0, sleep: 0 };
        table.insert(root, &Box::new(first.clone()), &mut Vec::new());
        let finds = Finds { fits: first.machine.world.scale().fits, ..Finds::default() };
        Self { table, finds, first, depth: 0, cut: None, frontier: 0, memory: 0 }
    }

    /// Tells how far it is, which is at this depth, and looks at the bounds: whether it ends here. It also does where the monitor has seen what it was
    /// looking for, and where the scale of the clock does not fit.
    pub(super) fn is_over(
        &mut self,
        (plan, bounds, scale): (&Plan<'_>, &Bounds, Scale),
        depth: u32,
        (frontier, bytes_of_nodes): (u64, u64),
        context: Context<'_>,
    ) -> bool {
        let (states, memory, transitions) =
            (self.table.len(), self.table.bytes() + bytes_of_nodes, self.finds.transitions);
        (self.frontier, self.memory) = (frontier, self.memory.max(memory));
        context.progress.at(&Status { states, transitions, frontier, memory, depth });
        let cut = bounds.cut(states, memory, context.stop.load(Ordering::Relaxed));
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
