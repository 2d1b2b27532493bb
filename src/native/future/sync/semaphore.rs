//! Semaphores.

use super::queue::{Queue, Ticket};
use crate::native::future::object::Object;
use crate::native::future::wake::waits_at;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A semaphore whose permits go to those who wait in the order in which they came, as `tokio::sync::Semaphore`.
pub struct Semaphore(Object<State>);

struct State {
    permits: usize,
    is_closed: bool,
    queue: Queue,
}

/// Permits, which go back when this is dropped.
#[must_use]
pub struct SemaphorePermit<'s> {
    of: &'s Semaphore,
    permits: usize,
}

/// The semaphore was closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireError;

/// Why there are no permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore was closed.
    Closed,
    /// Others have them, or wait for them.
    NoPermits,
}

impl State {
    // Serves those for whom there are permits. Returns their wakers.
    fn serve(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(needs) = self.queue.first().filter(|needs| *needs <= self.permits) {
            self.permits -= needs;
            wakers.extend(self.queue.serve());
        }
        wakers
    }
}

impl Semaphore {
    /// Creates a semaphore with so many permits.
    #[track_caller]
    #[must_use]
    pub const fn new(permits: usize) -> Self {
        Self::named("Semaphore", permits)
    }

    #[track_caller]
    pub(super) const fn named(kind: &'static str, permits: usize) -> Self {
        Self(Object::new(kind, State { permits, is_closed: false, queue: Queue::new() }))
    }

    /// Acquires a permit.
    ///
    /// # Errors
    ///
    /// The semaphore was closed.
    #[track_caller]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_at(1, Location::caller())
    }

    /// Acquires so many permits at once.
    ///
    /// # Errors
    ///
    /// The semaphore was closed.
    #[track_caller]
    pub fn acquire_many(&self, permits: u32) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_at(permits as usize, Location::caller())
    }

    pub(super) fn acquire_at(&self, needs: usize, at: &'static Location<'static>) -> Acquire<'_> {
        Acquire { of: self, needs, ticket: None, at }
    }

    /// Acquires a permit if there is one.
    ///
    /// # Errors
    ///
    /// There is none, or the semaphore was closed.
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_at(Location::caller())
    }

    pub(super) fn try_acquire_at(
        &self,
        at: &'static Location<'static>,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.0.step(at, |state| match state.permits {
            _ if state.is_closed => Err(TryAcquireError::Closed),
            0 => Err(TryAcquireError::NoPermits),
            _ => {
                state.permits -= 1;
                Ok(SemaphorePermit { of: self, permits: 1 })
            }
        })
    }

    /// Adds permits.
    #[track_caller]
    pub fn add_permits(&self, permits: usize) {
        let at = Location::caller();
        let wakers = self.0.step(at, |state| {
            state.permits += permits;
            state.serve()
        });
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Closes the semaphore: no task gets permits any more.
    #[track_caller]
    pub fn close(&self) {
        self.close_at(Location::caller());
    }

    pub(super) fn close_at(&self, at: &'static Location<'static>) {
        let wakers = self.0.step(at, |state| {
            state.is_closed = true;
            state.queue.dismiss()
        });
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Closes it in a destructor.
    pub(super) fn close_quietly(&self) {
        self.0.step_quietly(|state| {
            state.is_closed = true;
            state.queue.dismiss()
        });
    }

    /// Returns whether the semaphore was closed.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.0.step(Location::caller(), |state| state.is_closed)
    }

    /// Returns the number of permits that can be acquired.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.0.step(Location::caller(), |state| state.permits)
    }

    // Gives permits back.
    pub(super) fn give(&self, permits: usize) {
        self.0.step_quietly(|state| {
            state.permits += permits;
            state.serve()
        });
    }
}

/// The future of an acquisition.
pub(super) struct Acquire<'s> {
    of: &'s Semaphore,
    needs: usize,
    // Once it waits.
    ticket: Option<Ticket>,
    at: &'static Location<'static>,
}

impl<'s> Future for Acquire<'s> {
    type Output = Result<SemaphorePermit<'s>, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (waker, needs, ticket) = (context.waker().clone(), self.needs, self.ticket);
        let ready = self.of.0.step(self.at, |state| match ticket {
            Some(ticket) if state.queue.take(ticket, waker.clone()) => Ok(true),
            _ if state.is_closed => Ok(false),
            Some(ticket) => Err(ticket),
            None if state.queue.is_empty() && state.permits >= needs => {
                state.permits -= needs;
                Ok(true)
            }
            None => Err(state.queue.enter(needs, waker)),
        });
        match ready {
            Ok(acquired) => {
                self.ticket = None;
                let permit = SemaphorePermit { of: self.of, permits: if acquired { needs } else { 0 } };
                Poll::Ready(if acquired { Ok(permit) } else { Err(AcquireError) })
            }
            Err(ticket) => {
                self.ticket = Some(ticket);
                waits_at(self.at);
                Poll::Pending
            }
        }
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let needs = self.needs;
        self.of.0.step_quietly(|state| {
            // What it was given and has not noticed goes back.
            if state.queue.leave(ticket) {
                state.permits += needs;
            }
            state.serve()
        });
    }
}

impl SemaphorePermit<'_> {
    /// Keeps the permits away from the semaphore.
    pub fn forget(mut self) {
        self.permits = 0;
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        if self.permits > 0 {
            self.of.give(self.permits);
        }
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore was closed")
    }
}

impl std::error::Error for AcquireError {}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "the semaphore was closed",
            TryAcquireError::NoPermits => "there is no permit",
        })
    }
}

impl std::error::Error for TryAcquireError {}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").finish_non_exhaustive()
    }
}

impl fmt::Debug for SemaphorePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemaphorePermit").field("permits", &self.permits).finish_non_exhaustive()
    }
}
