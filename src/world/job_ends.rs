//! The ends of jobs: returns, failures, cancellations, lost messages.

use super::World;
use super::jobs::{JobEnd, JobStage};
use super::perform::{Reply, ThrownException};
use super::queue::MessageKind;
use super::threads::ThreadStage;
use crate::base::mutant::{self, Mutant};
use crate::event::{EventKind, JobQuestion, ThreadId, Value};

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
        let own = self.job_mut(job);
        (own.end, own.stage) = (Some(end), JobStage::Completing);
        if let JobEnd::Failed(exception) = end {
            self.fail(job, exception);
        }
        self.complete(job);
    }

    // A job fails: it is cancelled with its children, and so is its parent, unless that is a scope.
    pub(super) fn fail(&mut self, job: ThreadId, exception: Value) {
        self.request_cancel(job, Some(exception));
        let parent = self.job(job).and_then(|j| j.parent);
        if let Some(parent) = parent.filter(|p| self.job(*p).is_some_and(|p| !p.is_scope && p.stage != JobStage::Done))
        {
            self.fail(parent, exception);
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
        if own.is_scope {
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
        let (failure, parent, kind, is_scope) = (own.failure, own.parent, own.kind, own.is_scope);
        let cancelled = own.cancelled;
        let own = self.job_mut(job);
        own.stage = JobStage::Done;
        own.end = Some(match failure {
            Some(exception) => JobEnd::Failed(exception),
            None if cancelled => JobEnd::Cancelled,
            None => end,
        });
        self.jobs.live -= u32::from(!is_scope);
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
        if let Some(parent) = parent.filter(|p| self.job(*p).is_some_and(|p| p.stage != JobStage::Done)) {
            self.job_mut(parent).children.retain(|child| *child != job);
            self.complete(parent);
        }
    }

    /// Answers a question about a job.
    pub(super) fn ask_job(&self, job: ThreadId, what: JobQuestion) -> Result<Reply, ThrownException> {
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
