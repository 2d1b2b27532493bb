//! Computes the relation of DroidRacer's program, which is not the one that the paper prints.
//!
//! The paper (Maiya, Kanade, Majumdar: Race Detection for Android Applications, PLDI 2014) prints rules in its
//! figures 6 and 7. The program that was published with it (`dalvik/vm/mcd/abc.cpp` and `AbcModel.cpp`) applies other
//! rules, and the logs of real apps report its races. These are its rules, over a [`Trace`]:
//!
//! - **Nodes** are operations; neighboring accesses of one context are one node. A context is a task, or a piece of a
//!   thread's own code. Code without a post is no task: sections of binder threads, and the code of a looper between
//!   tasks.
//! - **Program order** within a context. Being on one thread orders nothing else.
//! - **Edges**: fork to the first operation of the thread; the end of a thread to a join; send to receive; attach to
//!   loop, and to a post of the looper outside of tasks; loop to begin; post to begin; the end of a task to the begin
//!   of a task that it has posted to its own looper.
//! - **Locks**: an acquisition comes after the last releases of the thread that had the lock before, if that is
//!   another thread: the last release outside of tasks, or the last one of each task. If a task's own thread released
//!   last, the acquisition comes after the releases that the acquisition before it came after. A lock does not order
//!   two tasks of one looper.
//! - **Enable**: the last enable of an event before the begin of a task that handles it comes before the *post* of
//!   that task, even if the post came earlier in the run (the system may post a callback before the app has declared
//!   itself ready for it). The paper takes all enables, and only later posts.
//! - **Intents**: if the enables of two events `broadcast intent ..` are ordered, their posts are ordered.
//! - **FIFO**: if the posts of two tasks of one looper are ordered, the first task ends before the second begins, if
//!   the first is not delayed, if both are delayed and the first no longer, or if the second was posted by a task
//!   that began after the first had ended.
//! - **NOPRE**: if an operation of a task comes before the *begin* of another task of the same looper, the task ends
//!   before that begin.
//! - **Transitivity**, but not between two unordered tasks of one looper, unless the path is through the post of the
//!   second task: then to its begin.
//!
//! Where this module departs from the program:
//!
//! - The code between tasks may contain any operation (the program gives up there).
//! - FIFO and NOPRE never order against the run.
//! - A post to the front of a queue has a place (the program gives up), and so has a loop that is left (all tasks
//!   come before).
//! - The state machines of activities, services and receivers are no part of it: the producer of the trace expresses
//!   them as enables and events.
//!
//! # Classes
//!
//! The first class that fits: two threads; two tasks whose last events have no order; different delayed posts that
//! led to them; different posts from other threads. A task passes on its last event, the last delayed post and the
//! last post from another thread to the tasks that it posts. An event resets the last post from another thread,
//! unless it is an `idle ..`.
//!
//! # What it may miss and what it reports in vain
//!
//! Its edges of locks and forks order nothing that the paper's lock rule and fork rule leave unordered, but its edges
//! from enables to posts, and those of intents, order more than necessary. Barriers and asynchronous messages are
//! unknown to it.
//!
//! # Cost
//!
//! The relation takes one bit for each pair of nodes. A trace of [`SourceOrder::MOST`] nodes takes 200 MB, and half
//! of that again for the nodes that tasks may come before; larger traces are refused. The largest known log has 2,649
//! nodes.
//!
//! The time is at least quadratic, and clocks do not help. The relation is transitive only in part, so that the nodes
//! before a node are no prefix of each thread, and each pair has to be stored. In a chain of threads, or of tasks,
//! each of n nodes comes before all later ones: n² / 64 words are written, and FIFO and NOPRE check n² pairs of tasks
//! in each round. If many tasks of one looper have no order, a row is the union of the rows of all contexts after it:
//! n³ / 64. The stop flag is checked at each node, at each task and at each access.

mod closure;
mod direct;
mod nodes;
mod races;
mod rows;
#[cfg(test)]
mod tests;

use self::nodes::Nodes;
use self::rows::Rows;
use super::{Analysis, Race};
use crate::detect::traces::detector::Detector;
use crate::trace::{OpNo, Operation, Trace};
use std::sync::atomic::AtomicBool;

/// Error: a trace has too many nodes for a relation stored as bits.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the trace has {nodes} nodes, and the rules of DroidRacer's source take memory for each pair of them: at most {} are possible; use the printed rules",
    SourceOrder::MOST
)]
pub struct TooLarge {
    /// Number of nodes of the trace.
    pub nodes: usize,
}

/// The relation of DroidRacer's program over one trace.
///
/// # Examples
///
/// ```
/// use raceflip::detect::happens_before::SourceOrder;
/// use raceflip::trace::{Action, Builder, OpNo, SiteNo};
///
/// let mut builder = Builder::new();
/// let (main, worker) = (builder.thread("main"), builder.thread("worker"));
/// let x = builder.location("x", "x");
/// for (thread, action) in [(main, Action::Write(x)), (main, Action::Fork(worker)), (worker, Action::Write(x)), (main, Action::Read(x))] {
///     builder.push(thread, action, SiteNo::NONE, 0)?;
/// }
/// let trace = builder.finish();
/// let order = SourceOrder::new(&trace)?;
/// assert!(order.is_before(OpNo(0), OpNo(2)) && !order.is_before(OpNo(2), OpNo(3)));
/// assert_eq!(order.races().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SourceOrder<'t> {
    trace: &'t Trace,
    nodes: Nodes,
    rows: Rows,
}

impl<'t> SourceOrder<'t> {
    /// Maximum number of nodes of a trace.
    pub const MOST: usize = 40_000;

    /// Maximum number of races that are reported.
    pub const MOST_RACES: usize = 100_000;

    /// Computes the relation over a trace.
    ///
    /// # Errors
    ///
    /// Returns [`TooLarge`] if the trace has more than [`SourceOrder::MOST`] nodes.
    pub fn new(trace: &'t Trace) -> Result<Self, TooLarge> {
        let stopped = || TooLarge { nodes: 0 };
        Self::until(trace, &AtomicBool::new(false))?.ok_or_else(stopped)
    }

    /// Computes the relation over a trace; `None` if `stop` is set before it is complete.
    ///
    /// # Errors
    ///
    /// Returns the error of [`new`](Self::new), in the same case.
    pub fn until(trace: &'t Trace, stop: &AtomicBool) -> Result<Option<Self>, TooLarge> {
        let nodes = Nodes::of(trace);
        if nodes.len() > Self::MOST {
            return Err(TooLarge { nodes: nodes.len() });
        }
        let (rows, sent) = direct::direct(trace, &nodes);
        let rows = closure::close(trace, &nodes, rows, sent, stop);
        Ok(rows.map(|rows| Self { trace, nodes, rows }))
    }

    /// Returns the number of nodes of the trace.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Whether one operation comes before another.
    #[must_use]
    pub fn is_before(&self, first: OpNo, second: OpNo) -> bool {
        let (from, to) = (self.nodes.of[first], self.nodes.of[second]);
        if from == to { first < second } else { self.rows.contains(from, to) }
    }

    /// Returns the races, by location and then in the order of the run. Their rank is
    /// [`Rank::Unordered`](crate::detect::Rank::Unordered).
    #[must_use]
    pub fn races(&self) -> Vec<Race> {
        self.races_until(&AtomicBool::new(false)).map_or_else(Vec::new, |(races, _)| races)
    }

    /// Returns the [`races`](Self::races), and whether there are more than the [`SourceOrder::MOST_RACES`] that are
    /// reported. `None` if `stop` was set.
    #[must_use]
    pub fn races_until(&self, stop: &AtomicBool) -> Option<(Vec<Race>, bool)> {
        races::races(self, stop)
    }
}

/// The rules as a detector: all work is done at the end of the trace.
pub(in crate::detect) struct SourceRules<'t> {
    trace: &'t Trace,
}

impl<'t> SourceRules<'t> {
    pub(in crate::detect) fn new(trace: &'t Trace) -> Self {
        Self { trace }
    }
}

impl Detector for SourceRules<'_> {
    fn step(&mut self, _: OpNo, _: &Operation) {}

    fn finish(self: Box<Self>, stop: &AtomicBool) -> Result<Option<Analysis>, TooLarge> {
        let order = SourceOrder::until(self.trace, stop)?;
        let found = order.and_then(|order| order.races_until(stop));
        Ok(found.map(|(races, lost)| Analysis { lost, ..Analysis::of(races) }))
    }
}
