//! Vector clocks over many chains, stored in pages of shared blocks.
//!
//! A chain is a sequence of contexts each of which happens before the next one. An epoch of a chain ends whenever its
//! context sends something. A clock holds, for each chain, the last epoch that is known. Copying a clock copies one
//! pointer for each 256 chains, joining skips pages and blocks that are shared, and unknown chains take no memory.

use crate::base::Id;
use smallvec::SmallVec;
use std::sync::Arc;

crate::define_id! {
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// A chain of contexts; 0 is `init`, which is before everything.
    ChainId
}

/// The chain of `init`.
pub(in crate::detect) const INIT: ChainId = ChainId(0);

/// An epoch of a chain. Epochs start at 1 and stay below 2^31; each send begins a new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::detect) struct Point {
    pub(in crate::detect) chain: ChainId,
    pub(in crate::detect) epoch: u32,
}

/// The largest epoch. A larger number would compare as less than any other ([`knows`]).
pub(in crate::detect) const LAST: u32 = u32::MAX >> 1;

/// Number of chains of a block; small in unit tests, so that short traces have several blocks.
pub(in crate::detect) const WIDTH: usize = if cfg!(test) { 4 } else { 32 };

/// Number of blocks of a page.
pub(in crate::detect) const PAGE: usize = if cfg!(test) { 2 } else { 8 };

/// Last known epoch of each chain of a block; 0 if nothing is known.
pub(in crate::detect) type ClockBlock = [u32; WIDTH];

type Page = [Option<Arc<ClockBlock>>; PAGE];

/// Last known epoch of each chain; 0 if nothing is known.
#[derive(Clone, Default, Debug)]
pub(in crate::detect) struct Clock {
    // Most clocks have one page.
    pages: SmallVec<[Option<Arc<Page>>; 1]>,
}

impl Clock {
    /// Returns the last known epoch of the chain; 0 if nothing is known.
    pub(in crate::detect) fn get(&self, chain: ChainId) -> u32 {
        let i = chain.0 as usize;
        self.block(i / WIDTH).map_or(0, |block| block[i % WIDTH])
    }

    /// Whether the clock knows the point.
    pub(in crate::detect) fn has(&self, point: Point) -> bool {
        self.get(point.chain) >= point.epoch
    }

    /// Returns the last known point of each chain of a block, without unknown chains.
    pub(in crate::detect) fn block_points(&self, number: usize) -> impl Iterator<Item = Point> + '_ {
        self.block(number).into_iter().flat_map(move |block| {
            let point =
                move |(k, epoch): (usize, &u32)| Point { chain: ChainId::new(number * WIDTH + k), epoch: *epoch };
            block.iter().enumerate().map(point).filter(|point| point.epoch > 0)
        })
    }

    /// Upper bound of the number of blocks.
    pub(in crate::detect) fn len(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Returns the block of the chains from `WIDTH * number` on; `None` if nothing is known of them.
    pub(in crate::detect) fn block(&self, number: usize) -> Option<&Arc<ClockBlock>> {
        self.pages.get(number / PAGE)?.as_ref()?[number % PAGE].as_ref()
    }

    /// Whether the clock knows everything that `other` knows.
    pub(in crate::detect) fn covers(&self, other: &Clock) -> bool {
        other.pages.iter().enumerate().all(|(number, theirs)| match (self.pages.get(number), theirs) {
            (_, None) => true,
            (Some(Some(mine)), Some(theirs)) => page_covers(mine, theirs),
            (_, Some(theirs)) => theirs.iter().flatten().all(|block| block.iter().all(|epoch| *epoch == 0)),
        })
    }

    /// Learns the point, and thereby all earlier points of its chain.
    pub(in crate::detect) fn learn(&mut self, point: Point) {
        debug_assert!(point.epoch <= LAST, "{point:?}");
        if self.has(point) {
            return;
        }
        let i = point.chain.0 as usize;
        let block = self.page(i / WIDTH / PAGE)[i / WIDTH % PAGE].get_or_insert_with(|| Arc::new([0; WIDTH]));
        Arc::make_mut(block)[i % WIDTH] = point.epoch;
    }

    fn page(&mut self, number: usize) -> &mut Page {
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        Arc::make_mut(self.pages[number].get_or_insert_default())
    }

    /// Learns everything that `other` knows.
    pub(in crate::detect) fn join(&mut self, other: &Clock) {
        if self.pages.len() < other.pages.len() {
            self.pages.resize(other.pages.len(), None);
        }
        for (mine, theirs) in self.pages.iter_mut().zip(&other.pages) {
            let Some(theirs) = theirs else { continue };
            match mine {
                Some(mine) if page_covers(mine, theirs) => {}
                // Pages and blocks are shared wherever one side knows all that the other knows, which keeps later
                // joins cheap.
                Some(mine) if !page_covers(theirs, mine) => {
                    let both = Arc::make_mut(mine).iter_mut().zip(theirs.iter());
                    both.for_each(|(mine, theirs)| theirs.iter().for_each(|theirs| join_block(mine, theirs)));
                }
                _ => *mine = Some(theirs.clone()),
            }
        }
    }
}

fn page_covers(mine: &Arc<Page>, theirs: &Arc<Page>) -> bool {
    Arc::ptr_eq(mine, theirs)
        || mine.iter().zip(theirs.iter()).all(|(mine, theirs)| match (mine, theirs) {
            (_, None) => true,
            (None, Some(theirs)) => theirs.iter().all(|epoch| *epoch == 0),
            (Some(mine), Some(theirs)) => block_covers(mine, theirs),
        })
}

fn block_covers(mine: &Arc<ClockBlock>, theirs: &Arc<ClockBlock>) -> bool {
    Arc::ptr_eq(mine, theirs) || knows(mine, theirs)
}

/// Whether a block knows everything that another block knows.
pub(in crate::detect) fn knows(mine: &ClockBlock, theirs: &ClockBlock) -> bool {
    // Compares all chains at once by the signs of the differences, which works because epochs are less than 2^31.
    mine.iter().zip(theirs).fold(0, |less, (m, t)| less | m.wrapping_sub(*t)) >> 31 == 0
}

// Learns everything that another block knows.
fn join_block(mine: &mut Option<Arc<ClockBlock>>, theirs: &Arc<ClockBlock>) {
    match mine {
        Some(mine) if block_covers(mine, theirs) => {}
        Some(mine) if !block_covers(theirs, mine) => {
            Arc::make_mut(mine).iter_mut().zip(theirs.iter()).for_each(|(m, t)| *m = (*m).max(*t));
        }
        _ => *mine = Some(theirs.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_knows_all_of_a_chain_knows_each_of_its_epochs_and_none() {
        let point = |epoch| {
            let mut clock = Clock::default();
            clock.learn(Point { chain: INIT, epoch });
            clock.learn(Point { chain: ChainId(1), epoch: 7 });
            clock
        };
        let mut other = Clock::default();
        other.learn(Point { chain: ChainId(1), epoch: 7 });
        let (mut all, one) = (point(LAST), point(1));
        assert!(all.covers(&one) && all.covers(&other) && !one.covers(&all) && !other.covers(&one));
        all.join(&one);
        all.join(&other);
        assert_eq!((all.get(INIT), all.get(ChainId(1))), (LAST, 7));
    }

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
                (0..clock.len())
                    .flat_map(|number| clock.block_points(number))
                    .map(|p| (p.chain.0, p.epoch))
                    .eq((0..200).zip(plain.clone()).filter(|(_, e)| *e > 0))
            );
        }
    }
}
