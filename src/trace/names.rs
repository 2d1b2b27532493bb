//! A table of names with a number for each.

use crate::base::Id;
use indexmap::IndexSet;
use std::marker::PhantomData;
use std::ops::Index;
use xxhash_rust::xxh3::Xxh3Builder;

/// Distinct names, numbered in the order in which they were added.
///
/// # Examples
///
/// ```
/// use raceflip::trace::{LockNo, NameTable};
///
/// let mut names: NameTable<LockNo> = NameTable::default();
/// let m = names.add("m");
/// assert_eq!((names.add("n"), names.add("m")), (LockNo(1), m));
/// assert_eq!(&names[m], "m");
/// ```
#[derive(Clone, Debug)]
pub struct NameTable<I> {
    names: IndexSet<Box<str>, Xxh3Builder>,
    index: PhantomData<fn(I) -> I>,
}

impl<I> Default for NameTable<I> {
    fn default() -> Self {
        Self { names: IndexSet::with_hasher(Xxh3Builder::new()), index: PhantomData }
    }
}

impl<I: Id> NameTable<I> {
    /// Returns the number of a name, and adds the name if it is new.
    pub fn add(&mut self, name: &str) -> I {
        match self.names.get_index_of(name) {
            Some(at) => I::new(at),
            None => I::new(self.names.insert_full(name.into()).0),
        }
    }

    /// Returns the number of a name, or `None` if it was not added.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<I> {
        self.names.get_index_of(name).map(I::new)
    }

    /// Number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Iterates over the names in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }
}

impl<I: Id> Index<I> for NameTable<I> {
    type Output = str;
    fn index(&self, id: I) -> &str {
        &self.names[id.index()]
    }
}
