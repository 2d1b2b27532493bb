//! Hybrid detection over a trace: lock sets, and the edges that every run has. The relations are those of
//! [`contexts`](crate::detect::relation::contexts), which hybrid detection over the events of a run feeds as well.
//!
//! # Where it departs from detection over events
//!
//! - A trace has no barriers, only sends and receives, which are no edges here. Pairs that a barrier orders are
//!   reported as well.
//! - A trace has no read-write locks, only sends and receives: they exclude nothing.
//! - A declared or spawned looper attaches its queue when it starts. Posts come after that, and so after the spawn of
//!   the looper.
//! - A post that was refused is not in a trace, and orders nothing.
//! - An await whose condition held from the start comes after nothing, so that a pair may have rank A instead of B.
//! - Order pairs are not found: a trace does not have their operations.

use super::happens_before::{
    AccessQuery, Accesses, Analysis, Classes, Locksets, OrderQuery, Place, RaceClass, TooLarge,
};
use crate::base::{Id, IndexVec};
use crate::detect::Rank;
use crate::detect::relation::clock::{Clock, Point};
use crate::detect::relation::contexts::{ContextClock, Relation, RelationEdges};
use crate::detect::relation::hybrid_channels::LockReleases;
use crate::detect::traces::detector::Detector;
use crate::event::{ContextId, ThreadId};
use crate::trace::{Action, ChannelNo, EventNo, LockNo, OpNo, Operation, TaskNo, ThreadNo, Trace};
use std::sync::atomic::AtomicBool;

/// The detector, up to the current operation.
pub(in crate::detect) struct HybridTrace<'t> {
    classes: Classes<'t>,
    orders: Orders<'t>,
    locksets: Locksets,
    accesses: Accesses<'t>,
}

impl<'t> HybridTrace<'t> {
    pub(in crate::detect) fn new(trace: &'t Trace) -> Self {
        Self {
            classes: Classes::new(trace),
            orders: Orders::new(trace),
            locksets: Locksets::new(trace),
            // Two accesses of one node may have different points in the finer relations.
            accesses: Accesses::new(trace, false),
        }
    }
}

impl Detector for HybridTrace<'_> {
    fn step(&mut self, at: OpNo, operation: &Operation) {
        let Self { classes, orders, locksets, accesses } = self;
        let Operation { thread, action, .. } = *operation;
        orders.step(at, thread, action);
        let Some(access) = action.access() else { return locksets.step(thread, action) };
        if let Some(now) = orders.now(thread) {
            let locks = Some((&*locksets, locksets.of(thread)));
            accesses.compare(orders, classes, (&now, locks), at, access);
        }
    }

    fn finish(self: Box<Self>, _: &AtomicBool) -> Result<Option<Analysis>, TooLarge> {
        let Self { classes, orders, accesses, .. } = *self;
        drop(orders);
        let (races, lost) = accesses.finish(&classes);
        Ok(Some(Analysis { lost, ..Analysis::of(races) }))
    }
}

/// Returns the order among these operations that every run with them has, in the hybrid relation. They must be in the
/// order of the trace. `None` if `stop` was set.
pub(in crate::detect) fn order_of(trace: &Trace, ops: &[OpNo], stop: &AtomicBool) -> Option<OrderQuery> {
    let mut orders = Orders::new(trace);
    OrderQuery::collect(trace, ops, stop, |op, earlier, before| {
        let Operation { thread, action, .. } = trace.ops[op];
        orders.step(op, thread, action);
        let now = orders.now(thread)?;
        before.extend(earlier.iter().map(|point| point.is_some_and(|point| now.context.has(point))));
        Some(now.context.at())
    })
}

// The relations of a trace up to the current operation, and the running contexts.
struct Orders<'t> {
    trace: &'t Trace,
    hybrid: Order,
    // The precise relation and the queued relation.
    finer: [Order; 2],
    // The operation with which each thread has started.
    started: IndexVec<ThreadNo, Option<OpNo>>,
    running: IndexVec<ThreadNo, Option<TaskNo>>,
    // For each operation so far, its points in the finer relations; `None` if it is no access.
    points: IndexVec<OpNo, Option<[Point; 2]>>,
    posts: IndexVec<TaskNo, Option<Point>>,
    begins: IndexVec<TaskNo, Option<Point>>,
    // Knowledge at the posts of tasks that handle events.
    events: IndexVec<TaskNo, Option<Clock>>,
}

// A running context, with its number and its knowledge in the hybrid relation.
struct Now<'o> {
    thread: ThreadNo,
    since: OpNo,
    id: ContextId,
    context: &'o ContextClock,
}

impl<'t> Orders<'t> {
    fn new(trace: &'t Trace) -> Self {
        fn none<I: Id, T>(n: usize) -> IndexVec<I, Option<T>> {
            (0..n).map(|_| None).collect()
        }
        let (threads, tasks) = (trace.threads.len(), trace.tasks.len());
        Self {
            trace,
            hybrid: Order::new(trace, RelationEdges::Hybrid),
            finer: [RelationEdges::Precise, RelationEdges::Queued].map(|edges| Order::new(trace, edges)),
            started: none(threads),
            running: none(threads),
            points: IndexVec::new(),
            posts: none(tasks),
            begins: none(tasks),
            events: none(tasks),
        }
    }

    fn orders(&mut self) -> impl Iterator<Item = &mut Order> {
        std::iter::once(&mut self.hybrid).chain(&mut self.finer)
    }

    fn id(&self, thread: ThreadNo) -> ContextId {
        self.running[thread].map_or_else(|| home(thread), |task| context(self.trace, task))
    }

    fn now(&self, thread: ThreadNo) -> Option<Now<'_>> {
        let id = self.id(thread);
        let begin = self.running[thread].and_then(|task| self.trace.tasks[task].begin);
        let since = begin.or(self.started[thread])?;
        Some(Now { thread, since, id, context: self.hybrid.relation.context(id)? })
    }

    fn step(&mut self, at: OpNo, thread: ThreadNo, action: Action) {
        let trace = self.trace;
        if trace.threads[thread].environment {
            if let Action::Post(task) = action {
                self.orders().for_each(|order| order.fire(trace, task));
                self.posted(task);
            }
        } else {
            if self.started[thread].is_none() {
                self.started[thread] = Some(at);
                self.orders().for_each(|order| order.relation.start(home(thread)));
            }
            let id = self.id(thread);
            self.orders().for_each(|order| order.perform(trace, (thread, id), action));
            self.note(thread, action);
        }
        let points = action.access().and_then(|_| self.finer_points(self.id(thread)));
        self.points.add(points);
    }

    fn note(&mut self, thread: ThreadNo, action: Action) {
        match action {
            Action::Begin(task) => {
                self.running[thread] = Some(task);
                self.begins[task] = self.hybrid.relation.context(context(self.trace, task)).map(ContextClock::at);
            }
            Action::End(_) => self.running[thread] = None,
            Action::Post(task) => self.posted(task),
            _ => {}
        }
    }

    fn posted(&mut self, task: TaskNo) {
        let Some(message) = self.hybrid.relation.message(context(self.trace, task)) else { return };
        self.posts[task] = message.post;
        self.events[task] = self.trace.is_event(task).then(|| message.clock.clone());
    }

    fn finer_points(&self, id: ContextId) -> Option<[Point; 2]> {
        let [precise, queued] = &self.finer;
        Some([precise.relation.context(id)?.at(), queued.relation.context(id)?.at()])
    }
}

impl AccessQuery<Now<'_>> for Orders<'_> {
    fn place(&self, now: &Now<'_>) -> Place {
        Place { since: now.since, number: now.id.0, at: now.context.at(), is_filtered: false }
    }

    fn is_before(&self, point: Point, now: &Now<'_>) -> bool {
        now.context.has(point)
    }

    // The relation is transitive, so that no path on the thread alone is asked for.
    fn is_st_before(&self, (point, thread): (Point, ThreadNo), now: &Now<'_>) -> bool {
        thread == now.thread && now.context.has(point)
    }

    fn class(&self, classes: &Classes<'_>, (_, old): (OpNo, u32), now: &Now<'_>) -> RaceClass {
        classes.of(old, now.id.0, |first, second| {
            // A context that knows a post of the environment knows the begin of its task.
            let point = self.posts[first].or(self.begins[first]);
            first == second || self.events[second].as_ref().zip(point).is_some_and(|(clock, point)| clock.has(point))
        })
    }

    fn rank(&self, _: &Classes<'_>, (old, _): (OpNo, u32), now: &Now<'_>) -> Rank {
        let Some([in_precise, in_queued]) = self.points[old] else { return Rank::Unordered };
        let [precise, queued] = &self.finer;
        let has = |order: &Order, point| order.relation.context(now.id).is_some_and(|now| now.has(point));
        Rank::of_race(has(precise, in_precise), || has(queued, in_queued))
    }
}

// One relation of a trace, with the clocks that it has sent and that a later operation may learn.
struct Order {
    edges: RelationEdges,
    relation: Relation,
    enables: IndexVec<EventNo, Option<Clock>>,
    locks: IndexVec<LockNo, LockReleases>,
    channels: IndexVec<ChannelNo, Clock>,
}

impl Order {
    fn new(trace: &Trace, edges: RelationEdges) -> Self {
        Self {
            edges,
            relation: Relation::new(edges),
            enables: (0..trace.events.len()).map(|_| None).collect(),
            locks: (0..trace.locks.len()).map(|_| LockReleases::default()).collect(),
            channels: (0..trace.channels).map(|_| Clock::default()).collect(),
        }
    }

    // The environment posts the task: after the enables of its events, and after nothing else.
    fn fire(&mut self, trace: &Trace, task: TaskNo) {
        let mut cause: Option<Clock> = None;
        for enabled in trace.tasks[task].events.iter().filter_map(|event| self.enables[*event].as_ref()) {
            cause.get_or_insert_default().join(enabled);
        }
        self.relation.fire(context(trace, task), cause, trace.tasks[task].class());
    }

    // Processes an operation of a context of the thread.
    fn perform(&mut self, trace: &Trace, (thread, id): (ThreadNo, ContextId), action: Action) {
        let relation = &mut self.relation;
        match action {
            Action::Fork(child) => relation.fork(id, Some(home(child))),
            Action::Join(other) => relation.join(id, live(other)),
            Action::ThreadExit => relation.exit(live(thread), home(thread)),
            Action::AttachQueue => relation.attach(id, live(thread)),
            Action::Leave => relation.leave(live(thread), home(thread)),
            Action::Begin(task) => relation.begin((live(thread), home(thread)), context(trace, task)),
            Action::End(_) => relation.end_task(live(thread)),
            Action::Post(task) => self.post(trace, id, task),
            Action::Enable(event) => {
                let clock = relation.send(id);
                self.enables[event].get_or_insert_default().join(&clock);
            }
            Action::Acquire(_) | Action::Release(_) | Action::Send(_) | Action::Receive(_) => {
                if self.edges != RelationEdges::Hybrid {
                    self.signal(live(thread), id, action);
                }
            }
            Action::ThreadInit | Action::Loop | Action::Read(_) | Action::Write(_) => {}
        }
    }

    fn post(&mut self, trace: &Trace, id: ContextId, task: TaskNo) {
        let about = &trace.tasks[task];
        let looper = live(about.looper);
        self.relation.use_queue(id, looper);
        for enabled in about.events.iter().filter_map(|event| self.enables[*event].as_ref()) {
            self.relation.receive(id, enabled);
        }
        self.relation.post(id, (looper, context(trace, task)), about.class());
    }

    fn signal(&mut self, thread: ThreadId, id: ContextId, action: Action) {
        let Some(at) = self.relation.context_mut(id) else { return };
        match action {
            Action::Acquire(lock) => self.locks[lock].acquire(thread, at),
            Action::Release(lock) => self.locks[lock].release(thread, at.send()),
            Action::Send(channel) => self.channels[channel].join(&at.send()),
            Action::Receive(channel) => at.receive(&self.channels[channel]),
            _ => {}
        }
    }
}

// The numbers of threads and contexts in the relations.
fn live(thread: ThreadNo) -> ThreadId {
    ThreadId(thread.0)
}

fn home(thread: ThreadNo) -> ContextId {
    ContextId(thread.0)
}

fn context(trace: &Trace, task: TaskNo) -> ContextId {
    ContextId::new(trace.threads.len() + task.index())
}
