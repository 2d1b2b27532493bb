//! Notifications.

use super::queue::{Queue, Ticket};
use crate::native::future::object::Object;
use crate::native::future::wake::waits_at;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Wakes tasks, as `tokio::sync::Notify`. One notification is kept for the next one who waits.
pub struct Notify(Object<State>);

struct State {
    is_kept: bool,
    // Number of calls of `notify_waiters`.
    calls: u64,
    queue: Queue,
}

impl Notify {
    /// Creates one without a notification.
    #[track_caller]
    #[must_use]
    pub const fn new() -> Self {
        Self(Object::new("Notify", State { is_kept: false, calls: 0, queue: Queue::new() }))
    }

    /// Notifies the first one who waits, or keeps the notification.
    #[track_caller]
    pub fn notify_one(&self) {
        let waker = self.0.step(Location::caller(), State::notify);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Notifies all who wait now. Nothing is kept.
    #[track_caller]
    pub fn notify_waiters(&self) {
        let wakers = self.0.step(Location::caller(), |state| {
            state.calls += 1;
            state.queue.dismiss()
        });
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for a notification. A call of [`notify_waiters`](Self::notify_waiters) counts from here on.
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        let at = Location::caller();
        Notified { of: self, ticket: None, calls: self.0.look(|state| state.calls), at }
    }
}

impl State {
    fn notify(&mut self) -> Option<Waker> {
        let waker = self.queue.serve();
        self.is_kept |= waker.is_none();
        waker
    }
}

/// A future that waits for a notification.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Notified<'n> {
    of: &'n Notify,
    ticket: Option<Ticket>,
    // Calls of `notify_waiters` before this was created.
    calls: u64,
    at: &'static Location<'static>,
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (waker, ticket, calls) = (context.waker().clone(), self.ticket, self.calls);
        let waits = self.of.0.step(self.at, |state| match ticket {
            _ if state.calls != calls => None,
            Some(ticket) => (!state.queue.take(ticket, waker)).then_some(ticket),
            None if std::mem::take(&mut state.is_kept) => None,
            None => Some(state.queue.enter(1, waker)),
        });
        self.ticket = waits;
        if waits.is_some() {
            waits_at(self.at);
            return Poll::Pending;
        }
        // It stays ready.
        self.calls = calls.wrapping_sub(1);
        Poll::Ready(())
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        // A notification that this one has not noticed goes to the next one.
        self.of.0.step_quietly(|state| {
            let served = state.queue.leave(ticket);
            if served { state.notify().into_iter().collect() } else { Vec::new() }
        });
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notified").finish_non_exhaustive()
    }
}
