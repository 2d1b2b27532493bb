//! One pass over a trace: the knowledge of each context, operation by operation.
//!
//! A context is a thread's own code before its loop, its code behind it, or a task. It has one clock, and lies on a
//! chain: it takes a chain whose last point it knows, so that tasks in a row share a chain.

use super::external::External;
use super::looper::{Ended, LooperTasks};
use crate::base::mutant::{self, Mutant};
use crate::base::{Id, IndexVec};
use crate::detect::relation::clock::{ChainId, Clock, Point};
use crate::detect::relation::contexts::ContextClock;
use crate::detect::relation::queues::{EndedMessage, PostedMessage};
use crate::detect::traces::happens_before::Chains;
use crate::event::ContextId;
use crate::trace::{Action, ChannelNo, EventNo, LockNo, OpNo, Operation, TaskNo, ThreadNo, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The rules of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CausalityRules {
    /// Whether only the rules of the paper hold: neither FRONT-SEEN nor the creation of a queue before the posts to it.
    pub printed: bool,
    /// Whether the events of the outside world have an order.
    pub external: External,
}

/// Tasks with the earlier tasks of the same looper that must have ended before their begins, as passes have found.
#[derive(Clone, Default, Debug)]
pub(super) struct Notes {
    before: BTreeMap<TaskNo, Vec<TaskNo>>,
    // The earlier tasks of all pairs.
    earlier: BTreeSet<TaskNo>,
}

/// The order of a trace up to the current operation.
pub(super) struct CausalOrder<'t> {
    trace: &'t Trace,
    rules: CausalityRules,
    // What earlier passes have found.
    notes: Arc<Notes>,
    found: BTreeMap<TaskNo, Vec<TaskNo>>,
    chains: Chains,
    threads: IndexVec<ThreadNo, ThreadProgress>,
    posted: IndexVec<TaskNo, Option<Box<PostedMessage>>>,
    // Only tasks that notes are about.
    ended: BTreeMap<TaskNo, Arc<EndedMessage>>,
    enables: IndexVec<EventNo, Clock>,
    channels: IndexVec<ChannelNo, Clock>,
    // Only for tests of the tests: locks order nothing.
    locks: IndexVec<LockNo, Clock>,
    overtaken: Vec<(TaskNo, TaskNo)>,
}

#[derive(Default)]
struct ThreadProgress {
    // Knowledge at its fork, at the creation of its queue, at the end of its code before the loop, and at its end.
    forked: Option<Clock>,
    attached: Option<Clock>,
    looped: Option<Clock>,
    exit: Option<Clock>,
    // The thread's own code, or the task that it runs.
    context: Option<RunningContext>,
    running: Option<RunningTask>,
    // The tasks that have ended. `None` if the thread runs no task.
    looper: Option<Box<LooperTasks>>,
    // Whether tasks are posted to the thread. Otherwise its tasks are the calls that a binder thread serves.
    is_looper: bool,
}

struct RunningTask {
    task: TaskNo,
    begin: Point,
    posted: Option<PostedMessage>,
}

/// A running context.
pub(super) struct RunningContext {
    /// The operation with which the context began.
    pub(super) since: OpNo,
    /// The number of the thread, or the number of threads and that of the task.
    pub(super) number: u32,
    /// What the context knows.
    pub(super) clock: ContextClock,
}

/// Number of examples of tasks that others have overtaken.
const MOST_OVERTAKEN: usize = 10;

impl<'t> CausalOrder<'t> {
    pub(super) fn new(trace: &'t Trace, rules: CausalityRules, notes: Arc<Notes>) -> Self {
        let mut threads: IndexVec<ThreadNo, ThreadProgress> =
            trace.threads.iter().map(|_| ThreadProgress::default()).collect();
        for task in trace.tasks.iter() {
            let looper = &mut threads[task.looper];
            looper.is_looper |= task.post.is_some();
            if task.begin.is_some() {
                looper.looper.get_or_insert_default();
            }
        }
        Self {
            trace,
            rules,
            notes,
            found: BTreeMap::new(),
            chains: Chains::new(trace.threads.len()),
            threads,
            posted: trace.tasks.iter().map(|_| None).collect(),
            ended: BTreeMap::new(),
            enables: (0..trace.events.len()).map(|_| Clock::default()).collect(),
            channels: (0..trace.channels).map(|_| Clock::default()).collect(),
            locks: (0..trace.locks.len()).map(|_| Clock::default()).collect(),
            overtaken: Vec::new(),
        }
    }

    /// Returns the context that a thread runs.
    pub(super) fn context(&self, thread: ThreadNo) -> Option<&RunningContext> {
        self.threads[thread].context.as_ref()
    }

    /// Whether tasks are posted to a thread, so that its tasks run one after another.
    pub(super) fn is_looper(&self, thread: ThreadNo) -> bool {
        self.threads[thread].is_looper
    }

    /// Whether this pass has found something that the next one needs.
    pub(super) fn is_to_repeat(&self) -> bool {
        !self.found.is_empty() && !mutant::is(Mutant::OnePass)
    }

    /// Returns the notes for the next pass.
    pub(super) fn into_notes(self) -> Notes {
        let mut notes = Arc::unwrap_or_clone(self.notes);
        for (task, before) in self.found {
            notes.earlier.extend(&before);
            notes.before.entry(task).or_default().extend(before);
        }
        notes
    }

    /// Returns examples of pairs of tasks: the first one began although the second one, which the order of their posts
    /// puts in front of it, had not begun.
    pub(super) fn overtaken(&self) -> &[(TaskNo, TaskNo)] {
        &self.overtaken
    }

    /// Processes the next operation. Returns its point, with which it can be looked up later; `None` for an operation
    /// of the environment.
    pub(super) fn step(&mut self, op: OpNo) -> Option<Point> {
        let Operation { thread, action, .. } = self.trace.ops[op];
        if self.trace.threads[thread].environment {
            if let Action::Post(task) = action {
                self.fire(task);
            }
            return None;
        }
        if let Action::Begin(task) = action {
            return Some(self.begin(op, thread, task));
        }
        if self.threads[thread].context.is_none() {
            self.enter(op);
        }
        let at = self.context(thread)?.clock.at();
        self.perform(thread, action);
        Some(at)
    }

    /// Begins the thread's own code, with this operation: its first one, or the one behind its loop. (Of a looper, only
    /// leaving the loop happens between two tasks.)
    pub(super) fn enter(&mut self, op: OpNo) {
        let thread = self.trace.ops[op].thread;
        let clock = if self.threads[thread].looped.is_some() {
            self.left(thread)
        } else {
            self.threads[thread].forked.take().unwrap_or_default()
        };
        self.open(op, thread, thread.0, clock, &[]);
    }

    fn perform(&mut self, thread: ThreadNo, action: Action) {
        match action {
            Action::Fork(child) => self.threads[child].forked = Some(self.send(thread)),
            Action::Join(other) => {
                if let Some(exit) = self.threads[other].exit.clone() {
                    self.learn(thread, &exit);
                }
            }
            Action::AttachQueue => self.threads[thread].attached = Some(self.send(thread)),
            Action::Loop => self.threads[thread].looped = self.close(thread).map(|(_, clock)| clock),
            Action::ThreadExit => self.threads[thread].exit = self.close(thread).map(|(_, clock)| clock),
            Action::Post(task) => self.post(thread, task),
            Action::End(_) => self.end(thread),
            Action::Enable(event) => {
                let clock = self.send(thread);
                self.enables[event].join(&clock);
            }
            Action::Send(channel) => {
                let clock = self.send(thread);
                self.channels[channel].join(&clock);
            }
            Action::Receive(channel) => {
                let clock = self.channels[channel].clone();
                self.learn(thread, &clock);
            }
            Action::Release(lock) if mutant::is(Mutant::LocksInOrder) => {
                let clock = self.send(thread);
                self.locks[lock].join(&clock);
            }
            Action::Acquire(lock) if mutant::is(Mutant::LocksInOrder) => {
                let clock = self.locks[lock].clone();
                self.learn(thread, &clock);
            }
            Action::Acquire(_)
            | Action::Release(_)
            | Action::ThreadInit
            | Action::Begin(_)
            | Action::Leave
            | Action::Read(_)
            | Action::Write(_) => {}
        }
    }

    fn send(&mut self, thread: ThreadNo) -> Clock {
        self.threads[thread].context.as_mut().map(|context| context.clock.send()).unwrap_or_default()
    }

    // Something arrives at the running context of a thread.
    fn learn(&mut self, thread: ThreadNo, arrived: &Clock) {
        let ThreadProgress { context, running, looper, is_looper, .. } = &mut self.threads[thread];
        let Some(RunningContext { clock, .. }) = context else { return };
        if clock.clock().covers(arrived) {
            return;
        }
        let before = clock.clock().clone();
        clock.receive(arrived);
        let (Some(looper), Some(running)) = (looper, running) else { return };
        if !*is_looper || mutant::is(Mutant::AtomicAtPosts) {
            return;
        }
        let mut known = clock.clock().clone();
        let ended = looper.complete(&before, arrived, &mut known);
        if !ended.is_empty() {
            clock.receive(&known);
            let threads = self.trace.threads.len();
            let tasks = ended.iter().map(|ended| TaskNo::new(ended.context.index() - threads));
            self.found.entry(running.task).or_default().extend(tasks);
        }
    }

    // The environment posts a task: after what has enabled its events, and after nothing else.
    fn fire(&mut self, task: TaskNo) {
        let about = &self.trace.tasks[task];
        let mut clock = Clock::default();
        about.events.iter().for_each(|event| clock.join(&self.enables[*event]));
        if let Some(attached) = self.threads[about.looper].attached.as_ref().filter(|_| !self.rules.printed) {
            clock.join(attached);
        }
        self.posted[task] = Some(Box::new(PostedMessage { clock, post: None, class: Some(about.class()) }));
    }

    fn post(&mut self, thread: ThreadNo, task: TaskNo) {
        let about = &self.trace.tasks[task];
        for event in &about.events {
            let enabled = self.enables[*event].clone();
            self.learn(thread, &enabled);
        }
        if let Some(attached) = self.threads[about.looper].attached.clone().filter(|_| !self.rules.printed) {
            self.learn(thread, &attached);
        }
        let post = self.context(thread).map(|context| context.clock.at());
        let clock = self.send(thread);
        self.posted[task] = Some(Box::new(PostedMessage { clock, post, class: Some(about.class()) }));
    }

    fn begin(&mut self, op: OpNo, thread: ThreadNo, task: TaskNo) -> Point {
        // A binder thread begins its first section without a loop.
        if let Some((_, clock)) = self.close(thread) {
            self.threads[thread].looped = Some(clock);
        }
        let posted = self.posted[task].take().map(|posted| *posted);
        let external = self.external(task);
        let ThreadProgress { looped, looper, is_looper, .. } = &self.threads[thread];
        let mut clock = looped.clone().unwrap_or_default();
        let mut followed = Vec::new();
        if let Some(looper) = looper.as_ref().filter(|_| *is_looper) {
            let noted = self.notes.before.get(&task).into_iter().flatten().filter_map(|before| self.ended.get(before));
            let none = PostedMessage { clock: Clock::default(), post: None, class: None };
            let message = posted.as_ref().unwrap_or(&none);
            clock.join(&message.clock);
            followed = looper.teach(message, (!self.rules.printed, external), noted, &mut clock);
        }
        let number = self.trace.threads.len() as u32 + task.0;
        let begin = self.open(op, thread, number, clock, &followed);
        self.threads[thread].running = Some(RunningTask { task, begin, posted });
        begin
    }

    // Returns the post of a task if the outside world has generated its event and the external input rule holds.
    fn external(&self, task: TaskNo) -> Option<OpNo> {
        let is_ordered = self.rules.external == External::Ordered && self.trace.is_event(task);
        self.trace.tasks[task].post.filter(|_| is_ordered)
    }

    fn end(&mut self, thread: ThreadNo) {
        let Some(RunningTask { task, begin, posted }) = self.threads[thread].running.take() else { return };
        let Some((end, clock)) = self.close(thread) else { return };
        let external = self.external(task);
        let Some(looper) = &mut self.threads[thread].looper else { return };
        let context = ContextId::new(self.trace.threads.len() + task.index());
        let message = Arc::new(EndedMessage { context, begin, end, clock });
        if self.notes.earlier.contains(&task) {
            self.ended.insert(task, message.clone());
        }
        let by = looper.add(Ended { task, message, posted, external });
        if let Some(by) = by.filter(|_| self.overtaken.len() < MOST_OVERTAKEN) {
            self.overtaken.push((by, task));
        }
    }

    // Returns the knowledge of a looper behind its loop: all its tasks.
    fn left(&self, thread: ThreadNo) -> Clock {
        let ThreadProgress { looped, looper, .. } = &self.threads[thread];
        let mut clock = looped.clone().unwrap_or_default();
        looper.iter().flat_map(|looper| looper.last()).for_each(|ended| clock.join(&ended.clock));
        clock
    }

    fn open(&mut self, op: OpNo, thread: ThreadNo, number: u32, clock: Clock, preferred: &[ChainId]) -> Point {
        let at = self.chains.place(thread, preferred, |chain| clock.get(chain));
        let clock = ContextClock::new(at, clock);
        self.threads[thread].context = Some(RunningContext { since: op, number, clock });
        at
    }

    // Ends the context of a thread. Returns its last point, and its knowledge with this point.
    fn close(&mut self, thread: ThreadNo) -> Option<(Point, Clock)> {
        let RunningContext { clock, .. } = self.threads[thread].context.take()?;
        self.chains.end(clock.at());
        Some((clock.at(), clock.knowledge()))
    }
}
