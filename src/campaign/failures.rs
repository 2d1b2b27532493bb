//! How runs failed: one report for each signature, with the run to show.

use super::Plan;
use super::report::{Evidence, FailureReport};
use super::trial::{Run, Trial, Worker};
use crate::exec::RunSummary;

/// Failures by signature, in the order of their first run.
#[derive(Clone, Default)]
pub(super) struct Failures {
    // The run with the least stall, the first of these, and how many runs there are.
    all: Vec<(Trial, u32)>,
}

impl Failures {
    pub(super) fn add(&mut self, trial: &Trial) {
        match self.all.iter_mut().find(|(t, _)| t.signature == trial.signature) {
            Some((shown, runs)) => {
                *runs += 1;
                prefer(shown, trial);
            }
            None => self.all.push((trial.clone(), 1)),
        }
    }

    /// Adds those of other runs, which come later.
    pub(super) fn join(&mut self, other: Failures) {
        for (trial, runs) in other.all {
            match self.all.iter_mut().find(|(t, _)| t.signature == trial.signature) {
                Some((shown, known)) => {
                    *known += runs;
                    prefer(shown, &trial);
                }
                None => self.all.push((trial, runs)),
            }
        }
    }

    /// Shows a run that is not counted, if it fails in a way that is known and has a lesser stall.
    pub(super) fn show(&mut self, trial: &Trial) {
        if let Some((shown, _)) = self.all.iter_mut().find(|(t, _)| t.signature == trial.signature) {
            prefer(shown, trial);
        }
    }

    /// The run that is shown of each signature.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Trial> {
        self.all.iter().map(|(trial, _)| trial)
    }

    /// How many signatures there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The signatures, with how many runs have each.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, u32)> {
        self.all.iter().map(|(trial, runs)| (trial.signature.as_str(), *runs))
    }

    /// A report for each, the most frequent first.
    pub(super) fn finish(self, plan: &Plan) -> Vec<FailureReport> {
        self.finish_with(|trial| (evidence(plan, &trial.run), None))
    }

    /// The same, with somebody who chooses the run to show of those with this signature.
    pub(super) fn finish_with(mut self, mut show: impl FnMut(&Trial) -> Told) -> Vec<FailureReport> {
        self.all.sort_by_key(|x| std::cmp::Reverse(x.1));
        let report = |(trial, runs): (Trial, u32)| {
            let (evidence, other) = show(&trial);
            // All that is said is said of the run that is shown.
            let summary = other.unwrap_or(trial.summary);
            let outcome = summary.outcome()?.clone();
            let (steps, virtual_time, stall) = (summary.steps, summary.now, summary.stall);
            let signature = trial.signature;
            Some(FailureReport { signature, outcome, runs, steps, virtual_time, stall, evidence })
        };
        self.all.into_iter().filter_map(report).collect()
    }
}

// A failure that needs less stall is likelier in the field, and what is told beside a token is the stall of its run.
fn prefer(shown: &mut Trial, other: &Trial) {
    if other.summary.stall < shown.summary.stall {
        *shown = other.clone();
    }
}

/// The run to show, and what it came to if it is another one than was asked for.
pub(super) type Told = (Evidence, Option<RunSummary>);

/// The run, made again for its token.
pub(super) fn evidence(plan: &Plan, run: &Run) -> Evidence {
    Evidence::of(&Worker::new(plan).token(run))
}
