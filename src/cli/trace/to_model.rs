//! `raceflip trace to-model`: makes a model of a recorded trace.

use crate::base::counted;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::files;
use crate::cli::{CommandContext, Refusal};
use crate::formats::trace_model::{ModelOptions, NoModel, TraceModel};
use crate::trace::Trace;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

// Number of bytes that are read to find the first line of a model. That line has the name of the trace, which file
// systems limit to some hundred bytes.
const LONGEST_HEAD: u64 = 1 << 14;

const ABOUT: &str = "\
Makes a model of a recorded trace. Each thread and each task of the trace becomes a body of its own, and each access has a label (`@a17` is operation 17). \
Each run of the model is a reordering of the trace that forks, joins, posts, queues, enables, signals and locks allow. So `raceflip confirm` decides the races of the trace, without the app, \
as far as the app does the same in each order: the model has neither values nor branches. It leaves out what no race can depend on, and says what that is.";

const AFTER: &str = "\
Examples:
  raceflip trace to-model abc_log.txt -o app.trace.race
  raceflip trace to-model abc_log.txt -o app.trace.race && raceflip confirm app.trace.race
  raceflip trace to-model abc_log.txt --only 'La;.8' | raceflip check /dev/stdin
  raceflip analyze abc_log.txt --confirm            makes the model and confirms the races of the trace";

/// Make a model of a recorded trace, for `raceflip confirm` and `raceflip explore`
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(super) struct Args {
    /// The trace, or `-` for stdin
    #[arg(value_name = "TRACE")]
    file: PathBuf,
    #[command(flatten)]
    from: super::FromArg,
    /// Write the result to this file
    ///
    /// With this option nothing is printed to stdout.
    #[arg(short, long, value_name = "FILE", help_heading = crate::cli::args::head::RESULT)]
    out: Option<PathBuf>,
    /// Replace the file of `--out` even if it is not a model that `trace to-model` has made
    #[arg(long, requires = "out", help_heading = crate::cli::args::head::RESULT)]
    force: bool,
    /// Leave nothing out that the model can have
    #[arg(long, help_heading = crate::cli::args::head::MODEL)]
    all: bool,
    /// Only accesses of these locations or fields, as `raceflip analyze` names them (may be repeated)
    #[arg(long, value_name = "LOCATION", value_delimiter = ',', help_heading = crate::cli::args::head::MODEL)]
    only: Vec<String>,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    if let Some(path) = &args.out {
        files::may_write(path)?;
        super::distinct(&[("--out", Some(path))], &args.file)?;
        if !args.force {
            may_replace(path)?;
        }
    }
    let trace = super::read(&args.file, args.from)?;
    let options = ModelOptions { all: args.all, only: args.only.clone() };
    let model = make(&trace, &args.file, &options).map_err(|error| {
        let advice = match error {
            NoModel::TooLarge { .. } => "; name the locations that matter with `--only`, or cut the trace",
            NoModel::Location { .. } => "",
        };
        Refusal::new(format_args!("cannot make a model of `{}`: {error}{advice}", super::name(&args.file)))
    })?;
    match &args.out {
        Some(path) => files::write(path, &model.text)?,
        None => context.out.file(&model.text),
    }
    for note in &trace.notes {
        context.out.note(note);
    }
    for note in &model.notes {
        context.out.note(format_args!("left out: {note}"));
    }
    let statements = counted(model.statements as u64, "statement");
    let bodies = if model.bodies == 1 { "body" } else { "bodies" };
    context.out.note(format_args!("the model has {} {bodies} with {statements}", model.bodies));
    Ok(ExitStatus::Nothing)
}

// Refuses to replace a file that this command has not made, such as a model that the user has written. An empty file
// has nothing to lose, and a pipe or device is not replaced.
fn may_replace(path: &Path) -> Result<(), Refusal> {
    if std::fs::metadata(path).map_or(true, |about| !about.is_file() || about.len() == 0) {
        return Ok(());
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_HEAD).read_to_end(&mut start));
    if read.is_ok() && TraceModel::is_made(&String::from_utf8_lossy(&start)) {
        return Ok(());
    }
    let name = path.to_string_lossy().into_owned();
    Err(Refusal::new(format_args!(
        "`{name}` is not a model that `raceflip trace to-model` has made, so it is not replaced: give another file to `--out`, or add `--force`"
    )))
}

/// Makes the model of a trace that was read from a file.
pub(super) fn make(trace: &Trace, file: &Path, options: &ModelOptions) -> Result<TraceModel, NoModel> {
    // The folder says nothing about the trace, and differs from machine to machine.
    let name = file.file_name().map_or_else(|| super::name(file), |name| name.to_string_lossy().into_owned());
    let name = if file == Path::new("-") { "<stdin>".to_owned() } else { name };
    TraceModel::new(trace, &name, options)
}
