//! Everything that a campaign has learned from its runs.

use super::covering::Covering;
use super::inputs::Input;
use super::pairs::{PairNews, Pairs};
use super::plan::PlannedRun;
use super::rare::{RareStates, StateNews};
use super::shown::VIEWS;
use crate::sched::RawChoices;
use indexmap::IndexMap;
use std::sync::Arc;

/// What was learned.
pub(super) struct Learned {
    /// Number of runs.
    pub(super) runs: u64,
    /// Number of steps of the longest run.
    pub(super) longest: u64,
    /// Possible pairs.
    pub(super) pairs: Pairs,
    /// The inputs, in the order in which they were first drawn.
    pub(super) inputs: IndexMap<Input, InputState>,
    /// Runs that show all pairs that were seen.
    pub(super) covering: Covering,
    /// Numbers of states of all inputs, from the coarsest view.
    pub(super) states: [usize; VIEWS],
}

/// What is known of an input.
#[derive(Default)]
pub(super) struct InputState {
    /// Number of runs that were planned.
    pub(super) runs: u64,
    /// States to which runs came.
    pub(super) states: RareStates,
    /// Why the model cannot have these values. There are no runs then.
    pub(super) refused: Option<String>,
}

/// What one run adds.
pub(super) struct RunNews {
    /// Number of its input.
    pub(super) input: usize,
    pub(super) steps: u64,
    pub(super) pairs: PairNews,
    pub(super) states: StateNews,
    /// Whether the run failed.
    pub(super) failed: bool,
    /// Choices of the run, if something needs them.
    pub(super) choices: Option<Arc<RawChoices>>,
}

impl Learned {
    /// Returns what is known before the first run, which has this input.
    pub(super) fn new(first: Input) -> Self {
        let (pairs, covering) = (Pairs::default(), Covering::default());
        let inputs = IndexMap::from_iter([(first, InputState::default())]);
        Self { runs: 0, longest: 0, pairs, inputs, covering, states: [0; VIEWS] }
    }

    /// Learns from the next run, in the order of their numbers.
    pub(super) fn learn(&mut self, news: &RunNews) {
        self.runs += 1;
        self.learn_as(self.runs, news);
    }

    /// Learns from a saved run, with which the campaign begins. It has no number.
    pub(super) fn begin_with(&mut self, news: &RunNews) {
        self.learn_as(0, news);
    }

    fn learn_as(&mut self, number: u64, news: &RunNews) {
        self.longest = self.longest.max(news.steps);
        self.pairs.learn(number, &news.pairs);
        let elsewhere = self.elsewhere(news.input);
        let states = &mut self.inputs[news.input].states;
        states.learn(number, &news.states, news.choices.as_ref(), elsewhere);
        self.states = sum(elsewhere, states.counts());
        // A run that failed is saved as a failure.
        if let Some(choices) = news.choices.as_ref().filter(|_| !news.failed) {
            let possible = news.pairs.seen().iter().copied().filter(|pair| self.pairs.is_possible(pair));
            self.covering.learn(news.input, possible.collect(), choices);
        }
    }

    /// Returns the values of an input that is known, by its number.
    pub(super) fn values(&self, input: usize) -> &Input {
        self.inputs.get_index(input).expect("the number of an input that was added").0
    }

    /// Returns the numbers of states of the other inputs.
    pub(super) fn elsewhere(&self, input: usize) -> [usize; VIEWS] {
        let own = self.inputs[input].states.counts();
        std::array::from_fn(|view| self.states[view] - own[view])
    }

    /// Counts a run, what it is asked for and where it begins, as its plan has done.
    pub(super) fn count(&mut self, planned: &PlannedRun) {
        let input = &mut self.inputs[planned.input];
        input.runs = input.runs.saturating_add(1);
        if let Some((pair, _)) = &planned.ask {
            self.pairs.count(*pair);
        }
        if let Some(beginning) = &planned.beginning {
            input.states.count(beginning);
        }
    }

    /// Takes back what the plan of a run has counted.
    pub(super) fn take_back(&mut self, planned: &PlannedRun) {
        let input = &mut self.inputs[planned.input];
        input.runs = input.runs.saturating_sub(1);
        if let Some((pair, _)) = &planned.ask {
            self.pairs.take_back(*pair);
        }
        if let Some(beginning) = &planned.beginning {
            input.states.take_back(beginning);
        }
    }
}

/// Returns the sums, view by view.
pub(super) fn sum(one: [usize; VIEWS], other: [usize; VIEWS]) -> [usize; VIEWS] {
    std::array::from_fn(|view| one[view] + other[view])
}
