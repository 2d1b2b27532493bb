//! Decomposes a partial order into chains, online: Agarwal and Garg, *Efficient dependency tracking for relevant events
//! in concurrent systems*, Distributed Computing 2007.
//!
//! Elements arrive one by one, and no element is before an earlier one. An element joins a chain whose last element is
//! before it, or else opens a new chain. If there are several such chains, the selection matters: an arbitrary one
//! gives no bound. Therefore the chains are arranged in sets, with k chains in the k-th set, and the element joins a
//! chain of the first set that has a suitable one. Then all other chains of that set and the chains of the set before
//! it change places. This keeps an invariant: at any time one chain of each set can be selected such that no two of
//! their last elements are ordered. Hence all sets up to the k-th are full only if k elements are concurrent, which
//! gives at most w(w + 1)/2 chains for width w.
//!
//! There is one departure from the paper. There, an element takes an empty place of an earlier set even if it could
//! join a chain of a later set. Here it joins the chain. An empty place serves the invariant as well as an element
//! without order to all others, and just such an element opens a chain there, so the bound still holds.

use crate::event::ContextId;

const EMPTY: u32 = u32::MAX;

/// The chains so far.
#[derive(Clone, Default)]
pub(super) struct Decomposition {
    // For each chain its last element.
    last: Vec<ContextId>,
    // The chains of the first set, then those of the second one, and so on.
    sets: Vec<u32>,
}

impl Decomposition {
    pub(super) fn clear(&mut self) {
        self.last.clear();
        self.sets.clear();
    }

    /// Returns the number of chains.
    pub(super) fn chains(&self) -> usize {
        self.last.len()
    }

    /// Adds the next element and returns its chain. `follows` says whether a given earlier element is before it.
    pub(super) fn place(&mut self, element: ContextId, follows: impl Fn(ContextId) -> bool) -> u32 {
        let fits = |chain: u32| chain != EMPTY && follows(self.last[chain as usize]);
        let Some(at) = self.sets.iter().position(|chain| fits(*chain)) else { return self.open(element) };
        let chain = self.sets[at];
        self.last[chain as usize] = element;
        let (mut size, mut first) = (1, 0);
        while first + size <= at {
            first += size;
            size += 1;
        }
        // The element's chain moves to the last place of its set. The other size - 1 chains then change places with the
        // size - 1 chains of the set before it, which is what keeps the invariant.
        self.sets.swap(at, first + size - 1);
        for i in first..first + size - 1 {
            self.sets.swap(i, i + 1 - size);
        }
        chain
    }

    // Opens a chain in the first empty place.
    fn open(&mut self, element: ContextId) -> u32 {
        let chain = self.last.len() as u32;
        self.last.push(element);
        if !self.sets.contains(&EMPTY) {
            // All places are taken, so add one more set. All sets before it are full, so the number of places tells the
            // size of the new one.
            let mut size = 1;
            while size * (size + 1) / 2 <= self.sets.len() {
                size += 1;
            }
            self.sets.resize(self.sets.len() + size, EMPTY);
        }
        if let Some(place) = self.sets.iter_mut().find(|place| **place == EMPTY) {
            *place = chain;
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Rng;

    // The size of a largest antichain, by brute force.
    fn width(before: &[Vec<bool>]) -> usize {
        let n = before.len();
        (0u32..1 << n)
            .filter(|set| {
                let is = |i: usize| set >> i & 1 == 1;
                (0..n).all(|i| (0..i).all(|j| !is(i) || !is(j) || !before[j][i]))
            })
            .map(|set| set.count_ones() as usize)
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn chains_are_chains_and_never_too_many() {
        let mut rng = Rng::seeded(5);
        let mut most = [0; 8];
        for _ in 0..3_000 {
            let n = 3 + rng.below(10) as usize;
            let threads = 1 + rng.below(4);
            // Each element follows the last one of its thread, and sometimes also the last one of another thread.
            let mut before = vec![vec![false; n]; n];
            let mut heads: Vec<Option<usize>> = vec![None; threads as usize];
            for i in 0..n {
                let thread = rng.below(threads) as usize;
                let other = rng.below(threads) as usize;
                for head in [heads[thread], heads[other].filter(|_| rng.coin())].into_iter().flatten() {
                    (0..i)
                        .filter(|j| *j == head || before[*j][head])
                        .collect::<Vec<_>>()
                        .iter()
                        .for_each(|j| before[*j][i] = true);
                }
                heads[thread] = Some(i);
            }
            let mut decomposition = Decomposition::default();
            let chain: Vec<u32> =
                (0..n).map(|i| decomposition.place(ContextId(i as u32), |last| before[last.0 as usize][i])).collect();
            for i in 0..n {
                assert!((0..i).all(|j| chain[i] != chain[j] || before[j][i]), "{chain:?}");
            }
            let width = width(&before);
            assert!(decomposition.chains() <= width * (width + 1) / 2, "{chain:?}, width {width}");
            most[width] = most[width].max(decomposition.chains());
        }
        // The worst case exceeds the width but need not reach the bound.
        assert!(most[1] == 1 && most[2] >= 2 && most[3] >= 4, "{most:?}");
    }
}
