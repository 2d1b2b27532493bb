//! Happens-before over one run, by vector clocks. The parent module documents the edges.
//!
//! All edges into an event are known when it happens: a cause is a clock that was copied when the earlier end of the
//! edge happened. One pass is therefore exact.
//!
//! Relations with more edges ([`Edges`]) rank the pairs that the hybrid relation leaves unordered.

use super::awaits::Turned;
use super::carried::Carried;
use super::clock::{Block, ChainId, Clock, INIT, LAST, Point, knows};
use super::held::Held;
use super::queues::{Ended, Posted, Tasks};
use crate::base::{Id, IndexVec};
use crate::event::{BarrierId, ContextId, Event, EventId, Happening, Op, PostTime, ThreadId};
use crate::world::{Class, MessageKind, Time, World};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The edges of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edges {
    /// The edges that the parent module documents.
    Hybrid,
    /// The hybrid edges, and those of locks, signals, semaphores, atomics, awaits, interrupts and quits
    /// ([`Carried`]).
    Precise,
    /// The precise edges, and FIFO of all posts to a looper in the order in which they happened. Firings are exempt:
    /// the environment has no order.
    Queued,
}

/// A happens-before relation up to the latest event: the running contexts, the pending messages, and the clocks of
/// causes whose effects are still to come.
pub(super) struct Order {
    edges: Edges,
    started: bool,
    // Knowledge of a context without a creator: `init` has ended.
    root: Clock,
    chains: IndexVec<ChainId, Chain>,
    // Chains whose last context has ended, in the order of the ends. A chain may have been reused since.
    closed: VecDeque<ChainId>,
    contexts: BTreeMap<ContextId, Context>,
    messages: BTreeMap<ContextId, Posted>,
    forks: BTreeMap<ContextId, Clock>,
    threads: IndexVec<ThreadId, Thread>,
    // Enables that no firing has used; `None` for one without cause.
    enables: BTreeMap<EventId, VecDeque<Option<Clock>>>,
    barriers: BTreeMap<BarrierId, Generation>,
    carried: Carried,
}

struct Chain {
    // Last epoch of its last context, if that context has ended.
    last: Option<u32>,
}

/// A running context.
#[derive(Clone)]
pub(super) struct Context {
    // Its current epoch.
    at: Point,
    // Its knowledge about other chains.
    clock: Clock,
}

impl Context {
    /// Whether the point is before the next operation of this context.
    pub(super) fn has(&self, point: Point) -> bool {
        point.chain == self.at.chain || self.clock.has(point)
    }

    /// Whether the context knows everything that a block of chains says. The context's own chain is not taken into
    /// account.
    pub(super) fn knows(&self, number: usize, block: &Arc<Block>) -> bool {
        self.clock.block(number).is_some_and(|mine| Arc::ptr_eq(mine, block) || knows(mine, block))
    }

    /// Whether the clock has a point that is not before the next operation of this context.
    pub(super) fn misses(&self, clock: &Clock) -> bool {
        let unknown = |number| clock.block(number).is_some_and(|block| !self.knows(number, block));
        let mut blocks = (0..clock.len()).filter(|number| unknown(*number));
        blocks.any(|number| clock.block_points(number).any(|point| !self.has(point)))
    }

    /// Returns the current point of the context.
    pub(super) fn at(&self) -> Point {
        self.at
    }

    fn knowledge(&self) -> Clock {
        let mut clock = self.clock.clone();
        clock.learn(self.at);
        clock
    }

    /// Returns the context's knowledge, for another context to learn, and begins a new epoch: later operations are
    /// not part of it.
    pub(super) fn send(&mut self) -> Clock {
        let clock = self.knowledge();
        self.at.epoch = self.at.epoch.saturating_add(1);
        clock
    }

    /// Learns a clock that another context has sent.
    pub(super) fn receive(&mut self, clock: &Clock) {
        self.clock.join(clock);
    }
}

#[derive(Default)]
struct Thread {
    queue: Queue,
    // The last post to this looper, on a chain without contexts: with `Edges::Queued`, all posts to the looper are
    // ordered as if one context had made them.
    posts: Option<Point>,
    exit: Option<Clock>,
    // The clock that the thread learns when it passes the barrier at which it has arrived.
    pass: Option<Clock>,
    tasks: Tasks,
    running: Option<Running>,
}

#[derive(Default)]
enum Queue {
    #[default]
    None,
    // The thread has a queue from its start.
    Born,
    Attached(Clock),
}

// A task that has begun, with the data of its message.
struct Running {
    context: ContextId,
    begin: Point,
    post: Option<Point>,
    class: Option<Class>,
}

// The threads that have arrived at a barrier and may not pass yet.
#[derive(Default)]
struct Generation {
    waiting: Vec<ThreadId>,
    clock: Clock,
}

// Number of closed chains that a new context tries to reuse, besides those of the tasks that it follows.
const MOST_CLOSED: usize = 32;

impl Order {
    pub(super) fn new(edges: Edges) -> Self {
        let mut chains = IndexVec::new();
        let init = chains.add(Chain { last: None });
        debug_assert_eq!(init, INIT);
        let mut root = Clock::default();
        root.learn(Point { chain: INIT, epoch: LAST });
        Self {
            edges,
            started: false,
            root,
            chains,
            closed: VecDeque::new(),
            contexts: BTreeMap::new(),
            messages: BTreeMap::new(),
            forks: BTreeMap::new(),
            threads: IndexVec::new(),
            enables: BTreeMap::new(),
            barriers: BTreeMap::new(),
            carried: Carried::default(),
        }
    }

    /// Returns the context, if it is running.
    pub(super) fn context(&self, context: ContextId) -> Option<&Context> {
        self.contexts.get(&context)
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
        &mut self.threads[thread]
    }

    /// Updates the clocks for this event. `held` has the lock sets before it; `turned` are the awaits that it has
    /// turned.
    pub(super) fn observe(&mut self, world: &World, event: &Event, held: &Held, turned: &[Turned]) {
        if !std::mem::replace(&mut self.started, true) {
            self.adopt(world);
        }
        match (&event.what, event.thread.zip(event.context)) {
            (Happening::ThreadInit, Some((_, context))) => {
                let clock = self.forks.remove(&context).unwrap_or_else(|| self.root.clone());
                self.open(context, clock, &[]);
            }
            (Happening::ThreadExit, Some((thread, home))) => self.exit(thread, home),
            (Happening::End, Some((thread, _))) => self.end_task(thread),
            (Happening::Fire(event, context), _) => self.fire(*event, *context),
            (Happening::Performed { op, made, value }, Some((thread, context))) => {
                self.perform(world, thread, context, op, *made);
                if let (Op::SpawnLooper, Ok(looper)) = (op, u32::try_from(*value)) {
                    self.thread(ThreadId(looper)).queue = Queue::Born;
                }
                if self.edges != Edges::Hybrid
                    && let Some(at) = self.contexts.get_mut(&context)
                {
                    self.carried.perform(world, held, (thread, op, *value), turned, at);
                }
            }
            _ => {}
        }
    }

    // The events of `init` are not recorded: its posts and enables are taken from the first state. Its clock is 1, so
    // that its posts are due at known instants; they happen in the order of their contexts.
    fn adopt(&mut self, world: &World) {
        for (id, thread) in world.threads().enumerate() {
            let Some(queue) = &thread.queue else { continue };
            self.thread(id).queue = Queue::Born;
            for message in queue.messages() {
                let MessageKind::Task(task) = &message.kind else { continue };
                let post = Point { chain: INIT, epoch: task.context.0.saturating_add(1) };
                let mut clock = Clock::default();
                clock.learn(post);
                let class = Class { time: Time::instant(message.when), is_async: task.is_async };
                self.messages.insert(task.context, Posted { clock, post: Some(post), class: Some(class) });
            }
        }
        for event in world.setup().events.ids() {
            let left = std::iter::repeat_n(None, world.enables_left(event)).collect();
            self.enables.insert(event, left);
        }
    }

    fn open(&mut self, context: ContextId, clock: Clock, preferred: &[ChainId]) -> Point {
        // A new context continues a closed chain if it knows the chain to its end. Few chains mean short clocks.
        let free = preferred.iter().copied().chain(self.closed.iter().rev().copied()).find_map(|chain| {
            let last = self.chains[chain].last.filter(|last| clock.get(chain) >= *last)?;
            // A chain that has used up its epochs is not reused.
            Some(Point { chain, epoch: last.checked_add(1)? })
        });
        let at = match free {
            Some(at) => {
                self.chains[at.chain].last = None;
                at
            }
            None => Point { chain: self.chains.add(Chain { last: None }), epoch: 1 },
        };
        self.contexts.insert(context, Context { at, clock });
        at
    }

    // Ends a context. Returns its last epoch and its knowledge.
    fn close(&mut self, context: ContextId) -> Option<(Point, Clock)> {
        let ended = self.contexts.remove(&context)?;
        self.chains[ended.at.chain].last = Some(ended.at.epoch);
        if self.closed.len() == MOST_CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back(ended.at.chain);
        Some((ended.at, ended.knowledge()))
    }

    fn running(&mut self, context: ContextId) -> &mut Context {
        let (chains, root) = (&mut self.chains, &self.root);
        // If the run is observed from its start, every context begins before it acts.
        self.contexts.entry(context).or_insert_with(|| {
            debug_assert!(false, "{context:?} has not begun");
            Context { at: Point { chain: chains.add(Chain { last: None }), epoch: 1 }, clock: root.clone() }
        })
    }

    fn send(&mut self, context: ContextId) -> Clock {
        self.running(context).send()
    }

    fn receive(&mut self, context: ContextId, clock: &Clock) {
        self.running(context).receive(clock);
    }

    fn perform(&mut self, world: &World, thread: ThreadId, context: ContextId, op: &Op, made: Option<ContextId>) {
        match op {
            Op::Fork { .. } | Op::SpawnLooper => {
                let clock = self.send(context);
                if let Some(child) = made {
                    self.forks.insert(child, clock);
                }
            }
            Op::Join(other) => {
                if let Some(clock) = self.thread(*other).exit.clone() {
                    self.receive(context, &clock);
                }
            }
            Op::AttachQueue => {
                let clock = self.send(context);
                let queue = &mut self.thread(thread).queue;
                // A second queue is refused.
                if matches!(queue, Queue::None) {
                    *queue = Queue::Attached(clock);
                }
            }
            Op::Post { target, time, is_async, .. } => {
                let looper = world.thread_of(*target);
                if let Queue::Attached(clock) = &self.thread(looper).queue {
                    let clock = clock.clone();
                    self.receive(context, &clock);
                }
                if let Some(task) = made {
                    self.post(context, (looper, task), *time, *is_async);
                }
            }
            Op::Begin => match made {
                Some(task) => self.begin(world, thread, task),
                // The looper leaves its loop: all its tasks are before its further code.
                None => {
                    self.learn_tasks(thread, context);
                    if let Some(at) = self.contexts.get_mut(&context) {
                        self.carried.leave(thread, at);
                    }
                }
            },
            Op::Enable { event, .. } => {
                let clock = self.send(context);
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
                if let Some(clock) = self.thread(thread).pass.take() {
                    self.receive(context, &clock);
                }
            }
            _ => {}
        }
    }

    fn post(&mut self, context: ContextId, (looper, task): (ThreadId, ContextId), time: PostTime, is_async: bool) {
        let mut post = self.running(context).at();
        let mut clock = self.send(context);
        if self.edges == Edges::Queued {
            let last = self.thread(looper).posts;
            let last = last.unwrap_or_else(|| Point { chain: self.chains.add(Chain { last: None }), epoch: 0 });
            post = Point { epoch: last.epoch.saturating_add(1), ..last };
            self.thread(looper).posts = Some(post);
            self.running(context).clock.learn(post);
            clock.learn(post);
        }
        let class = Class { time: Time::of(time), is_async };
        self.messages.insert(task, Posted { clock, post: Some(post), class: Some(class) });
    }

    // The environment posts the handler: after the oldest unused enable, and after nothing else.
    fn fire(&mut self, event: EventId, task: ContextId) {
        let cause = self.enables.get_mut(&event).and_then(VecDeque::pop_front).flatten();
        let clock = cause.unwrap_or_else(|| self.root.clone());
        let class = Class { time: Time::Delay(0), is_async: false };
        self.messages.insert(task, Posted { clock, post: None, class: Some(class) });
    }

    fn begin(&mut self, world: &World, looper: ThreadId, task: ContextId) {
        let unknown = || Posted { clock: Clock::default(), post: None, class: None };
        let posted = self.messages.remove(&task).unwrap_or_else(unknown);
        // The looper's own code up to its loop is before its tasks.
        let mut clock = self.send(world.thread(looper).home);
        clock.join(&posted.clock);
        let followed = self.thread(looper).tasks.teach(&posted, &mut clock);
        let begin = self.open(task, clock, &followed);
        let Posted { post, class, .. } = posted;
        self.thread(looper).running = Some(Running { context: task, begin, post, class });
    }

    fn end_task(&mut self, looper: ThreadId) {
        let Some(Running { context, begin, post, class }) = self.thread(looper).running.take() else { return };
        let Some((end, clock)) = self.close(context) else { return };
        self.thread(looper).tasks.add(Ended { begin, end, clock }, post, class);
    }

    fn learn_tasks(&mut self, looper: ThreadId, home: ContextId) {
        let last: Vec<Arc<Ended>> = self.thread(looper).tasks.last().cloned().collect();
        for ended in last {
            let context = self.running(home);
            if !context.has(ended.end) {
                context.clock.join(&ended.clock);
            }
        }
    }

    // An exception may end a looper in the middle of a task.
    fn exit(&mut self, thread: ThreadId, home: ContextId) {
        self.end_task(thread);
        self.learn_tasks(thread, home);
        let exit = self.close(home).map(|(_, clock)| clock);
        self.thread(thread).exit = exit;
    }

    // The last thread of a generation continues at once; the others pass later.
    fn arrive(&mut self, thread: ThreadId, context: ContextId, barrier: BarrierId, parties: i64) {
        let clock = self.send(context);
        let generation = self.barriers.entry(barrier).or_default();
        generation.clock.join(&clock);
        generation.waiting.push(thread);
        if (generation.waiting.len() as i64) < parties {
            return;
        }
        let Generation { waiting, clock } = std::mem::take(generation);
        for waiter in waiting {
            self.thread(waiter).pass = Some(clock.clone());
        }
        self.thread(thread).pass = None;
        self.receive(context, &clock);
    }
}
