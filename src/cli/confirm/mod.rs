//! `raceflip confirm`: which potential pairs are real, which hurt, and how to see it again.

mod many;
mod tell;
mod told;

use super::campaign::{Bar, CampaignArgs, number_of_runs};
use super::exit::Status;
use super::load::{self, Model};
use super::reports::{Models, ReportFormat};
use super::seeds::Seeds;
use super::timer::{Timer, duration};
use super::{Context, Refusal, files, interrupt, listed};
use crate::campaign::{self, Explore};
use crate::formats::campaign::ConfirmReport;
use crate::formats::campaigns::{Partition, TrialLine};
use crate::formats::report::words;
use clap::ValueEnum;
pub(super) use many::tell as tell_campaign;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tell::{Told, failures};

const ABOUT: &str = "\
Detects potential pairs, drives the scheduler at each, and prints which are real, which hurt, which are false, and a token for each order.

Two threads are driven by RaceFuzzer's directed scheduler until both statements are about to be performed at once. Where that cannot be (two tasks of \
one looper, or a post that would have to wait), one of them is held until the other has been performed: the same two accesses, in both orders, in two runs. \
Then both orders are continued with the same seeds from the point where the pair is decided.

  HARMFUL      confirmed, and some failure comes with one order and not with the other
  REAL         confirmed; either order fails in the same ways, or none does
  REFUTED      false: never side by side, and one order never, in all states there are
  UNCONFIRMED  none of these: it may be false, or too rare for so many trials";

const AFTER: &str = "\
Examples:
  raceflip confirm app.race
  raceflip confirm app.race -D FIXED=1          does the repair hold?
  raceflip confirm app.race --trials 1000 --jobs 8
  raceflip confirm app.race --pair '@check~@destroy'
  raceflip confirm app.race --pairs pairs.json  pairs of `raceflip detect --out pairs.json`, or of another tool
  raceflip confirm app.race --explore only      no trials: all states, for all pairs
  raceflip confirm models --journal night.journal --save     all models below a folder, in all variants
  raceflip confirm models --journal night.journal --resume   and on, after it was killed
  raceflip confirm models --partition 2/8 --out part2.json   an eighth of them; `raceflip merge` puts them together
  raceflip confirm app.race --format sarif > race.sarif   for code scanning; also junit, github, markdown
  raceflip confirm app.race --format json | jq '.pairs[] | select(.harm == \"harmful\")'

Exit status:
  0    no pair was confirmed, and nothing failed
  1    a pair was confirmed, or a run failed
  2    bad input or usage
  130  interrupted; what is known by then is printed";

/// Confirm races: which are real, which hurt, and how to see it again
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(super) struct Args {
    /// A model; or models and folders of models, each in all its variants
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Trials of each pair, for each kind of driving it
    #[arg(long, value_name = "N", default_value_t = campaign::Plan::TRIALS, value_parser = number_of_runs())]
    trials: u32,
    /// Drive the pairs of this list instead of those that detection finds: `raceflip-pairs` JSON, or lines `SITE SITE`
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Drive this pair: SITE~SITE, as in `@a~@b`; may be given more than once
    #[arg(long = "pair", value_name = "PAIR")]
    pair: Vec<String>,
    /// Write the result to this file as well, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write each trial to this file, a JSON object on each line
    #[arg(long, value_name = "FILE")]
    trials_out: Option<PathBuf>,
    /// Keep what is finished in this file, so that nothing is lost when the campaign is killed
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Go on with the campaign of the journal, if there is one: the result has the bytes that it has without a break
    #[arg(long, requires = "journal")]
    resume: bool,
    /// Stop after this time, as in `30s`, `10m` or `1h`, with what there is by then: that is not reproducible
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// Confirm only a part of the variants, as in `2/8`; `raceflip merge` puts the parts together
    #[arg(long, value_name = "PART/OF", value_parser = many::partition)]
    partition: Option<Partition>,
    /// Confirm only variants with this text in their name, path and constants (may be repeated: any of them)
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Keep the run of each harmful order in the folder of saved failures: `raceflip test` makes these first
    #[arg(long)]
    save: bool,
    /// The folder of saved failures
    #[arg(long, value_name = "DIR", default_value = "seeds", requires = "save")]
    seeds: PathBuf,
    /// Whether pairs are searched for in all states
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    explore: ExploreArg,
    /// States that are searched at most
    #[arg(long, value_name = "STATES", default_value_t = campaign::Plan::STATES)]
    explore_limit: u64,
    /// Drive no order pairs: two acquisitions of a lock, a post and a cancel ..., which are no races but may hurt
    #[arg(long)]
    no_orders: bool,
    /// Print the timeline of each failing run that is shown, with the statements of its pair marked
    #[arg(long)]
    timeline: bool,
    /// The form of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
    #[command(flatten)]
    campaign: CampaignArgs,
}

/// `--explore`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ExploreArg {
    /// Pairs that no run confirms, if there are not too many states
    #[default]
    Auto,
    /// Nothing: no pair is refuted
    Off,
    /// All pairs, and no trials are made
    Only,
}

impl From<ExploreArg> for Explore {
    fn from(explore: ExploreArg) -> Self {
        match explore {
            ExploreArg::Auto => Explore::Auto,
            ExploreArg::Off => Explore::Off,
            ExploreArg::Only => Explore::Only,
        }
    }
}

impl Args {
    // Whether it is a campaign over many variants, and not one model as it stands.
    fn is_of_many(&self) -> bool {
        let whole = self.journal.is_some() || self.partition.is_some() || !self.filter.is_empty();
        whole || self.paths.len() > 1 || self.paths[0].is_dir()
    }
}

// What is done with a model.
fn plan(args: &Args, model: &Model) -> campaign::Plan {
    campaign::Plan {
        orders: !args.no_orders,
        explore: args.explore.into(),
        states: args.explore_limit,
        ..args.campaign.plan(model, args.trials)
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Status, Refusal> {
    if args.is_of_many() { many::run(&args, context) } else { one(&args, context) }
}

// Refuses places for results that cannot be.
fn results(args: &Args, models: &[&Model]) -> Result<(), Refusal> {
    let given = [("--journal", &args.journal), ("--out", &args.out), ("--trials-out", &args.trials_out)];
    let paths: Vec<&Path> = models.iter().map(|m| m.path.as_path()).collect();
    files::distinct(&given.map(|(option, path)| (option, path.as_deref())), &paths)?;
    args.out.iter().chain(&args.trials_out).try_for_each(|path| files::may_write(path))
}

fn one(args: &Args, context: &mut Context) -> Result<Status, Refusal> {
    if args.timeline && !matches!(args.format, ReportFormat::Text | ReportFormat::Json) {
        return Err(Refusal::new("`--timeline` is for people: leave it out, or take `--format text`"));
    }
    let model = load::model(&args.paths[0], &args.campaign.defines.resolve(), &context.out)?;
    let pairs = listed::pairs(args.pairs.as_deref(), &args.pair, &model, &mut context.out)?;
    let plan = campaign::Plan { pairs, ..plan(args, &model) };
    results(args, &[&model])?;
    let seeds = if args.save { Some(Seeds::to_keep(&args.seeds)?) } else { None };
    let bar = Bar::new("run");
    let stop = interrupt::install();
    let timer = Timer::start(args.time, stop.clone());
    let found = campaign::confirm(&plan, campaign::Context { stop: &stop, progress: &bar });
    bar.finish();
    let out = &mut context.out;
    let report = ConfirmReport::new(model.name(), model.digest(), &plan, &found);
    if let Some(path) = &args.out {
        files::write(path, &format!("{}\n", report.to_json()))?;
    }
    if let Some(path) = &args.trials_out {
        let lines = found.pairs.iter().chain(&found.orders).flat_map(|pair| TrialLine::of(model.name(), &plan, pair));
        files::write(path, &lines.map(|line| line.to_json() + "\n").collect::<String>())?;
    }
    match args.format {
        ReportFormat::Text => {
            Told { model: &model, plan: &plan, timeline: args.timeline, out: &mut *out }.all(&found)?;
        }
        ReportFormat::Json => out.json(&report.to_json()),
        _ => {
            let mut models = Models::new(vec![&model], out).allowing(plan.limits);
            let text = args.format.render(std::slice::from_ref(&report), &mut models);
            args.format.print(&text.unwrap_or_default(), out);
        }
    }
    if let Some(seeds) = &seeds {
        let files = save(seeds, &model, &report)?;
        files.iter().for_each(|file| out.note(format_args!("saved {file}")));
    }
    if !found.complete() {
        let (done, all) = (found.pairs.len(), found.phase1.candidates.len());
        let what = if timer.is_up() { "the time is up" } else { "interrupted" };
        if done == 0 {
            let (runs, of) = (found.phase1.runs, plan.runs);
            out.note(format_args!("{what} after {runs} of {of} detection runs; no pair was driven"));
        } else {
            out.note(format_args!("{what}: {done} of {all} pairs were driven, the last of them not to its end"));
        }
        if !timer.is_up() {
            return Ok(Status::Interrupted);
        }
        out.note("the same command may bring another result");
    }
    let harmless = found.orders.iter().all(|p| p.hurts().is_empty());
    let nothing = found.pairs.iter().all(|p| !p.verdict.confirmed()) && harmless && failures(&found).is_empty();
    Ok(if nothing { Status::Nothing } else { Status::Found })
}

// Keeps the first run of each harmful order; the names of the files.
fn save(seeds: &Seeds, model: &Model, report: &ConfirmReport) -> Result<BTreeSet<String>, Refusal> {
    let mut files = BTreeSet::new();
    for pair in report.pairs.iter().chain(&report.order_pairs) {
        for (_, harm) in words::hurting(pair) {
            let what = words::failure(harm);
            let run = (harm.signature.as_str(), harm.again.token.as_str());
            files.insert(seeds.keep(model, format!("{} ~ {}: harmful", pair.a.site, pair.b.site), run, &what)?);
        }
    }
    Ok(files)
}
