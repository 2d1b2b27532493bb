//! Records the events of a run as an execution trace, for the detectors that read one.
//!
//! `init` is a thread of its own that forks all threads that start with the app. Each enable is an event of its own,
//! and a firing handles the oldest unused one, which has allowed it: a firing comes after one enable, not all. The
//! firing of a row of a component comes after its request and after the step that last let it be fired by its stage,
//! which are events of the same kind; DroidRacer's relation knows no order of its condition. [`pools`] has the tasks of
//! pools.
//! An access to an object's cell also reads the object's life, which a free writes. [`marks`] says what accesses do to
//! references.

mod jobs;
mod marks;
mod memory;
mod pools;
mod prefix;

use crate::base::IndexVec;
use crate::detect::atomicity::declared_name;
use crate::detect::relation::signals::{EventChannels, Signals};
use crate::event::{
    CANCELLED, Cause, ContextId, Event, EventId, EventKind, LaunchPlace, Op, PostTime, SiteId, Suspension, ThreadId,
};
use crate::trace::{
    Action, Builder, ChannelNo, ENVIRONMENT_NAME, EventNo, LocationNo, SiteNo, TaskNo, ThreadNo, Trace, TraceError,
};
use crate::world::World;
use marks::Tests;
use pools::PoolTasks;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const ENVIRONMENT: ThreadNo = ThreadNo(0);
const INIT: ThreadNo = ThreadNo(1);

/// Records the trace of a run. It must receive every event from the first one on.
#[derive(Clone)]
pub struct TraceRecorder {
    builder: Builder,
    signals: Signals,
    // Whether threads and tasks get names, which take space quadratic in the length of a chain of tasks.
    named: bool,
    started: bool,
    // By thread of the run.
    threads: IndexVec<ThreadId, ThreadNo>,
    pools: PoolTasks,
    tasks: BTreeMap<ContextId, TaskNo>,
    enables: BTreeMap<EventId, VecDeque<EventNo>>,
    // The last event that has let the environment fire a row of a component, for each cause but a condition.
    lets: BTreeMap<Cause, EventNo>,
    // Depth of the lock that each waiting thread has given up.
    waited: BTreeMap<ThreadId, u32>,
    channels: u32,
    // Contexts of jobs that run inside the task that has launched them, and so inside its task of the trace.
    nested: BTreeSet<ContextId>,
    // The event that each waiting job has enabled for its resumption.
    suspended: BTreeMap<ContextId, EventNo>,
    // Jobs whose resumption has been recorded and has not begun.
    resumed: BTreeSet<ContextId>,
    // The last value of each location that was read or written, as far as it is known.
    values: IndexVec<LocationNo, Option<i64>>,
    // Jobs whose tasks have ended. Each is a thread of the trace, so that others can join it.
    ended: BTreeMap<ThreadId, Vec<ThreadId>>,
    // The site of the event that is being recorded.
    here: Option<SiteId>,
    tests: Tests,
}

impl Default for TraceRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl TraceRecorder {
    /// Returns a recorder that has seen no event.
    #[must_use]
    pub fn new() -> Self {
        let mut builder = Builder::new();
        builder.free_events();
        let environment = builder.environment(ENVIRONMENT_NAME);
        let init = builder.thread("init");
        debug_assert_eq!((environment, init), (ENVIRONMENT, INIT));
        Self {
            builder,
            signals: Signals::new(),
            named: true,
            started: false,
            threads: IndexVec::new(),
            pools: PoolTasks::default(),
            tasks: BTreeMap::new(),
            enables: BTreeMap::new(),
            lets: BTreeMap::new(),
            waited: BTreeMap::new(),
            channels: 0,
            nested: BTreeSet::new(),
            suspended: BTreeMap::new(),
            resumed: BTreeSet::new(),
            ended: BTreeMap::new(),
            here: None,
            tests: Tests::default(),
            values: IndexVec::new(),
        }
    }

    /// Returns a recorder that has seen no event and leaves threads and tasks without names, for callers that know
    /// them by number.
    #[must_use]
    pub fn nameless() -> Self {
        Self { named: false, ..Self::new() }
    }

    /// Number of operations recorded.
    #[must_use]
    pub fn len(&self) -> usize {
        self.builder.len()
    }

    /// Whether no operation was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.builder.is_empty()
    }

    /// Records the next event. `world` is the state after its step.
    pub fn observe(&mut self, world: &World, event: &Event) {
        let passed = self.signals.observe(world, event);
        self.record(world, event, &passed);
    }

    /// Records the next event, which receives and sends on these channels, for a caller that has [`Signals`] itself. A
    /// caller uses either this or [`observe`](Self::observe).
    pub(in crate::detect) fn record(
        &mut self,
        world: &World,
        event: &Event,
        EventChannels { receives, sends }: &EventChannels,
    ) {
        self.know(world);
        if !std::mem::replace(&mut self.started, true) {
            self.adopt(world);
        }
        for channel in receives.iter().chain(sends) {
            while self.channels <= *channel {
                self.builder.channel();
                self.channels += 1;
            }
            if let EventKind::Performed { op, .. } = &event.what
                && matches!(op, Op::ReadLock(_) | Op::ReadUnlock(_) | Op::WriteLock(_) | Op::WriteUnlock(_))
            {
                self.builder.is_lock(ChannelNo(*channel));
            }
        }
        self.here = event.site;
        let site = event.site.map_or(SiteNo::NONE, |site| self.site(world, site));
        let thread = event.thread.map_or(ENVIRONMENT, |thread| self.acting(thread));
        receives.iter().for_each(|channel| self.push(thread, Action::Receive(ChannelNo(*channel)), site));
        self.happen(world, event, thread, site);
        sends.iter().for_each(|channel| self.push(thread, Action::Send(ChannelNo(*channel)), site));
    }

    /// Returns the trace.
    #[must_use]
    pub fn finish(self) -> Trace {
        self.builder.finish()
    }

    // The world performs no operation that a trace refuses.
    fn push(&mut self, thread: ThreadNo, action: Action, site: SiteNo) {
        let pushed: Result<(), TraceError> = self.builder.push(thread, action, site, 0);
        debug_assert!(pushed.is_ok(), "{pushed:?}");
    }

    fn know(&mut self, world: &World) {
        for thread in world.threads().ids().skip(self.threads.len()) {
            let name = if self.named { world.thread_name(thread) } else { String::new() };
            self.threads.push(self.builder.thread(&name));
        }
    }

    // The events of `init` are not recorded: its posts and enables are taken from the first state.
    fn adopt(&mut self, world: &World) {
        let mut queued = Vec::new();
        for (thread, about) in world.threads().enumerate() {
            let Some(queue) = &about.queue else { continue };
            let posts = queue.posted_at_start();
            queued.extend(posts.map(|(task, time)| (task.context, thread, time, task.is_async)));
        }
        queued.sort_by_key(|(context, ..)| *context);
        for (context, thread, time, is_async) in queued {
            self.post(world, INIT, (context, thread), (time, is_async), SiteNo::NONE);
            self.belongs(world, context, thread);
        }
        for event in world.setup().events.ids() {
            for _ in 0..world.enables_left(event) {
                self.enable(world, INIT, event, SiteNo::NONE);
            }
        }
        for thread in world.threads().ids() {
            self.push(INIT, Action::Fork(self.number(thread)), SiteNo::NONE);
        }
    }

    fn site(&mut self, world: &World, site: SiteId) -> SiteNo {
        self.builder.site(&world.setup().sites[site].trace_name())
    }

    fn happen(&mut self, world: &World, event: &Event, thread: ThreadNo, site: SiteNo) {
        match &event.what {
            EventKind::ThreadInit => {
                self.push(thread, Action::ThreadInit, site);
                // A declared looper has its queue from the start, and no code of its own.
                let has_loop = |t: ThreadId| world.thread(t).queue.is_some() && !world.shares_queue(t);
                if event.thread.is_some_and(has_loop) {
                    self.push(thread, Action::AttachQueue, SiteNo::NONE);
                    self.push(thread, Action::Loop, SiteNo::NONE);
                }
            }
            EventKind::ThreadExit => self.push(thread, Action::ThreadExit, site),
            EventKind::End if event.context.and_then(|context| world.job_of(context)).is_some() => {
                self.end_of_job(world, event, thread);
            }
            EventKind::Suspended => self.suspend(world, event, thread),
            EventKind::Resumed { context, looper, .. } => self.resume(world, event, thread, (*context, *looper)),
            EventKind::JobExit(job) => self.exit_of_job(world, *job),
            EventKind::End if self.end_in_pool(event.thread) => {}
            EventKind::End => {
                if let Some(task) = self.builder.running(thread) {
                    self.push(thread, Action::End(task), site);
                }
            }
            EventKind::Repeated { task, time, is_async } => {
                if let Some(live) = event.thread {
                    self.post(world, thread, (*task, live), (*time, *is_async), site);
                    self.belongs(world, *task, live);
                }
            }
            EventKind::Fire(event, context) => {
                let looper = world.setup().events[*event].looper;
                let mut causes: Vec<EventNo> =
                    world.causes(*context).filter_map(|c| self.lets.get(&c).copied()).collect();
                causes.extend(self.enables.get_mut(event).and_then(VecDeque::pop_front));
                let task = self.task(world, *context, looper, (PostTime::Now, false));
                causes.into_iter().for_each(|cause| self.builder.handles(task, cause));
                self.push(ENVIRONMENT, Action::Post(task), site);
                self.belongs(world, *context, looper);
            }
            EventKind::Transaction { begins, unit, name } => {
                let named = Some(name.as_str()).filter(|name| !name.is_empty());
                let marked = match unit {
                    true => self.builder.part_of_unit(thread, *begins, name),
                    false => self.builder.transaction(thread, *begins, named, site),
                };
                debug_assert!(marked.is_ok(), "{marked:?}");
            }
            // An access that is refused has read the life of its object.
            EventKind::Performed { op, value, refused: true, .. } => self.access(world, thread, (op, *value), site),
            EventKind::Performed { op, value, made, refused: false } => {
                if let Some(live) = event.thread {
                    self.perform(world, (live, thread), (op, *value, *made), site);
                }
            }
            EventKind::Lets(cause) if event.thread.is_some() && !matches!(cause, Cause::Condition(..)) => {
                let instance = self.builder.new_event(&world.cause_name(*cause));
                self.lets.insert(*cause, instance);
                self.push(thread, Action::Enable(instance), site);
            }
            EventKind::Lets(_) | EventKind::Tick | EventKind::Refused | EventKind::Thrown(_) => {}
        }
    }

    fn perform(
        &mut self,
        world: &World,
        (live, thread): (ThreadId, ThreadNo),
        (op, value, made): (&Op, i64, Option<ContextId>),
        site: SiteNo,
    ) {
        match *op {
            Op::Fork { .. } | Op::SpawnLooper => {
                if let Ok(child) = u32::try_from(value) {
                    self.push(thread, Action::Fork(self.number(ThreadId(child))), site);
                }
            }
            Op::Join(other) | Op::Resume(Suspension::Join(other)) => {
                let is_there = world.job(other).is_none() || self.ended.contains_key(&other);
                if is_there && value != CANCELLED {
                    self.push(thread, Action::Join(self.number(other)), site);
                }
            }
            Op::Resume(Suspension::CloseBlock { block, .. }) => self.join_children(thread, block, site),
            Op::Launch { place, .. } => {
                let Some(context) = made else { return };
                let looper = match place {
                    LaunchPlace::Posted(target) => world.thread_of(target),
                    LaunchPlace::Here => world.queue_owner(live),
                    LaunchPlace::Now => {
                        self.nested.insert(context);
                        return;
                    }
                };
                self.post(world, thread, (context, looper), (PostTime::Now, true), site);
            }
            Op::AttachQueue => self.push(thread, Action::AttachQueue, site),
            Op::Post { target, time, is_async, instance, .. } => {
                if let Some(context) = made {
                    self.post(world, thread, (context, world.thread_of(target)), (time, is_async), site);
                    self.belongs_to(context, world.instance_text(instance), &world.setup().with_units);
                }
            }
            Op::Begin if world.shares_queue(live) => {
                made.into_iter().for_each(|task| self.begin_in_pool(live, task, site));
            }
            Op::Begin => self.begin(thread, made, site),
            Op::Enable { event, .. } => self.enable(world, thread, event, site),
            Op::Disable(event) => drop(self.enables.remove(&event)),
            Op::Acquire(lock) => self.hold(world, thread, lock, 1, site),
            Op::Release(lock) => self.release(world, thread, lock, 1, site),
            Op::Wait { lock, .. } => {
                if world.in_wait(live) {
                    let lock_no = self.lock(world, lock);
                    let depth = self.builder.depth(thread, lock_no);
                    self.waited.insert(live, depth);
                    self.release(world, thread, lock, depth, site);
                }
            }
            Op::Reacquire { lock, .. } => {
                let depth = self.waited.remove(&live).unwrap_or(1);
                self.hold(world, thread, lock, depth, site);
            }
            _ => self.access(world, thread, (op, value), site),
        }
    }

    fn begin(&mut self, thread: ThreadNo, made: Option<ContextId>, site: SiteNo) {
        let _ = self.builder.push(thread, Action::Loop, SiteNo::NONE, 0);
        match made {
            Some(context) => {
                self.resumed.remove(&context);
                if let Some(task) = self.tasks.get(&context).copied() {
                    self.push(thread, Action::Begin(task), site);
                }
            }
            None => self.push(thread, Action::Leave, site),
        }
    }

    // Records the instance that a message in the queue belongs to, if it belongs to one.
    fn belongs(&mut self, world: &World, context: ContextId, looper: ThreadId) {
        self.belongs_to(context, world.instance_of_message(looper, context), &world.setup().with_units);
    }

    fn belongs_to(&mut self, context: ContextId, instance: Option<String>, with_units: &[String]) {
        if let (Some(task), Some(instance)) = (self.tasks.get(&context), instance) {
            let number = self.builder.instance(&instance);
            self.builder.belongs(*task, number);
            if with_units.contains(&declared_name(&instance)) {
                self.builder.has_units(number);
            }
        }
    }

    fn post(
        &mut self,
        world: &World,
        poster: ThreadNo,
        (context, looper): (ContextId, ThreadId),
        how: (PostTime, bool),
        site: SiteNo,
    ) {
        if world.shares_queue(looper) {
            return self.post_to_pool(world, poster, context, site);
        }
        let task = self.task(world, context, looper, how);
        self.push(poster, Action::Post(task), site);
    }

    fn task(
        &mut self,
        world: &World,
        context: ContextId,
        looper: ThreadId,
        (time, is_async): (PostTime, bool),
    ) -> TaskNo {
        let name = if self.named { world.contexts().name(world.setup(), context) } else { String::new() };
        // Whether a handler stays registered does not matter to a trace, which has a post for each of its runs.
        let time = if let PostTime::Idle { .. } = time { PostTime::Idle { keep: false } } else { time };
        let task = self.builder.task(&name, self.number(looper), time, is_async);
        self.tasks.insert(context, task);
        task
    }

    fn enable(&mut self, world: &World, thread: ThreadNo, event: EventId, site: SiteNo) {
        let name = &world.setup().events[event].name;
        let instance = self.builder.new_event(name);
        self.enables.entry(event).or_default().push_back(instance);
        self.push(thread, Action::Enable(instance), site);
    }
}
