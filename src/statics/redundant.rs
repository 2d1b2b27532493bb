//! Locks that protect nothing: blocks whose accesses are all in order without them.

use super::Statics;
use super::graph::Node;
use super::locksets::LockSets;
use super::pairs::{Relation, conflict, relation};
use crate::base::Id;
use crate::event::{SiteId, SiteKind};
use std::collections::{BTreeMap, BTreeSet};

/// A `sync` block that protects nothing: all that it guards is in order without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedundantLock {
    /// The site of the acquisition.
    pub acquire: SiteId,
    /// The pairs of an access in the block and a conflicting one that are in order. Empty if nothing conflicts with the
    /// accesses in the block.
    pub ordered: Vec<(SiteId, SiteId)>,
}

/// What a block may contain besides accesses. Everything else may need the lock, or order something by it.
fn may_be_inside(kind: SiteKind) -> bool {
    matches!(
        kind,
        SiteKind::Read
            | SiteKind::Write
            | SiteKind::Use
            | SiteKind::Free
            | SiteKind::Release
            | SiteKind::Branch
            | SiteKind::Choose
            | SiteKind::Check
            | SiteKind::Skip
            | SiteKind::Yield
            | SiteKind::Now
    )
}

impl Statics {
    /// Returns the `sync` blocks that protect nothing, by site. None where more than accesses can tell whether a block
    /// is there: a property that looks at each state, or an acquisition within a time.
    #[must_use]
    pub fn locks(&self) -> Vec<RedundantLock> {
        let graph = &self.known.graph;
        if self.watched || graph.timed_locks {
            return Vec::new();
        }
        let mut inside: BTreeMap<SiteId, BTreeSet<Node>> = BTreeMap::new();
        let mut busy = graph.busy.clone();
        for node in graph.ids().flat_map(|ctx| self.known.flow.order(graph, ctx)) {
            let data = graph.node(node);
            let Some(blocks) = graph.around.get(data.around as usize) else { continue };
            let kind = self.sites.get(data.site.index()).map(|site| site.kind);
            for (site, is_known) in &blocks.sites {
                if !is_known || kind.is_some_and(|kind| !may_be_inside(kind)) {
                    busy.insert(*site);
                }
                if graph.access(node).is_some() {
                    inside.entry(*site).or_default().insert(node);
                }
            }
        }
        let is_block = |site: &SiteId| {
            self.sites.get(site.index()).is_some_and(|site| site.kind == SiteKind::Acquire) && !busy.contains(site)
        };
        let blocks = inside.into_iter().filter(|(site, _)| is_block(site));
        blocks.filter_map(|(acquire, nodes)| self.redundant(acquire, &nodes)).collect()
    }

    // Returns the block if everything that its accesses conflict with is in order.
    fn redundant(&self, acquire: SiteId, nodes: &BTreeSet<Node>) -> Option<RedundantLock> {
        let (graph, none) = (&self.known.graph, LockSets::default());
        let mut ordered = BTreeSet::new();
        for x in nodes {
            let (site, mine) = (graph.node(*x).site, graph.access(*x)?);
            for other in self.sites.ids() {
                if !self.sites[site].can_conflict(&self.sites[other]) {
                    continue;
                }
                for y in self.occurrences(other) {
                    let (at, there) = (graph.node(*x).ctx, graph.node(*y).ctx);
                    if graph.are_one(at, there) || !graph.access(*y).is_some_and(|theirs| conflict(mine, theirs)) {
                        continue;
                    }
                    match relation(&self.known, &none, *x, *y) {
                        Relation::Never => {}
                        Relation::Before | Relation::After => drop(ordered.insert((site, other))),
                        Relation::OneThread | Relation::Locked | Relation::Free => return None,
                    }
                }
            }
        }
        Some(RedundantLock { acquire, ordered: ordered.into_iter().collect() })
    }
}
