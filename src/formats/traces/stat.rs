//! Counts the content of a trace: `raceflip trace stat`, as JSON `raceflip-trace-stat` version 1.

use crate::base::IndexVec;
use crate::trace::{Action, ThreadNo, Trace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The output of `raceflip trace stat --format json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct StatReport {
    pub format: String,
    pub version: u32,
    pub files: Vec<Stat>,
}

impl StatReport {
    /// Creates the report of these files.
    #[must_use]
    pub fn new(files: Vec<Stat>) -> Self {
        Self { format: "raceflip-trace-stat".to_owned(), version: VERSION, files }
    }

    /// Returns the report as JSON on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written")
    }
}

/// The counts of one trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Stat {
    pub file: String,
    pub operations: usize,
    pub kinds: BTreeMap<String, usize>,
    pub threads: usize,
    /// Number of threads that have begun to loop.
    pub loopers: usize,
    /// Number of tasks that were posted.
    pub posted: usize,
    /// Number of posted tasks that have begun.
    pub begun: usize,
    /// Number of posted tasks with a delay or an instant.
    pub delayed: usize,
    /// Number of tasks that were not posted: calls of binder threads, and what loopers do between tasks.
    pub unposted: usize,
    pub locks: usize,
    pub locations: usize,
    pub fields: usize,
    pub events: usize,
    pub statements: usize,
    pub notes: Vec<String>,
}

impl Stat {
    /// Counts the content of a trace.
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

/// Returns the word for the kind of an operation.
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
