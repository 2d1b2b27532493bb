//! Makes a model of a recorded trace, so that the races of the trace can be driven by raceflip's scheduler.
//!
//! Each thread and each task of the trace becomes a body of its own. Nothing is generalized, and no value matters. A
//! run of the model is a reordering of the trace that its must-order allows: program order, fork, join, post, the order
//! of queues, enables, and signals. (Locks order nothing; they exclude each other.)
//!
//! | in the trace | in the model |
//! |---|---|
//! | thread | `thread`; `looper` if its queue is there from the start |
//! | fork | `fork` of a task if nothing else names the thread; otherwise `up go` before the thread's `down go` |
//! | fork behind no statement, or of a looper to which all posts come behind it | nothing |
//! | join | `join`; of a thread that does nothing, a `down` of what its fork has raised |
//! | attach, loop, leave | `attach queue`, `loop queue`; a thread of its own quits the looper after its last task |
//! | task | `task` and `post`, with delay, instant, front, `micro`, `idle`, `async` |
//! | enable | `up e` before the `down e` of each post that comes after it, or `enable` |
//! | post by the environment, or by a thread that does nothing else | `event` with at most one enable |
//! | task without a post | an `event` of its looper; a `thread` if the thread runs no messages |
//! | lock | `lock`, `acquire`, `release` |
//! | send, receive | `fetch_add(s, 1)`; `await s >= n`, n the number of sends before |
//! | access | `@aN: r = x`, `x = 0`, N the number of the operation |
//!
//! `contexts` has the must-order, `keep` and `signals` decide what is left out, `plan` the forms; `text` and
//! `bodies` write.

mod bodies;
mod contexts;
mod keep;
mod left_out;
mod names;
mod plan;
mod sections;
mod signals;
mod statements;
mod text;
mod times;

use crate::trace::{OpNo, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// What of a trace the model has.
#[derive(Clone, Default, Debug)]
pub struct ModelOptions {
    /// Whether the model also has what cannot take part in a race.
    pub all: bool,
    /// Names of the locations, or of their fields, whose accesses the model has; all if it is empty.
    pub only: Vec<String>,
}

/// The model of a trace.
#[derive(Clone, Debug)]
pub struct TraceModel {
    /// The text of the model.
    pub text: String,
    /// Number of bodies: threads, tasks and events.
    pub bodies: usize,
    /// Number of statements.
    pub statements: usize,
    /// What the model lacks, with the number of times: one line each.
    pub notes: Vec<String>,
    labels: BTreeMap<OpNo, OpNo>,
    // Accesses whose labels also cover the use of the value.
    uses: BTreeSet<OpNo>,
}

/// The reason why there is no model of a trace.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoModel {
    /// A location of [`ModelOptions::only`] that the trace does not have.
    #[error("the trace has no location or field `{wanted}`{advice}")]
    Location {
        /// The name that was given.
        wanted: String,
        /// The most similar name of the trace, as a proposal; empty if there is none.
        advice: String,
    },
    /// The model has more bodies or text than a model may have.
    #[error("the model of the trace is too large, with {bodies} bodies and {statements} statements ({reason})")]
    TooLarge {
        /// Number of bodies.
        bodies: usize,
        /// Number of statements.
        statements: usize,
        /// The limit that it exceeds.
        reason: String,
    },
}

impl TraceModel {
    /// Makes the model of a trace. `name` is the name of the trace for readers.
    ///
    /// # Errors
    ///
    /// If the trace does not have a location of the options, or if the model is too large.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::formats::{trace_model::{ModelOptions, TraceModel}, traces};
    /// use raceflip::trace::OpNo;
    ///
    /// let log = "1 START\n2 THREADINIT tid:1\n3 FORK par-tid:1 child-tid:2\n4 THREADINIT tid:2\n\
    ///            5 WRITE tid:1 obj:0x1 class:La; field:8\n6 READ tid:2 obj:0x1 class:La; field:8\n";
    /// let trace = traces::read("trace.txt", log.as_bytes())?;
    /// let model = TraceModel::new(&trace, "trace.txt", &ModelOptions::default())?;
    /// assert_eq!(model.label(OpNo(3)), Some("@a3".to_owned()));
    /// assert!(model.text.contains("@a3 from \"trace:5\": La_8 = 0"), "{}", model.text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(trace: &Trace, name: &str, options: &ModelOptions) -> Result<Self, NoModel> {
        text::write(trace, name, options)
    }

    /// Returns whether a text begins as the models that [`TraceModel::new`] makes.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::formats::trace_model::TraceModel;
    ///
    /// assert!(!TraceModel::is_made("var x = 0\nthread a { x = 1 }\n"));
    /// ```
    #[must_use]
    pub fn is_made(text: &str) -> bool {
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix(text::HEAD).is_some_and(|rest| rest.ends_with(text::HEAD_END))
    }

    /// Returns what selects an access of the trace in the model: its label, or that of the access that it repeats.
    /// `None` if the model does not have it.
    #[must_use]
    pub fn label(&self, op: OpNo) -> Option<String> {
        let selected = |op: &OpNo| if self.uses.contains(op) { ".read" } else { "" };
        self.labels.get(&op).map(|op| format!("@a{}{}", op.0, selected(op)))
    }
}
