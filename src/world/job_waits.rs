//! Suspension points: what a job waits for, and when its wait is over.

use super::World;
use super::channels::{Exchanged, Handover, case_count};
use super::clock::due;
use super::jobs::JobStage;
use super::perform::{Reply, ThrownException};
use crate::base::mutant::{self, Mutant};
use crate::event::{Args, CANCELLED, EventKind, Op, SemaphoreId, Suspension, ThreadId, Transfer, Value};

impl World {
    pub(super) fn record_resumption(&mut self, thread: ThreadId, job: ThreadId, value: Value) {
        let (context, site) = (self.threads[job].home, self.threads[job].site);
        let value = match self.handover(job) {
            Some(handover) if value != CANCELLED => self.value_of_transfer(handover),
            _ => value,
        };
        let op = Op::Resume(self.job(job).map_or(Suspension::Yield, |j| j.suspension));
        self.record(Some(thread), Some(context), site, || EventKind::Performed {
            op,
            value,
            made: None,
            refused: false,
        });
    }

    // Returns the value of the resumption of a job that was suspended at a transfer.
    fn value_of_transfer(&self, Handover { thread: job, case, what }: Handover) -> Value {
        match self.threads[job].pending {
            Op::Selected { .. } => i64::from(case),
            _ => i64::from(what != Exchanged::Closed),
        }
    }

    /// Performs a suspension of the job that a thread runs: completes it at once, or makes the thread give up the job.
    /// `argument` picks the case of a select.
    pub(super) fn suspend(
        &mut self,
        thread: ThreadId,
        on: Suspension,
        argument: u64,
    ) -> Result<Reply, ThrownException> {
        let job = self.threads[thread].running.ok_or(ThrownException::IllegalState)?;
        if let Suspension::Switch(to) = on
            && self.queue(to).is_none()
        {
            return Err(ThrownException::IllegalState);
        }
        self.threads[job].site = self.threads[thread].site;
        self.job_mut(job).suspension = on;
        if let Suspension::Join(other) = on {
            self.handle_failure(other);
        }
        let cancelled = self.is_cancelled(job);
        let micro = self.job(job).is_some_and(|j| j.kind.micro);
        if let Suspension::CloseBlock { block, end } = on
            && self.close_block(block, end)
        {
            self.record_resumption(thread, job, 0);
            return self.end_of_block(job, block);
        }
        let throws = cancelled && !mutant::is(Mutant::SuspensionIgnoresCancellation);
        let now = match (throws, micro) {
            _ if matches!(on, Suspension::CloseBlock { .. }) => None,
            (true, _) => Some(CANCELLED),
            (false, true) => None,
            (false, false) => self.completes_at_once(thread, on),
        };
        if let (Suspension::Transfer(transfer), false) = (on, cancelled)
            && let Some(reply) = self.transfer_of_job((thread, job), transfer, argument)
        {
            return reply;
        }
        if let Some(value) = now {
            if value == 1
                && let Some(semaphore) = on.semaphore()
            {
                self.take_permit(semaphore);
            }
            self.record_resumption(thread, job, value);
            return match (value, on) {
                (CANCELLED, _) => Err(ThrownException::Cancelled),
                (_, Suspension::Await { .. }) => Ok(Reply::Awaited(value)),
                _ => Ok(Reply::Value(value)),
            };
        }
        let delay = match on {
            Suspension::Sleep(delay) | Suspension::DownFor { timeout: delay, .. } => Some(delay),
            Suspension::Await { timeout } | Suspension::Transfer(Transfer::Select { timeout, .. }) => timeout,
            _ => None,
        };
        let deadline = delay.map(|delay| self.after(delay));
        let own = &mut self.threads[job];
        (own.pending, own.deadline) = (on.blocking(), deadline);
        self.timed.set(job, deadline.is_some());
        self.threads[job].condition = self.threads[thread].condition;
        if let Suspension::Switch(to) = on {
            self.job_mut(job).looper = self.queue_owner(to);
        }
        self.job_mut(job).stage = JobStage::Waiting;
        let place = if mutant::is(Mutant::LastWaitFirst) { 0 } else { self.jobs.waiting.len() };
        self.jobs.waiting.insert(place, job);
        let context = self.threads[job].home;
        self.record(Some(thread), Some(context), None, || EventKind::Suspended);
        self.leave_job(thread, job);
        Ok(Reply::Suspended(job))
    }

    // Returns the value of a suspension that does not have to wait.
    pub(super) fn completes_at_once(&self, thread: ThreadId, on: Suspension) -> Option<Value> {
        match on {
            Suspension::Sleep(delay) => (delay <= 0).then_some(0),
            Suspension::Await { timeout } => {
                let holds = self.threads[thread].condition;
                (holds || timeout.is_some_and(|t| t <= 0)).then_some(i64::from(holds))
            }
            Suspension::Join(other) => self.finished(other).then_some(0),
            Suspension::Down(semaphore) => (self.semaphores[semaphore].count > 0).then_some(1),
            Suspension::DownFor { semaphore, timeout } => {
                let takes = self.semaphores[semaphore].count > 0;
                (takes || timeout <= 0).then_some(i64::from(takes))
            }
            Suspension::Yield | Suspension::Transfer(_) | Suspension::CloseBlock { .. } => None,
            Suspension::Switch(to) => (self.queue_owner(to) == self.queue_owner(thread)).then_some(0),
        }
    }

    // Performs a transfer of a job that does not have to wait, and returns its reply. Otherwise parks the job and
    // returns `None`. A promise always suspends, so that a transfer that it has performed counts as a decision for it.
    fn transfer_of_job(
        &mut self,
        (thread, job): (ThreadId, ThreadId),
        transfer: Transfer,
        argument: u64,
    ) -> Option<Result<Reply, ThrownException>> {
        let timed_out = matches!(transfer, Transfer::Select { timeout: Some(..=0), .. });
        let ended = self.transfer(job, transfer, timed_out, argument);
        self.threads[job].pending = transfer.second_half();
        match ended {
            None => self.park(job, transfer),
            Some((case, what)) => self.handovers.push(Handover { thread: job, case, what }),
        }
        if ended.is_none() || self.job(job).is_some_and(|j| j.kind.micro) {
            return None;
        }
        self.record_resumption(thread, job, 0);
        Some(self.end_transfer(job))
    }

    /// Returns the reply with which a job goes on that was suspended at a channel or at the end of a block. `None` if
    /// it was suspended at something else.
    pub(crate) fn reply_after(&mut self, job: ThreadId) -> Option<Reply> {
        let reply = match self.job(job)?.suspension {
            Suspension::Transfer(_) => self.end_transfer(job),
            Suspension::CloseBlock { block, .. } => self.end_of_block(job, block),
            _ => return None,
        };
        Some(reply.unwrap_or_else(Reply::Throw))
    }

    pub(super) fn take_permit(&mut self, semaphore: SemaphoreId) {
        self.semaphores[semaphore].count -= 1;
        self.refresh_all(|w| &w.semaphores[semaphore].pending_set);
    }

    // Returns the value with which a waiting job resumes, if its wait is over.
    pub(super) fn wait_is_over(&self, job: ThreadId) -> Option<Value> {
        let t = &self.threads[job];
        let timed_out = due(t.deadline, self.now);
        let own = self.job(job)?;
        // The end of a block waits for its children, also if they are cancelled.
        if self.is_cancelled(job) && !matches!(own.suspension, Suspension::CloseBlock { .. }) {
            return Some(CANCELLED);
        }
        match own.suspension {
            Suspension::Sleep(_) => timed_out.then_some(0),
            Suspension::Await { .. } => (t.condition || timed_out).then_some(i64::from(t.condition)),
            Suspension::Join(other) => self.finished(other).then_some(0),
            Suspension::Down(semaphore) | Suspension::DownFor { semaphore, .. } => {
                let takes = self.semaphores[semaphore].count > 0;
                (takes || timed_out).then_some(i64::from(takes))
            }
            Suspension::Yield | Suspension::Switch(_) => Some(0),
            Suspension::CloseBlock { block, .. } => self.finished(block).then_some(0),
            Suspension::Transfer(_) => (timed_out || self.handover(job).is_some()).then_some(0),
        }
    }

    /// Looks after all jobs at the end of a step: queues the resumptions of those whose wait is over, and ends those
    /// whose message was dropped.
    pub(super) fn tend_jobs(&mut self, by: Option<ThreadId>) {
        if by.is_none() {
            self.sort_due_jobs();
        }
        let mut at = 0;
        let mut resumed = 0;
        while self.outcome.is_none() {
            if std::mem::take(&mut self.jobs.dropped) {
                self.lose_jobs();
                at = 0;
            }
            let Some(&job) = self.jobs.waiting.get(at) else { break };
            let Some(value) = self.wait_is_over(job) else {
                at += 1;
                continue;
            };
            self.jobs.waiting.remove(at);
            if value == 1
                && let Some(semaphore) = self.job(job).and_then(|j| j.suspension.semaphore())
            {
                self.take_permit(semaphore);
            }
            // A promise that its own looper fulfils goes on in a microtask. A timer is a task of its own.
            let own = self.job(job).filter(|j| j.kind.micro && Some(j.looper) == by);
            let micro = own.is_some_and(|j| !matches!(j.suspension, Suspension::Sleep(_)))
                && !mutant::is(Mutant::PromiseResumesByMessage);
            // The clock may have passed several instants in one step. A wait that has timed out was over at its
            // deadline, so that its job goes on before the messages that became due after that.
            let when = self.threads[job].deadline.map_or(self.now, |deadline| deadline.min(self.now));
            if value == CANCELLED || matches!(self.threads[job].pending, Op::Selected { .. }) {
                self.unpark_job(job, value);
            }
            self.threads[job].deadline = None;
            self.timed.set(job, false);
            self.job_mut(job).stage = JobStage::Ready(value);
            self.record_ready(job, &mut resumed);
            self.queue_job(job, Args::default(), (when, micro));
        }
    }

    // Puts the jobs whose time has passed first, in the order of their deadlines. The clock may pass several deadlines
    // in one step, and must then do what it does if it moves to one after the other.
    fn sort_due_jobs(&mut self) {
        let (threads, now) = (&self.threads, self.now);
        self.jobs
            .waiting
            .sort_by_key(|job| threads[*job].deadline.filter(|deadline| *deadline <= now).unwrap_or(u64::MAX));
    }

    // Makes a job leave its channels whose wait is over: it was cancelled, or it waited at a select, whose time may
    // have passed.
    fn unpark_job(&mut self, job: ThreadId, value: Value) {
        if value == CANCELLED {
            self.leave_channels(job);
        } else if let (Op::Selected { cases }, None) = (self.threads[job].pending, self.handover(job)) {
            self.unpark(job);
            self.handovers.push(Handover { thread: job, case: case_count(cases), what: Exchanged::Closed });
        }
    }

    // Records that the resumption of a job is queued, behind the operation that caused it and the `before` resumptions
    // that it has also caused.
    pub(super) fn record_ready(&mut self, job: ThreadId, before: &mut usize) {
        if !self.recording {
            return;
        }
        let (context, looper) = (self.threads[job].home, self.job(job).map_or(job, |j| j.looper));
        let actor = self.jobs.actor;
        let (thread, by) = (actor.map(|(thread, _)| thread), actor.map(|(_, by)| by));
        let last = self.recorded.len();
        self.record(thread, by, None, || EventKind::Resumed { job, context, looper });
        *before += 1;
        // The task that caused it may have ended in the same step. Its end comes after what it has caused.
        let at = (*before).min(last);
        self.recorded[at..].rotate_right(1);
    }
}
