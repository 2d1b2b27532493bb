//! Options of the report of one run: its format, and the part of its timeline that is printed.

use super::head;
use crate::cli::Refusal;
use crate::sched::SiteSpec;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Format of the report of one run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::cli) enum RunFormat {
    /// Timeline, outcome, and the command that replays the run
    #[default]
    Text,
    /// One JSON object (docs/formats.md)
    Json,
    /// A Mermaid sequence diagram, for Markdown
    Mermaid,
    /// An SVG picture, for pages and slides
    Svg,
}

/// Options of the report of one run.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ReportArgs {
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(in crate::cli) format: RunFormat,
    /// Print only a summary
    ///
    /// For a run, this is the outcome and the token, without the timeline.
    #[arg(short, long, help_heading = head::RESULT)]
    pub(in crate::cli) quiet: bool,
    /// Write the timeline to a file as Chrome trace events, for ui.perfetto.dev
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    pub(in crate::cli) perfetto: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) view: ViewArgs,
    /// Write all events to a file as JSON lines (docs/formats.md)
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    pub(in crate::cli) trace: Option<PathBuf>,
}

impl ReportArgs {
    /// Refuses an option that changes how much is printed if the format is a diagram or a picture, which leaves no
    /// room for more or less.
    pub(in crate::cli) fn alone(&self, option: &str, given: bool) -> Result<(), Refusal> {
        let (form, what) = match self.format {
            RunFormat::Mermaid => ("mermaid", "diagram"),
            RunFormat::Svg => ("svg", "picture"),
            RunFormat::Text | RunFormat::Json => return Ok(()),
        };
        match given {
            false => Ok(()),
            true => Err(Refusal::new(format_args!(
                "`--format {form}` prints only the {what}: remove `{option}`, or use `--format text` or `json`"
            ))),
        }
    }
}

/// Options that select the part of a timeline that is printed, and its form.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct ViewArgs {
    /// Print all steps, including the middle of a long run and the steps of loops
    #[arg(long, conflicts_with = "around", help_heading = head::TIMELINE)]
    pub(in crate::cli) all: bool,
    /// Print only the steps around this step
    #[arg(long, value_name = "STEP", help_heading = head::TIMELINE)]
    pub(in crate::cli) around: Option<u64>,
    /// Number of steps to print before and after that step
    #[arg(long, value_name = "N", default_value_t = 10, requires = "around", help_heading = head::TIMELINE)]
    pub(in crate::cli) context: u64,
    /// Print only the steps of these threads and loopers, by name
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = head::TIMELINE)]
    pub(in crate::cli) only: Vec<String>,
    /// Mark the steps of an access: `@label`, `@label.read of x`, or LINE:COLUMN (may be repeated)
    #[arg(long, value_name = "SITE", help_heading = head::TIMELINE)]
    pub(in crate::cli) mark: Vec<SiteSpec>,
    /// Draw with ASCII characters only
    ///
    /// For terminals and logs without other characters. Other characters of a model are printed as `?`. The locale does
    /// not change the output: the same command prints the same bytes everywhere.
    #[arg(long, help_heading = head::TIMELINE)]
    pub(in crate::cli) ascii: bool,
    /// Maximum width of lines [default: width of the terminal, up to 160; otherwise 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..=1000), help_heading = head::TIMELINE)]
    pub(in crate::cli) width: Option<u16>,
}
