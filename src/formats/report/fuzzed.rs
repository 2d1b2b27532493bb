//! Makes the result of `fuzz` a campaign without pairs, so that it has all forms of the results of `confirm`: each
//! failure is a finding of its own, with the run that shows it.

use super::super::campaign::{About, ConfirmReport};
use super::super::fuzz::FuzzReport;
use crate::campaign::{CampaignPlan, Confirmation};
use crate::vm::Model;
use std::collections::BTreeMap;

/// Name of the command, in the field `format` of its reports.
pub(super) const FUZZ: &str = "raceflip-fuzz";

/// Returns whether a report is about a learning search.
pub(super) fn is_fuzzed(report: &ConfirmReport) -> bool {
    report.format == FUZZ
}

/// Returns the reports of a learning search of a model: one for each program that a failing run has, which differ in
/// varied constants, or one for the model itself if no run fails. `complete` says that nothing has interrupted it: a
/// search ends when its time is up. `shown` has the program for each failure.
#[must_use]
pub fn campaigns(found: &FuzzReport, complete: bool, model: &Model, shown: &[&Model]) -> Vec<ConfirmReport> {
    let empty = |model: &Model| empty(found, complete, model);
    let mut reports: BTreeMap<Vec<(String, i64)>, ConfirmReport> = BTreeMap::new();
    for (failure, model) in found.failures.iter().zip(shown) {
        let report = reports.entry(model.defines.clone()).or_insert_with(|| empty(model));
        let mut fails = failure.failure.clone();
        if let Some(smaller) = &failure.shrunk {
            fails.again.token.clone_from(&smaller.token);
        }
        report.detection_failures.push(fails);
    }
    if reports.is_empty() {
        return vec![empty(model)];
    }
    reports.into_values().collect()
}

fn empty(found: &FuzzReport, complete: bool, model: &Model) -> ConfirmReport {
    let plan = CampaignPlan { seed: found.seed, ..CampaignPlan::new(model) };
    let report = ConfirmReport::new(&found.file, model.digest(), &plan, &Confirmation::empty());
    let runs = u32::try_from(found.runs).unwrap_or(u32::MAX);
    let about = About { runs, trials: 0, detectors: Vec::new(), complete, ..report.about };
    ConfirmReport { format: FUZZ.to_owned(), about, detection_limits: found.limits.clone(), ..report }
}
