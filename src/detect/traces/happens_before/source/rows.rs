//! A relation over nodes as rows of bits.

use super::nodes::Node;
use crate::base::{Id, bits_of};

/// Bits for nodes, as words.
pub(super) type Words = Vec<u64>;

/// The successors of each node.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    words: Words,
    /// Number of words of one row.
    width: usize,
}

impl Rows {
    /// Returns the empty relation.
    pub(super) fn new(nodes: usize, columns: usize) -> Self {
        let width = columns.div_ceil(64);
        Self { words: vec![0; nodes * width], width }
    }

    pub(super) fn row(&self, at: usize) -> &[u64] {
        &self.words[at * self.width..][..self.width]
    }

    pub(super) fn row_mut(&mut self, at: usize) -> &mut [u64] {
        &mut self.words[at * self.width..][..self.width]
    }

    pub(super) fn of(&self, node: Node) -> &[u64] {
        self.row(node.index())
    }

    pub(super) fn contains(&self, from: Node, to: Node) -> bool {
        has(self.of(from), to)
    }

    /// Adds a pair. Returns whether it is new.
    pub(super) fn add(&mut self, from: Node, to: Node) -> bool {
        set(self.row_mut(from.index()), to)
    }
}

pub(super) fn has(words: &[u64], node: Node) -> bool {
    words[node.index() / 64] >> (node.index() % 64) & 1 == 1
}

/// Adds a node. Returns whether it is new.
pub(super) fn set(words: &mut [u64], node: Node) -> bool {
    let (word, bit) = (&mut words[node.index() / 64], 1 << (node.index() % 64));
    let new = *word & bit == 0;
    *word |= bit;
    new
}

/// Adds the nodes from `first` up to, but without, `end`.
pub(super) fn set_all(words: &mut [u64], first: Node, end: Node) {
    for at in first.index()..end.index() {
        words[at / 64] |= 1 << (at % 64);
    }
}

pub(super) fn clear_all(words: &mut [u64], first: Node, end: Node) {
    for at in first.index()..end.index() {
        words[at / 64] &= !(1 << (at % 64));
    }
}

/// Returns the nodes that are in `words` and in `mask`, but not in `without`.
pub(super) fn members(words: &[u64], mask: &[u64], without: Option<&[u64]>) -> Vec<Node> {
    let mut found = Vec::new();
    for at in 0..words.len() {
        let word = words[at] & mask[at] & !without.map_or(0, |w| w[at]);
        found.extend(bits_of(word).map(|bit| Node::new(at * 64 + bit)));
    }
    found
}
