//! What a campaign reports about a deadlock ring: plain data that other modules print or write.

use crate::campaign::report::{FailureReport, WayReport};
use crate::campaign::verdict::UndecidedReason;
use crate::campaign::verdict::Verdict;
use crate::detect::{Pair, Ring, RingCandidate, RingPart};

/// Everything that a campaign knows about one ring.
#[derive(Clone, Debug)]
pub struct RingReport {
    /// The ring.
    pub ring: Ring,
    /// Its threads in a run of detection, in the order of the ring.
    pub parts: Vec<RingPart>,
    /// Proof of the verdict.
    pub proof: RingProof,
    /// Deadlocks of the runs that ended with the ring closed, the most frequent first. Empty unless the ring is
    /// confirmed.
    pub deadlocks: Vec<FailureReport>,
    /// The trials, one by one.
    pub made: Vec<GoalTrial>,
    /// Trials by strategy, in the order in which the strategies were tried. A hit is a trial that ended with the ring
    /// closed.
    pub ways: Vec<WayReport>,
    /// Reason why a search did not decide about the ring; `None` if it decided, or if there was no search.
    pub undecided_by_search: Option<UndecidedReason>,
    /// Whether all planned trials were performed.
    pub complete: bool,
}

/// One trial of a goal that is no pair: a deadlock ring, or a violation of atomicity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoalTrial {
    /// Strategy that made the choices of the trial.
    pub strategy: String,
    /// Seed of the trial.
    pub seed: u64,
    /// Signature of the outcome; empty if the trial had none.
    pub signature: String,
    /// Number of steps of the trial.
    pub steps: u64,
    /// Whether the trial reached the goal.
    pub hit: bool,
}

/// Proof of the verdict on a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingProof {
    /// A run ended in a deadlock in which each thread of the ring holds its lock and is blocked at the next one.
    Closed,
    /// No run ends so, as a search of all states shows.
    Refuted {
        /// Number of states, which is all that there are.
        states: u64,
    },
    /// Neither confirmed nor refuted.
    Unconfirmed,
}

impl RingReport {
    /// Returns the report of a ring without trials.
    pub(super) fn new(candidate: &RingCandidate) -> Self {
        Self {
            ring: candidate.ring.clone(),
            parts: candidate.parts.clone(),
            proof: RingProof::Unconfirmed,
            deadlocks: Vec::new(),
            made: Vec::new(),
            ways: Vec::new(),
            undecided_by_search: None,
            complete: true,
        }
    }

    /// Returns the number of trials.
    #[must_use]
    pub fn trials(&self) -> u32 {
        self.made.len() as u32
    }

    /// Returns whether these are the acquisitions of one lock by two neighbours of the ring.
    #[must_use]
    pub fn has(&self, pair: Pair) -> bool {
        self.ring.orders().any(|[holds, wants]| Pair::new(holds, wants) == pair)
    }
}

/// Deadlock ring with what its verdict rests on.
pub trait RingFacts {
    /// Report of a failure.
    type Failure;

    /// Returns the verdict on the ring. A confirmed ring is harmful.
    fn verdict(&self) -> Verdict;

    /// Returns the deadlocks of the runs that closed the ring.
    fn deadlocks(&self) -> &[Self::Failure];
}

impl RingFacts for RingReport {
    type Failure = FailureReport;

    fn verdict(&self) -> Verdict {
        match self.proof {
            RingProof::Closed => Verdict::Harmful,
            RingProof::Refuted { .. } => Verdict::Refuted,
            RingProof::Unconfirmed => Verdict::Unconfirmed,
        }
    }

    fn deadlocks(&self) -> &[FailureReport] {
        &self.deadlocks
    }
}
