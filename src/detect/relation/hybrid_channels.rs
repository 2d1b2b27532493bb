//! The edges that the precise relation has and the hybrid one does not have: the order that locks, signals and the
//! like carry from one context to another. The hybrid relation leaves them out because the scheduler chose their
//! order (DroidRacer, figure 7, and the happens-before orders of Java and C++ for operations that DroidRacer does not
//! have).
//!
//! - A release to each later acquisition of the lock, a write-unlock to each later lock of either side, a read-unlock
//!   to each later write-lock; only between different threads, since a lock never orders two tasks of one looper. A
//!   wait releases, and its return acquires.
//! - All other sends and receives are those of [`Signals`](super::Signals), on its channels.
//! - None of an operation that is refused.
//! - If the condition of an await held from the start, every earlier write, since it is not known which one made it
//!   hold.

use super::clock::Clock;
use super::contexts::ContextClock;
use super::signals::{EventChannels, atomic};
use crate::event::{LockId, Op, RwLockId, Suspension, ThreadId, Value};
use crate::world::World;
use std::collections::BTreeMap;

/// Clocks that have been sent and that a later operation may learn.
#[derive(Default)]
pub(in crate::detect) struct HybridChannels {
    locks: BTreeMap<LockId, LockReleases>,
    rwlocks: BTreeMap<RwLockId, ReadWrite>,
    // By number of the channel.
    channels: Vec<Clock>,
    // All writes.
    written: Clock,
}

/// The releases of a lock that one thread at a time can hold.
///
/// A thread that releases has acquired before, so that its clock includes the earlier releases of other threads.
/// Therefore only the releases of the last thread are kept apart, since a thread does not learn its own.
#[derive(Default)]
pub(in crate::detect) struct LockReleases {
    others: Clock,
    last: Option<(ThreadId, Clock)>,
}

impl LockReleases {
    /// Records that a thread releases the lock.
    pub(in crate::detect) fn release(&mut self, thread: ThreadId, clock: Clock) {
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
    pub(in crate::detect) fn acquire(&self, thread: ThreadId, at: &mut ContextClock) {
        at.receive(&self.others);
        if let Some((_, known)) = self.last.as_ref().filter(|(last, _)| *last != thread) {
            at.receive(known);
        }
    }
}

#[derive(Default)]
struct ReadWrite {
    written: LockReleases,
    // Read-unlocks that a later writer of another thread has learned, and the others.
    learned: Clock,
    read: BTreeMap<ThreadId, Clock>,
}

impl HybridChannels {
    /// Processes an operation of the thread in this context that was not refused, with the channels on which it
    /// receives and sends.
    pub(in crate::detect) fn perform(
        &mut self,
        world: &World,
        (thread, op, value): (ThreadId, &Op, Value),
        passed: &EventChannels,
        at: &mut ContextClock,
    ) {
        match *op {
            Op::Acquire(_)
            | Op::Release(_)
            | Op::ReadLock(_)
            | Op::ReadUnlock(_)
            | Op::WriteLock(_)
            | Op::WriteUnlock(_) => return self.lock(thread, op, at),
            // The hybrid relation has the edges of barriers.
            Op::Arrive(_) | Op::Pass { .. } => return,
            Op::Wait { lock, .. } if world.in_wait(thread) => {
                self.release(lock, thread, at);
            }
            Op::Reacquire { lock, .. } => self.acquire(lock, thread, at),
            _ => {}
        }
        passed
            .receives
            .iter()
            .filter_map(|channel| self.channels.get(*channel as usize))
            .for_each(|sent| at.receive(sent));
        if matches!(op, Op::Await { .. } | Op::Resume(Suspension::Await { .. }))
            && passed.receives.is_empty()
            && value != 0
        {
            at.receive(&self.written);
        }
        self.send(&passed.sends, writes(world, op, value), at);
    }

    /// Processes the sends of an event in this context. If it `writes`, any await may come after it.
    pub(in crate::detect) fn send(&mut self, channels: &[u32], writes: bool, at: &mut ContextClock) {
        if channels.is_empty() && !writes {
            return;
        }
        let clock = at.send();
        if writes {
            self.written.join(&clock);
        }
        for channel in channels.iter().map(|channel| *channel as usize) {
            if self.channels.len() <= channel {
                self.channels.resize_with(channel + 1, Clock::default);
            }
            self.channels[channel].join(&clock);
        }
    }

    fn lock(&mut self, thread: ThreadId, op: &Op, at: &mut ContextClock) {
        match *op {
            Op::Acquire(lock) => self.acquire(lock, thread, at),
            Op::Release(lock) => self.release(lock, thread, at),
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
            Op::ReadUnlock(lock) => {
                let lock = self.rwlocks.entry(lock).or_default();
                lock.read.entry(thread).or_default().join(&at.send());
            }
            Op::WriteUnlock(lock) => {
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

    fn acquire(&mut self, lock: LockId, thread: ThreadId, at: &mut ContextClock) {
        if let Some(released) = self.locks.get(&lock) {
            released.acquire(thread, at);
        }
    }

    fn release(&mut self, lock: LockId, thread: ThreadId, at: &mut ContextClock) {
        self.locks.entry(lock).or_default().release(thread, at.send());
    }
}

// Whether an operation has written memory that the condition of an await may read.
fn writes(world: &World, op: &Op, value: Value) -> bool {
    let is_plain = matches!(op, Op::Write(..) | Op::ListWrite { .. } | Op::Free(_));
    is_plain || atomic(world, op, value).is_some_and(|(_, writes)| writes)
}
