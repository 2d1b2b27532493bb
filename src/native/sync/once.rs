//! Initialization that happens once in each run.

use super::atomic::{AtomicBool, Ordering};
use super::{LockResult, Mutex};
use crate::native::run::number;
use std::sync::atomic::AtomicU64;

/// Code that runs once, as [`std::sync::Once`]. A static one is new in each run.
#[derive(Debug)]
pub struct Once {
    // Number of the run in which it was used last.
    run: AtomicU64,
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
        Self { run: AtomicU64::new(0), done: AtomicBool::new(false), lock: Mutex::new(()) }
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
        let here = number();
        if here != 0 && self.run.swap(here, Ordering::Relaxed) != here {
            self.done.renew(false);
            self.lock.clear_poison();
        }
        self.done.load(Ordering::SeqCst)
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
