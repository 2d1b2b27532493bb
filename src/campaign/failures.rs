//! How runs failed: one report for each signature, with the run to show.

use super::Plan;
use super::report::{Evidence, FailureReport};
use super::trial::{Run, Trial, Worker};

/// Failures by signature, in the order of their first run.
#[derive(Clone, Default)]
pub(super) struct Failures {
    // The first run, how many there are, the least stall.
    all: Vec<(Trial, u32, u64)>,
}

impl Failures {
    pub(super) fn add(&mut self, trial: &Trial) {
        match self.all.iter_mut().find(|(t, ..)| t.signature == trial.signature) {
            Some((_, runs, stall)) => {
                *runs += 1;
                *stall = trial.summary.stall.min(*stall);
            }
            None => self.all.push((trial.clone(), 1, trial.summary.stall)),
        }
    }

    /// Adds those of other runs, which come later.
    pub(super) fn join(&mut self, other: Failures) {
        for (trial, runs, stall) in other.all {
            match self.all.iter_mut().find(|(t, ..)| t.signature == trial.signature) {
                Some((_, known, least)) => {
                    *known += runs;
                    *least = stall.min(*least);
                }
                None => self.all.push((trial, runs, stall)),
            }
        }
    }

    /// How many signatures there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The signatures, with how many runs have each.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, u32)> {
        self.all.iter().map(|(trial, runs, _)| (trial.signature.as_str(), *runs))
    }

    /// A report for each, the most frequent first.
    pub(super) fn finish(self, plan: &Plan) -> Vec<FailureReport> {
        self.finish_with(|run| evidence(plan, run))
    }

    /// The same, with somebody who makes the token of a run.
    pub(super) fn finish_with(mut self, mut evidence: impl FnMut(&Run) -> Evidence) -> Vec<FailureReport> {
        self.all.sort_by_key(|x| std::cmp::Reverse(x.1));
        let report = |(trial, runs, least_stall): (Trial, u32, u64)| {
            let outcome = trial.summary.outcome()?.clone();
            let evidence = evidence(&trial.run);
            Some(FailureReport { signature: trial.signature, outcome, runs, least_stall, evidence })
        };
        self.all.into_iter().filter_map(report).collect()
    }
}

/// The run, made again for its token.
pub(super) fn evidence(plan: &Plan, run: &Run) -> Evidence {
    Evidence::of(&Worker::new(plan).token(run))
}
