//! What a campaign reports about declared transactions that are not in one piece: plain data that other modules print
//! or write.

use crate::campaign::report::{FailureReport, RunEvidence};
use crate::campaign::ring::GoalTrial;
use crate::campaign::runs::alike::{role, same_failure};
use crate::campaign::verdict::Verdict;
use crate::detect::atomicity::{SeenFinding, Specification};
use crate::trace::ENVIRONMENT_NAME;
use std::collections::{BTreeMap, BTreeSet};

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
    // What is declared: the name of the transactions.
    declared: String,
    // What the contexts of the transaction run, named as in `PairSide::context`, and the contexts that come between;
    // each with the first and the last line of its operations.
    inside: BTreeMap<String, (u32, u32)>,
    outside: BTreeMap<String, (u32, u32)>,
    /// What its cycles are about.
    pub places: BTreeSet<String>,
    /// The failures that come with the violation only (by [`same_failure`](crate::campaign::same_failure)).
    pub failures: BTreeSet<String>,
    // The best priority of its cycles.
    priority: u8,
}

impl ViolationScope {
    /// Describes a violation: its declared name, the signatures of its failures, its priority, the operations of its
    /// cycles, and what the edges of these are about. An operation is what runs it, its line, and whether it belongs to
    /// the transaction. The environment is no context: what it fires is.
    #[must_use]
    pub fn new<'s>(
        declared: &str,
        failures: impl Iterator<Item = &'s str>,
        priority: u8,
        operations: impl Iterator<Item = (&'s str, u32, bool)>,
        places: impl Iterator<Item = &'s str>,
    ) -> ViolationScope {
        let (failures, places) = (failures.map(same_failure).collect(), places.map(str::to_owned).collect());
        let mut scope = Self { declared: declared.to_owned(), failures, places, priority, ..Self::default() };
        for (body, line, is_inside) in operations.filter(|(body, ..)| *body != ENVIRONMENT_NAME) {
            let lines = if is_inside { &mut scope.inside } else { &mut scope.outside };
            let (first, last) = lines.entry(role(body)).or_insert((line, line));
            (*first, *last) = (line.min(*first), line.max(*last));
        }
        scope
    }

    /// Returns whether a context is one of the transaction (`inside`), or of what comes between. If a line is given, it
    /// returns as well whether that stands among the lines of the operations there.
    #[must_use]
    pub fn has(&self, context: &str, line: Option<u32>, inside: bool) -> bool {
        let lines = if inside { &self.inside } else { &self.outside };
        lines.get(context).is_some_and(|(first, last)| line.is_none_or(|line| (*first..=*last).contains(&line)))
    }

    /// Returns whether this violation is of the same transactions by the same contexts, shows all failures of the other
    /// one, and has no worse priority.
    #[must_use]
    pub fn explains(&self, other: &ViolationScope) -> bool {
        let contexts = |of: &Self| -> BTreeSet<String> { of.inside.keys().chain(of.outside.keys()).cloned().collect() };
        self.declared == other.declared
            && contexts(self) == contexts(other)
            && other.failures.is_subset(&self.failures)
            && self.priority <= other.priority
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
        let edges = || self.seen.iter().flat_map(|seen| &seen.finding.cycles).flat_map(|cycle| &cycle.edges);
        let moments = edges().flat_map(|edge| [&edge.from, &edge.to]);
        let moments = moments.map(|of| (of.body.as_str(), line(of.site.as_deref()), of.inside));
        let places = edges().filter_map(|edge| edge.about.as_deref());
        ViolationScope::new(&self.declared, failures, self.priority().unwrap_or(u8::MAX), moments, places)
    }
}

// Returns the line of a statement that a trace names: `12` of `12:5 read`; 0 without one.
fn line(site: Option<&str>) -> u32 {
    site.and_then(|site| site.split(':').next()?.parse().ok()).unwrap_or(0)
}
