//! What a thread may still do to the things that threads share, without the state in which it will do it.
//!
//! The relation [`independent`](super::independent) is about two operations that are both open in one state. A search
//! that leaves orders out also has to know what an open operation of one thread has to do with those that other
//! threads perform later, after any steps between. An [`Act`] is what is known of such an operation: the thing, and in
//! which [`Manner`] it is touched. The acts of an operation come from the table of [`effects`](super::effects).

use super::effects::{How, Thing, ThingEffect};
use super::setup::Prefer;
use super::{LockHold, World};
use crate::base::Id;
use crate::base::mutant::{self, Mutant};
use crate::event::{AccessPlace, LockId, Op, PostTime, RwLockId, ThreadId, WaitSet};

/// A part of what an operation does to others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Act {
    /// It touches a declared thing.
    Touches(Thing, Manner),
    /// It reads the clock, moves it, or begins or ends a deadline.
    Clock,
    /// It writes what a property reads that must hold in every state.
    Watched,
    /// It leaves its thread at a lock that may close a ring with other locks of this group.
    Ring(u32),
    /// It may do anything.
    Anything,
}

/// How an operation touches a thing, as far as it matters to operations of other threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Manner {
    /// Reads memory.
    Read,
    /// Writes memory, or reads and writes it.
    Write,
    /// Takes what can be taken once: a lock, the write side of a lock, a permit. Announces a writer.
    Take,
    /// Takes what several threads can have: the read side of a lock, the news that a thread has ended.
    Share,
    /// Gives back what it has, or gives what others wait for.
    Give,
    /// Posts a message behind all that is due.
    Post,
    /// Begins a message that others cannot hold back.
    Begin,
    /// Does something else to the thing.
    Other,
    /// Does something that meets other operations at other things as well: at wait sets, and by interrupts.
    Tangled,
}

impl Act {
    /// Returns whether two operations of different threads commute as far as these two acts go: one that is open now,
    /// and one that the other thread may perform later.
    #[must_use]
    pub fn commutes(self, later: Act) -> bool {
        let is_memory = |act: Act| matches!(act, Act::Touches(_, Manner::Read | Manner::Write));
        match (self, later) {
            (Act::Anything, _) | (_, Act::Anything) => false,
            (Act::Clock, Act::Clock) | (Act::Watched, Act::Watched) => false,
            // A timed wait that ends needs its lock again, and so may close a ring.
            (Act::Clock, Act::Ring(_)) | (Act::Ring(_), Act::Clock) => false,
            (Act::Ring(a), Act::Ring(b)) => a != b,
            (Act::Touches(_, Manner::Tangled), other) | (other, Act::Touches(_, Manner::Tangled)) => {
                is_memory(other) || matches!(other, Act::Clock | Act::Watched)
            }
            (Act::Touches(a, how), Act::Touches(b, later)) => a != b || how.commutes(later),
            (Act::Touches(..), _) | (_, Act::Touches(..)) => true,
            (Act::Watched, _) | (_, Act::Watched) => true,
        }
    }

    /// Returns whether an operation that is blocked because of this act may be opened by an operation with the other
    /// act.
    #[must_use]
    pub fn is_opened_by(self, other: Act) -> bool {
        match (self, other) {
            (Act::Anything, _) | (_, Act::Anything) | (Act::Clock, Act::Clock) => true,
            (Act::Touches(_, Manner::Tangled), Act::Touches(_, how)) => !matches!(how, Manner::Read | Manner::Write),
            (Act::Touches(a, _), Act::Touches(b, how)) => a == b && how.opens(),
            _ => false,
        }
    }
}

impl Manner {
    // Returns whether two operations on one thing commute. The relation is symmetric.
    fn commutes(self, later: Manner) -> bool {
        use Manner::{Begin, Give, Post, Read, Share, Take};
        match (self, later) {
            (Read, Read) | (Share, Share) | (Give, Give) => true,
            // A thread gives what it has while no other one can take it, or both orders are possible.
            (Give, Take | Share) | (Take | Share, Give) => true,
            (Post, Begin) | (Begin, Post) => true,
            (Post, Post) => mutant::is(Mutant::LaterPostsCommute),
            _ => false,
        }
    }

    fn opens(self) -> bool {
        match self {
            Manner::Write | Manner::Give | Manner::Post | Manner::Other | Manner::Tangled => true,
            Manner::Read | Manner::Take | Manner::Share | Manner::Begin => false,
        }
    }
}

impl World {
    /// Adds the acts of an operation of a thread to `acts`. The condition of an await and what follows the operation
    /// up to the next one are matters of the guest. `reads_clock`: whether deadlines exist in any run. `watched`:
    /// whether a property reads a cell in every state.
    pub fn acts(
        &self,
        thread: ThreadId,
        op: &Op,
        reads_clock: bool,
        watched: impl Fn(u32) -> bool,
        acts: &mut Vec<Act>,
    ) {
        let effects = self.effects(thread, op);
        for touch in effects.touches() {
            let act = self.act_of(op, touch);
            acts.push(act);
            if let Act::Touches(Thing::Memory(AccessPlace::Cell(at)), Manner::Write) = act
                && watched(at.cell)
            {
                acts.push(Act::Watched);
            }
        }
        // A notify and an interrupt end deadlines.
        let ends_deadline = matches!(op, Op::Notify { .. } | Op::Interrupt(_));
        if (effects.uses_clock || ends_deadline) && reads_clock {
            acts.push(Act::Clock);
        }
    }

    fn act_of(&self, op: &Op, (thing, how): ThingEffect) -> Act {
        let manner = match (thing, how) {
            (Thing::Memory(AccessPlace::Cell(at)) | Thing::Atomic(at), how) if at.object.is_none() => {
                let manner = if how == How::Read { Manner::Read } else { Manner::Write };
                // An atomic can be accessed plainly, so both are one thing.
                return Act::Touches(Thing::Memory(AccessPlace::Cell(at)), manner);
            }
            (Thing::Lock(lock), how) if self.is_declared(lock) => match how {
                How::Acquire => Manner::Take,
                How::Release => Manner::Give,
                How::ReleaseForWait if mutant::is(Mutant::WaitIsRelease) => Manner::Read,
                _ => Manner::Other,
            },
            (Thing::RwLock(lock), how) if self.rwlocks[lock].prefer != Prefer::Readers => match how {
                How::AcquireRead => Manner::Share,
                How::AcquireWrite | How::Announce => Manner::Take,
                How::ReleaseRead | How::ReleaseWrite => Manner::Give,
                _ => Manner::Other,
            },
            (Thing::Semaphore(_), How::Down) if !matches!(op, Op::DownFor { .. }) => Manner::Take,
            (Thing::Semaphore(_), How::Up) => Manner::Give,
            (Thing::Queue(_), _) if !self.setup.pools.is_empty() => return Act::Anything,
            (Thing::Queue(_), How::Post(..)) => match op {
                Op::Post { time: PostTime::Now | PostTime::After(_), .. } => Manner::Post,
                _ => Manner::Other,
            },
            (Thing::Queue(_), How::PostWith(..) | How::CancelWith(..)) => return Act::Anything,
            (Thing::Queue(_), How::Begin) => Manner::Begin,
            (Thing::End(_), How::Join) => Manner::Share,
            (Thing::WaitSet(_) | Thing::Interrupts(_), How::Wait) if mutant::is(Mutant::WaitIsRelease) => Manner::Read,
            (Thing::WaitSet(WaitSet::Lock(lock)), _) if self.is_declared(lock) => Manner::Tangled,
            (Thing::WaitSet(WaitSet::Condition(_)), _) | (Thing::Interrupts(_), How::Interrupt) => Manner::Tangled,
            (
                Thing::RwLock(_)
                | Thing::Semaphore(_)
                | Thing::Queue(_)
                | Thing::Barrier(_)
                | Thing::Group(_)
                | Thing::Event(_)
                | Thing::Listener(_)
                | Thing::Interrupts(_),
                _,
            ) => Manner::Other,
            _ => return Act::Anything,
        };
        Act::Touches(thing, manner)
    }

    // Whether this is a lock of the program, and not the monitor of an object.
    fn is_declared(&self, lock: LockId) -> bool {
        lock.index() < self.setup.locks.len()
    }

    /// Returns the owner of a lock.
    #[must_use]
    pub fn owner(&self, lock: LockId) -> Option<ThreadId> {
        self.locks[lock].owner
    }

    /// Returns the declared locks that a thread holds, and the sides of reader-writer locks.
    pub fn declared_holds(&self, thread: ThreadId) -> impl Iterator<Item = LockHold> + '_ {
        let locks = (0..self.setup.locks.len()).map(LockId::new);
        let owned = locks.filter(move |lock| self.locks[*lock].owner == Some(thread)).map(LockHold::Lock);
        let sides = self.rwlocks.ids().flat_map(move |id: RwLockId| {
            let lock = &self.rwlocks[id];
            let writes = (lock.writer == Some(thread)).then_some(LockHold::Write(id));
            let reads = lock.readers.contains(&thread).then_some(LockHold::Read(id));
            writes.into_iter().chain(reads)
        });
        let given_up = mutant::is(Mutant::GuardsOfWaiters).then(|| match self.threads[thread].pending {
            Op::Reacquire { lock, .. } if self.is_declared(lock) => Some(LockHold::Lock(lock)),
            _ => None,
        });
        owned.chain(sides).chain(given_up.flatten())
    }

    /// Returns whether a run may be at rest in a state in which actors other than the clock are still open, by daemons
    /// or events.
    #[must_use]
    pub fn may_rest_with_open_actors(&self) -> bool {
        !self.daemons.is_empty() || self.horizon == u64::MAX || !self.setup.events.is_empty()
    }

    /// Returns whether a looper is about to begin a message, and no post behind all that is due changes which one.
    #[must_use]
    pub fn begins_surely(&self, thread: ThreadId) -> bool {
        let of = self.queue(thread);
        of.is_some_and(|q| !q.has_quit() && q.next_task().is_some() && q.idle_handlers().next().is_none())
            && self.enabled.contains(thread)
            && !self.thread(thread).in_task()
    }
}
