//! A set of small indices as bits, for example the enabled threads or the threads that are pending at a lock.

use super::Id;
use std::marker::PhantomData;

/// A growable bit set over an [`Id`] that stores its size. Members below 64 are bits of one word, so a set of such
/// members never allocates.
#[derive(Debug)]
pub struct IdSet<I> {
    first: u64,
    // The bits from index 64 on.
    rest: Vec<u64>,
    // Invariant: the number of bits that are set.
    len: u32,
    index: PhantomData<fn(I) -> I>,
}

impl<I> Clone for IdSet<I> {
    fn clone(&self) -> Self {
        Self { first: self.first, rest: self.rest.clone(), len: self.len, index: self.index }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        (self.first, self.len) = (other.first, other.len);
        if !self.rest.is_empty() || !other.rest.is_empty() {
            self.rest.clone_from(&other.rest);
        }
    }
}

impl<I: Id> IdSet<I> {
    /// Returns the empty set.
    #[must_use]
    pub fn new() -> Self {
        Self { first: 0, rest: Vec::new(), len: 0, index: PhantomData }
    }

    /// Adds or removes `id`.
    #[inline(always)]
    pub fn set(&mut self, id: I, member: bool) {
        let bit = id.index();
        if bit < 64 {
            let was = self.first >> bit & 1;
            self.first ^= (was ^ u64::from(member)) << bit;
            self.len = (self.len + u32::from(member)).wrapping_sub(was as u32);
        } else {
            self.set_high(bit - 64, member);
        }
    }

    #[cold]
    fn set_high(&mut self, bit: usize, member: bool) {
        let (word, bit) = (bit / 64, bit % 64);
        if word >= self.rest.len() {
            if !member {
                return;
            }
            self.rest.resize(word + 1, 0);
        }
        let was = self.rest[word] >> bit & 1;
        self.rest[word] ^= (was ^ u64::from(member)) << bit;
        self.len = (self.len + u32::from(member)).wrapping_sub(was as u32);
    }

    /// Adds all members of `other`.
    #[inline(always)]
    pub fn add_all(&mut self, other: &Self) {
        if other.rest.is_empty() {
            let more = other.first & !self.first;
            if more != 0 {
                self.first |= more;
                self.len += ones(more);
            }
        } else {
            self.add_many(other);
        }
    }

    /// Removes all members of `other`.
    #[inline(always)]
    pub fn remove_all(&mut self, other: &Self) {
        if other.rest.is_empty() {
            let fewer = other.first & self.first;
            if fewer != 0 {
                self.first &= !fewer;
                self.len -= ones(fewer);
            }
        } else {
            self.remove_many(other);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_many(&mut self, other: &Self) {
        self.first |= other.first;
        if self.rest.len() < other.rest.len() {
            self.rest.resize(other.rest.len(), 0);
        }
        self.rest.iter_mut().zip(&other.rest).for_each(|(w, o)| *w |= o);
        self.count();
    }

    #[cold]
    #[inline(never)]
    fn remove_many(&mut self, other: &Self) {
        self.first &= !other.first;
        self.rest.iter_mut().zip(&other.rest).for_each(|(w, o)| *w &= !o);
        self.count();
    }

    fn count(&mut self) {
        self.len = self.first.count_ones() + self.rest.iter().map(|w| w.count_ones()).sum::<u32>();
    }

    /// Whether `id` is a member.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: I) -> bool {
        let bit = id.index();
        if bit < 64 {
            return self.first >> bit & 1 == 1;
        }
        let bit = bit - 64;
        self.rest.get(bit / 64).is_some_and(|w| w >> (bit % 64) & 1 == 1)
    }

    /// Number of members.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the set has no member.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// Returns the `k`-th member in index order, counted from 0; `None` if there are not that many.
    #[inline]
    #[must_use]
    pub fn nth(&self, k: usize) -> Option<I> {
        if k >= self.len() {
            return None;
        }
        if self.rest.is_empty() {
            return Some(I::new(nth_bit(self.first, k)));
        }
        self.nth_of_many(k)
    }

    #[cold]
    fn nth_of_many(&self, mut k: usize) -> Option<I> {
        for (i, w) in self.words().enumerate() {
            let here = w.count_ones() as usize;
            if k < here {
                return Some(I::new(i * 64 + nth_bit(w, k)));
            }
            k -= here;
        }
        None
    }

    /// Iterates over the members in index order.
    pub fn iter(&self) -> impl Iterator<Item = I> + '_ {
        self.words().enumerate().flat_map(|(i, w)| bits(i, w))
    }

    /// Iterates over the members of `among` that are in exactly one of this set and `other`, in index order.
    pub fn differing(&self, other: &Self, among: &Self) -> impl Iterator<Item = I> {
        let word = |set: &Self, i: usize| if i == 0 { set.first } else { set.rest.get(i - 1).copied().unwrap_or(0) };
        (0..=among.rest.len()).flat_map(move |i| bits(i, (word(self, i) ^ word(other, i)) & word(among, i)))
    }

    /// Removes all members and keeps the memory.
    pub fn clear(&mut self) {
        (self.first, self.len) = (0, 0);
        if !self.rest.is_empty() {
            self.rest.fill(0);
        }
    }
}

// Iterates over the members in one word; `number` is the position of the word in the set.
fn bits<I: Id>(number: usize, word: u64) -> impl Iterator<Item = I> {
    bits_of(word).map(move |bit| I::new(number * 64 + bit))
}

/// Iterates over the bits of a word that are set, from the lowest one on.
#[inline]
pub(crate) fn bits_of(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}

// Number of bits that are set in a word that is not 0. Mostly one is set, and counting is slow on processors without an
// instruction for it.
#[inline(always)]
fn ones(word: u64) -> u32 {
    if word & (word - 1) == 0 { 1 } else { many_ones(word) }
}

#[cold]
#[inline(never)]
fn many_ones(word: u64) -> u32 {
    word.count_ones()
}

// Position of the `k`-th set bit, counted from 0. The word must have more than `k` set bits.
#[inline]
fn nth_bit(mut word: u64, k: usize) -> usize {
    for _ in 0..k {
        word &= word - 1;
    }
    word.trailing_zeros() as usize
}

impl<I: Id> Default for IdSet<I> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "the macro makes public types")]
mod tests {
    use super::*;
    #[allow(unreachable_pub, reason = "the macro is for public ids")]
    mod id {
        crate::define_id!(
            /// An id for this test.
            N
        );
    }
    use id::N;

    #[test]
    fn behaves_as_a_sorted_set_across_words() {
        let mut set = IdSet::new();
        let mut model = std::collections::BTreeSet::new();
        let mut rng = crate::base::Rng::seeded(3);
        for _ in 0..2_000 {
            let (i, member) = (N(rng.below(200)), rng.coin());
            set.set(i, member);
            if member {
                model.insert(i)
            } else {
                model.remove(&i)
            };
            assert_eq!(set.contains(i), member);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
        assert_eq!(set.len(), model.len());
        for (k, &i) in model.iter().enumerate() {
            assert_eq!(set.nth(k), Some(i));
        }
        assert_eq!(set.nth(model.len()), None);
        let ids = |keep: fn(u32) -> bool| {
            let mut ids = IdSet::new();
            (0..200).filter(|i| keep(*i)).for_each(|i| ids.set(N(i), true));
            ids
        };
        let (other, among) = (ids(|i| i % 3 == 0), ids(|i| i % 2 == 0));
        let differing = (0..200).map(N).filter(|i| (set.contains(*i) != (i.0 % 3 == 0)) && i.0 % 2 == 0);
        assert!(set.differing(&other, &among).eq(differing));
    }
}
