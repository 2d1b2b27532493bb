//! `raceflip fuzz`: looks for any failure of a model, by runs that learn from each other.
//!
//! The room of learning campaigns: the command, and its result as text (`text`).

mod text;

use crate::campaign::{self, CampaignPlan, FuzzPlan, FuzzReport};
use crate::cli::args::{DefineArgs, Format, JobArgs, LimitArgs, ResultArgs, SeedArgs, head, workers};
use crate::cli::io::bar::CampaignBar;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::interrupt;
use crate::cli::io::load::Model;
use crate::cli::io::timer::{Timer, duration};
use crate::cli::models::per_model::CommandModels;
use crate::cli::run::shrink_mode;
use crate::cli::{CommandContext, Refusal};
use crate::formats::fuzz::FuzzReport as FuzzJson;
use crate::shrink::ShrinkResult;
use crate::token::Token;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ABOUT: &str = "\
Looks for any failure of a model: a failed assert, an exception, a deadlock, messages that can never run, a broken property. Nothing has to be named or detected first. \
The runs learn from each other. Each run is a random walk or partial order sampling (see `raceflip run --help`), and most of them have an aim: that one statement reads \
what another one has written, which has been rarely seen so far; or to go on from a state where few runs have been. Who held a lock before, and which message was posted before, \
count as reads and writes as well.

The first run that fails is shrunk (see `raceflip shrink --help`), and its timeline and its token are printed. With --keep-going the search goes on, and lists all failures.

Without a failure the result says what the runs have shown: how many of the possible pairs of a write and a read, the statements that no run performed, and the states. \
That proves nothing; `raceflip explore` may.

The number of workers changes no result. With --time the number of runs depends on the machine, but run i is the same.";

const AFTER: &str = "\
Examples:
  raceflip fuzz app.race
  raceflip fuzz app.race --runs 100000 --seed 7
  raceflip fuzz app.race --time 8h --runs 1000000000 --keep-going     over night
  raceflip fuzz models                                all models below a folder (an array in JSON)
  raceflip fuzz app.race --pairs                      also each pair, with the runs that showed it
  raceflip fuzz app.race --format json | jq '.failures[].text'

Exit status:
  0    no run failed (a run that reaches a limit does not fail)
  1    some run failed
  2    bad input or usage
  130  interrupted, and no run failed; what is known so far is printed";

/// Look for any failure, by runs that learn from each other
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(super) struct Args {
    /// Models, and folders of models
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = FuzzPlan::RUNS, value_parser = clap::value_parser!(u64).range(1..=MOST_RUNS), help_heading = head::EFFORT)]
    runs: u64,
    /// Stop after this time, as in `30s`, `10m` or `8h`
    ///
    /// The results so far are reported. Their number of runs depends on the machine.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = head::EFFORT)]
    time: Option<Duration>,
    /// Go on after a failure, and list all failures
    #[arg(long, help_heading = head::EFFORT)]
    keep_going: bool,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    jobs: JobArgs,
    /// Print each possible pair, with the number of runs that showed it and that asked for it
    #[arg(long, help_heading = head::RESULT)]
    pairs: bool,
    /// Show the failing run as it was found, without shrinking it
    #[arg(long, help_heading = head::RESULT)]
    no_shrink: bool,
    #[command(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    defines: DefineArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// More runs would take years.
const MOST_RUNS: u64 = 1_000_000_000_000;

/// Finished campaign with everything that its report needs.
struct Fuzzed<'m> {
    model: &'m Model,
    plan: &'m CampaignPlan,
    fuzz: FuzzPlan,
    found: FuzzReport,
    /// For each failure, a smaller run with the same failure, if one was looked for and found.
    smaller: Vec<Option<Box<ShrinkResult>>>,
}

pub(super) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let models = CommandModels::find(&args.paths, args.defines.resolve())?;
    let stop = interrupt::install();
    let timer = Timer::start(args.time, stop.clone());
    let why = || if timer.is_up() { "the time is up" } else { "interrupted" };
    let stopped = || stop.load(Ordering::Relaxed).then(why);
    models.each(&args.result, context, stopped, |model, context| one(&args, model, (&stop, &timer), context))
}

// Fuzzes one model. Returns its JSON, if that is the format.
fn one(
    args: &Args,
    model: &Model,
    (stop, timer): (&AtomicBool, &Timer),
    context: &mut CommandContext,
) -> Result<(ExitStatus, Option<String>), Refusal> {
    let plan = CampaignPlan {
        limits: args.limits.resolve(),
        seed: args.seed.seed,
        jobs: workers(args.jobs.jobs),
        ..CampaignPlan::new(&**model)
    };
    let fuzz = FuzzPlan { runs: args.runs, keeps_going: args.keep_going };
    let bar = CampaignBar::new("run");
    let found = campaign::fuzz(&plan, &fuzz, campaign::CampaignContext { stop, progress: &bar });
    bar.finish();
    let smaller = found.failures.iter().map(|failure| {
        let token = failure.report.evidence.token.parse::<Token>().ok().filter(|_| !args.no_shrink)?;
        // The time of `--time` is for the search: a failure that it found is shrunk after it.
        let patient = AtomicBool::new(false);
        let stop = if timer.is_up() { &patient } else { stop };
        shrink_mode::smaller(model, &token, &failure.report.outcome, stop)
    });
    let fuzzed = Fuzzed { model, plan: &plan, fuzz, smaller: smaller.collect(), found };
    let interrupted = !fuzzed.found.complete && !timer.is_up();
    let status = match (fuzzed.found.failures.is_empty(), interrupted) {
        (false, _) => ExitStatus::Found,
        (true, true) => ExitStatus::Interrupted,
        (true, false) => ExitStatus::Nothing,
    };
    if args.result.format == Format::Json {
        let smaller: Vec<_> = fuzzed.smaller.iter().map(Option::as_deref).collect();
        let json = FuzzJson::new(model.name(), &plan, &fuzz, &fuzzed.found, &smaller).to_json();
        return Ok((status, Some(json)));
    }
    text::print(&fuzzed, args, interrupted, context)?;
    Ok((status, None))
}
