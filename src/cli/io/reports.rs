//! Renders reports of campaigns and of tests in the formats that other tools read.
//!
//! The reports of campaigns need models. Each model is loaded once, by the file and the constants that a report names,
//! and replays the tokens of the report.

use super::exit::ExitStatus;
use super::load::{self, Model};
use super::output::Output;
use super::replay_command;
use crate::formats::campaign::{About, Access, ConfirmReport, Evidence};
use crate::formats::gate::GateReport;
use crate::formats::report::{
    CommandEnd, ReplayedRun, Replays, github, junit, markdown, replayed, replayed_violation, sarif, tested,
};
use crate::formats::shell;
use crate::formats::test::TestReport;
use crate::formats::violations::JudgedViolation;
use crate::token::Token;
use crate::world::Limits;
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Format of the results of campaigns and tests.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::cli) enum ReportFormat {
    /// Text for people
    #[default]
    Text,
    /// One JSON object (docs/formats.md)
    Json,
    /// JUnit XML, for CI servers
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands, which GitHub shows as annotations of a pull request
    Github,
    /// Markdown, for a comment or a job summary
    Markdown,
}

impl ReportFormat {
    /// Returns whether other tools read the result, and not people or programs of their own.
    pub(in crate::cli) fn is_for_tools(self) -> bool {
        !matches!(self, ReportFormat::Text | ReportFormat::Json)
    }

    /// Renders the result of a test that ends with this status. `None` for text, which is printed during the test.
    pub(in crate::cli) fn test(self, report: &TestReport, exit: ExitStatus) -> Option<String> {
        // Paths are relative to the current folder, as in the reports of campaigns.
        let folder = std::env::current_dir().ok();
        let mut relative = report.clone();
        relative.variants.iter_mut().for_each(|v| v.file = below(folder.as_deref(), &v.file));
        let report = if self == ReportFormat::Json { report } else { &relative };
        let gate = &report.gate.as_ref().map_or_else(Vec::new, GateReport::besides_findings);
        Some(match self {
            ReportFormat::Text => return None,
            ReportFormat::Json => report.to_json() + "\n",
            ReportFormat::Junit => tested::junit(report, gate),
            ReportFormat::Sarif => sarif::tested::render(report, Some(exit.number())),
            ReportFormat::Github => tested::github(report, gate),
            ReportFormat::Markdown => tested::markdown(report, gate),
        })
    }

    /// Renders a whole campaign with any number of reports, with the judgment of its gate, the status of its command
    /// and the errors of what it could not read. `None` for the formats that this module does not render: text and
    /// JSON.
    pub(in crate::cli) fn render(
        self,
        reports: &[ConfirmReport],
        (judged, exit, unread): (&GateReport, ExitStatus, &[String]),
        models: &mut ReportedModels<'_>,
    ) -> Option<String> {
        let (gate, exit) = (Some(judged.clone()), Some(exit.number()));
        let end = CommandEnd { gate, exit, unread: unread.to_vec() };
        Some(match self {
            ReportFormat::Text | ReportFormat::Json => return None,
            ReportFormat::Junit => junit::render(reports, &end, models),
            ReportFormat::Sarif => sarif::render(reports, &end, models),
            ReportFormat::Github => github::render(reports, &end, models),
            ReportFormat::Markdown => markdown::render(reports, &end, models),
        })
    }

    /// Prints a rendered report.
    pub(in crate::cli) fn print(self, text: &str, out: &mut Output) {
        match self {
            ReportFormat::Github => out.commands(text),
            ReportFormat::Sarif | ReportFormat::Json => out.json(text.trim_end()),
            _ => out.document(text),
        }
    }
}

// Path of a model, and the given constants.
type Variant = (String, Vec<(String, i64)>);

/// Models that reports are about.
pub(in crate::cli) struct ReportedModels<'m> {
    known: Vec<&'m Model>,
    // Models that were not loaded before; `None` for those that cannot be read any more.
    loaded: BTreeMap<Variant, Option<Model>>,
    out: &'m Output,
    folder: Option<PathBuf>,
    // Limits of the replays.
    allowed: Limits,
}

impl<'m> ReportedModels<'m> {
    /// Creates the collection with the models that are loaded already. Others are loaded when a report names them.
    /// Replays are limited by the default limits, since a report may come from anyone.
    pub(in crate::cli) fn new(known: Vec<&'m Model>, out: &'m Output) -> Self {
        let allowed = Limits::default();
        let folder = std::env::current_dir().ok();
        Self { known, loaded: BTreeMap::new(), out, folder, allowed }
    }

    /// Returns the collection with other limits for replays.
    pub(in crate::cli) fn allowing(self, allowed: Limits) -> Self {
        Self { allowed, ..self }
    }

    fn model(&mut self, about: &About) -> Option<&Model> {
        let defines: Vec<(String, i64)> = about.defines.iter().map(|(n, v)| (n.clone(), *v)).collect();
        let is = |m: &&&Model| m.name() == about.file && m.defines.iter().eq(&defines);
        if let Some(at) = self.known.iter().position(|m| is(&m)) {
            return Some(self.known[at]);
        }
        let key = (about.file.clone(), defines);
        let out = self.out;
        let load = |(file, defines): &Variant| load::model(Path::new(file), defines, out).ok();
        let model = self.loaded.entry(key).or_insert_with_key(load).as_ref();
        model.filter(|m| format!("{:016x}", m.digest()) == about.program)
    }
}

impl Replays for ReportedModels<'_> {
    fn run(&mut self, about: &About, again: &Evidence, marked: &[&Access]) -> Option<ReplayedRun> {
        let allowed = self.allowed;
        replayed(self.model(about)?, &again.token, &allowed, marked)
    }

    fn run_of(&mut self, about: &About, of: &JudgedViolation) -> Option<ReplayedRun> {
        let allowed = self.allowed;
        replayed_violation(self.model(about)?, of, &allowed)
    }

    fn commands(&mut self, about: &About, again: &Evidence) -> Vec<String> {
        // The replay command must allow the limits of the token.
        let limits = again.token.parse().map(|token: Token| token.limits).unwrap_or_default();
        match self.model(about) {
            Some(model) => replay_command::replay(model, &again.token, &again.strategy, again.seed, &limits),
            None => vec![format!("raceflip replay {} {}", shell::path(&about.file), again.token)],
        }
    }

    fn path(&self, file: &str) -> String {
        below(self.folder.as_deref(), file)
    }
}

// Returns the path relative to the folder, if it lies below it; otherwise the path as it is.
fn below(folder: Option<&Path>, file: &str) -> String {
    let below = folder.and_then(|folder| Path::new(file).strip_prefix(folder).ok());
    below.map_or_else(|| file.to_owned(), |path| path.to_string_lossy().into_owned())
}
