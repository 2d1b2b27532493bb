//! Jobs: the launches of async tasks.
//!
//! A job has an entry in the table of threads, but it never acts by itself: a looper runs it as a task, up to its next
//! suspension point. There the looper gives the job up. When what the job waits for has happened, its resumption is
//! queued at its looper as a message. The model is that of kotlinx.coroutines on the dispatcher of a looper:
//!
//! - The resumption is queued in the step that fulfils the wait. Jobs that one step resumes are queued in the order in
//!   which they began to wait, and those whose time has passed in the order of their deadlines, due then.
//! - A wait is over when it is fulfilled, not when the job runs again: a permit is taken, and the condition of an
//!   `await` may no longer hold when the job continues.
//! - Cancellation is a request. The present or next suspension throws `Cancelled` in the task. A wait that
//!   was fulfilled before, but whose job has not continued, throws as well and returns its permit.
//! - A job ends when its task and all its children have ended. If a child fails, its parent is cancelled, and ends with
//!   the same failure.

use super::World;
use super::contexts::CreationKind;
use super::perform::{Reply, ThrownException};
use super::queue::{MessageKind, TaskMessage};
use super::threads::ThreadStage;
use crate::base::Rare;
use crate::base::mutant::{self, Mutant};
use crate::event::{
    Args, BlockKind, BodyId, CANCELLED, ContextId, LaunchKind, LaunchParent, LaunchPlace, LimitKind, NULL, Outcome,
    PostOptions, Suspension, Target, ThreadId, Value,
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
    /// The kind of block that this job stands for.
    pub(super) block: Option<BlockKind>,
    /// The open blocks of the job, the outermost one first.
    pub(super) blocks: Vec<ThreadId>,
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

    /// Returns whether the job is a promise.
    #[must_use]
    pub fn is_promise(&self) -> bool {
        self.kind.micro
    }

    /// Returns whether this is a block of another job's task.
    #[must_use]
    pub fn is_block(&self) -> bool {
        self.block.is_some()
    }

    /// Returns whether the job has a task: it is neither a scope nor a block.
    pub(super) fn has_task(&self) -> bool {
        !self.is_scope && self.block.is_none()
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
    /// Number of jobs that have not ended, without scopes and blocks.
    pub(super) live: u32,
    /// Jobs that wait at a suspension point, in the order in which they began to wait.
    pub(super) waiting: Vec<ThreadId>,
    /// Failures that the guest has to report, each with its exception: of jobs without a parent, and of promises that
    /// no job or thread has handled.
    pub(super) uncaught: Vec<(ThreadId, Value)>,
    /// Counts the changes of jobs.
    changes: u64,
    /// Whether a queue has dropped messages since jobs were last looked after.
    pub(super) dropped: bool,
    // Thread and context of the operation of this step.
    pub(super) actor: Option<(ThreadId, ContextId)>,
}

crate::clone_in_place!(Jobs { live, waiting, uncaught, changes, dropped, actor });

impl Rare for Jobs {
    #[inline(always)]
    fn is_unused(&self) -> bool {
        self.changes == 0
    }
}

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
}

impl World {
    /// Returns the state of a job. `None` if the thread is no job.
    #[must_use]
    pub fn job(&self, job: ThreadId) -> Option<&Job> {
        self.threads[job].job.as_deref()
    }

    pub(super) fn job_mut(&mut self, job: ThreadId) -> &mut Job {
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
    pub(super) fn add_job(
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
            block: None,
            blocks: Vec::new(),
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
            LaunchPlace::Here | LaunchPlace::Now => self.queue_owner(thread),
        };
        // Promises belong to one thread.
        if self.threads[looper].queue.is_none() || kind.micro && self.pool(looper).is_some() {
            return Err(ThrownException::IllegalState);
        }
        let parent = match parent {
            LaunchParent::Caller => self.threads[thread].running.map(|job| self.innermost_block(job)),
            LaunchParent::NoParent => None,
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
        self.queue_job(job, args, (self.now, false));
        Ok(Reply::Value(i64::from(job.0)))
    }

    /// Creates a scope.
    pub(super) fn spawn_scope(&mut self, thread: ThreadId, made: &mut Option<ContextId>) -> Value {
        let kind = LaunchKind { daemon: true, keeps_failure: true, micro: false };
        let Some(scope) = self.add_job(thread, CreationKind::Scope, thread, kind) else { return NULL };
        *made = Some(self.threads[scope].home);
        let job = self.job_mut(scope);
        (job.is_scope, job.stage) = (true, JobStage::Completing);
        i64::from(scope.0)
    }

    // Queues the start or a resumption of a job, as a microtask or as a message that is due at this instant. A looper
    // that has quit drops it.
    pub(super) fn queue_job(&mut self, job: ThreadId, args: Args, (when, micro): (u64, bool)) {
        let Some(looper) = self.job(job).map(Job::looper) else { return };
        let accepts = !self.finished(looper) && self.threads[looper].queue.as_ref().is_some_and(|q| !q.quit || micro);
        if !accepts {
            self.refused_posts += 1;
            self.jobs.dropped = true;
            return;
        }
        let task = TaskMessage {
            body: self.body_of(job),
            args,
            context: self.threads[job].home,
            target: Target::Thread(looper),
            is_async: !micro,
            options: PostOptions::default(),
            first: self.threads[job].home,
            instance: None,
            job: Some(job),
        };
        self.with_room(looper, |queue| match micro {
            true => queue.push_micro(task),
            false => queue.push(when, MessageKind::Task(task)),
        });
    }

    // A thread begins to run a job.
    pub(super) fn enter_job(&mut self, thread: ThreadId, job: ThreadId) {
        let t = &mut self.threads[thread];
        let outer = (t.context, t.running);
        let home = self.threads[job].home;
        let t = &mut self.threads[thread];
        (t.context, t.running) = (home, Some(job));
        let job = self.job_mut(job);
        (job.stage, job.outer) = (JobStage::Running, outer);
    }

    // A thread gives up the job that it runs, or has come to its end.
    pub(super) fn leave_job(&mut self, thread: ThreadId, job: ThreadId) {
        let (context, running) = self.threads[job].job.as_ref().map_or((self.threads[thread].home, None), |j| j.outer);
        (self.threads[thread].context, self.threads[thread].running) = (context, running);
    }

    /// Begins the message of a job at its looper.
    pub(super) fn begin_job(&mut self, thread: ThreadId, job: ThreadId, (body, args): (BodyId, Args)) -> Reply {
        let (stage, suspension) =
            self.job(job).map_or((JobStage::Done, Suspension::Yield), |j| (j.stage, j.suspension));
        // The end of a block has waited for its children, and decides by itself whether it throws.
        let cancelled = self.is_cancelled(job) && !matches!(suspension, Suspension::CloseBlock { .. });
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
            && !mutant::is(Mutant::CancelledJobKeepsPermit)
            && let Some(semaphore) = suspension.semaphore()
        {
            self.give_back(semaphore, 1);
        }
        let value = if cancelled { CANCELLED } else { value };
        if cancelled {
            // What a partner has handed over is lost.
            self.leave_channels(job);
        }
        self.record_resumption(thread, job, value);
        Reply::Continue { job, value }
    }

    /// Returns the body of a job.
    pub(crate) fn body_of(&self, job: ThreadId) -> BodyId {
        match self.contexts.made(self.threads[job].home) {
            CreationKind::Body(body) => body,
            _ => BodyId(0),
        }
    }
}
