//! Reader-writer locks.
#![allow(unsafe_code, reason = "the value of a lock is used by its readers, or by the one thread that writes")]

use super::{LockResult, Poison, TryLockError, TryLockResult, acquires, guard_traits, lock_traits};
use crate::event::{Acquisition, Op, RwLockId, SiteKind};
use crate::native::handle::{Handle, short_name};
use crate::native::hold::Holds;
use crate::native::panics::unwinds;
use crate::native::run::{is_live, perform, perform_quietly};
use crate::world::Prefer;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

const PLACE: &str = "RwLock";

/// A reader-writer lock, as [`std::sync::RwLock`]. It prefers neither side. A thread that reads twice while a writer
/// waits is not blocked, as it may be with the lock of the standard library.
pub struct RwLock<T: ?Sized> {
    handle: Handle,
    held: Holds,
    poison: Poison,
    value: UnsafeCell<T>,
}

// SAFETY: guards are handed out to readers alone or to one writer: `held` is taken with every guard.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The read side of a lock, held.
#[must_use]
pub struct RwLockReadGuard<'l, T: ?Sized> {
    lock: &'l RwLock<T>,
    at: &'static Location<'static>,
    stays: PhantomData<*const ()>,
}

/// The write side of a lock, held.
#[must_use]
pub struct RwLockWriteGuard<'l, T: ?Sized> {
    lock: &'l RwLock<T>,
    at: &'static Location<'static>,
    // Whether a panic unwound the stack already when the lock was acquired.
    unwound: bool,
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value alone.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
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

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the value.
    pub fn into_inner(self) -> LockResult<T> {
        self.poison.result(self.value.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    #[inline]
    fn id(&self) -> RwLockId {
        let kind = || format!("RwLock<{}>", short_name::<T>());
        RwLockId(self.handle.id(kind, |run, name| run.world().make_rwlock(name, Prefer::None).0))
    }

    /// Acquires the read side. Blocks while a thread writes.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the guard.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        perform(Op::ReadLock(self.id()), SiteKind::ReadLock, PLACE, at);
        self.reader(at)
    }

    /// Acquires the write side. Blocks while a thread reads or writes.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the guard.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let at = Location::caller();
        perform(Op::WriteLock(self.id()), SiteKind::WriteLock, PLACE, at);
        self.writer(at)
    }

    /// Acquires the read side if no thread writes.
    ///
    /// # Errors
    ///
    /// A thread writes, or the lock is poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        if !acquires(Acquisition::Read(self.id()), &self.held, (SiteKind::ReadLock, PLACE, at)) {
            return Err(TryLockError::WouldBlock);
        }
        self.reader(at).map_err(TryLockError::Poisoned)
    }

    /// Acquires the write side if no thread reads or writes.
    ///
    /// # Errors
    ///
    /// A thread reads or writes, or the lock is poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let at = Location::caller();
        if !acquires(Acquisition::Write(self.id()), &self.held, (SiteKind::WriteLock, PLACE, at)) {
            return Err(TryLockError::WouldBlock);
        }
        self.writer(at).map_err(TryLockError::Poisoned)
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

    fn reader(&self, at: &'static Location<'static>) -> LockResult<RwLockReadGuard<'_, T>> {
        self.held.take_granted(false);
        self.poison.result(RwLockReadGuard { lock: self, at, stays: PhantomData })
    }

    fn writer(&self, at: &'static Location<'static>) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.held.take_granted(true);
        self.poison.result(RwLockWriteGuard { lock: self, at, unwound: unwinds(), stays: PhantomData })
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: while this guard exists, all guards are of readers.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this is the only guard of the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this is the only guard of the lock.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        if is_live() {
            perform_quietly(Op::ReadUnlock(self.lock.id()), SiteKind::ReadUnlock, PLACE, self.at);
        }
        self.lock.held.give(false);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.poison.note(self.unwound);
        if is_live() {
            perform_quietly(Op::WriteUnlock(self.lock.id()), SiteKind::WriteUnlock, PLACE, self.at);
        }
        self.lock.held.give(true);
    }
}

lock_traits!(RwLock);
guard_traits!(RwLockReadGuard);
guard_traits!(RwLockWriteGuard);
