//! A partial order in chains, online: Agarwal and Garg, *Efficient dependency tracking for relevant events in concurrent systems*, Distributed Computing 2007.
//!
//! Elements come one by one, none of them before one that is there. An element joins a chain whose last element is before it, else it opens one. Which of several chains it
//! joins matters: where any will do, there is no bound. Here chains stand in sets, the k-th of k chains, and the first set counts that has such a chain; then all other chains of that set
//! and those of the set before it change places. At any time one can take the last element of one chain of each set so that no two have an order. Hence all sets up to the k-th are full only
//! if k elements are side by side: at most w(w + 1)/2 chains for width w.
//!
//! One departure: in the paper an element fills an empty place of an earlier set even if it could join a chain of a later one. Here it joins; a place that is still empty is as
//! good as an element without order to all others, which is just what opens a chain there, so that the bound stays.

use crate::event::ContextId;

const EMPTY: u32 = u32::MAX;

/// The chains so far.
#[derive(Clone, Default)]
pub(super) struct Decomposition {
    // By chain: its last element.
    last: Vec<ContextId>,
    // The chains of the first set, then those of the second, and so on.
    sets: Vec<u32>,
}

impl Decomposition {
    pub(super) fn clear(&mut self) {
        self.last.clear();
        self.sets.clear();
    }

    /// How many chains there are.
    pub(super) fn chains(&self) -> usize {
        self.last.len()
    }

    /// Takes in the next element, of which `follows` says whether another is before it. Returns its chain.
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
        self.sets.swap(at, first + size - 1);
        for i in first..first + size - 1 {
            self.sets.swap(i, i + 1 - size);
        }
        chain
    }

    // In the first place that is empty.
    fn open(&mut self, element: ContextId) -> u32 {
        let chain = self.last.len() as u32;
        self.last.push(element);
        if !self.sets.contains(&EMPTY) {
            // One more set; all before it are full, so that it is as large as the number of chains says.
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

    // The size of a largest antichain, by trying.
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
            // Each element follows one of a few threads, and now and then what another one of them has done.
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
        // The bound is a bound, and not always what there is.
        assert!(most[1] == 1 && most[2] >= 2 && most[3] >= 4, "{most:?}");
    }
}
