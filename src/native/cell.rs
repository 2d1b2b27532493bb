//! Cells for code with `unsafe`, whose accesses race.

use super::memory::Memory;
use std::fmt;
use std::panic::Location;

/// Memory for code that keeps conflicting accesses apart by itself, as [`std::cell::UnsafeCell`], with the signatures
/// that loom has. Each closure is one access: two of them race if nothing orders them, and if two conflict while one is
/// under way, the run fails.
pub struct UnsafeCell<T: ?Sized>(Memory<T>);

impl<T> UnsafeCell<T> {
    /// Creates a cell.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self(Memory::new("UnsafeCell", value))
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads the value with a closure, which must not write to it.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.0.look(Location::caller(), f)
    }

    /// Changes the value with a closure.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.0.change(Location::caller(), f)
    }

    /// Returns the value: no other code can refer to it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    // Looking at the value is no access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
