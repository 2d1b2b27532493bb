//! Everything that a campaign has learned from its runs.

use super::covering::Covering;
use super::pairs::{PairNews, Pairs};
use super::plan::PlannedRun;
use super::rare::{RareStates, StateNews};
use crate::sched::RawChoices;
use std::sync::Arc;

/// What was learned.
#[derive(Default)]
pub(super) struct Learned {
    /// Number of runs.
    pub(super) runs: u64,
    /// Number of steps of the longest run.
    pub(super) longest: u64,
    /// Possible pairs.
    pub(super) pairs: Pairs,
    /// States.
    pub(super) states: RareStates,
    /// Runs that show all pairs that were seen.
    pub(super) covering: Covering,
}

/// What one run adds.
pub(super) struct RunNews {
    pub(super) steps: u64,
    pub(super) pairs: PairNews,
    pub(super) states: StateNews,
    /// Whether the run failed.
    pub(super) failed: bool,
    /// Choices of the run, if something needs them.
    pub(super) choices: Option<Arc<RawChoices>>,
}

impl Learned {
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
        self.states.learn(number, &news.states, news.choices.as_ref());
        // A run that failed is saved as a failure.
        if let Some(choices) = news.choices.as_ref().filter(|_| !news.failed) {
            let possible = news.pairs.seen().iter().copied().filter(|pair| self.pairs.is_possible(pair));
            self.covering.learn(possible.collect(), choices);
        }
    }

    /// Counts what a run is asked for and where it begins, as its plan has done.
    pub(super) fn count(&mut self, planned: &PlannedRun) {
        if let Some((pair, _)) = &planned.ask {
            self.pairs.count(*pair);
        }
        if let Some(beginning) = &planned.beginning {
            self.states.count(beginning);
        }
    }

    /// Takes back what the plan of a run has counted.
    pub(super) fn take_back(&mut self, planned: &PlannedRun) {
        if let Some((pair, _)) = &planned.ask {
            self.pairs.take_back(*pair);
        }
        if let Some(beginning) = &planned.beginning {
            self.states.take_back(beginning);
        }
    }
}
