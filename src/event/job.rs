//! The operations of jobs. A job is one launch of an async task.

use super::{Args, ChannelId, Op, SemaphoreId, Target, ThreadId, Value};

/// What an async task waits for at a suspension point. Its looper goes on with other messages meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its operands")]
pub enum Suspension {
    /// Waits for this many milliseconds.
    Sleep(i64),
    /// Waits for a condition, which the guest evaluates.
    Await { timeout: Option<i64> },
    /// Waits for the end of a thread or a job.
    Join(ThreadId),
    /// Waits for a permit of a semaphore. Waiting jobs get permits in the order in which they began to wait.
    Down(SemaphoreId),
    /// Waits for a permit of a semaphore, for a limited time.
    DownFor { semaphore: SemaphoreId, timeout: i64 },
    /// Waits for nothing: the task goes on behind the messages that are due on its looper.
    Yield,
    /// Goes on at another looper.
    Switch(ThreadId),
    /// Ends a block: waits for the jobs that belong to it.
    CloseBlock { block: ThreadId, end: BlockEnd },
    /// Waits for a partner at a channel, or for room or a value in its buffer.
    Transfer(Transfer),
}

/// A block of an async task. The jobs that are launched inside belong to the block, which ends after them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// A failure of a child cancels the block with its other children, and is thrown at the end of the block.
    Scope,
    /// A failure of a child concerns no other job.
    Supervise,
    /// As [`BlockKind::Scope`], and a cancellation of the job does not reach into the block.
    Uncancellable,
}

impl BlockKind {
    /// All kinds.
    pub const ALL: [BlockKind; 3] = [BlockKind::Scope, BlockKind::Supervise, BlockKind::Uncancellable];

    /// Returns the word that begins the block.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            BlockKind::Scope => "scope",
            BlockKind::Supervise => "supervise",
            BlockKind::Uncancellable => "uncancellable",
        }
    }
}

/// How control has reached the end of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockEnd {
    /// Without an exception.
    Normal,
    /// With the exception of a cancellation.
    Cancelled,
    /// With another exception, in the guest's form.
    Failed(Value),
}

/// A send, a receive or a select at a suspension point. The operations of threads are [`Op::Send`], [`Op::Receive`] and
/// [`Op::Select`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the operations of threads name the operands")]
pub enum Transfer {
    Send { channel: Option<ChannelId>, value: Value },
    Receive { channel: Option<ChannelId>, iterates: bool },
    Select { cases: Args, timeout: Option<i64>, otherwise: bool },
}

impl Transfer {
    /// Returns the operation of a thread that does the same.
    #[must_use]
    pub fn first_half(self) -> Op {
        match self {
            Transfer::Send { channel, value } => Op::Send { channel, value },
            Transfer::Receive { channel, iterates } => Op::Receive { channel, iterates },
            Transfer::Select { cases, timeout, otherwise } => Op::Select { cases, timeout, otherwise },
        }
    }

    /// Returns the operation at which a thread is pending that has parked. A thread never parks at a null channel, and
    /// stays pending at its first half.
    #[must_use]
    pub fn second_half(self) -> Op {
        match self {
            Transfer::Send { channel: Some(channel), .. } => Op::Sent { channel },
            Transfer::Receive { channel: Some(channel), iterates } => Op::Received { channel, iterates },
            Transfer::Select { cases, .. } => Op::Selected { cases },
            Transfer::Send { channel: None, .. } | Transfer::Receive { channel: None, .. } => self.first_half(),
        }
    }
}

impl Suspension {
    /// Returns the operation that a thread without jobs would be pending at in the same place.
    #[must_use]
    pub fn blocking(self) -> Op {
        match self {
            Suspension::Sleep(_) => Op::Wake,
            Suspension::Await { timeout } => Op::Await { timeout },
            Suspension::Join(other) | Suspension::CloseBlock { block: other, .. } => Op::Join(other),
            Suspension::Down(semaphore) => Op::Down(semaphore),
            Suspension::DownFor { semaphore, timeout } => Op::DownFor { semaphore, timeout },
            Suspension::Yield | Suspension::Switch(_) => Op::Yield,
            Suspension::Transfer(transfer) => transfer.second_half(),
        }
    }

    /// Returns the semaphore from which the suspension takes a permit.
    #[must_use]
    pub fn semaphore(self) -> Option<SemaphoreId> {
        match self {
            Suspension::Down(semaphore) | Suspension::DownFor { semaphore, .. } => Some(semaphore),
            _ => None,
        }
    }
}

/// The value of a resumption ([`Op::Resume`]) whose job was cancelled.
pub const CANCELLED: super::Value = -2;

/// Where a new job starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchPlace {
    /// The start is posted to this addressee's looper.
    Posted(Target),
    /// The start is posted to the looper on which the launch happens.
    Here,
    /// The job runs at once, inside the launch, up to its first suspension.
    Now,
}

/// The job that a new job belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchParent {
    /// The job that launches it, if a job does.
    Caller,
    /// No job.
    NoParent,
    /// This job or scope.
    Job(ThreadId),
}

/// How a new job counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchKind {
    /// Whether the job is a daemon, which does not keep the run going.
    pub daemon: bool,
    /// Whether a failure of the job is kept for those that read its result. Otherwise the failure of a job without a
    /// parent is an uncaught exception.
    pub keeps_failure: bool,
    /// Whether the job is a promise of JavaScript: it always suspends at its suspension points, and what happens on its
    /// own looper resumes it with a microtask.
    pub micro: bool,
}

/// A question about a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum JobQuestion {
    /// Whether the job has ended.
    Done,
    /// Whether the cancellation of the job was requested.
    Cancelled,
    /// The value that its task returned. A job that has failed throws its exception again.
    Result,
}
