//! The rules about operations that wait, and about ways that come together.

use super::{Fixpoint, Mistake};
use crate::static_tree::SEMAPHORES;
use crate::static_unfold::{ContextIndex, Does, NodeIndex, Nodes, RuleContext};

impl Fixpoint {
    // The facts after an operation that waits, or that ends what others do.
    pub(super) fn awaited(&self, node: NodeIndex, behind: &mut Nodes, over: &mut u64) {
        let on = |looper: ContextIndex| -> u64 {
            let of = self.of.contexts.iter().enumerate().filter(|(_, c)| c.looper == Some(looper));
            of.fold(0, |all, (i, _)| all | 1 << i)
        };
        let context = self.context(node);
        match self.of.nodes[node].does {
            Does::Looped if self.queue_of(context).is_some() && self.unique[context] => *over |= on(context),
            Does::Joined(t) => {
                let RuleContext { entry, exit, .. } = self.of.contexts[t];
                self.absorb(if self.thread_ends { entry } else { exit }, behind, over);
                if self.unique[t] {
                    *over |= 1 << t;
                    *over |= self.queue_of(t).map_or(0, |_| on(t));
                }
            }
            Does::Quit(looper) => {
                let has_safe_quit = self.has_safe_quit && !self.makes(Mistake::QuitSafelyIgnored);
                let is_own = self.of.contexts[context].looper == Some(looper);
                if is_own && self.unique[context] && self.unique[looper] && !has_safe_quit {
                    *over |= on(looper) & !(1 << context);
                }
            }
            // A flag starts as false, so only `true` needs a write.
            Does::Holds(flag, true) => self.meet(Does::Set(flag, true), node, behind, over),
            Does::Down(of) if of + 1 != SEMAPHORES => self.meet(Does::Up(of), node, behind, over),
            _ => {}
        }
    }

    // Adds what holds at all nodes that do this, for one who waits for it at `node`.
    fn meet(&self, does: Does, node: NodeIndex, behind: &mut Nodes, over: &mut u64) {
        let mut all: Vec<NodeIndex> =
            (0..self.of.nodes.len()).filter(|n| self.reached[*n] && self.of.nodes[*n].does == does).collect();
        // The first write of a flag is not behind the flag.
        if let Does::Set(flag, value) = does {
            let is_behind = |n: NodeIndex| {
                let mut all = (0..self.of.nodes.len()).filter(|d| self.above[n].contains(*d));
                all.any(|d| self.of.nodes[d].does == Does::Holds(flag, value))
            };
            all.retain(|n| !is_behind(*n));
        }
        if self.makes(Mistake::OneWriter) && matches!(does, Does::Set(..)) {
            all.truncate(1);
        }
        let is_flag = matches!(does, Does::Set(..));
        let ends = all.into_iter().flat_map(|n| if is_flag { self.ends_for(node, n) } else { vec![n] });
        let common = self.common(ends);
        *behind = behind.or(&common.0);
        *over |= common.1;
    }

    // Returns the nodes one of which is behind a read of a flag that a write has set: if both are in blocks of one
    // lock, the last ones in the block of the write.
    fn ends_for(&self, read: NodeIndex, write: NodeIndex) -> Vec<NodeIndex> {
        let nodes = &self.of.nodes;
        let any = self.makes(Mistake::ReadsUnderLocks);
        let common = nodes[write].held.iter().find(|lock| any || nodes[read].held.contains(lock));
        // The thread of the write may be in the block still, and one that ends anywhere need not reach the end of it.
        let Some(lock) = common.filter(|_| self.context(read) != self.context(write) && !self.thread_ends) else {
            return vec![write];
        };
        let holds = |n: NodeIndex| nodes[n].held.contains(lock);
        let (mut inside, mut open) = (Nodes::NONE, vec![write]);
        inside.insert(write);
        let mut ends = Vec::new();
        while let Some(n) = open.pop() {
            if nodes[n].follows.iter().any(|next| !holds(*next)) {
                ends.push(n);
            }
            for next in nodes[n].follows.iter().filter(|next| holds(**next)) {
                if !inside.contains(*next) {
                    inside.insert(*next);
                    open.push(*next);
                }
            }
        }
        if ends.is_empty() { vec![write] } else { ends }
    }

    // Returns what is known behind each of these nodes to which a run may come; nothing for none.
    pub(super) fn common(&self, nodes: impl Iterator<Item = NodeIndex>) -> (Nodes, u64) {
        let known = |n: NodeIndex| {
            let mut behind = self.behind[n];
            behind.insert(n);
            (behind, self.over[n])
        };
        let all = nodes.filter(|n| self.reached[*n]).map(known);
        all.reduce(|(a, x), (b, y)| (a.and(&b), x & y)).unwrap_or((Nodes::NONE, 0))
    }
}
