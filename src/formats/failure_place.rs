//! Describes the failure of a run in one line, in the short form that all commands, reports and files use.
//!
//! An example is `NullPointer (o.next is null) at :6:22 in a`. It names the failure, the expression that failed, line
//! and column in the model, and the thread. Two failures on one line differ in the column, two failures of one
//! statement in the expression.

use crate::base::{IndexVec, elided};
use crate::event::{BlockedThread, Failure, FailureKind, Outcome, Site, SiteId};
use crate::formats::result::At;
use crate::vm::Model;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The failure of a run, with its place.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FailurePlace {
    /// The failure in one line: `NullPointer (o is null) at :40:9 in main`, `deadlock a -> b -> a`.
    pub text: String,
    /// Line in the model, from 1, if the run failed at a statement.
    pub line: Option<u32>,
    /// Column in the model, from 1, if the run failed at a statement.
    pub column: Option<u32>,
    /// The place of the statement in the real app, if the model names one: `Main.java:12`.
    pub from: Option<String>,
}

/// The expression that a failure is about, as stored in files.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operand {
    /// The fault of the expression: `o.next is null`, `i is no index of a`, `y is 0`.
    pub text: String,
    /// Line of the expression in the model, from 1.
    pub line: u32,
    /// Column of the last part of the expression, in characters from 1.
    pub column: u32,
}

impl Operand {
    /// Returns the expression that a failure is about, if it is about one.
    #[must_use]
    pub fn of(failure: &Failure) -> Option<Self> {
        let operand = failure.operand.as_ref()?;
        Some(Self { text: operand.text.clone(), line: operand.line, column: operand.column })
    }
}

/// The end of a run, as stored in files. All fields are empty in files of older versions.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct StoredEnd {
    /// The end in one line: the text of [`ending`]. For a run that contradicts an `expect` line and did not fail: its
    /// limit, or its final values.
    #[serde(default)]
    pub text: String,
    /// The statement at which the run failed; for a deadlock, the first one at which a thread is pending. `None` if
    /// there is none.
    #[serde(default)]
    pub at: Option<At>,
    /// The expression that the failure is about.
    #[serde(default)]
    pub operand: Option<Operand>,
}

impl StoredEnd {
    /// Describes a run that ended with this outcome; `text` is the line for it.
    #[must_use]
    pub fn of(model: &Model, outcome: &Outcome, text: String) -> Self {
        let operand = if let Outcome::Failure(failure) = outcome { Operand::of(failure) } else { None };
        Self { text, at: site(outcome).map(|site| At::of(&model.code.setup, site)), operand }
    }

    /// Returns line and column of the failed expression, or else of the statement.
    #[must_use]
    pub fn place(&self) -> Option<(u32, u32)> {
        let operand = self.operand.as_ref().map(|o| (o.line, o.column));
        operand.or_else(|| self.at.as_ref().map(|at| (at.line, at.column)))
    }

    /// Returns the text, or `other` if the file has no text.
    #[must_use]
    pub fn or<'a>(&'a self, other: &'a str) -> &'a str {
        if self.text.is_empty() { other } else { &self.text }
    }
}

/// Returns the statement at which a run failed; for a deadlock, the first one at which a thread is pending.
#[must_use]
pub fn site(outcome: &Outcome) -> Option<SiteId> {
    match outcome {
        Outcome::Failure(failure) => failure.site,
        Outcome::Deadlock(report) => report.blocked.iter().find_map(|BlockedThread { site, .. }| *site),
        Outcome::Ok | Outcome::Stuck { .. } | Outcome::Limit(..) => None,
    }
}

/// Returns the failure without its place: `NullPointer (o is null)`, `the activity is gone`, `property sorted`.
#[must_use]
pub fn headline(failure: &Failure) -> String {
    let Failure { kind, name, message, .. } = failure;
    let operand = failure.operand.as_ref().map(|o| o.text.as_str());
    let about = operand.map_or(String::new(), |text| format!(" ({text})"));
    let rejected = if *kind == FailureKind::Rejection { "unhandled rejection: " } else { "" };
    match kind {
        FailureKind::Property if message.is_empty() => format!("property {name}"),
        FailureKind::Property => {
            format!(
                "property {name} (it throws {message}{})",
                operand.map_or(String::new(), |text| format!(": {text}"))
            )
        }
        FailureKind::Exception | FailureKind::Rejection if message.is_empty() => format!("{rejected}{name}{about}"),
        FailureKind::Exception | FailureKind::Rejection => format!("{rejected}{name}: {message}"),
        // The message of an assertion says more than its condition, so the condition is left out.
        FailureKind::Assert if message.is_empty() => format!("assert{about}"),
        FailureKind::Assert | FailureKind::Fail => message.clone(),
    }
}

/// Returns line and column of the expression that a failure is about, or else of its statement; `None` for a property.
#[must_use]
pub fn place(sites: &IndexVec<SiteId, Site>, failure: &Failure) -> Option<(u32, u32)> {
    let site = failure.site?;
    Some(failure.operand.as_ref().map_or((sites[site].line, sites[site].column), |o| (o.line, o.column)))
}

/// Returns the failure of a run in one line; `None` if it did not fail.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, formats::failure_place::ending, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "class Box { var next: Box }; var o = new Box; thread a { use o.next.next }";
/// let model = Model::from_text("box.race", text, &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let summary = run(&mut machine, &mut RoundRobin::default(), 0, &mut NoObserver, &stop);
/// let text = summary.outcome().and_then(|outcome| ending(&model, outcome));
/// assert_eq!(text.as_deref(), Some("NullPointer (o.next is null) at :1:64 in a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn ending(model: &Model, outcome: &Outcome) -> Option<String> {
    Some(match outcome {
        Outcome::Failure(f) => {
            let at = place(&model.code.setup.sites, f);
            let at = at.map_or(String::new(), |(line, column)| format!(" at :{line}:{column}"));
            let thread = if f.thread.is_empty() { String::new() } else { format!(" in {}", elided(&f.thread)) };
            format!("{}{at}{thread}", headline(f))
        }
        Outcome::Deadlock(report) => match report.cycle.as_slice() {
            [] => {
                let names: Vec<_> = report.blocked.iter().map(|b| elided(&b.thread)).collect();
                format!("deadlock: {} can never continue", names.join(", "))
            }
            ring => format!("deadlock {} -> {}", elided_all(ring).join(" -> "), elided(&ring[0])),
        },
        Outcome::Stuck { .. } => "stuck: messages that can never run".to_owned(),
        Outcome::Ok | Outcome::Limit(..) => return None,
    })
}

/// Returns the names of threads or tasks, shortened for a message.
#[must_use]
pub fn elided_all(names: &[String]) -> Vec<Cow<'_, str>> {
    names.iter().map(|name| elided(name)).collect()
}

/// Returns the failure of a run with its place; `None` if it did not fail. The place of a deadlock is the first
/// statement at which a thread is pending.
#[must_use]
pub fn failing(model: &Model, outcome: &Outcome) -> Option<FailurePlace> {
    let text = ending(model, outcome)?;
    let sites = &model.code.setup.sites;
    let site = site(outcome);
    let at = match outcome {
        Outcome::Failure(failure) => place(sites, failure),
        _ => site.map(|s| (sites[s].line, sites[s].column)),
    };
    let (line, column) = at.unzip();
    let from = site.and_then(|site| sites[site].from.clone());
    Some(FailurePlace { text, line, column, from })
}

/// Formats the stall of the shown run, in milliseconds, and the least stall of all runs that end in the same way if
/// another run has it: ` (stall 300 ms; least stall 0 ms, in another run)`. Returns an empty text if both are 0,
/// because a failure without a stall is the more likely one in the field. `shown` is `None` if the file lacks the stall
/// of the run.
#[must_use]
pub fn stalls(shown: Option<u64>, least: u64) -> String {
    match shown {
        Some(0) if least == 0 => String::new(),
        Some(stall) if stall == least => format!(" (stall {stall} ms)"),
        Some(stall) => format!(" (stall {stall} ms; least stall {least} ms, in another run)"),
        None if least == 0 => String::new(),
        None => format!(" (least stall {least} ms)"),
    }
}
