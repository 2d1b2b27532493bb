//! Channels from several senders to one receiver, as those of [`std::sync::mpsc`].
//!
//! The world has the channel, with the number of each message; the messages themselves stay here.

use super::value;
use crate::event::{ChannelId, Op, SiteKind};
use crate::native::handle::{Handle, short_name};
use crate::native::run::{is_live, perform, perform_quietly, with};
use crate::native::sync::milliseconds;
use crate::world::{Capacity, Reply, SelectCase};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const PLACE: &str = "mpsc";

/// Sends to a channel without a bound, as [`std::sync::mpsc::Sender`].
pub struct Sender<T>(Sending<T>);

/// Sends to a channel with a bound, as [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(Sending<T>);

/// The receiver of a channel, as [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    // One thread at a time receives.
    stays: PhantomData<Cell<()>>,
}

/// Creates a channel without a bound.
#[track_caller]
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sending, receiver) = new(Capacity::Unbounded, Location::caller());
    (Sender(sending), receiver)
}

/// Creates a channel that holds at most `bound` messages. With 0, each send waits for its receive.
#[track_caller]
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let bound = u32::try_from(bound).unwrap_or(u32::MAX);
    let (sending, receiver) = new(Capacity::Bounded(bound), Location::caller());
    (SyncSender(sending), receiver)
}

fn new<T>(capacity: Capacity, at: &'static Location<'static>) -> (Sending<T>, Receiver<T>) {
    let channel = Arc::new(Channel {
        handle: Handle::new(at),
        capacity,
        messages: Mutex::default(),
        senders: AtomicUsize::new(1),
        is_closed: AtomicBool::new(false),
    });
    (Sending { channel: channel.clone() }, Receiver { channel, stays: PhantomData })
}

// The part of a channel that is not the world's. One thread of a run uses it at a time.
struct Channel<T> {
    handle: Handle,
    capacity: Capacity,
    messages: Mutex<Messages<T>>,
    senders: AtomicUsize,
    // Whether one side has gone.
    is_closed: AtomicBool,
}

// Messages that were sent and not received, by their numbers.
struct Messages<T> {
    sent: i64,
    waiting: BTreeMap<i64, T>,
}

impl<T> Default for Messages<T> {
    fn default() -> Self {
        Self { sent: 0, waiting: BTreeMap::new() }
    }
}

impl<T> Channel<T> {
    fn id(&self) -> ChannelId {
        let kind = || format!("mpsc<{}>", short_name::<T>());
        ChannelId(self.handle.id(kind, |run, name| run.world().make_channel(name, self.capacity).0))
    }

    // Keeps a message, and returns its number.
    fn keep(&self, message: T) -> i64 {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.sent += 1;
        let number = messages.sent;
        messages.waiting.insert(number, message);
        number
    }

    fn take(&self, number: i64) -> Option<T> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&number)
    }

    // Closes the channel because one side of it has gone, unless the other one has gone before.
    fn close(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) && is_live() {
            perform_quietly(Op::Close(self.id()), SiteKind::Close, PLACE, self.handle.made_at());
        }
    }

    // Performs one case of a select, which is this send (of a message's number) or receive. `timeout` is in
    // milliseconds; without one, the case goes at once or not at all.
    fn select(
        &self,
        sends: Option<i64>,
        timeout: Option<i64>,
        (kind, at): (SiteKind, &'static Location<'static>),
    ) -> Option<Reply> {
        let case = SelectCase { channel: Some(self.id()), sends };
        let cases = with(|run| if run.over { Default::default() } else { run.world().keep_cases(&[case]) });
        let op = Op::Select { cases: cases.unwrap_or_default(), timeout, otherwise: timeout.is_none() };
        perform(op, kind, PLACE, at)
    }
}

// One of the senders of a channel.
struct Sending<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sending<T> {
    fn send(&self, message: T, at: &'static Location<'static>) -> Result<(), SendError<T>> {
        let number = self.channel.keep(message);
        let op = Op::Send { channel: Some(self.channel.id()), value: number };
        let sent = matches!(perform(op, SiteKind::Send, PLACE, at), Some(Reply::Value(_)));
        // What was not sent is still here.
        if sent { Ok(()) } else { self.channel.take(number).map_or(Ok(()), |message| Err(SendError(message))) }
    }

    fn try_send(&self, message: T, at: &'static Location<'static>) -> Result<(), TrySendError<T>> {
        let number = self.channel.keep(message);
        let failed: fn(T) -> TrySendError<T> = match self.channel.select(Some(number), None, (SiteKind::Send, at)) {
            Some(Reply::Selected { case: 0, .. }) => return Ok(()),
            Some(Reply::Selected { .. }) => TrySendError::Full,
            _ => TrySendError::Disconnected,
        };
        self.channel.take(number).map_or(Ok(()), |message| Err(failed(message)))
    }
}

impl<T> Clone for Sending<T> {
    fn clone(&self) -> Self {
        self.channel.senders.fetch_add(1, Ordering::AcqRel);
        Self { channel: self.channel.clone() }
    }
}

impl<T> Drop for Sending<T> {
    fn drop(&mut self) {
        if self.channel.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.channel.close();
        }
    }
}

impl<T> Sender<T> {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// The receiver has gone; the error has the message.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.send(message, Location::caller())
    }
}

impl<T> SyncSender<T> {
    /// Sends a message. Blocks while the channel is full.
    ///
    /// # Errors
    ///
    /// The receiver has gone; the error has the message.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.send(message, Location::caller())
    }

    /// Sends a message if there is room for it.
    ///
    /// # Errors
    ///
    /// The channel is full, or the receiver has gone; the error has the message.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(message, Location::caller())
    }
}

impl<T> Receiver<T> {
    /// Receives a message. Blocks while there is none and a sender is left.
    ///
    /// # Errors
    ///
    /// All senders have gone, and there is no message.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let op = Op::Receive { channel: Some(self.channel.id()), iterates: true };
        match perform(op, SiteKind::Receive, PLACE, Location::caller()) {
            reply @ Some(Reply::Value(_)) => self.channel.take(value(reply)).ok_or(RecvError),
            _ => Err(RecvError),
        }
    }

    /// Receives a message if there is one.
    ///
    /// # Errors
    ///
    /// There is no message, and perhaps no sender either.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let received = self.receive(None, Location::caller());
        received.map_err(|open| if open { TryRecvError::Empty } else { TryRecvError::Disconnected })
    }

    /// Receives a message. Blocks while there is none and a sender is left, but no longer than this.
    ///
    /// # Errors
    ///
    /// The time is up, or all senders have gone, and there is no message.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let at = Location::caller();
        // What is there when the time is up is received.
        let received = self
            .receive(Some(milliseconds(timeout)), at)
            .or_else(|open| if open { self.receive(None, at) } else { Err(open) });
        received.map_err(|open| if open { RecvTimeoutError::Timeout } else { RecvTimeoutError::Disconnected })
    }

    // Receives a message within this time, or at once. The error says whether a sender is left.
    fn receive(&self, timeout: Option<i64>, at: &'static Location<'static>) -> Result<T, bool> {
        match self.channel.select(None, timeout, (SiteKind::Receive, at)) {
            Some(Reply::Selected { case: 0, value, received: true }) => self.channel.take(value).ok_or(false),
            Some(Reply::Selected { case: 1.., .. }) => Err(true),
            _ => Err(false),
        }
    }

    /// Returns an iterator that receives messages until all senders have gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Returns an iterator that receives the messages that there are.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.close();
        // Destructors of messages are the user's code, and run without the lock.
        let mut messages = self.channel.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::take(&mut messages.waiting);
        drop(messages);
        drop(waiting);
    }
}

/// Receives messages until all senders have gone.
#[derive(Debug)]
pub struct Iter<'r, T>(&'r Receiver<T>);

/// Receives the messages that there are.
#[derive(Debug)]
pub struct TryIter<'r, T>(&'r Receiver<T>);

/// Receives messages until all senders have gone, and owns the receiver.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'r, T> IntoIterator for &'r Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'r, T>;

    fn into_iter(self) -> Iter<'r, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
