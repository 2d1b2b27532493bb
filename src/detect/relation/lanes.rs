//! Sets of chains, by the blocks of clocks.

use super::clock::{ChainId, WIDTH};
use crate::base::Id;

/// A subset of the chains of a block, or of the parts of a tree of blocks, as bits.
pub(in crate::detect) type Lanes = u32;

/// Returns the places of a block for which `is_in` holds. All places are asked, so that several are compared at once.
#[inline(always)]
pub(in crate::detect) fn lanes(is_in: impl Fn(usize) -> bool) -> Lanes {
    (0..WIDTH).fold(0, |lanes, k| lanes | if is_in(k) { 1 << k } else { 0 })
}

/// A set of chains.
#[derive(Clone, Default, Debug)]
pub(in crate::detect) struct ChainSet {
    // Level 0 has the chains of each block, and each level above it says which words below are not empty. The last
    // level has one word.
    levels: Vec<Vec<Lanes>>,
}

impl ChainSet {
    /// Adds a chain.
    pub(in crate::detect) fn insert(&mut self, chain: ChainId) {
        let mut number = chain.index();
        for level in 0.. {
            let (place, k) = (number / WIDTH, number % WIDTH);
            if self.levels.len() == level {
                let old = Lanes::from(self.levels.last().is_some_and(|below| below[0] != 0));
                self.levels.push(vec![old]);
            }
            let words = &mut self.levels[level];
            if words.len() <= place {
                words.resize(place + 1, 0);
            }
            words[place] |= 1 << k;
            number = place;
            if place == 0 && self.levels.len() == level + 1 {
                return;
            }
        }
    }

    /// Returns the chains of a block that are in the set.
    pub(in crate::detect) fn of(&self, block: usize) -> Lanes {
        self.parts(0, block)
    }

    /// Returns the parts of a tree that have chains in the set, by the level of the tree and its place among those of
    /// this level; the chains themselves if it is a block.
    pub(in crate::detect) fn parts(&self, level: u32, place: usize) -> Lanes {
        match self.levels.get(level as usize) {
            Some(words) => words.get(place).copied().unwrap_or(0),
            None => Lanes::from(place == 0 && !self.levels.is_empty()),
        }
    }
}
