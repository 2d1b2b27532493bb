//! What a campaign reports about declared transactions that are not in one piece: plain data that other modules print
//! or write.

use crate::detect::atomicity::{SeenFinding, Specification};
use crate::token::Token;

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
    /// The signature of the failure.
    pub signature: String,
    /// A run that violates the transaction and fails so.
    pub token: Token,
    /// Number of runs that violate the transaction, and of those that fail so.
    pub violated: u32,
    /// See `violated`.
    pub fails: u32,
    /// Number of runs that have the transaction in one piece, none of which fails so.
    pub serial: u32,
}

/// Numbers of directed runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DirectedRuns {
    /// All of them.
    pub trials: u32,
    /// Those that violate the transaction.
    pub hits: u32,
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
    pub token: Option<Token>,
    /// The directed runs.
    pub directed: DirectedRuns,
    /// What a search of all states says; `None` if none was made.
    pub searched: Option<SearchAnswer>,
    /// The harm.
    pub harm: Option<ViolationHarm>,
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
