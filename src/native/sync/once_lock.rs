//! Values that are written once in each run.
#![allow(unsafe_code, reason = "a value that was written stays where it is as long as its lock")]

use super::Once;
use crate::native::run::number;
use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

/// A value that is written once, as [`std::sync::OnceLock`]. A static one is empty at the start of each run.
pub struct OnceLock<T> {
    once: Once,
    // The value of each run by the run's number. Code may refer to the value of an earlier run, so all of them stay.
    values: Mutex<Vec<(u64, Arc<T>)>>,
}

impl<T> OnceLock<T> {
    /// Creates one without a value.
    #[track_caller]
    #[must_use]
    pub const fn new() -> Self {
        Self { once: Once::new(), values: Mutex::new(Vec::new()) }
    }

    /// Returns the value, if it was written.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if self.once.is_completed() { self.written() } else { None }
    }

    // Returns the value of this run.
    fn written(&self) -> Option<&T> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let value = Arc::as_ptr(&find(&values)?.1);
        // SAFETY: the value is freed with the lock alone, and no code changes it before: no other `Arc` of it exists.
        Some(unsafe { &*value })
    }

    /// Writes the value.
    ///
    /// # Errors
    ///
    /// It was written before; the error has the new value.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("it is called once"));
        value.map_or(Ok(()), Err)
    }

    /// Returns the value, which `f` computes if it was not written.
    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        self.once.call_once_force(|_| self.write(f()));
        self.get().expect("it was initialized")
    }

    // Writes the value of this run, which has none.
    fn write(&self, value: T) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if find(&values).is_none() {
            values.push((number(), Arc::new(value)));
        }
    }

    /// Returns the value that was written last: no other code can refer to it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let values = self.values.get_mut().unwrap_or_else(PoisonError::into_inner);
        values.last_mut().and_then(|(_, value)| Arc::get_mut(value))
    }

    /// Returns the value that was written last.
    pub fn into_inner(self) -> Option<T> {
        let mut values = self.values.into_inner().unwrap_or_else(PoisonError::into_inner);
        values.pop().and_then(|(_, value)| Arc::into_inner(value))
    }
}

// Returns the value of the run at hand.
fn find<T>(values: &[(u64, Arc<T>)]) -> Option<&(u64, Arc<T>)> {
    let here = number();
    values.iter().rev().find(|(run, _)| *run == here)
}

/// A value that is computed at its first use, as [`std::sync::LazyLock`]. A static one is computed anew in each run,
/// so the code that computes it can be called several times.
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    init: F,
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    /// Creates one that computes its value by `init`.
    #[track_caller]
    pub const fn new(init: F) -> Self {
        Self { cell: OnceLock::new(), init }
    }

    /// Returns the value, which is computed if it was not.
    ///
    /// # Panics
    ///
    /// An earlier computation has panicked.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        this.cell.once.call_once(|| this.cell.write((this.init)()));
        this.cell.get().expect("it was initialized")
    }
}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}

impl<T> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
