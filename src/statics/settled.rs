//! Settled orders: orders that every run has, of two tasks of one looper that are not in order. They refute nothing,
//! because the order of the tasks decides whether an access is performed at all.

use super::Statics;
use super::graph::{Ctx, Node, NodeKind, Place, Sync, Test};
use super::pairs::{Relation, conflict, relation};
use super::program_facts::may_satisfy;
use crate::event::SiteId;
use std::collections::BTreeSet;

/// An order that every run has, although a run may show the other order to be wanted: it is shown, and refutes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// The site whose instances come first in every run that has both.
    pub first: SiteId,
    /// The reason.
    pub by: SettledBy,
}

/// The reason of a [`Settled`] order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SettledBy {
    /// The other order fails a guard, which skips the later access.
    Guard,
    /// The task of the later access quits its looper, so nothing comes after it there.
    Quit,
}

impl Statics {
    /// Returns the settled order of two sites that conflict, if all of their occurrences have it and W does not say so.
    #[must_use]
    pub fn settled(&self, a: SiteId, b: SiteId) -> Option<Settled> {
        let graph = &self.known.graph;
        let (mut firsts, mut by) = (BTreeSet::new(), None);
        for x in self.occurrences(a) {
            for y in self.occurrences(b) {
                let (at, there) = (graph.node(*x).ctx, graph.node(*y).ctx);
                let (Some(mine), Some(theirs)) = (graph.access(*x), graph.access(*y)) else { continue };
                if graph.are_one(at, there) || !conflict(mine, theirs) {
                    continue;
                }
                match relation(&self.known, &self.locks, *x, *y) {
                    Relation::Never => {}
                    Relation::Before => drop(firsts.insert(a)),
                    Relation::After => drop(firsts.insert(b)),
                    Relation::OneThread => {
                        let (first, reason) = match (self.settles(*x, *y), self.settles(*y, *x)) {
                            (Some(reason), None) => (a, reason),
                            (None, Some(reason)) => (b, reason),
                            _ => return None,
                        };
                        firsts.insert(first);
                        by = Some(by.map_or(reason, |by: SettledBy| by.min(reason)));
                    }
                    Relation::Locked | Relation::Free => return None,
                }
            }
        }
        let (Some(first), 1) = (firsts.first(), firsts.len()) else { return None };
        (a != b).then_some(Settled { first: *first, by: by? })
    }

    // Returns why `x` never comes after `y`, for two tasks of one looper.
    fn settles(&self, x: Node, y: Node) -> Option<SettledBy> {
        let graph = &self.known.graph;
        let task = graph.context(graph.node(x).ctx);
        let (other, looper) = (graph.node(y).ctx, task.looper?);
        if graph.context(other).looper != Some(looper) || other == graph.node(x).ctx {
            return None;
        }
        // What begins inside of the task may fail its guard in the middle.
        if graph.around_start(other).contains(&graph.node(x).ctx) {
            return None;
        }
        if self.known.program.quits_plainly && graph.context(other).unique && self.always_quits(other, looper) {
            let dropped = self.known.program.dropped.get(&looper);
            if dropped.is_some_and(|dropped| dropped.has(graph.node(x).ctx.0 as usize)) {
                return Some(SettledBy::Quit);
            }
        }
        // An operation on an atomic may leave its value as it was.
        let value = graph.access(y).filter(|access| access.writes && !access.atomic)?.value?;
        let mut above = std::iter::successors(Some(x), |node| self.known.flow.idom(*node));
        let fails = above.any(|node| match graph.node(node).kind {
            NodeKind::Sync(Sync::Flag(test, reader)) => !reader.is_stale && self.fails_for_good(test, value, y),
            _ => false,
        });
        fails.then_some(SettledBy::Guard)
    }

    // Whether a condition fails from this write on, in all that its looper runs.
    fn fails_for_good(&self, test: Test, value: i64, write: Node) -> bool {
        let graph = &self.known.graph;
        let is_of = |node: Node| {
            let place = graph.access(node).filter(|access| access.writes).map(|access| access.place);
            matches!(place, Some(Place::Global { id, cell }) if (id, cell) == (test.global, Some(test.cell)))
        };
        let mut writes = self.known.program.writes.get(&test.global).into_iter().flatten();
        is_of(write)
            && !test.holds(value)
            && writes.all(|other| !may_satisfy(graph, *other, test) || self.known.is_past_before(*other, write))
    }

    // Whether a task tells its looper to quit on every way to its end.
    fn always_quits(&self, task: Ctx, looper: Ctx) -> bool {
        let graph = &self.known.graph;
        let Some(exit) = graph.context(task).exit else { return false };
        let mut above = std::iter::successors(Some(exit), |node| self.known.flow.idom(*node));
        above.any(|node| graph.node(node).kind == NodeKind::Sync(Sync::HasQuit(looper)))
    }
}
