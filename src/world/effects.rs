//! What each operation does to the things that threads share: one table, which everything that needs to know reads.
//!
//! The table is exhaustive: the compiler asks for a row for a new operation. [`independent`](super::independent) decides
//! by it which choices commute, [`enabled`](super::enabled) what a blocked thread waits for, detection which operations
//! make an order pair and which locks are held, and a campaign what wakes what.

use super::World;
use crate::event::{
    Access, AccessKind, AccessPlace, BarrierId, BodyId, EventId, ListenerId, Location, LockId, Op, RwLockId,
    SemaphoreId, Target, ThreadId, Value, WaitSet,
};

/// A thing that operations of several threads touch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Thing {
    /// Plain memory: a cell, or the life of an object.
    Memory(AccessPlace),
    /// An atomic.
    Atomic(Location),
    /// Any memory: a condition may read everything.
    AllMemory,
    /// A lock, a mutex or a monitor.
    Lock(LockId),
    /// A reader-writer lock.
    RwLock(RwLockId),
    /// The queue of a looper.
    Queue(ThreadId),
    /// The threads that wait at a lock or for a condition.
    WaitSet(WaitSet),
    /// A semaphore.
    Semaphore(SemaphoreId),
    /// How often the environment may fire an event.
    Event(EventId),
    /// The interrupt flag of a thread, and its sleep or wait.
    Interrupts(ThreadId),
    /// The callbacks of a listener.
    Listener(ListenerId),
    /// A barrier.
    Barrier(BarrierId),
    /// The end of a thread.
    End(ThreadId),
    /// A synchronization barrier in some queue, by its token.
    Fence(Value),
    /// The numbers of threads and handlers, which are given in the order in which these are made.
    Numbers,
}

/// How an operation touches a thing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum How {
    /// Reads memory or an atomic.
    Read,
    /// Writes memory or an atomic (or does both).
    Write,
    /// Acquires a lock.
    Acquire,
    /// Gives up one hold of a lock.
    Release,
    /// Acquires the read side.
    AcquireRead,
    /// Gives up the read side.
    ReleaseRead,
    /// Acquires the write side.
    AcquireWrite,
    /// Gives up the write side.
    ReleaseWrite,
    /// A preferred writer announces itself.
    Announce,
    /// Enters a wait set, or begins a wait that an interrupt ends.
    Wait,
    /// Gives up all holds of a lock for a wait.
    ReleaseForWait,
    /// Returns from a wait.
    EndWait,
    /// Takes the holds of a lock back after a wait.
    AcquireAfterWait,
    /// Wakes waiters.
    Notify,
    /// Adds one unit to a semaphore.
    Up,
    /// Takes one unit.
    Down,
    /// Arrives at a barrier.
    Arrive,
    /// Passes a barrier.
    Pass,
    /// Waits for a condition over memory.
    Await,
    /// Waits for the end of a thread.
    Join,
    /// Makes a thread or a handler.
    Make,
    /// Posts a message.
    Post(Target, BodyId),
    /// Removes the messages of a handler, of one body or all.
    Cancel(Target, Option<BodyId>),
    /// Begins the message at the head, or leaves the loop.
    Begin,
    /// Makes the queue.
    Attach,
    /// Puts a synchronization barrier in the queue.
    AddFence,
    /// Removes a synchronization barrier.
    RemoveFence,
    /// Makes the looper quit.
    Quit,
    /// Lets the environment fire an event once more.
    Enable,
    /// Takes all enables back.
    Disable,
    /// Adds a callback.
    Register,
    /// Runs the callbacks.
    Perform,
    /// Interrupts a thread.
    Interrupt,
    /// Begins a sleep.
    Sleep,
    /// Ends a sleep.
    EndSleep,
}

/// Whether an operation wakes threads that wait for a thing, or is what such a thread resumes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// It may wake a thread that waits for the thing.
    Sends,
    /// It resumes after another thread has sent.
    Receives,
    /// Neither. Locks are not signals: who releases one does not say who acquires it next.
    Neither,
}

impl How {
    /// Whether it may have to wait until the step of another thread changes the thing. Two operations wait without that:
    /// a looper for a message that is due, and a sleep for its deadline; their threads are asked anew at each step of the
    /// clock and of their queue.
    #[inline]
    #[must_use]
    pub(super) fn may_wait(self) -> bool {
        match self {
            How::Acquire
            | How::AcquireAfterWait
            | How::AcquireRead
            | How::AcquireWrite
            | How::Down
            | How::Pass
            | How::Await
            | How::Join
            | How::Post(..) => true,
            How::Read
            | How::Write
            | How::Release
            | How::ReleaseRead
            | How::ReleaseWrite
            | How::Announce
            | How::Wait
            | How::ReleaseForWait
            | How::EndWait
            | How::Notify
            | How::Up
            | How::Arrive
            | How::Make
            | How::Cancel(..)
            | How::Begin
            | How::Attach
            | How::AddFence
            | How::RemoveFence
            | How::Quit
            | How::Enable
            | How::Disable
            | How::Register
            | How::Perform
            | How::Interrupt
            | How::Sleep
            | How::EndSleep => false,
        }
    }

    /// Whether it wakes, or is woken. A write of memory wakes those that wait for [`Thing::AllMemory`].
    #[must_use]
    pub fn signal(self) -> Signal {
        match self {
            How::Notify | How::Up | How::Arrive | How::Interrupt | How::Write => Signal::Sends,
            How::EndWait | How::Down | How::Pass | How::Await | How::Join | How::EndSleep => Signal::Receives,
            How::Read
            | How::Acquire
            | How::Release
            | How::AcquireRead
            | How::ReleaseRead
            | How::AcquireWrite
            | How::ReleaseWrite
            | How::Announce
            | How::Wait
            | How::ReleaseForWait
            | How::AcquireAfterWait
            | How::Make
            | How::Post(..)
            | How::Cancel(..)
            | How::Begin
            | How::Attach
            | How::AddFence
            | How::RemoveFence
            | How::Quit
            | How::Enable
            | How::Disable
            | How::Register
            | How::Perform
            | How::Sleep => Signal::Neither,
        }
    }
}

/// A lock that a thread holds, and which side of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockHold {
    /// A lock, a mutex or a monitor.
    Lock(LockId),
    /// The read side.
    Read(RwLockId),
    /// The write side.
    Write(RwLockId),
}

impl LockHold {
    /// Whether no two threads can have these at once.
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

    /// Its name: `lock l`, `read rw`.
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

/// What an operation changes about a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The thread has it once more.
    Taken,
    /// The thread has it once less.
    GivenUp,
}

impl Thing {
    /// Its name: `x`, `lock l`, `semaphore s`, `the queue of main`.
    #[must_use]
    pub fn name(self, world: &World) -> String {
        let setup = world.setup();
        match self {
            Thing::Memory(place) => world.place_name(place),
            Thing::Atomic(at) => world.place_name(AccessPlace::Cell(at)),
            Thing::AllMemory => String::new(),
            Thing::Lock(lock) => world.lock_name(lock),
            Thing::RwLock(lock) => format!("rwlock {}", setup.rwlocks[lock.0 as usize].0),
            Thing::Queue(looper) => format!("the queue of {}", world.thread_name(looper)),
            Thing::WaitSet(WaitSet::Lock(lock)) => format!("the wait set of {}", world.lock_name(lock)),
            Thing::WaitSet(WaitSet::Condition(id)) => format!("condition {}", setup.conditions[id.0 as usize]),
            Thing::Semaphore(id) => format!("semaphore {}", setup.semaphores[id.0 as usize].0),
            Thing::Event(event) => format!("event {}", setup.events[event].name),
            Thing::Interrupts(thread) | Thing::End(thread) => format!("thread {}", world.thread_name(thread)),
            Thing::Listener(listener) => format!("listener {}", setup.listeners[listener]),
            Thing::Barrier(id) => format!("barrier {}", setup.barriers[id.0 as usize].0),
            Thing::Fence(token) => format!("fence {token}"),
            Thing::Numbers => "the numbers of threads and handlers".to_owned(),
        }
    }
}

/// A thing, and how it is touched.
pub type Touch = (Thing, How);

/// What an operation does, before it is known whether it throws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effects {
    touches: [Option<Touch>; 3],
    /// Whether what it does depends on the virtual clock, or it starts or ends a deadline.
    pub uses_clock: bool,
}

impl Effects {
    const NONE: Self = Self { touches: [None; 3], uses_clock: false };

    #[inline]
    fn one(thing: Thing, how: How) -> Self {
        Self { touches: [Some((thing, how)), None, None], uses_clock: false }
    }

    #[inline]
    fn two(a: Touch, b: Touch) -> Self {
        Self { touches: [Some(a), Some(b), None], uses_clock: false }
    }

    #[inline]
    fn timed(self) -> Self {
        Self { uses_clock: true, ..self }
    }

    /// The hold of a lock that it takes or gives up. Waits give their holds up and take them back: they have rows of
    /// their own ([`How::ReleaseForWait`], [`How::AcquireAfterWait`]).
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

    /// What it touches: at most three things.
    #[inline]
    pub fn touches(&self) -> impl Iterator<Item = Touch> + Clone + use<> {
        self.touches.into_iter().flatten()
    }
}

impl World {
    /// What the operation of a thread does.
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
            // The instant of its making is kept.
            Op::Fork { .. } | Op::SpawnLooper => one(Thing::Numbers, How::Make).timed(),
            Op::NewHandler(_) => one(Thing::Numbers, How::Make),
            Op::Post { target, body, time, .. } => {
                let effects = one(Thing::Queue(self.thread_of(target)), How::Post(target, body));
                // The due time of a message at the front does not depend on now.
                Effects { uses_clock: time != crate::event::PostTime::Front, ..effects }
            }
            Op::Begin => one(Thing::Queue(thread), How::Begin).timed(),
            Op::AttachQueue => one(Thing::Queue(thread), How::Attach),
            Op::Fence(looper) => one(Thing::Queue(looper), How::AddFence).timed(),
            Op::Lift(token) => one(Thing::Fence(token), How::RemoveFence),
            Op::Cancel { target, body } => one(Thing::Queue(self.thread_of(target)), How::Cancel(target, body)).timed(),
            Op::Quit { looper, .. } => one(Thing::Queue(looper), How::Quit).timed(),
            Op::Enable { event, .. } => one(Thing::Event(event), How::Enable),
            Op::Disable(event) => one(Thing::Event(event), How::Disable),
            Op::Register { listener, .. } => one(Thing::Listener(listener), How::Register),
            Op::Perform(listener) => one(Thing::Listener(listener), How::Perform),
            Op::Interrupt(other) => one(Thing::Interrupts(other), How::Interrupt),
            Op::Sleep(_) => one(Thing::Interrupts(thread), How::Sleep).timed(),
            Op::Wake => one(Thing::Interrupts(thread), How::EndSleep).timed(),
            Op::Branch | Op::Skip | Op::Yield => Effects::NONE,
        }
    }
}
