//! DroidRacer's happens-before (figures 6 and 7) of a trace, in one pass.
//!
//! Every context (a thread's own code before its loop, or a task) has a state ([`super::state`]) and is on a chain of
//! its thread. A task takes a chain whose last point is st-before it, so that tasks in a row share a chain. An
//! operation sends the state at it. Edges within a thread join states; edges between threads carry them over.
//!
//! Additions to the printed rules: `Leave` comes after all tasks of its looper; signals are edges between threads, as
//! locks are; the class of a message is more than a delay ([`crate::world::PostClass`]). Without [`TraceEdges::Full`]
//! neither locks nor signals order anything, since the scheduler chose their order.

use super::accesses::{AccessQuery, Place};
use super::carriers::{ReleaseStates, SendStates};
use super::chains::Chains;
use super::classes::Classes;
use super::queue::{EndedTask, PostedTask};
use super::race::RaceClass;
use super::state::{ContextState, ThreadEdge};
use crate::base::IndexVec;
use crate::detect::Rank;
use crate::detect::relation::clock::{ChainId, INIT, Point};
use crate::detect::relation::tree::{ClockStore, TreeClock};
use crate::trace::{Action, ChannelNo, EventNo, LockNo, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::VecDeque;

/// The edges of the relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceEdges {
    /// All edges.
    Full,
    /// The edges that every run with the same posts, forks, joins and enables has: neither locks nor signals.
    Forced,
}

/// The order of a trace up to the current operation.
pub(super) struct TraceOrder<'t> {
    pub(super) trace: &'t Trace,
    pub(super) edges: TraceEdges,
    pub(super) chains: Chains,
    pub(super) clocks: ClockStore,
    pub(super) threads: IndexVec<ThreadNo, ThreadProgress>,
    pub(super) posted: IndexVec<TaskNo, Option<Box<PostedTask>>>,
    pub(super) ended: IndexVec<TaskNo, Option<Box<EndedTask>>>,
    // Last points of the tasks; epoch 0 if a task has not ended.
    ends: IndexVec<TaskNo, Point>,
    // States at the posts of tasks that handle events, for the classes of races.
    pub(super) events: IndexVec<TaskNo, Option<ContextState>>,
    pub(super) posts: IndexVec<TaskNo, Option<Point>>,
    pub(super) begins: IndexVec<TaskNo, Option<Point>>,
    pub(super) locks: IndexVec<LockNo, ReleaseStates>,
    pub(super) channels: IndexVec<ChannelNo, SendStates>,
    pub(super) enables: IndexVec<EventNo, SendStates>,
    // The last task that has enabled each event.
    pub(super) enablers: IndexVec<EventNo, Option<TaskNo>>,
    // Whether threads of the app post the handlers of an event.
    posted_inside: IndexVec<EventNo, bool>,
    pub(super) overtaken: Vec<(TaskNo, TaskNo)>,
    // The current operation.
    now: OpNo,
}

#[derive(Default)]
pub(super) struct ThreadProgress {
    // State with which the thread was forked.
    pub(super) forked: Option<ContextState>,
    // The thread's own code, or the task that it runs.
    pub(super) context: Option<RunningContext>,
    // States at its attachQ, at its loopOnQ, and at its end.
    pub(super) attached: Option<ContextState>,
    pub(super) looped: Option<ContextState>,
    pub(super) exit: Option<ContextState>,
    pub(super) ended: bool,
    pub(super) running: Option<TaskNo>,
    // Posts for which the running task has searched its predecessors, if all of them have ended.
    pub(super) asked: Option<TreeClock>,
    // The last tasks with a delay that have ended.
    pub(super) delayed: VecDeque<TaskNo>,
}

/// A running context.
pub(super) struct RunningContext {
    /// Operation with which the context began.
    pub(super) since: OpNo,
    pub(super) number: u32,
    pub(super) at: Point,
    thread: ThreadNo,
    pub(super) state: ContextState,
}

impl RunningContext {
    pub(super) fn send(&mut self, clocks: &mut ClockStore) -> ContextState {
        let mut state = self.state.clone();
        state.learn(clocks, self.at);
        self.at.epoch += 1;
        state
    }
}

fn posted_inside(trace: &Trace) -> IndexVec<EventNo, bool> {
    let mut inside: IndexVec<EventNo, bool> = trace.events.iter().map(|_| false).collect();
    for task in trace.tasks.iter() {
        let is_inside = task.post.is_some_and(|post| !trace.threads[trace.ops[post].thread].environment);
        task.events.iter().filter(|_| is_inside).for_each(|event| inside[*event] = true);
    }
    inside
}

impl<'t> TraceOrder<'t> {
    pub(super) fn new(trace: &'t Trace, edges: TraceEdges) -> Self {
        let tasks = || trace.tasks.ids();
        Self {
            trace,
            edges,
            chains: Chains::new(trace.threads.len()),
            clocks: ClockStore::default(),
            threads: trace.threads.iter().map(|_| ThreadProgress::default()).collect(),
            posted: tasks().map(|_| None).collect(),
            ended: tasks().map(|_| None).collect(),
            ends: tasks().map(|_| Point { chain: INIT, epoch: 0 }).collect(),
            events: tasks().map(|_| None).collect(),
            posts: tasks().map(|_| None).collect(),
            begins: tasks().map(|_| None).collect(),
            locks: (0..trace.locks.len()).map(|_| ReleaseStates::default()).collect(),
            channels: (0..trace.channels).map(|_| SendStates::default()).collect(),
            enables: (0..trace.events.len()).map(|_| SendStates::default()).collect(),
            enablers: (0..trace.events.len()).map(|_| None).collect(),
            posted_inside: posted_inside(trace),
            overtaken: Vec::new(),
            now: OpNo(0),
        }
    }

    /// Returns the thread that owns a chain.
    pub(super) fn owner(&self, chain: ChainId) -> ThreadNo {
        self.chains.owner(chain)
    }

    /// Returns the context that a thread runs.
    pub(super) fn context(&self, thread: ThreadNo) -> Option<&RunningContext> {
        self.threads[thread].context.as_ref()
    }

    /// Whether the firing of a task is before the current operation of this context. The point is the begin of the
    /// task that the environment has posted.
    #[cfg(test)]
    pub(super) fn is_firing_before(&self, begin: Point, now: &RunningContext) -> bool {
        begin.chain == now.at.chain || now.state.any(&self.clocks, begin.chain, self.owner(begin.chain)) >= begin.epoch
    }

    /// Returns the last point of a task; `None` if it has not ended.
    pub(super) fn end_of(&self, task: TaskNo) -> Option<Point> {
        Some(self.ends[task]).filter(|end| end.epoch > 0)
    }

    pub(super) fn has_ended(&mut self, task: TaskNo, end: Point, ended: EndedTask) {
        self.ends[task] = end;
        self.ended[task] = Some(Box::new(ended));
    }

    pub(super) fn poster(&self, task: TaskNo) -> Option<ThreadNo> {
        self.trace.tasks[task].post.map(|post| self.trace.ops[post].thread)
    }

    // Returns the epoch up to which a chain is before the operations of a thread with this state.
    pub(super) fn reach(&self, state: &ContextState, chain: ChainId, thread: ThreadNo) -> u32 {
        let owner = self.owner(chain);
        if owner == thread { self.clocks.get(state.st(), chain) } else { state.mt(&self.clocks, chain, owner) }
    }

    /// Returns examples of pairs of tasks: the first one began although the second one, which by its post should have
    /// ended before, had not.
    pub(super) fn overtaken(&self) -> &[(TaskNo, TaskNo)] {
        &self.overtaken
    }

    /// Processes the next operation. Returns its point, with which it can be looked up later; `None` for an operation
    /// of the environment.
    pub(super) fn step(&mut self, op: OpNo) -> Option<Point> {
        self.now = op;
        if self.clocks.is_full() {
            self.collect();
        }
        let crate::trace::Operation { thread, action, .. } = self.trace.ops[op];
        if self.trace.threads[thread].environment {
            if let Action::Post(task) = action {
                self.fire(thread, task);
            }
            return None;
        }
        if let Action::Begin(task) = action {
            return Some(self.begin(thread, task));
        }
        if self.threads[thread].context.is_none() {
            // Of a looper, only leaving the loop happens between two tasks.
            if self.threads[thread].looped.is_some() {
                self.leave(thread);
            } else {
                let state = self.threads[thread].forked.take().unwrap_or_default();
                self.open(thread, thread.0, state, &[]);
            }
        }
        let at = self.threads[thread].context.as_ref()?.at;
        self.perform(thread, action);
        Some(at)
    }

    fn perform(&mut self, thread: ThreadNo, action: Action) {
        match action {
            Action::Fork(child) => {
                let state = self.send(thread);
                let mut forked = ContextState::default();
                self.carry(&state, thread, child, &mut forked);
                self.threads[child].forked = Some(forked);
            }
            Action::Join(other) => {
                if let Some(exit) = self.threads[other].exit.take() {
                    self.learn(thread, other, &exit);
                    self.threads[other].exit = Some(exit);
                }
            }
            Action::AttachQueue => self.threads[thread].attached = Some(self.send(thread)),
            Action::Loop => {
                let context = self.close(thread);
                self.threads[thread].looped = context;
            }
            Action::Post(task) => self.post(thread, task),
            Action::End(task) => self.end(thread, task),
            Action::ThreadExit => {
                self.threads[thread].exit = self.close(thread);
                self.threads[thread].ended = true;
            }
            Action::Enable(event) => {
                let state = self.send(thread);
                self.enables[event].send(&mut self.clocks, thread, state);
                if let Some(context) = self.threads[thread].context.as_ref().filter(|_| self.posted_inside[event]) {
                    self.chains.is_known_in_part(context.at.chain);
                }
                self.enablers[event] = self.threads[thread].running;
            }
            Action::Acquire(_) | Action::Release(_) | Action::Send(_) | Action::Receive(_) => {
                if self.edges == TraceEdges::Full {
                    self.signal(thread, action);
                }
            }
            Action::ThreadInit | Action::Begin(_) | Action::Leave | Action::Read(_) | Action::Write(_) => {}
        }
    }

    fn signal(&mut self, thread: ThreadNo, action: Action) {
        let context = self.threads[thread].context.as_ref().map_or(0, |context| context.number);
        match action {
            Action::Acquire(lock) => {
                let mut released = std::mem::take(&mut self.locks[lock]);
                for (from, state) in released.acquire(thread, context) {
                    self.learn(thread, *from, state);
                }
                self.locks[lock] = released;
            }
            Action::Release(lock) => {
                let state = self.send(thread);
                self.locks[lock].release(&mut self.clocks, (thread, context), state);
            }
            Action::Send(channel) => {
                let state = self.send(thread);
                self.channels[channel].send(&mut self.clocks, thread, state);
            }
            Action::Receive(channel) => {
                let sent = std::mem::take(&mut self.channels[channel]);
                for (from, state) in sent.iter().filter(|(from, _)| *from != thread) {
                    self.learn(thread, *from, state);
                }
                self.channels[channel] = sent;
            }
            _ => {}
        }
    }

    pub(super) fn send(&mut self, thread: ThreadNo) -> ContextState {
        let clocks = &mut self.clocks;
        self.threads[thread].context.as_mut().map(|context| context.send(clocks)).unwrap_or_default()
    }

    // Carries a state along an edge, within a thread or between two threads.
    pub(super) fn carry(&mut self, state: &ContextState, from: ThreadNo, to: ThreadNo, into: &mut ContextState) {
        if from == to {
            into.join(&mut self.clocks, state);
            return;
        }
        let is_environment = |thread: ThreadNo| self.trace.threads[thread].environment;
        let fleeting = is_environment(from) || is_environment(to) || self.threads[from].ended;
        into.receive(&mut self.clocks, state, ThreadEdge { from, to, fleeting, chains: &self.chains });
    }

    // Removes the nodes of clocks that are not in use any more.
    fn collect(&mut self) {
        let Self { clocks, threads, posted, ended, events, locks, channels, enables, .. } = self;
        clocks.collect(&mut |each| {
            for ThreadProgress { forked, context, attached, looped, exit, asked, .. } in threads.iter_mut() {
                let running = context.as_mut().map(|context| &mut context.state);
                let kept = [forked, attached, looped, exit].into_iter().flatten();
                kept.chain(running).for_each(|state| state.visit(each));
                asked.iter_mut().for_each(&mut *each);
            }
            posted.iter_mut().flatten().for_each(|posted| posted.state.visit(each));
            for EndedTask { state, asked, .. } in ended.iter_mut().flatten().map(|ended| &mut **ended) {
                state.visit(each);
                asked.iter_mut().for_each(&mut *each);
            }
            events.iter_mut().flatten().for_each(|state| state.visit(each));
            locks.iter_mut().for_each(|released| released.visit(each));
            channels.iter_mut().chain(enables.iter_mut()).for_each(|sent| sent.visit(each));
        });
    }

    pub(super) fn learn(&mut self, thread: ThreadNo, from: ThreadNo, state: &ContextState) {
        if let Some(mut context) = self.threads[thread].context.take() {
            self.carry(state, from, thread, &mut context.state);
            self.threads[thread].context = Some(context);
        }
    }

    pub(super) fn open(&mut self, thread: ThreadNo, number: u32, state: ContextState, preferred: &[ChainId]) -> Point {
        let at = self.chains.place(thread, preferred, |chain| self.clocks.get(state.st(), chain));
        self.threads[thread].context = Some(RunningContext { since: self.now, number, at, thread, state });
        at
    }

    // Ends the context of a thread. Returns the state at its end, the end included.
    pub(super) fn close(&mut self, thread: ThreadNo) -> Option<ContextState> {
        let RunningContext { at, mut state, .. } = self.threads[thread].context.take()?;
        state.learn(&mut self.clocks, at);
        self.chains.end(at);
        Some(state)
    }
}

impl AccessQuery<RunningContext> for TraceOrder<'_> {
    fn place(&self, now: &RunningContext) -> Place {
        Place { since: now.since, number: now.number, at: now.at, is_filtered: false }
    }

    fn is_before(&self, point: Point, now: &RunningContext) -> bool {
        if point.chain == now.at.chain {
            return true;
        }
        self.reach(&now.state, point.chain, now.thread) >= point.epoch
    }

    fn is_st_before(&self, (point, _): (Point, ThreadNo), now: &RunningContext) -> bool {
        point.chain == now.at.chain
            || self.owner(point.chain) == now.thread && self.clocks.get(now.state.st(), point.chain) >= point.epoch
    }

    fn class(&self, classes: &Classes<'_>, (_, old): (OpNo, u32), now: &RunningContext) -> RaceClass {
        classes.of(old, now.number, |a, b| self.is_post_before(a, b))
    }

    fn rank(&self, classes: &Classes<'_>, (_, old): (OpNo, u32), now: &RunningContext) -> Rank {
        if classes.by_queue(old, now.number) { Rank::ByQueue } else { Rank::Unordered }
    }
}

impl TraceOrder<'_> {
    /// Whether the post of a task is before the post of another one, which handles an event. Both tasks have begun.
    pub(super) fn is_post_before(&self, first: TaskNo, second: TaskNo) -> bool {
        let (Some(state), Some(poster)) = (&self.events[second], self.poster(second)) else { return false };
        // A state knows a post of the environment if and only if it knows the begin of its task.
        let is_fired = self.poster(first).is_some_and(|thread| self.trace.threads[thread].environment);
        let point = if is_fired { self.begins[first] } else { self.posts[first] };
        let is_known = |point: Point| {
            let owner = self.owner(point.chain);
            let reach = if is_fired {
                state.any(&self.clocks, point.chain, owner)
            } else {
                self.reach(state, point.chain, poster)
            };
            reach >= point.epoch
        };
        first == second || point.is_some_and(is_known)
    }
}
