//! Threads and loopers.

use super::World;
use super::contexts::Made;
use super::queue::Queue;
use super::sync::ThreadSet;
use crate::base::mutant::{self, Mutant};
use crate::event::{ContextId, Happening, LimitKind, Op, Outcome, SiteId, ThreadId};

/// Where a thread stands in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It has not reached its first operation.
    New,
    /// It stands at a pending operation.
    Alive,
    /// It has ended.
    Finished,
}

/// A thread or looper.
#[derive(Debug)]
pub struct Thread {
    /// Its own context.
    pub home: ContextId,
    /// The context that it runs in: a task's while one runs, else its own.
    pub context: ContextId,
    /// It does not keep the run alive.
    pub daemon: bool,
    /// Where it stands in its life.
    pub status: Status,
    /// What it is about to do. Meaningful while it is alive.
    pub pending: Op,
    /// The site of that; `None` for the implicit loop of a looper.
    pub site: Option<SiteId>,
    /// Its message queue, if it has one.
    pub queue: Option<Box<Queue>>,
    // Of an earlier run, for its room.
    spare: Spare,
    /// The instant at which its sleep, wait or await is over.
    pub(super) deadline: Option<u64>,
    /// A waiter that was notified.
    pub(super) notified: bool,
    /// The sticky interrupt flag.
    pub(super) interrupted: bool,
    /// The condition of its await holds.
    pub(super) condition: bool,
    /// Holds that it gave up to wait.
    pub(super) saved_depth: u32,
    // Threads that stand at this one: joiners, and posters that wait for its queue.
    pub(super) standing: ThreadSet,
}

/// A queue that nobody uses. A copy of a thread has none, and keeps its own.
#[derive(Default, Debug)]
struct Spare(Option<Box<Queue>>);

impl Clone for Spare {
    fn clone(&self) -> Self {
        Self(None)
    }

    fn clone_from(&mut self, _: &Self) {}
}

crate::clone_in_place!(Thread {
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
    standing,
});

impl Default for Thread {
    fn default() -> Self {
        Self {
            home: ContextId(0),
            context: ContextId(0),
            daemon: false,
            status: Status::New,
            pending: Op::Skip,
            site: None,
            queue: None,
            spare: Spare(None),
            deadline: None,
            notified: false,
            interrupted: false,
            condition: false,
            saved_depth: 0,
            standing: ThreadSet::default(),
        }
    }
}

impl Thread {
    /// Makes it a new thread, whatever it was before.
    pub(super) fn renew(&mut self, home: ContextId, daemon: bool, looper: bool) {
        (self.home, self.context, self.daemon) = (home, home, daemon);
        (self.status, self.pending, self.site) = (Status::New, Op::Skip, None);
        if let Some(queue) = self.queue.take() {
            self.spare.0 = Some(queue);
        }
        if looper {
            self.attach_queue();
        }
        (self.deadline, self.saved_depth) = (None, 0);
        (self.notified, self.interrupted, self.condition) = (false, false, false);
        self.standing.0.clear();
    }

    /// Gives it an empty queue.
    pub(super) fn attach_queue(&mut self) {
        let mut queue = self.spare.0.take().unwrap_or_default();
        queue.renew();
        self.queue = Some(queue);
    }

    /// Whether it runs a task of its queue.
    pub(super) fn in_task(&self) -> bool {
        self.context != self.home
    }

    /// An idle looper: it could begin a message, and none is there to begin, now or later.
    pub(super) fn idle(&self, now: u64) -> bool {
        matches!(self.pending, Op::Begin)
            && !self.in_task()
            && self.queue.as_ref().is_some_and(|q| !q.quit && !q.ready(now) && !q.messages().any(|m| m.when > now))
    }
}

impl World {
    /// Where a thread stands, without what the guest knows of it, for the canonical state.
    pub(super) fn stand_words(&self, thread: ThreadId) -> [u64; 4] {
        let t = &self.threads[thread];
        // The second half of an operation stands at the same program counter as the first.
        let half = match &t.pending {
            Op::Reacquire { .. } => 1,
            Op::Wake => 2,
            Op::Pass { barrier, generation } => 3 + u64::from(self.barriers[*barrier].generation == *generation),
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

    /// Adds a thread that `maker` starts; it is new until the machine runs it to its first operation.
    /// `None` at the limit of threads (the run's outcome is set).
    pub(super) fn add_thread(&mut self, maker: ContextId, made: Made, looper: bool) -> Option<ThreadId> {
        if self.threads.len() as u64 >= u64::from(self.limits.threads) {
            self.end(Outcome::Limit(LimitKind::Threads, u64::from(self.limits.threads)));
            return None;
        }
        let home = self.contexts.child(maker, made);
        let id = self.threads.add(|t| t.renew(home, false, looper));
        self.newborn.push(id);
        Some(id)
    }

    /// What the thread is about to do: the guest says so before it answers [`Next::Pending`](super::Next::Pending).
    #[inline(always)]
    pub fn pend(&mut self, thread: ThreadId, op: Op, site: Option<SiteId>) {
        let t = &mut self.threads[thread];
        t.site = site;
        t.pending = op;
    }

    /// The thread, which has just performed an operation or is new, stands at its pending operation from now on.
    #[inline(always)]
    pub(super) fn settle(&mut self, thread: ThreadId) {
        // Nothing else changes for a thread that could act and still can.
        if self.threads[thread].pending.may_block() {
            self.stand(thread);
        }
    }

    /// A new thread lives from now on.
    pub(super) fn wake_up(&mut self, thread: ThreadId) {
        self.threads[thread].status = Status::Alive;
        self.enabled.set(thread, true);
    }

    /// The thread has ended.
    pub(crate) fn finish(&mut self, thread: ThreadId) {
        let home = self.threads[thread].home;
        self.threads[thread].status = Status::Finished;
        self.threads[thread].context = home;
        self.enabled.set(thread, false);
        self.record(Some(thread), Some(home), None, || Happening::ThreadExit);
        self.refresh_standing_at_thread(thread);
    }

    /// An exception ended the thread alone: its queue takes no more, and what stands in it is dropped.
    pub(crate) fn abandon_queue(&mut self, thread: ThreadId) {
        if let Some(queue) = &mut self.threads[thread].queue {
            queue.quit(false, 0);
            // Also what it kept of an earlier `quit safely`.
            queue.clear();
        }
    }

    /// The looper's task has ended.
    pub(crate) fn end_task(&mut self, thread: ThreadId) {
        let (task, home) = (self.threads[thread].context, self.threads[thread].home);
        self.record(Some(thread), Some(task), None, || Happening::End);
        self.threads[thread].context = home;
    }

    /// Whether the thread has ended.
    #[inline]
    #[must_use]
    pub fn finished(&self, thread: ThreadId) -> bool {
        self.threads[thread].status == Status::Finished
    }
}
