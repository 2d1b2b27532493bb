//! Jobs: the launches of async tasks.
//!
//! A job has an entry in the table of threads, but it never acts by itself: a looper runs it as a task, up to its next
//! suspension point. There the looper gives the job up. When what the job waits for has happened, its resumption is
//! queued at its looper as a message. The model is that of kotlinx.coroutines on the dispatcher of a looper:
//!
//! - The resumption is queued in the step that fulfils the wait. Jobs that one step resumes are queued in the order in
//!   which they began to wait.
//! - A wait is over when it is fulfilled, not when the job runs again: a permit is taken, and the condition of an
//!   `await` may no longer hold when the job continues.
//! - Cancellation is a request. The present suspension, or else the next one, throws `Cancelled` in the task. A wait that
//!   was fulfilled before, but whose job has not continued, throws as well and returns its permit.
//! - A job ends when its task and all its children have ended. If a child fails, its parent is cancelled, and ends with
//!   the same failure.

use super::World;
use super::clock::due;
use super::contexts::CreationKind;
use super::perform::{Reply, ThrownException};
use super::queue::{MessageKind, TaskMessage};
use super::threads::ThreadStage;
use crate::event::{
    Args, BodyId, CANCELLED, ContextId, EventKind, JobQuestion, LaunchKind, LaunchParent, LaunchPlace, LimitKind, NULL,
    Op, Outcome, Suspension, ThreadId, Value,
};

/// Stage in the life of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobStage {
    /// The start of the job is queued.
    Posted,
    /// A looper runs the job.
    Running,
    /// The job waits at a suspension point.
    Waiting,
    /// The resumption of the job is queued. The value is that of the suspension.
    Ready(Value),
    /// The task of the job has ended (a scope has none), and the job waits for its children.
    Completing,
    /// The job has ended.
    Done,
}

/// How the task of a job ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobEnd {
    /// The task returned this value.
    Returned(Value),
    /// The task threw this exception, in the guest's form.
    Failed(Value),
    /// The job was cancelled.
    Cancelled,
}

/// State of a job.
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) stage: JobStage,
    /// Looper that runs the job.
    pub(super) looper: ThreadId,
    pub(super) kind: LaunchKind,
    pub(super) parent: Option<ThreadId>,
    /// Whether this is a scope. The failure of a child does not cancel a scope.
    pub(super) is_scope: bool,
    /// Children that have not ended, in the order of their launches.
    pub(super) children: Vec<ThreadId>,
    pub(super) cancelled: bool,
    /// First failure of the task or of a child.
    pub(super) failure: Option<Value>,
    /// How the task has ended.
    pub(super) end: Option<JobEnd>,
    pub(super) suspension: Suspension,
    // What the looper returns to when it gives the job up: its context, and the job that it runs then.
    outer: (ContextId, Option<ThreadId>),
}

impl Job {
    /// Returns the looper that runs the job.
    #[must_use]
    pub fn looper(&self) -> ThreadId {
        self.looper
    }

    /// Returns the stage of the job.
    #[must_use]
    pub fn stage(&self) -> JobStage {
        self.stage
    }

    /// Returns the job that this one belongs to.
    #[must_use]
    pub fn parent(&self) -> Option<ThreadId> {
        self.parent
    }
}

/// All jobs of a run that have not ended.
#[derive(Default)]
pub(super) struct Jobs {
    /// Number of jobs that have not ended, without scopes.
    live: u32,
    /// Jobs that wait at a suspension point, in the order in which they began to wait.
    pub(super) waiting: Vec<ThreadId>,
    /// Jobs without a parent that have failed, each with its exception. The guest has to report them.
    uncaught: Vec<(ThreadId, Value)>,
    /// Counts the changes of jobs.
    changes: u64,
    /// Whether a queue has dropped messages since jobs were last looked after.
    pub(super) dropped: bool,
    // Thread and context of the operation of this step.
    actor: Option<(ThreadId, ContextId)>,
}

crate::clone_in_place!(Jobs { live, waiting, uncaught, changes, dropped, actor });

impl Jobs {
    pub(super) fn clear(&mut self) {
        (self.live, self.changes, self.dropped, self.actor) = (0, 0, false, None);
        self.waiting.clear();
        self.uncaught.clear();
    }

    /// Returns whether there are jobs to look after at the end of a step.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.live > 0 || !self.uncaught.is_empty()
    }

    /// Returns a number that differs after every change of a job.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn note_actor(&mut self, thread: ThreadId, context: ContextId) {
        self.actor = Some((thread, context));
    }

    pub(super) fn no_actor(&mut self) {
        self.actor = None;
    }

    pub(super) fn next_uncaught(&mut self) -> Option<(ThreadId, Value)> {
        if self.uncaught.is_empty() { None } else { Some(self.uncaught.remove(0)) }
    }
}

impl World {
    /// Returns the state of a job. `None` if the thread is no job.
    #[must_use]
    pub fn job(&self, job: ThreadId) -> Option<&Job> {
        self.threads[job].job.as_deref()
    }

    fn job_mut(&mut self, job: ThreadId) -> &mut Job {
        self.jobs.changes += 1;
        self.threads[job].job.as_deref_mut().expect("only jobs are asked for")
    }

    /// Returns the job with this context. `None` if the context is not that of a job.
    #[must_use]
    pub fn job_of(&self, context: ContextId) -> Option<ThreadId> {
        let is_job = |id: &ThreadId| self.threads[*id].home == context && self.threads[*id].job.is_some();
        if self.jobs.changes == 0 {
            return None;
        }
        // Jobs are created after the declared threads.
        self.threads.ids().skip(self.setup.threads.len()).find(is_job)
    }

    /// Returns whether this is a job that waits at a suspension point.
    pub(super) fn job_waits(&self, job: ThreadId) -> bool {
        self.job(job).is_some_and(|job| job.stage == JobStage::Waiting)
    }

    /// Returns the job that a thread runs.
    #[must_use]
    pub fn running_job(&self, thread: ThreadId) -> Option<ThreadId> {
        self.threads[thread].running
    }

    // Adds a job. At the limit of threads, ends the run and returns `None`.
    fn add_job(
        &mut self,
        thread: ThreadId,
        made: CreationKind,
        looper: ThreadId,
        kind: LaunchKind,
    ) -> Option<ThreadId> {
        if self.threads.len() as u64 >= u64::from(self.limits.threads) {
            self.end(Outcome::Limit(LimitKind::Threads, u64::from(self.limits.threads)));
            return None;
        }
        let home = self.contexts.child(self.threads[thread].context, made);
        let id = self.threads.add(|t| t.renew(home, kind.daemon, false));
        self.threads[id].status = ThreadStage::Job;
        self.threads[id].job = Some(Box::new(Job {
            stage: JobStage::Posted,
            looper,
            kind,
            parent: None,
            is_scope: false,
            children: Vec::new(),
            cancelled: false,
            failure: None,
            end: None,
            suspension: Suspension::Yield,
            outer: (home, None),
        }));
        self.jobs.changes += 1;
        Some(id)
    }

    /// Performs a launch.
    pub(super) fn launch(
        &mut self,
        thread: ThreadId,
        (body, args): (BodyId, Args),
        (place, parent, kind): (LaunchPlace, LaunchParent, LaunchKind),
        made: &mut Option<ContextId>,
    ) -> Result<Reply, ThrownException> {
        let looper = match place {
            LaunchPlace::Posted(target) => self.thread_of(target),
            LaunchPlace::Here | LaunchPlace::Now => thread,
        };
        if self.threads[looper].queue.is_none() {
            return Err(ThrownException::IllegalState);
        }
        let parent = match parent {
            LaunchParent::Caller => self.threads[thread].running,
            LaunchParent::Nobody => None,
            LaunchParent::Job(job) => Some(job),
        };
        let Some(job) = self.add_job(thread, CreationKind::Body(body), looper, kind) else {
            return Ok(Reply::Value(NULL));
        };
        let context = self.threads[job].home;
        *made = Some(context);
        self.jobs.live += 1;
        self.workers.set(job, !kind.daemon);
        self.daemons.set(job, kind.daemon);
        // A child of a job that is cancelled or has ended is cancelled from the start.
        let late = parent.and_then(|p| self.job(p)).is_some_and(|p| p.cancelled || p.stage == JobStage::Done);
        let own = self.job_mut(job);
        (own.parent, own.cancelled) = (parent, late);
        if let Some(parent) = parent.filter(|p| self.job(*p).is_some_and(|p| p.stage != JobStage::Done)) {
            self.job_mut(parent).children.push(job);
        }
        if place == LaunchPlace::Now {
            self.enter_job(thread, job);
            return Ok(Reply::Start { job, body, args, launched: true });
        }
        let target = crate::event::Target::Thread(looper);
        self.queue_job(
            job,
            TaskMessage { body, args, context, target, is_async: true, instance: None, job: Some(job) },
        );
        Ok(Reply::Value(i64::from(job.0)))
    }

    /// Creates a scope.
    pub(super) fn spawn_scope(&mut self, thread: ThreadId, made: &mut Option<ContextId>) -> Value {
        let kind = LaunchKind { daemon: true, keeps_failure: true };
        let Some(scope) = self.add_job(thread, CreationKind::Scope, thread, kind) else { return NULL };
        *made = Some(self.threads[scope].home);
        let job = self.job_mut(scope);
        (job.is_scope, job.stage) = (true, JobStage::Completing);
        i64::from(scope.0)
    }

    // Queues the start or a resumption of a job. A looper that has quit drops it.
    fn queue_job(&mut self, job: ThreadId, message: TaskMessage) {
        let looper = self.threads[job].job.as_ref().map_or(job, |j| j.looper);
        let accepts = !self.finished(looper) && self.threads[looper].queue.as_ref().is_some_and(|q| !q.quit);
        if accepts {
            self.enqueue(looper, self.now, MessageKind::Task(message));
        } else {
            self.refused_posts += 1;
            self.jobs.dropped = true;
        }
    }

    // A thread begins to run a job.
    fn enter_job(&mut self, thread: ThreadId, job: ThreadId) {
        let t = &mut self.threads[thread];
        let outer = (t.context, t.running);
        let home = self.threads[job].home;
        let t = &mut self.threads[thread];
        (t.context, t.running) = (home, Some(job));
        let job = self.job_mut(job);
        (job.stage, job.outer) = (JobStage::Running, outer);
    }

    // A thread gives up the job that it runs, or has come to its end.
    fn leave_job(&mut self, thread: ThreadId, job: ThreadId) {
        let (context, running) = self.threads[job].job.as_ref().map_or((self.threads[thread].home, None), |j| j.outer);
        (self.threads[thread].context, self.threads[thread].running) = (context, running);
    }

    /// Begins the message of a job at its looper.
    pub(super) fn begin_job(&mut self, thread: ThreadId, job: ThreadId, (body, args): (BodyId, Args)) -> Reply {
        let (stage, cancelled, suspension) =
            self.job(job).map_or((JobStage::Done, true, Suspension::Yield), |j| (j.stage, j.cancelled, j.suspension));
        self.enter_job(thread, job);
        let JobStage::Ready(value) = stage else {
            if cancelled {
                self.end_job(thread, job, JobEnd::Cancelled);
                return Reply::Skipped;
            }
            return Reply::Start { job, body, args, launched: false };
        };
        if cancelled
            && value == 1
            && let Some(semaphore) = suspension.semaphore()
        {
            self.give_back(semaphore, 1);
        }
        let value = if cancelled { CANCELLED } else { value };
        self.record_resumption(thread, job, value);
        Reply::Continue { job, value }
    }

    fn record_resumption(&mut self, thread: ThreadId, job: ThreadId, value: Value) {
        let (context, site) = (self.threads[job].home, self.threads[job].site);
        let op = Op::Resume(self.job(job).map_or(Suspension::Yield, |j| j.suspension));
        self.record(Some(thread), Some(context), site, || EventKind::Performed { op, value, made: None });
    }

    /// Performs a suspension of the job that a thread runs: completes it at once, or makes the thread give up the job.
    pub(super) fn suspend(&mut self, thread: ThreadId, on: Suspension) -> Result<Reply, ThrownException> {
        let job = self.threads[thread].running.ok_or(ThrownException::IllegalState)?;
        if let Suspension::Switch(to) = on
            && self.threads[to].queue.is_none()
        {
            return Err(ThrownException::IllegalState);
        }
        self.threads[job].site = self.threads[thread].site;
        self.job_mut(job).suspension = on;
        let cancelled = self.job(job).is_some_and(|j| j.cancelled);
        let now = if cancelled { Some(CANCELLED) } else { self.completes_at_once(thread, on) };
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
            Suspension::Await { timeout } => timeout,
            _ => None,
        };
        let deadline = delay.map(|delay| self.after(delay));
        let own = &mut self.threads[job];
        (own.pending, own.deadline, own.condition) = (on.blocking(), deadline, false);
        self.timed.set(job, deadline.is_some());
        if let Suspension::Switch(to) = on {
            self.job_mut(job).looper = to;
        }
        self.job_mut(job).stage = JobStage::Waiting;
        self.jobs.waiting.push(job);
        let context = self.threads[job].home;
        self.record(Some(thread), Some(context), None, || EventKind::Suspended);
        self.leave_job(thread, job);
        Ok(Reply::Suspended(job))
    }

    // Returns the value of a suspension that does not have to wait.
    fn completes_at_once(&self, thread: ThreadId, on: Suspension) -> Option<Value> {
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
            Suspension::Yield => None,
            Suspension::Switch(to) => (to == thread).then_some(0),
        }
    }

    fn take_permit(&mut self, semaphore: crate::event::SemaphoreId) {
        self.semaphores[semaphore].count -= 1;
        self.refresh_all(|w| &w.semaphores[semaphore].pending_set);
    }

    // Returns the value with which a waiting job resumes, if its wait is over.
    fn wait_is_over(&self, job: ThreadId) -> Option<Value> {
        let t = &self.threads[job];
        let timed_out = due(t.deadline, self.now);
        let own = self.job(job)?;
        if own.cancelled {
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
        }
    }

    /// Looks after all jobs at the end of a step: queues the resumptions of those whose wait is over, and ends those
    /// whose message was dropped.
    pub(super) fn tend_jobs(&mut self) {
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
            self.threads[job].deadline = None;
            self.timed.set(job, false);
            self.job_mut(job).stage = JobStage::Ready(value);
            self.record_ready(job, &mut resumed);
            let (looper, context) = (self.job(job).map_or(job, |j| j.looper), self.threads[job].home);
            let target = crate::event::Target::Thread(looper);
            let (body, args) = (self.body_of(job), Args::default());
            self.queue_job(
                job,
                TaskMessage { body, args, context, target, is_async: true, instance: None, job: Some(job) },
            );
        }
    }

    // Records that the resumption of a job is queued, behind the operation that caused it and the `before` resumptions
    // that it has also caused.
    fn record_ready(&mut self, job: ThreadId, before: &mut usize) {
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

    /// Returns the body of a job.
    pub(super) fn body_of(&self, job: ThreadId) -> BodyId {
        match self.contexts.made(self.threads[job].home) {
            CreationKind::Body(body) => body,
            _ => BodyId(0),
        }
    }

    // Ends the jobs whose start or resumption is in no queue any more, because a looper has dropped it.
    fn lose_jobs(&mut self) {
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
    fn task_ended(&mut self, job: ThreadId, end: JobEnd) {
        let own = self.job_mut(job);
        (own.end, own.stage) = (Some(end), JobStage::Completing);
        if let JobEnd::Failed(exception) = end {
            self.fail(job, exception);
        }
        self.complete(job);
    }

    // A job fails: it is cancelled with its children, and so is its parent, unless that is a scope.
    fn fail(&mut self, job: ThreadId, exception: Value) {
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
    fn complete(&mut self, job: ThreadId) {
        let Some(own) = self.job(job) else { return };
        let Some(end) = own.end.filter(|_| own.children.is_empty() && own.stage != JobStage::Done) else { return };
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
