//! Happens-before of threads: the operations of a thread are in program order from its start to its end, those of a
//! looper with all its tasks.
//!
//! The other edges are: fork, join, signals (treated as volatiles), post to begin, enable to post, attachQ to post, and
//! those of locks if they are asked for. A thread has one clock.

use crate::base::{Id, IndexVec};
use crate::detect::relation::clock::{ChainId, Clock, Point};
use crate::trace::{Action, Operation, TaskNo, ThreadNo, Trace};

/// Whether a release of a lock comes before each later acquisition of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LockEdges {
    Ordered,
    None,
}

/// The order of the threads of a trace, up to the current operation.
pub(super) struct ThreadOrder<'t> {
    trace: &'t Trace,
    lock_edges: LockEdges,
    // Knowledge of each thread about the others, and its own epoch.
    clocks: IndexVec<ThreadNo, Clock>,
    epochs: IndexVec<ThreadNo, u32>,
    exits: IndexVec<ThreadNo, Clock>,
    attached: IndexVec<ThreadNo, Clock>,
    posts: IndexVec<TaskNo, Clock>,
    locks: Vec<Clock>,
    channels: Vec<Clock>,
    enables: Vec<Clock>,
}

impl<'t> ThreadOrder<'t> {
    pub(super) fn new(trace: &'t Trace, lock_edges: LockEdges) -> Self {
        let clocks = || trace.threads.iter().map(|_| Clock::default());
        Self {
            trace,
            lock_edges,
            clocks: clocks().collect(),
            epochs: trace.threads.iter().map(|_| 1).collect(),
            exits: clocks().collect(),
            attached: clocks().collect(),
            posts: trace.tasks.iter().map(|_| Clock::default()).collect(),
            locks: vec![Clock::default(); trace.locks.len()],
            channels: vec![Clock::default(); trace.channels as usize],
            enables: vec![Clock::default(); trace.events.len()],
        }
    }

    /// Returns the current point of a thread.
    pub(super) fn at(&self, thread: ThreadNo) -> Point {
        Point { chain: ChainId::new(thread.index()), epoch: self.epochs[thread] }
    }

    /// Whether a point is before the next operation of a thread.
    pub(super) fn knows(&self, thread: ThreadNo, point: Point) -> bool {
        point.chain.index() == thread.index() || self.clocks[thread].has(point)
    }

    // Returns the knowledge that a thread sends, and begins a new epoch: later operations are not part of it.
    fn send(&mut self, thread: ThreadNo) -> Clock {
        let mut clock = self.clocks[thread].clone();
        clock.learn(self.at(thread));
        self.epochs[thread] += 1;
        clock
    }

    /// Processes the next operation of the trace. Accesses change nothing.
    pub(super) fn step(&mut self, operation: &Operation) {
        let Operation { thread, action, .. } = *operation;
        if self.trace.threads[thread].environment {
            if let Action::Post(task) = action {
                self.fire(task);
            }
            return;
        }
        match action {
            Action::Fork(child) => {
                let clock = self.send(thread);
                self.clocks[child].join(&clock);
            }
            Action::Join(other) => self.clocks[thread].join(&self.exits[other]),
            Action::ThreadExit => self.exits[thread] = self.send(thread),
            Action::AttachQueue => self.attached[thread] = self.send(thread),
            Action::Post(task) => {
                let about = &self.trace.tasks[task];
                self.clocks[thread].join(&self.attached[about.looper]);
                about.events.iter().for_each(|event| self.clocks[thread].join(&self.enables[event.index()]));
                self.posts[task] = self.send(thread);
            }
            Action::Begin(task) => {
                let posted = std::mem::take(&mut self.posts[task]);
                self.clocks[thread].join(&posted);
            }
            Action::Enable(event) => {
                let clock = self.send(thread);
                self.enables[event.index()].join(&clock);
            }
            Action::Acquire(_) | Action::Release(_) if self.lock_edges == LockEdges::None => {}
            Action::Acquire(lock) => self.clocks[thread].join(&self.locks[lock.index()]),
            // The lock's clock may be joined rather than replaced: a thread that releases a lock has acquired it, so
            // that it knows all earlier releases.
            Action::Release(lock) => {
                let clock = self.send(thread);
                self.locks[lock.index()].join(&clock);
            }
            Action::Send(channel) => {
                let clock = self.send(thread);
                self.channels[channel.index()].join(&clock);
            }
            Action::Receive(channel) => self.clocks[thread].join(&self.channels[channel.index()]),
            Action::ThreadInit | Action::Loop | Action::Leave | Action::End(_) | Action::Read(_) | Action::Write(_) => {
            }
        }
    }

    // A post of the environment comes after the enables of its events, and after nothing else.
    fn fire(&mut self, task: TaskNo) {
        for event in &self.trace.tasks[task].events {
            self.posts[task].join(&self.enables[event.index()]);
        }
    }
}
