//! Defines the evidence for the harm of a pair as JSON, a part of `raceflip-confirm` (`docs/formats.md`).

use super::campaign::side;
use crate::campaign::{CHANCE, Claim, FailureReport, First, MoreOften, PairReport};
use serde::{Deserialize, Serialize};

/// Classification of the harm of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub enum Harm {
    Harmful,
    FailsEitherWay,
    NoFailure,
    OneOrderOnly,
    /// The campaign was stopped before both orders were compared to the end.
    Interrupted,
    Unknown,
}

/// A failure of one order that the other order does not have.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Hurts {
    pub first: String,
    pub signature: String,
    /// Number of states that follow with the other order from the same state, if a search of all of them found no such
    /// failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhaustive: Option<u64>,
    /// Sample of runs of the other order from the same state, if the claim rests on runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none_of: Option<NoneOf>,
}

/// Sample of runs of the other order, none of which has the failure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct NoneOf {
    pub runs: u32,
    pub at_most: f64,
    pub confidence: f64,
    /// Runs of the failing order from the same state.
    pub of_this: u32,
    /// Number of those runs of the failing order that have the failure.
    pub fails: u32,
}

/// A failure of both orders that is significantly more frequent with one of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Often {
    pub first: String,
    pub signature: String,
    pub fails: u32,
    pub runs: u32,
    pub other_fails: u32,
    pub other_runs: u32,
    pub chance: f64,
}

pub(crate) fn hurts(report: &PairReport) -> Vec<Hurts> {
    let of = report.hurts().into_iter();
    let hurts = |(first, f): (First, &FailureReport)| {
        let (exhaustive, none_of) = match report.harms.get(&(first, f.signature.clone())) {
            Some(Claim::Exhaustive { states }) => (Some(*states), None),
            Some(Claim::Runs { runs, at_most, fails, of }) => {
                let (at_most, confidence) = (rounded(*at_most), 1.0 - CHANCE);
                (None, Some(NoneOf { runs: *runs, at_most, confidence, of_this: *of, fails: *fails }))
            }
            None => (None, None),
        };
        Hurts { first: side(first), signature: f.signature.clone(), exhaustive, none_of }
    };
    of.map(hurts).collect()
}

pub(crate) fn often(more: &MoreOften) -> Often {
    Often {
        first: side(more.first),
        signature: more.signature.clone(),
        fails: more.this.0,
        runs: more.this.1,
        other_fails: more.other.0,
        other_runs: more.other.1,
        // Rounded to two significant digits: the chance can be 1e-40 or less.
        chance: format!("{:.1e}", more.chance).parse().expect("a number that was written"),
    }
}

pub(super) fn harm(report: &PairReport) -> Harm {
    let [a, b] = &report.orders;
    if !report.verdict.confirmed() {
        Harm::Unknown
    } else if !report.hurts().is_empty() {
        Harm::Harmful
    } else if !report.complete {
        // An interrupted comparison supports no verdict on the harm.
        Harm::Interrupted
    } else if report.fails_either_way() {
        Harm::FailsEitherWay
    } else if a.runs == 0 || b.runs == 0 || a.failed() + b.failed() > 0 {
        Harm::OneOrderOnly
    } else {
        Harm::NoFailure
    }
}

// Rounds to four decimals. The rounded number survives a round trip through JSON unchanged.
pub(super) fn rounded(p: f64) -> f64 {
    (p * 1e4).round() / 1e4
}
