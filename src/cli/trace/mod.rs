//! `raceflip trace`: works on execution traces, in raceflip's format and in others.
//!
//! The room of recorded traces: `trace stat`, `trace convert` and `trace to-model`, and `analyze`, which finds the races
//! of a trace.

pub(super) mod analyze;
mod convert;
mod stat;
mod to_model;
mod verdicts;

use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load;
use crate::cli::{CommandContext, Refusal};
use crate::formats::traces;
use crate::trace::Trace;
use std::io::BufReader;
use std::path::Path;

const ABOUT: &str = "\
Works on execution traces: those of `raceflip run --trace FILE`, logs of DroidRacer (`abc_log.txt`) and traces of EM-Explorer (`trace.txt`). \
raceflip recognizes the format by the content. It refuses a file that is not a trace, and operations that are not an execution, with the line and the column.";

const AFTER: &str = "\
Examples:
  raceflip trace stat abc_log.txt
  raceflip trace stat --format json run.jsonl abc_log.txt
  raceflip trace convert abc_log.txt --out app.jsonl
  raceflip trace to-model abc_log.txt -o app.race";

/// Count the contents of execution traces, convert them, and make models of them
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(super) struct Args {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(clap::Subcommand, Debug)]
enum TraceCommand {
    Stat(stat::Args),
    Convert(convert::Args),
    ToModel(to_model::Args),
}

pub(super) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    match args.command {
        TraceCommand::Stat(args) => stat::run(&args, context),
        TraceCommand::Convert(args) => convert::run(&args, context),
        TraceCommand::ToModel(args) => to_model::run(&args, context),
    }
}

/// Returns the name of a file for messages.
pub(super) fn name(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { path.to_string_lossy().into_owned() }
}

/// Reads a trace from a file, or from stdin.
pub(super) fn read(path: &Path) -> Result<Trace, Refusal> {
    let name = name(path);
    if path == Path::new("-") {
        return traces::read(&name, std::io::stdin().lock()).map_err(Refusal::new);
    }
    let file = load::open(path, &"the traces in it")?;
    traces::read(&name, BufReader::with_capacity(1 << 16, file)).map_err(Refusal::new)
}
