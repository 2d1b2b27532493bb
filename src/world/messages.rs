//! Performs the operations that put messages into queues and remove them.

use super::World;
use super::contexts::CreationKind;
use super::perform::{Reply, ThrownException};
use super::queue::{MessageKind, Queue, TaskMessage};
use crate::base::mutant::{self, Mutant};
use crate::event::{BodyId, ContextId, EventKind, LimitKind, Op, Outcome, PostTime, SiteId, Target, ThreadId, Value};

impl World {
    /// Performs the pending post of a thread. Its value is 1 if the queue has accepted the message, else 0.
    ///
    /// `asleep` is the answer to the question of an idle handler: whether its looper sleeps already.
    pub(super) fn post(
        &mut self,
        thread: ThreadId,
        asleep: bool,
        made: &mut Option<ContextId>,
    ) -> Result<Value, ThrownException> {
        let Op::Post { target, body, args, time, is_async, instance } = self.threads[thread].pending else {
            debug_assert!(false, "the thread is not pending at a post");
            return Ok(0);
        };
        let looper = self.thread_of(target);
        let accepts = match time {
            // Only the looper itself has microtasks, and it has them as long as it runs.
            PostTime::Micro if looper != thread || self.threads[looper].queue.is_none() => {
                return Err(ThrownException::IllegalState);
            }
            PostTime::Micro => true,
            _ => !self.finished(looper) && self.threads[looper].queue.as_ref().is_some_and(|q| !q.quit),
        };
        if !accepts {
            let (context, site) = (self.threads[thread].context, self.threads[thread].site);
            self.refuse(Some(thread), Some(context), site);
            return Ok(0);
        }
        let when = match time {
            PostTime::Now => self.now,
            PostTime::After(delay) => self.after(delay),
            PostTime::Front | PostTime::Micro | PostTime::Idle { .. } => 0,
            PostTime::At(instant) => self.at(instant),
        };
        let context = self.contexts.child(self.threads[thread].context, CreationKind::Body(body));
        *made = Some(context);
        let task = TaskMessage { body, args, context, target, is_async, instance, job: None };
        match time {
            PostTime::Micro => self.with_room(looper, |queue| queue.push_micro(task)),
            PostTime::Idle { keep } => self.with_room(looper, |queue| queue.register_idle(task, keep, asleep)),
            _ => self.with_room(looper, |queue| queue.push(when, MessageKind::Task(task))),
        }
        Ok(1)
    }

    /// Begins the next task of a looper, or makes it leave its loop.
    pub(super) fn begin(&mut self, thread: ThreadId, made: &mut Option<ContextId>) -> Result<Reply, ThrownException> {
        let now = self.now;
        if self.threads[thread].in_task() {
            return Err(ThrownException::IllegalState);
        }
        let queue = self.threads[thread].queue.as_mut().ok_or(ThrownException::IllegalState)?;
        if queue.idle_is_next(now) {
            return Ok(self.begin_idle(thread, made));
        }
        let Some(task) = queue.pop(now) else {
            queue.clear();
            self.jobs.dropped = true;
            return Ok(Reply::LeaveLoop);
        };
        *made = Some(task.context);
        if let Some(job) = task.job {
            return Ok(self.begin_job(thread, job, (task.body, task.args)));
        }
        self.threads[thread].context = task.context;
        Ok(Reply::Task(task.body, task.args))
    }

    /// Removes the queued messages of a handler: those of one body, or all of them.
    pub(super) fn cancel(&mut self, target: Target, body: Option<BodyId>) -> Result<Value, ThrownException> {
        let looper = self.thread_of(target);
        let queue = self.threads[looper].queue.as_mut().ok_or(ThrownException::IllegalState)?;
        let any = mutant::is(Mutant::CancelByLooper);
        queue.cancel(|m| (m.target == target || any) && body.is_none_or(|b| b == m.body));
        self.refresh_looper(looper);
        Ok(0)
    }

    // A post to a looper that has quit does not fail. It is only counted and recorded (rule 6).
    pub(super) fn refuse(&mut self, thread: Option<ThreadId>, context: Option<ContextId>, site: Option<SiteId>) {
        self.refused_posts += 1;
        self.record(thread, context, site, || EventKind::Refused);
    }

    /// Adds the message of an event to the queue of its looper, or counts it as refused if the looper has quit.
    pub(super) fn enqueue(&mut self, looper: ThreadId, when: u64, kind: MessageKind) {
        if self.threads[looper].queue.as_ref().is_none_or(|q| q.quit) {
            self.refuse(None, None, None);
            return;
        }
        self.with_room(looper, |queue| queue.push(when, kind));
    }

    // Adds to the queue of a looper, or ends the run if the queue is as long as the limit allows.
    pub(super) fn with_room(&mut self, looper: ThreadId, add: impl FnOnce(&mut Queue)) {
        let most = self.limits.queue;
        let Some(queue) = self.threads[looper].queue.as_mut() else { return };
        if queue.len() as u64 >= u64::from(most) {
            self.end(Outcome::Limit(LimitKind::QueueLength, u64::from(most)));
            return;
        }
        add(queue);
        self.refresh_looper(looper);
    }
}
