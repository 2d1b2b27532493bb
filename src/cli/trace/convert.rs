//! `raceflip trace convert`: converts a trace of any format to raceflip's JSON lines, or to STD.

use crate::cli::io::exit::ExitStatus;
use crate::cli::io::files;
use crate::cli::{CommandContext, Refusal};
use crate::formats::traces;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  raceflip trace convert abc_log.txt --out app.jsonl
  raceflip trace convert trace.txt | raceflip trace stat -
  raceflip trace convert app.jsonl --to std --map names.tsv > app.std";

/// Form of the result.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, clap::ValueEnum)]
enum To {
    /// JSON lines, the form of raceflip
    #[default]
    Jsonl,
    /// STD, the form of RAPID: threads and locks; stderr says what it leaves out
    Std,
}

/// Write a trace of any format as JSON lines, or in STD, the form of RAPID
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    /// The trace, or `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    from: super::FromArg,
    /// Form of the result
    #[arg(long, value_enum, default_value_t, value_name = "FORM", help_heading = crate::cli::args::head::RESULT)]
    to: To,
    /// With `--to std`, write to this file what the numbers and names of the result stand for
    ///
    /// A line has three fields with tabs between them: `statement`, `thread`, `lock`, `variable` or `transaction`, then
    /// its number or name in the result, then what the trace has. Names that are the same in both are left out.
    #[arg(long, value_name = "FILE", help_heading = crate::cli::args::head::RESULT)]
    map: Option<PathBuf>,
    /// Write the result to this file
    ///
    /// With this option nothing is printed to stdout.
    #[arg(long, value_name = "FILE", help_heading = crate::cli::args::head::RESULT)]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    if args.map.is_some() && args.to != To::Std {
        return Err(Refusal::new("JSON lines keep all names, so there is no map: add `--to std`, or remove `--map`"));
    }
    for path in args.out.iter().chain(&args.map) {
        files::may_write(path)?;
    }
    super::distinct(&[("--out", args.out.as_deref()), ("--map", args.map.as_deref())], &args.file)?;
    let trace = super::read(&args.file, args.from)?;
    let mut text = Vec::new();
    let written = match args.to {
        To::Jsonl => traces::write(&trace, &super::name(&args.file), &mut text).map(|()| None),
        To::Std => traces::write_std(&trace, &mut text).map(Some),
    };
    let written = written.map_err(|error| Refusal::new(format_args!("cannot convert the trace: {error}")))?;
    if text.is_empty() {
        return Err(Refusal::new(format_args!(
            "no operation of `{}` has a form in STD, which has accesses, locks, forks and joins only, so that the result would be empty: remove `--to std`, or give a longer trace",
            super::name(&args.file)
        )));
    }
    let text = String::from_utf8_lossy(&text);
    match &args.out {
        Some(path) => files::write(path, &text)?,
        None => context.out.file(&text),
    }
    if let (Some(path), Some(about)) = (&args.map, &written) {
        files::write(path, &about.map)?;
    }
    for note in trace.notes.iter().chain(written.iter().flat_map(|about| &about.losses)) {
        context.out.note(note);
    }
    Ok(ExitStatus::Nothing)
}
