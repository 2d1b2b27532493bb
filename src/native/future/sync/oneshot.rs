//! Channels for one message, as `tokio::sync::oneshot`.

use crate::native::future::object::Object;
use crate::native::future::wake::waits_at;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

struct State<T> {
    message: Option<T>,
    has_sender: bool,
    // Whether the receiver still wants the message.
    is_open: bool,
    receiver: Option<Waker>,
    sender: Option<Waker>,
}

/// Sends the message.
pub struct Sender<T> {
    channel: Arc<Object<State<T>>>,
}

/// Receives the message: a future of it.
pub struct Receiver<T> {
    channel: Arc<Object<State<T>>>,
    at: &'static Location<'static>,
}

/// The sender was dropped without a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecvError;

/// Why there is no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryRecvError {
    /// It was not sent yet.
    Empty,
    /// The sender was dropped, or the message was received.
    Closed,
}

/// Creates a channel for one message.
#[track_caller]
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { message: None, has_sender: true, is_open: true, receiver: None, sender: None };
    let channel = Arc::new(Object::new("oneshot", state));
    (Sender { channel: channel.clone() }, Receiver { channel, at: Location::caller() })
}

impl<T> Sender<T> {
    /// Sends the message.
    ///
    /// # Errors
    ///
    /// The receiver does not want it any more; the error is the message.
    #[track_caller]
    pub fn send(self, message: T) -> Result<(), T> {
        let mut message = Some(message);
        let waker = self.channel.step(Location::caller(), |state| {
            if state.is_open {
                state.message = message.take();
            }
            state.receiver.take()
        });
        waker.into_iter().for_each(Waker::wake);
        message.map_or(Ok(()), Err)
    }

    /// Returns whether the receiver does not want the message any more.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.channel.step(Location::caller(), |state| !state.is_open)
    }

    /// Waits until the receiver does not want the message any more.
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> {
        let at = Location::caller();
        poll_fn(move |context| {
            let waker = context.waker().clone();
            let is_open = self.channel.step(at, |state| {
                state.sender = Some(waker);
                state.is_open
            });
            if is_open {
                waits_at(at);
            }
            if is_open { Poll::Pending } else { Poll::Ready(()) }
        })
    }
}

impl<T> Receiver<T> {
    /// Receives the message if it was sent.
    ///
    /// # Errors
    ///
    /// It was not sent yet, or never will be.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.channel.step(Location::caller(), |state| {
            let none = if state.has_sender { TryRecvError::Empty } else { TryRecvError::Closed };
            state.message.take().ok_or(none)
        })
    }

    /// Tells the sender that the message is not wanted any more. One that was sent can still be received.
    #[track_caller]
    pub fn close(&mut self) {
        let waker = self.channel.step(Location::caller(), |state| {
            state.is_open = false;
            state.sender.take()
        });
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let ready = self.channel.step(self.at, |state| {
            state.receiver = Some(waker);
            let closed = !state.has_sender || !state.is_open;
            state.message.take().map(Ok).or(closed.then_some(Err(RecvError)))
        });
        if ready.is_none() {
            waits_at(self.at);
        }
        ready.map_or(Poll::Pending, Poll::Ready)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.step_quietly(|state| {
            state.has_sender = false;
            state.receiver.take().into_iter().collect()
        });
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut message = None;
        self.channel.step_quietly(|state| {
            state.is_open = false;
            message = state.message.take();
            state.sender.take().into_iter().collect()
        });
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sender was dropped without a message")
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
