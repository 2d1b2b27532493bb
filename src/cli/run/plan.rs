//! Resolves the arguments of a command to the plan of one run.

use super::shrink_mode::ShrinkMode;
use super::state::StateArgs;
use super::timeline::TimelineView;
use crate::cli::Refusal;
use crate::cli::args::{ReportArgs, RunFormat};
use crate::cli::io::files::{self, PartialFile};
use crate::cli::io::load::Model;
use crate::sched::NamedStrategy;
use crate::token::Token;
use crate::world::Limits;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Plan of one run.
pub(in crate::cli) struct RunPlan {
    pub(in crate::cli) model: Model,
    pub(in crate::cli) limits: Limits,
    /// Limits that the command allows. A token may have higher ones, but they count only up to these.
    pub(in crate::cli) allowed: Limits,
    pub(in crate::cli) choices: ChoiceSource,
    /// Strategy and seed that drew the choices, also of a replay. The strategy is in text form.
    pub(in crate::cli) strategy: String,
    pub(in crate::cli) seed: u64,
    pub(in crate::cli) report: Report,
    /// Whether and how the run is shrunk.
    pub(in crate::cli) shrinking: ShrinkMode,
}

/// Source of the choices of a run.
pub(in crate::cli) enum ChoiceSource {
    Draw(Box<NamedStrategy>),
    Replay(Box<Token>),
    /// A replay that continues where the model has left the recording.
    Tolerant(Box<Token>),
}

/// Options of the report of a run.
pub(in crate::cli) struct Report {
    pub(in crate::cli) form: Form,
    /// Trace file. It is opened early, so that a path that cannot be written is an error before the run.
    pub(in crate::cli) trace: Option<NewFile>,
    /// Perfetto file. It is opened early, so that a path that cannot be written is an error before the run.
    pub(in crate::cli) perfetto: Option<NewFile>,
    pub(in crate::cli) view: TimelineView,
    /// Whether the run stops early, and whether its state is printed.
    pub(in crate::cli) state: StateArgs,
}

impl Report {
    /// Returns whether only the run itself is reported: no file is written about it, and it is not stopped early.
    pub(in crate::cli) fn is_plain(&self) -> bool {
        self.trace.is_none() && self.perfetto.is_none() && self.state.until.is_none() && !self.state.state
    }
}

/// Format of the report on stdout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cli) enum Form {
    /// Timeline, outcome, and the command that replays the run.
    Timeline,
    /// Mermaid diagram.
    Mermaid,
    /// SVG picture.
    Svg,
    /// Outcome and token.
    Brief,
    /// JSON object.
    Json,
}

/// File that is being written.
pub(in crate::cli) struct NewFile {
    pub(in crate::cli) name: String,
    pub(in crate::cli) to: BufWriter<File>,
    pub(in crate::cli) begun: PartialFile,
}

impl Report {
    pub(in crate::cli) fn resolve(args: &ReportArgs, state: StateArgs, model: &Model) -> Result<Self, Refusal> {
        args.alone("--quiet", args.quiet)?;
        args.alone("--state", state.state)?;
        let form = match (args.format, args.quiet) {
            (RunFormat::Json, _) => Form::Json,
            (RunFormat::Mermaid, _) => Form::Mermaid,
            (RunFormat::Svg, _) => Form::Svg,
            (RunFormat::Text, true) => Form::Brief,
            (RunFormat::Text, false) => Form::Timeline,
        };
        files::distinct(
            &[("--trace", args.trace.as_deref()), ("--perfetto", args.perfetto.as_deref())],
            ("model", &[]),
        )?;
        let view = TimelineView::resolve(&args.view, model)?;
        let trace = args.trace.as_deref().map(|path| create("trace", path, &model.path)).transpose()?;
        let perfetto = args.perfetto.as_deref().map(|path| create("timeline", path, &model.path)).transpose()?;
        Ok(Self { form, trace, perfetto, view, state })
    }
}

fn create(what: &str, path: &Path, model: &Path) -> Result<NewFile, Refusal> {
    let name = path.to_string_lossy().into_owned();
    let cannot = |why: &dyn std::fmt::Display| Refusal::new(format_args!("cannot write the {what} to `{name}`: {why}"));
    let same = |a: &Path, b: &Path| a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b);
    if same(path, model) {
        return Err(cannot(&"it is the model"));
    }
    let (begun, file) = PartialFile::new(path).map_err(|error| cannot(&error))?;
    Ok(NewFile { to: BufWriter::new(file), name, begun })
}
