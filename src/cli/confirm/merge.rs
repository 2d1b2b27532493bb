//! `raceflip merge`: joins the parts of a campaign.

use super::GroupArgs;
use super::gate::GateArgs;
use crate::cli::args::{ToolArgs, head};
use crate::cli::confirm::print_campaign;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::files;
use crate::cli::io::reports::ReportFormat;
use crate::cli::{CommandContext, Refusal};
use crate::formats::campaigns::CampaignReport;
use crate::formats::corpus::{Corpus, CorpusError};
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Combines the parts of a campaign, which `raceflip confirm DIR --partition 1/3 --out part1.json` wrote, for example on several machines. \
The result is the same, to the byte, as that of the whole campaign.

Files of `raceflip fuzz --corpus` (`*.corpus`) of one model are joined as well: the result is printed, or written with --out.";

const AFTER: &str = "\
Examples:
  raceflip merge part1.json part2.json part3.json
  raceflip merge part*.json --format json > whole.json
  raceflip merge one/app.corpus two/app.corpus --out seeds/app.corpus

Exit status: that of `raceflip confirm`";

/// Combine the parts of a campaign, or several corpora of a model
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Results of `raceflip confirm --partition`, as JSON, or files of `raceflip fuzz --corpus`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    result: ToolArgs,
    #[command(flatten)]
    group: GroupArgs,
    /// Write the result to this file
    ///
    /// It is JSON, whatever --format says. The report is still printed to stdout.
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    out: Option<PathBuf>,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let gate = args.gate.resolve()?;
    if let Some(path) = &args.out {
        files::may_write(path)?;
    }
    let is_corpus = |path: &PathBuf| path.extension().is_some_and(|e| e == "corpus");
    if args.files.iter().any(is_corpus) {
        if gate.is_given() || args.result.format != ReportFormat::Text || args.group.all {
            return Err(Refusal::new(
                "a corpus is no result: leave out --fail-on, --strict, --format and --all; the joined corpus is TOML",
            ));
        }
        return corpora(&args, context);
    }
    let mut parts = Vec::new();
    for path in &args.files {
        parts.push((path.to_string_lossy().into_owned(), read(path, CampaignReport::from_json)?));
    }
    let mut whole = CampaignReport::merged(parts).map_err(Refusal::new)?;
    let judged = gate.judge_all(&mut whole);
    if let Some(path) = &args.out {
        files::write(path, &format!("{}\n", whole.to_json()))?;
    }
    Ok(print_campaign(&whole, (&args.result, &args.group), (&gate, &judged), &mut context.out))
}

// Reads a file. `parse` returns what it contains, or why it cannot be used.
fn read<T, E: std::fmt::Display>(path: &Path, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, Refusal> {
    let name = path.to_string_lossy().into_owned();
    let cannot = |why: &dyn std::fmt::Display| Refusal::new(format_args!("cannot read `{name}`: {why}"));
    let text = std::fs::read_to_string(path).map_err(|e| cannot(&e))?;
    parse(&text).map_err(|e| cannot(&e))
}

// Joins corpora of one model, and prints the result or writes it.
fn corpora(args: &Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let mut parts: Vec<Corpus> = Vec::new();
    for path in &args.files {
        // A file that does not belong to the first one is refused by its name.
        parts.push(read(path, |text| {
            let (part, _) = Corpus::read(text)?;
            if let Some(first) = parts.first() {
                first.check(&part)?;
            }
            Ok::<_, CorpusError>(part)
        })?);
    }
    let first = parts.remove(0);
    let text = first.merged(parts).map_err(Refusal::new)?.to_toml();
    match &args.out {
        Some(path) => files::write(path, &text)?,
        None => context.out.file(&text),
    }
    Ok(ExitStatus::Nothing)
}
