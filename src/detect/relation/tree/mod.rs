//! Vector clocks over very many chains, as trees of nodes that all clocks of a store share.
//!
//! A leaf has the epochs of [`WIDTH`] chains, and an inner node [`WIDTH`] smaller trees. A tree is a number, so that a
//! copy costs nothing. A node never changes: who learns a point makes the nodes from its leaf to the root anew, and
//! shares all others. So two clocks that differ little share nearly everything. Joins and comparisons stop where the
//! numbers of two trees are equal, and they remember their results for inner nodes. Their cost grows with what
//! differs, not with the number of chains.
//!
//! Nodes that no clock uses any more are removed from time to time ([`ClockStore::collect`]). A node is made after
//! those that it refers to. One pass from the last node to the first one therefore finds all that are in use, and one
//! pass in the other direction moves them together within the same memory.

mod collect;
mod memo;
#[cfg(test)]
mod tests;

use super::clock::{ChainId, ClockBlock, Point, WIDTH, knows};
use super::lanes::{Lanes, lanes};
use crate::base::{Id, bits_of};
use memo::Memo;

/// A clock of a [`ClockStore`]: the last known epoch of each chain. The default knows nothing.
// The number of its root, and in the lowest bits the level of the root. invariant: of an inner node, some part other
// than the first one is not empty; a part may have a lower level than there is room for
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(in crate::detect) struct TreeClock(u32);

/// A block of which nothing is known.
pub(in crate::detect) const NOTHING: ClockBlock = [0; WIDTH];

// Seven levels of 32 chains each have room for all numbers of chains.
const LEVEL_BITS: u32 = if cfg!(test) { 4 } else { 3 };

const WIDTH_BITS: u32 = WIDTH.trailing_zeros();

// Number of nodes that are allocated together, as a power of two.
const CHUNK_BITS: u32 = if cfg!(test) { 3 } else { 7 };
const CHUNK: usize = 1 << CHUNK_BITS;

// Number of nodes below which none is removed.
const FEW: usize = if cfg!(test) { 64 } else { 1 << 16 };

impl TreeClock {
    /// Whether the clock knows nothing.
    pub(in crate::detect) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the level of the root: 0 for a leaf.
    pub(in crate::detect) fn level(self) -> u32 {
        self.0 & ((1 << LEVEL_BITS) - 1)
    }

    fn new(node: usize, level: u32) -> Self {
        Self((node as u32) << LEVEL_BITS | level)
    }

    fn node(self) -> usize {
        (self.0 >> LEVEL_BITS) as usize
    }
}

/// Which chains of a tree are in a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::detect) enum Share {
    /// No chain.
    None,
    /// All chains.
    All,
    /// These chains of a leaf.
    Lanes(Lanes),
    /// Its parts have to be asked.
    Parts,
}

/// The nodes of all clocks. A clock is valid in the store that made it.
pub(in crate::detect) struct ClockStore {
    // The epochs of a leaf, or the parts of an inner node. Node 0 knows nothing. The boxes keep a chunk where it is
    // when more chunks come.
    #[allow(clippy::vec_box)]
    chunks: Vec<Box<[ClockBlock; CHUNK]>>,
    len: usize,
    joined: Memo,
    covered: Memo,
    removed: Memo,
    // Number of nodes at which those that are not in use are removed.
    full: usize,
    // Number of nodes that the last collection has left, and the last one that has looked at all of them.
    old: usize,
    complete: usize,
    // Only for its memory.
    used: collect::Used,
}

impl Default for ClockStore {
    fn default() -> Self {
        let [joined, covered, removed] = Default::default();
        let mut store = Self {
            chunks: Vec::new(),
            len: 0,
            joined,
            covered,
            removed,
            full: FEW,
            old: 1,
            complete: FEW,
            used: Default::default(),
        };
        store.add(NOTHING, 0);
        store
    }
}

// Whether so many parts differ that a look into the memory costs less than to compare them again.
fn is_long(differ: Lanes) -> bool {
    let rest = differ & differ.wrapping_sub(1);
    rest & rest.wrapping_sub(1) != 0
}

// Returns the level of the lowest tree that has room for a block.
fn level_of(block: usize) -> u32 {
    (usize::BITS - block.leading_zeros()).div_ceil(WIDTH_BITS)
}

impl ClockStore {
    fn at(&self, tree: TreeClock) -> &ClockBlock {
        self.node(tree.node())
    }

    #[inline]
    fn node(&self, node: usize) -> &ClockBlock {
        &self.chunks[node >> CHUNK_BITS][node % CHUNK]
    }

    fn add(&mut self, node: ClockBlock, level: u32) -> TreeClock {
        if self.len >> CHUNK_BITS == self.chunks.len() {
            self.chunks.push(Box::new([NOTHING; CHUNK]));
        }
        debug_assert!(self.len < 1 << (32 - LEVEL_BITS), "{}", self.len);
        self.chunks[self.len >> CHUNK_BITS][self.len % CHUNK] = node;
        self.len += 1;
        TreeClock::new(self.len - 1, level)
    }

    /// Returns the last known epoch of the chain; 0 if nothing is known.
    pub(in crate::detect) fn get(&self, clock: TreeClock, chain: ChainId) -> u32 {
        self.block(clock, chain.index() / WIDTH)[chain.index() % WIDTH]
    }

    /// Whether the clock knows the point.
    pub(in crate::detect) fn has(&self, clock: TreeClock, point: Point) -> bool {
        self.get(clock, point.chain) >= point.epoch
    }

    /// Returns the epochs of the chains from `WIDTH * number` on.
    pub(in crate::detect) fn block(&self, clock: TreeClock, number: usize) -> &ClockBlock {
        let (mut tree, mut rest) = (clock, number);
        loop {
            let level = tree.level();
            if level_of(rest) > level {
                return &NOTHING;
            }
            if level == 0 {
                return self.at(tree);
            }
            let below = WIDTH_BITS * (level - 1);
            tree = TreeClock(self.at(tree)[rest >> below]);
            rest &= (1 << below) - 1;
        }
    }

    /// Returns a part of a tree at a place of this level, which is above the leaves.
    pub(in crate::detect) fn part(&self, tree: TreeClock, level: u32, k: usize) -> TreeClock {
        match tree.level() == level {
            true => TreeClock(self.at(tree)[k]),
            false if k == 0 => tree,
            false => TreeClock::default(),
        }
    }

    /// Returns the part of a clock at a place among those of this level.
    pub(in crate::detect) fn at_place(&self, clock: TreeClock, level: u32, place: usize) -> TreeClock {
        let (mut tree, mut rest) = (clock, place);
        while let above @ 1.. = tree.level().saturating_sub(level) {
            let below = WIDTH_BITS * (above - 1);
            let k = rest >> below;
            if k >= WIDTH {
                return TreeClock::default();
            }
            tree = TreeClock(self.at(tree)[k]);
            rest &= (1 << below) - 1;
        }
        if rest == 0 { tree } else { TreeClock::default() }
    }

    /// Returns which parts of two trees at a place of this level, which is above the leaves, are not the same tree.
    pub(in crate::detect) fn differ(&self, a: TreeClock, b: TreeClock, level: u32) -> Lanes {
        let others = |high: TreeClock, low: TreeClock| {
            let parts = self.at(high);
            lanes(|k| parts[k] != 0) & !1 | Lanes::from(parts[0] != low.0)
        };
        match (a.level() == level, b.level() == level) {
            _ if a == b => 0,
            (true, true) => {
                let (x, y) = (self.at(a), self.at(b));
                lanes(|k| x[k] != y[k])
            }
            (true, false) => others(a, b),
            (false, true) => others(b, a),
            (false, false) => 1,
        }
    }

    fn numbers(&self, tree: TreeClock, level: u32) -> ClockBlock {
        if tree.level() == level {
            return *self.at(tree);
        }
        let mut node = NOTHING;
        node[0] = tree.0;
        node
    }

    /// Returns the clock that also knows a point, and thereby all earlier points of its chain.
    pub(in crate::detect) fn learn(&mut self, clock: TreeClock, point: Point) -> TreeClock {
        if self.has(clock, point) {
            return clock;
        }
        self.set(clock, point.chain.index() / WIDTH, (point.chain.index() % WIDTH, point.epoch))
    }

    fn set(&mut self, tree: TreeClock, block: usize, lane: (usize, u32)) -> TreeClock {
        let level = tree.level().max(level_of(block));
        let mut node = self.numbers(tree, level);
        if level == 0 {
            node[lane.0] = lane.1;
        } else {
            let below = WIDTH_BITS * (level - 1);
            let k = block >> below;
            node[k] = self.set(TreeClock(node[k]), block & ((1 << below) - 1), lane).0;
        }
        self.add(node, level)
    }

    /// Whether the first clock knows everything that the second one knows.
    pub(in crate::detect) fn covers(&mut self, a: TreeClock, b: TreeClock) -> bool {
        if a == b || b.is_empty() {
            return true;
        }
        let level = b.level();
        if a.is_empty() || level > a.level() {
            return false;
        }
        if a.level() > level {
            return self.covers(TreeClock(self.at(a)[0]), b);
        }
        let (x, y) = (self.at(a), self.at(b));
        if level == 0 {
            return knows(x, y);
        }
        // A part that only the second clock knows decides without a look at any other node.
        if lanes(|k| (x[k] == 0) & (y[k] != 0)) != 0 {
            return false;
        }
        let differ = lanes(|k| x[k] != y[k]);
        let is_long = is_long(differ);
        if let Some(known) = self.covered.get([a.0, b.0]).filter(|_| is_long) {
            return known == 1;
        }
        let covers = bits_of(differ.into()).all(|k| {
            let (x, y) = (self.at(a)[k], self.at(b)[k]);
            self.covers(TreeClock(x), TreeClock(y))
        });
        if is_long {
            self.covered.put([a.0, b.0], u32::from(covers));
        }
        covers
    }

    /// Returns the clock that knows what one of the two knows: one of them, if that knows everything.
    pub(in crate::detect) fn join(&mut self, a: TreeClock, b: TreeClock) -> TreeClock {
        // Of two equal clocks the older one is the result, which more clocks share.
        if a.0 < b.0 { self.join_parts(a, b) } else { self.join_parts(b, a) }
    }

    // Joins two trees at one place; the first one if both know the same.
    fn join_parts(&mut self, a: TreeClock, b: TreeClock) -> TreeClock {
        if a == b || b.is_empty() {
            return a;
        }
        if a.is_empty() {
            return b;
        }
        let level = a.level();
        if level != b.level() {
            let (high, low) = if level > b.level() { (a, b) } else { (b, a) };
            return self.join_lower(high, low);
        }
        let (x, y) = (self.at(a), self.at(b));
        if level == 0 {
            return match () {
                () if knows(x, y) => a,
                () if knows(y, x) => b,
                () => {
                    let node = std::array::from_fn(|k| x[k].max(y[k]));
                    self.add(node, 0)
                }
            };
        }
        let differ = lanes(|k| x[k] != y[k]);
        let is_long = is_long(differ);
        if let Some(known) = self.joined.get([a.0, b.0]).filter(|_| is_long) {
            return TreeClock(known);
        }
        let mut node = *x;
        let (mut is_first, mut is_second) = (true, true);
        for k in bits_of(differ.into()) {
            let (x, y) = (TreeClock(node[k]), TreeClock(self.at(b)[k]));
            let joined = self.join_parts(x, y);
            node[k] = joined.0;
            is_first &= joined == x;
            // Two trees with different numbers may know the same.
            is_second = is_second && (joined == y || joined == x && self.covers(y, x));
        }
        let joined = match () {
            () if is_first => a,
            () if is_second => b,
            () => self.add(node, level),
        };
        if is_long {
            self.joined.put([a.0, b.0], joined.0);
        }
        joined
    }

    // Joins two trees of different levels: the lower one is at the place of the first part of the other one.
    fn join_lower(&mut self, high: TreeClock, low: TreeClock) -> TreeClock {
        let part = TreeClock(self.at(high)[0]);
        let joined = self.join_parts(part, low);
        if joined == part {
            return high;
        }
        let mut node = *self.at(high);
        node[0] = joined.0;
        self.add(node, high.level())
    }

    /// Returns the clock without what it knows of the chains of a set. `key` stands for the set; what `share` says of a
    /// tree, by its level and its place among those of the level, may change for chains that no clock knows yet.
    pub(in crate::detect) fn without(
        &mut self,
        clock: TreeClock,
        key: u32,
        share: &impl Fn(u32, usize) -> Share,
    ) -> TreeClock {
        self.without_part((clock, 0), key, share)
    }

    fn without_part(
        &mut self,
        (tree, place): (TreeClock, usize),
        key: u32,
        share: &impl Fn(u32, usize) -> Share,
    ) -> TreeClock {
        let level = tree.level();
        if tree.is_empty() {
            return tree;
        }
        match share(level, place) {
            Share::None => return tree,
            Share::All => return TreeClock::default(),
            Share::Lanes(lanes) => {
                let old = self.at(tree);
                let node: ClockBlock = std::array::from_fn(|k| if lanes >> k & 1 == 1 { 0 } else { old[k] });
                return match node {
                    NOTHING => TreeClock::default(),
                    node if node == *old => tree,
                    node => self.add(node, 0),
                };
            }
            Share::Parts => {}
        }
        if let Some(known) = self.removed.get([tree.0, key]) {
            return TreeClock(known);
        }
        let old = *self.at(tree);
        let mut node = old;
        for k in (0..WIDTH).filter(|k| old[*k] != 0) {
            let part = TreeClock(old[k]);
            let place = (place << WIDTH_BITS | k) << (WIDTH_BITS * (level - 1 - part.level()));
            node[k] = self.without_part((part, place), key, share).0;
        }
        let rest = match () {
            () if node == old => tree,
            () if node[1..].iter().all(|part| *part == 0) => TreeClock(node[0]),
            () => self.add(node, level),
        };
        self.removed.put([tree.0, key], rest.0);
        rest
    }
}
