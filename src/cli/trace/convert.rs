//! `raceflip trace convert`: converts a trace of any format to raceflip's JSON lines.

use crate::cli::io::exit::ExitStatus;
use crate::cli::io::files;
use crate::cli::{CommandContext, Refusal};
use crate::formats::traces;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  raceflip trace convert abc_log.txt --out app.jsonl
  raceflip trace convert trace.txt | raceflip trace stat -";

/// Write a trace of any format as JSON lines
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    /// The trace, or `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the result to this file
    ///
    /// With this option nothing is printed to stdout.
    #[arg(long, value_name = "FILE", help_heading = crate::cli::args::head::RESULT)]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    if let Some(path) = &args.out {
        files::may_write(path)?;
    }
    let trace = super::read(&args.file)?;
    let mut text = Vec::new();
    traces::write(&trace, &super::name(&args.file), &mut text)
        .map_err(|error| Refusal::new(format_args!("cannot convert the trace: {error}")))?;
    let text = String::from_utf8_lossy(&text);
    match &args.out {
        Some(path) => files::write(path, &text)?,
        None => context.out.file(&text),
    }
    for note in &trace.notes {
        context.out.note(note);
    }
    Ok(ExitStatus::Nothing)
}
