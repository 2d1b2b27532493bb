//! Runs that together show all pairs that were seen: what a corpus is made of.

use super::pairs::PairNews;
use super::shown::ReadPair;
use super::state::Learned;
use crate::campaign::plan::CampaignPlan;
use crate::campaign::run::{FUZZED, RunSource};
use crate::campaign::runs::trial::Worker;
use crate::sched::RawChoices;
use crate::token::Token;
use crate::world::Program;
use indexmap::IndexSet;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3Builder;

/// A run that showed a pair which no run before it had shown. A run that failed is none.
#[derive(Clone, Debug)]
pub struct CoveringRun {
    /// Number of its input, from 0, in the order in which a campaign has used them.
    pub input: usize,
    /// Choices of the run.
    pub choices: Arc<RawChoices>,
    /// All pairs that it showed: writer and reader.
    pub shows: Vec<ReadPair>,
}

impl CoveringRun {
    /// Performs the run again, and returns its token. The plan has the program of the input.
    #[must_use]
    pub fn token<P: Program>(&self, plan: &CampaignPlan<P>) -> Token {
        Worker::new(plan).token(&RunSource::Made { choices: self.choices.clone(), by: FUZZED })
    }
}

/// Runs that show all pairs, in the order in which they came.
#[derive(Default)]
pub(super) struct Covering {
    runs: Vec<CoveringRun>,
    covered: IndexSet<ReadPair, Xxh3Builder>,
}

impl Covering {
    /// Returns the covering runs that a journal has kept.
    pub(super) fn of_memory(runs: Vec<CoveringRun>) -> Self {
        let covered = runs.iter().flat_map(|run| run.shows.iter().copied()).collect();
        Self { runs, covered }
    }

    /// Returns the runs.
    pub(super) fn runs(&self) -> &[CoveringRun] {
        &self.runs
    }

    /// Learns from the next run that did not fail, which shows these pairs. It is kept if one of them is new.
    pub(super) fn learn(&mut self, input: usize, shows: Vec<ReadPair>, choices: &Arc<RawChoices>) {
        let before = self.covered.len();
        self.covered.extend(shows.iter().copied());
        if self.covered.len() > before {
            self.runs.push(CoveringRun { input, choices: choices.clone(), shows });
        }
    }

    /// Returns whether a run may show a pair that no kept run shows, as far as is known before its round.
    pub(super) fn may_keep(&self, learned: &Learned, news: &PairNews) -> bool {
        let is_new = |pair| !self.covered.contains(pair) && (news.has_met() || learned.pairs.is_possible(pair));
        news.seen().iter().any(is_new)
    }
}
