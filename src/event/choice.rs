//! Choices, the only source of nondeterminism in a run.

use super::{EventId, ThreadId};

/// An actor: an entity that a schedule can choose at one point of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Actor {
    /// A thread or looper, which performs its pending operation.
    Thread(ThreadId),
    /// An enabled event, which the environment fires.
    Event(EventId),
    /// The clock, which advances. The argument of the choice is the instant.
    Clock,
    /// The end of a run that is at rest.
    Stop,
}

/// One choice: an actor, and the argument of its step if the step has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Choice {
    /// The actor that performs the step.
    pub actor: Actor,
    /// Argument of the step.
    ///
    /// - Clock: the instant to advance to, in milliseconds.
    /// - Branch: 0 or 1.
    /// - Choose: the distance of the value from the first one.
    /// - Post of an idle handler to a looper that has no message to begin: 1 if the looper sleeps already, so that the
    ///   handler waits for the next message.
    /// - Notify with several waiters: the index of the waiter that wakes up, in the order in which they began to wait.
    /// - Select with several cases that can go: the index of the case among these.
    /// - Every other step: 0.
    pub argument: u64,
}
