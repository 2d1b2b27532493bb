//! `raceflip detect`: which pairs of accesses may race.

use super::args::Format;
use super::campaign::{Bar, CampaignArgs, failure, kinds, pair, potential};
use super::check::counted;
use super::exit::Status;
use super::load;
use super::output::{BAD, BOLD, paint};
use super::{Context, Refusal, files, interrupt};
use crate::campaign;
use crate::detect::{Candidate, Detector};
use crate::formats::detect::DetectReport;
use crate::formats::pairs::PairsFile;
use std::path::PathBuf;

const ABOUT: &str = "\
Runs a model under some seeds and prints the pairs of accesses that may race: hybrid detection, extended to loopers. Two accesses \
are a potential pair if they touch the same memory, one writes, they belong to different threads or tasks, no common lock guards \
them, and nothing in the run orders them. A potential pair need not be real: `raceflip confirm` tells.";

const AFTER: &str = "\
Examples:
  raceflip detect app.race
  raceflip detect app.race --runs 200 --seed 1
  raceflip detect app.race --detector all   by whom is each pair seen?
  raceflip detect app.race --format json
  raceflip detect app.race --out pairs.json && raceflip confirm app.race --pairs pairs.json";

/// Print the pairs of accesses that may race
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(super) struct Args {
    /// The model
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    campaign: CampaignArgs,
    /// The form of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Write the pairs to this file, for `raceflip confirm --pairs`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

// Who has seen it, where several have looked.
fn seen_by(detectors: &[Detector], candidate: &Candidate) -> String {
    let names: Vec<&str> = candidate.by.iter().map(|by| by.name()).collect();
    let tells = detectors.len() > 1 || candidate.by.contains(&Detector::Search);
    if tells { format!("  by {}", names.join(", ")) } else { String::new() }
}

// In which contexts it was seen.
fn seen_in(candidate: &Candidate) -> String {
    if candidate.by.contains(&Detector::Search) { "in no run".to_owned() } else { kinds(&candidate.kinds) }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Status, Refusal> {
    let model = load::model(&args.file, &args.campaign.defines.resolve(), &context.out)?;
    let plan = args.campaign.plan(&model, 0);
    if let Some(path) = &args.out {
        files::may_write(path)?;
    }
    let bar = Bar::new("run");
    let stop = interrupt::install();
    let found = campaign::detect(&plan, campaign::Context { stop: &stop, progress: &bar });
    bar.finish();
    if let Some(path) = &args.out {
        let list = PairsFile::new(model.name(), model.digest(), &model.code.setup.sites, &found.candidates);
        files::write(path, &format!("{}\n", list.to_json()))?;
    }
    let out = &mut context.out;
    if args.format == Format::Json {
        let report = DetectReport::new(model.name(), model.digest(), &plan, &found);
        out.json(&report.to_json());
    } else {
        potential(out, &plan.detectors, &found);
        for candidate in &found.candidates {
            writeln!(
                out,
                "{}  {}  {}  ({}){}",
                candidate.rank.letter(),
                paint(BOLD, &candidate.evidence.location),
                pair(&model, candidate.pair),
                seen_in(candidate),
                seen_by(&plan.detectors, candidate),
            );
        }
        if !found.orders.is_empty() {
            writeln!(out, "{}, no races, whose order may matter:", counted(found.orders.len() as u64, "order pair"));
        }
        for order in &found.orders {
            let (rank, place) = (order.rank.letter(), paint(BOLD, &order.evidence.location));
            writeln!(out, "{rank}  {place}  {}  ({})", pair(&model, order.pair), kinds(&order.kinds));
        }
        for f in &found.failures {
            let text = paint(BAD, failure(&model, f));
            writeln!(out, "{text}, in {} (`raceflip confirm` tells why)", counted(u64::from(f.runs), "run"));
        }
    }
    if !found.complete {
        out.note(format_args!("interrupted after {} of {} runs", found.runs, plan.runs));
        return Ok(Status::Interrupted);
    }
    let nothing = found.candidates.is_empty() && found.failures.is_empty();
    Ok(if nothing { Status::Nothing } else { Status::Found })
}
