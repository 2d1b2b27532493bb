//! The ends of jobs: returns, failures, cancellations, lost messages.

use super::World;
use super::jobs::{JobEnd, JobStage};
use super::perform::{Reply, ThrownException};
use super::queue::{Message, MessageKind};
use super::threads::ThreadStage;
use crate::base::mutant::{self, Mutant};
use crate::event::{EventKind, JobQuestion, Suspension, ThreadId, Value};

impl World {
    // Ends the jobs whose start or resumption is in no queue any more, because a looper has dropped it.
    pub(super) fn lose_jobs(&mut self) {
        for job in self.threads.ids().skip(self.setup.threads.len()) {
            let Some(own) = self.job(job) else { continue };
            if !matches!(own.stage, JobStage::Posted | JobStage::Ready(_)) {
                continue;
            }
            let holds = |m: &super::Message| matches!(&m.kind, MessageKind::Task(task) if task.job == Some(job));
            if !self.threads[own.looper].queue.as_ref().is_some_and(|q| q.messages().any(holds)) {
                self.request_cancel(job, None);
                self.task_ended(job, JobEnd::Cancelled);
            }
        }
    }

    /// Ends the task of the job that a thread runs.
    pub(crate) fn end_job(&mut self, thread: ThreadId, job: ThreadId, end: JobEnd) {
        let context = self.threads[job].home;
        self.record(Some(thread), Some(context), None, || EventKind::End);
        self.leave_job(thread, job);
        self.task_ended(job, end);
    }

    // The task of a job has ended: the job ends too, unless it has children.
    pub(super) fn task_ended(&mut self, job: ThreadId, end: JobEnd) {
        // A job whose resumption is lost may have been given something at a channel.
        self.leave_channels(job);
        self.abandon_blocks(job);
        let own = self.job_mut(job);
        (own.end, own.stage) = (Some(end), JobStage::Completing);
        if let JobEnd::Failed(exception) = end {
            self.fail(job, exception);
        }
        self.complete(job);
    }

    // A job fails: it is cancelled with its children, and so is its parent, unless that is a scope. The end of a block
    // throws the failure.
    pub(super) fn fail(&mut self, job: ThreadId, exception: Value) {
        let mut failing = vec![job];
        let mut last = job;
        while let Some(parent) = self.job(last).filter(|j| !j.is_block()).and_then(|j| j.parent)
            && self.job(parent).is_some_and(|p| !p.is_scope && p.stage != JobStage::Done)
        {
            failing.push(parent);
            last = parent;
        }
        // A cancellation ends a job that waited for nothing but this child, so all failures are recorded first.
        for job in &failing {
            let own = self.job_mut(*job);
            own.failure = own.failure.or(Some(exception));
        }
        for job in failing {
            self.request_cancel(job, Some(exception));
        }
    }

    /// Requests the cancellation of a job and of its children; `failure` is its cause if it is a failure.
    pub(super) fn request_cancel(&mut self, job: ThreadId, failure: Option<Value>) {
        if self.job(job).is_none_or(|j| j.stage == JobStage::Done) {
            return;
        }
        let own = self.job_mut(job);
        own.failure = own.failure.or(failure);
        if std::mem::replace(&mut own.cancelled, true) {
            return;
        }
        if own.is_scope && own.block.is_none() {
            own.end = Some(JobEnd::Cancelled);
        }
        for child in own.children.clone() {
            self.request_cancel(child, None);
        }
        self.complete(job);
    }

    // Ends a job if its task and all its children have ended.
    pub(super) fn complete(&mut self, job: ThreadId) {
        let Some(own) = self.job(job) else { return };
        let waits = !own.children.is_empty() && !mutant::is(Mutant::ParentDoesNotWait);
        let Some(end) = own.end.filter(|_| !waits && own.stage != JobStage::Done) else { return };
        let (failure, parent, kind, has_task) = (own.failure, own.parent, own.kind, own.has_task());
        let cancelled = own.cancelled;
        let own = self.job_mut(job);
        own.stage = JobStage::Done;
        own.end = Some(match failure {
            Some(exception) => JobEnd::Failed(exception),
            None if cancelled => JobEnd::Cancelled,
            None => end,
        });
        self.jobs.live -= u32::from(has_task);
        self.threads[job].status = ThreadStage::Finished;
        self.workers.set(job, false);
        self.daemons.set(job, false);
        let (thread, by) = (self.jobs.actor.map(|(thread, _)| thread), self.threads[job].home);
        self.record(thread, Some(by), None, || EventKind::JobExit(job));
        self.refresh_pending_at_thread(job);
        let reports = parent.and_then(|p| self.job(p)).is_none_or(|p| p.is_scope || p.stage == JobStage::Done);
        if let Some(exception) = failure.filter(|_| reports && !kind.keeps_failure) {
            self.jobs.uncaught.push((job, exception));
        }
        if reports && kind.micro && failure.is_some() && !self.setup.uncaught_ends_thread && !self.is_joined(job) {
            self.jobs.rejected.push(job);
        }
        if let Some(parent) = parent.filter(|p| self.job(*p).is_some_and(|p| p.stage != JobStage::Done)) {
            self.job_mut(parent).children.retain(|child| *child != job);
            self.complete(parent);
        }
    }

    // Returns whether a job or a thread waits for the end of a job.
    fn is_joined(&self, job: ThreadId) -> bool {
        let joins = |other: &ThreadId| self.job(*other).is_some_and(|o| o.suspension == Suspension::Join(job));
        !self.threads[job].pending_set.0.is_empty() || self.jobs.waiting.iter().any(joins)
    }

    /// Records that a job or thread has waited for the end of a job, or has asked for its result.
    pub(super) fn handle_failure(&mut self, job: ThreadId) {
        if self.jobs.rejected.contains(&job) {
            self.jobs.rejected.retain(|rejected| *rejected != job);
            self.job_mut(job);
        }
    }

    /// Moves promises that have failed to those whose failure has to be reported, if nobody has handled them up to the
    /// end of the message in which they failed, with its microtasks (`unhandledRejection` of Node.js).
    pub(super) fn give_up_rejected(&mut self) {
        let ended = |world: &World, job: ThreadId| {
            let looper = world.job(job).map_or(job, |own| own.looper);
            let about = &world.threads[looper];
            let next = about.queue.as_ref().and_then(|queue| queue.messages().next());
            !about.in_task() && !next.is_some_and(Message::is_micro)
        };
        for job in self.jobs.rejected.clone() {
            if let (true, Some(JobEnd::Failed(exception))) = (ended(self, job), self.job(job).and_then(|own| own.end)) {
                self.jobs.rejected.retain(|rejected| *rejected != job);
                self.jobs.uncaught.push((job, exception));
            }
        }
    }

    /// Answers a question about a job.
    pub(super) fn ask_job(&mut self, job: ThreadId, what: JobQuestion) -> Result<Reply, ThrownException> {
        if what == JobQuestion::Result {
            self.handle_failure(job);
        }
        let Some(own) = self.job(job) else { return Err(ThrownException::IllegalState) };
        Ok(Reply::Value(match what {
            JobQuestion::Done => i64::from(own.stage == JobStage::Done),
            JobQuestion::Cancelled => i64::from(own.cancelled),
            JobQuestion::Result => match own.end.filter(|_| own.stage == JobStage::Done) {
                Some(JobEnd::Returned(value)) => value,
                Some(JobEnd::Failed(exception)) => return Ok(Reply::Rethrow(exception)),
                Some(JobEnd::Cancelled) => return Err(ThrownException::Cancelled),
                None => return Err(ThrownException::IllegalState),
            },
        }))
    }
}
