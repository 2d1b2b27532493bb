//! What a test uses instead of `std::sync`: the same types with the same signatures.
//!
//! Atomics are sequentially consistent, whatever ordering is asked for. [`Arc`] and [`Weak`] are those of the standard
//! library: their counts are no scheduling points.

pub mod atomic;
mod barrier;
mod condvar;
pub mod mpsc;
mod mutex;
mod once;
mod once_lock;
mod rwlock;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::{LazyLock, OnceLock};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

use super::hold::Holds;
use super::run::{is_live, perform};
use crate::event::{Acquisition, Op, SiteKind};
use crate::world::Reply;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Returns the value of a reply, or 0 if the run is over.
pub(super) fn value(reply: Option<Reply>) -> i64 {
    match reply {
        Some(Reply::Value(value) | Reply::Awaited(value)) => value,
        _ => 0,
    }
}

// What every lock has: a value to begin with, and a text that does not look at the value, which may be in use.
macro_rules! lock_traits {
    ($lock:ident) => {
        impl<T: Default> Default for $lock<T> {
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T> From<T> for $lock<T> {
            #[track_caller]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }

        // A panic while a guard exists poisons the lock.
        impl<T: ?Sized> std::panic::UnwindSafe for $lock<T> {}
        impl<T: ?Sized> std::panic::RefUnwindSafe for $lock<T> {}

        impl<T: ?Sized> std::fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($lock)).field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
            }
        }
    };
}

// What every guard has: the texts of its value.
macro_rules! guard_traits {
    ($guard:ident) => {
        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + std::fmt::Display> std::fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

use {guard_traits, lock_traits};

/// Tries to acquire a lock, and returns whether it did. At the end of a run, whether it could.
pub(super) fn acquires(
    of: Acquisition,
    held: &Holds,
    (kind, place, at): (SiteKind, &'static str, &'static Location<'static>),
) -> bool {
    match perform(Op::AcquireFor { of, timeout: 0 }, kind, place, at) {
        Some(reply) => value(Some(reply)) != 0,
        None => held.is_free(!matches!(of, Acquisition::Read(_))),
    }
}

/// Returns a duration in milliseconds, rounded up: a timeout never fires too early.
pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// Whether a panic has unwound a stack that held a lock.
#[derive(Debug)]
pub(super) struct Poison(AtomicBool);

impl Poison {
    pub(super) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    // Sets it if a panic unwinds the stack of the thread that gives the lock back. The end of a run is no panic.
    // A panic that unwound it already when the lock was acquired does not count.
    pub(super) fn note(&self, unwound: bool) {
        if !unwound && is_live() && super::panics::unwinds() {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn result<G>(&self, guard: G) -> LockResult<G> {
        if self.is_set() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }
}
