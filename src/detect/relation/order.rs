//! Happens-before over one run: feeds a [`Relation`] with the events. [`detect`](crate::detect) has the edges.
//!
//! Relations with more edges ([`RelationEdges`]) rank the pairs that the hybrid relation leaves unordered.

use super::clock::Clock;
use super::contexts::{ContextClock, Relation, RelationEdges};
use super::hybrid_channels::HybridChannels;
use super::signals::EventChannels;
use crate::base::Id;
use crate::event::{BarrierId, Cause, ContextId, Event, EventId, EventKind, LaunchPlace, Op, Suspension, ThreadId};
use crate::world::{PostClass, Time, World};
use std::collections::{BTreeMap, VecDeque};

/// A happens-before relation up to the latest event.
pub(in crate::detect) struct EventOrder {
    edges: RelationEdges,
    started: bool,
    relation: Relation,
    // Enables that no firing has used; `None` for one without cause.
    enables: BTreeMap<EventId, VecDeque<Option<Clock>>>,
    // The clocks of the steps that have last let rows of components be fired.
    lets: BTreeMap<Cause, Clock>,
    barriers: BTreeMap<BarrierId, Generation>,
    // The clock that each thread learns when it passes the barrier at which it has arrived.
    passes: BTreeMap<ThreadId, Clock>,
    channels: HybridChannels,
}

// The threads that have arrived at a barrier and may not pass yet.
#[derive(Default)]
struct Generation {
    waiting: Vec<ThreadId>,
    clock: Clock,
}

impl EventOrder {
    pub(in crate::detect) fn new(edges: RelationEdges) -> Self {
        Self {
            edges,
            started: false,
            relation: Relation::new(edges),
            enables: BTreeMap::new(),
            lets: BTreeMap::new(),
            barriers: BTreeMap::new(),
            passes: BTreeMap::new(),
            channels: HybridChannels::default(),
        }
    }

    /// Returns the context, if it is running.
    pub(in crate::detect) fn context(&self, context: ContextId) -> Option<&ContextClock> {
        self.relation.context(context)
    }

    /// Updates the clocks for this event. `passed` are the channels on which it receives and sends, which
    /// [`RelationEdges::Hybrid`] does not use. An operation that is refused is ordered with nothing.
    pub(in crate::detect) fn observe(&mut self, world: &World, event: &Event, passed: &EventChannels) {
        if !std::mem::replace(&mut self.started, true) {
            self.adopt(world);
        }
        // A step that resumes a job sends, and so does the end of its task.
        if self.edges != RelationEdges::Hybrid
            && !passed.sends.is_empty()
            && !matches!(event.what, EventKind::Performed { .. })
            && let Some(at) = event.context.and_then(|context| self.relation.context_mut(context))
        {
            self.channels.send(&passed.sends, false, at);
        }
        match (&event.what, event.thread.zip(event.context)) {
            (EventKind::ThreadInit, Some((_, context))) => {
                self.relation.start(context);
            }
            (EventKind::ThreadExit, Some((thread, home))) => self.relation.exit(thread, home),
            (EventKind::Repeated { task, time, is_async }, Some((thread, context))) => {
                let class = PostClass { time: Time::of(*time), is_async: *is_async };
                self.relation.post(context, (world.queue_owner(thread), *task), class);
            }
            (EventKind::End, Some((thread, context))) => match world.job_of(context) {
                Some(job) => self.relation.pause(thread, context, Some(job)),
                None => self.relation.end_task(thread),
            },
            (EventKind::Suspended, Some((thread, context))) => self.relation.pause(thread, context, None),
            (EventKind::Resumed { context, .. }, _) => {
                self.relation.resume(*context, PostClass { time: Time::Delay(0), is_async: true });
            }
            (EventKind::JobExit(job), _) => {
                self.relation.job_ended(*job, world.job(*job).and_then(|job| job.parent()));
            }
            (EventKind::Fire(event, context), _) => self.fire(world, *event, *context),
            (EventKind::Lets(cause), by) => self.lets(*cause, by.map(|(_, context)| context), event.context),
            (EventKind::Performed { op, made, value, refused: false }, Some((thread, context))) => {
                self.perform(world, thread, context, op, *made);
                if let (Op::SpawnLooper, Ok(looper)) = (op, u32::try_from(*value)) {
                    self.relation.born_with_queue(ThreadId(looper));
                }
                if self.edges != RelationEdges::Hybrid
                    && let Some(at) = self.relation.context_mut(context)
                {
                    self.channels.perform(world, (thread, op, *value), passed, at);
                }
            }
            _ => {}
        }
    }

    // The events of `init` are not recorded: its posts and enables are taken from the first state. Its clock is 1, so
    // that its posts are due at known instants.
    fn adopt(&mut self, world: &World) {
        for (id, thread) in world.threads().enumerate() {
            if world.shares_queue(id) {
                self.relation.born_in_pool(id);
            }
            let Some(queue) = &thread.queue else { continue };
            self.relation.born_with_queue(id);
            for (task, time) in queue.posted_at_start() {
                let class = PostClass { time: Time::of(time), is_async: task.is_async };
                self.relation.post_of_init(task.context, class);
            }
        }
        for event in world.setup().events.ids() {
            let left = std::iter::repeat_n(None, world.enables_left(event)).collect();
            self.enables.insert(event, left);
        }
    }

    fn perform(&mut self, world: &World, thread: ThreadId, context: ContextId, op: &Op, made: Option<ContextId>) {
        match op {
            Op::Fork { .. } | Op::SpawnLooper => self.relation.fork(context, made),
            Op::Join(other) | Op::Resume(Suspension::Join(other) | Suspension::CloseBlock { block: other, .. }) => {
                self.relation.join(context, *other);
            }
            Op::AttachQueue => self.relation.attach(context, thread),
            Op::Post { target, time, is_async, .. } => {
                let looper = world.thread_of(*target);
                self.relation.use_queue(context, looper);
                if let Some(task) = made {
                    let class = PostClass { time: Time::of(*time), is_async: *is_async };
                    self.relation.post(context, (looper, task), class);
                }
            }
            Op::Launch { place, .. } => {
                let looper = match place {
                    LaunchPlace::Posted(target) => world.thread_of(*target),
                    LaunchPlace::Here | LaunchPlace::Now => world.queue_owner(thread),
                };
                self.relation.use_queue(context, looper);
                match made {
                    Some(job) if *place == LaunchPlace::Now => self.relation.run_inside(context, job),
                    Some(job) => {
                        let class = PostClass { time: Time::Delay(0), is_async: true };
                        self.relation.post(context, (looper, job), class);
                    }
                    None => {}
                }
            }
            Op::Begin => match made {
                Some(task) => self.relation.begin((thread, world.thread(thread).home), task),
                None => {
                    self.relation.leave(thread, context);
                }
            },
            Op::Enable { event, .. } => {
                let clock = self.relation.send(context);
                self.enables.entry(*event).or_default().push_back(Some(clock));
            }
            Op::Disable(event) => {
                self.enables.remove(event);
            }
            Op::Arrive(barrier) => {
                let parties = world.setup().barriers.get(barrier.index()).map_or(1, |(_, parties)| *parties);
                self.arrive(thread, context, *barrier, parties);
            }
            Op::Pass { .. } => {
                if let Some(clock) = self.passes.remove(&thread) {
                    self.relation.receive(context, &clock);
                }
            }
            _ => {}
        }
    }

    // A step lets the environment fire a row. The environment itself does so when a firing makes a condition hold.
    fn lets(&mut self, cause: Cause, running: Option<ContextId>, context: Option<ContextId>) {
        if !self.edges.has(cause) {
            return;
        }
        let clock = match (running, context) {
            (Some(running), _) => Some(self.relation.send(running)),
            (None, message) => message.and_then(|m| self.relation.message(m)).map(|message| message.clock.clone()),
        };
        if let Some(clock) = clock {
            self.lets.insert(cause, clock);
        }
    }

    // The environment posts the handler: after the oldest unused enable, and after nothing else. A row of a component
    // is fired after everything that has let it be fired.
    fn fire(&mut self, world: &World, event: EventId, task: ContextId) {
        let mut cause = self.enables.get_mut(&event).and_then(VecDeque::pop_front).flatten();
        for known in world.causes(task).filter_map(|cause| self.lets.get(&cause)) {
            cause.get_or_insert_default().join(known);
        }
        self.relation.fire(task, cause, PostClass { time: Time::Delay(0), is_async: false });
    }

    // The last thread of a generation continues at once; the others pass later.
    fn arrive(&mut self, thread: ThreadId, context: ContextId, barrier: BarrierId, parties: i64) {
        let clock = self.relation.send(context);
        let generation = self.barriers.entry(barrier).or_default();
        generation.clock.join(&clock);
        generation.waiting.push(thread);
        if (generation.waiting.len() as i64) < parties {
            return;
        }
        let Generation { waiting, clock } = std::mem::take(generation);
        for waiter in waiting {
            self.passes.insert(waiter, clock.clone());
        }
        self.passes.remove(&thread);
        self.relation.receive(context, &clock);
    }
}
