//! Judges the `expect` lines of a model that are about the ends of runs.
//!
//! - A line of existence (`failure`, `deadlock`, `stuck`) holds if some run ended so.
//! - A line of absence (`no failure`) holds if no run ended so.
//! - An `outcomes` line is both: each outcome that it lists must be seen, and no other one. A run that hit a limit of
//!   the tool has no outcome that the line could list, so it contradicts the line.

use crate::exec::{EndKind, RunResult, value_text};
use crate::lang::Program;
use crate::lang::program::{ExpectationKind, FailureRef, GlobalId, OrderWord, OutcomeRef, OutcomeRefKind, SiteRef};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the variables that `expect outcomes of` lines name.
#[must_use]
pub fn named(program: &Program) -> BTreeSet<GlobalId> {
    let of = program.expectations.iter().filter_map(|e| match &e.kind {
        ExpectationKind::Outcomes { of, .. } => Some(of),
        _ => None,
    });
    of.flatten().copied().collect()
}

/// Ends of runs that contradict an expectation, and ends that it misses.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EndMismatch {
    /// Texts of the ends that should have been seen and were not.
    pub missing: Vec<String>,
    /// Ends that should not have been seen, as ascending indices into the given ends.
    pub surplus: Vec<usize>,
}

impl EndMismatch {
    /// Returns whether the expectation holds.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.missing.is_empty() && self.surplus.is_empty()
    }
}

/// Judges an expectation by all ends that were seen. Returns `None` if it is not about ends.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{EndKind, RunResult, judge};
/// use raceflip::event::Outcome;
/// use raceflip::vm::Model;
///
/// let model = Model::from_text("t.race", "thread t { skip }\nexpect no deadlock\nexpect stuck", &[])?;
/// // How runs ended, without the values of variables.
/// let ends = [RunResult { kind: EndKind::of(&Outcome::Ok), values: Default::default(), stuck: false }];
/// let lines = &model.program.expectations;
/// assert!(judge(&lines[0].kind, ends.iter()).is_some_and(|u| u.is_met()));
/// assert!(judge(&lines[1].kind, ends.iter()).is_some_and(|u| u.missing == ["stuck"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn judge<'e>(
    expectation: &ExpectationKind,
    ends: impl Iterator<Item = &'e RunResult> + Clone,
) -> Option<EndMismatch> {
    let one = |no: bool, what: &str, is: &dyn Fn(&RunResult) -> bool| {
        let seen: Vec<usize> = ends.clone().enumerate().filter(|(_, e)| is(e)).map(|(i, _)| i).collect();
        match (no, seen.is_empty()) {
            (true, _) => EndMismatch { surplus: seen, ..EndMismatch::default() },
            (false, true) => EndMismatch { missing: vec![what.to_owned()], ..EndMismatch::default() },
            (false, false) => EndMismatch::default(),
        }
    };
    Some(match expectation {
        ExpectationKind::Failure { no, what, site } => {
            let is = |end: &RunResult| fails_as(&end.kind, what.as_ref(), site.as_ref());
            one(*no, &failure_text(what.as_ref(), site.as_ref()), &is)
        }
        ExpectationKind::Deadlock { no } => one(*no, "deadlock", &|end| end.kind == EndKind::Deadlock),
        ExpectationKind::Stuck { no } => one(*no, "stuck", &RunResult::is_stuck),
        ExpectationKind::Outcomes { of, outcomes } => {
            let missing = outcomes.iter().filter(|o| !ends.clone().any(|end| is_end(o, of, end) == Some(true)));
            let surplus =
                ends.clone().enumerate().filter(|(_, e)| outcomes.iter().all(|o| is_end(o, of, e) == Some(false)));
            EndMismatch { missing: missing.map(outcome_text).collect(), surplus: surplus.map(|(i, _)| i).collect() }
        }
        _ => return None,
    })
}

/// Returns an end with only those properties that the line distinguishes: without the values that it does not name.
#[must_use]
pub(super) fn relevant_end(expectation: &ExpectationKind, end: &RunResult) -> RunResult {
    let stuck = end.stuck && matches!(expectation, ExpectationKind::Stuck { .. });
    let mut relevant = RunResult { kind: end.kind.clone(), values: BTreeMap::new(), stuck };
    if let ExpectationKind::Outcomes { of, outcomes } = expectation
        && outcomes.iter().any(|o| o.values.is_some() && is_kind(o, &end.kind))
    {
        relevant.values = of.iter().filter_map(|id| Some((*id, end.values.get(id)?.clone()))).collect();
    }
    relevant
}

pub(super) fn is_kind(expected: &OutcomeRef, kind: &EndKind) -> bool {
    match &expected.kind {
        OutcomeRefKind::Ok => *kind == EndKind::Ok,
        OutcomeRefKind::Deadlock => *kind == EndKind::Deadlock,
        OutcomeRefKind::Stuck => *kind == EndKind::Stuck,
        OutcomeRefKind::Failure(what) => fails_as(kind, Some(what), None),
    }
}

/// Whether an end is the expected outcome; `None` if that depends on values that are not known.
fn is_end(expected: &OutcomeRef, of: &[GlobalId], end: &RunResult) -> Option<bool> {
    let kind = is_kind(expected, &end.kind);
    let Some(values) = expected.values.as_ref().filter(|_| kind) else { return Some(kind) };
    of.iter().zip(values).try_fold(true, |all, (id, value)| Some(all & (end.values.get(id)? == value)))
}

fn fails_as(kind: &EndKind, what: Option<&FailureRef>, at: Option<&SiteRef>) -> bool {
    let EndKind::Failure { name, message, site, .. } = kind else { return false };
    let named = match what {
        None => true,
        Some(FailureRef::Message(wanted)) => wanted == message,
        Some(FailureRef::Name(wanted)) => wanted == name,
    };
    named && at.is_none_or(|at| site.is_some_and(|site| at.sites.contains(&site)))
}

fn name_text(what: &FailureRef) -> String {
    match what {
        FailureRef::Message(text) => format!("{text:?}"),
        FailureRef::Name(name) => name.clone(),
    }
}

fn failure_text(what: Option<&FailureRef>, site: Option<&SiteRef>) -> String {
    let what = what.map_or(String::new(), |w| format!(" {}", name_text(w)));
    let at = site.map_or(String::new(), |s| format!(" at {}", s.text));
    format!("failure{what}{at}")
}

fn outcome_text(outcome: &OutcomeRef) -> String {
    let kind = match &outcome.kind {
        OutcomeRefKind::Ok => "ok".to_owned(),
        OutcomeRefKind::Deadlock => "deadlock".to_owned(),
        OutcomeRefKind::Stuck => "stuck".to_owned(),
        OutcomeRefKind::Failure(what) => format!("failure {}", name_text(what)),
    };
    match outcome.values.as_deref() {
        None => kind,
        Some([one]) => format!("{kind} {}", value_text(one)),
        Some(all) => format!("{kind} [{}]", all.iter().map(value_text).collect::<Vec<_>>().join(", ")),
    }
}

// Whether a line holds if nothing is seen.
pub(super) fn is_of_absence(kind: &ExpectationKind) -> bool {
    use ExpectationKind as K;
    match kind {
        K::Failure { no, .. } | K::Deadlock { no } | K::Stuck { no } => *no,
        K::Order { word, .. } => *word == OrderWord::Never,
        K::ExecutesBefore(..) => true,
        K::Atomicity { no, .. } => *no,
        _ => false,
    }
}
