//! Classes of a recorded trace: which orders of its conflicting operations can come about together.
//!
//! Two operations conflict if they belong to different contexts (a thread's own code, or one task) and access the same
//! memory, one of them with a write, or if they acquire the same lock. Two runs with the operations of the trace are in
//! one class if they order all conflicts alike. The classes are counted without runs, by saturation: of the orders that
//! every run has, and the rules of tasks, queues and locks, the consequences are drawn; then the first conflict that
//! is still open is tried both ways.
//!
//! | edge | from | to |
//! |---|---|---|
//! | program order | an operation | the next one of its context |
//! | threads | fork, end | first operation, join |
//! | queues | post, creation of the queue, begin of the loop | begin, post, begin |
//! | signals | send | each later receive |
//! | events | enable | each later post of a handler |
//!
//! | rule | if | then |
//! |---|---|---|
//! | whole tasks | a begins before b ends, on one thread | a ends before b begins |
//! | FIFO | a is posted before b, and a's message precedes b's (`PostClass::precedes`) | a ends before b begins |
//! | FIFO, backwards | b begins before a ends, with such messages | b is posted before a |
//! | front, microtasks | a is posted at the front before b begins | a ends before b begins |
//! | locks | one section begins before another one ends | it ends before the other one begins |
//!
//! Two tasks without a conflict are not ordered, no matter which thread posts them, and posts are ordered only where
//! FIFO needs it (as in EM-DPOR: Maiya, Gupta, Kanade, Majumdar, TACAS 2016). A way to order the conflicts is a class
//! if also all tasks of each looper can be put in a row.
//!
//! # What it does not tell
//!
//! - The operations are those of the trace. Another order may lead the app to other operations.
//! - The clock may do anything: of two messages with different delays either one may be due first, if the rules of the
//!   queue do not decide it.
//! - Signals keep the order of the trace: a receive comes after all earlier sends. The sides of a reader-writer lock
//!   are signals here.
//!
//! # Cost
//!
//! A bit for each two operations that the rules or the conflicts name, of which there may be [`MOST_NODES`]. The number
//! of classes can be exponential in the number of open conflicts; the search ends at a limit.

mod graph;
mod rows;
mod rules;
mod search;

use crate::trace::{LocationNo, LockNo, OpNo, TaskNo, Trace};
use graph::Graph;
use rows::Rows;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of operations that rules or conflicts may name.
pub const MOST_NODES: usize = 4096;

/// Number of conflicts that may be open.
pub const MOST_CONFLICTS: usize = 4096;

/// What two operations conflict over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConflictOver {
    /// Accesses of a location, one of which writes.
    Location(LocationNo),
    /// Acquisitions of a lock by two threads.
    Lock(LockNo),
}

/// Two operations that conflict, and that runs can have in either order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The operation that comes first in the trace.
    pub first: OpNo,
    /// The operation that comes second in the trace.
    pub second: OpNo,
    /// The tasks of the two operations; `None` in a thread's own code.
    pub tasks: (Option<TaskNo>, Option<TaskNo>),
    /// What they conflict over.
    pub over: ConflictOver,
}

/// Options of a count of classes.
#[derive(Clone, Debug)]
pub struct OrderOptions<'o> {
    /// Number of classes at which the search ends.
    pub most: usize,
    /// Further orders of operations, which the trace itself does not show: the earlier one and the later one.
    pub known: &'o [(OpNo, OpNo)],
    /// The locations whose accesses count; `None` for all.
    pub only: Option<&'o [LocationNo]>,
}

impl Default for OrderOptions<'_> {
    fn default() -> Self {
        Self { most: 1000, known: &[], only: None }
    }
}

/// The classes of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderClasses {
    /// The conflicts that neither the trace nor the rules order, in the order of the trace.
    pub conflicts: Vec<Conflict>,
    /// Number of conflicts that every run has in the order of the trace.
    pub ordered: usize,
    /// For each class and each conflict whether the second operation comes first. The class of the trace itself is the
    /// first one, if the trace keeps to the rules.
    pub classes: Vec<Vec<bool>>,
    /// Whether these are all classes. Otherwise the search was stopped, or has reached its limit.
    pub complete: bool,
}

/// Why the classes of a trace cannot be counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoClasses {
    /// Rules or conflicts name more operations than [`MOST_NODES`].
    Operations(usize),
    /// More conflicts than [`MOST_CONFLICTS`] are open.
    Conflicts(usize),
    /// The trace is no execution by the rules. `None` if the orders of the caller contradict the trace.
    Contradiction,
}

impl fmt::Display for NoClasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoClasses::Operations(found) => {
                write!(f, "{found} operations matter for the order of conflicts, and {MOST_NODES} are possible")
            }
            NoClasses::Conflicts(found) => {
                write!(f, "{found} conflicts have no order, and {MOST_CONFLICTS} are possible")
            }
            NoClasses::Contradiction => write!(f, "the trace itself breaks the rules of queues or locks"),
        }
    }
}

impl std::error::Error for NoClasses {}

/// Counts the classes of a trace, until `stop` is set.
///
/// # Errors
///
/// If the trace is too large, or its own order breaks a rule.
///
/// # Examples
///
/// ```
/// use raceflip::detect::orders::{OrderOptions, order_classes};
/// use raceflip::trace::{Action, Builder, SiteNo};
/// # use std::sync::atomic::AtomicBool;
///
/// let mut builder = Builder::new();
/// let (main, worker) = (builder.thread("main"), builder.thread("worker"));
/// let (x, y) = (builder.location("x", "x"), builder.location("y", "y"));
/// builder.push(main, Action::Fork(worker), SiteNo::NONE, 0)?;
/// for (thread, action) in [(main, Action::Write(x)), (main, Action::Write(y)), (worker, Action::Read(y)), (worker, Action::Read(x))] {
///     builder.push(thread, action, SiteNo::NONE, 0)?;
/// }
/// let found = order_classes(&builder.finish(), &OrderOptions::default(), &AtomicBool::new(false))?;
/// // Two conflicts, of whose four orders one is impossible: the worker reads the new `y`, and then the old `x`.
/// assert_eq!((found.conflicts.len(), found.classes.len(), found.complete), (2, 3, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn order_classes(trace: &Trace, options: &OrderOptions<'_>, stop: &AtomicBool) -> Result<OrderClasses, NoClasses> {
    let graph = Graph::new(trace, options)?;
    let (mut rows, rules) = (Rows::new(&graph.rows), &graph.rules);
    rules.saturate(&mut rows).map_err(|_| NoClasses::Contradiction)?;
    let (mut ordered, mut found, mut conflicts) = (0, 0, Vec::new());
    graph.conflicts(trace, |conflict, (a, b)| {
        if rows.has_any(a, b) {
            ordered += 1;
            return;
        }
        found += 1;
        if found <= MOST_CONFLICTS {
            conflicts.push((conflict, (a, b)));
        }
    });
    if found > MOST_CONFLICTS {
        return Err(NoClasses::Conflicts(found));
    }
    conflicts.sort_by_key(|(conflict, _)| (conflict.first, conflict.second));
    let nodes: Vec<_> = conflicts.iter().map(|(_, nodes)| *nodes).collect();
    let found = search::classes(&mut rows, rules, &nodes, options.most, || stop.load(Ordering::Relaxed));
    Ok(OrderClasses {
        ordered,
        conflicts: conflicts.into_iter().map(|(conflict, _)| conflict).collect(),
        classes: found.classes,
        complete: found.complete,
    })
}
