//! Defines the classes of a trace, the result of `raceflip trace orders`, as JSON: `raceflip-trace-orders` version 1
//! (`docs/formats.md`).

use super::analysis::End;
use crate::detect::orders::{Conflict, ConflictOver, OrderClasses};
use crate::trace::Trace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The output of `raceflip trace orders --format json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct OrdersReport {
    pub format: String,
    pub version: u32,
    pub file: String,
    pub operations: usize,
    /// Number of conflicts that every run has in the order of the trace.
    pub ordered: usize,
    /// The conflicts that can have either order.
    pub open: Vec<OpenConflict>,
    /// Indices, from 0, of conflicts that have the same order in each class: together they are one choice.
    pub choices: Vec<Vec<usize>>,
    pub classes: Vec<OrderClass>,
    /// Whether these are all classes.
    pub complete: bool,
    pub notes: Vec<String>,
}

/// Two operations that conflict, in the order of the trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct OpenConflict {
    /// The location or the lock.
    pub over: String,
    /// `memory` or `lock`.
    pub kind: String,
    pub first: End,
    pub second: End,
}

/// A way to order the open conflicts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct OrderClass {
    /// Indices, from 0, of the choices that differ from the trace.
    pub turned: Vec<usize>,
}

impl OrdersReport {
    /// Builds the report of the classes of a trace.
    #[must_use]
    pub fn new(file: &str, trace: &Trace, found: &OrderClasses) -> Self {
        let mut choices: Vec<Vec<usize>> = Vec::new();
        let mut of: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
        for conflict in 0..found.conflicts.len() {
            let column = found.classes.iter().map(|class| class[conflict]).collect();
            let choice = *of.entry(column).or_insert(choices.len());
            if choice == choices.len() {
                choices.push(Vec::new());
            }
            choices[choice].push(conflict);
        }
        let turned = |class: &Vec<bool>| (0..choices.len()).filter(|choice| class[choices[*choice][0]]).collect();
        let classes = found.classes.iter().map(|class| OrderClass { turned: turned(class) }).collect();
        let parents = trace.parents();
        let open = |conflict: &Conflict| {
            let Conflict { first, second, tasks, over } = *conflict;
            let (kind, over, words) = match over {
                ConflictOver::Location(at) => ("memory", &*trace.places[at].name, ["read", "write"]),
                ConflictOver::Lock(lock) => ("lock", &trace.locks[lock], ["acquire"; 2]),
            };
            OpenConflict {
                over: over.to_owned(),
                kind: kind.to_owned(),
                first: End::new(trace, &parents, (first, tasks.0), words),
                second: End::new(trace, &parents, (second, tasks.1), words),
            }
        };
        Self {
            format: "raceflip-trace-orders".to_owned(),
            version: VERSION,
            file: file.to_owned(),
            operations: trace.ops.len(),
            ordered: found.ordered,
            open: found.conflicts.iter().map(open).collect(),
            choices,
            classes,
            complete: found.complete,
            notes: trace.notes.clone(),
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}
