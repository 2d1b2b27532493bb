//! Rows of bits over contexts or points. A row has no zero words at its end, so that equal sets are equal rows.

use crate::base::bits_of;

/// A set of small numbers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn has(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    pub(super) fn add(&mut self, bit: usize) {
        if bit / 64 >= self.0.len() {
            self.0.resize(bit / 64 + 1, 0);
        }
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub(super) fn remove(&mut self, bit: usize) {
        if let Some(word) = self.0.get_mut(bit / 64) {
            *word &= !(1 << (bit % 64));
            self.trim();
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    pub(super) fn keep(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(word, kept)| *word &= kept);
        self.trim();
    }

    /// Adds the members of both `a` and `b`.
    pub(super) fn add_both(&mut self, a: &Self, b: &Self) {
        let words = a.0.len().min(b.0.len());
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
        self.0.iter_mut().zip(a.0.iter().zip(&b.0)).for_each(|(word, (a, b))| *word |= a & b);
        self.trim();
    }

    /// Returns the members that `other` lacks.
    pub(super) fn without(&self, other: &Self) -> Self {
        let mut left = self.clone();
        left.0.iter_mut().zip(&other.0).for_each(|(word, gone)| *word &= !gone);
        left.trim();
        left
    }

    /// Returns the members of both.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut both = Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect());
        both.trim();
        both
    }

    /// Returns the largest member.
    pub(super) fn last(&self) -> Option<usize> {
        let word = self.0.last()?;
        Some(self.0.len() * 64 - 1 - word.leading_zeros() as usize)
    }

    /// Iterates over the members, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(i, word)| members(*word, i * 64))
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

// Iterates over the bits of a word, counted from `from`.
fn members(word: u64, from: usize) -> impl Iterator<Item = usize> {
    bits_of(word).map(move |bit| from + bit)
}

/// A set of few numbers that lie close together, as its words that are not 0.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Sparse(Vec<(u32, u64)>);

impl Sparse {
    pub(super) fn add(&mut self, bit: usize) {
        let (number, mask) = ((bit / 64) as u32, 1 << (bit % 64));
        match self.0.binary_search_by_key(&number, |word| word.0) {
            Ok(at) => self.0[at].1 |= mask,
            Err(at) => self.0.insert(at, (number, mask)),
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        for &(number, word) in &other.0 {
            match self.0.binary_search_by_key(&number, |word| word.0) {
                Ok(at) => self.0[at].1 |= word,
                Err(at) => self.0.insert(at, (number, word)),
            }
        }
    }

    /// Returns the members that `other` lacks.
    pub(super) fn without(&self, other: &Self) -> Self {
        let mut gone = other.0.iter().peekable();
        let mut left = Vec::new();
        for &(number, word) in &self.0 {
            while gone.peek().is_some_and(|(other, _)| *other < number) {
                gone.next();
            }
            let minus = gone.peek().filter(|(other, _)| *other == number).map_or(0, |(_, word)| *word);
            if word & !minus != 0 {
                left.push((number, word & !minus));
            }
        }
        Self(left)
    }

    /// Returns whether some member is one of `bits`.
    pub(super) fn meets(&self, bits: &Bits) -> bool {
        self.0.iter().any(|(number, word)| bits.0.get(*number as usize).is_some_and(|other| other & word != 0))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the members, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().flat_map(|&(number, word)| members(word, number as usize * 64))
    }
}

impl Bits {
    /// Adds the members of a sparse set.
    pub(super) fn add_sparse(&mut self, other: &Sparse) {
        let Some((last, _)) = other.0.last() else { return };
        if self.0.len() <= *last as usize {
            self.0.resize(*last as usize + 1, 0);
        }
        other.0.iter().for_each(|(number, word)| self.0[*number as usize] |= word);
    }
}

impl FromIterator<usize> for Bits {
    fn from_iter<T: IntoIterator<Item = usize>>(members: T) -> Self {
        let mut bits = Self::default();
        members.into_iter().for_each(|bit| bits.add(bit));
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Rng;
    use std::collections::BTreeSet;

    fn drawn(rng: &mut Rng) -> (Bits, BTreeSet<usize>) {
        let most = [3, 70, 200][rng.below(3) as usize];
        let set: BTreeSet<usize> = (0..rng.below(12)).map(|_| rng.below(most) as usize).collect();
        (set.iter().copied().collect(), set)
    }

    #[test]
    fn behaves_as_a_sorted_set() {
        let mut rng = Rng::seeded(5);
        for _ in 0..3_000 {
            let ((a, x), (b, y)) = (drawn(&mut rng), drawn(&mut rng));
            let same = |bits: &Bits, set: BTreeSet<usize>| {
                assert!(bits.iter().eq(set.iter().copied()));
                assert_eq!(bits.last(), set.last().copied());
                assert_eq!(*bits, set.into_iter().collect(), "equal sets are equal rows");
            };
            let changed = |change: &dyn Fn(&mut Bits)| {
                let mut bits = a.clone();
                change(&mut bits);
                bits
            };
            same(&changed(&|bits| bits.add_all(&b)), &x | &y);
            same(&changed(&|bits| bits.keep(&b)), &x & &y);
            same(&a.and(&b), &x & &y);
            same(&a.without(&b), &x - &y);
            same(&changed(&|bits| bits.add_both(&b, &a)), x.clone());
            same(&changed(&|bits| bits.remove(2)), &x - &BTreeSet::from([2]));
            let sparse = |set: &BTreeSet<usize>| {
                let mut sparse = Sparse::default();
                set.iter().rev().for_each(|bit| sparse.add(*bit));
                sparse
            };
            let mut both = sparse(&x);
            both.add_all(&sparse(&y));
            assert_eq!(both, sparse(&(&x | &y)));
            assert_eq!(sparse(&x).without(&sparse(&y)), sparse(&(&x - &y)));
            assert_eq!(sparse(&x).meets(&b), !x.is_disjoint(&y));
            assert!(both.iter().eq((&x | &y).into_iter()) && both.is_empty() == (x.is_empty() && y.is_empty()));
            same(&changed(&|bits| bits.add_sparse(&sparse(&y))), &x | &y);
            assert!((0..210).all(|bit| a.has(bit) == x.contains(&bit)));
        }
    }
}
