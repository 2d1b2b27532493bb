//! The visible operations: what a thread may be about to do, with its operands resolved.

use super::{
    BarrierId, BodyId, ConditionId, EventId, HandlerId, ListId, ListenerId, LockId, ObjectId, RwLockId, SemaphoreId,
    ThreadId,
};

/// A value of the running app: an integer, a truth value (0, 1), or the index of a thread, object, handler, lock or fence. Its type is static, so it carries no tag.
pub type Value = i64;

/// The null of every reference type.
pub const NULL: Value = -1;

/// A shared memory location: a cell of the flat memory, and the object it lies in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location {
    /// The cell.
    pub cell: u32,
    /// The object that the cell is a field of; `None` for a global.
    pub object: Option<ObjectId>,
}

/// When a posted message is due.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PostTime {
    /// `when` = now.
    Now,
    /// `when` = now + max(d, 0), read when the post is performed.
    After(i64),
    /// `when` = 0: before everything, last in first out.
    Front,
    /// `when` = t, absolute.
    At(i64),
}

/// Arguments of a post, fork or enable: values that the world keeps until the end of the run (`World::args`).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Args {
    /// Where they stand there.
    pub(crate) first: u32,
    /// How many there are.
    pub(crate) count: u32,
}

impl std::fmt::Debug for Args {
    // Where they stand is of no interest to anybody.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} arguments", self.count)
    }
}

/// A visible operation, pending or performed. "Blocks" says when it is not enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its operands")]
// A tag of its own: it is looked at several times a step, and one packed into a field would have to be unpacked.
#[repr(u8)]
pub enum Op {
    /// Plain read.
    Read(Location),
    /// Plain write of the value.
    Write(Location, Value),
    /// A read of a list (one location): element `index`, or its length without one.
    ListRead { at: Location, list: ListId, what: ListRead },
    /// A write of a list.
    ListWrite { at: Location, list: ListId, what: ListWrite },
    /// Read of an atomic.
    AtomicRead(Location),
    /// Write of an atomic.
    AtomicWrite(Location, Value),
    /// Compare and swap: true if it swapped.
    Cas { at: Location, old: Value, new: Value },
    /// Adds and returns the old value.
    FetchAdd(Location, Value),
    /// Writes and returns the old value.
    Exchange(Location, Value),
    /// CAFA's use: dereferences a live object.
    Use(ObjectId),
    /// CAFA's free: ends an object's life.
    Free(ObjectId),
    /// Blocks while another thread holds it (a mutex: while anybody does).
    Acquire(LockId),
    /// Gives up one hold.
    Release(LockId),
    /// Gives up all holds of `lock` and enters the wait set of `on`; the thread is then at [`Op::Reacquire`].
    Wait { on: WaitSet, lock: LockId, timeout: Option<i64> },
    /// Leaves a wait. Blocks until notified, interrupted or timed out, and while another thread holds the lock. Its value: not timed out.
    Reacquire { on: WaitSet, lock: LockId },
    /// Wakes one waiter (which one is a choice) or all of them.
    Notify { on: WaitSet, all: bool },
    /// Blocks while a writer holds it, or while one has announced itself at a lock that prefers writers.
    ReadLock(RwLockId),
    /// A preferred writer says that it is coming.
    Announce(RwLockId),
    /// Blocks while anybody holds it (or, where readers are preferred, while one stands at it).
    WriteLock(RwLockId),
    /// Gives up the read side.
    ReadUnlock(RwLockId),
    /// Gives up the write side.
    WriteUnlock(RwLockId),
    /// Blocks while the count is 0.
    Down(SemaphoreId),
    /// Blocks while the count is 0 and the deadline has not passed. Its value: it has taken one.
    DownFor { semaphore: SemaphoreId, timeout: i64 },
    /// Adds one.
    Up(SemaphoreId),
    /// Counts a thread in; the thread is then at [`Op::Pass`].
    Arrive(BarrierId),
    /// Blocks until the generation is full.
    Pass { barrier: BarrierId, generation: u32 },
    /// Blocks until the condition (which the guest knows) holds or the deadline has passed. Its value: the condition holds.
    Await { timeout: Option<i64> },
    /// Blocks until the thread has finished.
    Join(ThreadId),
    /// Starts a thread that runs the body. Its value: the thread.
    Fork { body: BodyId, args: Args },
    /// Starts a looper thread. Its value: the looper.
    SpawnLooper,
    /// Queues a message. Blocks until the target has a queue. Its value: accepted.
    Post { target: Target, body: BodyId, args: Args, time: PostTime, is_async: bool, instance: Option<u32> },
    /// An idle looper's next step: begins the message at the front. Blocks until one is due. When the looper has quit and its queue is empty: leaves the loop.
    Begin,
    /// Makes a queue that accepts posts.
    AttachQueue,
    /// A synchronization barrier in the queue. Its value: the token.
    Fence(ThreadId),
    /// Removes a barrier by its token.
    Lift(Value),
    /// Removes the queued messages of a handler, of one body or all.
    Cancel { target: Target, body: Option<BodyId> },
    /// Quits a looper.
    Quit { looper: ThreadId, safely: bool },
    /// A new handler on a looper. Its value: the handler.
    NewHandler(ThreadId),
    /// Lets the environment fire an event once more, with these arguments.
    Enable { event: EventId, args: Args, instance: Option<u32> },
    /// Takes all enables back.
    Disable(EventId),
    /// Adds a callback to a listener (CAFA).
    Register { listener: ListenerId, body: BodyId },
    /// Runs all callbacks of a listener, in the order of registration (CAFA). Its value: how many.
    Perform(ListenerId),
    /// Sets the interrupt flag and wakes a sleeper or waiter.
    Interrupt(ThreadId),
    /// Starts a sleep; the thread is then at [`Op::Wake`].
    Sleep(i64),
    /// Blocks until the deadline has passed or the thread was interrupted.
    Wake,
    /// Either way: a choice. Its value: 0 or 1.
    Branch,
    /// Does nothing, visibly.
    Skip,
    /// Does nothing, and asks strategies to let others go.
    Yield,
}

impl Op {
    /// The semaphore that it has taken one of, if it came to this value.
    #[must_use]
    pub fn taken(&self, value: Value) -> Option<SemaphoreId> {
        match *self {
            Op::Down(semaphore) => Some(semaphore),
            Op::DownFor { semaphore, .. } => (value != 0).then_some(semaphore),
            _ => None,
        }
    }

    /// Whether it is the second half of an operation of two halves: the return from a wait, the passing of a barrier, the end of a sleep. An execution of such a statement
    /// counts once, at its first half.
    #[inline]
    #[must_use]
    pub fn is_second_half(&self) -> bool {
        matches!(self, Op::Reacquire { .. } | Op::Pass { .. } | Op::Wake)
    }

    /// Whether there are states in which it cannot be performed.
    #[inline]
    #[must_use]
    pub fn may_block(&self) -> bool {
        matches!(
            self,
            Op::Acquire(_)
                | Op::Reacquire { .. }
                | Op::ReadLock(_)
                | Op::WriteLock(_)
                | Op::Down(_)
                | Op::DownFor { .. }
                | Op::Pass { .. }
                | Op::Await { .. }
                | Op::Join(_)
                | Op::Post { .. }
                | Op::Begin
                | Op::Wake
        )
    }
}

/// A read of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its operands")]
pub enum ListRead {
    /// The length.
    Len,
    /// The element at an index.
    Get(i64),
    /// An iterator is made: its value is what `Next` takes as the version.
    Iterate,
    /// An iterator that saw `version` asks for the element at `index`.
    Next { index: i64, version: i64 },
}

/// A write of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListWrite {
    /// Appends.
    Push(Value),
    /// Removes and returns the last.
    Pop,
    /// Removes and returns the element at an index.
    Remove(i64),
    /// Empties.
    Clear,
    /// Replaces the element at an index.
    Set(i64, Value),
}

/// Where a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitSet {
    /// The wait set of a lock or monitor.
    Lock(LockId),
    /// A condition variable.
    Condition(ConditionId),
}

/// Whom a post or a removal addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// A looper or thread, through a handler of its own that no one else has.
    Thread(ThreadId),
    /// A handler.
    Handler(HandlerId),
}
