//! Defines the result of `detect` as a JSON object, `raceflip-detect` version 2 (`docs/formats.md`).

use super::campaign::{
    About, Access, Failure, LimitedRuns, VERSION, about, access, context, fails, is_usual, names, usual,
};
use super::limits::cuts;
use super::ring::{self, PotentialRing};
use super::use_free::UseFreeFields;
use crate::campaign::{CampaignPlan, Phase1};
use crate::detect::Candidate;
use serde::{Deserialize, Serialize};

/// The output of `raceflip detect --format json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct DetectReport {
    pub format: String,
    pub version: u32,
    #[serde(flatten)]
    pub about: About,
    pub pairs: Vec<Potential>,
    /// Use-free races that a filter excludes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filtered: Vec<Potential>,
    /// Pairs of operations that are not accesses and whose order may matter.
    pub order_pairs: Vec<Potential>,
    /// Deadlock rings that may close.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<PotentialRing>,
    pub failures: Vec<Failure>,
    pub limits: Vec<LimitedRuns>,
    /// With `--detector all`, if something is declared to happen in one piece: the violations of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomicity: Option<super::atomicity::AtomicityReport>,
}

/// A potential pair.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Potential {
    pub a: Access,
    pub b: Access,
    pub rank: char,
    /// The names of the detectors that report the pair.
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    pub detectors: Vec<String>,
    #[serde(flatten)]
    pub use_free: UseFreeFields,
    pub location: String,
    pub contexts: Vec<String>,
    pub seen: u64,
    /// Number of the detection run of the first occurrence, from 0.
    pub run: u64,
    /// The steps of both sides in the first occurrence.
    pub steps: (u64, u64),
    /// The threads or tasks of both sides in the first occurrence, by pedigree.
    pub instances: (String, String),
    /// Ordinals of both instances in their threads or tasks, from 1; 0 if not known.
    pub visits: (u32, u32),
    /// The nearest thread or task that created both sides, directly or through others; empty if there is none.
    pub parted: String,
    pub locksets: (Vec<String>, Vec<String>),
}

fn potential(plan: &CampaignPlan, candidate: &Candidate) -> Potential {
    let e = &candidate.evidence;
    Potential {
        a: access(plan, candidate.pair.a),
        b: access(plan, candidate.pair.b),
        rank: candidate.rank.letter(),
        detectors: names(&candidate.by),
        use_free: UseFreeFields::of(candidate.use_free.as_ref()),
        location: e.location.clone(),
        contexts: candidate.kinds.iter().map(context).collect(),
        seen: candidate.count,
        run: e.run,
        steps: e.steps,
        instances: e.contexts.clone(),
        visits: (e.instances.0.visit, e.instances.1.visit),
        parted: e.parted.clone(),
        locksets: e.locksets.clone(),
    }
}

impl DetectReport {
    /// Builds the report of a detection.
    #[must_use]
    pub fn new(file: &str, program: u64, plan: &CampaignPlan, found: &Phase1) -> Self {
        Self {
            format: "raceflip-detect".to_owned(),
            version: VERSION,
            about: about(file, program, plan, found, found.coverage.complete),
            pairs: found.candidates.iter().map(|c| potential(plan, c)).collect(),
            filtered: found.filtered.iter().map(|c| potential(plan, c)).collect(),
            order_pairs: found.orders.iter().map(|c| potential(plan, c)).collect(),
            rings: found.rings.iter().map(|ring| ring::potential(plan, ring)).collect(),
            failures: found.failures.iter().map(|f| fails(&plan.program, f)).collect(),
            limits: cuts(found),
            atomicity: None,
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}
