//! Which choices are open. The set of enabled threads is kept, not recomputed: a thread is asked anew only when something that it stands at has changed.

use super::World;
use super::clock::due;
use super::setup::Prefer;
use super::sync::ThreadSet;
use super::threads::Status;
use crate::base::{Id, IdSet};
use crate::event::{Actor, EventId, LockId, Op, Target, ThreadId, WaitSet};

/// The actors that are open, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Openings {
    /// Enabled threads.
    pub threads: usize,
    /// Whether the clock may move.
    pub clock: bool,
    /// Events that may fire.
    pub events: usize,
    /// Whether the run may stop here, because it rests.
    pub stop: bool,
}

impl Openings {
    /// How many actors are open.
    #[must_use]
    pub fn total(&self) -> usize {
        self.threads + usize::from(self.clock) + self.events + usize::from(self.stop)
    }
}

/// What an actor's argument decides, and how many answers there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Which of this many waiters a notify wakes.
    Waiter(usize),
    /// Which way a `*` goes: 0 or 1.
    Branch,
    /// To which instant the clock moves; see [`World::instants`].
    Instant,
}

// What a pending operation may have to wait for.
enum Stand {
    Nothing,
    Lock(LockId),
    RwLock(crate::event::RwLockId),
    Semaphore(crate::event::SemaphoreId),
    Barrier(crate::event::BarrierId),
    Thread(ThreadId),
    Memory,
}

impl World {
    /// The thread that a post or removal reaches.
    #[must_use]
    pub fn thread_of(&self, target: Target) -> ThreadId {
        match target {
            Target::Thread(thread) => thread,
            Target::Handler(handler) => self.handlers[handler],
        }
    }

    fn stand_of(&self, op: &Op) -> Stand {
        match op {
            Op::Acquire(lock) | Op::Reacquire { lock, .. } => Stand::Lock(*lock),
            Op::ReadLock(lock) | Op::WriteLock(lock) => Stand::RwLock(*lock),
            Op::Down(semaphore) => Stand::Semaphore(*semaphore),
            Op::Pass { barrier, .. } => Stand::Barrier(*barrier),
            Op::Join(thread) => Stand::Thread(*thread),
            Op::Post { target, .. } => Stand::Thread(self.thread_of(*target)),
            Op::Await { .. } => Stand::Memory,
            _ => Stand::Nothing,
        }
    }

    fn standing_mut(&mut self, stand: &Stand) -> Option<&mut IdSet<ThreadId>> {
        match stand {
            Stand::Nothing => None,
            Stand::Lock(id) => Some(&mut self.locks[*id].standing.0),
            Stand::RwLock(id) => Some(&mut self.rwlocks[*id].standing.0),
            Stand::Semaphore(id) => Some(&mut self.semaphores[*id].standing.0),
            Stand::Barrier(id) => Some(&mut self.barriers[*id].standing.0),
            Stand::Thread(id) => Some(&mut self.threads[*id].standing.0),
            Stand::Memory => Some(&mut self.awaiting),
        }
    }

    /// The thread stands at its pending operation from now on.
    pub(super) fn stand(&mut self, thread: ThreadId) {
        let stand = self.stand_of(&self.threads[thread].pending);
        if let Some(set) = self.standing_mut(&stand) {
            set.set(thread, true);
        }
        self.timed.set(thread, self.threads[thread].deadline.is_some());
        self.refresh(thread);
        if let Stand::RwLock(id) = stand
            && self.rwlocks[id].prefer == Prefer::Readers
        {
            self.refresh_all(|w| &w.rwlocks[id].standing);
        }
        if !self.enabled.contains(thread) {
            self.check_cycle(thread);
        }
    }

    /// The thread is about to perform its pending operation, and stands nowhere.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        let stand = self.stand_of(&self.threads[thread].pending);
        if let Some(set) = self.standing_mut(&stand) {
            set.set(thread, false);
        }
        self.timed.set(thread, false);
        self.enabled.set(thread, false);
    }

    /// Asks one thread anew.
    #[inline]
    pub(super) fn refresh(&mut self, thread: ThreadId) {
        let enabled = self.is_enabled(thread);
        self.enabled.set(thread, enabled);
    }

    /// Asks all threads of a set anew.
    pub(super) fn refresh_all(&mut self, standing: impl Fn(&World) -> &ThreadSet) {
        if standing(self).0.is_empty() {
            return;
        }
        for thread in standing(self).0.clone().iter() {
            self.refresh(thread);
        }
    }

    pub(super) fn refresh_lock(&mut self, lock: LockId) {
        self.refresh_all(|w| &w.locks[lock].standing);
    }

    pub(super) fn refresh_standing_at_thread(&mut self, thread: ThreadId) {
        self.refresh_all(|w| &w.threads[thread].standing);
    }

    /// A looper's queue has changed.
    pub(super) fn refresh_looper(&mut self, looper: ThreadId) {
        if self.threads[looper].status == Status::Alive && matches!(self.threads[looper].pending, Op::Begin) {
            self.refresh(looper);
        }
    }

    /// The definition that the kept set must equal.
    pub(super) fn is_enabled(&self, thread: ThreadId) -> bool {
        let t = &self.threads[thread];
        if t.status != Status::Alive {
            return false;
        }
        match &t.pending {
            Op::Acquire(lock) => self.locks[*lock].free_for(thread),
            Op::Reacquire { lock, .. } => self.woken(thread) && self.locks[*lock].owner.is_none(),
            Op::ReadLock(id) => {
                let l = &self.rwlocks[*id];
                l.writer.is_none() && (l.prefer != Prefer::Writers || l.announced.is_empty())
            }
            Op::WriteLock(id) => {
                let l = &self.rwlocks[*id];
                let reader_stands = || l.standing.0.iter().any(|u| matches!(self.threads[u].pending, Op::ReadLock(_)));
                l.writer.is_none() && l.readers.is_empty() && !(l.prefer == Prefer::Readers && reader_stands())
            }
            Op::Down(id) => self.semaphores[*id].count > 0,
            Op::Pass { barrier, generation } => self.barriers[*barrier].generation != *generation,
            Op::Await { .. } => t.condition || due(t.deadline, self.now),
            Op::Join(other) => self.finished(*other),
            Op::Post { target, .. } => {
                let target = self.thread_of(*target);
                self.threads[target].queue.is_some() || self.finished(target)
            }
            // Without a queue, or inside a task, it throws.
            Op::Begin => t.in_task() || t.queue.as_ref().is_none_or(|q| q.quit || q.ready(self.now)),
            Op::Wake => t.interrupted || due(t.deadline, self.now),
            _ => true,
        }
    }

    /// The kept set is the defined one, in every state.
    #[cfg(debug_assertions)]
    pub(super) fn check_enabled(&self) {
        if self.outcome.is_none() {
            for thread in self.threads.ids() {
                let (kept, defined) = (self.enabled.contains(thread), self.is_enabled(thread));
                assert_eq!(kept, defined, "thread {} at {:?}", self.thread_name(thread), self.threads[thread].pending);
            }
        }
    }

    /// Whether a waiting thread may leave its wait, were the lock free.
    pub(super) fn woken(&self, thread: ThreadId) -> bool {
        let t = &self.threads[thread];
        t.notified || t.interrupted || due(t.deadline, self.now)
    }

    /// The enabled threads.
    #[inline]
    #[must_use]
    pub fn enabled(&self) -> &IdSet<ThreadId> {
        &self.enabled
    }

    /// The events that may fire.
    #[inline]
    #[must_use]
    pub fn fireable(&self) -> &IdSet<EventId> {
        &self.fireable
    }

    /// Threads at an `await`.
    pub(super) fn awaiting(&self) -> &IdSet<ThreadId> {
        &self.awaiting
    }

    /// The open actors, counted.
    #[must_use]
    pub fn openings(&self) -> Openings {
        Openings {
            threads: self.enabled.len(),
            clock: self.clock_open(),
            events: self.fireable.len(),
            stop: self.rests(),
        }
    }

    /// The `k`-th open actor: threads in order of creation, the clock, events, stop.
    #[must_use]
    pub fn open_actor(&self, openings: &Openings, k: usize) -> Actor {
        if let Some(thread) = self.enabled.nth(k) {
            return Actor::Thread(thread);
        }
        let k = k - openings.threads;
        if openings.clock && k == 0 {
            return Actor::Clock;
        }
        let k = k - usize::from(openings.clock);
        self.fireable.nth(k).map_or(Actor::Stop, Actor::Event)
    }

    /// Whether the actor is open.
    #[must_use]
    pub fn is_open(&self, actor: Actor) -> bool {
        match actor {
            Actor::Thread(thread) => thread.index() < self.threads.len() && self.enabled.contains(thread),
            Actor::Event(event) => self.fireable.contains(event),
            Actor::Clock => self.clock_open(),
            Actor::Stop => self.rests(),
        }
    }

    /// What the actor's argument decides; `None` if it has none.
    #[must_use]
    pub fn question(&self, actor: Actor) -> Option<Question> {
        match actor {
            Actor::Clock => Some(Question::Instant),
            Actor::Thread(thread) => match &self.threads[thread].pending {
                Op::Branch => Some(Question::Branch),
                Op::Notify { on, all: false } => {
                    let waiters = self.waiters(*on).len();
                    (waiters > 1).then_some(Question::Waiter(waiters))
                }
                _ => None,
            },
            Actor::Event(_) | Actor::Stop => None,
        }
    }

    /// The threads that wait, in the order in which they began.
    #[must_use]
    pub fn waiters(&self, on: WaitSet) -> &[ThreadId] {
        match on {
            WaitSet::Lock(lock) => &self.locks[lock].waiters,
            WaitSet::Condition(condition) => &self.conditions[condition],
        }
    }
}
