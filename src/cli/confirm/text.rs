//! Prints the text forms of the result: adds colors, timelines, and the commands for a shell.

use crate::base::counted;
use crate::cli::Refusal;
use crate::cli::io::load::Model;
use crate::cli::io::output::{BAD, BOLD, GOOD, ODD, Output, paint};
use crate::cli::io::replay_command;
use crate::cli::run::timeline::{self, TimelineView};
use crate::event::SiteId;
use crate::formats::campaign::{About, Access, ConfirmReport, Evidence};
use crate::formats::report::text::{TextBlock, TextExtent, render};
use crate::formats::report::{ReplayedRun, Replays, ReportLine, ReportSpan, Role};
use crate::formats::timeline::Marks;
use crate::sched::site_text;
use crate::world::Limits;

/// Model of a result, which is needed for its commands and timelines.
pub(super) struct ConfirmPrinter<'p> {
    pub(super) model: &'p Model,
    /// Limits of the campaign. The commands raise the limits of a replay to these.
    pub(super) limits: Limits,
    pub(super) extent: TextExtent,
    /// Whether the timelines of failing runs are printed.
    pub(super) timeline: bool,
}

impl ConfirmPrinter<'_> {
    /// Prints the result of the model.
    pub(super) fn print(&mut self, report: &ConfirmReport, out: &mut Output) -> Result<(), Refusal> {
        for block in render(report, self.extent, self) {
            match block {
                TextBlock::Line(text) => line(&text, out),
                TextBlock::Timeline { again, marked } if self.timeline => self.timeline(again, &marked, out)?,
                TextBlock::Timeline { .. } => {}
            }
        }
        Ok(())
    }

    fn timeline(&self, again: &Evidence, marked: &[&Access], out: &mut Output) -> Result<(), Refusal> {
        let sites = &self.model.code.setup.sites;
        let is_marked = |site: &SiteId| marked.iter().any(|access| access.site == site_text(sites, *site));
        let marks = Marks { sites: sites.ids().filter(is_marked).collect(), ..Marks::default() };
        writeln!(out);
        timeline::print_token(out, self.model, &again.token, marks, &TimelineView::default())?;
        writeln!(out);
        Ok(())
    }
}

impl Replays for ConfirmPrinter<'_> {
    // The text contains no steps of runs.
    fn run(&mut self, _: &About, _: &Evidence, _: &[&Access]) -> Option<ReplayedRun> {
        None
    }

    fn commands(&mut self, _: &About, again: &Evidence) -> Vec<String> {
        replay_command::replay(self.model, &again.token, &again.strategy, again.seed, &self.limits)
    }
}

/// Prints a line in colors.
pub(super) fn line(line: &ReportLine, out: &mut Output) {
    let part = |ReportSpan { role, text }: &ReportSpan| match role {
        Role::Plain => text.clone(),
        Role::Name => paint(BOLD, text),
        Role::Bad => paint(BAD, text),
        Role::Open => paint(ODD, text),
        Role::Good => paint(GOOD, text),
    };
    let text: String = line.spans.iter().map(part).collect();
    if line.prose {
        out.prose(text);
    } else {
        writeln!(out, "{text}");
    }
}

/// Prints the number of variants that were not confirmed, if there are any.
pub(super) fn left_out(more: usize, out: &mut Output) {
    if more > 0 {
        let text = format!(
            "constants of the models; {} with other constants not tested (--all-variants)",
            counted(more as u64, "variant")
        );
        writeln!(out, "{}", paint(ODD, text));
    }
}
