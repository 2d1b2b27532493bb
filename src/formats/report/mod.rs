//! Renders results of `confirm` in the forms that other tools read: CI servers, code scanning, pull requests.
//! `docs/formats.md` describes them.
//!
//! | form | module |
//! |---|---|
//! | text for people: one model | [`text`] |
//! | text for people: many models | [`overview`] |
//! | JUnit XML: a suite for each model, a case for each pair | [`junit`] |
//! | SARIF 2.1.0: a result for each pair, both orders as code flows | [`sarif`] |
//! | workflow commands that GitHub shows beside the lines | [`github`] |
//! | Markdown for a pull request or a job summary | [`markdown`] |
//!
//! [`fuzzed`] makes the result of `fuzz` such a report. [`tested`] and [`sarif::tested`] have the same forms of the
//! result of `test`.
//!
//! Each form renders a whole campaign: any number of [`ConfirmReport`]s, one for each model and variant, whether they
//! were just computed or read from files. The steps of the runs are not part of a report; they come from a replay, by
//! an implementation of [`Replays`]. Like the text output, these forms contain the pairs that race and the harmful
//! order pairs; the JSON contains all pairs.

pub(crate) mod atomicity;
mod counts;
pub mod fuzzed;
pub mod github;
pub mod junit;
mod line;
pub mod markdown;
pub mod overview;
mod place;
pub(crate) mod rings;
mod run;
pub mod sarif;
pub mod tested;
pub mod text;
mod undecided;
pub(crate) mod words;

pub use line::{ReportLine, ReportSpan, Role};
pub use run::{ReplayedRun, RunStep, replayed, replayed_violation};

use super::campaign::{About, Access, ConfirmReport, Evidence, Pair};
use super::gate::{GateFailure, GateReport};
use super::shell;
use super::violations::JudgedViolation;
use crate::base::counted;
use crate::campaign::Finding;

type Subject<'r> = crate::campaign::Subject<'r, Pair>;

/// Access to the models of a report, for replays and paths.
pub trait Replays {
    /// Replays the token of a run of this model, and marks the steps of these statements. Returns `None` if the run
    /// cannot be reproduced here, for example because the model is missing or was edited. The report then lacks what
    /// depends on the run.
    fn run(&mut self, about: &About, again: &Evidence, marked: &[&Access]) -> Option<ReplayedRun>;

    /// Replays the run that shows a violation of atomicity, as [`run`](Self::run) does, with the transaction marked.
    fn run_of(&mut self, about: &About, of: &JudgedViolation) -> Option<ReplayedRun> {
        self.run(about, of.shown()?, &of.statements())
    }

    /// Returns the commands that replay a run.
    fn commands(&mut self, about: &About, again: &Evidence) -> Vec<String> {
        vec![format!("raceflip replay {} {}", shell::path(&about.file), again.token)]
    }

    /// Returns the path of a model from the top of the repository, or the path as it was typed if no better one is
    /// known.
    fn path(&self, file: &str) -> String {
        file.to_owned()
    }
}

/// An implementation without models: reports have neither steps nor the places of failures that only a replay shows.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, confirm};
/// use raceflip::formats::campaign::ConfirmReport;
/// use raceflip::formats::report::{CommandEnd, NoReplays, github, junit, markdown, sarif};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let text = "var x = 0; thread a { x = 1 }; thread b { x = 2; assert x == 2 }";
/// # let model = Model::from_text("add.race", text, &[])?;
/// # let stop = AtomicBool::new(false);
/// let plan = CampaignPlan::new(&model);
/// let found = confirm(&plan, CampaignContext { stop: &stop, progress: &NoProgress });
/// let reports = [ConfirmReport::new("add.race", model.digest(), &plan, &found)];
/// let end = CommandEnd::default();
/// assert!(junit::render(&reports, &end, &mut NoReplays).contains("<testsuite name=\"add.race\""));
/// assert!(sarif::render(&reports, &end, &mut NoReplays).contains("\"version\": \"2.1.0\""));
/// assert!(github::render(&reports, &end, &mut NoReplays).starts_with("::error file=add.race,line=1"));
/// assert!(markdown::render(&reports, &end, &mut NoReplays).contains("| harmful |"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct NoReplays;

impl Replays for NoReplays {
    fn run(&mut self, _: &About, _: &Evidence, _: &[&Access]) -> Option<ReplayedRun> {
        None
    }
}

/// How the command that renders a report ends, for the forms that contain that.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CommandEnd {
    /// The judgment of the gate.
    pub gate: Option<GateReport>,
    /// The exit status of the command.
    pub exit: Option<u8>,
    /// The errors of inputs that could not be read.
    pub unread: Vec<String>,
}

impl CommandEnd {
    /// Returns the failures of the gate that a report does not list as findings.
    #[must_use]
    pub fn failures(&self) -> Vec<GateFailure> {
        self.gate.as_ref().map_or_else(Vec::new, GateReport::besides_findings)
    }
}

// A finding with its report.
struct ReportEntry<'r> {
    report: &'r ConfirmReport,
    finding: Finding<'r, Pair>,
}

// Returns the findings of a report.
fn entries(report: &ConfirmReport) -> impl Iterator<Item = ReportEntry<'_>> {
    report.findings().into_iter().map(move |finding| ReportEntry { report, finding })
}

// Returns the findings of all reports.
fn all(reports: &[ConfirmReport]) -> impl Iterator<Item = ReportEntry<'_>> {
    reports.iter().flat_map(entries)
}
