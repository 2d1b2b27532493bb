//! Locks that may be held over an await.
#![allow(unsafe_code, reason = "the value of a lock is used by the one task that holds its permit")]

use super::semaphore::{Semaphore, SemaphorePermit};
use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

/// A lock that tasks get in the order in which they came, as `tokio::sync::Mutex`. It is not poisoned.
pub struct Mutex<T: ?Sized> {
    permit: Semaphore,
    value: UnsafeCell<T>,
}

// SAFETY: there is one permit, so one guard exists at a time.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// A held lock.
#[must_use]
pub struct MutexGuard<'m, T: ?Sized> {
    lock: &'m Mutex<T>,
    _permit: SemaphorePermit<'m>,
}

// SAFETY: a shared guard gives shared access to the value alone.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}

/// Another task holds the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TryLockError;

impl<T> Mutex<T> {
    /// Creates a lock.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { permit: Semaphore::named("async Mutex", 1), value: UnsafeCell::new(value) }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Acquires the lock.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let acquire = self.permit.acquire_at(1, Location::caller());
        async move {
            let permit = acquire.await.expect("the semaphore of a lock is never closed");
            MutexGuard { lock: self, _permit: permit }
        }
    }

    /// Acquires the lock if no task holds it or waits for it.
    ///
    /// # Errors
    ///
    /// Another task holds the lock.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let permit = self.permit.try_acquire_at(Location::caller()).map_err(|_| TryLockError)?;
        Ok(MutexGuard { lock: self, _permit: permit })
    }

    /// Returns the value: no other code can refer to it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this is the only guard of the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this is the only guard of the lock.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another task holds the lock")
    }
}

impl std::error::Error for TryLockError {}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
