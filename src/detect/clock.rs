//! Vector clocks over chains, for many chains: a list of shared blocks.
//!
//! A chain is a sequence of contexts each of which happens before the next; an epoch of a chain ends whenever its context sends
//! something. A clock says how far each chain is known. Copying one copies a pointer for each 32 chains, joining skips the blocks that
//! are shared, and a chain that nobody has met takes no room.

use crate::base::Id;
use std::sync::Arc;

crate::define_id! {
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// A chain of contexts; 0 is `init`, which is before everything.
    ChainId
}

/// The chain of `init`.
pub(super) const INIT: ChainId = ChainId(0);

/// An epoch of a chain. Epochs count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    pub(super) chain: ChainId,
    pub(super) epoch: u32,
}

/// Chains of a block.
pub(super) const WIDTH: usize = 32;

/// How far the chains of a block are known.
pub(super) type Block = [u32; WIDTH];

/// How far each chain is known; 0 is not at all.
#[derive(Clone, Default, Debug)]
pub(super) struct Clock {
    blocks: Vec<Option<Arc<Block>>>,
}

impl Clock {
    /// How far the chain is known.
    pub(super) fn get(&self, chain: ChainId) -> u32 {
        let i = chain.0 as usize;
        self.blocks.get(i / WIDTH).and_then(Option::as_ref).map_or(0, |block| block[i % WIDTH])
    }

    /// Whether the point is known.
    pub(super) fn has(&self, point: Point) -> bool {
        self.get(point.chain) >= point.epoch
    }

    /// What is known, chain by chain.
    pub(super) fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let known = self.blocks.iter().enumerate().filter_map(|(i, block)| Some((i, block.as_ref()?)));
        known.flat_map(|(i, block)| {
            let point = move |(k, epoch): (usize, &u32)| Point { chain: ChainId::new(i * WIDTH + k), epoch: *epoch };
            block.iter().enumerate().map(point).filter(|point| point.epoch > 0)
        })
    }

    /// How many blocks there may be.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// What is known of the chains from `WIDTH` times this number on; `None` if nothing.
    pub(super) fn block(&self, number: usize) -> Option<&Arc<Block>> {
        self.blocks.get(number).and_then(Option::as_ref)
    }

    /// Whether all that the other knows is known.
    pub(super) fn covers(&self, other: &Clock) -> bool {
        other.blocks.iter().enumerate().all(|(number, theirs)| match (self.block(number), theirs) {
            (_, None) => true,
            (None, Some(theirs)) => theirs.iter().all(|epoch| *epoch == 0),
            (Some(mine), Some(theirs)) => {
                Arc::ptr_eq(mine, theirs) || mine.iter().zip(theirs.iter()).all(|(m, t)| m >= t)
            }
        })
    }

    /// Learns the point, and so what is before it on its chain.
    pub(super) fn learn(&mut self, point: Point) {
        if self.has(point) {
            return;
        }
        let i = point.chain.0 as usize;
        if self.blocks.len() <= i / WIDTH {
            self.blocks.resize(i / WIDTH + 1, None);
        }
        let block = self.blocks[i / WIDTH].get_or_insert_with(|| Arc::new([0; WIDTH]));
        Arc::make_mut(block)[i % WIDTH] = point.epoch;
    }

    /// Learns all that the other knows.
    pub(super) fn join(&mut self, other: &Clock) {
        if self.blocks.len() < other.blocks.len() {
            self.blocks.resize(other.blocks.len(), None);
        }
        for (mine, theirs) in self.blocks.iter_mut().zip(&other.blocks) {
            let Some(theirs) = theirs else { continue };
            match mine {
                None => *mine = Some(theirs.clone()),
                Some(mine) if Arc::ptr_eq(mine, theirs) => {}
                // Sharing keeps later joins cheap, so that a block that knows no more is taken over.
                Some(mine) if mine.iter().zip(theirs.iter()).all(|(m, t)| m <= t) => *mine = theirs.clone(),
                Some(mine) if mine.iter().zip(theirs.iter()).all(|(m, t)| m >= t) => {}
                Some(mine) => {
                    Arc::make_mut(mine).iter_mut().zip(theirs.iter()).for_each(|(m, t)| *m = (*m).max(*t));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_plain_vector_under_random_learning_and_joining() {
        let mut rng = crate::base::Rng::seeded(11);
        let mut clocks = vec![(Clock::default(), vec![0u32; 200]); 6];
        for _ in 0..4_000 {
            let (i, j) = (rng.below(6) as usize, rng.below(6) as usize);
            if rng.coin() {
                let (chain, epoch) = (rng.below(200), rng.below(50));
                clocks[i].0.learn(Point { chain: ChainId(chain), epoch });
                let plain = &mut clocks[i].1[chain as usize];
                *plain = (*plain).max(epoch);
            } else if rng.below(4) > 0 {
                let (clock, plain) = clocks[j].clone();
                clocks[i].0.join(&clock);
                clocks[i].1.iter_mut().zip(plain).for_each(|(m, t)| *m = (*m).max(t));
            } else {
                clocks[i] = clocks[j].clone();
                clocks[j] = (Clock::default(), vec![0; 200]);
            }
            let (clock, plain) = &clocks[i];
            assert!((0..200).all(|c| clock.get(ChainId(c)) == plain[c as usize]));
            assert!(
                clock.points().map(|p| (p.chain.0, p.epoch)).eq((0..200).zip(plain.clone()).filter(|(_, e)| *e > 0))
            );
        }
    }
}
