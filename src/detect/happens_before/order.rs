//! DroidRacer's happens-before (figures 6 and 7) of a trace, in one pass.
//!
//! Every context (the own code of a thread before its loop, a task) has a state ([`super::state`]) and stands on a chain of its thread: a task takes a chain whose last point is
//! st-before it, so that tasks in a row share one. What an operation tells others is the state at it; edges within a thread join states, edges between threads carry them over.
//!
//! Beyond the printed rules: `Leave` comes after all tasks of its looper; signals are edges between threads, as locks are; a class of messages is more than a delay
//! ([`crate::world::Class`]). Without [`Edges::Full`] neither locks nor signals order anything: the scheduler chose those.

use super::carriers::{Released, Sent};
use super::queue::{Ended, Log, Posted};
use super::state::{ChainNo, Hop, Known, Point, State};
use crate::base::IndexVec;
use crate::trace::{Action, ChannelNo, EventNo, LockNo, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::VecDeque;

/// Which edges there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edges {
    /// All.
    Full,
    /// Those that are in every run with the same posts, forks, joins and enables: neither locks nor signals.
    Forced,
}

/// The order of a trace up to an operation.
pub(super) struct Order<'t> {
    trace: &'t Trace,
    edges: Edges,
    chains: IndexVec<ChainNo, Chain>,
    threads: IndexVec<ThreadNo, Thread>,
    posted: IndexVec<TaskNo, Option<Box<Posted>>>,
    ended: IndexVec<TaskNo, Option<Box<Ended>>>,
    // The states at the posts of tasks that handle events, for the class of races.
    events: IndexVec<TaskNo, Option<State>>,
    posts: IndexVec<TaskNo, Option<Point>>,
    begins: IndexVec<TaskNo, Option<Point>>,
    locks: IndexVec<LockNo, Released>,
    channels: IndexVec<ChannelNo, Sent>,
    enables: IndexVec<EventNo, Sent>,
    overtaken: Vec<(TaskNo, TaskNo)>,
}

struct Chain {
    owner: ThreadNo,
    // Its last epoch, if its last context has ended.
    last: Option<u32>,
    log: Log,
}

#[derive(Default)]
struct Thread {
    // What it was forked with.
    forked: Option<State>,
    // Its own code, or the task that it runs.
    context: Option<Context>,
    // At its attachQ; at its loopOnQ; at its end.
    attached: Option<State>,
    looped: Option<State>,
    exit: Option<State>,
    // Chains whose last context has ended, latest last. Some may have been taken again.
    closed: VecDeque<ChainNo>,
    chains: Vec<ChainNo>,
}

/// A running context.
pub(super) struct Context {
    pub(super) number: u32,
    pub(super) at: Point,
    thread: ThreadNo,
    state: State,
}

impl Context {
    fn send(&mut self) -> State {
        let mut state = self.state.clone();
        state.learn(self.at);
        self.at.epoch += 1;
        state
    }
}

// How many closed chains a new context tries, besides those of the tasks that it follows.
const MOST_CLOSED: usize = 32;
// How many overtaken tasks are kept as examples.
const MOST_OVERTAKEN: usize = 16;

impl<'t> Order<'t> {
    pub(super) fn new(trace: &'t Trace, edges: Edges) -> Self {
        let tasks = || trace.tasks.ids();
        Self {
            trace,
            edges,
            chains: IndexVec::new(),
            threads: trace.threads.iter().map(|_| Thread::default()).collect(),
            posted: tasks().map(|_| None).collect(),
            ended: tasks().map(|_| None).collect(),
            events: tasks().map(|_| None).collect(),
            posts: tasks().map(|_| None).collect(),
            begins: tasks().map(|_| None).collect(),
            locks: (0..trace.locks.len()).map(|_| Released::default()).collect(),
            channels: (0..trace.channels).map(|_| Sent::default()).collect(),
            enables: (0..trace.events.len()).map(|_| Sent::default()).collect(),
            overtaken: Vec::new(),
        }
    }

    /// Whose a chain is.
    pub(super) fn owner(&self, chain: ChainNo) -> ThreadNo {
        self.chains[chain].owner
    }

    /// The context that a thread is in.
    pub(super) fn context(&self, thread: ThreadNo) -> Option<&Context> {
        self.threads[thread].context.as_ref()
    }

    /// Whether a point is before what this context does now.
    pub(super) fn is_before(&self, point: Point, now: &Context) -> bool {
        if point.chain == now.at.chain {
            return true;
        }
        self.reach(now.state.get(point.chain), point.chain, now.thread) >= point.epoch
    }

    /// Whether the post of a task is before what this context does now, if the environment has posted it and it began there.
    #[cfg(test)]
    pub(super) fn is_firing_before(&self, begin: Point, now: &Context) -> bool {
        begin.chain == now.at.chain || now.state.get(begin.chain).any() >= begin.epoch
    }

    /// Whether a point of the same thread is st-before what this context does now.
    pub(super) fn is_st_before(&self, point: Point, now: &Context) -> bool {
        point.chain == now.at.chain
            || self.owner(point.chain) == now.thread && now.state.get(point.chain).direct >= point.epoch
    }

    /// Whether the post of a task is before the post of another one, which handles an event. Both have begun.
    pub(super) fn is_post_before(&self, first: TaskNo, second: TaskNo) -> bool {
        let (Some(state), Some(poster)) = (&self.events[second], self.poster(second)) else { return false };
        // What knows a post of the environment knows the begin of its task.
        let is_fired = self.poster(first).is_some_and(|thread| self.trace.threads[thread].environment);
        let point = if is_fired { self.begins[first] } else { self.posts[first] };
        let is_known = |point: Point| {
            let known = state.get(point.chain);
            let reach = if is_fired { known.any() } else { self.reach(known, point.chain, poster) };
            reach >= point.epoch
        };
        first == second || point.is_some_and(is_known)
    }

    fn poster(&self, task: TaskNo) -> Option<ThreadNo> {
        self.trace.tasks[task].post.map(|post| self.trace.ops[post].thread)
    }

    // Up to which epoch a chain is before what a thread with this knowledge does.
    fn reach(&self, known: Known, chain: ChainNo, thread: ThreadNo) -> u32 {
        if self.owner(chain) == thread { known.direct } else { known.direct.max(known.far) }
    }

    /// Tasks that should have ended before the other began, as their posts say, and had not: examples.
    pub(super) fn overtaken(&self) -> &[(TaskNo, TaskNo)] {
        &self.overtaken
    }

    /// Where the next operation stands, for what comes later: asked for after it was performed. `None` for what the environment does.
    pub(super) fn step(&mut self, op: OpNo) -> Option<Point> {
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
            // A looper is between its tasks only if it ends.
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
                let mut forked = State::default();
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
            Action::ThreadExit => self.threads[thread].exit = self.close(thread),
            Action::Enable(event) => {
                let state = self.send(thread);
                self.enables[event].send(thread, state);
            }
            Action::Acquire(_) | Action::Release(_) | Action::Send(_) | Action::Receive(_) => {
                if self.edges == Edges::Full {
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
                self.locks[lock].release(thread, context, state);
            }
            Action::Send(channel) => {
                let state = self.send(thread);
                self.channels[channel].send(thread, state);
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

    fn send(&mut self, thread: ThreadNo) -> State {
        self.threads[thread].context.as_mut().map(Context::send).unwrap_or_default()
    }

    fn hop(&self, from: ThreadNo, to: ThreadNo) -> Hop {
        let is_environment = |thread: ThreadNo| self.trace.threads[thread].environment;
        Hop { from, to, fleeting: is_environment(from) || is_environment(to) }
    }

    // An edge, within a thread or between two.
    fn carry(&self, state: &State, from: ThreadNo, to: ThreadNo, into: &mut State) {
        if from == to {
            into.join(state);
        } else {
            into.receive(state, self.hop(from, to), |chain| self.owner(chain));
        }
    }

    fn learn(&mut self, thread: ThreadNo, from: ThreadNo, state: &State) {
        if let Some(mut context) = self.threads[thread].context.take() {
            self.carry(state, from, thread, &mut context.state);
            self.threads[thread].context = Some(context);
        }
    }

    fn open(&mut self, thread: ThreadNo, number: u32, state: State, preferred: &[ChainNo]) -> Point {
        let closed = self.threads[thread].closed.iter().rev();
        let free = preferred.iter().chain(closed).find_map(|chain| {
            let last = self.chains[*chain].last.filter(|last| state.get(*chain).direct >= *last)?;
            Some(Point { chain: *chain, epoch: last + 1 })
        });
        let at = match free {
            Some(at) => {
                self.chains[at.chain].last = None;
                at
            }
            None => {
                let chain = self.chains.add(Chain { owner: thread, last: None, log: Log::default() });
                self.threads[thread].chains.push(chain);
                Point { chain, epoch: 1 }
            }
        };
        self.threads[thread].context = Some(Context { number, at, thread, state });
        at
    }

    // Ends the context of a thread: what was before its end, and the end.
    fn close(&mut self, thread: ThreadNo) -> Option<State> {
        let Context { at, mut state, .. } = self.threads[thread].context.take()?;
        state.learn(at);
        self.chains[at.chain].last = Some(at.epoch);
        let closed = &mut self.threads[thread].closed;
        if closed.len() == MOST_CLOSED {
            closed.pop_front();
        }
        closed.push_back(at.chain);
        Some(state)
    }

    // What a post learns (ATTACH-Q-MT, ENABLE-ST, ENABLE-MT).
    fn causes(&self, poster: ThreadNo, task: TaskNo, into: &mut State) {
        let looper = self.trace.tasks[task].looper;
        if let Some(attached) = self.threads[looper].attached.as_ref().filter(|_| looper != poster) {
            self.carry(attached, looper, poster, into);
        }
        for event in &self.trace.tasks[task].events {
            for (from, state) in self.enables[*event].iter() {
                self.carry(state, *from, poster, into);
            }
        }
    }

    fn post(&mut self, poster: ThreadNo, task: TaskNo) {
        let Some(mut context) = self.threads[poster].context.take() else { return };
        self.causes(poster, task, &mut context.state);
        let Point { chain, epoch } = context.at;
        let state = context.send();
        self.threads[poster].context = Some(context);
        self.posts[task] = Some(Point { chain, epoch });
        self.keep_event(task, &state);
        // A post that was cancelled counts for nothing more.
        let about = &self.trace.tasks[task];
        if about.begin.is_some() {
            let row = self.chains[chain].log.posted((chain, epoch), about.looper, (task, about.class()));
            self.posted[task] = Some(Box::new(Posted::new(poster, state, Some(row))));
        }
    }

    // The environment posts: a thread of its own.
    fn fire(&mut self, environment: ThreadNo, task: TaskNo) {
        let mut state = State::default();
        self.causes(environment, task, &mut state);
        self.keep_event(task, &state);
        self.posted[task] = Some(Box::new(Posted::new(environment, state, None)));
    }

    fn keep_event(&mut self, task: TaskNo, state: &State) {
        if self.trace.is_event(task) {
            self.events[task] = Some(state.clone());
        }
    }

    fn begin(&mut self, looper: ThreadNo, task: TaskNo) -> Point {
        // The looper's own code up to its loop is before its tasks.
        let mut state = self.threads[looper].looped.clone().unwrap_or_default();
        let mut followed = Vec::new();
        let posted = self.posted[task].take();
        let is_fired = posted.as_ref().is_some_and(|posted| posted.row.is_none());
        if let Some(posted) = posted {
            self.carry(&posted.state, posted.poster, looper, &mut state);
            self.follow(looper, task, &posted, &mut state, &mut followed);
            let ended = &self.ended;
            if let Some((chain, row, at)) = posted.row {
                self.chains[chain].log.begin(row, at, |task| ended[task].is_some());
            }
        }
        let number = self.trace.threads.len() as u32 + task.0;
        let at = self.open(looper, number, state, &followed);
        let log = &mut self.chains[at.chain].log;
        log.began(at.epoch, task);
        if is_fired {
            log.fired(at.epoch, looper, (task, self.trace.tasks[task].class()));
        }
        self.begins[task] = Some(at);
        at
    }

    // FIFO and NOPRE: the ends that are before the begin of the task.
    fn follow(
        &mut self,
        looper: ThreadNo,
        task: TaskNo,
        posted: &Posted,
        state: &mut State,
        chains: &mut Vec<ChainNo>,
    ) {
        let about = &self.trace.tasks[task];
        let (mut before, mut overtaken) = (Vec::new(), Vec::new());
        for (chain, known) in posted.state.iter() {
            let reach = self.reach(known, chain, posted.poster);
            let Chain { owner, log, .. } = &self.chains[chain];
            if *owner == looper {
                before.extend(log.last_begun(reach));
            }
            let has_ended = |task: TaskNo| self.ended[task].is_some();
            log.fifo((reach, known.any()), looper, (task, about.class()), has_ended, |other, has_ended| {
                if has_ended {
                    before.push(other);
                } else {
                    overtaken.push(other);
                }
            });
        }
        // The latest first: what it knows is no news.
        before.sort_unstable_by_key(|task| std::cmp::Reverse(self.trace.tasks[*task].begin));
        for Ended { end, state: known } in before.iter().filter_map(|task| self.ended[*task].as_deref()) {
            if state.get(end.chain).direct < end.epoch {
                state.join(known);
                chains.push(end.chain);
            }
        }
        let room = MOST_OVERTAKEN.saturating_sub(self.overtaken.len());
        self.overtaken.extend(overtaken.into_iter().take(room).map(|other| (task, other)));
    }

    fn end(&mut self, looper: ThreadNo, task: TaskNo) {
        let at = self.threads[looper].context.as_ref().map(|context| context.at);
        if let (Some(end), Some(state)) = (at, self.close(looper)) {
            self.ended[task] = Some(Box::new(Ended { end, state }));
        }
    }

    // The looper has quit: what it does now is after all its tasks.
    fn leave(&mut self, looper: ThreadNo) {
        let mut state = self.threads[looper].looped.clone().unwrap_or_default();
        for chain in &self.threads[looper].chains {
            if let Some(ended) = self.chains[*chain].log.last_task().and_then(|task| self.ended[task].as_deref()) {
                state.join(&ended.state);
            }
        }
        let chains = self.threads[looper].chains.clone();
        self.open(looper, looper.0, state, &chains);
    }
}
