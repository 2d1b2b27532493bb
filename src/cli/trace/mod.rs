//! `raceflip trace`: works on execution traces, in raceflip's format and in others.
//!
//! The room of recorded traces: `trace stat`, `trace convert`, `trace orders` and `trace to-model`, and `analyze`,
//! which finds the races of a trace.

pub(super) mod analyze;
mod atomicity;
mod convert;
mod orders;
mod stat;
mod to_model;
mod verdicts;

use crate::cli::args::head;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::{files, load};
use crate::cli::{CommandContext, Refusal};
use crate::formats::traces::{self, TraceForm};
use crate::trace::Trace;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::io::BufReader;
use std::path::Path;

const ABOUT: &str = "\
Works on execution traces: those of `raceflip run --trace FILE`, logs of DroidRacer (`abc_log.txt`), traces of EM-Explorer (`trace.txt`), \
and traces in STD, the form of RAPID (`T0|w(V12)|41` on each line). \
raceflip recognizes the format by the content; `--from` of each command names it. It refuses a file that is not a trace, and operations that are not an execution, with the line and the column.";

const AFTER: &str = "\
Examples:
  raceflip trace stat abc_log.txt
  raceflip trace stat --format json run.jsonl abc_log.txt
  raceflip trace convert abc_log.txt --out app.jsonl
  raceflip trace convert run.jsonl --to std --map names.tsv --out run.std
  raceflip trace orders abc_log.txt                 which orders can come about together
  raceflip trace to-model abc_log.txt -o app.trace.race";

/// Count what is in recorded traces and their orders, convert them, make models
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
    Orders(orders::Args),
    ToModel(to_model::Args),
}

pub(super) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    match args.command {
        TraceCommand::Stat(args) => stat::run(&args, context),
        TraceCommand::Convert(args) => convert::run(&args, context),
        TraceCommand::Orders(args) => orders::run(&args, context),
        TraceCommand::ToModel(args) => to_model::run(&args, context),
    }
}

/// Returns the name of a file for messages.
pub(super) fn name(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { path.to_string_lossy().into_owned() }
}

/// Refuses results that would overwrite each other, or the trace.
fn distinct(results: &[(&str, Option<&Path>)], trace: &Path) -> Result<(), Refusal> {
    let inputs: &[&Path] = if trace == Path::new("-") { &[] } else { &[trace] };
    files::distinct(results, ("trace", inputs))
}

/// The form of the traces that a command reads.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
pub(super) struct FromArg {
    /// Form of the input; by default raceflip recognizes it by the first line
    #[arg(long, value_enum, value_name = "FORM", help_heading = head::MODEL)]
    from: Option<Form>,
}

/// A form of traces, as an option.
#[derive(Clone, Copy, Debug)]
struct Form(TraceForm);

impl ValueEnum for Form {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: [Form; TraceForm::ALL.len()] =
            [Form(TraceForm::ALL[0]), Form(TraceForm::ALL[1]), Form(TraceForm::ALL[2])];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.help()))
    }
}

/// Reads a trace from a file, or from stdin.
pub(super) fn read(path: &Path, from: FromArg) -> Result<Trace, Refusal> {
    let (name, form) = (name(path), from.from.map(|form| form.0));
    if path == Path::new("-") {
        return traces::read_as(&name, std::io::stdin().lock(), form).map_err(Refusal::new);
    }
    let file = load::open(path, &"the traces in it")?;
    traces::read_as(&name, BufReader::with_capacity(1 << 16, file), form).map_err(Refusal::new)
}
