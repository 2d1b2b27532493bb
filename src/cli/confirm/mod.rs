//! `raceflip confirm`: shows which potential pairs are real, which are harmful, and how to replay them.
//!
//! The room of pairs: the commands `static`, `detect`, `confirm` and `merge`, the words for what they found (`found`),
//! the pairs that the user names (`pair_options`), gates, and the journal with which a campaign resumes.

mod campaigns;
pub(super) mod detect;
pub(super) mod found;
pub(super) mod gate;
mod journal;
pub(super) mod merge;
mod pair_options;
pub(super) mod statics;
mod text;
mod violations;

use crate::campaign::{self, Explore, PairFacts, RingFacts, StatePlan, Subject, TrialPlan, ViolationFacts};
use crate::cli::args::{AtomicityArgs, CampaignArgs, DetectorArg, ToolArgs, head, number_of_runs};
use crate::cli::io::bar::CampaignBar;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load::{self, Model};
use crate::cli::io::reports::{ReportFormat, ReportedModels};
use crate::cli::io::timer::{Timer, duration};
use crate::cli::io::{files, interrupt};
use crate::cli::models::seeds::{Kept, Seeds};
use crate::cli::models::suite;
use crate::cli::{CommandContext, Refusal};
use crate::formats::campaign::ConfirmReport;
use crate::formats::campaigns::Partition;
use crate::formats::report::text::TextExtent;
use crate::formats::report::words;
pub(super) use campaigns::print_campaign;
use clap::ValueEnum;
use found::potential;
use gate::{Gate, GateArgs};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use text::ConfirmPrinter;

const ABOUT: &str = "\
Detects potential pairs, directs the scheduler at each pair, and prints which pairs are real, harmful or false, with a token for each order.

RaceFuzzer's directed scheduler drives two threads until both statements are pending at once. Where that is impossible (two tasks of \
one looper, or a post that would have to wait), one access is held until the other one has been performed. So two runs show the same two accesses in both orders. \
Then both orders are continued with the same seeds, from the state in which the order of the pair is decided. Deadlock rings are driven as well: \
each thread waits before the lock that it wants until its neighbour holds that lock.

  HARMFUL      confirmed, and some failure occurs with one order and not with the other
  REAL         confirmed; both orders fail in the same ways, or none fails
  REFUTED      false: in one order in every run (`raceflip static`); or in no state side by side, and one order never occurs
  UNCONFIRMED  none of these: the pair may be false, or too rare for so many trials";

const AFTER: &str = "\
Examples:
  raceflip confirm app.race
  raceflip confirm app.race -D FIXED=1          check the repair
  raceflip confirm app.race --trials 1000 --jobs 8
  raceflip confirm app.race --pair '@check~@destroy'
  raceflip confirm app.race --detector atomicity  only what is declared to happen in one piece
  raceflip confirm app.race --all-variants      with and without the repair, in one campaign
  raceflip confirm app.race --pairs-from pairs.json  pairs of `raceflip detect --out pairs.json`, or of another tool
  raceflip confirm app.race --explore only      search all states for all pairs, without trials
  raceflip confirm models --all-variants --journal night.journal --save   all models below a folder
  raceflip confirm models --all-variants --journal night.journal --resume   resume after the campaign was killed
  raceflip confirm models --partition 2/8 --out part2.json   one eighth; `raceflip merge` combines the parts
  raceflip confirm models --fail-on any-failure,limits   a gate in CI (see below)
  raceflip confirm app.race --format sarif > race.sarif   for code scanning; also junit, github, markdown
  raceflip confirm app.race --format json | jq '.pairs[] | select(.harm == \"harmful\")'

GATES

Exit status:
  0    nothing was confirmed and no run failed; with --fail-on: none of its conditions is met
  1    a pair, a deadlock ring or a violation of atomicity was confirmed (see --strict), or a run failed; with
       --fail-on: one of its conditions is met
  2    bad input or usage
  130  interrupted; the results so far are printed";

/// Confirm races: which are real, which are harmful, and how to replay them
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = after())]
pub(super) struct Args {
    /// Models and folders of models; each model with its own constants and those of -D
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Test each model in all variants that its `expect` lines name
    #[arg(long, help_heading = head::MODEL)]
    all_variants: bool,
    /// Only variants whose printed name (path and constants) contains this text (may be repeated: any of them)
    #[arg(long, value_name = "TEXT", help_heading = head::MODEL)]
    filter: Vec<String>,
    /// Drive the pairs of this list instead of detected pairs: `raceflip-pairs` JSON, or lines `SITE SITE`
    #[arg(long, alias = "pairs", value_name = "FILE", help_heading = head::MODEL)]
    pairs_from: Option<PathBuf>,
    /// Drive this pair: SITE~SITE, as in `@a~@b` or `@a.acquire~@b.acquire` (may be repeated)
    #[arg(long = "pair", value_name = "PAIR", help_heading = head::MODEL)]
    pair: Vec<String>,
    /// Do not drive order pairs (two acquisitions, a post and a cancel), which are not races but may be harmful
    #[arg(long, help_heading = head::MODEL)]
    no_orders: bool,
    /// Do not ask static analysis first which pairs are in order in every run (`raceflip static`)
    #[arg(long, help_heading = head::EFFORT)]
    no_static: bool,
    /// Number of trials of each pair, for each kind of trial
    #[arg(long, value_name = "N", default_value_t = campaign::CampaignPlan::TRIALS, value_parser = number_of_runs(), help_heading = head::EFFORT)]
    trials: u32,
    /// When to search all states for pairs
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", help_heading = head::EFFORT)]
    explore: ExploreArg,
    /// Maximum number of states to search
    #[arg(long, value_name = "STATES", default_value_t = campaign::CampaignPlan::STATES, help_heading = head::EFFORT)]
    explore_limit: u64,
    /// Stop after this time, as in `30s`, `10m` or `1h`
    ///
    /// The results so far are reported. They depend on the machine, so they are not reproducible.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = head::EFFORT)]
    time: Option<Duration>,
    #[command(flatten)]
    atomic: AtomicityArgs,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    result: ToolArgs,
    #[command(flatten)]
    group: GroupArgs,
    /// Print the timeline of each failing run in the report, with the statements of its pair marked
    #[arg(long, help_heading = head::RESULT)]
    timeline: bool,
    /// Write the result to this file
    ///
    /// It is JSON, whatever --format says. The report is still printed to stdout.
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    out: Option<PathBuf>,
    /// Write all trials to this file, one JSON object on each line
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    trials_out: Option<PathBuf>,
    /// Save a run of each harmful order and of each other failure in the folder of saved failures; `raceflip test`
    /// replays them first
    #[arg(long, help_heading = head::SAVED)]
    save: bool,
    /// Folder of saved failures
    #[arg(long, alias = "seeds", value_name = "DIR", default_value = "seeds", help_heading = head::SAVED)]
    saved: PathBuf,
    /// Record finished variants in this file, so that a killed campaign can be resumed
    #[arg(long, value_name = "FILE", help_heading = head::LONG)]
    journal: Option<PathBuf>,
    /// Resume the campaign of the journal, if there is one; the result is the same as without the interruption
    #[arg(long, requires = "journal", help_heading = head::LONG)]
    resume: bool,
    /// Confirm only a part of the variants, as in `2/8`; `raceflip merge` combines the parts
    #[arg(long, value_name = "PART/OF", value_parser = campaigns::partition, help_heading = head::LONG)]
    partition: Option<Partition>,
    #[command(flatten)]
    campaign: CampaignArgs,
}

/// Option about the pairs of one cause in text output.
#[derive(clap::Args, Clone, Debug)]
pub(in crate::cli) struct GroupArgs {
    /// Print each harmful pair, and not only the widest one of each cause; each finding of atomicity with all cycles
    ///
    /// Other formats always contain all of them.
    #[arg(long, help_heading = head::RESULT)]
    pub(in crate::cli) all: bool,
}

fn after() -> String {
    AFTER.replace("GATES\n", gate::CONFIRM)
}

/// Extent of the search: the value of `--explore`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ExploreArg {
    /// For pairs that no run confirms, unless there are too many states
    #[default]
    Auto,
    /// Never: no search refutes a pair
    Off,
    /// For all pairs, instead of trials
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
    // Whether the campaign looks for livelocks in any case. Errors of the gate were reported when it was resolved
    // first.
    fn livelocks(&self) -> bool {
        self.gate.resolve().is_ok_and(|gate| gate.wants_livelocks())
    }

    // Whether the campaign judges declared transactions only.
    fn is_of_atomicity(&self) -> bool {
        self.campaign.detector == DetectorArg::Atomicity
    }

    // Whether the campaign is over many variants, and not over one model as it stands.
    fn is_of_many(&self) -> bool {
        let whole = self.all_variants || self.journal.is_some() || self.partition.is_some() || !self.filter.is_empty();
        whole || self.paths.len() > 1 || self.paths[0].is_dir()
    }
}

// Returns the plan of the campaign for a model, without static analysis.
fn plan(args: &Args, model: &Model) -> campaign::CampaignPlan {
    let trials = TrialPlan { count: args.trials, orders: !args.no_orders, ..TrialPlan::default() };
    let search = StatePlan { explore: args.explore.into(), states: args.explore_limit, livelocks: args.livelocks() };
    campaign::CampaignPlan { search, ..args.campaign.plan(model, trials) }
}

pub(super) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let gate = args.gate.resolve()?;
    violations::refuse(&args)?;
    if args.is_of_many() { campaigns::run(&args, &gate, context) } else { one(&args, &gate, context) }
}

// Refuses files for results that cannot be written or that overwrite each other.
fn results(args: &Args, models: &[&Model]) -> Result<(), Refusal> {
    let given = [("--journal", &args.journal), ("--out", &args.out), ("--trials-out", &args.trials_out)];
    let paths: Vec<&Path> = models.iter().map(|m| m.path.as_path()).collect();
    files::distinct(&given.map(|(option, path)| (option, path.as_deref())), ("model", &paths))?;
    args.out.iter().chain(&args.trials_out).try_for_each(|path| files::may_write(path))
}

fn one(args: &Args, gate: &Gate, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    if args.timeline && !matches!(args.result.format, ReportFormat::Text | ReportFormat::Json) {
        return Err(Refusal::new("`--timeline` needs text output: remove it, or use `--format text`"));
    }
    let model = load::model(&args.paths[0], &args.campaign.defines.resolve(), &context.out)?;
    let pairs = pair_options::pairs(args.pairs_from.as_deref(), &args.pair, &model, &mut context.out)?;
    let mut plan = plan(args, &model);
    plan.trials.pairs = pairs;
    let plan = args.campaign.analyzed(&model, plan, !args.no_static);
    let sites = &model.code.setup.sites;
    let mut given = plan.trials.pairs.iter().flatten();
    if args.no_orders && given.any(|pair| sites[pair.a].is_operation() || sites[pair.b].is_operation()) {
        return Err(Refusal::new(
            "`--no-orders` excludes order pairs, and an order pair was given: remove one of the two",
        ));
    }
    results(args, &[&model])?;
    let seeds = if args.save { Some(Seeds::to_keep(&args.saved)?) } else { None };
    let stop = interrupt::install();
    let bar = CampaignBar::new("run");
    let timer = Timer::start(args.time, stop.clone());
    let context_of_runs = campaign::CampaignContext { stop: &stop, progress: &bar };
    let (found, mut report, trials) = violations::campaign(args, &model, &plan, context_of_runs);
    bar.finish();
    let out = &mut context.out;
    let judged = gate.judge(std::iter::once(&report));
    report.gate = Some(judged.clone());
    // The report contains the exit status, so whatever decides it comes first.
    let saved = seeds.as_ref().map_or_else(|| Ok(BTreeSet::new()), |seeds| save(seeds, &model, &report));
    let complete = report.about.complete;
    let interrupted = !complete && !timer.is_up();
    let exit = match () {
        () if saved.is_err() => ExitStatus::Refused,
        () if interrupted => ExitStatus::Interrupted,
        () => gate::status(&judged),
    };
    // Without pairs the result is that about transactions.
    let json = match report.atomicity.as_ref().filter(|_| args.is_of_atomicity()) {
        Some(alone) => alone.to_json(),
        None => report.to_json(),
    };
    if let Some(path) = &args.out {
        files::write(path, &format!("{json}\n"))?;
    }
    if let Some(path) = &args.trials_out {
        files::write(path, &trials.iter().map(|line| line.to_json() + "\n").collect::<String>())?;
    }
    match args.result.format {
        ReportFormat::Text if args.is_of_atomicity() => violations::print(args, &model, &report, &plan.limits, out)?,
        ReportFormat::Text => {
            potential(out, &plan.detection.detectors, &found.phase1);
            // A user who names pairs wants the result of each.
            let given = plan.trials.pairs.is_some();
            let extent = TextExtent { quiet: args.result.quiet, all: args.group.all || given, all_orders: given };
            let (limits, timeline) = (plan.limits, args.timeline);
            ConfirmPrinter { model: &model, limits, extent, timeline }.print(&report, out)?;
            violations::print(args, &model, &report, &plan.limits, out)?;
            let more = suite::left_out(&model, &args.campaign.defines.resolve(), out)?;
            text::left_out(more, out);
        }
        ReportFormat::Json => out.json(&json),
        _ => {
            let mut models = ReportedModels::new(vec![&model], out).allowing(plan.limits);
            let text = args.result.format.render(std::slice::from_ref(&report), (&judged, exit, &[]), &mut models);
            args.result.format.print(&text.unwrap_or_default(), out);
        }
    }
    saved?.iter().for_each(|file| out.note(format_args!("saved {file}")));
    if !complete {
        // The numbers match the summary. Order pairs come after the others.
        let reported = || found.pairs.iter().chain(&found.orders);
        let orders = if plan.trials.orders { found.phase1.orders.len() } else { 0 };
        let (done, all) = (reported().count(), found.phase1.candidates.len() + orders);
        let what = timer.why_stopped();
        if found.complete() {
            out.note(format_args!("{what}: not all declared transactions were judged"));
        } else if done == 0 {
            // The plan says how many there are at least.
            let (runs, least) = (found.phase1.runs, plan.detection.runs);
            let of = if runs < least { format!("{runs} of {least}") } else { runs.to_string() };
            out.note(format_args!("{what} after {of} detection runs; no pair was driven"));
        } else {
            let cut = if reported().all(|p| p.trials.complete) { "" } else { ", the last one incompletely" };
            let orders = if orders > 0 { " and order pairs" } else { "" };
            out.note(format_args!("{what}: {done} of {all} pairs{orders} were driven{cut}"));
        }
        out.note("to make a campaign resumable, start it with `--journal FILE`; the same command with `--resume` continues it");
        if interrupted {
            return Ok(ExitStatus::Interrupted);
        }
        out.note("the same command may give another result");
    }
    Ok(gate.status(&judged, std::iter::once(&report), out))
}

// Saves the run of each harmful order, and of each failure that is not the harm of one order. Returns the names of the
// files.
fn save(seeds: &Seeds, model: &Model, report: &ConfirmReport) -> Result<BTreeSet<String>, Refusal> {
    let mut files = BTreeSet::new();
    let mut keep = |expected: String, (signature, token): (&str, &str), what: &str| {
        let kept = Kept { signature, token, what, by: "confirm" };
        seeds.keep(model, expected, &kept).map(|name| _ = files.insert(name))
    };
    let orders = report.order_pairs.iter().filter(|pair| !pair.is_of_ring());
    for pair in report.pairs.iter().chain(orders) {
        for (_, harm) in words::hurting(pair) {
            let what = words::failure(harm);
            let run = (harm.signature.as_str(), harm.again.token.as_str());
            keep(format!("{} ~ {}: harmful", pair.a.site, pair.b.site), run, &what)?;
        }
    }
    for violation in report.atomicity.iter().flat_map(|of| &of.violations) {
        if let Some(harm) = violation.harm() {
            let expected = format!("no atomicity violation \"{}\"", violation.transaction);
            let run = (harm.signature.as_str(), harm.again.token.as_str());
            keep(expected, run, &words::failure(harm))?;
        }
    }
    for deadlock in report.rings.iter().flat_map(RingFacts::deadlocks) {
        let run = (deadlock.signature.as_str(), deadlock.again.token.as_str());
        keep("no deadlock ring".to_owned(), run, &words::failure(deadlock))?;
    }
    for finding in report.findings() {
        if let Subject::Failure(fails, _) = finding.subject {
            let what = words::failure(fails);
            let run = (fails.signature.as_str(), fails.again.token.as_str());
            keep("no failure".to_owned(), run, &what)?;
        }
    }
    Ok(files)
}
