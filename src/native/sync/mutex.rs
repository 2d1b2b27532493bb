//! Mutual exclusion.
#![allow(unsafe_code, reason = "the value of a lock is used by the one thread that holds it")]

use super::{LockResult, Poison, TryLockError, TryLockResult, acquires, guard_traits, lock_traits};
use crate::event::{Acquisition, LockId, Op, SiteKind};
use crate::native::handle::{Handle, short_name};
use crate::native::hold::Holds;
use crate::native::panics::unwinds;
use crate::native::run::{is_live, perform, perform_quietly};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

const PLACE: &str = "Mutex";

/// A mutual exclusion lock, as [`std::sync::Mutex`]. Who gets it next is a choice of the scheduler.
pub struct Mutex<T: ?Sized> {
    handle: Handle,
    // Whether a guard exists. The world knows as well, but only of its own run.
    held: Holds,
    poison: Poison,
    value: UnsafeCell<T>,
}

// SAFETY: a guard is handed out to one thread at a time: `held` is taken with every guard, also between two checks.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// A held lock, as [`std::sync::MutexGuard`].
#[must_use]
pub struct MutexGuard<'m, T: ?Sized> {
    lock: &'m Mutex<T>,
    at: &'static Location<'static>,
    // Whether a panic unwound the stack already when the lock was acquired.
    unwound: bool,
    // A guard stays on its thread.
    stays: std::marker::PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value alone.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// Creates a lock.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self {
            handle: Handle::new(Location::caller()),
            held: Holds::new(),
            poison: Poison::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Returns the value, as [`std::sync::Mutex::into_inner`].
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the value.
    pub fn into_inner(self) -> LockResult<T> {
        self.poison.result(self.value.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline]
    pub(super) fn id(&self) -> LockId {
        let kind = || format!("Mutex<{}>", short_name::<T>());
        LockId(self.handle.id(kind, |run, name| run.world().make_lock(name, false).0))
    }

    /// Acquires the lock. Blocks while another thread holds it, and forever if this thread does.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the guard.
    #[track_caller]
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let at = Location::caller();
        perform(Op::Acquire(self.id()), SiteKind::Acquire, PLACE, at);
        self.guard(at)
    }

    /// Acquires the lock if no thread holds it.
    ///
    /// # Errors
    ///
    /// Another thread holds the lock, or it is poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let at = Location::caller();
        if !acquires(Acquisition::Lock(self.id()), &self.held, (SiteKind::Acquire, PLACE, at)) {
            return Err(TryLockError::WouldBlock);
        }
        self.guard(at).map_err(TryLockError::Poisoned)
    }

    /// Returns the value: no other code can refer to it.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the value.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.result(self.value.get_mut())
    }

    /// Returns whether the lock is poisoned.
    pub fn is_poisoned(&self) -> bool {
        self.poison.is_set()
    }

    /// Makes a poisoned lock an ordinary one again.
    pub fn clear_poison(&self) {
        self.poison.clear();
    }

    // Takes the guard that the world has granted.
    #[inline]
    pub(super) fn guard(&self, at: &'static Location<'static>) -> LockResult<MutexGuard<'_, T>> {
        self.held.take_granted(true);
        let guard = MutexGuard { lock: self, at, unwound: unwinds(), stays: std::marker::PhantomData };
        self.poison.result(guard)
    }

    /// Gives the guard back, for a wait: the world has given the lock back already, or will do so in the same step.
    pub(super) fn release_for_wait(guard: MutexGuard<'_, T>) -> &Self {
        let lock = guard.lock;
        std::mem::forget(guard);
        lock.held.give(true);
        lock
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this is the only guard of the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this is the only guard of the lock.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.poison.note(self.unwound);
        if is_live() {
            perform_quietly(Op::Release(self.lock.id()), SiteKind::Release, PLACE, self.at);
        }
        self.lock.held.give(true);
    }
}

lock_traits!(Mutex);
guard_traits!(MutexGuard);
