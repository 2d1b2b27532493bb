//! Initialization that happens once.
#![allow(unsafe_code, reason = "a value that is written once is read only afterwards")]

use super::atomic::{AtomicBool, Ordering};
use super::{LockResult, Mutex};
use std::cell::UnsafeCell;
use std::fmt;

/// Code that runs once, as [`std::sync::Once`]. A static one is over for all later runs as well.
#[derive(Debug)]
pub struct Once {
    done: AtomicBool,
    lock: Mutex<()>,
}

/// Whether an initialization before this one has panicked.
#[derive(Debug)]
pub struct OnceState(bool);

impl OnceState {
    /// Returns whether an initialization before this one has panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.0
    }
}

impl Once {
    /// Creates one that has not run.
    #[track_caller]
    #[must_use]
    pub const fn new() -> Self {
        Self { done: AtomicBool::new(false), lock: Mutex::new(()) }
    }

    /// Runs `f`, unless it has run. Waits until it has run.
    ///
    /// # Panics
    ///
    /// An earlier initialization has panicked.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        self.call(|state| {
            assert!(!state.is_poisoned(), "Once instance has previously been poisoned");
            f();
        });
    }

    /// Runs `f`, unless it has run, also after an initialization that has panicked.
    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        self.call(f);
    }

    #[track_caller]
    fn call(&self, f: impl FnOnce(&OnceState)) {
        if self.is_completed() {
            return;
        }
        let locked: LockResult<_> = self.lock.lock();
        let state = OnceState(locked.is_err());
        let _guard = locked.unwrap_or_else(super::PoisonError::into_inner);
        if !self.is_completed() {
            f(&state);
            self.lock.clear_poison();
            self.done.store(true, Ordering::SeqCst);
        }
    }

    /// Returns whether it has run.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

/// A value that is written once, as [`std::sync::OnceLock`]. A static one keeps its value for all later runs.
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written by one thread, before `once` is over, and read by others only afterwards.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Creates one without a value.
    #[track_caller]
    #[must_use]
    pub const fn new() -> Self {
        Self { once: Once::new(), value: UnsafeCell::new(None) }
    }

    /// Returns the value, if it was written.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: no thread writes the value after `once` is over.
        if self.once.is_completed() { unsafe { (*self.value.get()).as_ref() } } else { None }
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
        self.once.call_once_force(|_| {
            let value = f();
            // SAFETY: one thread at a time is here, and `once` is not over.
            unsafe { *self.value.get() = Some(value) };
        });
        self.get().expect("it was initialized")
    }

    /// Returns the value, if it was written: no other code can refer to it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Returns the value, if it was written.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}
