//! Defines the result of `confirm` as a JSON object, `raceflip-confirm` version 2 (`docs/formats.md`).

use super::caught::Caught;
pub use super::endless::Endless;
use super::endless::endless;
use super::failure_place::{StoredEnd, ending};
use super::gate::GateReport;
pub use super::harms::Harm;
use super::harms::{HarmClaim, MoreOften, hurts, often, rounded, side};
pub use super::limits::LimitedRuns;
use super::limits::cuts;
pub use super::proof::Proof;
use super::proof::proof;
use super::ring::{JudgedRing, judged};
use super::violations::ViolationsReport;
use crate::base::{at_most, interval};
use crate::campaign::{self, CampaignPlan, Confirmation, FailureReport, OrderReport, PairReport, Phase1, WayReport};
use crate::detect::{ContextKind, DetectorId};
use crate::event::SiteId;
use crate::sched::site_text;
use crate::vm::Model;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 2;

/// The model and the plan of a campaign.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct About {
    pub file: String,
    pub program: String,
    /// A digest of the text of the model, including layout and labels.
    pub source: String,
    pub defines: BTreeMap<String, i64>,
    pub seed: u64,
    pub runs: u32,
    pub trials: u32,
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    pub detectors: Vec<String>,
    pub risk: Risk,
    /// Locations, locks, queues ... with more potential pairs than are kept for one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<String, i64>,
    pub complete: bool,
}

/// Returns the names of detectors.
pub(super) fn names<'d>(detectors: impl IntoIterator<Item = &'d DetectorId>) -> Vec<String> {
    detectors.into_iter().map(|by| by.name().to_owned()).collect()
}

/// The default detectors. The field is left out if it has this value, and files from before the option existed do not
/// have it.
pub(super) fn usual() -> Vec<String> {
    names(&[DetectorId::HYBRID])
}

pub(super) fn is_usual(detectors: &[String]) -> bool {
    *detectors == usual()
}

/// The numbers from which the residual risk of detection is estimated: pairs that only one random walk showed, and
/// random walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Risk {
    pub once: u32,
    pub walks: u32,
}

/// The size of a search of all states, and whether it was complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SearchExtent {
    pub states: u64,
    pub complete: bool,
}

/// The output of `raceflip confirm --format json`.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, confirm};
/// use raceflip::formats::campaign::ConfirmReport;
/// # use std::sync::atomic::AtomicBool;
/// # let model = raceflip::vm::Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let plan = CampaignPlan::new(&model);
/// let found = confirm(&plan, CampaignContext { stop: &stop, progress: &NoProgress });
/// let report = ConfirmReport::new("add.race", model.digest(), &plan, &found);
/// assert_eq!(report.pairs.len(), 3);
/// println!("{}", report.to_json());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ConfirmReport {
    pub format: String,
    pub version: u32,
    #[serde(flatten)]
    pub about: About,
    pub searched: Option<SearchExtent>,
    pub pairs: Vec<Pair>,
    /// Pairs of operations that are not accesses and whose order may matter.
    pub order_pairs: Vec<Pair>,
    /// Deadlock rings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<JudgedRing>,
    /// Failures of detection runs.
    pub detection_failures: Vec<Failure>,
    /// Detection runs that ended at a limit.
    pub detection_limits: Vec<LimitedRuns>,
    /// Failures of trials in which neither order was seen, and which no detection run and no trial of an order has.
    pub unexplained: Vec<Failure>,
    /// Possible livelocks. `None` if they were not searched for, or if not all states could be searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub livelocks: Option<Vec<Endless>>,
    /// The verdicts on declared transactions, if the model declares any and the command judged them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomicity: Option<ViolationsReport>,
    /// The gate of the command; `None` in a journal and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateReport>,
}

/// A statement of a pair.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Access {
    /// The statement in the syntax of `--strategy directed:`.
    pub site: String,
    pub kind: String,
    pub place: String,
    pub line: u32,
    pub column: u32,
    pub label: Option<String>,
    pub from: Option<String>,
}

/// A pair with the results of its trials.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Pair {
    pub a: Access,
    pub b: Access,
    pub rank: char,
    #[serde(flatten)]
    pub use_free: super::use_free::UseFreeFields,
    pub location: String,
    /// Index of the confirmed deadlock ring with which an order pair is reported, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<u32>,
    pub contexts: Vec<String>,
    /// What the contexts of `a` and of `b` run. Older files lack it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<String>,
    /// For a harmful pair: the pair that leads the group of its cause, as `SITE~SITE`. Older files lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Index of the harmful violation of atomicity that leads the group of a harmful pair, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<u32>,
    /// The detectors, only if no detection run showed the pair: then `exhaustive search`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detectors: Vec<String>,
    #[serde(rename = "verdict")]
    pub proof: Proof,
    pub harm: Harm,
    pub harms: Vec<HarmClaim>,
    /// Failures that both orders have, and one of them more often.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_often: Vec<MoreOften>,
    /// The runs that prove the verdict.
    #[serde(rename = "proof")]
    pub evidence: Vec<Evidence>,
    pub trials: u32,
    pub ways: Vec<Way>,
    /// Why a search has not decided the pair, as the word of [`UndecidedReason`](crate::campaign::UndecidedReason);
    /// older versions also wrote `both-orders`.
    pub undecided_by_search: Option<String>,
    /// Number of trials in which both accesses were side by side.
    pub adjacent: u32,
    /// Number of trials that performed both accesses.
    pub reached: u32,
    /// For an unconfirmed pair: upper bound (95 %) of the probability that a trial of both accesses confirms it.
    pub at_most: Option<f64>,
    /// Ordinal of the first trial that failed, from 1.
    pub first_failure: Option<u32>,
    pub orders: Vec<Order>,
    pub undecided: u32,
    pub limits: u32,
}

/// Trials with one strategy.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Way {
    pub strategy: String,
    pub trials: u32,
    pub hits: u32,
    /// The 95 % confidence interval (Clopper and Pearson) of the probability of a hit.
    pub interval: (f64, f64),
    /// Number of trials for each reason to release a hold.
    pub released: BTreeMap<String, u32>,
}

/// The runs with one order of a pair.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Order {
    /// The statement that comes first: `a` or `b`.
    pub first: String,
    pub runs: u32,
    /// Number of those runs that did not fail and never performed the other access, although it was still to come.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_off: u32,
    pub failures: Vec<Failure>,
    pub passes: Option<Evidence>,
    /// Exceptions of references that the app has caught.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caught: Vec<Caught>,
}

/// A group of runs with the same signature, with one of them as an example.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Failure {
    pub signature: String,
    pub runs: u32,
    /// The least known stall of all these runs. In files of older versions the example below may have a greater one.
    pub least_stall: u64,
    /// How the example ended.
    #[serde(flatten)]
    pub ending: StoredEnd,
    /// Number of steps of the example.
    #[serde(default)]
    pub steps: Option<u64>,
    /// The virtual clock at the end of the example, in milliseconds.
    #[serde(default)]
    pub virtual_time: Option<u64>,
    /// Stall of the example, in milliseconds.
    #[serde(default)]
    pub stall: Option<u64>,
    /// Strategy, seed and token of the example.
    pub again: Evidence,
}

impl Failure {
    /// Returns the end of the example in one line, or the signature if the file has no such line.
    #[must_use]
    pub fn text(&self) -> &str {
        self.ending.or(&self.signature)
    }
}

/// Strategy, seed and token of a run, to reproduce it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Evidence {
    pub strategy: String,
    pub seed: u64,
    pub token: String,
}

pub(super) fn about(file: &str, program: u64, plan: &CampaignPlan, phase1: &Phase1, complete: bool) -> About {
    About {
        file: file.to_owned(),
        program: format!("{program:016x}"),
        source: format!("{:016x}", xxh3_64(plan.program.source.text().as_bytes())),
        defines: plan.program.defines.iter().cloned().collect(),
        seed: plan.seed,
        runs: plan.detection.runs,
        trials: plan.trials.count,
        detectors: names(&plan.detection.detectors),
        risk: Risk { once: phase1.coverage.risk.once, walks: phase1.coverage.risk.walks },
        left_out: phase1.coverage.left_out.iter().cloned().collect(),
        bounds: plan.program.program.components.bounds.iter().cloned().collect(),
        complete,
    }
}

pub(super) fn access(plan: &CampaignPlan, site: SiteId) -> Access {
    let sites = &plan.program.code.setup.sites;
    let s = &sites[site];
    Access {
        site: site_text(sites, site),
        kind: s.kind.word().to_owned(),
        place: s.place.clone(),
        line: s.line,
        column: s.column,
        label: s.label.clone(),
        from: s.from.clone(),
    }
}

pub(crate) fn context(kind: &ContextKind) -> String {
    match kind {
        ContextKind::ThreadThread => "thread-thread",
        ContextKind::ThreadTask => "thread-task",
        ContextKind::TaskTask => "task-task",
        ContextKind::SameLooper => "same-looper",
    }
    .to_owned()
}

pub(super) fn run_evidence(evidence: &campaign::RunEvidence) -> Evidence {
    Evidence { strategy: evidence.strategy.clone(), seed: evidence.seed, token: evidence.token.clone() }
}

pub(super) fn fails(model: &Model, report: &FailureReport) -> Failure {
    let text = ending(model, &report.outcome).unwrap_or_default();
    Failure {
        signature: report.signature.clone(),
        runs: report.runs,
        least_stall: report.stall,
        ending: StoredEnd::of(model, &report.outcome, text),
        steps: Some(report.steps),
        virtual_time: Some(report.virtual_time),
        stall: Some(report.stall),
        again: run_evidence(&report.evidence),
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

fn order(plan: &CampaignPlan, report: &OrderReport) -> Order {
    Order {
        first: side(report.first),
        runs: report.runs,
        cut_off: report.cut_off,
        failures: report.failures.iter().map(|f| fails(&plan.program, f)).collect(),
        passes: report.passes.as_ref().map(run_evidence),
        caught: report.caught.iter().map(|caught| Caught::new(plan, caught)).collect(),
    }
}

pub(super) fn way(report: &WayReport) -> Way {
    let released = report.released.iter().map(|(why, n)| (why.to_string(), *n)).collect();
    let (trials, hits) = (report.trials, report.hits);
    let (low, high) = interval(hits, trials);
    Way { strategy: report.strategy.clone(), trials, hits, interval: (rounded(low), rounded(high)), released }
}

fn pair_entry(plan: &CampaignPlan, report: &PairReport) -> Pair {
    let PairReport { discovery, trials, comparison, .. } = report;
    Pair {
        a: access(plan, report.pair.a),
        b: access(plan, report.pair.b),
        rank: discovery.rank.letter(),
        use_free: super::use_free::UseFreeFields::of(discovery.use_free.as_ref()),
        location: discovery.place.clone(),
        ring: report.ring,
        contexts: discovery.kinds.iter().map(context).collect(),
        between: discovery.sides.iter().map(|side| side.context.clone()).collect(),
        leader: None,
        violation: None,
        detectors: if discovery.searched { names(&[DetectorId::SEARCH]) } else { Vec::new() },
        proof: proof(plan, &report.proof),
        harm: report.harm().into(),
        harms: hurts(report),
        more_often: comparison.more_often.iter().map(often).collect(),
        evidence: report.evidence.iter().map(run_evidence).collect(),
        trials: trials.count,
        ways: trials.ways.iter().map(way).collect(),
        undecided_by_search: report.undecided_by_search.map(|why| why.word().to_owned()),
        adjacent: trials.adjacent,
        reached: trials.reached,
        at_most: (report.proof == campaign::Proof::Unconfirmed).then(|| rounded(at_most(trials.reached))),
        first_failure: trials.first_failure,
        orders: comparison.orders.iter().map(|o| order(plan, o)).collect(),
        undecided: comparison.undecided,
        limits: trials.limits,
    }
}

impl ConfirmReport {
    /// Builds the report of a campaign.
    #[must_use]
    pub fn new(file: &str, program: u64, plan: &CampaignPlan, found: &Confirmation) -> Self {
        Self {
            format: "raceflip-confirm".to_owned(),
            version: VERSION,
            about: about(file, program, plan, &found.phase1, found.complete()),
            searched: found.searched.map(|s| SearchExtent { states: s.states, complete: s.complete }),
            pairs: found.pairs.iter().map(|p| pair_entry(plan, p)).collect(),
            order_pairs: found.orders.iter().map(|p| pair_entry(plan, p)).collect(),
            rings: found.rings.iter().map(|ring| judged(plan, ring)).collect(),
            detection_failures: found.phase1.failures.iter().map(|f| fails(&plan.program, f)).collect(),
            detection_limits: cuts(&found.phase1),
            unexplained: found.unexplained.iter().map(|f| fails(&plan.program, f)).collect(),
            livelocks: found.livelocks.as_ref().map(|all| all.iter().map(endless).collect()),
            atomicity: None,
            gate: None,
        }
        .with_leaders()
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}
