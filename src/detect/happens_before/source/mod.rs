//! The relation that DroidRacer's program computes. It is not the one that the paper prints.
//!
//! The paper (Maiya, Kanade, Majumdar: Race Detection for Android Applications, PLDI 2014) prints rules in its figures 6 and 7. The program that was published with
//! it (`dalvik/vm/mcd/abc.cpp` and `AbcModel.cpp`) applies others, and the logs of real apps report its races. These are its rules, over a [`Trace`]:
//!
//! - **Nodes** are operations; neighbouring accesses of one context are one. A context is a task, or a piece of a thread's own code. What nobody has posted is no task:
//!   sections of binder threads, and what a looper does between tasks.
//! - **Program order** within a context. Nothing else of one thread is ordered by being there.
//! - **Edges**: fork to the first operation of the thread; the end of a thread to a join; send to receive; attach to loop, and to a post of the looper outside of tasks; loop to
//!   begin; post to begin; the end of a task to the begin of what it has posted to its own looper.
//! - **Locks**: an acquisition comes after the last releases of the thread that had the lock before, if that is another one: the last one outside of tasks, or the last one of each
//!   task. A task whose own thread released last comes after what the acquisition before it came after. Two tasks of one looper have no order by a lock.
//! - **Enable**: the last enable of an event before the begin of a task that handles it comes before the *post* of that task, also where the post came earlier in the run
//!   (the system may post a callback before the app has said that it is ready for it). The paper has all enables, and only later posts.
//! - **Intents**: of two events `broadcast intent ..` whose enables are ordered the posts are ordered.
//! - **FIFO**: of two tasks of one looper whose posts are ordered the first ends before the second begins, if the first is not delayed, if both are and the first no longer, or if the
//!   second was posted by a task that began after the first had ended.
//! - **NOPRE**: if an operation of a task comes before the *begin* of another of the same looper, the task ends before it.
//! - **Transitivity**, but not between two tasks of one looper without an order, unless the way is through the post of the second: then to its begin.
//!
//! Where it departs from the program: what goes on between tasks is allowed to do anything (the program gives up there); FIFO and NOPRE never order against the run; a post at the front
//! of a queue has a place (the program gives up), and so has a loop that is left (all tasks come before). The state machines of activities, services and receivers
//! are no part of it: whoever makes the trace says them as enables and events.
//!
//! # Classes
//!
//! Two threads; else two tasks whose last events have no order; else different delayed posts that led to them; else different posts from other threads. What a task hands on to
//! those that it posts is the last event, the last delayed post and the last post from another thread; an event forgets the latter, unless it is an `idle ..`.
//!
//! # What it may miss and what it reports in vain
//!
//! It never orders what the paper's lock rule and fork rule do not, but enables to posts and intents order more than must be. Barriers and asynchronous messages are unknown to it.
//!
//! # Cost
//!
//! One bit for each pair of nodes, so that more than [`SourceOrder::MOST`] are refused: 200 MB, and half of that again for what tasks may come before. The largest log that is known has 2,649 nodes.
//!
//! Time is quadratic at least, and no clock helps: the relation is transitive only in part, so that what is before a node is no prefix of each thread, and has to be known for each pair by itself. In a chain of
//! threads, or of tasks, each of n nodes comes before all later ones: n² / 64 words are written, and n² pairs of tasks are asked for FIFO and NOPRE in each round. Where many tasks of one looper have
//! no order, a row is put together of the rows of all contexts after it: n³ / 64. Whoever stops it is noticed at each node, at each task and at each access.

mod closure;
mod direct;
mod nodes;
mod races;
mod rows;
#[cfg(test)]
mod tests;

use self::nodes::Nodes;
use self::rows::Rows;
use super::Race;
use crate::trace::{OpNo, Trace};
use std::sync::atomic::AtomicBool;

/// A trace has too many nodes for a relation as bits.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the trace has {nodes} nodes, and the rules of DroidRacer's source take memory for each pair of them: at most {} are possible; use the printed rules",
    SourceOrder::MOST
)]
pub struct TooLarge {
    /// How many it has.
    pub nodes: usize,
}

/// The relation over one trace.
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
    /// The most nodes that a trace may have.
    pub const MOST: usize = 40_000;

    /// The most races that are told.
    pub const MOST_RACES: usize = 100_000;

    /// Computes it.
    ///
    /// # Errors
    ///
    /// If the trace has more than [`SourceOrder::MOST`] nodes.
    pub fn new(trace: &'t Trace) -> Result<Self, TooLarge> {
        let stopped = || TooLarge { nodes: 0 };
        Self::until(trace, &AtomicBool::new(false))?.ok_or_else(stopped)
    }

    /// Computes it, unless somebody stops that: then `None`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn until(trace: &'t Trace, stop: &AtomicBool) -> Result<Option<Self>, TooLarge> {
        let nodes = Nodes::of(trace);
        if nodes.len() > Self::MOST {
            return Err(TooLarge { nodes: nodes.len() });
        }
        let (rows, sent) = direct::direct(trace, &nodes);
        let rows = closure::close(trace, &nodes, rows, sent, stop);
        Ok(rows.map(|rows| Self { trace, nodes, rows }))
    }

    /// How many nodes the trace has.
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

    /// The races, by location and then in the order of the run. Their rank is [`Rank::Unordered`](crate::detect::Rank::Unordered).
    #[must_use]
    pub fn races(&self) -> Vec<Race> {
        self.races_until(&AtomicBool::new(false)).map_or_else(Vec::new, |(races, _)| races)
    }

    /// The same, and whether there are more than [`SourceOrder::MOST_RACES`], which are all that are told; `None` if somebody stops it.
    #[must_use]
    pub fn races_until(&self, stop: &AtomicBool) -> Option<(Vec<Race>, bool)> {
        races::races(self, stop)
    }
}
