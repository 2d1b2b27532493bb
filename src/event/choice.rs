//! Choices: the only nondeterminism of a run.

use super::{EventId, ThreadId};

/// Who acts next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Actor {
    /// A thread or looper performs its pending operation.
    Thread(ThreadId),
    /// The environment fires an enabled event.
    Event(EventId),
    /// The clock moves; the argument is the instant.
    Clock,
    /// The run, which rests, ends.
    Stop,
}

/// A choice: an actor, and then its argument where it has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Choice {
    /// Who.
    pub actor: Actor,
    /// The clock: milliseconds to move to. A branch: 0 or 1. A notify with several waiters: which, in the order in which they began to wait. Else 0.
    pub argument: u64,
}
