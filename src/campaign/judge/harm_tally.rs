//! Compares the runs that violate a transaction with those that have it in one piece: which failure comes with the
//! violation only.

use super::claims::{BELOW, CHANCE};
use crate::campaign::find::atomicity::RecordedRun;
use crate::campaign::runs::failures::Failures;
use crate::campaign::violation::SerialRuns;
use crate::detect::atomicity::{Finding, StepNo, Steps};
use crate::trace::SiteNo;
use std::collections::BTreeSet;

// Number of runs without a failure that bound its probability.
pub(super) fn enough() -> u32 {
    (CHANCE.ln() / (1.0 - BELOW).ln()).ceil() as u32
}

// Runs with a violation and runs that have its transactions in one piece, with their failures.
pub(super) struct HarmTally<'f> {
    // The number of the specification, and the finding.
    of: (usize, &'f Finding),
    pub(super) violated: u32,
    pub(super) serial: SerialRuns,
    // Failures of runs with the violation.
    pub(super) with: Failures,
    // Signatures of the failures of the other runs.
    pub(super) without: BTreeSet<String>,
}

impl<'f> HarmTally<'f> {
    pub(super) fn new(n: usize, finding: &'f Finding) -> Self {
        let (with, without) = (Failures::default(), BTreeSet::new());
        Self { of: (n, finding), violated: 0, serial: SerialRuns::default(), with, without }
    }

    // Adds a run. Returns whether it shows the violation.
    pub(super) fn add(&mut self, run: &RecordedRun) -> bool {
        let (n, finding) = self.of;
        let shown = run.found[n].findings.iter();
        let violates = shown.clone().any(|other| other.is_same(finding));
        if violates {
            self.violated += 1;
            if run.trial.failed() {
                self.with.add(&run.trial);
            }
        } else if run.found[n].declared.contains(&finding.declared)
            && !shown.clone().any(|other| other.declared == finding.declared)
        {
            *match intruder(finding, run) {
                Some(Place::Before) => &mut self.serial.before,
                Some(Place::After) => &mut self.serial.after,
                None => &mut self.serial.other,
            } += 1;
            self.without.extend(run.trial.failed().then(|| run.trial.signature.clone()));
        }
        violates
    }

    // The signatures of the failures that come with the violation only.
    pub(super) fn suspects(&self) -> impl Iterator<Item = &str> {
        self.with.counts().map(|(signature, _)| signature).filter(|signature| !self.without.contains(*signature))
    }
}

// Where the intruder of a transaction stands in a run that has it in one piece.
enum Place {
    Before,
    After,
}

// Returns whether all visits of the statements outside a finding's first cycle come before its statements inside, or
// all come after them. `None` if neither is so, or if the run does not perform both.
fn intruder(finding: &Finding, run: &RecordedRun) -> Option<Place> {
    let moments = finding.cycles.first()?.edges.iter().flat_map(|edge| [&edge.from, &edge.to]);
    let named = |inside: bool| -> BTreeSet<&str> {
        moments.clone().filter(|moment| moment.inside == inside).filter_map(|moment| moment.site.as_deref()).collect()
    };
    let steps = Steps::of(&run.trace);
    let span = |sites: BTreeSet<&str>| -> Option<(StepNo, StepNo)> {
        let is_one = |at: &StepNo| match steps.site_of(*at) {
            SiteNo::NONE => false,
            site => sites.contains(&run.trace.sites[site]),
        };
        Some((steps.all.ids().find(is_one)?, steps.all.ids().rfind(is_one)?))
    };
    let (inside, outside) = (span(named(true))?, span(named(false))?);
    match () {
        () if outside.1 < inside.0 => Some(Place::Before),
        () if inside.1 < outside.0 => Some(Place::After),
        () => None,
    }
}
