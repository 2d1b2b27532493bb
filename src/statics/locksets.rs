//! The locks that are held at each node: those of the blocks around it, and those that are acquired by hand on every
//! way to it.

use super::flow::Flow;
use super::graph::{Ctx, Graph, Held, LockId, Node, NodeKind};
use std::collections::{BTreeMap, BTreeSet};

/// The locks that are held by hand, for the contexts that acquire any.
#[derive(Default, Debug)]
pub(super) struct LockSets {
    by_hand: BTreeMap<u32, Vec<Held>>,
    /// Locks that a context may release by hand inside a block that holds them, so that its blocks need not hold them
    /// to their ends. `None` for any lock.
    released: BTreeSet<(Ctx, Option<LockId>)>,
}

impl LockSets {
    pub(super) fn of(graph: &Graph, flow: &Flow) -> Self {
        let mut sets = Self::default();
        for ctx in graph.ids() {
            for node in graph.nodes_of(ctx) {
                sets.released.extend(released_inside(graph, node).map(|lock| (ctx, lock)));
            }
            if graph.nodes_of(ctx).any(|node| matches!(graph.node(node).kind, NodeKind::Acquire(Some(_)))) {
                sets.walk(graph, flow, ctx);
            }
        }
        sets
    }

    // A forward analysis: what is held on all ways. A node that no way has reached yet has no entry.
    fn walk(&mut self, graph: &Graph, flow: &Flow, ctx: Ctx) {
        let mut before: BTreeMap<u32, Vec<Held>> = BTreeMap::from([(graph.context(ctx).entry().0, Vec::new())]);
        let order: Vec<Node> = flow.order(graph, ctx).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for node in &order {
                let Some(held) = before.get(&node.0) else { continue };
                let mut after = held.clone();
                match graph.node(*node).kind {
                    NodeKind::Acquire(Some(lock)) => after.push(lock),
                    // A reentrant lock is held until it is released as often as it was acquired.
                    NodeKind::Release(Some(lock)) => {
                        if let Some(at) = after.iter().rposition(|held| *held == lock) {
                            after.remove(at);
                        }
                    }
                    NodeKind::Release(None) => after.clear(),
                    _ => {}
                }
                for next in graph.successors(*node) {
                    match before.get_mut(&next.0) {
                        None => {
                            before.insert(next.0, after.clone());
                            changed = true;
                        }
                        Some(known) => {
                            let kept = common(known, &after);
                            if kept.len() < known.len() {
                                *known = kept;
                                changed = true;
                            }
                        }
                    }
                }
            }
        }
        self.by_hand.extend(before.into_iter().filter(|(_, held)| !held.is_empty()));
    }

    /// Returns the known locks that are held when a node is pending.
    pub(super) fn at<'s>(&'s self, graph: &'s Graph, node: Node) -> impl Iterator<Item = &'s Held> + Clone {
        let ctx = graph.node(node).ctx;
        let any = self.released.contains(&(ctx, None));
        let kept = move |held: &&Held| !any && !self.released.contains(&(ctx, Some(held.0)));
        graph.held(node).iter().filter(kept).chain(self.by_hand.get(&node.0).map_or(&[][..], Vec::as_slice))
    }
}

/// Returns the locks that a node may release by hand inside a block that holds them. `None` for any lock.
pub(super) fn released_inside(graph: &Graph, node: Node) -> Option<Option<LockId>> {
    let NodeKind::Release(lock) = graph.node(node).kind else { return None };
    let lock = lock.map(|(lock, _)| lock);
    let held = |lock: LockId| graph.held(node).iter().any(|(held, _)| *held == lock);
    let is_inside = graph.shares.contains(&graph.node(node).ctx) || lock.map_or(!graph.held(node).is_empty(), held);
    is_inside.then_some(lock)
}

// What both lists have, as often as both have it.
fn common(a: &[Held], b: &[Held]) -> Vec<Held> {
    let mut left = b.to_vec();
    let keep = |held: &&Held| left.iter().position(|other| other == *held).map(|at| left.remove(at)).is_some();
    let mut keep = keep;
    a.iter().filter(|held| keep(held)).copied().collect()
}
