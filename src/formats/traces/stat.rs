//! What is in a trace, counted: `raceflip trace stat`, as JSON `raceflip-trace-stat` version 1.

use crate::base::IndexVec;
use crate::trace::{Action, ThreadNo, Trace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Raised when a field changes its meaning or goes away; new fields do not raise it.
pub const VERSION: u32 = 1;

/// `raceflip trace stat --format json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct StatReport {
    pub format: String,
    pub version: u32,
    pub files: Vec<Stat>,
}

impl StatReport {
    /// A report of these files.
    #[must_use]
    pub fn new(files: Vec<Stat>) -> Self {
        Self { format: "raceflip-trace-stat".to_owned(), version: VERSION, files }
    }

    /// The object on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written")
    }
}

/// What is in a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Stat {
    pub file: String,
    pub operations: usize,
    pub kinds: BTreeMap<String, usize>,
    pub threads: usize,
    /// Threads that have begun to loop.
    pub loopers: usize,
    /// Tasks that were posted.
    pub posted: usize,
    /// Of these.
    pub begun: usize,
    /// Of the posted ones, those with a delay or an instant.
    pub delayed: usize,
    /// Tasks that nobody has posted: calls of binder threads, and what loopers do between tasks.
    pub unposted: usize,
    pub locks: usize,
    pub locations: usize,
    pub fields: usize,
    pub events: usize,
    pub statements: usize,
    pub notes: Vec<String>,
}

impl Stat {
    /// Counts.
    #[must_use]
    pub fn new(file: &str, trace: &Trace) -> Self {
        let mut kinds = BTreeMap::new();
        let mut loops: IndexVec<ThreadNo, bool> = IndexVec::new();
        trace.threads.iter().for_each(|_| {
            loops.add(false);
        });
        for op in trace.ops.iter() {
            *kinds.entry(word(op.action).to_owned()).or_insert(0) += 1;
            loops[op.thread] |= op.action == Action::Loop;
        }
        let posted = || trace.tasks.iter().filter(|task| task.post.is_some());
        Self {
            file: file.to_owned(),
            operations: trace.ops.len(),
            kinds,
            threads: trace.threads.len(),
            loopers: loops.iter().filter(|loops| **loops).count(),
            posted: posted().count(),
            begun: posted().filter(|task| task.begin.is_some()).count(),
            delayed: posted().filter(|task| task.is_delayed()).count(),
            unposted: trace.tasks.len() - posted().count(),
            locks: trace.locks.len(),
            locations: trace.places.len(),
            fields: trace.fields.len(),
            events: trace.events.len(),
            statements: trace.sites.len(),
            notes: trace.notes.clone(),
        }
    }
}

/// The word of an operation.
pub(super) fn word(action: Action) -> &'static str {
    match action {
        Action::ThreadInit => "threadinit",
        Action::ThreadExit => "threadexit",
        Action::Fork(_) => "fork",
        Action::Join(_) => "join",
        Action::AttachQueue => "attachq",
        Action::Loop => "loop",
        Action::Leave => "leave",
        Action::Post(_) => "post",
        Action::Begin(_) => "begin",
        Action::End(_) => "end",
        Action::Acquire(_) => "acquire",
        Action::Release(_) => "release",
        Action::Read(_) => "read",
        Action::Write(_) => "write",
        Action::Enable(_) => "enable",
        Action::Send(_) => "send",
        Action::Receive(_) => "receive",
    }
}
