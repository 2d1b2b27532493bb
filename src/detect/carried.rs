//! The edges that the precise relation has and the hybrid one does not have: the order that locks, signals and the
//! like carry from one context to another. The hybrid relation leaves them out because the scheduler chose their
//! order (DroidRacer, figure 7, and the happens-before orders of Java and C++ for operations that DroidRacer does not
//! have).
//!
//! - A release to each later acquisition of the lock, a write-unlock to each later lock of either side, a read-unlock
//!   to each later write-lock; only between different threads, since a lock never orders two tasks of one looper. A
//!   wait releases, and its return acquires.
//! - A notify to the return of the waits that it woke, an interrupt to the operation that it broke off.
//! - Each up of a semaphore to each later down, each write of an atomic to each later read of it, each registration
//!   to each later perform of the listener.
//! - The write that enabled an await to the end of the await. If its condition held from the start, every earlier
//!   write, since it is not known which one made it hold.
//! - A quit to the end of the looper's loop.

use super::awaits::Turned;
use super::clock::Clock;
use super::held::Held;
use super::relation::Context;
use crate::base::IdSet;
use crate::event::{ListenerId, Location, LockId, Op, RwLockId, SemaphoreId, ThreadId, Value, WaitSet};
use crate::world::{LockHold, World};
use std::collections::BTreeMap;

/// Clocks that have been sent and that a later operation may learn.
#[derive(Default)]
pub(super) struct Carried {
    locks: BTreeMap<LockId, Released>,
    rwlocks: BTreeMap<RwLockId, ReadWrite>,
    // The threads in a wait, except those that a notify has woken.
    unwoken: BTreeMap<WaitSet, IdSet<ThreadId>>,
    woken: BTreeMap<ThreadId, Clock>,
    interrupts: BTreeMap<ThreadId, Clock>,
    semaphores: BTreeMap<SemaphoreId, Clock>,
    atomics: BTreeMap<Location, Clock>,
    listeners: BTreeMap<ListenerId, Clock>,
    quits: BTreeMap<ThreadId, Clock>,
    // All writes, and for each thread the write that has enabled its await.
    written: Clock,
    turned: BTreeMap<ThreadId, Clock>,
}

/// The releases of a lock that one thread at a time can hold.
///
/// A thread that releases has acquired before, so that its clock includes the earlier releases of other threads.
/// Therefore only the releases of the last thread are kept apart, since a thread does not learn its own.
#[derive(Default)]
pub(super) struct Released {
    others: Clock,
    last: Option<(ThreadId, Clock)>,
}

impl Released {
    /// Records that a thread releases the lock.
    pub(super) fn release(&mut self, thread: ThreadId, clock: Clock) {
        match &mut self.last {
            Some((last, known)) if *last == thread => known.join(&clock),
            last => {
                if let Some((_, known)) = last.replace((thread, clock)) {
                    self.others.join(&known);
                }
            }
        }
    }

    /// Teaches a thread that acquires the lock what the others have released.
    pub(super) fn acquire(&self, thread: ThreadId, at: &mut Context) {
        at.receive(&self.others);
        if let Some((_, known)) = self.last.as_ref().filter(|(last, _)| *last != thread) {
            at.receive(known);
        }
    }
}

#[derive(Default)]
struct ReadWrite {
    written: Released,
    // Read-unlocks that a later writer of another thread has learned, and the others.
    learned: Clock,
    read: BTreeMap<ThreadId, Clock>,
}

impl Carried {
    /// Processes an operation of the thread in this context. `held` has the lock sets before it.
    pub(super) fn perform(
        &mut self,
        world: &World,
        held: &Held,
        (thread, op, value): (ThreadId, &Op, Value),
        turned: &[Turned],
        at: &mut Context,
    ) {
        match *op {
            Op::Acquire(_)
            | Op::Release(_)
            | Op::ReadLock(_)
            | Op::ReadUnlock(_)
            | Op::WriteLock(_)
            | Op::WriteUnlock(_) => self.lock(held, thread, op, at),
            Op::Wait { .. } | Op::Reacquire { .. } | Op::Notify { .. } | Op::Interrupt(_) | Op::Sleep(_) | Op::Wake => {
                self.signal(world, held, (thread, op, value), at);
            }
            Op::Up(semaphore) => self.semaphores.entry(semaphore).or_default().join(&at.send()),
            // A down that has timed out learns nothing.
            Op::Down(_) | Op::DownFor { .. } => receive(op.taken(value).and_then(|s| self.semaphores.get(&s)), at),
            Op::Register { listener, .. } => self.listeners.entry(listener).or_default().join(&at.send()),
            Op::Perform(listener) => receive(self.listeners.get(&listener), at),
            Op::Quit { looper, .. } => self.quits.entry(looper).or_default().join(&at.send()),
            Op::Await { .. } => match self.turned.remove(&thread) {
                Some(clock) => at.receive(&clock),
                None if value != 0 => at.receive(&self.written),
                None => {}
            },
            _ => self.memory(world, op, value, turned, at),
        }
    }

    /// Processes the end of a looper's loop.
    pub(super) fn leave(&self, looper: ThreadId, at: &mut Context) {
        receive(self.quits.get(&looper), at);
    }

    fn memory(&mut self, world: &World, op: &Op, value: Value, turned: &[Turned], at: &mut Context) {
        let atomic = atomic(world, op, value);
        if let Some((location, _)) = atomic
            && !matches!(op, Op::AtomicWrite(..))
        {
            receive(self.atomics.get(&location), at);
        }
        let atomic = atomic.filter(|(_, writes)| *writes);
        if atomic.is_none() && !matches!(op, Op::Write(..) | Op::ListWrite { .. } | Op::Free(_)) {
            return;
        }
        let clock = at.send();
        if let Some((location, _)) = atomic {
            self.atomics.entry(location).or_default().join(&clock);
        }
        self.written.join(&clock);
        for Turned { thread, holds } in turned {
            if *holds {
                self.turned.insert(*thread, clock.clone());
            } else {
                self.turned.remove(thread);
            }
        }
    }

    fn lock(&mut self, held: &Held, thread: ThreadId, op: &Op, at: &mut Context) {
        match *op {
            Op::Acquire(lock) if !held.is_dead(LockHold::Lock(lock)) => self.acquire(lock, thread, at),
            Op::Release(lock) if held.count_of(thread, LockHold::Lock(lock)) > 0 => self.release(lock, thread, at),
            Op::ReadLock(lock) => {
                if let Some(lock) = self.rwlocks.get(&lock) {
                    lock.written.acquire(thread, at);
                }
            }
            Op::WriteLock(lock) => {
                let Some(lock) = self.rwlocks.get(&lock) else { return };
                lock.written.acquire(thread, at);
                at.receive(&lock.learned);
                lock.read.iter().filter(|(reader, _)| **reader != thread).for_each(|(_, clock)| at.receive(clock));
            }
            Op::ReadUnlock(lock) if held.count_of(thread, LockHold::Read(lock)) > 0 => {
                let lock = self.rwlocks.entry(lock).or_default();
                lock.read.entry(thread).or_default().join(&at.send());
            }
            Op::WriteUnlock(lock) if held.count_of(thread, LockHold::Write(lock)) > 0 => {
                let lock = self.rwlocks.entry(lock).or_default();
                lock.written.release(thread, at.send());
                let own = lock.read.remove(&thread);
                for (_, clock) in std::mem::take(&mut lock.read) {
                    lock.learned.join(&clock);
                }
                lock.read.extend(own.map(|clock| (thread, clock)));
            }
            _ => {}
        }
    }

    fn acquire(&mut self, lock: LockId, thread: ThreadId, at: &mut Context) {
        if let Some(released) = self.locks.get(&lock) {
            released.acquire(thread, at);
        }
    }

    fn release(&mut self, lock: LockId, thread: ThreadId, at: &mut Context) {
        self.locks.entry(lock).or_default().release(thread, at.send());
    }

    fn signal(&mut self, world: &World, held: &Held, (thread, op, value): (ThreadId, &Op, Value), at: &mut Context) {
        match *op {
            Op::Wait { on, lock, .. } if held.count_of(thread, LockHold::Lock(lock)) > 0 => {
                if matches!(world.thread(thread).pending, Op::Reacquire { .. }) {
                    self.release(lock, thread, at);
                    self.unwoken.entry(on).or_default().set(thread, true);
                } else {
                    // The wait was interrupted before it began.
                    self.broken_off(thread, at);
                }
            }
            Op::Reacquire { lock, on, .. } => {
                self.acquire(lock, thread, at);
                if let Some(unwoken) = self.unwoken.get_mut(&on) {
                    unwoken.set(thread, false);
                }
                if let Some(clock) = self.woken.remove(&thread) {
                    at.receive(&clock);
                }
                // A wait that a notify has woken leaves the interrupt pending.
                if value == 0 {
                    self.broken_off(thread, at);
                }
            }
            Op::Notify { on, .. } => {
                let clock = at.send();
                // A thread that left the wait set before this notify has its cause already, or none.
                let Some(unwoken) = self.unwoken.get_mut(&on) else { return };
                let mut still = IdSet::new();
                world.waiters(on).iter().for_each(|waiter| still.set(*waiter, true));
                let left: Vec<ThreadId> = unwoken.differing(&still, unwoken).collect();
                for waiter in left {
                    unwoken.set(waiter, false);
                    self.woken.insert(waiter, clock.clone());
                }
            }
            Op::Interrupt(other) if !world.finished(other) => {
                self.interrupts.entry(other).or_default().join(&at.send());
            }
            Op::Sleep(_) | Op::Wake => self.broken_off(thread, at),
            _ => {}
        }
    }

    // Ends an operation by a pending interrupt, if there is one. The interrupt is used up.
    fn broken_off(&mut self, thread: ThreadId, at: &mut Context) {
        if let Some(clock) = self.interrupts.remove(&thread) {
            at.receive(&clock);
        }
    }
}

fn receive(clock: Option<&Clock>, at: &mut Context) {
    if let Some(clock) = clock {
        at.receive(clock);
    }
}

/// Returns the atomic that an operation touches, and whether it has written it; `None` if the operation threw.
pub(super) fn atomic(world: &World, op: &Op, value: Value) -> Option<(Location, bool)> {
    let (at, writes) = match *op {
        Op::AtomicRead(at) => (at, false),
        Op::AtomicWrite(at, _) | Op::FetchAdd(at, _) | Op::Exchange(at, _) => (at, true),
        Op::Cas { at, .. } => (at, value != 0),
        _ => return None,
    };
    let dead = at.object.is_some_and(|object| world.memory().object(object).freed);
    (!dead).then_some((at, writes))
}
