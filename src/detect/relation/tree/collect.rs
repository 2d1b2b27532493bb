//! Removes the nodes that no clock uses.
//!
//! A node that was in use once stays in use, with few exceptions: what has ended is still known to others. So most
//! collections look only at the nodes that were made since the last one.

use super::{CHUNK_BITS, ClockStore, FEW, LEVEL_BITS, Memo, TreeClock};
use crate::base::bits_of;
use crate::detect::relation::clock::ClockBlock;
use crate::detect::relation::lanes::lanes;

// All nodes are looked at when there are this many times as many as such a collection has left before.
const GROWTH: usize = if cfg!(test) { 2 } else { 4 };

/// A position in the order in which nodes were made ([`ClockStore::fresh`]).
#[derive(Clone, Copy)]
pub(in crate::detect) struct Fresh(usize);

/// The nodes from the first one on that are in use, which knows how many of them are before a node.
#[derive(Default)]
pub(super) struct Used {
    first: usize,
    words: Vec<u64>,
    // Those of `words` that are inner nodes.
    inner: Vec<u64>,
    // Number of nodes in use before each word.
    before: Vec<u32>,
}

impl Used {
    fn renew(&mut self, first: usize, len: usize) {
        self.first = first;
        for words in [&mut self.words, &mut self.inner] {
            words.clear();
            words.resize((len - first).div_ceil(64), 0);
        }
    }

    fn mark(&mut self, tree: TreeClock) {
        if let Some(node) = tree.node().checked_sub(self.first) {
            self.words[node / 64] |= 1 << (node % 64);
            if tree.level() > 0 {
                self.inner[node / 64] |= 1 << (node % 64);
            }
        }
    }

    fn count(&mut self) {
        let mut sum = 0;
        self.before.clear();
        self.before.extend(self.words.iter().map(|word| {
            let before = sum;
            sum += word.count_ones();
            before
        }));
    }

    // Returns the tree where its node will be.
    fn moved(&self, tree: TreeClock) -> TreeClock {
        let Some(node) = tree.node().checked_sub(self.first) else { return tree };
        let rank = self.before[node / 64] + (self.words[node / 64] & ((1 << (node % 64)) - 1)).count_ones();
        TreeClock::new(self.first + rank as usize, tree.level())
    }
}

/// Shows every clock that is in use to its argument, which may change it.
pub(in crate::detect) type EachClock<'a> = dyn FnMut(&mut dyn FnMut(&mut TreeClock)) + 'a;

impl ClockStore {
    /// Whether enough nodes were made since the last time to look for those that are not in use any more.
    pub(in crate::detect) fn is_full(&self) -> bool {
        self.len >= self.full
    }

    /// Removes all nodes that are not in use. `clocks` shows every clock that is in use to its argument, which may
    /// change it; it is called twice. All other clocks of this store become invalid.
    pub(in crate::detect) fn collect(&mut self, clocks: &mut EachClock<'_>) {
        let is_complete = self.len >= GROWTH * self.complete;
        let first = if is_complete { 1 } else { self.old };
        self.remove(first, clocks);
        self.chunks.truncate(self.len.div_ceil(1 << CHUNK_BITS));
        self.full = FEW.max(self.len + self.len / 2);
        self.old = self.len;
        if is_complete {
            self.complete = FEW.max(self.len);
        }
        self.memos().for_each(|memo| memo.forget_all(number(first)));
    }

    fn memos(&mut self) -> impl Iterator<Item = &mut Memo> {
        [&mut self.joined, &mut self.covered, &mut self.removed].into_iter()
    }

    /// Returns the end of the nodes that exist now, for [`collect_fresh`](Self::collect_fresh).
    pub(in crate::detect) fn fresh(&mut self) -> Fresh {
        self.memos().for_each(Memo::watch);
        Fresh(self.len)
    }

    /// Removes the nodes that are not in use, of those that were made since the last call of [`fresh`](Self::fresh).
    /// `clocks` shows every clock that uses such nodes to its argument, as for [`collect`](Self::collect).
    pub(in crate::detect) fn collect_fresh(&mut self, Fresh(first): Fresh, clocks: &mut EachClock<'_>) {
        if first < self.len {
            self.remove(first, clocks);
        }
        self.memos().for_each(|memo| memo.forget(number(first)));
    }

    // Removes the nodes from the first one on that are not in use.
    fn remove(&mut self, first: usize, clocks: &mut EachClock<'_>) {
        let mut used = std::mem::take(&mut self.used);
        used.renew(first, self.len);
        clocks(&mut |clock| used.mark(*clock));
        // A node is made after its parts. Every inner node that is marked is in use.
        for word in (0..used.inner.len()).rev() {
            let mut seen = 0;
            while let inner @ 1.. = used.inner[word] & !seen {
                let bit = inner.ilog2();
                seen |= 1 << bit;
                let parts = self.node(first + word * 64 + bit as usize);
                bits_of(since(parts, first)).for_each(|k| used.mark(TreeClock(parts[k])));
            }
        }
        used.count();
        let mut len = first;
        for word in 0..used.words.len() {
            for bit in bits_of(used.words[word]) {
                let node = first + word * 64 + bit;
                let mut parts = *self.node(node);
                if used.inner[word] >> bit & 1 == 1 {
                    for k in bits_of(since(&parts, first)) {
                        parts[k] = used.moved(TreeClock(parts[k])).0;
                    }
                }
                self.chunks[len >> CHUNK_BITS][len % (1 << CHUNK_BITS)] = parts;
                len += 1;
            }
        }
        clocks(&mut |clock| *clock = used.moved(*clock));
        self.len = len;
        self.used = used;
    }
}

// Returns the smallest number of a tree whose root is this node.
fn number(node: usize) -> u32 {
    (node as u32) << LEVEL_BITS
}

// Returns which parts of an inner node are this node or later ones.
fn since(parts: &ClockBlock, first: usize) -> u64 {
    let first = number(first);
    lanes(|k| parts[k] >= first).into()
}
