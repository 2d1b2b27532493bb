//! Defines deadlock rings as data, for the results of `confirm` and `detect` (`docs/formats.md`).

use super::campaign::{Access, Failure, Way, access, fails, way};
use super::harms::rounded;
use crate::base::at_most;
use crate::campaign::{CampaignPlan, RingFacts, RingProof, RingReport, Verdict};
use crate::detect::{Ring, RingCandidate, RingPart};
use serde::{Deserialize, Serialize};

/// A thread or task of a ring.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Part {
    pub context: String,
    /// The acquisition of the lock that it holds, and the name of that lock.
    pub holds: Access,
    pub held: String,
    /// The acquisition of the lock that it wants, and the name of that lock.
    pub wants: Access,
    pub wanted: String,
}

/// A ring that may close.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct PotentialRing {
    pub parts: Vec<Part>,
    /// Number of detection runs that show the ring.
    pub seen: u64,
    /// Number of the detection run whose acquisitions are shown, from 0.
    pub run: u64,
    /// Number of the first detection run that ended while all threads of the ring were blocked there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<u64>,
}

/// A ring with the results of its trials.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct JudgedRing {
    pub parts: Vec<Part>,
    #[serde(rename = "verdict")]
    pub proof: Proof,
    /// Deadlocks of the runs that ended with the ring closed.
    pub deadlocks: Vec<Failure>,
    pub trials: u32,
    pub ways: Vec<Way>,
    /// Why a search has not decided about the ring: `cut`, `other-deadlock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided_by_search: Option<String>,
    /// For an unconfirmed ring: upper bound (95 %) of the probability that a trial closes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

/// The proof of the verdict on a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub enum Proof {
    Closed,
    Refuted { states: u64 },
    Unconfirmed,
}

impl RingFacts for JudgedRing {
    type Failure = Failure;

    fn verdict(&self) -> Verdict {
        match self.proof {
            Proof::Closed => Verdict::Harmful,
            Proof::Refuted { .. } => Verdict::Refuted,
            Proof::Unconfirmed => Verdict::Unconfirmed,
        }
    }

    fn deadlocks(&self) -> &[Failure] {
        &self.deadlocks
    }
}

fn parts(plan: &CampaignPlan, ring: &Ring, parts: &[RingPart]) -> Vec<Part> {
    let part = |(sites, part): (&crate::detect::RingSites, &RingPart)| Part {
        context: part.context.clone(),
        holds: access(plan, sites.holds),
        held: part.holds.clone(),
        wants: access(plan, sites.wants),
        wanted: part.wants.clone(),
    };
    ring.parts().iter().zip(parts).map(part).collect()
}

pub(crate) fn potential(plan: &CampaignPlan, found: &RingCandidate) -> PotentialRing {
    let RingCandidate { ring, parts: of, run, closed, count, .. } = found;
    PotentialRing { parts: parts(plan, ring, of), seen: *count, run: *run, closed: *closed }
}

pub(super) fn judged(plan: &CampaignPlan, found: &RingReport) -> JudgedRing {
    let proof = match found.proof {
        RingProof::Closed => Proof::Closed,
        RingProof::Refuted { states } => Proof::Refuted { states },
        RingProof::Unconfirmed => Proof::Unconfirmed,
    };
    JudgedRing {
        parts: parts(plan, &found.ring, &found.parts),
        proof,
        deadlocks: found.deadlocks.iter().map(|f| fails(&plan.program, f)).collect(),
        trials: found.trials(),
        ways: found.ways.iter().map(way).collect(),
        undecided_by_search: found.undecided_by_search.map(|why| why.word().to_owned()),
        at_most: (proof == Proof::Unconfirmed).then(|| rounded(at_most(found.trials()))),
    }
}
