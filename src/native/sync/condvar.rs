//! Condition variables.

use super::{LockResult, Mutex, MutexGuard, PoisonError, milliseconds, value};
use crate::event::{ConditionId, Op, SiteKind, WaitSet};
use crate::native::handle::Handle;
use crate::native::run::perform;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

const PLACE: &str = "Condvar";

/// A condition variable, as [`std::sync::Condvar`]. Which of several waiters a notify wakes is a choice of the
/// scheduler. There are no spurious wake-ups. A timeout passes on the virtual clock.
pub struct Condvar {
    handle: Handle,
}

/// Whether a wait has timed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns whether the time was up before a notify.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Creates a condition variable.
    #[track_caller]
    #[must_use]
    pub const fn new() -> Self {
        Self { handle: Handle::new(Location::caller()) }
    }

    fn on(&self) -> WaitSet {
        let id = self.handle.id(|| PLACE.to_owned(), |run, name| run.world().make_condition(name).0);
        WaitSet::Condition(ConditionId(id))
    }

    /// Gives the lock back, waits for a notify, and acquires the lock again.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the guard.
    #[track_caller]
    pub fn wait<'m, T>(&self, guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
        self.wait_for(guard, None, Location::caller()).map(|(guard, _)| guard).map_err(without_result)
    }

    /// Waits as long as the condition holds.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the guard.
    #[track_caller]
    pub fn wait_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'m, T>> {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notify, but no longer than this.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the guard and whether the time was up.
    #[track_caller]
    pub fn wait_timeout<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'m, T>, WaitTimeoutResult)> {
        self.wait_for(guard, Some(milliseconds(duration)), Location::caller())
    }

    /// Waits as long as the condition holds, but no longer than this.
    ///
    /// # Errors
    ///
    /// The lock is poisoned; the error has the guard and whether the time was up.
    #[track_caller]
    pub fn wait_timeout_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        duration: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'m, T>, WaitTimeoutResult)> {
        let start = crate::native::time::Instant::now();
        while condition(&mut *guard) {
            let Some(left) = duration.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, left)?.0;
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    fn wait_for<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        timeout: Option<i64>,
        at: &'static Location<'static>,
    ) -> LockResult<(MutexGuard<'m, T>, WaitTimeoutResult)> {
        let (lock, on) = (Mutex::release_for_wait(guard), self.on());
        let woken = value(perform(Op::Wait { on, lock: lock.id(), timeout }, SiteKind::Wait, PLACE, at));
        let result = WaitTimeoutResult(timeout.is_some() && woken == 0);
        match lock.guard(at) {
            Ok(guard) => Ok((guard, result)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), result))),
        }
    }

    /// Wakes one waiter.
    #[track_caller]
    pub fn notify_one(&self) {
        perform(Op::Notify { on: self.on(), all: false }, SiteKind::Notify, PLACE, Location::caller());
    }

    /// Wakes all waiters.
    #[track_caller]
    pub fn notify_all(&self) {
        perform(Op::Notify { on: self.on(), all: true }, SiteKind::Notify, PLACE, Location::caller());
    }
}

fn without_result<G>(poisoned: PoisonError<(G, WaitTimeoutResult)>) -> PoisonError<G> {
    PoisonError::new(poisoned.into_inner().0)
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
