//! Defines the evidence for the harm of a pair as JSON, a part of `raceflip-confirm` (`docs/formats.md`), and judges
//! the pairs of such a report as a campaign judges its pairs.

use super::campaign::{Access, ConfirmReport, Failure, Pair, Proof};
use super::ring::JudgedRing;
use super::violations::{JudgedViolation, ViolationsReport};
use crate::campaign::{self, CHANCE, Claim, FailureReport, First, PairReport};
use crate::campaign::{Finding, PairFacts, PairSide, PairStatus, Results, Subject, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of the comparison of both orders of a pair: [`campaign::Harm`] as a word.
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
pub struct HarmClaim {
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
pub struct MoreOften {
    pub first: String,
    pub signature: String,
    pub fails: u32,
    pub runs: u32,
    pub other_fails: u32,
    pub other_runs: u32,
    pub chance: f64,
}

/// Returns the letter for the statement that comes first.
pub(super) fn side(first: First) -> String {
    if first == First::A { "a" } else { "b" }.to_owned()
}

pub(super) fn hurts(report: &PairReport) -> Vec<HarmClaim> {
    let of = report.hurts().into_iter();
    let hurts = |(first, f): (First, &FailureReport)| {
        let (exhaustive, none_of) = match report.comparison.harms.get(&(first, f.signature.clone())) {
            Some(Claim::Exhaustive { states }) => (Some(*states), None),
            Some(Claim::Runs { runs, at_most, fails, of }) => {
                let (at_most, confidence) = (rounded(*at_most), 1.0 - CHANCE);
                (None, Some(NoneOf { runs: *runs, at_most, confidence, of_this: *of, fails: *fails }))
            }
            None => (None, None),
        };
        HarmClaim { first: side(first), signature: f.signature.clone(), exhaustive, none_of }
    };
    of.map(hurts).collect()
}

pub(super) fn often(more: &campaign::FrequencyDifference) -> MoreOften {
    MoreOften {
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

impl From<campaign::Harm> for Harm {
    fn from(harm: campaign::Harm) -> Self {
        match harm {
            campaign::Harm::Harmful => Harm::Harmful,
            campaign::Harm::FailsEitherWay => Harm::FailsEitherWay,
            campaign::Harm::NoFailure => Harm::NoFailure,
            campaign::Harm::OneOrderOnly => Harm::OneOrderOnly,
            campaign::Harm::Interrupted => Harm::Interrupted,
            campaign::Harm::Unknown => Harm::Unknown,
        }
    }
}

impl PairFacts for Pair {
    type Failure = Failure;
    type Ring = JudgedRing;
    type Violation = JudgedViolation;

    fn status(&self) -> PairStatus {
        match &self.proof {
            Proof::Adjacent | Proof::Flipped { .. } => PairStatus::Confirmed,
            Proof::Refuted { .. } => PairStatus::Refuted,
            Proof::Unconfirmed => PairStatus::Open,
        }
    }

    fn harms(&self) -> Vec<&str> {
        self.harms.iter().map(|harm| harm.signature.as_str()).collect()
    }

    fn failures(&self) -> Vec<&Failure> {
        self.orders.iter().flat_map(|order| &order.failures).collect()
    }

    fn is_of_ring(&self) -> bool {
        self.ring.is_some()
    }

    fn signature(failure: &Failure) -> &str {
        &failure.signature
    }

    fn runs(failure: &Failure) -> u32 {
        failure.runs
    }

    fn sides(&self) -> Vec<PairSide> {
        let side = |(i, access): (usize, &Access)| PairSide {
            context: self.between.get(i).cloned().unwrap_or_default(),
            line: access.line,
            column: access.column,
            site: access.site.clone(),
        };
        [&self.a, &self.b].into_iter().enumerate().map(side).collect()
    }
}

impl Pair {
    /// Returns the name of the pair in the syntax of `--pair`, `SITE~SITE`. No other pair of the report has it.
    #[must_use]
    pub fn sites(&self) -> String {
        format!("{}~{}", self.a.site, self.b.site)
    }
}

impl ConfirmReport {
    /// Returns the findings of the report. See [`Results::findings`].
    #[must_use]
    pub fn findings(&self) -> Vec<Finding<'_, Pair>> {
        let Self { pairs, order_pairs: orders, rings, .. } = self;
        let violations = self.atomicity.as_ref().map_or(&[][..], |of| &of.violations);
        let (detection, trials) = (&self.detection_failures, &self.unexplained);
        Results { pairs, orders, rings, violations, detection, trials }.findings()
    }

    /// Returns the report with these verdicts on declared transactions.
    #[must_use]
    pub fn with_atomicity(self, found: ViolationsReport) -> Self {
        Self { atomicity: Some(found), ..self }.with_leaders()
    }

    /// Returns the report with what leads the group of its cause noted in each harmful pair: a pair, or a violation of
    /// atomicity.
    pub(super) fn with_leaders(mut self) -> Self {
        let (mut leaders, mut of_violations) = (BTreeMap::new(), BTreeMap::new());
        let mut led = BTreeMap::new();
        let all = self.atomicity.as_ref().map_or(&[][..], |of| &of.violations);
        let position = |of: &JudgedViolation| all.iter().position(|other| std::ptr::eq(of, other)).unwrap_or(0) as u32;
        for finding in self.findings() {
            match finding.subject {
                Subject::Pair { pair, .. } if pair.verdict() == Verdict::Harmful => {
                    let members = std::iter::once(pair).chain(finding.pairs);
                    leaders.extend(members.map(|member| (member.sites(), pair.sites())));
                }
                Subject::Violation(of) => {
                    let own = position(of);
                    of_violations.extend(finding.pairs.iter().map(|member| (member.sites(), own)));
                    led.extend(finding.violations.iter().map(|member| (position(member), own)));
                }
                Subject::Pair { .. } | Subject::Ring(_) | Subject::Failure(..) => {}
            }
        }
        for pair in self.pairs.iter_mut().chain(&mut self.order_pairs) {
            pair.leader = leaders.get(&pair.sites()).cloned();
            pair.violation = of_violations.get(&pair.sites()).copied();
        }
        for (i, of) in self.atomicity.iter_mut().flat_map(|of| &mut of.violations).enumerate() {
            of.leader = led.get(&(i as u32)).copied();
        }
        self
    }
}

// Rounds to four decimals. The rounded number survives a round trip through JSON unchanged.
pub(super) fn rounded(p: f64) -> f64 {
    (p * 1e4).round() / 1e4
}
