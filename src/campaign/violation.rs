//! What a campaign reports about declared transactions that are not in one piece: plain data that other modules print
//! or write.

use crate::campaign::report::{FailureReport, RunEvidence};
use crate::campaign::ring::GoalTrial;
use crate::campaign::runs::alike::{role, same_failure};
use crate::campaign::verdict::Verdict;
use crate::detect::atomicity::{SeenFinding, Specification};
use crate::trace::ENVIRONMENT_NAME;
use std::collections::BTreeSet;

/// Verdict on a declared transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ViolationVerdict {
    /// Some run violates it, and a failure comes with that only.
    Harmful,
    /// Some run violates it.
    Real,
    /// It is to blame only together with others.
    Joint,
    /// No run brings a violation about.
    Unconfirmed,
    /// No run can: a search of all states.
    Refuted,
}

impl ViolationVerdict {
    /// All verdicts, in the order of their importance.
    pub const ALL: [ViolationVerdict; 5] = [Self::Harmful, Self::Real, Self::Joint, Self::Unconfirmed, Self::Refuted];

    /// Returns the verdict on a pair that weighs as much in a list of findings.
    #[must_use]
    pub fn weight(self) -> Verdict {
        match self {
            Self::Harmful => Verdict::Harmful,
            Self::Real | Self::Joint => Verdict::Real,
            Self::Unconfirmed => Verdict::Unconfirmed,
            Self::Refuted => Verdict::Refuted,
        }
    }

    /// Returns the word of the verdict in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Harmful => "HARMFUL",
            Self::Real => "REAL",
            Self::Joint => "JOINT",
            Self::Unconfirmed => "UNCONFIRMED",
            Self::Refuted => "REFUTED",
        }
    }
}

/// A failure that comes with a violation only.
#[derive(Clone, Debug)]
pub struct ViolationHarm {
    /// The failure, with a run that violates the transaction and fails so. Its `runs` are those of all that violate it.
    pub failure: FailureReport,
    /// Number of runs that violate the transaction.
    pub violated: u32,
    /// Runs that have the transaction in one piece, none of which fails so.
    pub serial: SerialRuns,
    /// The signatures of the other failures that come with the violation only.
    pub others: Vec<String>,
}

/// Numbers of runs that have a transaction in one piece, by the place of the operations that come between otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SerialRuns {
    /// They come before the transaction.
    pub before: u32,
    /// They come after it.
    pub after: u32,
    /// They do not come, or their place is not the same for all visits of the statements.
    pub other: u32,
}

impl SerialRuns {
    /// Returns the number of all these runs.
    #[must_use]
    pub fn all(self) -> u32 {
        self.before + self.after + self.other
    }
}

/// What is known about the failures of runs that violate a transaction.
#[derive(Clone, Debug)]
pub enum KnownHarm {
    /// A failure that comes with the violation only.
    Needed(Box<ViolationHarm>),
    /// Their most frequent failure, or one that other runs were not seen to have.
    Open(OpenHarm),
}

/// A failure of runs with a violation that is not known to be its harm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenHarm {
    /// The signature of the failure.
    pub signature: String,
    /// Whether runs that have the transaction in one piece fail so too. Otherwise too few were made to rule it out.
    pub either_way: bool,
}

/// Directed runs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DirectedRuns {
    /// Number of them.
    pub trials: u32,
    /// Number of those that violate the transaction.
    pub hits: u32,
    /// All of them, one by one.
    pub made: Vec<GoalTrial>,
}

/// What a search of all states says about a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchAnswer {
    /// A run violates it.
    Violated,
    /// No run does: the number of states.
    Never(u64),
    /// Nothing, for this reason.
    Undecided(&'static str),
}

/// What a campaign knows about a declared transaction, or about one finding of it.
#[derive(Clone, Debug)]
pub struct ConfirmedViolation {
    /// The specification.
    pub specification: Specification,
    /// The name without numbers.
    pub declared: String,
    /// The verdict.
    pub verdict: ViolationVerdict,
    /// The finding, with the number of detection runs that show it; `None` if no run shows one.
    pub seen: Option<SeenFinding>,
    /// A run that shows the violation.
    pub evidence: Option<RunEvidence>,
    /// The directed runs.
    pub directed: DirectedRuns,
    /// What a search of all states says; `None` if none was made.
    pub searched: Option<SearchAnswer>,
    /// The harm; `None` if no run that violates the transaction fails.
    pub harm: Option<KnownHarm>,
}

/// The violations that a campaign has confirmed.
#[derive(Clone, Debug, Default)]
pub struct ConfirmedViolations {
    /// Number of detection runs.
    pub runs: u32,
    /// The verdicts, the worst ones first.
    pub all: Vec<ConfirmedViolation>,
    /// Whether nothing was interrupted.
    pub complete: bool,
}

/// A harmful violation of atomicity, as far as its cause is concerned.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ViolationScope {
    /// What the contexts of the transaction run, named as in [`PairSide::context`](crate::campaign::PairSide::context).
    pub inside: BTreeSet<String>,
    /// What the contexts run that come between.
    pub outside: BTreeSet<String>,
    /// The failures that come with the violation only (by [`same_failure`](crate::campaign::same_failure)).
    pub failures: BTreeSet<String>,
    /// The best priority of its cycles. A violation of a worse priority explains none of a better one.
    pub priority: u8,
}

impl ViolationScope {
    /// Returns whether this violation has all contexts and failures of the other one, and no worse priority.
    #[must_use]
    pub fn explains(&self, other: &ViolationScope) -> bool {
        let has = |context: &String| self.inside.contains(context) || self.outside.contains(context);
        let is_wider = other.inside.iter().chain(&other.outside).all(has);
        is_wider && other.failures.is_subset(&self.failures) && self.priority <= other.priority
    }

    /// Describes a violation: the signatures of its failures, its priority, and what runs each of the operations of its
    /// cycles, with whether that operation belongs to the transaction. The environment is no context: what it fires is.
    #[must_use]
    pub fn new<'s>(
        failures: impl Iterator<Item = &'s str>,
        priority: u8,
        operations: impl Iterator<Item = (&'s str, bool)>,
    ) -> ViolationScope {
        let mut scope = Self { failures: failures.map(same_failure).collect(), priority, ..Self::default() };
        for (body, is_inside) in operations.filter(|(body, _)| *body != ENVIRONMENT_NAME) {
            if is_inside { &mut scope.inside } else { &mut scope.outside }.insert(role(body));
        }
        scope
    }
}

/// Verdict on a declared transaction with what it rests on.
pub trait ViolationFacts {
    /// Report of a failure.
    type Failure;

    /// Returns the verdict.
    fn verdict(&self) -> ViolationVerdict;

    /// Returns the best priority of its cycles; `None` if no recorded run shows one.
    fn priority(&self) -> Option<u8>;

    /// Returns the failure that comes with the violation only.
    fn harm(&self) -> Option<&Self::Failure>;

    /// Returns what the violation explains, if it is harmful: its contexts and its failures.
    fn scope(&self) -> ViolationScope;

    /// Returns whether the violation counts as a finding: it is harmful, or real and not made by the transaction itself
    /// (priority 3). With `strict`, these and joint ones count as well.
    fn counts(&self, strict: bool) -> bool {
        match self.verdict() {
            ViolationVerdict::Harmful => true,
            ViolationVerdict::Real => strict || self.priority().is_none_or(|priority| priority < 3),
            ViolationVerdict::Joint => strict,
            ViolationVerdict::Unconfirmed | ViolationVerdict::Refuted => false,
        }
    }
}

impl ViolationFacts for ConfirmedViolation {
    type Failure = FailureReport;

    fn verdict(&self) -> ViolationVerdict {
        self.verdict
    }

    fn priority(&self) -> Option<u8> {
        self.seen.as_ref().map(|seen| seen.finding.priority)
    }

    fn harm(&self) -> Option<&FailureReport> {
        match self.harm.as_ref()? {
            KnownHarm::Needed(harm) => Some(&harm.failure),
            KnownHarm::Open(_) => None,
        }
    }

    fn scope(&self) -> ViolationScope {
        let Some(KnownHarm::Needed(harm)) = &self.harm else { return ViolationScope::default() };
        let failures = std::iter::once(&harm.failure.signature).chain(&harm.others).map(String::as_str);
        let edges = self.seen.iter().flat_map(|seen| &seen.finding.cycles).flat_map(|cycle| &cycle.edges);
        let moments = edges.flat_map(|edge| [&edge.from, &edge.to]);
        let priority = self.priority().unwrap_or(u8::MAX);
        ViolationScope::new(failures, priority, moments.map(|moment| (moment.body.as_str(), moment.inside)))
    }
}
