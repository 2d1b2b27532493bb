//! A value whose changes can be awaited, as `tokio::sync::watch`.

use crate::native::future::object::Object;
use crate::native::future::wake::waits_at;
use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;
use std::task::{Poll, Waker};

struct State<T> {
    value: Arc<T>,
    version: u64,
    senders: usize,
    receivers: usize,
    waiting: Vec<Waker>,
}

/// Changes the value.
pub struct Sender<T> {
    watched: Arc<Object<State<T>>>,
}

/// Reads the value, and waits for changes.
pub struct Receiver<T> {
    watched: Arc<Object<State<T>>>,
    seen: u64,
}

/// The value at the time of a read.
#[derive(Debug)]
pub struct Ref<T>(Arc<T>);

/// The value, which no receiver wants any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendError<T>(pub T);

/// No sender is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecvError;

/// Creates a value.
#[track_caller]
#[must_use]
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let state = State { value: Arc::new(value), version: 0, senders: 1, receivers: 1, waiting: Vec::new() };
    let watched = Arc::new(Object::new("watch", state));
    (Sender { watched: watched.clone() }, Receiver { watched, seen: 0 })
}

impl<T> Sender<T> {
    /// Changes the value.
    ///
    /// # Errors
    ///
    /// There is no receiver; the error has the value.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let at = Location::caller();
        if self.watched.look(|state| state.receivers) == 0 {
            return Err(SendError(value));
        }
        drop(self.replace(value, at));
        Ok(())
    }

    /// Changes the value, also without a receiver.
    #[track_caller]
    pub fn send_replace(&self, value: T) {
        drop(self.replace(value, Location::caller()));
    }

    fn replace(&self, value: T, at: &'static Location<'static>) -> Arc<T> {
        let mut value = Arc::new(value);
        let wakers = self.watched.step(at, |state| {
            std::mem::swap(&mut state.value, &mut value);
            state.version += 1;
            std::mem::take(&mut state.waiting)
        });
        wakers.into_iter().for_each(Waker::wake);
        value
    }

    /// Reads the value.
    #[track_caller]
    pub fn borrow(&self) -> Ref<T> {
        Ref(self.watched.step(Location::caller(), |state| state.value.clone()))
    }

    /// Creates a receiver that has seen the value of now.
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        let seen = self.watched.look(|state| {
            state.receivers += 1;
            state.version
        });
        Receiver { watched: self.watched.clone(), seen }
    }
}

impl<T> Receiver<T> {
    /// Reads the value. A change of it stays unseen.
    #[track_caller]
    pub fn borrow(&self) -> Ref<T> {
        Ref(self.watched.step(Location::caller(), |state| state.value.clone()))
    }

    /// Reads the value, and has seen it.
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<T> {
        let (value, seen) = self.watched.step(Location::caller(), |state| (state.value.clone(), state.version));
        self.seen = seen;
        Ref(value)
    }

    /// Returns whether the value has changed since it was seen.
    ///
    /// # Errors
    ///
    /// No sender is left.
    #[track_caller]
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let (version, senders) = self.watched.step(Location::caller(), |state| (state.version, state.senders));
        if senders == 0 { Err(RecvError) } else { Ok(version != self.seen) }
    }

    /// Waits for a change of the value, and has seen it.
    ///
    /// # Errors
    ///
    /// No sender is left, and the last change was seen.
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), RecvError>> {
        let at = Location::caller();
        poll_fn(move |context| {
            let (waker, seen) = (context.waker().clone(), self.seen);
            let ready = self.watched.step(at, |state| {
                if state.version != seen {
                    return Some(Ok(state.version));
                }
                if state.senders == 0 {
                    return Some(Err(RecvError));
                }
                state.waiting.push(waker);
                None
            });
            match ready {
                None => {
                    waits_at(at);
                    Poll::Pending
                }
                Some(Ok(version)) => {
                    self.seen = version;
                    Poll::Ready(Ok(()))
                }
                Some(Err(error)) => Poll::Ready(Err(error)),
            }
        })
    }

    /// Waits until the value fulfils a condition, and has seen it.
    ///
    /// # Errors
    ///
    /// No sender is left, and the value does not.
    #[track_caller]
    pub fn wait_for(
        &mut self,
        mut condition: impl FnMut(&T) -> bool,
    ) -> impl Future<Output = Result<Ref<T>, RecvError>> {
        let at = Location::caller();
        async move {
            loop {
                let (value, version) = self.watched.step(at, |state| (state.value.clone(), state.version));
                self.seen = version;
                if condition(&value) {
                    return Ok(Ref(value));
                }
                self.changed().await?;
            }
        }
    }
}

impl<T> Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.watched.look(|state| state.senders += 1);
        Self { watched: self.watched.clone() }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.watched.look(|state| state.receivers += 1);
        Self { watched: self.watched.clone(), seen: self.seen }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.watched.step_quietly(|state| {
            state.senders -= 1;
            if state.senders == 0 { std::mem::take(&mut state.waiting) } else { Vec::new() }
        });
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.watched.look(|state| state.receivers -= 1);
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no sender is left")
    }
}

impl std::error::Error for RecvError {}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
