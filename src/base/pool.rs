//! A vector that is refilled in each run and never frees memory: the allocations of its items serve the next run.

use super::Id;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Items by [`Id`]. [`clear`](Self::clear) removes all items but keeps their memory, and [`add`](Self::add) hands them
/// out again for reuse.
pub struct Pool<I, T> {
    // The live items, followed by the items that wait for reuse.
    items: Vec<T>,
    live: usize,
    index: std::marker::PhantomData<fn(I) -> I>,
}

impl<I: Id, T: Default> Pool<I, T> {
    /// Returns an empty pool.
    #[must_use]
    pub fn new() -> Self {
        Self { items: Vec::new(), live: 0, index: std::marker::PhantomData }
    }

    /// Removes all items, and keeps their memory for reuse.
    pub fn clear(&mut self) {
        self.live = 0;
    }

    /// Removes all items but the first ones, and keeps their memory for reuse.
    pub fn truncate(&mut self, first: usize) {
        self.live = self.live.min(first);
    }

    /// Adds an item: a default one, or a reused one that still has its old content. `renew` must set all of it.
    #[inline]
    pub fn add(&mut self, renew: impl FnOnce(&mut T)) -> I {
        let id = I::new(self.live);
        if self.live == self.items.len() {
            self.items.push(T::default());
        }
        renew(&mut self.items[self.live]);
        self.live += 1;
        id
    }

    /// Returns the index that the next [`add`](Self::add) will return.
    #[must_use]
    pub fn next_id(&self) -> I {
        I::new(self.live)
    }

    /// Iterates over all indices, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.live).map(I::new)
    }

    /// Iterates over pairs of index and item, in order.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.iter().enumerate().map(|(i, x)| (I::new(i), x))
    }
}

impl<I: Id, T: Default> Default for Pool<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, T: Clone> Clone for Pool<I, T> {
    fn clone(&self) -> Self {
        Self { items: self.to_vec(), live: self.live, index: self.index }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        let known = self.items.len().min(other.live);
        for (to, from) in self.items.iter_mut().zip(&other.items[..known]) {
            to.clone_from(from);
        }
        self.items.extend_from_slice(&other.items[known..other.live]);
        self.live = other.live;
    }
}

impl<I: Id, T> Index<I> for Pool<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        debug_assert!(id.index() < self.live, "an item of this run");
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Pool<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        debug_assert!(id.index() < self.live, "an item of this run");
        &mut self.items[id.index()]
    }
}

impl<I, T> Deref for Pool<I, T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.items[..self.live]
    }
}

impl<I, T> DerefMut for Pool<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.live]
    }
}
