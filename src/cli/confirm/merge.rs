//! `raceflip merge`: joins the parts of a campaign.

use super::GroupArgs;
use super::gate::GateArgs;
use crate::cli::args::{ToolArgs, head};
use crate::cli::confirm::print_campaign;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::files;
use crate::cli::{CommandContext, Refusal};
use crate::formats::campaigns::CampaignReport;
use std::path::PathBuf;

const ABOUT: &str = "\
Combines the parts of a campaign, which `raceflip confirm DIR --partition 1/3 --out part1.json` wrote, for example on several machines. \
The result is the same, to the byte, as that of the whole campaign.";

const AFTER: &str = "\
Examples:
  raceflip merge part1.json part2.json part3.json
  raceflip merge part*.json --format json > whole.json

Exit status: that of `raceflip confirm`";

/// Combine the parts of a campaign
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Results of `raceflip confirm --partition`, as JSON
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
    let mut parts = Vec::new();
    for path in &args.files {
        let name = path.to_string_lossy().into_owned();
        let cannot = |why: &dyn std::fmt::Display| Refusal::new(format_args!("cannot read `{name}`: {why}"));
        let text = std::fs::read_to_string(path).map_err(|e| cannot(&e))?;
        let part = CampaignReport::from_json(&text).map_err(|e| cannot(&e))?;
        parts.push((name, part));
    }
    let mut whole = CampaignReport::merged(parts).map_err(Refusal::new)?;
    let judged = gate.judge_all(&mut whole);
    if let Some(path) = &args.out {
        files::write(path, &format!("{}\n", whole.to_json()))?;
    }
    Ok(print_campaign(&whole, (&args.result, &args.group), (&gate, &judged), &mut context.out))
}
