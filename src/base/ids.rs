//! Newtype indices over `u32`, and vectors that only one index type can index, so that a thread cannot be mistaken for
//! a lock.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A typed index: defined by [`define_id!`](crate::define_id), used with [`IndexVec`].
pub trait Id: Copy + Eq + Ord + fmt::Debug {
    /// Returns the index `i` as this type. Panics if `i` does not fit 32 bits, which would be a bug of raceflip: every
    /// table has a limit far below that.
    fn new(i: usize) -> Self;
    /// Returns the plain index.
    fn index(self) -> usize;
}

/// Defines a newtype over `u32` that implements [`Id`].
#[doc(hidden)]
#[macro_export]
macro_rules! define_id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);
        impl $crate::base::Id for $name {
            #[inline]
            fn new(i: usize) -> Self { Self(u32::try_from(i).expect("an index fits 32 bits")) }
            #[inline]
            fn index(self) -> usize { self.0 as usize }
        }
    )+};
}

/// A vector that is indexed by one [`Id`] type. Its other methods are those of `Vec`.
#[derive(PartialEq, Eq)]
pub struct IndexVec<I, T> {
    items: Vec<T>,
    index: PhantomData<fn(I) -> I>,
}

impl<I, T: Clone> Clone for IndexVec<I, T> {
    fn clone(&self) -> Self {
        Self { items: self.items.clone(), index: self.index }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        self.items.clone_from(&other.items);
    }
}

impl<I: Id, T> IndexVec<I, T> {
    /// Returns an empty vector.
    pub fn new() -> Self {
        Self { items: Vec::new(), index: PhantomData }
    }

    /// Appends `item` and returns its index.
    pub fn add(&mut self, item: T) -> I {
        let id = I::new(self.items.len());
        self.items.push(item);
        id
    }

    /// Returns the index that the next [`add`](Self::add) will return.
    pub fn next_id(&self) -> I {
        I::new(self.items.len())
    }

    /// Iterates over all indices, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::new)
    }

    /// Iterates over pairs of index and item, in order.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, x)| (I::new(i), x))
    }
}

impl<I: Id, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, index: PhantomData }
    }
}

impl<I: Id, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self::from(items.into_iter().collect::<Vec<T>>())
    }
}

impl<I: Id, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T> Deref for IndexVec<I, T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<I, T> DerefMut for IndexVec<I, T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.items
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}
