//! Everything that a campaign has learned from its runs.

use super::pairs::{PairNews, Pairs};
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
}

/// What one run adds.
pub(super) struct RunNews {
    pub(super) steps: u64,
    pub(super) pairs: PairNews,
    pub(super) states: StateNews,
    /// Choices of the run, if something needs them.
    pub(super) choices: Option<Arc<RawChoices>>,
}

impl Learned {
    /// Learns from the next run, in the order of their numbers.
    pub(super) fn learn(&mut self, news: &RunNews) {
        self.runs += 1;
        self.longest = self.longest.max(news.steps);
        self.pairs.learn(self.runs, &news.pairs);
        self.states.learn(self.runs, &news.states, news.choices.as_ref());
    }
}
