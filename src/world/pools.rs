//! Pools: workers that take tasks from one queue.
//!
//! The workers of a pool are declared threads, and the first one has the queue. A worker without a task may begin the
//! next message of that queue, so tasks begin in the order of the queue and run beside each other.
//!
//! Workers are alike unless the program can tell one from another: with the value of `self`, or by the locks that a
//! worker still holds after its task. Of alike workers only the one that has had no task for the longest time may
//! begin the next message. That is sound, because any other choice gives the same run with the names of two workers
//! exchanged. With this rule the step that ends a task never changes which idle worker may begin, so that the two
//! steps commute. The canonical state numbers alike workers by what they do, and not by their names.

use super::World;
use super::threads::ThreadStage;
use crate::base::Id;
use crate::event::{Op, Target, ThreadId};

/// Declaration of a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolSetup {
    /// Name of the pool.
    pub name: String,
    /// The first worker, which has the queue.
    pub first: ThreadId,
    /// Number of workers, at least 1. They follow each other in the table of threads.
    pub workers: u32,
    /// Whether the program cannot tell the workers from each other by their values.
    pub alike: bool,
}

impl PoolSetup {
    /// Returns the workers.
    pub fn workers(&self) -> impl DoubleEndedIterator<Item = ThreadId> + use<> {
        (self.first.0..self.first.0 + self.workers).map(ThreadId)
    }

    fn has(&self, thread: ThreadId) -> bool {
        (self.first.0..self.first.0 + self.workers).contains(&thread.0)
    }
}

/// State of a pool: its live workers.
#[derive(Clone, Debug, Default)]
pub(super) struct PoolState {
    // Workers between two tasks. The one that has been idle for the longest time comes first.
    idle: Vec<ThreadId>,
    // Workers that have begun a task, in the order of these begins.
    busy: Vec<ThreadId>,
}

impl PoolState {
    pub(super) fn renew(&mut self) {
        self.idle.clear();
        self.busy.clear();
    }

    fn remove(&mut self, worker: ThreadId) {
        self.idle.retain(|w| *w != worker);
        self.busy.retain(|w| *w != worker);
    }
}

impl World {
    // The pool that the thread is a worker of.
    #[inline]
    fn pool_of(&self, thread: ThreadId) -> Option<usize> {
        if self.setup.pools.is_empty() { None } else { self.setup.pools.iter().position(|pool| pool.has(thread)) }
    }

    /// Returns the pool that the thread is a worker of.
    #[must_use]
    pub fn pool(&self, thread: ThreadId) -> Option<&PoolSetup> {
        self.pool_of(thread).map(|pool| &self.setup.pools[pool])
    }

    /// Returns whether tasks of this thread's queue run beside each other: it is a worker of a pool that has others.
    #[must_use]
    pub fn shares_queue(&self, thread: ThreadId) -> bool {
        self.pool(thread).is_some_and(|pool| pool.workers > 1)
    }

    /// Returns the thread that has the queue from which this thread takes its tasks: the thread itself, unless it is a
    /// worker of a pool.
    #[inline]
    #[must_use]
    pub fn queue_owner(&self, thread: ThreadId) -> ThreadId {
        self.pool(thread).map_or(thread, |pool| pool.first)
    }

    /// Returns the addressee of a post in the form that removals compare: of a worker, its pool.
    pub(super) fn addressee(&self, target: Target) -> Target {
        match target {
            Target::Thread(thread) => Target::Thread(self.queue_owner(thread)),
            Target::Handler(_) => target,
        }
    }

    /// Returns the queue from which a thread takes its tasks.
    #[inline]
    #[must_use]
    pub fn queue(&self, thread: ThreadId) -> Option<&super::Queue> {
        self.threads[self.queue_owner(thread)].queue.as_deref()
    }

    /// Returns the thread that runs a job: its looper, or the worker of its pool that has begun it.
    pub(super) fn runner(&self, job: ThreadId) -> ThreadId {
        let looper = self.job(job).map_or(job, super::Job::looper);
        let runs = |worker: &ThreadId| self.threads[*worker].running == Some(job);
        self.pool(looper).and_then(|pool| pool.workers().find(runs)).unwrap_or(looper)
    }

    /// Returns the name of the thread or pool that has a queue: `main`, `io`.
    #[must_use]
    pub fn queue_name(&self, looper: ThreadId) -> String {
        self.pool(looper).map_or_else(|| self.thread_name(looper), |pool| pool.name.clone())
    }

    /// Returns whether an idle worker may begin the next message or leave its loop, as far as the other workers matter.
    /// True for every thread that is no worker.
    pub(super) fn is_next_worker(&self, thread: ThreadId) -> bool {
        let Some(pool) = self.pool_of(thread) else { return true };
        if !self.setup.pools[pool].alike || self.holds_lock(thread) {
            return true;
        }
        self.pools[pool].idle.iter().find(|worker| !self.holds_lock(**worker)) == Some(&thread)
    }

    fn holds_lock(&self, thread: ThreadId) -> bool {
        let in_rwlock = |l: &super::sync::RwLock| l.writer == Some(thread) || l.readers.contains(&thread);
        self.locks.iter().any(|l| l.owner == Some(thread)) || self.rwlocks.iter().any(in_rwlock)
    }

    /// Records that a worker has begun a task or left its loop. A worker starts each task without an interrupt.
    pub(super) fn worker_has_begun(&mut self, thread: ThreadId) {
        let Some(pool) = self.pool_of(thread) else { return };
        self.threads[thread].interrupted = false;
        self.pools[pool].remove(thread);
        self.pools[pool].busy.push(thread);
        // The worker itself is no longer pending at the begin.
        for worker in self.setup.pools[pool].workers().filter(|worker| *worker != thread) {
            self.refresh_at_begin(worker);
        }
    }

    /// Records that a thread is pending at its next begin.
    pub(super) fn worker_rests(&mut self, thread: ThreadId) {
        let Some(pool) = self.pool_of(thread) else { return self.refresh(thread) };
        if !self.threads[thread].in_task() {
            self.pools[pool].remove(thread);
            self.pools[pool].idle.push(thread);
        }
        self.refresh_workers(pool);
    }

    /// Records that a worker has ended.
    pub(super) fn worker_ends(&mut self, thread: ThreadId) {
        if let Some(pool) = self.pool_of(thread) {
            self.pools[pool].remove(thread);
            self.refresh_workers(pool);
        }
    }

    /// Decides again whether the threads are enabled that take their tasks from the queue of this thread.
    pub(super) fn refresh_workers_of(&mut self, looper: ThreadId) {
        match self.pool_of(looper) {
            Some(pool) => self.refresh_workers(pool),
            None => self.refresh_at_begin(looper),
        }
    }

    fn refresh_workers(&mut self, pool: usize) {
        for worker in self.setup.pools[pool].workers() {
            self.refresh_at_begin(worker);
        }
    }

    fn refresh_at_begin(&mut self, thread: ThreadId) {
        if self.threads[thread].status == ThreadStage::Alive && matches!(self.threads[thread].pending, Op::Begin) {
            self.refresh(thread);
        }
    }

    /// Returns the declared threads in the order in which the canonical state numbers them. Of the places of a pool's
    /// alike workers, the busy ones take the first in the order of their begins, and the idle ones the last, the one
    /// that is next the very last. So the number of the next worker stays the same while others begin and end tasks.
    pub(super) fn declared_threads(&self) -> impl Iterator<Item = ThreadId> {
        let mut order: Vec<ThreadId> = self.setup.threads.ids().collect();
        for (pool, state) in self.setup.pools.iter().zip(&self.pools).filter(|(pool, _)| pool.alike) {
            let ended = pool.workers().filter(|w| !state.idle.contains(w) && !state.busy.contains(w));
            let sorted = state.busy.iter().copied().chain(ended).chain(state.idle.iter().rev().copied());
            let places = pool.first.index()..pool.first.index() + pool.workers as usize;
            order[places].iter_mut().zip(sorted).for_each(|(place, worker)| *place = worker);
        }
        order.into_iter()
    }
}
