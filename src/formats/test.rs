//! Defines the result of `raceflip test` as a JSON object, `raceflip-test` version 1 (`docs/formats.md`).

use super::failure_place::{StoredEnd, ending};
use super::gate::GateReport;
use super::shrink::Sizes;
use crate::campaign::{LineVerdict, Origin, SeedResult, ShownEnds, TestPlan, TestResult};
use crate::event::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The reason for an `unchecked` line about what must not happen, if all runs hit a limit. The variant of such a line
/// has failed.
pub const CUT: &str = "no run ended before a limit: a limit cut all of them";

/// The output of `raceflip test --format json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct TestReport {
    pub format: String,
    pub version: u32,
    pub seed: u64,
    pub runs: u32,
    pub complete: bool,
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Models with inputs, and how many of these were tested; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TestedInputs>,
    pub variants: Vec<Variant>,
    /// Models and seed files that could not be read.
    pub refused: Vec<String>,
    /// The gate of the command; `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateReport>,
}

/// The inputs of a model: values of its constants with a declared range.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct TestedInputs {
    pub file: String,
    /// Number of inputs among the variants.
    pub tested: u64,
    pub possible: u64,
}

/// The result of a variant of a model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Variant {
    pub file: String,
    pub defines: BTreeMap<String, i64>,
    pub verdict: String,
    /// Number of states that a search visited, if it came to all ends.
    pub states: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reduced: bool,
    pub walks: u32,
    pub trials: Option<u32>,
    pub complete: bool,
    pub expectations: Vec<LineReport>,
    pub limits: Vec<super::campaign::LimitedRuns>,
    pub saved: Vec<SavedRun>,
}

/// The result of an `expect` line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct LineReport {
    pub line: u32,
    pub text: String,
    /// The verdict on the line: `met`, `unmet` or `unchecked`.
    pub verdict: String,
    pub why: Vec<String>,
    /// The reason why the line holds in every run, if static analysis proves it and no search has judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Vec<String>>,
    pub shown: Vec<ContraryRuns>,
}

/// Runs that contradict a line and end in the same way, with one of them as an example.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ContraryRuns {
    pub end: String,
    /// How the example ended.
    #[serde(flatten)]
    pub ending: StoredEnd,
    /// The thread that failed, if the example failed in a thread.
    #[serde(default)]
    pub thread: Option<String>,
    pub signature: String,
    pub runs: u32,
    pub strategy: Option<String>,
    pub seed: Option<u64>,
    pub token: String,
    /// Sizes before and after shrinking, if the example was shrunk.
    pub shrunk: Option<Sizes>,
    /// The name of the seed file that the example comes from, if it comes from one.
    pub saved: Option<String>,
}

/// The result of replaying a saved run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SavedRun {
    pub file: String,
    /// The result: `fails`, `gone`, `changed`, `asks` or `interrupted`.
    pub result: String,
    /// The signature that the run has now, if it differs. For `asks`: the limit that the token exceeds.
    pub ends: Option<String>,
}

impl ContraryRuns {
    /// Returns the end of the example in one line, or `end` if the file has no such line.
    #[must_use]
    pub fn text(&self) -> &str {
        self.ending.or(&self.end)
    }
}

/// Describes the end of a run that contradicts a line: its limit, its failure with the place, or the final values that
/// the line names.
pub(crate) fn end_words(plan: &TestPlan<'_>, shown: &ShownEnds) -> String {
    match &shown.outcome {
        Outcome::Limit(kind, limit) => format!("the limit of {limit} {}", kind.noun()),
        outcome => ending(plan.model, outcome).unwrap_or_else(|| shown.text.clone()),
    }
}

fn against(plan: &TestPlan<'_>, shown: &ShownEnds) -> ContraryRuns {
    let drawn = match &shown.origin {
        Origin::Drawn { strategy, seed } => Some((strategy.clone(), *seed)),
        Origin::Saved(_) | Origin::Searched => None,
    };
    let thread = if let Outcome::Failure(failure) = &shown.outcome { failure.thread.clone() } else { String::new() };
    ContraryRuns {
        end: shown.text.clone(),
        ending: StoredEnd::of(plan.model, &shown.outcome, end_words(plan, shown)),
        thread: Some(thread).filter(|thread| !thread.is_empty()),
        signature: shown.signature.clone(),
        runs: shown.runs,
        seed: drawn.as_ref().map(|(_, seed)| *seed),
        strategy: drawn.map(|(strategy, _)| strategy),
        token: shown.token.clone(),
        shrunk: shown.shrunk.map(|(before, after)| Sizes::new(before, after)),
        saved: match shown.origin {
            Origin::Saved(number) => Some(plan.saved[number].name.clone()),
            Origin::Drawn { .. } | Origin::Searched => None,
        },
    }
}

impl Variant {
    /// Builds the result of a variant.
    #[must_use]
    pub fn new(file: &str, verdict: &str, plan: &TestPlan<'_>, tested: &TestResult) -> Self {
        let expected = |line: &crate::campaign::LineResult| {
            let (verdict, why, shown) = match &line.verdict {
                LineVerdict::Met => ("met", Vec::new(), Vec::new()),
                LineVerdict::Cut => ("unchecked", vec![CUT.to_owned()], Vec::new()),
                LineVerdict::Unchecked(why) => ("unchecked", vec![(*why).to_owned()], Vec::new()),
                LineVerdict::Unmet(why, shown, more) => {
                    let (all, some) = (shown.len() + more, shown.len());
                    let more = format!("{all} different ends are forbidden, and {some} of them are shown");
                    let why = why.iter().cloned().chain((all > some).then_some(more)).collect();
                    ("unmet", why, shown.iter().map(|s| against(plan, s)).collect())
                }
            };
            let (text, proof) = (line.text.clone(), line.proof.clone());
            LineReport { line: line.line, text, verdict: verdict.to_owned(), why, proof, shown }
        };
        let cut = |((kind, limit), runs): (&(crate::event::LimitKind, u64), &u32)| super::campaign::LimitedRuns {
            option: kind.option().to_owned(),
            limit: *limit,
            runs: *runs,
        };
        let saved = plan.saved.iter().zip(&tested.saved).map(|(saved, end)| {
            let (result, ends) = match end {
                SeedResult::Fails => ("fails", None),
                SeedResult::Gone(ends) => ("gone", Some(ends.clone())),
                SeedResult::Changed(_, ends) => ("changed", Some(ends.clone())),
                SeedResult::Asks(option, ..) => ("asks", Some(format!("limit {option}"))),
                SeedResult::Interrupted => ("interrupted", None),
            };
            SavedRun { file: saved.name.clone(), result: result.to_owned(), ends }
        });
        Self {
            file: file.to_owned(),
            defines: plan.model.defines.iter().cloned().collect(),
            verdict: verdict.to_owned(),
            states: tested.states,
            reduced: tested.reduced,
            walks: tested.walks,
            trials: tested.trials,
            complete: tested.complete,
            expectations: tested.lines.iter().map(expected).collect(),
            limits: tested.limits.iter().map(cut).collect(),
            saved: saved.collect(),
        }
    }
}

impl TestReport {
    /// Builds the report of all variants.
    #[must_use]
    pub fn new(seed: u64, runs: u32, complete: bool, variants: Vec<Variant>, refused: Vec<String>) -> Self {
        let count = |verdict: &str| variants.iter().filter(|v| v.verdict == verdict).count();
        Self {
            format: "raceflip-test".to_owned(),
            version: VERSION,
            seed,
            runs,
            complete,
            passed: count("passed"),
            failed: count("failed"),
            skipped: count("skipped"),
            refused,
            inputs: Vec::new(),
            variants,
            gate: None,
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}
