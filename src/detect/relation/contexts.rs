//! A happens-before relation of threads, tasks and posts, by vector clocks. [`detect`](crate::detect) has the edges.
//!
//! The relation is fed step by step: [`super::order`] feeds it with the events of a run, and `traces::hybrid_trace`
//! with the operations of a trace. Its user numbers the contexts: a thread's own code is a context, and so is each
//! task.
//!
//! All edges into a step are known when it happens: a cause is a clock that was copied when the earlier end of the
//! edge happened. One pass is therefore exact.

use super::clock::{ChainId, Clock, ClockBlock, INIT, LAST, Point, knows};
use super::queues::{EndedMessage, PostedMessage, Tasks};
use crate::base::{Id, IndexVec};
use crate::event::{Cause, ContextId, ThreadId};
use crate::world::{PostClass, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The edges of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::detect) enum RelationEdges {
    /// The edges that [`detect`](crate::detect) documents.
    Hybrid,
    /// The hybrid edges, and those of locks, signals, semaphores, atomics, awaits, interrupts and quits
    /// ([`HybridChannels`]).
    Precise,
    /// The precise edges, and FIFO of all posts to a looper in the order in which they happened. Firings are exempt:
    /// the environment has no order.
    Queued,
}

impl RelationEdges {
    /// Returns whether the relation has the edges from what lets a row of a component be fired to its firing. The
    /// scheduler chose which step made a condition hold.
    pub(super) fn has(self, cause: Cause) -> bool {
        self != RelationEdges::Hybrid || !matches!(cause, Cause::Condition(..))
    }
}

/// A happens-before relation up to the latest step: the running contexts, the pending messages, and the clocks of
/// causes whose effects are still to come.
pub(in crate::detect) struct Relation {
    edges: RelationEdges,
    // Knowledge of a context without a creator: `init` has ended.
    root: Clock,
    chains: IndexVec<ChainId, Chain>,
    // Chains whose last context has ended, in the order of the ends. A chain may have been reused since.
    closed: VecDeque<ChainId>,
    contexts: BTreeMap<ContextId, ContextClock>,
    messages: BTreeMap<ContextId, PostedMessage>,
    forks: BTreeMap<ContextId, Clock>,
    threads: IndexVec<ThreadId, ThreadClock>,
    // Knowledge of the jobs that wait, at their last suspension.
    suspended: BTreeMap<ContextId, Clock>,
    // Contexts of jobs that run inside the context that has launched them.
    nested: BTreeMap<ContextId, ContextId>,
}

struct Chain {
    // Last epoch of its last context, if that context has ended.
    last: Option<u32>,
}

/// A running context.
#[derive(Clone)]
pub(in crate::detect) struct ContextClock {
    // Its current epoch.
    at: Point,
    // Its knowledge about other chains.
    clock: Clock,
}

impl ContextClock {
    /// Returns a context that begins at this point with this knowledge.
    pub(in crate::detect) fn new(at: Point, clock: Clock) -> Self {
        Self { at, clock }
    }

    /// Returns the knowledge of the context about other chains.
    pub(in crate::detect) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether the point is before the next operation of this context.
    pub(in crate::detect) fn has(&self, point: Point) -> bool {
        point.chain == self.at.chain || self.clock.has(point)
    }

    /// Whether the context knows everything that a block of chains says, its own chain left out.
    pub(in crate::detect) fn knows(&self, number: usize, block: &Arc<ClockBlock>) -> bool {
        self.clock.block(number).is_some_and(|mine| Arc::ptr_eq(mine, block) || knows(mine, block))
    }

    /// Whether the clock has a point that is not before the next operation of this context.
    pub(in crate::detect) fn misses(&self, clock: &Clock) -> bool {
        let unknown = |number| clock.block(number).is_some_and(|block| !self.knows(number, block));
        let mut blocks = (0..clock.len()).filter(|number| unknown(*number));
        blocks.any(|number| clock.block_points(number).any(|point| !self.has(point)))
    }

    /// Returns the current point of the context.
    pub(in crate::detect) fn at(&self) -> Point {
        self.at
    }

    /// Returns the knowledge of the context, itself included.
    pub(in crate::detect) fn knowledge(&self) -> Clock {
        let mut clock = self.clock.clone();
        clock.learn(self.at);
        clock
    }

    /// Returns the context's knowledge for others, and begins a new epoch, which is not part of it.
    pub(in crate::detect) fn send(&mut self) -> Clock {
        let clock = self.knowledge();
        self.at.epoch = self.at.epoch.saturating_add(1);
        clock
    }

    /// Learns a clock that another context has sent.
    pub(in crate::detect) fn receive(&mut self, clock: &Clock) {
        self.clock.join(clock);
    }
}

#[derive(Default)]
struct ThreadClock {
    queue: Queue,
    // Whether its tasks run beside others of the same queue.
    shares_queue: bool,
    // The last post to this looper, on a chain without contexts: with `RelationEdges::Queued`, all posts to the looper
    // are ordered as if one context had made them.
    posts: Option<Point>,
    exit: Option<Clock>,
    tasks: Tasks,
    running: Option<RunningTask>,
    // The last task that was a message: the running microtask belongs to it. `None` before the first one, when
    // microtasks belong to the thread's own code.
    message: Option<Point>,
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
struct RunningTask {
    context: ContextId,
    // The begin of the task. Of a microtask it is the begin of the message that it belongs to, or `None` if it belongs
    // to the thread's own code, which is `home`.
    begin: Option<Point>,
    home: ContextId,
    post: Option<Point>,
    class: Option<PostClass>,
}

// Number of closed chains that a new context tries to reuse, besides those of the tasks that it follows.
const MOST_CLOSED: usize = 32;

impl Relation {
    pub(in crate::detect) fn new(edges: RelationEdges) -> Self {
        let mut chains = IndexVec::new();
        let init = chains.add(Chain { last: None });
        debug_assert_eq!(init, INIT);
        let mut root = Clock::default();
        root.learn(Point { chain: INIT, epoch: LAST });
        Self {
            edges,
            root,
            chains,
            closed: VecDeque::new(),
            contexts: BTreeMap::new(),
            messages: BTreeMap::new(),
            forks: BTreeMap::new(),
            threads: IndexVec::new(),
            suspended: BTreeMap::new(),
            nested: BTreeMap::new(),
        }
    }

    /// Returns the context, if it is running.
    pub(in crate::detect) fn context(&self, context: ContextId) -> Option<&ContextClock> {
        self.contexts.get(&context)
    }

    /// Returns the context, if it is running, to learn and send.
    pub(in crate::detect) fn context_mut(&mut self, context: ContextId) -> Option<&mut ContextClock> {
        self.contexts.get_mut(&context)
    }

    /// Returns the message of a task that has not begun.
    pub(in crate::detect) fn message(&self, task: ContextId) -> Option<&PostedMessage> {
        self.messages.get(&task)
    }

    fn thread(&mut self, thread: ThreadId) -> &mut ThreadClock {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, ThreadClock::default);
        }
        &mut self.threads[thread]
    }

    /// Records that a looper has its queue from its start.
    pub(in crate::detect) fn born_with_queue(&mut self, looper: ThreadId) {
        self.thread(looper).queue = Queue::Born;
    }

    /// Records that a thread is a worker of a pool with several workers: nothing orders the tasks of one queue.
    pub(in crate::detect) fn born_in_pool(&mut self, worker: ThreadId) {
        self.thread(worker).shares_queue = true;
    }

    /// Records a task that `init` has posted. Its posts happen in the order of their contexts.
    pub(in crate::detect) fn post_of_init(&mut self, task: ContextId, class: PostClass) {
        let post = Point { chain: INIT, epoch: task.0.saturating_add(1) };
        let mut clock = Clock::default();
        clock.learn(post);
        self.messages.insert(task, PostedMessage { clock, post: Some(post), class: Some(class) });
    }

    /// Starts a thread's own code: after its fork, if it was forked.
    pub(in crate::detect) fn start(&mut self, home: ContextId) {
        let clock = self.forks.remove(&home).unwrap_or_else(|| self.root.clone());
        self.open(home, clock, &[]);
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
        self.contexts.insert(context, ContextClock { at, clock });
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

    fn running(&mut self, context: ContextId) -> &mut ContextClock {
        let (chains, root) = (&mut self.chains, &self.root);
        // If the run is observed from its start, every context begins before it acts.
        self.contexts.entry(context).or_insert_with(|| {
            debug_assert!(false, "{context:?} has not begun");
            ContextClock { at: Point { chain: chains.add(Chain { last: None }), epoch: 1 }, clock: root.clone() }
        })
    }

    /// Returns what a context knows, and begins its next epoch.
    pub(in crate::detect) fn send(&mut self, context: ContextId) -> Clock {
        self.running(context).send()
    }

    /// Teaches a context a clock that another one has sent.
    pub(in crate::detect) fn receive(&mut self, context: ContextId, clock: &Clock) {
        self.running(context).receive(clock);
    }

    /// Records a fork by a context; `None` if it has made no thread.
    pub(in crate::detect) fn fork(&mut self, context: ContextId, child: Option<ContextId>) {
        let clock = self.send(context);
        if let Some(child) = child {
            self.forks.insert(child, clock);
        }
    }

    /// Records that a context has waited for the end of a thread.
    pub(in crate::detect) fn join(&mut self, context: ContextId, other: ThreadId) {
        if let Some(clock) = self.thread(other).exit.clone() {
            self.receive(context, &clock);
        }
    }

    /// Records that a thread creates its queue, in this context.
    pub(in crate::detect) fn attach(&mut self, context: ContextId, thread: ThreadId) {
        let clock = self.send(context);
        let queue = &mut self.thread(thread).queue;
        // A second queue is refused.
        if matches!(queue, Queue::None) {
            *queue = Queue::Attached(clock);
        }
    }

    /// Records that a context uses the queue of a looper: it comes after the creation of the queue.
    pub(in crate::detect) fn use_queue(&mut self, context: ContextId, looper: ThreadId) {
        if let Queue::Attached(clock) = &self.thread(looper).queue {
            let clock = clock.clone();
            self.receive(context, &clock);
        }
    }

    /// Records that a context posts a task.
    pub(in crate::detect) fn post(
        &mut self,
        context: ContextId,
        (looper, task): (ThreadId, ContextId),
        class: PostClass,
    ) {
        let mut post = self.running(context).at();
        let mut clock = self.send(context);
        if self.edges == RelationEdges::Queued {
            let last = self.thread(looper).posts;
            let last = last.unwrap_or_else(|| Point { chain: self.chains.add(Chain { last: None }), epoch: 0 });
            post = Point { epoch: last.epoch.saturating_add(1), ..last };
            self.thread(looper).posts = Some(post);
            self.running(context).clock.learn(post);
            clock.learn(post);
        }
        self.messages.insert(task, PostedMessage { clock, post: Some(post), class: Some(class) });
    }

    /// Records that the environment posts a task: after `cause`, or after `init` alone.
    pub(in crate::detect) fn fire(&mut self, task: ContextId, cause: Option<Clock>, class: PostClass) {
        let clock = cause.unwrap_or_else(|| self.root.clone());
        self.messages.insert(task, PostedMessage { clock, post: None, class: Some(class) });
    }

    /// Records that a looper, whose own code is `home`, begins a task.
    pub(in crate::detect) fn begin(&mut self, (looper, home): (ThreadId, ContextId), task: ContextId) {
        let unknown = || PostedMessage { clock: Clock::default(), post: None, class: None };
        let mut posted = self.messages.remove(&task).unwrap_or_else(unknown);
        if self.thread(looper).shares_queue {
            let begin = self.open(task, posted.clock, &[]);
            let (begin, post, class) = (Some(begin), None, None);
            self.thread(looper).running = Some(RunningTask { context: task, begin, home, post, class });
            return;
        }
        let is_micro = posted.class.is_some_and(|class| class.time == Time::Micro);
        if is_micro {
            // NOPRE orders microtasks, so FIFO is not needed: what knows the begin of a message, and is posted to its
            // looper, comes after the microtasks of the message too.
            posted.class = None;
        }
        // The looper's own code up to its loop is before its tasks.
        let mut clock = self.send(home);
        clock.join(&posted.clock);
        let mut followed = self.thread(looper).tasks.teach(&posted, &mut clock);
        if let Some(message) = self.thread(looper).message.filter(|_| is_micro) {
            // Only the microtasks of a message know its end so far, so its chain is still free for them.
            followed.insert(0, message.chain);
        }
        let begin = self.open(task, clock, &followed);
        if !is_micro {
            self.thread(looper).message = Some(begin);
        }
        // A trace may have a microtask that does not know the message before it.
        let message = self.thread(looper).message;
        let begin = message.map(|message| if message.chain == begin.chain { message } else { begin });
        let PostedMessage { post, class, .. } = posted;
        self.thread(looper).running = Some(RunningTask { context: task, begin, home, post, class });
    }

    /// Records that a context runs a job that it has launched, up to the job's first suspension.
    pub(super) fn run_inside(&mut self, context: ContextId, job: ContextId) {
        let clock = self.send(context);
        self.open(job, clock, &[]);
        self.nested.insert(job, context);
    }

    /// Records that the job with this context gives up its looper, or that its task ends. What it knows then is known
    /// to its resumption, and to those that join it.
    pub(super) fn pause(&mut self, looper: ThreadId, context: ContextId, job: Option<ThreadId>) {
        let Some(clock) = self.contexts.get(&context).map(ContextClock::knowledge) else { return };
        match self.nested.remove(&context) {
            Some(outer) => {
                self.close(context);
                self.receive(outer, &clock);
            }
            None => self.end_task(looper),
        }
        match job {
            Some(job) => self.job_knows(job, &clock),
            None => drop(self.suspended.insert(context, clock)),
        }
    }

    /// Records that the resumption of a job is queued.
    pub(super) fn resume(&mut self, context: ContextId, class: PostClass) {
        let earlier = self.suspended.remove(&context);
        // If the step of the suspension queues the resumption too, the job still runs here.
        let cause = self.contexts.get(&context).map(ContextClock::knowledge).or(earlier);
        self.fire(context, cause, class);
    }

    /// Records that a job has ended: its parent ends after it.
    pub(super) fn job_ended(&mut self, job: ThreadId, parent: Option<ThreadId>) {
        let clock = self.thread(job).exit.clone();
        if let (Some(parent), Some(clock)) = (parent, clock) {
            self.job_knows(parent, &clock);
        }
    }

    // Adds to what those know that join a job.
    fn job_knows(&mut self, job: ThreadId, clock: &Clock) {
        self.thread(job).exit.get_or_insert_default().join(clock);
    }

    /// Records that a looper ends the task that it runs, if any.
    pub(in crate::detect) fn end_task(&mut self, looper: ThreadId) {
        let Some(RunningTask { context, begin, home, post, class }) = self.thread(looper).running.take() else {
            return;
        };
        let Some((end, clock)) = self.close(context) else { return };
        match begin {
            _ if self.thread(looper).shares_queue => {}
            Some(begin) => self.thread(looper).tasks.add(EndedMessage { context, begin, end, clock }, post, class),
            None => self.receive(home, &clock),
        }
    }

    /// Records that a looper leaves its loop: all its tasks are before its further code.
    pub(in crate::detect) fn leave(&mut self, looper: ThreadId, home: ContextId) {
        self.thread(looper).message = None;
        let last: Vec<Arc<EndedMessage>> = self.thread(looper).tasks.last().cloned().collect();
        for ended in last {
            let context = self.running(home);
            if !context.has(ended.end) {
                context.clock.join(&ended.clock);
            }
        }
    }

    /// Records that a thread ends. An exception may end a looper in the middle of a task.
    pub(in crate::detect) fn exit(&mut self, thread: ThreadId, home: ContextId) {
        self.end_task(thread);
        self.leave(thread, home);
        let exit = self.close(home).map(|(_, clock)| clock);
        self.thread(thread).exit = exit;
    }
}
