//! Where a block of a lock ends: what is behind when its lock is free again.

use super::graph::{Graph, LockId, Node};
use crate::base::Id;
use crate::event::SiteKind;
use crate::lang::Program;
use std::collections::BTreeSet;

/// Returns the nodes of which at least one has been performed when the lock is free that a block around `from` holds,
/// if `from` has been performed: the last ones inside the block, and the waits, which let the lock go. Empty if control
/// never leaves the block.
pub(super) fn ends_of_section(program: &Program, graph: &Graph, from: Node, lock: LockId) -> Vec<Node> {
    let holds = |node: Node| graph.held(node).iter().any(|(held, _)| *held == lock);
    let waits =
        |node: Node| program.sites.get(graph.node(node).site.index()).is_some_and(|site| site.kind == SiteKind::Wait);
    let (mut ends, mut seen, mut open) = (Vec::new(), BTreeSet::from([from]), vec![from]);
    while let Some(node) = open.pop() {
        if waits(node) {
            ends.push(node);
            continue;
        }
        let leaves = graph.successors(node).any(|next| !holds(next));
        ends.extend(leaves.then_some(node));
        open.extend(graph.successors(node).filter(|next| holds(*next)).filter(|next| seen.insert(*next)));
    }
    ends
}
