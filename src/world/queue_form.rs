//! Writes a message queue, and values that refer to it, to the canonical state.

use super::CanonicalWriter;
use super::Snapshot;
use super::kind::WordKind;
use super::queue::{MessageKind, Queue, TaskMessage, fence_of, message_of};
use crate::base::mutant::{self, Mutant};
use crate::event::{NULL, Target, Value};

impl CanonicalWriter<'_> {
    /// Writes the token of a fence as the position of the fence in its queue. All lifted fences are equal.
    pub(super) fn fence(&mut self, value: Value) {
        self.room.refers();
        let (looper, token) = fence_of(value);
        let world = self.world;
        let queue = world.threads[looper].queue.as_ref();
        let is_fence = |m: &super::Message| matches!(m.kind, MessageKind::Fence(t) if t == token);
        match queue.and_then(|q| q.messages().position(is_fence)) {
            Some(rank) => {
                self.looper(looper);
                self.word(rank as u64);
            }
            None => self.word(u64::MAX - 1),
        }
    }

    /// Writes the handle of a message as the position of the message in its queue. All that are gone are equal.
    pub(super) fn message(&mut self, value: Value) {
        if value == NULL {
            return self.word(u64::MAX);
        }
        let Some((looper, first)) = message_of(value) else { return self.word(value as u64) };
        self.room.refers();
        let queue = self.world.threads[looper].queue.as_ref();
        match queue.and_then(|q| q.waiting_tasks().position(|task| task.first == first)) {
            Some(rank) if !mutant::is(Mutant::HandlesNotInForm) => {
                self.word(2);
                self.looper(looper);
                self.word(rank as u64);
            }
            _ => self.word(3),
        }
    }

    // Writes a time as two words: the distance from now (0 if overdue), and for an overdue time its absolute value as
    // far as it matters. It matters only if the app posts `at` an instant, because a message for an earlier instant
    // goes before an overdue one. All times after the last such instant are equal.
    fn time(&mut self, when: u64) {
        let world = self.world;
        let later = match world.absolute_until() {
            0 => 0,
            last => last.saturating_add(1),
        };
        self.word(if mutant::is(Mutant::NegativeDistances) {
            when.wrapping_sub(world.now)
        } else {
            when.saturating_sub(world.now)
        });
        self.word(if when <= world.now { when.min(later) } else { 0 });
    }

    /// Writes the messages and idle handlers of a queue.
    pub(super) fn queue<G: Snapshot>(&mut self, guest: &G, queue: &Queue) {
        let has_idle = queue.is_asleep() || queue.idle_handlers().next().is_some();
        self.word(1 + u64::from(queue.quit) + 2 * u64::from(has_idle));
        if has_idle {
            self.idle_handlers(guest, queue);
        }
        self.word(queue.len() as u64);
        for message in queue.messages() {
            if !mutant::is(Mutant::DeadlinesNotInForm) {
                self.time(message.when);
            }
            if mutant::is(Mutant::SequenceInForm) {
                self.word(message.seq as u64);
            }
            match &message.kind {
                MessageKind::Fence(_) => self.word(u64::MAX),
                MessageKind::Task(task) if task.job.is_some() => {
                    self.job_message(guest, task, message.is_micro());
                }
                MessageKind::Task(task) => {
                    if message.is_micro() && !mutant::is(Mutant::MicrotasksNotInForm) {
                        self.word(u64::MAX - 1);
                    }
                    self.task(guest, task);
                }
            }
        }
    }

    fn task<G: Snapshot>(&mut self, guest: &G, task: &TaskMessage) {
        let world = self.world;
        if task.options.state() != 0 {
            self.word(u64::MAX - 2);
            self.word(task.options.state());
            self.value(WordKind::Object, world.token_of(task.args, task.options).map_or(NULL, |o| i64::from(o.0)));
            self.word(world.period_of(task.args, task.options).map_or(0, |period| period as u64));
        }
        let is_async = task.is_async && !mutant::is(Mutant::AsyncNotInForm);
        self.word(u64::from(task.body.0) << 1 | u64::from(is_async));
        match task.target {
            Target::Thread(_) => self.word(u64::MAX),
            Target::Handler(handler) => self.handler(handler),
        }
        self.values(guest.parameter_kinds(task.body), self.world.args(task.args));
    }

    fn idle_handlers<G: Snapshot>(&mut self, guest: &G, queue: &Queue) {
        self.word(u64::from(queue.is_asleep() && !mutant::is(Mutant::SleepNotInForm)));
        self.word(queue.idle_handlers().count() as u64);
        for handler in queue.idle_handlers() {
            self.word(u64::from(handler.keep) << 1 | u64::from(handler.due));
            self.task(guest, &handler.task);
        }
    }
}
