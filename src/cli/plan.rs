//! What was typed, resolved: everything that one run needs.

use super::Refusal;
use super::args::{ReportArgs, RunFormat};
use super::files::{self, Begun};
use super::load::Model;
use super::shrunk::Shrinking;
use super::state::StateArgs;
use super::timeline::View;
use crate::sched::Named;
use crate::token::Token;
use crate::world::Limits;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// One run.
pub(super) struct Plan {
    pub(super) model: Model,
    pub(super) limits: Limits,
    /// What the command allows: a token's limits may be higher, and count only so far.
    pub(super) allowed: Limits,
    pub(super) choices: Choices,
    /// The strategy as text, and the seed: those that drew the choices, also of a replay.
    pub(super) strategy: String,
    pub(super) seed: u64,
    pub(super) report: Report,
    /// Whether it is shrunk.
    pub(super) shrinking: Shrinking,
}

/// Where the choices come from.
pub(super) enum Choices {
    Draw(Box<Named>),
    Replay(Box<Token>),
    /// A replay that goes on where the model has left its recording.
    Tolerant(Box<Token>),
}

/// How a run is told.
pub(super) struct Report {
    pub(super) form: Form,
    /// Open already: a path that cannot be written is an error before anything runs.
    pub(super) trace: Option<NewFile>,
    /// The same.
    pub(super) perfetto: Option<NewFile>,
    pub(super) view: View,
    /// Where it stops, and whether its state is told.
    pub(super) state: StateArgs,
}

impl Report {
    /// Whether nothing but the run itself is told: no file is written about it, and it goes to its end.
    pub(super) fn is_plain(&self) -> bool {
        self.trace.is_none() && self.perfetto.is_none() && self.state.until.is_none() && !self.state.state
    }
}

/// The form of what goes to stdout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Timeline, outcome, how to replay it.
    Timeline,
    /// A Mermaid diagram.
    Mermaid,
    /// Outcome and token.
    Brief,
    /// One JSON object.
    Json,
}

/// A file that is being written.
pub(super) struct NewFile {
    pub(super) name: String,
    pub(super) to: BufWriter<File>,
    pub(super) begun: Begun,
}

impl Report {
    pub(super) fn resolve(args: &ReportArgs, state: StateArgs, model: &Model) -> Result<Self, Refusal> {
        args.alone("--quiet", args.quiet)?;
        args.alone("--state", state.state)?;
        let form = match (args.format, args.quiet) {
            (RunFormat::Json, _) => Form::Json,
            (RunFormat::Mermaid, _) => Form::Mermaid,
            (RunFormat::Text, true) => Form::Brief,
            (RunFormat::Text, false) => Form::Timeline,
        };
        files::distinct(&[("--trace", args.trace.as_deref()), ("--perfetto", args.perfetto.as_deref())], &[])?;
        let view = View::resolve(&args.view, model)?;
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
    let (begun, file) = Begun::new(path).map_err(|error| cannot(&error))?;
    Ok(NewFile { to: BufWriter::new(file), name, begun })
}
