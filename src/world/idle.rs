//! Idle handlers: tasks that a looper runs when it has no message to begin. They follow Android's `MessageQueue.next`.
//!
//! When a looper asks its queue for the next message and the queue is empty, or its head is not due, the looper has an
//! *idle moment*: it runs all handlers that are registered then, in the order of their registration, and looks at its
//! messages only afterwards. Then it sleeps. The next idle moment comes after the next message. Therefore a handler
//! that another thread registers while the looper sleeps waits for that message.

use super::World;
use super::contexts::CreationKind;
use super::perform::Reply;
use super::queue::{Message, Queue, TaskMessage};
use super::threads::ThreadStage;
use crate::base::mutant::{self, Mutant};
use crate::event::{ContextId, EventKind, Op, PostTime, ThreadId};

/// The idle handlers of one looper.
#[derive(Clone, Debug, Default)]
pub(super) struct IdleHandlers {
    // In the order of their registration.
    pub(super) handlers: Vec<IdleHandler>,
    // Whether the looper has had an idle moment since its last message.
    asleep: bool,
}

/// A registered idle handler.
#[derive(Clone, Debug)]
pub(super) struct IdleHandler {
    pub(super) task: TaskMessage,
    /// Whether the handler stays registered when it runs.
    pub(super) keep: bool,
    /// Whether the handler runs in the idle moment that has begun.
    pub(super) due: bool,
}

impl Queue {
    /// Registers an idle handler. With `asleep`, the looper has had its idle moment just before.
    pub(super) fn register_idle(&mut self, task: TaskMessage, keep: bool, asleep: bool) {
        let idle = self.idle.get_or_insert_default();
        idle.asleep |= asleep;
        idle.handlers.push(IdleHandler { task, keep, due: false });
    }

    /// Returns the idle handlers in the order of their registration.
    pub(super) fn idle_handlers(&self) -> impl Iterator<Item = &IdleHandler> {
        self.idle.iter().flat_map(|idle| &idle.handlers)
    }

    /// Returns whether the looper sleeps: it runs no idle handler before its next message.
    pub(super) fn is_asleep(&self) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.asleep)
    }

    // Whether the looper has an idle moment when it looks at the queue now. A fence that is due prevents it, too.
    fn is_idle_moment(&self, now: u64) -> bool {
        let due = |head: &Message| head.when <= now && !mutant::is(Mutant::IdleBesideDueFences);
        !self.quit && !self.is_asleep() && !self.messages().next().is_some_and(due)
    }

    /// Returns whether the next thing that the looper begins is an idle handler.
    #[inline]
    pub(super) fn idle_is_next(&self, now: u64) -> bool {
        self.idle.is_some() && self.some_idle_is_next(now)
    }

    #[inline(never)]
    fn some_idle_is_next(&self, now: u64) -> bool {
        if self.messages().next().is_some_and(Message::is_micro) {
            return false;
        }
        let mut handlers = self.idle_handlers();
        handlers.any(|handler| handler.due) || self.idle_handlers().next().is_some() && self.is_idle_moment(now)
    }

    // Takes the idle handler that begins next. The index is that of a handler that stays.
    fn pop_idle(&mut self) -> Option<(TaskMessage, Option<usize>)> {
        let idle = self.idle.as_mut()?;
        if !idle.handlers.iter().any(|handler| handler.due) {
            idle.asleep = true;
            idle.handlers.iter_mut().for_each(|handler| handler.due = true);
        }
        let at = idle.handlers.iter().position(|handler| handler.due)?;
        if !idle.handlers[at].keep {
            return Some((idle.handlers.remove(at).task, None));
        }
        idle.handlers[at].due = false;
        Some((idle.handlers[at].task.clone(), Some(at)))
    }

    /// Removes the registration of the idle handler with this handle. Returns false if there is none.
    pub(super) fn cancel_idle(&mut self, first: ContextId) -> bool {
        let Some(idle) = &mut self.idle else { return false };
        let is = |handler: &IdleHandler| handler.task.first == first && (handler.keep || !handler.due);
        let Some(at) = idle.handlers.iter().position(is) else { return false };
        if idle.handlers[at].due {
            idle.handlers[at].keep = false;
        } else {
            idle.handlers.remove(at);
        }
        true
    }

    /// Ends the sleep of the looper, because it begins a message.
    pub(super) fn wake_idle(&mut self) {
        if let Some(idle) = &mut self.idle {
            idle.asleep = mutant::is(Mutant::IdleOnce);
        }
    }

    /// Drops the idle handlers, because the looper quits. An idle moment that has begun is finished.
    pub(super) fn quit_idle(&mut self) {
        if let Some(idle) = &mut self.idle {
            idle.handlers.retain(|handler| handler.due);
            idle.handlers.iter_mut().for_each(|handler| handler.keep = false);
        }
    }
}

impl World {
    /// Begins the next idle handler of a looper. A handler that stays registered gets the name of its next run.
    pub(super) fn begin_idle(&mut self, thread: ThreadId, made: &mut Option<ContextId>) -> Reply {
        let popped = self.threads[thread].queue.as_mut().and_then(|queue| queue.pop_idle());
        let Some((task, stays)) = popped else { return Reply::LeaveLoop };
        *made = Some(task.context);
        self.threads[thread].context = task.context;
        if let Some(at) = stays {
            let next = self.contexts.child(task.context, CreationKind::Body(task.body));
            if let Some(idle) = self.threads[thread].queue.as_mut().and_then(|queue| queue.idle.as_mut()) {
                idle.handlers[at].task.context = next;
            }
            let time = PostTime::Idle { keep: true };
            self.record(Some(thread), Some(task.context), None, || EventKind::Repeated {
                task: next,
                time,
                is_async: false,
            });
        }
        Reply::Task(task.body, task.args)
    }

    /// Returns whether a looper may have had its idle moment just before another thread registers an idle handler: it
    /// is between two messages, it has none to begin, and the moment would have had no effect, since no handler was
    /// registered.
    #[inline(never)]
    pub(super) fn may_have_slept(&self, looper: ThreadId) -> bool {
        let t = &self.threads[looper];
        let between = t.status == ThreadStage::Alive && matches!(t.pending, Op::Begin) && !t.in_task();
        let queue = t.queue.as_ref().filter(|_| between);
        queue.is_some_and(|queue| queue.idle_handlers().next().is_none() && queue.is_idle_moment(self.now))
    }
}
