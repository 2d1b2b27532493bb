//! Android's message queue: ordered by (when, seq), never by chance. The rules are numbered as in
//! `docs/language_more.md`.

use super::idle::IdleHandlers;
use crate::base::mutant::{self, Mutant};
use crate::event::{Args, BodyId, ContextId, PostOptions, PostTime, Target, ThreadId, Value};
use std::collections::VecDeque;

/// Message queue of a looper.
#[derive(Debug, Default)]
pub struct Queue {
    // Invariant: strictly ascending by (when, seq). Microtasks have the least sequence numbers of all, so that they are
    // the first entries, in the order of their posts.
    messages: VecDeque<Message>,
    // Number of asynchronous tasks among `messages`. If it is 0, no message can pass a fence, and `next` need not
    // search.
    asynchronous: u32,
    // Number of daemon tasks among `messages`: they do not keep the run going.
    daemons: u32,
    // Sequence number of the last ordinary message. These count up from 1.
    last_seq: i64,
    // Sequence number of the last message at the front. These count down from -1, so the last one comes first.
    first_seq: i64,
    next_token: u32,
    pub(super) quit: bool,
    // `None` if the queue has had no idle handlers.
    pub(super) idle: Option<Box<IdleHandlers>>,
}

crate::clone_in_place!(Queue { messages, asynchronous, daemons, last_seq, first_seq, next_token, quit, idle });

// The sequence numbers below this one are those of microtasks. They count up from the least number.
const MICROTASKS: i64 = i64::MIN / 2;

/// An entry of a queue.
#[derive(Clone, Debug)]
pub struct Message {
    /// Due time, in units of the virtual clock. 0 for a post at the front.
    pub when: u64,
    pub(super) seq: i64,
    /// Whether the message is a task or a fence, with its content.
    pub kind: MessageKind,
}

/// Content of a message: a task or a fence.
#[derive(Clone, Debug)]
pub enum MessageKind {
    /// A posted task.
    Task(TaskMessage),
    /// A synchronization barrier with its token, which is unique in the queue.
    Fence(u32),
}

/// A task that has been posted.
#[derive(Clone, Debug)]
pub struct TaskMessage {
    /// Procedure that the task runs.
    pub body: BodyId,
    /// Arguments of the procedure.
    pub args: Args,
    /// Context of the task, which gives it its name.
    pub context: ContextId,
    /// Handler or looper through which the task was posted. A removal compares it.
    pub target: Target,
    /// Whether the task may pass fences.
    pub is_async: bool,
    /// Options of the post. Their values follow the arguments.
    pub options: PostOptions,
    /// Context of the first run of the message. It stays the same when the message returns to the queue.
    pub(super) first: ContextId,
    /// Component instance that the task belongs to (the index of a text of the program).
    pub instance: Option<u32>,
    /// The job that starts or goes on with this message. `None` for any other message.
    pub job: Option<ThreadId>,
}

impl Message {
    /// Returns whether the message is a microtask, which is no entry of Android's queue: neither removals nor `quit`
    /// nor fences concern it.
    #[must_use]
    pub fn is_micro(&self) -> bool {
        self.seq < MICROTASKS
    }

    fn is_daemon(&self) -> bool {
        matches!(&self.kind, MessageKind::Task(task) if task.options.has(PostOptions::DAEMON))
    }

    fn is_async(&self) -> bool {
        matches!(&self.kind, MessageKind::Task(task) if task.is_async)
    }
}

impl Queue {
    /// Empties the queue and resets its counters, as for a new queue.
    pub(super) fn renew(&mut self) {
        self.messages.clear();
        self.idle = None;
        (self.asynchronous, self.daemons, self.last_seq, self.first_seq) = (0, 0, 0, 0);
        (self.next_token, self.quit) = (0, false);
    }

    /// Adds a message that is due at `when`. 0 puts it before all others (rule 1).
    pub(super) fn push(&mut self, when: u64, kind: MessageKind) {
        let seq = if when == 0 && !mutant::is(Mutant::FrontFirstInFirstOut) {
            self.first_seq -= 1;
            self.first_seq
        } else {
            self.last_seq += 1;
            if mutant::is(Mutant::TiesTurnedRound) { -self.last_seq } else { self.last_seq }
        };
        let message = Message { when, seq, kind };
        self.asynchronous += u32::from(message.is_async());
        self.daemons += u32::from(message.is_daemon());
        // Fast path: most messages belong at the end.
        if self.messages.back().is_none_or(|last| (last.when, last.seq) < (when, seq)) {
            self.messages.push_back(message);
            return;
        }
        let at = self.messages.partition_point(|m| (m.when, m.seq) < (when, seq));
        self.messages.insert(at, message);
    }

    /// Adds a microtask behind the other microtasks and before all messages (rule 8).
    pub(super) fn push_micro(&mut self, task: TaskMessage) {
        let at = self.messages.partition_point(Message::is_micro);
        let last = at.checked_sub(1).map_or(i64::MIN, |last| self.messages[last].seq + 1);
        let last_in_first_out = mutant::is(Mutant::MicrotasksLastInFirstOut);
        let at = if last_in_first_out { 0 } else { at };
        self.messages.insert(at, Message { when: 0, seq: last, kind: MessageKind::Task(task) });
    }

    /// Adds a fence that is due at `now`, and returns its token.
    pub(super) fn fence(&mut self, now: u64) -> u32 {
        let token = self.next_token;
        self.next_token += 1;
        self.push(now, MessageKind::Fence(token));
        token
    }

    /// Removes the fence with this token. Returns false if there is none.
    pub(super) fn lift(&mut self, token: u32) -> bool {
        let at = self.messages.iter().position(|m| matches!(m.kind, MessageKind::Fence(t) if t == token));
        at.map(|i| self.messages.remove(i)).is_some()
    }

    // Returns the index of the next message: the head, or the first asynchronous task if the head is a fence (rule 4).
    // The message may not be due yet.
    fn next(&self) -> Option<usize> {
        let head = self.messages.front()?;
        match head.kind {
            MessageKind::Task(_) => Some(0),
            MessageKind::Fence(_) if self.asynchronous == 0 && !mutant::is(Mutant::FencesLetAllPass) => None,
            MessageKind::Fence(_) => {
                let passes = |t: &TaskMessage| {
                    t.is_async && !mutant::is(Mutant::AsyncIgnored) || mutant::is(Mutant::FencesLetAllPass)
                };
                self.messages.iter().position(|m| matches!(&m.kind, MessageKind::Task(t) if passes(t)))
            }
        }
    }

    /// Returns whether a message may begin at `now` (rule 3).
    #[inline]
    pub(super) fn ready(&self, now: u64) -> bool {
        self.next().is_some_and(|i| self.messages[i].when <= now) || self.idle_is_next(now)
    }

    /// Returns whether the queue has a task that keeps the run going, now or later. Daemon messages do not.
    pub(super) fn has_work(&self, now: u64) -> bool {
        if self.daemons == 0 {
            return self.ready(now) || self.has_later(now);
        }
        let counts = || self.messages().filter(|m| !m.is_daemon());
        let first = match counts().next() {
            Some(Message { kind: MessageKind::Fence(_), .. }) => counts().find(|m| m.is_async()),
            head => head,
        };
        first.is_some_and(|m| m.when <= now) || counts().any(|m| m.when > now) || self.idle_is_next(now)
    }

    /// Returns the due time of the next message.
    pub(super) fn next_when(&self) -> Option<u64> {
        self.next().map(|i| self.messages[i].when)
    }

    /// Returns the instant at which the task is due that begins at `now`. An idle handler is due when it begins.
    pub(super) fn when_of_begin(&self, now: u64) -> Option<u64> {
        if self.idle_is_next(now) { Some(now) } else { self.next_when() }
    }

    /// Returns the task that begins next if no further message arrives. It may not be due yet.
    #[must_use]
    pub fn next_task(&self) -> Option<&TaskMessage> {
        match &self.messages[self.next()?].kind {
            MessageKind::Task(task) => Some(task),
            MessageKind::Fence(_) => None,
        }
    }

    /// Removes and returns the task that may begin at `now`. `None` if there is none.
    pub(super) fn pop(&mut self, now: u64) -> Option<TaskMessage> {
        let i = self.next().filter(|&i| self.messages[i].when <= now)?;
        let message = if i == 0 { self.messages.pop_front() } else { self.messages.remove(i) };
        match message {
            Some(Message { kind: MessageKind::Task(task), seq, .. }) => {
                self.asynchronous -= u32::from(task.is_async);
                self.daemons -= u32::from(task.options.has(PostOptions::DAEMON));
                // A microtask belongs to the task before it.
                if seq >= MICROTASKS {
                    self.wake_idle();
                }
                Some(task)
            }
            _ => None,
        }
    }

    /// Removes the message with this handle, or the registration of an idle handler. Returns false if there is none. A
    /// handler that runs in the idle moment that has begun still runs, but does not stay registered.
    pub(super) fn cancel_one(&mut self, first: ContextId) -> bool {
        let is = |m: &Message| !m.is_micro() && matches!(&m.kind, MessageKind::Task(t) if t.first == first);
        if let Some(at) = self.messages.iter().position(is) {
            self.messages.remove(at);
            self.count();
            return true;
        }
        self.cancel_idle(first)
    }

    /// Removes the tasks for which `dead` is true (rule 5).
    pub(super) fn cancel(&mut self, dead: impl Fn(&TaskMessage) -> bool) {
        // The messages of jobs belong to no handler.
        let stays = |t: &TaskMessage| t.job.is_some() || !dead(t);
        self.messages.retain(|m| m.is_micro() || !matches!(&m.kind, MessageKind::Task(t) if !stays(t)));
        self.count();
    }

    /// Closes the queue (rule 6): drops all messages, or with `safely` only those that are not due at `now`. Microtasks
    /// stay: they belong to the running task.
    pub(super) fn quit(&mut self, safely: bool, now: u64) {
        if self.quit {
            return;
        }
        self.quit = true;
        self.quit_idle();
        if safely && !mutant::is(Mutant::QuitSafelyDropsWhatIsDue) {
            self.messages.retain(|m| m.when <= now);
        } else {
            self.messages.retain(Message::is_micro);
        }
        self.count();
    }

    fn count(&mut self) {
        self.asynchronous = self.messages.iter().filter(|m| m.is_async()).count() as u32;
        self.daemons = self.messages.iter().filter(|m| m.is_daemon()).count() as u32;
    }

    /// Drops all messages, because the looper has left its loop.
    pub(super) fn clear(&mut self) {
        self.messages.clear();
        (self.asynchronous, self.daemons) = (0, 0);
        self.idle = None;
    }

    /// Returns the messages in order of (when, seq).
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.iter()
    }

    /// Returns the tasks that `init` has posted, if nothing has run yet, each with the time of its post.
    pub(crate) fn posted_at_start(&self) -> impl Iterator<Item = (&TaskMessage, PostTime)> {
        let of_messages = self.messages.iter().filter_map(|m| match &m.kind {
            MessageKind::Task(task) => Some((task, PostTime::At(i64::try_from(m.when).unwrap_or(i64::MAX)))),
            MessageKind::Fence(_) => None,
        });
        of_messages.chain(self.idle_handlers().map(|handler| (&handler.task, PostTime::Idle { keep: handler.keep })))
    }

    /// Returns the tasks that wait in the queue: those of its messages in order, then its idle handlers.
    pub fn waiting_tasks(&self) -> impl Iterator<Item = &TaskMessage> {
        let of_messages = self.messages.iter().filter_map(|m| match &m.kind {
            MessageKind::Task(task) => Some(task),
            MessageKind::Fence(_) => None,
        });
        of_messages.chain(self.idle_handlers().map(|handler| &handler.task))
    }

    /// Returns the tasks that wait in the queue, as [`waiting_tasks`](Self::waiting_tasks).
    pub(super) fn tasks_mut(&mut self) -> impl Iterator<Item = &mut TaskMessage> {
        let of_messages = self.messages.iter_mut().filter_map(|m| match &mut m.kind {
            MessageKind::Task(task) => Some(task),
            MessageKind::Fence(_) => None,
        });
        let of_handlers = self.idle.iter_mut().flat_map(|idle| &mut idle.handlers);
        of_messages.chain(of_handlers.map(|handler| &mut handler.task))
    }

    /// Moves all due times, which must keep their order.
    pub(super) fn shift(&mut self, to: impl Fn(u64) -> u64) {
        self.messages.iter_mut().for_each(|m| m.when = to(m.when));
    }

    /// Returns the due times of the messages that are due later than `now`, ascending.
    pub(super) fn after(&self, now: u64) -> impl Iterator<Item = u64> + '_ {
        let due = self.messages.partition_point(|m| m.when <= now);
        self.messages.range(due..).map(|m| m.when)
    }

    /// Returns whether some message is due later than `now`: the last one, if any.
    #[inline]
    pub(super) fn has_later(&self, now: u64) -> bool {
        self.messages.back().is_some_and(|last| last.when > now)
    }

    /// Returns the approximate size of the queue in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.messages.len() * size_of::<Message>()
    }

    /// Returns the number of messages in the queue, including fences.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether the queue has been closed and refuses posts.
    #[must_use]
    pub fn has_quit(&self) -> bool {
        self.quit
    }

    /// Returns whether the queue contains neither tasks nor fences.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the number of tasks in the queue that keep the run going: those that are not daemons.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.messages.iter().filter(|m| matches!(m.kind, MessageKind::Task(_)) && !m.is_daemon()).count() as u32
    }
}

/// Packs a looper and the context of the first run of one of its messages into the handle of the message. A handle is
/// greater than 1, the value of an accepted post without one.
#[must_use]
pub(super) fn message_value(looper: ThreadId, first: ContextId) -> Value {
    (i64::from(looper.0) << 32 | i64::from(first.0)) + 2
}

/// Unpacks a value of [`message_value`]. `None` for the value of a post without a message or without a handle.
#[must_use]
pub(super) fn message_of(value: Value) -> Option<(ThreadId, ContextId)> {
    let value = value.checked_sub(2).filter(|value| *value >= 0)?;
    Some((ThreadId((value >> 32) as u32), ContextId(value as u32)))
}

/// Packs a looper and the token of one of its fences into one value.
#[must_use]
pub(super) fn fence_value(looper: ThreadId, token: u32) -> Value {
    i64::from(looper.0) << 32 | i64::from(token)
}

/// Unpacks a value of [`fence_value`] into the looper and the token of its fence.
#[must_use]
pub(super) fn fence_of(value: Value) -> (ThreadId, u32) {
    (ThreadId((value >> 32) as u32), value as u32)
}
