//! Decides how a run ends (at rest, stuck, or in a deadlock), and reports which thread waits for which.

use super::threads::ThreadStage;
use super::{LockHold, World};
use crate::event::{BlockedThread, ChannelId, DeadlockReport, LockId, Op, Outcome, Target, ThreadId, WaitSet};
use smallvec::SmallVec;

/// Threads in a cycle, each of which needs the lock of the next one.
pub(super) type LockCycle = SmallVec<[ThreadId; 8]>;

impl World {
    /// Returns whether the run is at rest: every thread that is not a daemon has ended or is an idle looper
    /// (`docs/language.md`, *How a run ends*). Daemons may still run, and events may still fire.
    #[inline]
    #[must_use]
    pub fn rests(&self) -> bool {
        // The cheap test comes first, because this is evaluated at every step. After the post of a daemon message the
        // horizon is infinite.
        (self.enabled.is_empty() || !self.daemons.is_empty() || self.horizon == u64::MAX) && self.nobody_works()
    }

    fn nobody_works(&self) -> bool {
        self.busy().next().is_none()
    }

    /// Returns the threads that keep the run going: those that are not daemons, have not ended and are no idle loopers.
    pub(crate) fn busy(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.workers.iter().filter(|worker| !self.idles(*worker))
    }

    /// Returns the outcome of a run that stops at rest: ok, or stuck if messages are left.
    #[must_use]
    pub fn rest_outcome(&self) -> Outcome {
        let left = self.threads.iter().filter(|t| !t.daemon).filter_map(|t| t.queue.as_ref()).map(|q| q.tasks()).sum();
        if left == 0 { Outcome::Ok } else { Outcome::Stuck { messages: left } }
    }

    // Returns the lock that blocks a thread. `None` if the thread is not blocked, or is blocked at something else.
    fn wanted_lock(&self, thread: ThreadId) -> Option<LockId> {
        if self.threads[thread].status != ThreadStage::Alive || self.enabled.contains(thread) {
            return None;
        }
        match &self.threads[thread].pending {
            Op::Acquire(lock) => Some(*lock),
            Op::Reacquire { lock, .. } if self.woken(thread) => Some(*lock),
            _ => None,
        }
    }

    /// Returns the lock, or the side of a reader-writer lock, for which a blocked thread waits without a limit of time.
    /// `None` if the thread is not blocked, or is blocked at something else.
    #[must_use]
    pub fn wanted(&self, thread: ThreadId) -> Option<LockHold> {
        if self.threads[thread].status != ThreadStage::Alive || self.enabled.contains(thread) {
            return None;
        }
        match self.threads[thread].pending {
            Op::ReadLock(lock) => Some(LockHold::Read(lock)),
            Op::WriteLock(lock) => Some(LockHold::Write(lock)),
            _ => self.wanted_lock(thread).map(LockHold::Lock),
        }
    }

    /// Ends the run as a deadlock if the thread has closed a cycle of threads, each of which needs the lock of the next
    /// one. Other threads may still be enabled.
    #[inline(never)]
    pub(super) fn check_cycle(&mut self, thread: ThreadId) {
        if let Some(ring) = self.lock_cycle(thread) {
            let report = DeadlockReport {
                blocked: ring.iter().map(|t| self.blocked(*t)).collect(),
                cycle: ring.iter().map(|t| self.thread_name(*t)).collect(),
            };
            self.end(Outcome::Deadlock(report));
        }
    }

    /// Returns the cycle of threads from `thread` on, each of which needs the lock of the next one. `None` if the
    /// owners of the wanted locks do not lead back to `thread`.
    #[inline]
    pub(super) fn lock_cycle(&self, thread: ThreadId) -> Option<LockCycle> {
        let owner = self.owner_of_wanted(thread)?;
        if self.enabled.contains(owner) { None } else { self.follow_owners(thread) }
    }

    fn owner_of_wanted(&self, thread: ThreadId) -> Option<ThreadId> {
        self.wanted_lock(thread).and_then(|lock| self.locks[lock].owner)
    }

    // Follows the owners of wanted locks from `thread`, until they lead back to it or end.
    fn follow_owners(&self, thread: ThreadId) -> Option<LockCycle> {
        let mut ring = LockCycle::new();
        let mut at = thread;
        while let Some(owner) = self.owner_of_wanted(at) {
            ring.push(at);
            if owner == thread {
                return Some(ring);
            }
            // A cycle without `thread` was already found when it closed.
            if ring.contains(&owner) {
                return None;
            }
            at = owner;
        }
        None
    }

    /// Returns the report of a state in which nothing is open although some thread has not ended: the blocked threads,
    /// and a cycle of them if there is one.
    #[must_use]
    pub fn deadlock(&self) -> DeadlockReport {
        let stuck: Vec<ThreadId> = self
            .threads
            .enumerate()
            .filter(|(id, t)| !t.daemon && (t.status == ThreadStage::Alive && !self.idles(*id) || self.job_waits(*id)))
            .map(|(id, _)| id)
            .collect();
        let ring = stuck.iter().find_map(|t| self.ring_from(*t)).unwrap_or_default();
        DeadlockReport {
            blocked: stuck.iter().map(|t| self.blocked(*t)).collect(),
            cycle: ring.iter().map(|t| self.thread_name(*t)).collect(),
        }
    }

    // Follows the holders from a thread on. Returns the cycle if they lead back to that thread.
    fn ring_from(&self, thread: ThreadId) -> Option<Vec<ThreadId>> {
        let mut ring = vec![];
        let mut at = thread;
        loop {
            ring.push(at);
            at = self.holder(at)?;
            if at == thread {
                return Some(ring);
            }
            if ring.contains(&at) {
                return None;
            }
        }
    }

    // Returns the thread that holds what this thread waits for. A join waits for the joined thread.
    fn holder(&self, thread: ThreadId) -> Option<ThreadId> {
        if self.job(thread).is_some() && !self.job_waits(thread) {
            return None;
        }
        match &self.threads[thread].pending {
            Op::Acquire(lock) => self.locks[*lock].owner,
            Op::Reacquire { lock, .. } if self.woken(thread) => self.locks[*lock].owner,
            Op::Join(other) => Some(*other),
            Op::ReadLock(id) => self.rwlocks[*id].writer.or_else(|| self.rwlocks[*id].announced.first().copied()),
            Op::WriteLock(id) => {
                let l = &self.rwlocks[*id];
                l.writer.or_else(|| l.readers.iter().copied().find(|t| *t != thread)).or(l.readers.first().copied())
            }
            _ => None,
        }
    }

    /// Returns what a blocked thread waits for, and which thread holds it. `None` if the thread is enabled or has
    /// ended, and for a looper that waits for a message.
    #[must_use]
    pub fn waiting(&self, thread: ThreadId) -> Option<BlockedThread> {
        let waits = self.is_held_up(thread) && !matches!(self.threads[thread].pending, Op::Begin);
        waits.then(|| self.blocked(thread))
    }

    /// Returns whether a thread is live and blocked, or a job waits.
    pub(super) fn is_held_up(&self, thread: ThreadId) -> bool {
        let is_blocked = self.threads[thread].status == ThreadStage::Alive && !self.enabled.contains(thread);
        is_blocked || self.job_waits(thread)
    }

    pub(super) fn blocked(&self, thread: ThreadId) -> BlockedThread {
        let t = &self.threads[thread];
        let holder = self.holder(thread).filter(|_| !matches!(t.pending, Op::Join(_)));
        BlockedThread {
            thread: self.thread_name(thread),
            site: t.site,
            waits_for: self.waits_for(&t.pending, thread),
            held_by: holder.map(|h| self.thread_name(h)),
            holder_ended: holder.is_some_and(|h| self.finished(h)),
        }
    }

    fn waits_for(&self, op: &Op, thread: ThreadId) -> String {
        match op {
            Op::Acquire(lock) => self.lock_name(*lock),
            Op::Reacquire { lock, .. } if self.woken(thread) => {
                format!("{} (to return from a wait)", self.lock_name(*lock))
            }
            Op::Reacquire { on: WaitSet::Lock(lock), .. } => format!("a notify on {}", self.lock_name(*lock)),
            Op::Reacquire { on: WaitSet::Condition(id), .. } => {
                format!("a signal of condition {}", self.condition_name(*id))
            }
            Op::ReadLock(id) => format!("the read side of rwlock {}", self.rwlock_name(*id)),
            Op::WriteLock(id) => format!("the write side of rwlock {}", self.rwlock_name(*id)),
            Op::Down(id) | Op::DownFor { semaphore: id, .. } => {
                format!("an up of semaphore {}", self.semaphore_name(*id))
            }
            Op::Pass { barrier, .. } => {
                let b = &self.barriers[*barrier];
                let name = self.barrier_name(*barrier);
                format!("barrier {name} ({} of {} have arrived)", b.arrived, b.parties)
            }
            Op::AcquireFor { of, .. } => self.waits_for(&of.plain(), thread),
            Op::GroupPass { group, .. } => {
                let name = &self.setup.groups[group.0 as usize];
                format!("waitgroup {name} to become 0 (it is {})", self.groups[*group].count)
            }
            Op::Send { channel, .. } => self.waits_for_channel("a receiver or room", *channel),
            Op::Sent { channel } => self.waits_for_channel("a receiver", Some(*channel)),
            Op::Receive { channel, .. } => self.waits_for_channel("a value", *channel),
            Op::Received { channel, .. } => self.waits_for_channel("a value", Some(*channel)),
            Op::Select { cases, .. } | Op::Selected { cases } => {
                let names = self.cases(*cases).map(|case| {
                    let verb = if case.sends.is_some() { "send" } else { "recv" };
                    format!("{verb} {}", self.channel_name(case.channel))
                });
                format!("a case of its select ({})", names.collect::<Vec<_>>().join(", "))
            }
            Op::Await { .. } => "its condition to hold".to_owned(),
            Op::Join(other) if self.job(*other).is_some() => format!("job {} to end", self.thread_name(*other)),
            Op::Join(other) => format!("thread {} to finish", self.thread_name(*other)),
            Op::Post { target: Target::Thread(to), .. } => {
                format!("thread {} to attach a queue", self.thread_name(*to))
            }
            other => format!("{} to be possible", other.word()),
        }
    }

    fn waits_for_channel(&self, what: &str, channel: Option<ChannelId>) -> String {
        match channel {
            Some(_) => format!("{what} at channel {}", self.channel_name(channel)),
            None => "a channel that is null, forever".to_owned(),
        }
    }

    /// Returns the name of a channel: `c`, `null`.
    #[must_use]
    pub fn channel_name(&self, channel: Option<ChannelId>) -> String {
        channel.map_or_else(|| "null".to_owned(), |channel| self.name_of_channel(channel))
    }
}
