//! Threads and loopers: their state, their creation and their end.

use super::World;
use super::contexts::CreationKind;
use super::jobs::Job;
use super::queue::Queue;
use super::sync::ThreadSet;
use crate::base::mutant::{self, Mutant};
use crate::event::{ContextId, EventKind, LimitKind, Op, Outcome, SiteId, ThreadId};

/// Stage in the life of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadStage {
    /// The thread has not reached its first operation.
    New,
    /// The thread is pending at an operation.
    Alive,
    /// The thread has ended.
    Finished,
    /// This is no thread but a job that has not ended. Loopers run it.
    Job,
}

/// State of a thread or looper.
#[derive(Debug)]
pub struct ThreadRecord {
    /// Context of the thread itself.
    pub home: ContextId,
    /// Context in which the thread runs: that of its current task if it runs one, otherwise its home.
    pub context: ContextId,
    /// Whether the thread is a daemon, which does not keep the run going.
    pub daemon: bool,
    /// Stage in the thread's life.
    pub status: ThreadStage,
    /// Pending operation. Meaningful while the thread is alive.
    pub pending: Op,
    /// Site of the pending operation. `None` for the implicit loop of a looper.
    pub site: Option<SiteId>,
    /// Message queue of the thread, if it has one.
    pub queue: Option<Box<Queue>>,
    // Queue of an earlier run, kept for its memory.
    spare: SpareQueue,
    /// Instant at which the thread's sleep, wait, await, timed down, acquisition or select ends.
    pub(super) deadline: Option<u64>,
    /// Whether the thread waits and has been notified.
    pub(super) notified: bool,
    /// Interrupt flag of the thread. It stays set until a wait or a sleep throws because of it.
    pub(crate) interrupted: bool,
    /// Whether the condition of the thread's await holds.
    pub(super) condition: bool,
    /// Number of holds of a lock that the thread gave up in order to wait.
    pub(super) saved_depth: u32,
    /// The job, if this is one.
    pub(super) job: Option<Box<Job>>,
    /// The job that this thread runs.
    pub(super) running: Option<ThreadId>,
    // Threads that are pending at this one: at a join of it, or at a post to it while it has no queue.
    pub(super) pending_set: ThreadSet,
}

/// An unused queue, kept for its memory. A clone has none, and `clone_from` keeps its own.
#[derive(Default, Debug)]
struct SpareQueue(Option<Box<Queue>>);

impl Clone for SpareQueue {
    fn clone(&self) -> Self {
        Self(None)
    }

    fn clone_from(&mut self, _: &Self) {}
}

crate::clone_in_place!(ThreadRecord {
    home,
    context,
    daemon,
    status,
    pending,
    site,
    queue,
    spare,
    deadline,
    notified,
    interrupted,
    condition,
    saved_depth,
    running,
    pending_set,
} rare {
    job,
});

impl Default for ThreadRecord {
    fn default() -> Self {
        Self {
            home: ContextId(0),
            context: ContextId(0),
            daemon: false,
            status: ThreadStage::New,
            pending: Op::Skip,
            site: None,
            queue: None,
            spare: SpareQueue(None),
            deadline: None,
            notified: false,
            interrupted: false,
            condition: false,
            saved_depth: 0,
            job: None,
            running: None,
            pending_set: ThreadSet::default(),
        }
    }
}

impl ThreadRecord {
    /// Makes this a new thread, whatever it was before.
    pub(super) fn renew(&mut self, home: ContextId, daemon: bool, looper: bool) {
        (self.home, self.context, self.daemon) = (home, home, daemon);
        (self.status, self.pending, self.site) = (ThreadStage::New, Op::Skip, None);
        if let Some(queue) = self.queue.take() {
            self.spare.0 = Some(queue);
        }
        if looper {
            self.attach_queue();
        }
        (self.deadline, self.saved_depth) = (None, 0);
        (self.notified, self.interrupted, self.condition) = (false, false, false);
        (self.job, self.running) = (None, None);
        self.pending_set.0.clear();
    }

    /// Copies everything from another record of the same thread, except its queue and the threads that are pending at
    /// it.
    pub(super) fn clone_stand(&mut self, from: &Self) {
        (self.home, self.context, self.daemon, self.status) = (from.home, from.context, from.daemon, from.status);
        (self.pending, self.site, self.deadline) = (from.pending, from.site, from.deadline);
        (self.notified, self.interrupted, self.condition) = (from.notified, from.interrupted, from.condition);
        (self.saved_depth, self.running) = (from.saved_depth, from.running);
    }

    /// Attaches an empty queue to the thread.
    pub(super) fn attach_queue(&mut self) {
        let mut queue = self.spare.0.take().unwrap_or_default();
        queue.renew();
        self.queue = Some(queue);
    }

    /// Returns whether the thread runs a task of its queue.
    pub(crate) fn in_task(&self) -> bool {
        self.context != self.home
    }
}

impl World {
    /// Returns whether the thread is an idle looper: it could begin a message, and its queue has none for it, now or
    /// later.
    pub(super) fn idles(&self, thread: ThreadId) -> bool {
        let t = &self.threads[thread];
        matches!(t.pending, Op::Begin)
            && !t.in_task()
            && self.queue(thread).is_some_and(|q| !q.quit && !q.has_work(self.now))
    }

    /// Returns the world's part of a thread's state as words of the canonical state.
    pub(super) fn pending_words(&self, thread: ThreadId) -> [u64; 4] {
        let t = &self.threads[thread];
        // Both halves of an operation have the same program counter, so the half is written too.
        let half = match &t.pending {
            Op::Reacquire { .. } => 1,
            Op::Wake => 2,
            Op::Pass { barrier, generation } => 3 + u64::from(self.barriers[*barrier].generation == *generation),
            Op::GroupPass { group, generation } => 6 + u64::from(self.groups[*group].generation == *generation),
            Op::Sent { .. } | Op::Received { .. } | Op::Selected { .. } => 5,
            _ => 0,
        };
        [
            u64::from(t.daemon)
                | u64::from(t.notified && !mutant::is(Mutant::WaitersNotInForm)) << 1
                | u64::from(t.interrupted && !mutant::is(Mutant::InterruptsNotInForm)) << 2,
            half,
            match t.deadline {
                Some(_) if mutant::is(Mutant::DeadlinesNotInForm) => 1,
                Some(deadline) if mutant::is(Mutant::OverdueIsNotDue) => deadline.saturating_sub(self.now).max(1),
                Some(deadline) => 1 + deadline.saturating_sub(self.now),
                None => 0,
            },
            u64::from(t.saved_depth),
        ]
    }

    /// Adds a thread that `maker` starts. It stays new until the machine runs it to its first operation. At the limit
    /// of threads, ends the run and returns `None`.
    pub(super) fn add_thread(&mut self, maker: ContextId, made: CreationKind, looper: bool) -> Option<ThreadId> {
        if self.threads.len() as u64 >= u64::from(self.limits.threads) {
            self.end(Outcome::Limit(LimitKind::Threads, u64::from(self.limits.threads)));
            return None;
        }
        let home = self.contexts.child(maker, made);
        let id = self.threads.add(|t| t.renew(home, false, looper));
        self.loopers.set(id, looper);
        self.workers.set(id, true);
        self.newborn.push(id);
        Some(id)
    }

    /// Sets the pending operation of a thread. The guest calls this before it returns
    /// [`Next::Pending`](super::Next::Pending).
    #[inline(always)]
    pub fn pend(&mut self, thread: ThreadId, op: Op, site: Option<SiteId>) {
        let t = &mut self.threads[thread];
        t.site = site;
        t.pending = op;
    }

    /// Decides whether the thread is enabled at its new pending operation. The thread has just performed another one,
    /// or is new.
    #[inline(always)]
    pub(super) fn settle(&mut self, thread: ThreadId) {
        // The thread is in the set of enabled threads, and an operation that never blocks leaves it there.
        if self.threads[thread].pending.may_block() {
            self.mark_pending(thread);
        }
    }

    /// Makes a new thread alive and enabled.
    pub(super) fn wake_up(&mut self, thread: ThreadId) {
        self.threads[thread].status = ThreadStage::Alive;
        self.enabled.set(thread, true);
    }

    /// Ends the thread, and refreshes the threads that wait for its end.
    pub(crate) fn finish(&mut self, thread: ThreadId) {
        let home = self.threads[thread].home;
        self.threads[thread].status = ThreadStage::Finished;
        self.workers.set(thread, false);
        self.threads[thread].context = home;
        self.enabled.set(thread, false);
        self.worker_ends(thread);
        self.record(Some(thread), Some(home), None, || EventKind::ThreadExit);
        self.refresh_pending_at_thread(thread);
    }

    /// Closes the queue of a thread that an exception has ended, and drops the messages in it.
    pub(crate) fn abandon_queue(&mut self, thread: ThreadId) {
        if let Some(queue) = &mut self.threads[thread].queue {
            queue.quit(false, 0);
            // A queue that had quit safely before still contains messages.
            queue.clear();
            self.jobs.dropped = true;
        }
    }

    /// Ends the current task of a looper.
    pub(crate) fn end_task(&mut self, thread: ThreadId) {
        let (task, home) = (self.threads[thread].context, self.threads[thread].home);
        self.record(Some(thread), Some(task), None, || EventKind::End);
        self.threads[thread].context = home;
    }

    /// Interrupts a thread. As in Java, interrupting a thread that has ended has no effect.
    pub(super) fn interrupt(&mut self, thread: ThreadId) {
        if self.finished(thread) {
            return;
        }
        self.threads[thread].interrupted = true;
        if matches!(self.threads[thread].pending, Op::Wake | Op::Reacquire { .. }) {
            self.refresh(thread);
            self.check_cycle(thread);
        }
    }

    /// Returns whether the thread has ended.
    #[inline]
    #[must_use]
    pub fn finished(&self, thread: ThreadId) -> bool {
        self.threads[thread].status == ThreadStage::Finished
    }
}
