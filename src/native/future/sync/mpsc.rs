//! Channels from several senders to one receiver, as `tokio::sync::mpsc`.

use super::semaphore::{Semaphore, TryAcquireError};
use crate::native::future::object::Object;
use crate::native::future::wake::waits_at;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::Arc;
use std::task::{Poll, Waker};

struct Channel<T> {
    state: Object<State<T>>,
    // Free places; `None` without a bound.
    room: Option<Semaphore>,
}

struct State<T> {
    messages: VecDeque<T>,
    senders: usize,
    is_open: bool,
    receiver: Option<Waker>,
}

/// The message, which the receiver does not want any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendError<T>(pub T);

/// The message, which was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrySendError<T> {
    /// The channel is full.
    Full(T),
    /// The receiver does not want it any more.
    Closed(T),
}

/// Why there is no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryRecvError {
    /// None was sent yet.
    Empty,
    /// No sender is left.
    Disconnected,
}

fn new<T>(kind: &'static str, room: Option<Semaphore>, at: &'static Location<'static>) -> Arc<Channel<T>> {
    let state = State { messages: VecDeque::new(), senders: 1, is_open: true, receiver: None };
    Arc::new(Channel { state: Object::made(kind, state, at), room })
}

/// Creates a channel that holds at most `buffer` messages.
///
/// # Panics
///
/// `buffer` is 0.
#[track_caller]
#[must_use]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "a channel of async code has room for one message at least");
    let channel = new("async mpsc", Some(Semaphore::named("room of async mpsc", buffer)), Location::caller());
    (Sender(Sending(channel.clone())), Receiver(Receiving(channel)))
}

/// Creates a channel without a bound.
#[track_caller]
#[must_use]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let channel = new("async mpsc", None, Location::caller());
    (UnboundedSender(Sending(channel.clone())), UnboundedReceiver(Receiving(channel)))
}

struct Sending<T>(Arc<Channel<T>>);

struct Receiving<T>(Arc<Channel<T>>);

/// Sends to a channel with a bound.
pub struct Sender<T>(Sending<T>);

/// Receives from a channel with a bound.
pub struct Receiver<T>(Receiving<T>);

/// Sends to a channel without a bound.
pub struct UnboundedSender<T>(Sending<T>);

/// Receives from a channel without a bound.
pub struct UnboundedReceiver<T>(Receiving<T>);

impl<T> Sending<T> {
    // Sends a message for which there is room.
    fn push(&self, message: T, at: &'static Location<'static>) -> Result<(), SendError<T>> {
        let mut message = Some(message);
        let waker = self.0.state.step(at, |state| {
            if state.is_open {
                state.messages.extend(message.take());
            }
            state.receiver.take()
        });
        waker.into_iter().for_each(Waker::wake);
        message.map_or(Ok(()), |message| Err(SendError(message)))
    }

    fn is_closed(&self, at: &'static Location<'static>) -> bool {
        self.0.state.step(at, |state| !state.is_open)
    }
}

impl<T> Clone for Sending<T> {
    fn clone(&self) -> Self {
        self.0.state.look(|state| state.senders += 1);
        Self(self.0.clone())
    }
}

impl<T> Drop for Sending<T> {
    fn drop(&mut self) {
        if self.0.state.look(|state| state.senders) > 1 {
            self.0.state.look(|state| state.senders -= 1);
            return;
        }
        self.0.state.step_quietly(|state| {
            state.senders -= 1;
            state.receiver.take().into_iter().collect()
        });
    }
}

impl<T> Receiving<T> {
    async fn recv(&mut self, at: &'static Location<'static>) -> Option<T> {
        let message = poll_fn(|context| {
            let waker = context.waker().clone();
            let ready = self.0.state.step(at, |state| {
                state.receiver = Some(waker);
                let is_over = state.senders == 0 || !state.is_open;
                state.messages.pop_front().map(Some).or(is_over.then_some(None))
            });
            if ready.is_none() {
                waits_at(at);
            }
            ready.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        self.took(message.is_some());
        message
    }

    fn try_recv(&mut self, at: &'static Location<'static>) -> Result<T, TryRecvError> {
        let message = self.0.state.step(at, |state| {
            let none = if state.senders == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty };
            state.messages.pop_front().ok_or(none)
        });
        self.took(message.is_ok());
        message
    }

    fn took(&self, took: bool) {
        if let Some(room) = self.0.room.as_ref().filter(|_| took) {
            room.give(1);
        }
    }

    fn close(&mut self, at: &'static Location<'static>) {
        self.0.state.step(at, |state| state.is_open = false);
        if let Some(room) = &self.0.room {
            room.close_at(at);
        }
    }
}

impl<T> Drop for Receiving<T> {
    fn drop(&mut self) {
        let mut left = VecDeque::new();
        self.0.state.step_quietly(|state| {
            state.is_open = false;
            left = std::mem::take(&mut state.messages);
            Vec::new()
        });
        if let Some(room) = &self.0.room {
            room.close_quietly();
        }
    }
}

impl<T> Sender<T> {
    /// Sends a message, when there is room for it.
    ///
    /// # Errors
    ///
    /// The receiver does not want it any more; the error has the message.
    #[track_caller]
    pub fn send(&self, message: T) -> impl Future<Output = Result<(), SendError<T>>> {
        let at = Location::caller();
        let room = self.0.0.room.as_ref().expect("this channel has a bound").acquire_at(1, at);
        async move {
            match room.await {
                Err(_) => Err(SendError(message)),
                Ok(permit) => {
                    permit.forget();
                    self.0.push(message, at)
                }
            }
        }
    }

    /// Sends a message if there is room for it.
    ///
    /// # Errors
    ///
    /// The channel is full, or the receiver does not want it any more; the error has the message.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let at = Location::caller();
        match self.0.0.room.as_ref().expect("this channel has a bound").try_acquire_at(at) {
            Err(TryAcquireError::Closed) => Err(TrySendError::Closed(message)),
            Err(TryAcquireError::NoPermits) => Err(TrySendError::Full(message)),
            Ok(permit) => {
                permit.forget();
                self.0.push(message, at).map_err(|SendError(message)| TrySendError::Closed(message))
            }
        }
    }
}

impl<T> UnboundedSender<T> {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// The receiver does not want it any more; the error has the message.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.push(message, Location::caller())
    }
}

macro_rules! ends {
    ($sender:ident, $receiver:ident) => {
        impl<T> $sender<T> {
            /// Returns whether the receiver does not want messages any more.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                self.0.is_closed(Location::caller())
            }
        }

        impl<T> Clone for $sender<T> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<T> $receiver<T> {
            /// Receives a message. `None` if none is left and no sender is. Dropping the future loses no message.
            #[track_caller]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> {
                self.0.recv(Location::caller())
            }

            /// Receives a message if there is one.
            ///
            /// # Errors
            ///
            /// There is none, and perhaps no sender is left.
            #[track_caller]
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.0.try_recv(Location::caller())
            }

            /// Refuses further messages. Those that were sent can still be received.
            #[track_caller]
            pub fn close(&mut self) {
                self.0.close(Location::caller());
            }
        }

        impl<T> fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($sender)).finish_non_exhaustive()
            }
        }

        impl<T> fmt::Debug for $receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($receiver)).finish_non_exhaustive()
            }
        }
    };
}

ends!(Sender, Receiver);
ends!(UnboundedSender, UnboundedReceiver);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the receiver does not want the message any more")
    }
}

impl<T: fmt::Debug> std::error::Error for SendError<T> {}
