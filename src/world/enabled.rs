//! Decides which choices are open.
//!
//! The set of enabled threads is maintained, not recomputed: a thread is evaluated again only when something changes
//! that its pending operation may wait for. `World::is_enabled` is the definition, and debug builds compare it with the
//! set after each step.

use super::World;
use super::clock::due;
use super::pending::PendingAt;
use super::setup::Prefer;
use super::sync::ThreadSet;
use super::threads::ThreadStage;
use crate::base::{Id, IdSet};
use crate::event::{Acquisition, Actor, EventId, LockId, Op, PostTime, RwLockId, SemaphoreId, Target, ThreadId};

/// Number of open actors of each kind. It is created at every step, so it is one word: the threads in the low half, the
/// events and two flags in the high half.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Openings(u64);

const CLOCK: u64 = 1 << 62;
const STOP: u64 = 1 << 63;

impl Openings {
    /// Returns the number of enabled threads.
    #[inline]
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0 as u32 as usize
    }

    /// Returns the number of events that may fire.
    #[inline]
    #[must_use]
    pub fn events(&self) -> usize {
        (self.0 >> 32 & 0x3fff_ffff) as usize
    }

    /// Returns whether the clock may move.
    #[inline]
    #[must_use]
    pub fn clock(&self) -> bool {
        self.0 & CLOCK != 0
    }

    /// Returns whether the run may stop here, because it is at rest.
    #[inline]
    #[must_use]
    pub fn stop(&self) -> bool {
        self.0 & STOP != 0
    }

    /// Returns whether no actor other than threads is open.
    #[inline]
    #[must_use]
    pub fn threads_only(&self) -> bool {
        self.0 >> 32 == 0
    }

    /// Returns the number of open actors.
    #[inline]
    #[must_use]
    pub fn total(&self) -> usize {
        if self.0 >> 32 == 0 {
            return self.threads();
        }
        self.threads() + self.events() + usize::from(self.clock()) + usize::from(self.stop())
    }
}

impl std::fmt::Debug for Openings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (clock, stop) = (self.clock(), self.stop());
        write!(f, "{} threads, {} events, clock {clock}, stop {stop}", self.threads(), self.events())
    }
}

impl World {
    /// Returns the thread whose queue a post or a removal reaches.
    #[must_use]
    pub fn thread_of(&self, target: Target) -> ThreadId {
        match target {
            Target::Thread(thread) => self.queue_owner(thread),
            Target::Handler(handler) => self.queue_owner(self.handlers[handler]),
        }
    }

    /// Implements [`settle`](Self::settle) for an operation that may block: adds the thread to the set of its thing,
    /// and decides whether it is enabled.
    pub(super) fn mark_pending(&mut self, thread: ThreadId) {
        match self.threads[thread].pending {
            Op::Acquire(lock) => return self.mark_pending_at_lock(thread, lock),
            Op::Begin => return self.worker_rests(thread),
            Op::Post { target, .. } => {
                let looper = self.thread_of(target);
                // A thread with a queue keeps it, so the post can no longer become blocked.
                if self.threads[looper].queue.is_some() {
                    return self.enabled.set(thread, true);
                }
            }
            _ => {}
        }
        let object = self.pending_at(thread, &self.threads[thread].pending);
        if let Some(set) = self.pending_set_mut(&object) {
            set.set(thread, true);
        }
        self.timed.set(thread, self.threads[thread].deadline.is_some());
        self.refresh(thread);
        // A pending reader blocks the writers of a lock that prefers readers.
        if let PendingAt::RwLock(id) = object
            && self.rwlocks[id].prefer == Prefer::Readers
        {
            self.refresh_all(|w| &w.rwlocks[id].pending_set);
        }
        if !self.enabled.contains(thread) {
            self.check_cycle(thread);
        }
    }

    /// Implements [`settle`](Self::settle) for the acquisition of a lock.
    #[inline(always)]
    pub(crate) fn mark_pending_at_lock(&mut self, thread: ThreadId, lock: LockId) {
        let l = &mut self.locks[lock];
        l.pending_set.0.set(thread, true);
        let free = l.free_for(thread);
        self.enabled.set(thread, free);
        if !free {
            self.check_cycle(thread);
        }
    }

    /// Removes the thread from the set of its pending operation, which may block and is performed now.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        let object = self.pending_at(thread, &self.threads[thread].pending);
        if let Some(set) = self.pending_set_mut(&object) {
            set.set(thread, false);
        }
        self.timed.set(thread, false);
    }

    /// Releases all locks of the thread, and withdraws its announcements as a writer.
    pub(super) fn give_up_locks(&mut self, thread: ThreadId) {
        for lock in self.locks.ids() {
            if self.locks[lock].owner == Some(thread) {
                (self.locks[lock].owner, self.locks[lock].depth) = (None, 0);
                self.lock_is_free(lock);
            }
        }
        for id in self.rwlocks.ids() {
            let l = &mut self.rwlocks[id];
            if l.writer == Some(thread) {
                l.writer = None;
            }
            l.readers.retain(|reader| *reader != thread);
            l.announced.retain(|writer| *writer != thread);
            self.refresh_all(|w| &w.rwlocks[id].pending_set);
        }
    }

    /// Adds permits to a semaphore. No run does this: a campaign does it to ask what would happen if a thread returned
    /// its permits.
    pub(crate) fn give_back(&mut self, semaphore: SemaphoreId, units: u64) {
        let count = &mut self.semaphores[semaphore].count;
        *count = count.saturating_add_unsigned(units);
        self.refresh_all(|w| &w.semaphores[semaphore].pending_set);
    }

    /// Decides again whether one thread is enabled. A waiter that has been woken joins the set of its lock.
    #[inline]
    pub(super) fn refresh(&mut self, thread: ThreadId) {
        match self.threads[thread].pending {
            Op::Reacquire { lock, .. } => {
                let woken = self.woken(thread);
                self.locks[lock].pending_set.0.set(thread, woken);
            }
            // After its deadline the thread no longer needs the lock.
            Op::AcquireFor { of: Acquisition::Lock(lock), .. } => {
                let waits = !due(self.threads[thread].deadline, self.now);
                self.locks[lock].pending_set.0.set(thread, waits);
            }
            _ => {}
        }
        let enabled = self.is_enabled(thread);
        self.enabled.set(thread, enabled);
    }

    /// Decides again whether the threads of a set are enabled.
    pub(super) fn refresh_all(&mut self, pending_set: impl Fn(&World) -> &ThreadSet) {
        if pending_set(self).0.is_empty() {
            return;
        }
        for thread in pending_set(self).0.clone().iter() {
            self.refresh(thread);
        }
    }

    /// Enables all threads that only this lock has blocked, because it has been released.
    #[inline]
    pub(super) fn lock_is_free(&mut self, lock: LockId) {
        self.enabled.add_all(&self.locks[lock].pending_set.0);
    }

    /// Disables all threads that need this lock, because another thread has acquired it. The new owner is not in the
    /// set any more.
    #[inline]
    pub(super) fn lock_is_taken(&mut self, lock: LockId) {
        self.enabled.remove_all(&self.locks[lock].pending_set.0);
    }

    pub(super) fn refresh_pending_at_thread(&mut self, thread: ThreadId) {
        self.refresh_all(|w| &w.threads[thread].pending_set);
    }

    /// Decides again whether the looper is enabled, because its queue has changed.
    pub(super) fn refresh_looper(&mut self, looper: ThreadId) {
        self.refresh_workers_of(looper);
    }

    /// Returns whether a thread is enabled, by definition. The maintained set must agree in every state.
    pub(super) fn is_enabled(&self, thread: ThreadId) -> bool {
        let t = &self.threads[thread];
        if t.status != ThreadStage::Alive {
            return false;
        }
        match &t.pending {
            Op::Acquire(lock) => self.locks[*lock].free_for(thread),
            Op::Reacquire { lock, .. } => self.woken(thread) && self.locks[*lock].owner.is_none(),
            Op::ReadLock(id) => self.can_read(*id),
            Op::WriteLock(id) => self.can_write(*id),
            Op::AcquireFor { of, .. } => due(t.deadline, self.now) || self.can_acquire(thread, *of),
            Op::GroupPass { group, generation } => self.groups[*group].generation != *generation,
            Op::Down(id) => self.semaphores[*id].count > 0,
            Op::DownFor { semaphore, .. } => self.semaphores[*semaphore].count > 0 || due(t.deadline, self.now),
            Op::Pass { barrier, generation } => self.barriers[*barrier].generation != *generation,
            Op::Await { .. } => t.condition || due(t.deadline, self.now),
            Op::Join(other) => self.finished(*other),
            Op::Post { time: PostTime::Micro, .. } => true,
            Op::Post { target, .. } => {
                let target = self.thread_of(*target);
                self.threads[target].queue.is_some() || self.finished(target)
            }
            // A begin without a queue, or inside a task, does not block: it throws.
            Op::Begin => {
                let ready = || self.queue(thread).is_none_or(|q| q.quit || q.ready(self.now));
                t.in_task() || ready() && self.is_next_worker(thread)
            }
            Op::Wake => t.interrupted || due(t.deadline, self.now),
            op @ (Op::Send { .. }
            | Op::Sent { .. }
            | Op::Receive { .. }
            | Op::Received { .. }
            | Op::Select { .. }
            | Op::Selected { .. }) => self.channel_enabled(thread, op),
            _ => true,
        }
    }

    fn can_read(&self, id: RwLockId) -> bool {
        let l = &self.rwlocks[id];
        l.writer.is_none() && (l.prefer != Prefer::Writers || l.announced.is_empty())
    }

    fn can_write(&self, id: RwLockId) -> bool {
        let l = &self.rwlocks[id];
        let reads = |op: &Op| matches!(op, Op::ReadLock(_) | Op::AcquireFor { of: Acquisition::Read(_), .. });
        let reader_is_pending = || l.pending_set.0.iter().any(|u| reads(&self.threads[u].pending));
        l.writer.is_none() && l.readers.is_empty() && !(l.prefer == Prefer::Readers && reader_is_pending())
    }

    /// Returns whether a thread can acquire a lock, or one side of a reader-writer lock, now.
    pub(super) fn can_acquire(&self, thread: ThreadId, of: Acquisition) -> bool {
        match of {
            Acquisition::Lock(lock) => self.locks[lock].free_for(thread),
            Acquisition::Read(lock) => self.can_read(lock),
            Acquisition::Write(lock) => self.can_write(lock),
        }
    }

    /// Panics if the maintained set of enabled threads does not agree with the definition.
    #[cfg(debug_assertions)]
    pub(super) fn check_enabled(&self) {
        if self.outcome.is_none() {
            for thread in self.threads.ids() {
                let (kept, defined) = (self.enabled.contains(thread), self.is_enabled(thread));
                assert_eq!(kept, defined, "thread {} at {:?}", self.thread_name(thread), self.threads[thread].pending);
            }
        }
    }

    /// Returns whether a waiting thread may return from its wait as soon as the lock is free.
    pub(super) fn woken(&self, thread: ThreadId) -> bool {
        let t = &self.threads[thread];
        t.notified || t.interrupted || due(t.deadline, self.now)
    }

    /// Returns the enabled threads.
    #[inline]
    #[must_use]
    pub fn enabled(&self) -> &IdSet<ThreadId> {
        &self.enabled
    }

    /// Returns the events that may fire.
    #[inline]
    #[must_use]
    pub fn fireable(&self) -> &IdSet<EventId> {
        &self.fireable
    }

    /// Returns the threads that are pending at an `await`.
    pub(super) fn awaiting(&self) -> &IdSet<ThreadId> {
        &self.awaiting
    }

    /// Returns the number of open actors of each kind.
    #[inline]
    #[must_use]
    pub fn openings(&self) -> Openings {
        let threads = self.enabled.len();
        // Fast path: in most states only threads are open.
        if self.horizon <= self.now && self.fireable.is_empty() && self.daemons.is_empty() && threads > 0 {
            return Openings(threads as u64);
        }
        self.all_openings()
    }

    #[inline(never)]
    fn all_openings(&self) -> Openings {
        let mut all = self.enabled.len() as u64 | (self.fireable.len() as u64) << 32;
        if self.clock_open() {
            all |= CLOCK;
        }
        if self.rests() {
            all |= STOP;
        }
        Openings(all)
    }

    /// Returns the `k`-th open actor, from 0: threads in order of creation, then the clock, the events, and the stop.
    #[inline(always)]
    #[must_use]
    pub fn open_actor(&self, openings: &Openings, k: usize) -> Actor {
        match self.enabled.nth(k) {
            Some(thread) => Actor::Thread(thread),
            None => self.open_event(openings, k - openings.threads()),
        }
    }

    /// Returns all open actors in the order of [`open_actor`](Self::open_actor). It is faster than asking for each one.
    pub(crate) fn open_actors(&self, openings: Openings) -> impl Iterator<Item = Actor> + '_ {
        let threads = self.enabled.iter().map(Actor::Thread);
        let clock = openings.clock().then_some(Actor::Clock);
        let stop = openings.stop().then_some(Actor::Stop);
        threads.chain(clock).chain(self.fireable.iter().map(Actor::Event)).chain(stop)
    }

    #[inline(never)]
    fn open_event(&self, openings: &Openings, k: usize) -> Actor {
        if openings.clock() && k == 0 {
            return Actor::Clock;
        }
        self.fireable.nth(k - usize::from(openings.clock())).map_or(Actor::Stop, Actor::Event)
    }

    /// Returns whether the actor is open.
    #[must_use]
    pub fn is_open(&self, actor: Actor) -> bool {
        match actor {
            Actor::Thread(thread) => thread.index() < self.threads.len() && self.enabled.contains(thread),
            Actor::Event(event) => self.fireable.contains(event),
            Actor::Clock => self.clock_open(),
            Actor::Stop => self.rests(),
        }
    }
}
