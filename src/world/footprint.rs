//! What a step of a thread meets: the slot whose content, together with where the thread stands, decides whether the
//! step can be performed and what it leaves. A search that knows one such step knows it in every state that has the
//! same two contents.
//!
//! What an operation touches is the knowledge of [`effects`](super::effects). An operation on a thing that has no slot
//! of its own, or on several ones, is performed in every state. That is right for every operation.

use super::effects::{How, Thing, ThingEffect};
use super::independent::stands_quietly;
use super::setup::Prefer;
use super::slots::{Slot, Slots};
use super::threads::ThreadStage;
use super::{Machine, Snapshot, World};
use crate::base::Id;
use crate::base::mutant::{self, Mutant};
use crate::event::{AccessPlace, Op, Outcome, PostTime, ThreadId, WaitSet};

/// What the next step of a thread meets apart from the thread itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meets {
    /// The thread has ended.
    Ended,
    /// The step depends on the thread alone, and changes nothing else.
    Nothing,
    /// The step depends on the thread and this slot, and changes nothing else.
    Slot(u32),
    /// The step may depend on more, or change more.
    Unknown,
}

/// Whether a thread keeps the run going.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// It does not.
    Never,
    /// It does.
    Always,
    /// It does unless its queue, which is in this slot, is idle ([`Facts::is_idle`]).
    UnlessIdle(u32),
}

/// What the content of a slot says about the states that have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Of a thread: what its next step meets.
    pub meets: Meets,
    /// Of a thread: whether it keeps the run going.
    pub keeps: Keeps,
    /// Of a thread: number of answers to the question of its step, if what it meets is known.
    pub answers: u32,
    /// Of a thread: whether its next step begins a task.
    pub begins: bool,
    /// Of a thread: whether a step that leads here and changes nothing else is quiet (`is_quiet`).
    pub is_quiet: bool,
    /// Of a thread: slot of the lock without which it does not go on, and whether that lock is reentrant.
    pub wants: Option<(u32, bool)>,
    /// Of a lock, or an object with its monitor: the thread that holds it.
    pub owner: Option<ThreadId>,
    /// Of a queue: whether it has nothing to begin, now or later, and accepts messages.
    pub is_idle: bool,
    /// Of a thread or queue: units of the clock from now to its last deadline; 0 if it has none after now.
    pub last: u64,
    /// Of the environment: whether some event may fire.
    pub may_fire: bool,
}

impl Facts {
    const NONE: Self = Self {
        meets: Meets::Unknown,
        keeps: Keeps::Never,
        answers: 1,
        begins: false,
        is_quiet: false,
        wants: None,
        owner: None,
        is_idle: false,
        last: 0,
        may_fire: false,
    };
}

impl Facts {
    /// Returns an upper bound of the number of answers to the question of a thread's step.
    #[must_use]
    pub fn most_answers(&self, slots: &Slots) -> u64 {
        match self.meets {
            Meets::Ended => 0,
            // A notify may wake any other thread.
            Meets::Unknown => slots.threads.max(2) as u64,
            Meets::Nothing | Meets::Slot(_) => u64::from(self.answers),
        }
    }
}

impl World {
    /// Returns what the next step of a declared thread meets. `watched`: whether a property is checked after each
    /// change of a cell.
    #[must_use]
    pub fn meets(&self, slots: &Slots, thread: ThreadId, watched: impl Fn(u32) -> bool) -> Meets {
        if self.threads[thread].status != ThreadStage::Alive {
            return Meets::Ended;
        }
        let op = &self.threads[thread].pending;
        if matches!(op, Op::ListRead { .. } | Op::ListWrite { .. } | Op::Post { time: PostTime::At(_), .. } | Op::Now) {
            return Meets::Unknown;
        }
        let mut all = Meets::Nothing;
        for touch in self.effects(thread, op).touches() {
            all = match (all, self.met(slots, thread, touch, &watched)) {
                (Meets::Nothing, met) | (met, Meets::Nothing) => met,
                (Meets::Slot(one), Meets::Slot(other)) if one == other => all,
                _ => Meets::Unknown,
            };
        }
        all
    }

    // What an operation meets at one of the things that it touches. The match has a default, which is right for every
    // operation.
    fn met(&self, slots: &Slots, thread: ThreadId, (thing, how): ThingEffect, watched: &impl Fn(u32) -> bool) -> Meets {
        let (slot, mutant) = match (thing, how) {
            (Thing::Memory(AccessPlace::Cell(at)) | Thing::Atomic(at), How::Write) if watched(at.cell) => {
                return Meets::Unknown;
            }
            (Thing::Memory(AccessPlace::Cell(at)) | Thing::Atomic(at), How::Read | How::Write) => {
                (slots.of_location(self, at), Mutant::FootprintWithoutCell)
            }
            (Thing::Memory(AccessPlace::Life(object)), How::Read) => {
                (slots.of_object(object), Mutant::FootprintWithoutCell)
            }
            (
                Thing::Lock(lock),
                How::Acquire | How::Release | How::Try | How::ReleaseForWait | How::AcquireAfterWait,
            )
            | (Thing::WaitSet(WaitSet::Lock(lock)), How::Wait | How::EndWait) => {
                (slots.of_lock(self, lock), Mutant::FootprintWithoutLock)
            }
            // The threads that are pending at a lock that prefers readers matter to its writers.
            (
                Thing::RwLock(lock),
                How::AcquireRead | How::AcquireWrite | How::Announce | How::ReleaseRead | How::ReleaseWrite | How::Try,
            ) if self.rwlocks[lock].prefer != Prefer::Readers => {
                (slots.of_rwlock(lock), Mutant::FootprintWithoutRwLock)
            }
            (Thing::Semaphore(semaphore), How::Down | How::Up) => {
                (slots.of_semaphore(semaphore), Mutant::FootprintWithoutSemaphore)
            }
            (
                Thing::Queue(looper),
                How::Post(..) | How::PostWith(..) | How::Cancel(..) | How::CancelWith(..) | How::Begin | How::Quit,
            ) => match slots.of_queue(looper) {
                Some(slot) => (slot, Mutant::FootprintWithoutQueue),
                None => return Meets::Unknown,
            },
            (Thing::End(other), How::Join) | (Thing::Interrupts(other), How::Look) if other != thread => {
                if other.index() >= slots.threads {
                    return Meets::Unknown;
                }
                (other.0, Mutant::FootprintWithoutThread)
            }
            // A token never changes. The thread knows its own interrupts, and whether its barrier was passed.
            (Thing::Token(_), How::PostToken(_) | How::CancelToken(_))
            | (Thing::Interrupts(_), How::Wait | How::Sleep | How::EndSleep)
            | (Thing::Barrier(_), How::Pass) => return Meets::Nothing,
            _ => return Meets::Unknown,
        };
        if mutant::is(mutant) { Meets::Nothing } else { Meets::Slot(slot) }
    }

    // The lock without which a thread does not go on, whether or not another thread holds it now.
    fn wants(&self, slots: &Slots, thread: ThreadId) -> Option<(u32, bool)> {
        let lock = match self.threads[thread].pending {
            Op::Acquire(lock) => lock,
            Op::Reacquire { lock, .. } if self.woken(thread) => lock,
            _ => return None,
        };
        // A thread that returns from a wait needs the lock to be free.
        let reentrant = self.locks[lock].reentrant && matches!(self.threads[thread].pending, Op::Acquire(_));
        Some((slots.of_lock(self, lock), reentrant))
    }

    fn keeps(&self, slots: &Slots, thread: ThreadId) -> Keeps {
        let t = &self.threads[thread];
        if t.daemon || t.status != ThreadStage::Alive {
            return Keeps::Never;
        }
        let between = matches!(t.pending, Op::Begin) && !t.in_task();
        slots.of_queue(thread).filter(|_| between).map_or(Keeps::Always, Keeps::UnlessIdle)
    }
}

impl World {
    /// Takes back the end of the run by a ring of locks. A search that asks what a step leaves in all states with the
    /// same contents looks for rings by itself.
    pub fn forget_ring(&mut self) {
        if matches!(self.outcome, Some(Outcome::Deadlock(_))) {
            self.outcome = None;
        }
    }
}

impl<G: Snapshot> Machine<G> {
    /// Returns what the content of a slot says about the states that have it.
    #[must_use]
    pub fn facts(&self, slots: &Slots, slot: usize) -> Facts {
        let world = &self.world;
        match slots.slot(slot) {
            Slot::Thread(thread) => {
                let alive = world.threads[thread].status == ThreadStage::Alive;
                let op = &world.threads[thread].pending;
                Facts {
                    meets: world.meets(slots, thread, |cell| self.guest.watches_cell(cell)),
                    keeps: world.keeps(slots, thread),
                    answers: match op {
                        Op::Branch => 2,
                        Op::Choose { values, .. } => *values,
                        _ => 1,
                    },
                    begins: matches!(op, Op::Begin),
                    is_quiet: stands_quietly(world, thread),
                    wants: world.wants(slots, thread).filter(|_| alive),
                    last: world.threads[thread].deadline.filter(|_| alive).map_or(0, |at| at.saturating_sub(world.now)),
                    ..Facts::NONE
                }
            }
            Slot::Queue(looper) => {
                let queue = world.threads[looper].queue.as_ref();
                Facts {
                    is_idle: queue.is_some_and(|q| !q.quit && !q.has_work(world.now)),
                    last: queue.and_then(|q| q.after(world.now).last()).map_or(0, |at| at - world.now),
                    ..Facts::NONE
                }
            }
            Slot::Lock(lock) => Facts { owner: world.locks[lock].owner, ..Facts::NONE },
            Slot::Object(object) => {
                Facts { owner: world.locks[world.memory.objects[object].lock].owner, ..Facts::NONE }
            }
            Slot::Environment => Facts { may_fire: !world.fireable.is_empty(), ..Facts::NONE },
            _ => Facts::NONE,
        }
    }

    /// Returns whether a step of a thread that has met only a known slot has changed nothing else: the thread is
    /// pending at its next operation, and all that exists fits into the slots.
    #[must_use]
    pub fn kept_to_footprint(&self, thread: ThreadId) -> bool {
        self.world.outcome.is_none() && self.world.threads[thread].status == ThreadStage::Alive
    }
}
