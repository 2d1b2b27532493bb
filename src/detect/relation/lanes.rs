//! Sets of chains, by the blocks of clocks.

use super::clock::{ChainId, WIDTH};
use crate::base::Id;

/// A subset of the chains of a block, as bits.
pub(in crate::detect) type Lanes = u32;

/// A set of chains.
#[derive(Clone, Default, Debug)]
pub(in crate::detect) struct ChainSet {
    blocks: Vec<Lanes>,
}

impl ChainSet {
    /// Adds a chain.
    pub(in crate::detect) fn insert(&mut self, chain: ChainId) {
        let (block, k) = (chain.index() / WIDTH, chain.index() % WIDTH);
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, 0);
        }
        self.blocks[block] |= 1 << k;
    }

    /// Returns the chains of a block that are in the set.
    pub(in crate::detect) fn of(&self, block: usize) -> Lanes {
        self.blocks.get(block).copied().unwrap_or(0)
    }
}
