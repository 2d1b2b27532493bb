//! A set of small indices as bits: the enabled threads, the threads that stand at a lock.

use super::Id;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// A growable bit set over an [`Id`]; one word, inline, up to 64 members.
#[derive(Clone, Debug)]
pub struct IdSet<I> {
    words: SmallVec<[u64; 1]>,
    index: PhantomData<fn(I) -> I>,
}

impl<I: Id> IdSet<I> {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self { words: SmallVec::new(), index: PhantomData }
    }

    /// Adds or removes `id`.
    #[inline]
    pub fn set(&mut self, id: I, member: bool) {
        let (word, bit) = (id.index() / 64, id.index() % 64);
        if word >= self.words.len() {
            if !member {
                return;
            }
            self.words.resize(word + 1, 0);
        }
        let mask = 1u64 << bit;
        if member {
            self.words[word] |= mask;
        } else {
            self.words[word] &= !mask;
        }
    }

    /// Whether `id` is a member.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: I) -> bool {
        self.words.get(id.index() / 64).is_some_and(|w| w >> (id.index() % 64) & 1 == 1)
    }

    /// The number of members.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether there is no member.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// The `k`-th member in index order, counted from 0; `None` if there are not that many.
    #[inline]
    #[must_use]
    pub fn nth(&self, mut k: usize) -> Option<I> {
        for (i, &w) in self.words.iter().enumerate() {
            let here = w.count_ones() as usize;
            if k < here {
                let mut rest = w;
                for _ in 0..k {
                    rest &= rest - 1;
                }
                return Some(I::new(i * 64 + rest.trailing_zeros() as usize));
            }
            k -= here;
        }
        None
    }

    /// The members in index order.
    pub fn iter(&self) -> impl Iterator<Item = I> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &w)| {
            let mut rest = w;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    I::new(i * 64 + bit)
                })
            })
        })
    }

    /// Removes all members, keeping the room.
    pub fn clear(&mut self) {
        self.words.iter_mut().for_each(|w| *w = 0);
    }
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
            /// For the test.
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
    }
}
