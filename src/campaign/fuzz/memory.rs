//! What a campaign has to remember so that another process goes on with it: its state after a whole round.

use super::coverage::LATELY;
use super::covering::{Covering, CoveringRun};
use super::pairs::{KnownPair, Pairs};
use super::rare::{RareStates, RareView};
use super::shown::{ReadPair, VIEWS};
use super::state::Learned;
use super::{FuzzPlan, HowMade};
use crate::event::LimitKind;
use crate::sched::RawChoices;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a campaign after a whole round. A campaign that goes on from it has the same result as one that was not
/// interrupted.
#[derive(Clone, Debug, Default)]
pub struct FuzzMemory {
    /// Number of runs.
    pub runs: u64,
    /// Number of steps of the longest run.
    pub longest: u64,
    /// Runs that ended at a limit.
    pub limits: BTreeMap<(LimitKind, u64), u64>,
    /// Pairs.
    pub pairs: PairMemory,
    /// States.
    pub states: StateMemory,
    /// Runs that show all pairs that were seen.
    pub covering: Vec<CoveringRun>,
    /// Failures, in the order in which they were found.
    pub failures: Vec<KnownFailure>,
    /// Number of saved runs with which the campaign began.
    pub began: u64,
}

/// What is known of pairs.
#[derive(Clone, Debug, Default)]
pub struct PairMemory {
    /// Possible pairs, in the order in which they became known.
    pub all: Vec<(ReadPair, KnownPair)>,
    /// By the index of a statement, the largest number of its visits in a run.
    pub visits: Vec<u32>,
    /// The last run that showed a pair that none had shown.
    pub last_new: Option<u64>,
}

/// What is known of states.
#[derive(Clone, Debug, Default)]
pub struct StateMemory {
    /// The states of the three views, from the coarsest.
    pub views: [RareView; VIEWS],
    /// Those of the last runs that came to a new state of the coarsest view.
    pub new_coarse: Vec<u64>,
}

/// A failure that a campaign has found.
#[derive(Clone, Debug)]
pub struct KnownFailure {
    /// Number of the first run with this failure, and how that run was made.
    pub first: (u64, HowMade),
    /// Number of runs with this failure.
    pub runs: u32,
    /// Choices of the run to show.
    pub choices: Arc<RawChoices>,
}

/// Reasons why a campaign cannot go on from a [`FuzzMemory`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FuzzMemoryError {
    /// It has more runs than the plan.
    #[error("it has {0} runs already, more than the maximum: give at least that many with --runs")]
    Runs(u64),
    /// It has failures, and the plan ends with the first one.
    #[error("it goes on after a failure: give --keep-going, as before")]
    KeepsGoing,
    /// The choices of this failure, counted from 1, do not fail.
    #[error("its failure {0} does not come again: the journal is damaged")]
    Failure(usize),
}

impl FuzzMemory {
    /// Returns what was learned, as far as the plan allows to go on from there.
    pub(super) fn learned(&self, plan: &FuzzPlan) -> Result<Learned, FuzzMemoryError> {
        if self.runs > plan.runs {
            return Err(FuzzMemoryError::Runs(self.runs));
        }
        if !self.failures.is_empty() && !plan.keeps_going {
            return Err(FuzzMemoryError::KeepsGoing);
        }
        Ok(Learned {
            runs: self.runs,
            longest: self.longest,
            pairs: Pairs::of_memory(self.pairs.clone()),
            states: RareStates::of_memory(self.states.clone()),
            covering: Covering::of_memory(self.covering.clone()),
        })
    }
}

impl Learned {
    /// Returns what was learned as a memory without failures and limits.
    pub(super) fn memory(&self) -> FuzzMemory {
        FuzzMemory {
            runs: self.runs,
            longest: self.longest,
            pairs: self.pairs.memory(),
            states: self.states.memory(self.runs.saturating_sub(LATELY)),
            covering: self.covering.runs().to_vec(),
            ..FuzzMemory::default()
        }
    }
}

/// Keeps the state of a campaign after its rounds.
pub trait FuzzKeeper {
    /// Returns whether the state should be kept now. A campaign asks at the end of each round.
    fn is_due(&mut self) -> bool;
    /// Keeps the state after a whole round. A campaign also calls this when it ends, even if it is not due.
    fn keep(&mut self, memory: &FuzzMemory);
}
