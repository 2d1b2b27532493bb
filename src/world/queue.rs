//! Android's message queue: ordered by (when, seq), never by chance.

use crate::base::mutant::{self, Mutant};
use crate::event::{Args, BodyId, ContextId, Target, Value};
use std::collections::VecDeque;

/// The queue of a looper.
#[derive(Debug, Default)]
pub struct Queue {
    // invariant: strictly ascending by (when, seq)
    messages: VecDeque<Message>,
    // How many of them are asynchronous tasks: behind a fence nobody looks for one that is not there.
    asynchronous: u32,
    // Ordinary enqueues rise from 1, front ones fall from -1.
    last_seq: i64,
    first_seq: i64,
    next_token: u32,
    pub(super) quit: bool,
}

crate::clone_in_place!(Queue { messages, asynchronous, last_seq, first_seq, next_token, quit });

/// What stands in a queue.
#[derive(Clone, Debug)]
pub struct Message {
    /// Virtual milliseconds at which it is due; 0 for a front post.
    pub when: u64,
    pub(super) seq: i64,
    /// A task or a fence.
    pub kind: MessageKind,
}

/// A task or a fence.
#[derive(Clone, Debug)]
pub enum MessageKind {
    /// A posted task.
    Task(TaskMessage),
    /// A synchronization barrier with its token (unique in this queue).
    Fence(u32),
}

/// A posted task.
#[derive(Clone, Debug)]
pub struct TaskMessage {
    /// What it runs.
    pub body: BodyId,
    /// With what.
    pub args: Args,
    /// Its name.
    pub context: ContextId,
    /// Through whom it was posted: removal compares it.
    pub target: Target,
    /// Whether it may pass fences.
    pub is_async: bool,
    /// The component instance it belongs to (a text of the program).
    pub instance: Option<u32>,
}

impl Message {
    fn is_async(&self) -> bool {
        matches!(&self.kind, MessageKind::Task(task) if task.is_async)
    }
}

impl Queue {
    /// Back to a queue that nothing was ever posted to.
    pub(super) fn renew(&mut self) {
        self.messages.clear();
        (self.asynchronous, self.last_seq, self.first_seq, self.next_token, self.quit) = (0, 0, 0, 0, false);
    }

    /// Enqueues at `when`; 0 goes to the very front (rule 1).
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
        // Most messages belong at the end.
        if self.messages.back().is_none_or(|last| (last.when, last.seq) < (when, seq)) {
            self.messages.push_back(message);
            return;
        }
        let at = self.messages.partition_point(|m| (m.when, m.seq) < (when, seq));
        self.messages.insert(at, message);
    }

    /// A fence at `now`; returns its token.
    pub(super) fn fence(&mut self, now: u64) -> u32 {
        let token = self.next_token;
        self.next_token += 1;
        self.push(now, MessageKind::Fence(token));
        token
    }

    /// Removes the fence; false if there is none of that token.
    pub(super) fn lift(&mut self, token: u32) -> bool {
        let at = self.messages.iter().position(|m| matches!(m.kind, MessageKind::Fence(t) if t == token));
        at.map(|i| self.messages.remove(i)).is_some()
    }

    // The next message: the head, or behind a fence the first asynchronous one (rule 4). It may not be due yet.
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

    /// Whether a message may begin (rule 3).
    #[inline]
    pub(super) fn ready(&self, now: u64) -> bool {
        self.next().is_some_and(|i| self.messages[i].when <= now)
    }

    /// The `when` of the next message.
    pub(super) fn next_when(&self) -> Option<u64> {
        self.next().map(|i| self.messages[i].when)
    }

    /// The task that begins next, if nothing is posted before it; it may not be due yet.
    #[must_use]
    pub fn next_task(&self) -> Option<&TaskMessage> {
        match &self.messages[self.next()?].kind {
            MessageKind::Task(task) => Some(task),
            MessageKind::Fence(_) => None,
        }
    }

    /// Takes the message that may begin.
    pub(super) fn pop(&mut self, now: u64) -> Option<TaskMessage> {
        let i = self.next().filter(|&i| self.messages[i].when <= now)?;
        let message = if i == 0 { self.messages.pop_front() } else { self.messages.remove(i) };
        match message {
            Some(Message { kind: MessageKind::Task(task), .. }) => {
                self.asynchronous -= u32::from(task.is_async);
                Some(task)
            }
            _ => None,
        }
    }

    /// Removes the tasks that `dead` says (rule 5).
    pub(super) fn cancel(&mut self, dead: impl Fn(&TaskMessage) -> bool) {
        self.messages.retain(|m| !matches!(&m.kind, MessageKind::Task(t) if dead(t)));
        self.count();
    }

    /// Rule 6: drops all, or with `safely` what is not due at `now`.
    pub(super) fn quit(&mut self, safely: bool, now: u64) {
        if self.quit {
            return;
        }
        self.quit = true;
        if safely && !mutant::is(Mutant::QuitSafelyDropsWhatIsDue) {
            self.messages.retain(|m| m.when <= now);
        } else {
            self.messages.clear();
        }
        self.count();
    }

    fn count(&mut self) {
        self.asynchronous = self.messages.iter().filter(|m| m.is_async()).count() as u32;
    }

    /// Drops everything: the looper has left its loop.
    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.asynchronous = 0;
    }

    /// The messages in key order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.iter()
    }

    /// When those that are due later than `now` are due, in order.
    pub(super) fn after(&self, now: u64) -> impl Iterator<Item = u64> + '_ {
        let due = self.messages.partition_point(|m| m.when <= now);
        self.messages.range(due..).map(|m| m.when)
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.messages.len() * size_of::<Message>()
    }

    /// How many messages stand in it, fences as well.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether it takes no more posts.
    #[must_use]
    pub fn has_quit(&self) -> bool {
        self.quit
    }

    /// Whether nothing stands in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How many tasks stand in it.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.messages.iter().filter(|m| matches!(m.kind, MessageKind::Task(_))).count() as u32
    }
}

/// Packs the token of a fence: which looper, which fence of it.
#[must_use]
pub(super) fn fence_value(looper: crate::event::ThreadId, token: u32) -> Value {
    i64::from(looper.0) << 32 | i64::from(token)
}

/// Unpacks it.
#[must_use]
pub(super) fn fence_of(value: Value) -> (crate::event::ThreadId, u32) {
    (crate::event::ThreadId((value >> 32) as u32), value as u32)
}
