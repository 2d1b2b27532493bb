//! What a campaign has to remember so that another process goes on with it: its state after a whole round.

use super::coverage::LATELY;
use super::covering::{Covering, CoveringRun};
use super::inputs::Input;
use super::pairs::{KnownPair, Pairs};
use super::rare::{RareStates, RareView};
use super::shown::{ReadPair, VIEWS};
use super::state::{InputState, Learned, sum};
use super::{FuzzPlan, HowMade};
use crate::event::LimitKind;
use crate::sched::RawChoices;
use crate::world::Setup;
use indexmap::IndexMap;
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
    /// The inputs, in the order in which they were first drawn.
    pub inputs: Vec<InputMemory>,
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

/// What is known of an input.
#[derive(Clone, Debug, Default)]
pub struct InputMemory {
    /// Values of the varied constants.
    pub values: Input,
    /// Number of runs.
    pub runs: u64,
    /// Why the model cannot have these values.
    pub refused: Option<String>,
    /// States.
    pub states: StateMemory,
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
    /// Number of its input, from 0.
    pub input: usize,
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
    /// It has statements that the program does not have.
    #[error("it does not fit the model: the journal is damaged")]
    Statement,
    /// Its inputs are not those of this campaign.
    #[error("its inputs are not those of this campaign: give the same --vary, or begin again")]
    Inputs,
}

impl FuzzMemory {
    /// Returns whether these declarations have all its statements.
    pub(super) fn fits(&self, setup: &Setup) -> bool {
        let pairs = self.pairs.all.iter().map(|(pair, _)| *pair);
        let asked = self.failures.iter().filter_map(|failure| failure.first.1.asked);
        let all = pairs.chain(asked).chain(self.covering.iter().flat_map(|run| run.shows.iter().copied()));
        all.into_iter().all(|(writer, reader)| writer.is_of(setup) && reader.is_of(setup))
    }

    /// Returns what was learned, as far as the plan allows to go on from there.
    pub(super) fn learned(&self, plan: &FuzzPlan) -> Result<Learned, FuzzMemoryError> {
        if self.runs > plan.runs {
            return Err(FuzzMemoryError::Runs(self.runs));
        }
        if !self.failures.is_empty() && !plan.keeps_going {
            return Err(FuzzMemoryError::KeepsGoing);
        }
        let input = |known: &InputMemory| {
            let InputMemory { values, runs, refused, states } = known.clone();
            (values, InputState { runs, refused, states: RareStates::of_memory(states) })
        };
        let inputs: IndexMap<Input, InputState> = self.inputs.iter().map(input).collect();
        let of_inputs = self.covering.iter().map(|run| run.input).chain(self.failures.iter().map(|f| f.input));
        if inputs.len() != self.inputs.len() || inputs.is_empty() || of_inputs.into_iter().any(|i| i >= inputs.len()) {
            return Err(FuzzMemoryError::Inputs);
        }
        Ok(Learned {
            runs: self.runs,
            longest: self.longest,
            pairs: Pairs::of_memory(self.pairs.clone()),
            states: inputs.values().fold([0; VIEWS], |all, input| sum(all, input.states.counts())),
            inputs,
            covering: Covering::of_memory(self.covering.clone()),
        })
    }
}

impl Learned {
    /// Returns what was learned as a memory without failures and limits.
    pub(super) fn memory(&self) -> FuzzMemory {
        let input = |(values, known): (&Input, &InputState)| InputMemory {
            values: values.clone(),
            runs: known.runs,
            refused: known.refused.clone(),
            states: known.states.memory(self.runs.saturating_sub(LATELY)),
        };
        FuzzMemory {
            runs: self.runs,
            longest: self.longest,
            pairs: self.pairs.memory(),
            inputs: self.inputs.iter().map(input).collect(),
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
