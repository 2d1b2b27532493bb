//! Performs the operations that put messages into queues and remove them.

use super::World;
use super::contexts::CreationKind;
use super::memory::Memory;
use super::perform::{Reply, ThrownException};
use super::queue::{MessageKind, Queue, TaskMessage, message_of, message_value};
use crate::base::mutant::{self, Mutant};
use crate::event::{
    Args, BodyId, ContextId, EventKind, LimitKind, ObjectId, Op, Outcome, PostOptions, PostTime, SiteId, Target,
    ThreadId, Value,
};

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
        let Op::Post { target, body, args, time, is_async, options, instance } = self.threads[thread].pending else {
            debug_assert!(false, "the thread is not pending at a post");
            return Ok(0);
        };
        let looper = self.thread_of(target);
        let accepts = match time {
            // Only the looper itself has microtasks, and it has them as long as it runs.
            PostTime::Micro | PostTime::Idle { .. } if self.pool(looper).is_some() => {
                return Err(ThrownException::IllegalState);
            }
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
        let target = self.addressee(target);
        let task = TaskMessage { body, args, context, target, is_async, options, first: context, instance, job: None };
        if options.has(PostOptions::DAEMON) {
            self.horizon = u64::MAX;
        }
        match time {
            PostTime::Micro => self.with_room(looper, |queue| queue.push_micro(task)),
            PostTime::Idle { keep } => self.with_room(looper, |queue| queue.register_idle(task, keep, asleep)),
            _ => self.with_room(looper, |queue| queue.push(when, MessageKind::Task(task))),
        }
        Ok(if options.has(PostOptions::HANDLE) { message_value(looper, context) } else { 1 })
    }

    /// Returns the token of a message, given its arguments and options.
    #[must_use]
    pub fn token_of(&self, args: Args, options: PostOptions) -> Option<ObjectId> {
        let value =
            self.args.get(args.first as usize + args.count as usize).filter(|_| options.has(PostOptions::TOKEN));
        value.and_then(|value| Memory::object_of(*value))
    }

    /// Returns the delay in milliseconds with which a message returns to its queue when its task begins.
    #[must_use]
    pub fn period_of(&self, args: Args, options: PostOptions) -> Option<i64> {
        let at = args.first as usize + args.count as usize + usize::from(options.has(PostOptions::TOKEN));
        self.args.get(at).filter(|_| options.has(PostOptions::EVERY)).map(|period| (*period).max(1))
    }

    /// Begins the next task of a looper or worker, or makes it leave its loop.
    pub(super) fn begin(&mut self, thread: ThreadId, made: &mut Option<ContextId>) -> Result<Reply, ThrownException> {
        let reply = self.begin_next(thread, made)?;
        self.worker_has_begun(thread);
        Ok(reply)
    }

    fn begin_next(&mut self, thread: ThreadId, made: &mut Option<ContextId>) -> Result<Reply, ThrownException> {
        let now = self.now;
        if self.threads[thread].in_task() {
            return Err(ThrownException::IllegalState);
        }
        let owner = self.queue_owner(thread);
        let queue = self.threads[owner].queue.as_mut().ok_or(ThrownException::IllegalState)?;
        if queue.idle_is_next(now) {
            return Ok(self.begin_idle(thread, made));
        }
        let Some(task) = queue.pop(now) else {
            queue.clear();
            self.jobs.dropped = true;
            return Ok(Reply::LeaveLoop);
        };
        let quits = queue.quit;
        *made = Some(task.context);
        if let Some(job) = task.job {
            return Ok(self.begin_job(thread, job, (task.body, task.args)));
        }
        self.threads[thread].context = task.context;
        let reply = Reply::Task(task.body, task.args);
        if let Some(period) = self.period_of(task.args, task.options).filter(|_| !quits) {
            self.repeat((thread, owner), task, period);
        }
        Ok(reply)
    }

    // Returns a message to its queue, for another run after `period` milliseconds.
    fn repeat(&mut self, (thread, looper): (ThreadId, ThreadId), mut task: TaskMessage, period: i64) {
        let begun = task.context;
        task.context = self.contexts.child(begun, CreationKind::Body(task.body));
        let (next, when, is_async) = (task.context, self.after(period), task.is_async);
        self.with_room(looper, |queue| queue.push(when, MessageKind::Task(task)));
        let time = PostTime::After(period);
        self.record(Some(thread), Some(begun), None, || EventKind::Repeated { task: next, time, is_async });
    }

    /// Removes the queued messages of a handler: those of one body, or all of them, and of one token, or of any.
    pub(super) fn cancel(
        &mut self,
        target: Target,
        body: Option<BodyId>,
        token: Value,
    ) -> Result<Value, ThrownException> {
        let (looper, target) = (self.thread_of(target), self.addressee(target));
        let any = mutant::is(Mutant::CancelByLooper);
        let token = Memory::object_of(token).filter(|_| !mutant::is(Mutant::TokensIgnored));
        let mut queue = self.threads[looper].queue.take().ok_or(ThrownException::IllegalState)?;
        // Rows of components are posted through a handler that no program can name.
        let is_row = |m: &TaskMessage| {
            self.platform.as_ref().is_some_and(|p| p.under_way.iter().any(|row| row.context == m.context))
        };
        queue.cancel(|m| {
            let has_token = token.is_none() || self.token_of(m.args, m.options) == token;
            (m.target == target || any) && body.is_none_or(|b| b == m.body) && has_token && !is_row(m)
        });
        self.threads[looper].queue = Some(queue);
        self.refresh_looper(looper);
        Ok(0)
    }

    /// Returns the looper of the message with this handle. `None` for the value of a post without a handle.
    #[must_use]
    pub fn looper_of_message(message: Value) -> Option<ThreadId> {
        message_of(message).map(|(looper, _)| looper)
    }

    /// Removes the message with this handle. Its value is 1 if the message was still queued, else 0.
    pub(super) fn cancel_message(&mut self, value: Value) -> Value {
        let Some((looper, first)) = message_of(value) else { return 0 };
        let removed = self.threads[looper].queue.as_mut().is_some_and(|queue| queue.cancel_one(first));
        self.refresh_looper(looper);
        i64::from(removed)
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
