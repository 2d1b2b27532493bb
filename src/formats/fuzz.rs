//! Defines the result of `fuzz` as a JSON object, `raceflip-fuzz` version 1 (`docs/formats.md`).

use super::campaign::{Failure, fails};
use super::limits::LimitedRuns;
use super::shrink::SmallerRun;
use crate::campaign::{
    CampaignPlan, FuzzFailure, FuzzInputs, FuzzPlan, FuzzReport as Found, HowMade, Input, OrderKind, RunBase,
    statement_text,
};
use crate::event::SiteId;
use crate::sched::site_text;
use crate::shrink::ShrinkResult;
use crate::statics::{StaticsOptions, analyze};
use crate::vm::Model;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The output of `raceflip fuzz --format json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FuzzReport {
    pub format: String,
    pub version: u32,
    pub file: String,
    pub program: String,
    pub defines: BTreeMap<String, i64>,
    pub seed: u64,
    pub most_runs: u64,
    pub runs: u64,
    /// Number of saved runs with which the search began.
    #[serde(default)]
    pub began: u64,
    pub complete: bool,
    /// What is known of the inputs, if constants were varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    pub failures: Vec<FoundFailure>,
    pub limits: Vec<LimitedRuns>,
    pub pairs: Vec<ReadsFrom>,
    /// The last run that showed a pair that none had shown.
    pub last_new: Option<u64>,
    pub statements: u64,
    /// Statements that no run has performed.
    pub never: Vec<String>,
    /// Those among them that no run can perform, as static analysis knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable: Vec<String>,
    /// Numbers of states, from the coarsest view.
    pub states: [u64; 3],
    pub new_states: NewStates,
}

/// The inputs of a search that has varied constants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Inputs {
    /// The range of each constant, without its end.
    pub varied: BTreeMap<String, (i64, i64)>,
    pub possible: u64,
    /// Number of inputs with runs.
    pub run: u64,
    pub refused: Vec<RefusedInput>,
}

/// Values that the model cannot have, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct RefusedInput {
    pub values: BTreeMap<String, i64>,
    pub why: String,
}

fn values(inputs: &FuzzInputs, input: &Input) -> BTreeMap<String, i64> {
    inputs.named(input).map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Inputs {
    fn new(inputs: &FuzzInputs) -> Self {
        let refused = |(input, why): &(Input, String)| RefusedInput { values: values(inputs, input), why: why.clone() };
        Self {
            varied: inputs.varied.iter().map(|(name, range)| (name.clone(), (range.start, range.end))).collect(),
            possible: inputs.possible,
            run: inputs.run,
            refused: inputs.refused.iter().map(refused).collect(),
        }
    }
}

/// A failure, and the first run with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FoundFailure {
    pub run: u64,
    /// Values of the varied constants in this run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input: BTreeMap<String, i64>,
    /// Smaller values with the same failure: those of the run that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smaller_input: Option<BTreeMap<String, i64>>,
    /// The pair that this run was asked for: writer and reader.
    pub asked: Option<(String, String)>,
    /// Number of steps of another run that this run repeated first.
    pub repeated: Option<u64>,
    pub base: String,
    #[serde(flatten)]
    pub failure: Failure,
    /// A smaller run with the same failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<SmallerRun>,
}

/// A possible pair.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ReadsFrom {
    pub writer: String,
    pub reader: String,
    /// `posts` of one looper, or `sections` of one lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    pub seen: u32,
    pub asked: u32,
}

/// How many of the last runs came to a new state of the coarsest view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct NewStates {
    pub of_last: u64,
    pub runs: u64,
    /// An estimate, after Good and Turing, of how many new ones 1,000 more runs would bring.
    #[serde(default)]
    pub of_thousand: Option<f64>,
}

impl FoundFailure {
    fn new(
        Found { inputs, .. }: &Found,
        found: &FuzzFailure,
        (model, smaller): (&Model, Option<&ShrinkResult>),
    ) -> Self {
        let HowMade { asked, repeated, base } = found.made;
        let name = |statement| statement_text(&inputs.setup, statement);
        Self {
            run: found.run,
            input: values(inputs, &found.input),
            smaller_input: found.smaller_input.as_ref().map(|input| values(inputs, input)),
            asked: asked.map(|(writer, reader)| (name(writer), name(reader))),
            repeated,
            base: base_name(base).to_owned(),
            failure: fails(model, &found.report),
            shrunk: smaller.map(SmallerRun::new),
        }
    }
}

/// Returns how a run chose where nothing else was asked of it: the name of the strategy, or `saved`.
#[must_use]
pub fn base_name(base: RunBase) -> &'static str {
    match base {
        RunBase::Random => "random",
        RunBase::Pos => "pos",
        RunBase::Pct => "pct",
        RunBase::Saved => "saved",
    }
}

/// Returns the statements that no run has performed because no thread or task comes to them, as static analysis
/// knows. If constants were varied, none is known: the analysis is of one program.
#[must_use]
pub fn unreachable(plan: &CampaignPlan, found: &Found) -> Vec<SiteId> {
    if found.coverage.never.is_empty() || !found.inputs.varied.is_empty() {
        return Vec::new();
    }
    let unreached = analyze(&plan.program.program, &StaticsOptions::default()).unreached();
    unreached.into_iter().filter(|site| found.coverage.never.contains(site)).collect()
}

impl FuzzReport {
    /// Builds the report of a campaign. `shown` has for each failure the model of its run, and a smaller run, if there
    /// is one.
    #[must_use]
    pub fn new(
        file: &str,
        plan: &CampaignPlan,
        fuzz: &FuzzPlan,
        found: &Found,
        shown: &[(&Model, Option<&ShrinkResult>)],
    ) -> Self {
        let model: &Model = &plan.program;
        let setup = &found.inputs.setup;
        let coverage = &found.coverage;
        let order = |kind| match kind {
            OrderKind::Posts => "posts".to_owned(),
            OrderKind::Sections => "sections".to_owned(),
        };
        Self {
            format: "raceflip-fuzz".to_owned(),
            version: VERSION,
            file: file.to_owned(),
            program: format!("{:016x}", model.digest()),
            defines: model.defines.iter().cloned().collect(),
            seed: plan.seed,
            most_runs: fuzz.runs,
            runs: found.runs,
            began: found.began,
            complete: found.complete,
            inputs: (!found.inputs.varied.is_empty()).then(|| Inputs::new(&found.inputs)),
            failures: found
                .failures
                .iter()
                .zip(shown)
                .map(|(failure, shown)| FoundFailure::new(found, failure, *shown))
                .collect(),
            limits: LimitedRuns::all(&found.limits),
            pairs: coverage
                .pairs
                .iter()
                .map(|pair| ReadsFrom {
                    writer: statement_text(setup, pair.writer),
                    reader: statement_text(setup, pair.reader),
                    order: pair.order.map(order),
                    seen: pair.seen,
                    asked: pair.asked,
                })
                .collect(),
            last_new: coverage.last_new,
            statements: coverage.statements,
            never: coverage.never.iter().map(|site| site_text(&setup.sites, *site)).collect(),
            unreachable: unreachable(plan, found).iter().map(|site| site_text(&setup.sites, *site)).collect(),
            states: coverage.states,
            new_states: NewStates {
                of_last: coverage.new_states.lately,
                runs: coverage.new_states.new,
                of_thousand: coverage.expected(1_000),
            },
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}
