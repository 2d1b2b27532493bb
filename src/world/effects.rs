//! The effects of each operation on the things that threads share, as one table.
//!
//! The table is exhaustive: a new operation does not compile without a row. It has several readers:
//!
//! - [`independent`](super::independent) decides which choices commute.
//! - [`enabled`](super::enabled) decides what a blocked thread waits for.
//! - Detection decides which operations form an order pair, and which locks are held.
//! - A campaign decides which operations wake which threads.

use super::World;
use super::memory::Memory;
use super::queue::message_of;
use crate::event::{
    Access, AccessKind, AccessPlace, Acquisition, BarrierId, BodyId, ChannelId, EventId, GroupId, LaunchParent,
    LaunchPlace, ListenerId, Location, LockId, ObjectId, Op, PostTime, RwLockId, SemaphoreId, Suspension, Target,
    ThreadId, Value, WaitSet,
};

/// A thing that operations of several threads can touch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Thing {
    /// Plain memory: a cell, or the life of an object.
    Memory(AccessPlace),
    /// An atomic variable.
    Atomic(Location),
    /// All memory: the condition of an await may read any of it.
    AllMemory,
    /// A lock, a mutex or a monitor.
    Lock(LockId),
    /// A reader-writer lock.
    RwLock(RwLockId),
    /// The queue of a looper.
    Queue(ThreadId),
    /// The wait set of a lock or condition: the threads that wait there.
    WaitSet(WaitSet),
    /// A semaphore.
    Semaphore(SemaphoreId),
    /// The enables of an event: the number of times that the environment may still fire it.
    Event(EventId),
    /// The interrupt flag of a thread, and its sleep or wait.
    Interrupts(ThreadId),
    /// The list of callbacks of a listener.
    Listener(ListenerId),
    /// A barrier.
    Barrier(BarrierId),
    /// The end of a thread.
    End(ThreadId),
    /// A job: whether it is cancelled, and what it waits for.
    Job(ThreadId),
    /// A synchronization barrier in some queue, by its token.
    Fence(Value),
    /// Platform memory: the stages, states and requests of components.
    Platform,
    /// The object that is the token of messages.
    Token(ObjectId),
    /// The numbering of threads and handlers. Numbers are assigned in order of creation.
    Numbers,
    /// A wait group.
    Group(GroupId),
    /// A channel.
    Channel(ChannelId),
    /// The channels of a select.
    ChannelsOfSelect,
}

/// How an operation touches a [`Thing`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum How {
    /// Reads memory or an atomic.
    Read,
    /// Writes memory or an atomic, or reads and writes it.
    Write,
    /// Acquires a lock.
    Acquire,
    /// Releases one hold of a lock.
    Release,
    /// Acquires the read side of a reader-writer lock.
    AcquireRead,
    /// Releases the read side of a reader-writer lock.
    ReleaseRead,
    /// Acquires the write side of a reader-writer lock.
    AcquireWrite,
    /// Releases the write side of a reader-writer lock.
    ReleaseWrite,
    /// Announces a writer of a reader-writer lock that prefers writers.
    Announce,
    /// Enters a wait set, or begins a wait that an interrupt can end.
    Wait,
    /// Releases all holds of a lock for a wait.
    ReleaseForWait,
    /// Returns from a wait.
    EndWait,
    /// Acquires a lock again after a wait, with all its holds.
    AcquireAfterWait,
    /// Wakes threads in a wait set.
    Notify,
    /// Adds one permit to a semaphore.
    Up,
    /// Takes one permit of a semaphore.
    Down,
    /// Arrives at a barrier.
    Arrive,
    /// Passes a barrier.
    Pass,
    /// Waits for a condition over memory.
    Await,
    /// Waits for the end of a thread.
    Join,
    /// Creates a thread or a handler.
    Make,
    /// Posts a message.
    Post(Target, BodyId),
    /// Posts a message with a token.
    PostWith(Target, BodyId, ObjectId),
    /// Posts a message with this token through the handler.
    PostToken(Target),
    /// Posts a microtask, which neither a removal nor a quit concerns.
    PostMicro,
    /// Registers an idle handler.
    PostIdle,
    /// Removes the messages of a handler, of one body or all.
    Cancel(Target, Option<BodyId>),
    /// Removes the messages of a handler, of one body and with one token.
    CancelWith(Target, BodyId, ObjectId),
    /// Removes all messages of a handler that have this token.
    CancelToken(Target),
    /// Removes messages from the queue: one by its handle, or those with a token.
    Remove,
    /// Begins the next message of the queue, or leaves the loop of a looper that has quit.
    Begin,
    /// Attaches a queue to the thread.
    Attach,
    /// Adds a synchronization barrier to the queue.
    AddFence,
    /// Removes a synchronization barrier.
    RemoveFence,
    /// Makes the looper quit.
    Quit,
    /// Enables an event once more.
    Enable,
    /// Withdraws all enables of an event.
    Disable,
    /// Enters the platform, to change its memory.
    Request,
    /// Adds a callback to a listener.
    Register,
    /// Removes a callback from a listener.
    Unregister,
    /// Runs the callbacks of a listener.
    Perform,
    /// Interrupts a thread.
    Interrupt,
    /// Begins a sleep.
    Sleep,
    /// Ends a sleep.
    EndSleep,
    /// Tries to acquire a lock, or one side of a reader-writer lock, before a deadline.
    Try,
    /// Adds to the counter of a wait group.
    Count,
    /// Waits for the counter of a wait group.
    AwaitCount,
    /// Sends to a channel.
    Send,
    /// Completes a send that has parked.
    EndSend,
    /// Receives from a channel.
    Receive,
    /// Completes a receive that has parked.
    EndReceive,
    /// Closes a channel.
    Close,
    /// Reads the state of a channel.
    Look,
    /// Sends to or receives from one of several channels.
    Select,
    /// Completes a select that has parked.
    EndSelect,
    /// Reaches a suspension point.
    Suspend,
    /// Requests the cancellation of a job.
    CancelJob,
    /// Asks about a job.
    AskJob,
}

/// Role of an operation in wake-ups: whether it wakes threads that wait for a thing, or is the operation with which
/// such a thread resumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// The operation may wake a thread that waits for the thing.
    Sends,
    /// The operation resumes a thread after another thread has sent a signal.
    Receives,
    /// The operation does neither. Locks are not signals: a release does not determine the next thread that acquires
    /// the lock.
    Neither,
}

impl How {
    /// Returns whether the operation may have to wait until a step of another thread changes the thing. False for two
    /// operations that can block: a begin waits for a due message, and the end of a sleep for its deadline or an
    /// interrupt. Each step of the clock, of the queue and each interrupt refreshes their threads directly. Also false
    /// for the return from a wait, whose row has [`How::AcquireAfterWait`] too.
    #[inline]
    #[must_use]
    pub(super) fn may_wait(self) -> bool {
        self.row().0
    }

    /// Returns whether the operation posts a message that a removal can find.
    #[inline]
    pub(super) fn is_post(self) -> bool {
        matches!(self, How::Post(..) | How::PostWith(..))
    }

    /// Returns the role of the operation in wake-ups. A write of memory wakes threads that wait for
    /// [`Thing::AllMemory`].
    #[inline]
    #[must_use]
    pub fn signal(self) -> Signal {
        self.row().1
    }

    // Whether the operation may wait for another thread, and its role in wake-ups.
    #[inline]
    fn row(self) -> (bool, Signal) {
        match self {
            How::Down | How::Pass | How::Await | How::Join => (true, Signal::Receives),
            How::Receive | How::EndReceive | How::EndSend => (true, Signal::Receives),
            How::Try => (true, Signal::Neither),
            How::Count => (false, Signal::Sends),
            How::AwaitCount => (false, Signal::Receives),
            How::Send => (true, Signal::Sends),
            How::Close => (false, Signal::Sends),
            How::Select | How::EndSelect => (true, Signal::Neither),
            How::EndWait | How::EndSleep => (false, Signal::Receives),
            How::Notify | How::Up | How::Arrive | How::Interrupt | How::Write | How::CancelJob => {
                (false, Signal::Sends)
            }
            How::Acquire
            | How::AcquireAfterWait
            | How::AcquireRead
            | How::AcquireWrite
            | How::Post(..)
            | How::PostWith(..)
            | How::PostIdle => (true, Signal::Neither),
            How::Read
            | How::Look
            | How::Release
            | How::ReleaseRead
            | How::ReleaseWrite
            | How::Announce
            | How::Wait
            | How::ReleaseForWait
            | How::Make
            | How::PostMicro
            | How::PostToken(_)
            | How::Cancel(..)
            | How::CancelWith(..)
            | How::CancelToken(_)
            | How::Remove
            | How::Begin
            | How::Attach
            | How::AddFence
            | How::RemoveFence
            | How::Quit
            | How::Enable
            | How::Disable
            | How::Request
            | How::Register
            | How::Unregister
            | How::Perform
            | How::Sleep
            | How::Suspend
            | How::AskJob => (false, Signal::Neither),
        }
    }
}

/// A lock that a thread holds. For a reader-writer lock, it is one side of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockHold {
    /// A lock, a mutex or a monitor.
    Lock(LockId),
    /// The read side of a reader-writer lock.
    Read(RwLockId),
    /// The write side of a reader-writer lock.
    Write(RwLockId),
}

impl LockHold {
    /// Returns whether two different threads can never have these two holds at the same time.
    #[must_use]
    pub fn excludes(self, other: LockHold) -> bool {
        match (self, other) {
            (LockHold::Lock(a), LockHold::Lock(b)) => a == b,
            (LockHold::Write(a), LockHold::Write(b) | LockHold::Read(b)) | (LockHold::Read(a), LockHold::Write(b)) => {
                a == b
            }
            _ => false,
        }
    }

    /// Returns the lock.
    #[must_use]
    pub fn thing(self) -> Thing {
        match self {
            LockHold::Lock(lock) => Thing::Lock(lock),
            LockHold::Read(lock) | LockHold::Write(lock) => Thing::RwLock(lock),
        }
    }

    /// Returns the name of the hold: `lock l`, `read rw`.
    #[must_use]
    pub fn name(self, world: &World) -> String {
        let rwlock = |id: RwLockId| world.setup().rwlocks.get(id.0 as usize).map_or("?", |(name, _)| name);
        match self {
            LockHold::Lock(lock) => world.lock_name(lock),
            LockHold::Read(id) => format!("read {}", rwlock(id)),
            LockHold::Write(id) => format!("write {}", rwlock(id)),
        }
    }
}

/// How an operation changes the number of times that its thread holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The thread holds the lock once more.
    Taken,
    /// The thread holds the lock once less.
    GivenUp,
}

impl Thing {
    /// Returns the name of the thing: `x`, `lock l`, `semaphore s`, `the queue of main`.
    #[must_use]
    pub fn name(self, world: &World) -> String {
        let setup = world.setup();
        match self {
            Thing::Memory(place) => world.place_name(place),
            Thing::Atomic(at) => world.place_name(AccessPlace::Cell(at)),
            Thing::AllMemory => String::new(),
            Thing::Lock(lock) => world.lock_name(lock),
            Thing::RwLock(lock) => format!("rwlock {}", world.rwlock_name(lock)),
            Thing::Queue(looper) => format!("the queue of {}", world.queue_name(looper)),
            Thing::WaitSet(WaitSet::Lock(lock)) => format!("the wait set of {}", world.lock_name(lock)),
            Thing::WaitSet(WaitSet::Condition(id)) => format!("condition {}", world.condition_name(id)),
            Thing::Semaphore(id) => format!("semaphore {}", world.semaphore_name(id)),
            Thing::Event(event) => format!("event {}", setup.events[event].name),
            Thing::Interrupts(thread) | Thing::End(thread) => format!("thread {}", world.thread_name(thread)),
            Thing::Job(job) => format!("job {}", world.thread_name(job)),
            Thing::Listener(listener) => format!("listener {}", setup.listeners[listener]),
            Thing::Barrier(id) => format!("barrier {}", world.barrier_name(id)),
            Thing::Fence(token) => format!("fence {token}"),
            Thing::Platform => "the platform".to_owned(),
            Thing::Token(object) => format!("the token {}", world.object_name(object)),
            Thing::Numbers => "the numbers of threads and handlers".to_owned(),
            Thing::Group(id) => format!("waitgroup {}", setup.groups[id.0 as usize]),
            Thing::Channel(id) => format!("channel {}", world.name_of_channel(id)),
            Thing::ChannelsOfSelect => "the channels of a select".to_owned(),
        }
    }
}

/// A thing, and how an operation touches it.
pub type ThingEffect = (Thing, How);

/// Effects of an operation. They are computed before it is known whether the operation throws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effects {
    touches: [Option<ThingEffect>; 3],
    /// Whether the operation depends on the virtual clock, or starts or ends a deadline.
    pub uses_clock: bool,
}

impl Effects {
    const NONE: Self = Self { touches: [None; 3], uses_clock: false };

    #[inline]
    fn one(thing: Thing, how: How) -> Self {
        Self { touches: [Some((thing, how)), None, None], uses_clock: false }
    }

    #[inline]
    fn two(a: ThingEffect, b: ThingEffect) -> Self {
        Self { touches: [Some(a), Some(b), None], uses_clock: false }
    }

    #[inline]
    fn timed(self) -> Self {
        Self { uses_clock: true, ..self }
    }

    /// Returns the hold of a lock that the operation takes or gives up. `None` for both halves of a wait, which have
    /// rows of their own ([`How::ReleaseForWait`], [`How::AcquireAfterWait`]).
    #[inline]
    #[must_use]
    pub fn hold(&self) -> Option<(LockHold, Change)> {
        self.touches().find_map(|(thing, how)| match (thing, how) {
            (Thing::Lock(lock), How::Acquire) => Some((LockHold::Lock(lock), Change::Taken)),
            (Thing::Lock(lock), How::Release) => Some((LockHold::Lock(lock), Change::GivenUp)),
            (Thing::RwLock(lock), How::AcquireRead) => Some((LockHold::Read(lock), Change::Taken)),
            (Thing::RwLock(lock), How::ReleaseRead) => Some((LockHold::Read(lock), Change::GivenUp)),
            (Thing::RwLock(lock), How::AcquireWrite) => Some((LockHold::Write(lock), Change::Taken)),
            (Thing::RwLock(lock), How::ReleaseWrite) => Some((LockHold::Write(lock), Change::GivenUp)),
            _ => None,
        })
    }

    /// Returns the things that the operation touches (at most three), with how it touches each one.
    #[inline]
    pub fn touches(&self) -> impl Iterator<Item = ThingEffect> + Clone + use<> {
        self.touches.into_iter().flatten()
    }
}

impl World {
    /// Returns the effects of an operation of a thread in this state.
    #[inline]
    #[must_use]
    pub fn effects(&self, thread: ThreadId, op: &Op) -> Effects {
        let memory = |access: Access| {
            let how = if access.kind == AccessKind::Write { How::Write } else { How::Read };
            Effects::one(Thing::Memory(access.place), how)
        };
        let one = Effects::one;
        match *op {
            Op::Read(_) | Op::Write(..) | Op::ListRead { .. } | Op::ListWrite { .. } | Op::Use(_) | Op::Free(_) => {
                op.access().map_or(Effects::NONE, memory)
            }
            Op::AtomicRead(at) => one(Thing::Atomic(at), How::Read),
            Op::AtomicWrite(at, _) | Op::Cas { at, .. } | Op::FetchAdd(at, _) | Op::Exchange(at, _) => {
                one(Thing::Atomic(at), How::Write)
            }
            Op::Acquire(lock) => one(Thing::Lock(lock), How::Acquire),
            Op::Release(lock) => one(Thing::Lock(lock), How::Release),
            Op::Wait { on, lock, .. } => Effects {
                touches: [
                    Some((Thing::WaitSet(on), How::Wait)),
                    Some((Thing::Interrupts(thread), How::Wait)),
                    Some((Thing::Lock(lock), How::ReleaseForWait)),
                ],
                uses_clock: true,
            },
            Op::Reacquire { on, lock } => {
                Effects::two((Thing::WaitSet(on), How::EndWait), (Thing::Lock(lock), How::AcquireAfterWait)).timed()
            }
            Op::Notify { on, .. } => one(Thing::WaitSet(on), How::Notify),
            Op::ReadLock(lock) => one(Thing::RwLock(lock), How::AcquireRead),
            Op::Announce(lock) => one(Thing::RwLock(lock), How::Announce),
            Op::WriteLock(lock) => one(Thing::RwLock(lock), How::AcquireWrite),
            Op::ReadUnlock(lock) => one(Thing::RwLock(lock), How::ReleaseRead),
            Op::WriteUnlock(lock) => one(Thing::RwLock(lock), How::ReleaseWrite),
            Op::Down(semaphore) => one(Thing::Semaphore(semaphore), How::Down),
            Op::DownFor { semaphore, .. } => one(Thing::Semaphore(semaphore), How::Down).timed(),
            Op::Up(semaphore) => one(Thing::Semaphore(semaphore), How::Up),
            Op::Arrive(barrier) => one(Thing::Barrier(barrier), How::Arrive),
            Op::Pass { barrier, .. } => one(Thing::Barrier(barrier), How::Pass),
            Op::Await { .. } => one(Thing::AllMemory, How::Await).timed(),
            Op::Join(other) => one(Thing::End(other), How::Join),
            // The new thread runs to its first operation in the same step. A timed await or down there starts a
            // deadline.
            Op::Fork { .. } | Op::SpawnLooper => one(Thing::Numbers, How::Make).timed(),
            Op::NewHandler(_) => one(Thing::Numbers, How::Make),
            // Only the looper itself posts microtasks, and they have no due time.
            Op::Post { target, time: PostTime::Micro, .. } => one(Thing::Queue(self.thread_of(target)), How::PostMicro),
            Op::Post { target, time: PostTime::Idle { .. }, .. } => {
                one(Thing::Queue(self.thread_of(target)), How::PostIdle).timed()
            }
            Op::Post { target, body, time, args, options, .. } => {
                let (queue, target) = (Thing::Queue(self.thread_of(target)), self.addressee(target));
                let effects = match self.token_of(args, options) {
                    None => one(queue, How::Post(target, body)),
                    Some(token) => Effects::two(
                        (queue, How::PostWith(target, body, token)),
                        (Thing::Token(token), How::PostToken(target)),
                    ),
                };
                // The due time of a message at the front does not depend on the clock.
                Effects { uses_clock: time != PostTime::Front, ..effects }
            }
            Op::Begin => one(Thing::Queue(self.queue_owner(thread)), How::Begin).timed(),
            Op::AttachQueue => one(Thing::Queue(thread), How::Attach),
            Op::Fence(looper) => one(Thing::Queue(looper), How::AddFence).timed(),
            Op::Lift(token) => one(Thing::Fence(token), How::RemoveFence),
            Op::Cancel { target, body, token } => {
                let (queue, target) = (Thing::Queue(self.thread_of(target)), self.addressee(target));
                match (Memory::object_of(token), body) {
                    (None, _) => one(queue, How::Cancel(target, body)),
                    (Some(token), Some(body)) => one(queue, How::CancelWith(target, body, token)),
                    (Some(token), None) => {
                        Effects::two((queue, How::Remove), (Thing::Token(token), How::CancelToken(target)))
                    }
                }
                .timed()
            }
            Op::CancelMessage(message) => match message_of(message) {
                Some((looper, _)) => one(Thing::Queue(looper), How::Remove).timed(),
                None => Effects::NONE,
            },
            Op::Quit { looper, .. } => one(Thing::Queue(self.queue_owner(looper)), How::Quit).timed(),
            Op::Enable { event, .. } => one(Thing::Event(event), How::Enable),
            Op::Disable(event) => one(Thing::Event(event), How::Disable),
            Op::Request => one(Thing::Platform, How::Request),
            Op::Register { listener, .. } => one(Thing::Listener(listener), How::Register),
            Op::Unregister { listener, .. } => one(Thing::Listener(listener), How::Unregister),
            Op::Perform(listener) => one(Thing::Listener(listener), How::Perform),
            Op::Interrupt(other) => one(Thing::Interrupts(other), How::Interrupt),
            Op::Sleep(_) => one(Thing::Interrupts(thread), How::Sleep).timed(),
            Op::Wake => one(Thing::Interrupts(thread), How::EndSleep).timed(),
            Op::AcquireFor { of: Acquisition::Lock(lock), .. } => one(Thing::Lock(lock), How::Try).timed(),
            Op::AcquireFor { of: Acquisition::Read(lock) | Acquisition::Write(lock), .. } => {
                one(Thing::RwLock(lock), How::Try).timed()
            }
            Op::GroupAdd { group, .. } => one(Thing::Group(group), How::Count),
            Op::GroupWait(group) => one(Thing::Group(group), How::AwaitCount),
            Op::GroupPass { group, .. } => one(Thing::Group(group), How::Pass),
            Op::ReadInterrupt(other) => one(Thing::Interrupts(other), How::Look),
            Op::Now => Effects::NONE.timed(),
            Op::Send { channel: Some(channel), .. } => self.on_channel(channel, How::Send),
            Op::Sent { channel } => self.on_channel(channel, How::EndSend),
            Op::Receive { channel: Some(channel), .. } => self.on_channel(channel, How::Receive),
            Op::Received { channel, .. } => self.on_channel(channel, How::EndReceive),
            Op::Close(channel) => self.on_channel(channel, How::Close),
            Op::ChannelRead { channel, .. } => self.on_channel(channel, How::Look),
            Op::Select { .. } => one(Thing::ChannelsOfSelect, How::Select).timed(),
            Op::Selected { .. } => one(Thing::ChannelsOfSelect, How::EndSelect).timed(),
            // An operation on a null channel is never enabled.
            Op::Send { channel: None, .. } | Op::Receive { channel: None, .. } => Effects::NONE,
            Op::Launch { place, parent, .. } => {
                let queue = match place {
                    LaunchPlace::Posted(target) => self.thread_of(target),
                    LaunchPlace::Here | LaunchPlace::Now => self.queue_owner(thread),
                };
                let parent = match parent {
                    LaunchParent::Caller => self.running_job(thread).map(|job| self.innermost_block(job)),
                    LaunchParent::NoParent => None,
                    LaunchParent::Job(job) => Some(job),
                };
                Effects {
                    touches: [
                        Some((Thing::Numbers, How::Make)),
                        Some((Thing::Queue(queue), How::Make)),
                        parent.map(|job| (Thing::Job(job), How::Make)),
                    ],
                    uses_clock: true,
                }
            }
            Op::Suspend { job, on } => {
                let other = match on {
                    Suspension::Await { .. } => Some((Thing::AllMemory, How::Await)),
                    Suspension::Join(other) | Suspension::CloseBlock { block: other, .. } => {
                        Some((Thing::End(other), How::Join))
                    }
                    Suspension::Down(semaphore) | Suspension::DownFor { semaphore, .. } => {
                        Some((Thing::Semaphore(semaphore), How::Down))
                    }
                    Suspension::Transfer(transfer) => self.effects(thread, &transfer.first_half()).touches().next(),
                    Suspension::Sleep(_) | Suspension::Yield | Suspension::Switch(_) => None,
                };
                Effects { touches: [Some((Thing::Job(job), How::Suspend)), other, None], uses_clock: true }
            }
            Op::CancelJob(job) => one(Thing::Job(job), How::CancelJob).timed(),
            Op::AskJob { job, .. } => one(Thing::Job(job), How::AskJob),
            Op::SpawnScope => one(Thing::Numbers, How::Make),
            Op::OpenBlock(_) => {
                let job = Thing::Job(self.running_job(thread).unwrap_or(thread));
                Effects::two((Thing::Numbers, How::Make), (job, How::Make))
            }
            // The second half of a suspension is never pending; its thread has begun a message.
            Op::Branch | Op::Choose { .. } | Op::Skip | Op::Yield | Op::Resume(_) => Effects::NONE,
        }
    }

    // A parked select whose deadline passes leaves its channels.
    fn on_channel(&self, channel: ChannelId, how: How) -> Effects {
        Effects { uses_clock: self.has_parked_select(true), ..Effects::one(Thing::Channel(channel), how) }
    }
}
