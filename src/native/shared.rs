//! Plain memory that races.

use super::memory::Memory;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A value in plain memory: its accesses have no order of their own, so two of them race if nothing else orders them.
/// Clones are handles of the same value.
///
/// A closure of [`with`](Self::with) or [`with_mut`](Self::with_mut) is one access. If it performs an operation, other
/// threads may come between; an access of theirs that conflicts ends the run, before memory is touched.
pub struct Shared<T> {
    memory: Arc<Memory<T>>,
}

impl<T> Shared<T> {
    /// Creates a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { memory: Arc::new(Memory::new("Shared", value)) }
    }

    /// Reads the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.memory.read(Location::caller(), T::clone)
    }

    /// Reads the value with a closure.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        self.memory.read(Location::caller(), f)
    }

    /// Writes the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace_at(value, Location::caller()));
    }

    /// Writes the value, and returns the old one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        self.replace_at(value, Location::caller())
    }

    fn replace_at(&self, value: T, at: &'static Location<'static>) -> T {
        self.memory.write(at, |old| std::mem::replace(old, value))
    }

    /// Changes the value with a closure.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.memory.write(Location::caller(), f)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { memory: self.memory.clone() }
    }
}

impl<T> fmt::Debug for Shared<T> {
    // Looking at the value is no access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
