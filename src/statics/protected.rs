//! Pairs that locks protect, whether or not they are in order: for counts beside those of the paper.

use super::Statics;
use super::pairs::conflict;
use super::program_facts::excludes;
use crate::event::SiteId;

impl Statics {
    /// Returns whether two sites have conflicting occurrences, and a common lock protects all of these. Orders do not
    /// count: a pair that they order as well is protected too.
    #[must_use]
    pub fn protected(&self, a: SiteId, b: SiteId) -> bool {
        let graph = &self.known.graph;
        let mut any = false;
        for x in self.occurrences(a) {
            for y in self.occurrences(b) {
                let (at, there) = (graph.node(*x).ctx, graph.node(*y).ctx);
                let Some((mine, theirs)) = graph.access(*x).zip(graph.access(*y)) else { continue };
                if graph.are_one(at, there) || !conflict(mine, theirs) {
                    continue;
                }
                any = true;
                if !self.locks.at(graph, *x).any(|m| self.locks.at(graph, *y).any(|l| excludes(m, l))) {
                    return false;
                }
            }
        }
        any
    }
}
