//! Makes the result of `fuzz` a campaign without pairs, so that it has all forms of the results of `confirm`: each
//! failure is a finding of its own, with the run that shows it.

use super::super::campaign::{About, ConfirmReport, Risk, VERSION};
use super::super::fuzz::FuzzReport;
use crate::vm::Model;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

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
    let about = About {
        file: found.file.clone(),
        program: format!("{:016x}", model.digest()),
        source: format!("{:016x}", xxh3_64(model.source.text().as_bytes())),
        defines: model.defines.iter().cloned().collect(),
        seed: found.seed,
        runs: u32::try_from(found.runs).unwrap_or(u32::MAX),
        trials: 0,
        detectors: Vec::new(),
        risk: Risk { once: 0, walks: 0 },
        left_out: Vec::new(),
        bounds: model.program.components.bounds.iter().cloned().collect(),
        complete,
    };
    ConfirmReport {
        format: FUZZ.to_owned(),
        version: VERSION,
        about,
        searched: None,
        pairs: Vec::new(),
        order_pairs: Vec::new(),
        rings: Vec::new(),
        detection_failures: Vec::new(),
        detection_limits: found.limits.clone(),
        unexplained: Vec::new(),
        livelocks: None,
        atomicity: None,
        gate: None,
    }
}
