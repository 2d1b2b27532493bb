//! The environment: events that a user or the system may fire, once for each enable.

use super::World;
use super::contexts::CreationKind;
use super::queue::{MessageKind, TaskMessage};
use crate::event::{Args, BodyId, ContextId, EventId, EventKind, ListenerId, PostOptions, Target, ThreadId};
use std::collections::VecDeque;

/// Enables of an event that have not been used by a firing, first in, first out.
#[derive(Default, Debug)]
pub(super) struct EventState {
    pub(super) enables: VecDeque<(Args, Option<u32>)>,
}

crate::clone_in_place!(EventState { enables });

impl EventState {
    /// Resets the event to its initial number of enables.
    pub(super) fn renew(&mut self, initially: u32) {
        self.enables.clear();
        self.enables.extend((0..initially).map(|_| (Args::default(), None)));
    }
}

impl World {
    pub(super) fn enable(&mut self, event: EventId, args: Args, instance: Option<u32>) {
        self.events[event].enables.push_back((args, instance));
        self.fireable.set(event, true);
    }

    pub(super) fn disable(&mut self, event: EventId) {
        self.events[event].enables.clear();
        self.fireable.set(event, false);
    }

    /// Returns the callbacks of a listener in order of registration.
    #[must_use]
    pub fn callbacks(&self, listener: ListenerId) -> &[BodyId] {
        &self.listeners[listener]
    }

    /// Returns the number of times that the event may still fire.
    #[must_use]
    pub fn enables_left(&self, event: EventId) -> usize {
        self.events[event].enables.len()
    }

    /// Returns the name of the instance that a message in the queue of a looper belongs to: of the component whose row it
    /// is, or the text of the `as` of its post or enable.
    #[must_use]
    pub fn instance_of_message(&self, looper: ThreadId, context: ContextId) -> Option<String> {
        if let Some(instance) = self.instance_of_firing(context) {
            return Some(self.instance_name(instance));
        }
        let queue = self.threads[self.queue_owner(looper)].queue.as_ref()?;
        let message = queue.waiting_tasks().find(|task| task.context == context)?;
        self.instance_text(message.instance)
    }

    /// Returns the text of the `as` of a post or enable.
    #[must_use]
    pub fn instance_text(&self, instance: Option<u32>) -> Option<String> {
        self.setup.texts.get(instance? as usize).cloned()
    }

    /// Fires an event: posts its handler, with the arguments and component instance of the oldest enable. `argument`
    /// says for which of the instances a row is fired that is open for several ones.
    pub(crate) fn fire(&mut self, event: EventId, argument: u64) {
        if let Some(instance) = self.open_for(event).get(argument as usize) {
            return self.fire_row(event, *instance);
        }
        let Some((args, instance)) = self.events[event].enables.pop_front() else {
            debug_assert!(false, "only an open event fires");
            return;
        };
        self.fireable.set(event, !self.events[event].enables.is_empty());
        let (body, looper) = (self.setup.events[event].body, self.setup.events[event].looper);
        let context = self.contexts.root(CreationKind::Event(event));
        self.record(None, None, None, || EventKind::Fire(event, context));
        let when = self.now;
        let message = TaskMessage {
            body,
            args,
            context,
            target: Target::Thread(looper),
            is_async: false,
            options: PostOptions::default(),
            first: context,
            instance,
            job: None,
        };
        self.enqueue(looper, when, MessageKind::Task(message));
    }
}
