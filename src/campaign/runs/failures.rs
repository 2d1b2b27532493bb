//! Collects the failures of runs: one report for each signature, with the run to show.

use super::trial::{Trial, Worker};
use crate::campaign::CampaignPlan;
use crate::campaign::report::{FailureReport, RunEvidence};
use crate::campaign::run::RunSource;
use crate::exec::RunSummary;
use crate::world::Program;

/// Failures by signature, in the order of their first run.
#[derive(Clone, Default)]
pub(in crate::campaign) struct Failures {
    // For each signature the first run with the least stall, and the number of runs.
    all: Vec<(Trial, u32)>,
}

impl Failures {
    pub(in crate::campaign) fn add(&mut self, trial: &Trial) {
        match self.all.iter_mut().find(|(t, _)| t.signature == trial.signature) {
            Some((shown, runs)) => {
                *runs = runs.saturating_add(1);
                prefer(shown, trial);
            }
            None => self.all.push((trial.clone(), 1)),
        }
    }

    /// Counts one more run with a failure that is known.
    pub(in crate::campaign) fn count(&mut self, signature: &str) {
        if let Some((_, runs)) = self.all.iter_mut().find(|(trial, _)| trial.signature == signature) {
            *runs = runs.saturating_add(1);
        }
    }

    /// Adds a failure that so many runs had, of which this one is to be shown.
    pub(in crate::campaign) fn add_known(&mut self, shown: Trial, runs: u32) {
        self.all.push((shown, runs));
    }

    /// Adds the failures of later runs.
    pub(in crate::campaign) fn join(&mut self, other: Failures) {
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

    /// Shows a run without counting it, if its failure is known and its stall is less than that of the run shown so
    /// far.
    pub(in crate::campaign) fn show(&mut self, trial: &Trial) {
        if let Some((shown, _)) = self.all.iter_mut().find(|(t, _)| t.signature == trial.signature) {
            prefer(shown, trial);
        }
    }

    /// Returns the run to show of each signature.
    pub(in crate::campaign) fn shown(&self) -> impl Iterator<Item = &Trial> {
        self.all.iter().map(|(trial, _)| trial)
    }

    /// Returns the number of signatures.
    pub(in crate::campaign) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the signatures, each with its number of runs.
    pub(in crate::campaign) fn counts(&self) -> impl Iterator<Item = (&str, u32)> {
        self.all.iter().map(|(trial, runs)| (trial.signature.as_str(), *runs))
    }

    /// Returns a report for each signature, the most frequent first.
    pub(in crate::campaign) fn finish<P: Program>(self, plan: &CampaignPlan<P>) -> Vec<FailureReport> {
        self.finish_with(|trial| (evidence(plan, &trial.run), None))
    }

    /// Returns a report for each signature, the most frequent first. `show` chooses the run to show.
    pub(in crate::campaign) fn finish_with(mut self, mut show: impl FnMut(&Trial) -> EndSummary) -> Vec<FailureReport> {
        self.all.sort_by_key(|x| std::cmp::Reverse(x.1));
        let report = |(trial, runs): (Trial, u32)| {
            let (evidence, other) = show(&trial);
            // All facts of a report are those of the run that is shown.
            let summary = other.unwrap_or(trial.summary);
            let outcome = summary.outcome()?.clone();
            let (steps, virtual_time, stall) = (summary.steps, summary.now, summary.stall);
            let signature = trial.signature;
            Some(FailureReport { signature, outcome, runs, steps, virtual_time, stall, evidence })
        };
        self.all.into_iter().filter_map(report).collect()
    }
}

// A failure that needs less stall is likelier in the field, and the stall that is printed beside a token is that of its
// run.
fn prefer(shown: &mut Trial, other: &Trial) {
    if other.summary.stall < shown.summary.stall {
        *shown = other.clone();
    }
}

/// Run to show, and its summary if it is another run than the given one.
pub(in crate::campaign) type EndSummary = (RunEvidence, Option<RunSummary>);

/// Performs the run again, and returns it with its token.
pub(in crate::campaign) fn evidence<P: Program>(plan: &CampaignPlan<P>, run: &RunSource) -> RunEvidence {
    RunEvidence::of(&Worker::new(plan).token(run))
}
