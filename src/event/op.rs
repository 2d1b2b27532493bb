//! The visible operations: the steps that a thread can perform, with resolved operands.

use super::{
    BarrierId, BlockKind, BodyId, ChannelId, ConditionId, EventId, GroupId, HandlerId, JobQuestion, LaunchKind,
    LaunchParent, LaunchPlace, ListId, ListenerId, LockId, ObjectId, RwLockId, SemaphoreId, Suspension, ThreadId,
};

/// A value of the running app: an integer, a truth value (0 or 1), or the index of a thread, object, handler, lock or
/// fence. Types are static, so a value carries no tag.
pub type Value = i64;

/// The null of every reference type.
pub const NULL: Value = -1;

/// A shared memory location: a cell of the flat memory, and the object that the cell belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location {
    /// Index of the cell.
    pub cell: u32,
    /// The object that the cell is a field of. `None` for a global.
    pub object: Option<ObjectId>,
}

/// The due time of a posted message (`when` in Android's `MessageQueue`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PostTime {
    /// Due at once: `when` = now.
    Now,
    /// Due after a delay of d milliseconds: `when` = now + max(d, 0). The clock is read when the post is performed.
    After(i64),
    /// Posted at the front: `when` = 0. The message comes before all others; the last one posted comes first.
    Front,
    /// Due at the absolute instant t, in milliseconds: `when` = t.
    At(i64),
    /// A microtask: it runs after the running task of the looper and before any message of its queue, first in, first
    /// out. Only the looper itself can post it.
    Micro,
    /// An idle handler: it runs when the looper has no message to begin, once, or with `keep` at each such moment.
    Idle {
        /// Whether the handler stays registered when it runs.
        keep: bool,
    },
}

/// Options that few posts have. Their values follow the arguments of the post (`World::token_of`, `World::period_of`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PostOptions(u8);

impl PostOptions {
    /// The message has a token: an object by which a removal finds it.
    pub const TOKEN: Self = Self(1);
    /// The value of the post is a handle of the message.
    pub const HANDLE: Self = Self(2);
    /// The message does not keep the run going.
    pub const DAEMON: Self = Self(4);
    /// The message returns to its queue with a delay when its task begins.
    pub const EVERY: Self = Self(8);

    /// Returns these options and `more`.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Returns whether `option` is among these options.
    #[must_use]
    pub fn has(self, option: Self) -> bool {
        self.0 & option.0 != 0
    }

    /// Returns the options that matter to the state of the message, as bits.
    #[must_use]
    pub(crate) fn state(self) -> u64 {
        u64::from(self.0 & !Self::HANDLE.0)
    }
}

/// Arguments of a post, fork or enable: a range of values that the world keeps until the end of the run
/// (`World::args`).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Args {
    /// Index of the first argument in the world's table.
    pub(crate) first: u32,
    /// Number of arguments.
    pub(crate) count: u32,
}

impl Args {
    /// Returns the first `count` of these arguments. The values of a post's options follow its arguments.
    #[must_use]
    pub fn truncated(self, count: usize) -> Self {
        Self { count: count as u32, ..self }
    }
}

impl std::fmt::Debug for Args {
    // The index depends on the history of the run, so equal operations would look different.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} arguments", self.count)
    }
}

/// A visible operation, pending or performed. A variant's "Blocks" sentence says when the operation is not enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its operands")]
// The tag has a byte of its own because it is read several times per step. A tag packed into a niche of a field would
// have to be decoded each time.
#[repr(u8)]
pub enum Op {
    /// Reads plain memory.
    Read(Location),
    /// Writes the value to plain memory.
    Write(Location, Value),
    /// Reads a list, which is one location: an element, the length, or an iterator's next element.
    ListRead { at: Location, list: ListId, what: ListRead },
    /// Writes a list, which is one location.
    ListWrite { at: Location, list: ListId, what: ListWrite },
    /// Reads an atomic.
    AtomicRead(Location),
    /// Writes an atomic.
    AtomicWrite(Location, Value),
    /// Compares and swaps. Its value: 1 if it swapped, else 0.
    Cas { at: Location, old: Value, new: Value },
    /// Adds to an atomic. Its value: the old value.
    FetchAdd(Location, Value),
    /// Writes an atomic. Its value: the old value.
    Exchange(Location, Value),
    /// Dereferences a live object (CAFA's use).
    Use(ObjectId),
    /// Ends the life of an object (CAFA's free).
    Free(ObjectId),
    /// Acquires a lock. Blocks while another thread holds it. A lock that is not reentrant also blocks the thread that
    /// holds it.
    Acquire(LockId),
    /// Acquires a lock, or one side of a reader-writer lock, before a deadline. Blocks while that is not possible and
    /// the deadline has not passed. Its value: 1 if it acquired, else 0. A recorded event of one that acquired has the
    /// operation without a deadline.
    AcquireFor { of: Acquisition, timeout: i64 },
    /// Gives up one hold of a lock.
    Release(LockId),
    /// Gives up all holds of `lock` and enters the wait set of `on`. The thread is then pending at [`Op::Reacquire`].
    Wait { on: WaitSet, lock: LockId, timeout: Option<i64> },
    /// Second half of a wait. Blocks until the thread is notified, interrupted or timed out, and while another thread
    /// holds the lock. Its value: 0 if the wait timed out, else 1.
    Reacquire { on: WaitSet, lock: LockId },
    /// Wakes one waiter, which is a choice if there are several, or all waiters.
    Notify { on: WaitSet, all: bool },
    /// Acquires the read side of a lock. Blocks while a writer holds the lock. A lock that prefers writers also blocks
    /// readers while a writer has announced itself.
    ReadLock(RwLockId),
    /// Announces a writer at a lock that prefers writers.
    Announce(RwLockId),
    /// Acquires the write side of a lock. Blocks while a reader or writer holds the lock. A lock that prefers readers
    /// also blocks writers while a reader is pending at it.
    WriteLock(RwLockId),
    /// Releases the read side of a lock.
    ReadUnlock(RwLockId),
    /// Releases the write side of a lock.
    WriteUnlock(RwLockId),
    /// Takes one permit of a semaphore. Blocks while the count is 0.
    Down(SemaphoreId),
    /// Takes one permit of a semaphore before a deadline. Blocks while the count is 0 and the deadline has not passed.
    /// Its value: 1 if it took a permit, else 0.
    DownFor { semaphore: SemaphoreId, timeout: i64 },
    /// Adds one permit to a semaphore.
    Up(SemaphoreId),
    /// Arrives at a barrier. The thread is then pending at [`Op::Pass`].
    Arrive(BarrierId),
    /// Second half of a barrier. Blocks until all threads of the generation have arrived.
    Pass { barrier: BarrierId, generation: u32 },
    /// Sends a value to a channel. Without a channel (null) it blocks forever; otherwise it blocks while a bounded
    /// buffer is full. A rendezvous needs a receiver: if none is parked, the thread parks and is then pending at
    /// [`Op::Sent`].
    Send { channel: Option<ChannelId>, value: Value },
    /// Second half of a send. Blocks until a receiver has taken the value, or the channel was closed.
    Sent { channel: ChannelId },
    /// Receives a value from a channel. Without a channel (null) it blocks forever; otherwise it blocks while the
    /// buffer is empty and the channel is open. A rendezvous needs a sender: if none is parked, the thread parks and
    /// is then pending at [`Op::Received`]. A receive that iterates ends its iteration at a closed channel.
    Receive { channel: Option<ChannelId>, iterates: bool },
    /// Second half of a receive. Blocks until a sender has handed over a value, or the channel was closed.
    Received { channel: ChannelId, iterates: bool },
    /// Closes a channel.
    Close(ChannelId),
    /// Reads the state of a channel.
    ChannelRead { channel: ChannelId, what: ChannelRead },
    /// Performs one case of a select that can go, which is a choice if there are several. Blocks until a case can go or
    /// the deadline has passed, unless the select goes on `otherwise`. A select with a case of a rendezvous parks at
    /// its channels instead, and is then pending at [`Op::Selected`]. Its value: the index of the case; the number of
    /// cases if the deadline has passed, and one more if no case could go. The arguments are
    /// [`SelectCase`](crate::world::SelectCase)s.
    Select { cases: Args, timeout: Option<i64>, otherwise: bool },
    /// Second half of a select. Blocks until a partner of one of its cases has arrived or the deadline has passed.
    Selected { cases: Args },
    /// Awaits a condition, which the guest evaluates. Blocks until the condition holds or the deadline has passed. Its
    /// value: 1 if the condition holds, else 0.
    Await { timeout: Option<i64> },
    /// Joins a thread. Blocks until that thread has finished.
    Join(ThreadId),
    /// Starts a thread that runs the body. Its value: the new thread.
    Fork { body: BodyId, args: Args },
    /// Starts a looper thread. Its value: the new looper.
    SpawnLooper,
    /// Posts a message. Blocks until the target has a queue, except a microtask, whose looper is the poster itself. Its
    /// value: 0 if the queue refused the message, else 1, or the handle of the message ([`PostOptions::HANDLE`]).
    Post {
        target: Target,
        body: BodyId,
        args: Args,
        time: PostTime,
        is_async: bool,
        options: PostOptions,
        instance: Option<u32>,
    },
    /// Takes the message at the front of the looper's queue and begins its task. Blocks until a message is due. If the
    /// looper has quit and its queue is empty, the looper leaves its loop instead.
    Begin,
    /// Creates a queue that accepts posts.
    AttachQueue,
    /// Inserts a synchronization barrier into the looper's queue. Its value: the barrier's token.
    Fence(ThreadId),
    /// Removes a synchronization barrier by its token.
    Lift(Value),
    /// Removes the queued messages of a handler: those of one body, or all of them. With a token, only those that have
    /// it; null stands for any token.
    Cancel { target: Target, body: Option<BodyId>, token: Value },
    /// Removes one message by its handle, unless its task has begun. Its value: 1 if it removed the message, else 0.
    CancelMessage(Value),
    /// Quits a looper, either at once or (`safely`) after the messages that are due.
    Quit { looper: ThreadId, safely: bool },
    /// Creates a handler for a looper. Its value: the new handler.
    NewHandler(ThreadId),
    /// Enables an event: the environment may fire it once more, with these arguments.
    Enable { event: EventId, args: Args, instance: Option<u32> },
    /// Revokes all enables of an event.
    Disable(EventId),
    /// Enters the platform: the step of a verb that has no other step before it touches platform memory.
    Request,
    /// Adds a callback to a listener (CAFA's register).
    Register { listener: ListenerId, body: BodyId },
    /// Removes the first registration of a callback from a listener, if it has one. Callbacks that have begun to run
    /// are not affected.
    Unregister { listener: ListenerId, body: BodyId },
    /// Runs all callbacks of a listener in the order of registration (CAFA's perform). Its value: the number of
    /// callbacks.
    Perform(ListenerId),
    /// Sets the interrupt flag of a thread. A thread that sleeps or waits wakes up.
    Interrupt(ThreadId),
    /// Starts a sleep of this many milliseconds. The thread is then pending at [`Op::Wake`].
    Sleep(i64),
    /// Second half of a sleep. Blocks until the deadline has passed or the thread is interrupted.
    Wake,
    /// Adds to the counter of a wait group.
    GroupAdd { group: GroupId, delta: i64 },
    /// Waits for the counter of a wait group to be 0. If it is not, the thread is then pending at [`Op::GroupPass`].
    GroupWait(GroupId),
    /// Second half of a wait for a wait group. Blocks until the counter has been 0.
    GroupPass { group: GroupId, generation: u32 },
    /// Reads the interrupt flag of a thread, and leaves it as it is.
    ReadInterrupt(ThreadId),
    /// Reads the clock. Its value: the milliseconds since the start of the app.
    Now,
    /// Takes either branch (`*` in the language), which is a choice. Its value: 0 or 1.
    Branch,
    /// Takes one of `values` values, the first of which is `from` (`choose` in the language), which is a choice. There
    /// is at least one value. Its value: the one that is taken.
    Choose { from: Value, values: u32 },
    /// Has no effect, but is a step of its own.
    Skip,
    /// Has no effect. It is a hint to strategies to run other threads first; no built-in strategy evaluates it.
    Yield,
    /// Launches an async task. Its value: the new job.
    Launch { body: BodyId, args: Args, place: LaunchPlace, parent: LaunchParent, kind: LaunchKind },
    /// Reaches a suspension point of `job`, whose task the thread runs. If the task has to wait, the thread gives it up
    /// and goes on with other messages.
    Suspend { job: ThreadId, on: Suspension },
    /// Second half of a suspension, in the task that goes on. No thread is ever pending at it. Its value: that of the
    /// operation, or [`CANCELLED`](super::CANCELLED). Of a send: whether the value was sent, of a receive: whether a
    /// value was received.
    Resume(Suspension),
    /// Requests the cancellation of a job and of its children.
    CancelJob(ThreadId),
    /// Asks about a job. Its value: the answer.
    AskJob { job: ThreadId, what: JobQuestion },
    /// Creates a scope: a job without a task, which ends when it is cancelled. Its value: the scope.
    SpawnScope,
    /// Opens a block of the async task that the thread runs. Its value: the job that stands for the block.
    OpenBlock(BlockKind),
}

impl Op {
    /// Returns the semaphore of which the operation took a permit, given the operation's value. `None` if it took none.
    #[must_use]
    pub fn taken(&self, value: Value) -> Option<SemaphoreId> {
        match *self {
            Op::Down(semaphore) => Some(semaphore),
            Op::DownFor { semaphore, .. } => (value != 0).then_some(semaphore),
            _ => None,
        }
    }

    /// Returns whether the operation is the second half of one with two halves: the return from a wait, the passing of
    /// a barrier, the end of a sleep, the completion of a send, receive or select, or a resumption. An
    /// execution of such a statement counts once, at its first half.
    #[inline]
    #[must_use]
    pub fn is_second_half(&self) -> bool {
        matches!(
            self,
            Op::Reacquire { .. }
                | Op::Pass { .. }
                | Op::Wake
                | Op::Resume(_)
                | Op::GroupPass { .. }
                | Op::Sent { .. }
                | Op::Received { .. }
                | Op::Selected { .. }
        )
    }

    /// Returns whether there are states in which the operation is not enabled.
    #[inline]
    #[must_use]
    pub fn may_block(&self) -> bool {
        matches!(
            self,
            Op::Acquire(_)
                | Op::AcquireFor { .. }
                | Op::GroupPass { .. }
                | Op::Reacquire { .. }
                | Op::ReadLock(_)
                | Op::WriteLock(_)
                | Op::Down(_)
                | Op::DownFor { .. }
                | Op::Pass { .. }
                | Op::Send { .. }
                | Op::Sent { .. }
                | Op::Receive { .. }
                | Op::Received { .. }
                | Op::Select { .. }
                | Op::Selected { .. }
                | Op::Await { .. }
                | Op::Join(_)
                | Op::Post { .. }
                | Op::Begin
                | Op::Wake
        )
    }
}

/// What a timed acquisition acquires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquisition {
    /// A lock.
    Lock(LockId),
    /// The read side of a reader-writer lock.
    Read(RwLockId),
    /// The write side of a reader-writer lock.
    Write(RwLockId),
}

impl Acquisition {
    /// Returns the acquisition without a deadline.
    #[must_use]
    pub fn plain(self) -> Op {
        match self {
            Acquisition::Lock(lock) => Op::Acquire(lock),
            Acquisition::Read(lock) => Op::ReadLock(lock),
            Acquisition::Write(lock) => Op::WriteLock(lock),
        }
    }
}

/// The kinds of reads of a channel's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelRead {
    /// Reads whether the channel is closed.
    Closed,
    /// Reads the number of values in the buffer.
    Len,
}

/// The kinds of reads of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its operands")]
pub enum ListRead {
    /// Reads the length.
    Len,
    /// Reads the element at an index.
    Get(i64),
    /// Starts an iteration. Its value: the version of the list, which [`ListRead::Next`] takes.
    Iterate,
    /// Reads the element at `index` for an iterator that started at `version`.
    Next { index: i64, version: i64 },
}

/// The kinds of writes of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListWrite {
    /// Appends an element.
    Push(Value),
    /// Removes the last element. Its value: that element.
    Pop,
    /// Removes the element at an index. Its value: that element.
    Remove(i64),
    /// Removes all elements.
    Clear,
    /// Replaces the element at an index.
    Set(i64, Value),
}

/// The set that a waiting thread belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitSet {
    /// The wait set of a lock or monitor.
    Lock(LockId),
    /// The wait set of a condition variable.
    Condition(ConditionId),
}

/// The addressee of a post or a removal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// A looper or thread, addressed through an implicit handler that no other post can name.
    Thread(ThreadId),
    /// A handler, and through it the handler's looper.
    Handler(HandlerId),
}
