//! FastTrack's order of the operations of a trace, by a vector clock for each thread.
//!
//! [`fasttrack`](super::fasttrack) describes the edges.

use crate::base::{Id, IndexVec};
use crate::detect::relation::clock::{ChainId, Clock, Point};
use crate::trace::{Action, Operation, TaskNo, ThreadNo, Trace};

/// The knowledge of all threads, up to the current operation.
pub(super) struct ThreadOrder<'t> {
    trace: &'t Trace,
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
    pub(super) fn new(trace: &'t Trace) -> Self {
        let threads = || trace.threads.iter();
        let clocks = || threads().map(|_| Clock::default());
        Self {
            trace,
            clocks: clocks().collect(),
            epochs: threads().map(|_| 1).collect(),
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

    /// Whether the point is before the current operation of a thread.
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
