//! How runs failed: one report for each signature, with the run to show.

use super::Plan;
use super::report::{Evidence, FailureReport};
use super::trial::{Run, Trial, Worker};
use crate::exec::RunSummary;

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
        self.finish_with(|run, _| (evidence(plan, run), None))
    }

    /// The same, with somebody who chooses the run to show of those with this signature.
    pub(super) fn finish_with(mut self, mut show: impl FnMut(&Run, &str) -> Told) -> Vec<FailureReport> {
        self.all.sort_by_key(|x| std::cmp::Reverse(x.1));
        let report = |(trial, runs, least_stall): (Trial, u32, u64)| {
            let (evidence, other) = show(&trial.run, &trial.signature);
            // All that is said is said of the run that is shown.
            let summary = other.unwrap_or(trial.summary);
            let outcome = summary.outcome()?.clone();
            let (steps, virtual_time, stall) = (summary.steps, summary.now, summary.stall);
            let least_stall = least_stall.min(stall);
            let signature = trial.signature;
            Some(FailureReport { signature, outcome, runs, least_stall, steps, virtual_time, stall, evidence })
        };
        self.all.into_iter().filter_map(report).collect()
    }
}

/// The run to show, and what it came to if it is another one than was asked for.
pub(super) type Told = (Evidence, Option<RunSummary>);

/// The run, made again for its token.
pub(super) fn evidence(plan: &Plan, run: &Run) -> Evidence {
    Evidence::of(&Worker::new(plan).token(run))
}
