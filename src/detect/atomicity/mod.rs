//! Atomicity: which parts of an app that are meant to happen in one piece did not, in one run (Mondal, "Extended
//! Atomicity Checking with Blame Assignment", 2015; the graph and the blame are those of Flanagan, Freund, Yi:
//! "Velodrome", PLDI 2008).
//!
//! Operations belong to declared transactions ([`Specification`]). There is a *direct edge* from an operation to a
//! later one if the first comes before the second in the same context, causes it, conflicts with it, or signals it
//! ([`EdgeKind`]). The order of a queue is no edge: it says that something had to be so, not that data flowed.
//!
//! A transaction A is *violated* if a path of direct edges leaves it and comes back. Of the tasks of loopers where A
//! has a task, those that do not belong to A count as one node each: A cannot interrupt them, so each comes before all
//! of A or after it. Then no order that keeps the edges has A in one piece, whatever the others do, and A is to blame
//! ([`Blame::Certain`]). If there is such a path only because other transactions count as one node too, they are to
//! blame together ([`Blame::Joint`]).
//!
//! `steps` makes one list of a trace, `spec` decides what belongs to which transaction, `lifetime` numbers transactions
//! by the bits that stand for them, `bits` finds those that are violated (over tables of `sets`), and `cycle` the paths
//! (over `edges`; `forced` says what a step has made).
//!
//! # Where it departs from the report
//!
//! - Program order is no edge kind of its own, and there is none between tasks.
//! - Locks order nothing unless [`EdgeRules::Paper`] is asked for.
//! - A read is kept only until a third party writes: no edge jumps over the write that explains it.
//! - Of the paths of a cycle the shortest is reported, for each edge that leaves and each edge that comes back.
//! - The report blames one of several transactions that only together have a cycle; here they are blamed together.
//!
//! # What it may miss
//!
//! What the run did not execute. What a transaction means: a violation may be harmless.
//!
//! # What it must never report
//!
//! A transaction that some order with the same direct edges has in one piece; the order of tasks of a looper by itself.

mod accesses;
mod analysis;
mod bits;
mod candidates;
mod cycle;
mod edges;
mod findings;
mod forced;
mod lifetime;
mod prefix;
mod sets;
mod spec;
mod steps;
mod words;

pub use analysis::{AtomicityOptions, Verdicts, analyze, usual, verdicts};
pub use candidates::candidates;
pub use findings::{OfRuns, SeenFinding};
pub use prefix::{Accesses, Carried, Nth, PrefixState, prefix_state};
pub use spec::{Transaction, TransactionNo, Transactions, declared_name};
pub use steps::{ContextNo, Step, StepKind, StepNo, Steps};

use std::collections::BTreeSet;

/// What the declared transactions of a trace are. Each specification is analyzed by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Specification {
    /// Each execution of a `transaction` block in one thread or task. Of nested blocks only the outermost counts.
    Blocks,
    /// All tasks of one instance: those that name it, and what they post to their own looper without another name.
    Lifecycle,
    /// A task, and what it posts to its own looper. A task that another thread or the environment posts is a root.
    Tree,
    /// Each task by itself.
    Tasks,
}

impl Specification {
    /// All specifications, in the order of reports.
    pub const ALL: [Specification; 4] =
        [Specification::Lifecycle, Specification::Blocks, Specification::Tree, Specification::Tasks];

    /// Those that a model declares: by its components and `as`, and by its `transaction` blocks.
    pub const USUAL: [Specification; 2] = [Specification::Lifecycle, Specification::Blocks];

    /// Returns the name of the specification in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Specification::Blocks => "blocks",
            Specification::Lifecycle => "lifecycle",
            Specification::Tree => "tree",
            Specification::Tasks => "tasks",
        }
    }

    /// Describes the specification in a few words.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Specification::Blocks => "Each execution of a `transaction` block",
            Specification::Lifecycle => "All callbacks of an instance of a component, and tasks posted `as` one name",
            Specification::Tree => "A task, and what it posts to its own looper",
            Specification::Tasks => "Each task by itself",
        }
    }
}

/// Which edges there are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EdgeRules {
    /// Edges of causes, conflicts and signals.
    #[default]
    Data,
    /// These, and an edge from each release of a lock to the next acquisition, as the report has them.
    Paper,
}

impl EdgeRules {
    /// Returns the name of the rules in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EdgeRules::Data => "data",
            EdgeRules::Paper => "paper",
        }
    }

    /// Describes the rules in a few words.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            EdgeRules::Data => "Causes, conflicts and signals",
            EdgeRules::Paper => "Also the order of the sections of a lock, as in Mondal's report",
        }
    }
}

/// Kind of a direct edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EdgeKind {
    /// The first operation makes the second one: fork, join, post to begin, enable to firing.
    Cause,
    /// Both access one location, and one of them writes.
    Conflict,
    /// A signal: notify to wait, send to receive, the write that turns the condition of an `await`.
    Signal,
    /// A release of a lock and the next acquisition of it.
    Lock,
    /// The next step of the same context. A path follows program order without an edge; only where it leaves the
    /// transaction or comes back in this way is it an edge of the cycle.
    Program,
}

impl EdgeKind {
    /// Whether the second operation cannot happen without the first one.
    #[must_use]
    pub fn is_must(self) -> bool {
        self == EdgeKind::Cause
    }

    /// Returns the name of the kind in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Cause => "cause",
            EdgeKind::Conflict => "conflict",
            EdgeKind::Signal => "signal",
            EdgeKind::Lock => "lock",
            EdgeKind::Program => "program order",
        }
    }
}

/// Who is to blame for a violation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Blame {
    /// The transaction itself, whatever all others do.
    Certain,
    /// These declared transactions together, and none alone: their names without numbers, ascending.
    Joint(Vec<String>),
}

/// An operation of a cycle, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The number of the operation in the list of [`Steps`].
    pub step: StepNo,
    /// The line of the input file, from 1; 0 if there is none.
    pub line: u32,
    /// The name of the thread.
    pub thread: String,
    /// The name of the task; `None` for code of a thread outside tasks.
    pub task: Option<String>,
    /// The name of the task without numbers and creators, or else that of the thread: what runs, in any run.
    pub body: String,
    /// The statement, if the trace names it: `12:5 read`.
    pub site: Option<String>,
    /// What the operation does: `read`, `write`, `post` ...
    pub what: &'static str,
    /// Whether the operation belongs to the transaction of the cycle.
    pub inside: bool,
}

/// An edge of a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CycleEdge {
    /// The earlier operation.
    pub from: Moment,
    /// The later operation.
    pub to: Moment,
    /// Why there is an edge.
    pub kind: EdgeKind,
    /// The location, task, lock or event that the edge is about; `None` for a signal.
    pub about: Option<String>,
    /// The field of a location: the same for all objects. Otherwise the name of `about` without numbers.
    pub field: Option<String>,
}

/// A path of direct edges that leaves a transaction and comes back to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The name of the transaction, with its number: `Player#1`.
    pub transaction: String,
    /// The edges. The first one leaves the transaction and the last one comes back. From the end of one edge, program
    /// order or the unity of a task or transaction leads to the start of the next one.
    pub edges: Vec<CycleEdge>,
    /// An edge is *forced* if it is a cause, or if forks, posts and program order lead from its start to its end. 1:
    /// all within one thread, and no edge is forced. 2: several threads, and no edge is forced. 3: a forced edge and
    /// another one: the transaction itself has made what comes between, for example. 4: all are forced, which is no
    /// violation.
    pub priority: u8,
    /// Whether all writes of this cycle outside the transaction wrote the value that was there, as far as values are
    /// known.
    pub same_value: bool,
    /// Whether the first operation of the cycle is the first write of its location in the run, and the first access of
    /// the transaction to it.
    pub initialization: bool,
}

/// All cycles of transactions of one declared name with the same locations and the same bodies between.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The name of the transactions without their numbers: `Player`.
    pub declared: String,
    /// Who is to blame.
    pub blame: Blame,
    /// The best priority of its cycles.
    pub priority: u8,
    /// The cycles that differ in an edge that leaves or comes back. The one of the best priority comes first.
    pub cycles: Vec<Cycle>,
}

impl Finding {
    /// Whether the finding counts as a violation: not all its cycles are causes only.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.priority < 4
    }

    /// Whether it says for certain that a transaction of this name was violated; `None` is any name.
    #[must_use]
    pub fn is_violation_of(&self, name: Option<&str>) -> bool {
        self.counts() && self.blame == Blame::Certain && name.is_none_or(|name| is_named(&self.declared, name))
    }

    /// Whether it is likely harmless, so that it is listed after the others: each of its cycles has a mark.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.cycles.iter().all(|cycle| cycle.same_value || cycle.initialization)
    }
}

/// Whether a declared name is the one that a user has given, with or without a number.
#[must_use]
pub fn is_named(declared: &str, given: &str) -> bool {
    declared == given || declared == declared_name(given)
}

/// What one specification shows in a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atomicity {
    /// The specification.
    pub specification: Specification,
    /// Number of declared transactions.
    pub transactions: usize,
    /// Their names without numbers.
    pub declared: BTreeSet<String>,
    /// Number of transactions that are to blame for certain, also by causes only.
    pub violated: usize,
    /// Number of transactions that are only jointly to blame.
    pub joint: usize,
    /// The findings, most suspicious first.
    pub findings: Vec<Finding>,
    /// Number of violated transactions whose cycles were not searched, because enough of the same name were, or only in
    /// part.
    pub left_out: usize,
    /// Number of passes over the trace.
    pub passes: u32,
}
