//! `raceflip run`: performs one run of a model, and prints it as a timeline.
//!
//! The room of single runs: the commands `run`, `replay` and `shrink`, the plan that their arguments resolve to
//! (`plan`), and everything that is printed about one run: its timeline, its outcome, its state, and how a replay
//! followed its recording. The rooms above print outcomes and timelines with the same code.

mod beside;
mod followed;
pub(super) mod one_run;
pub(super) mod outcome;
pub(super) mod plan;
mod progress;
pub(super) mod replay;
pub(super) mod shrink;
pub(super) mod shrink_mode;
mod state;
pub(super) mod timeline;
mod tolerance;

use crate::campaign;
use crate::cli::args::{DefineArgs, LimitArgs, ReportArgs, SeedArgs, head};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load;
use crate::cli::{CommandContext, Refusal};
use crate::sched::StrategySpec;
use plan::{ChoiceSource, Report, RunPlan};
use shrink_mode::ShrinkMode;
use state::StateArgs;
use std::path::PathBuf;

const ABOUT: &str = "\
Runs a model once and prints a timeline. It has a column for each thread and looper, and a row for each step: the operation, \
the values that it read and wrote, and its place in the model. Below the timeline are the outcome of the run and a token that replays it. \
The README explains the signs.

The seed determines every choice. The default is 0, so the same command prints the same run on every machine.

A failing run is shrunk (see `raceflip shrink --help`): raceflip prints the timeline and the token of a smaller run that fails in the same way, and a line says so. \
--no-shrink prints the run as it was found. So do --trace, --perfetto, --until and --state, because they show that run itself. The JSON also describes the run as \
it was found, together with the token of the smaller run.";

const AFTER: &str = "\
Strategies:
  random            each open choice has the same probability (the default)
  round-robin       the threads act in turn, one step each
  pct:D             PCT: random priorities, lowered at D - 1 random steps. It finds a bug of depth D
                    with probability at least 1/(n K^(D-1)), for n actors and K steps. The default
                    of D is 3. `pct:D,steps=K` sets K; its default is the length of a round-robin run.
  delay:D           delay bounding: each thread runs until it blocks. At D random steps of the
                    first K, the next thread is passed over. The default of D is 2; K is as for pct.
                    After K steps, pct and delay continue as `random`.
  pctcp:D           PCTCP: PCT with a priority for each chain of threads and tasks that follow each
                    other by posts, forks, joins and queues. It finds a bug of depth D with
                    probability at least 1/(W^2 K^(D-1)), for W concurrent chains. D and K are as
                    for pct.
  pos               partial order sampling: each pending operation has a random priority, which is
                    drawn again when a conflicting operation is performed. N steps of a thread
                    without conflicts come before an operation of another thread once in N + 1
                    runs; in a random walk, once in 2^N runs.
  surw:A,B,...      SURW: all orders of the interesting events have the same probability. These are
                    the events of the named sites. `surw` alone takes all accesses, atomics,
                    acquisitions and signals. A round-robin run counts them.
  directed:A~B      RaceFuzzer: postpones a thread at one of two sites until another thread reaches
                    the other site. A site is `@label`, `@label.read of x`, or LINE:COLUMN.
                    `directed:A~B,patience=N` postpones it for at most N steps.
                    `directed:A~B,visits=N/M` skips some of the first visits, up to N at A and M at
                    B. Each run draws how many. This is for sites in hot loops.
  hold:A<B          B waits until A was performed. The strategy holds the access B itself, the
                    post, fork or firing that leads to it, or the clock. One detection run shows
                    which of these can be held. `way=N` takes the N-th nearest one, from 1; without
                    it a run draws one. `profile=SEED` selects the detection run; the default is 0,
                    the round robin. `guided` makes all other threads follow that run, if possible.
  avoid:A,B,...     a thread that is pending at one of these sites waits while another actor is
                    enabled, for at most 1,000 steps. So runs get past a failure. All other choices
                    are those of a random walk.
  asked:A>B         a random walk that prefers B where A was the last to write, and puts off actors
                    that would spoil that. `first` as A is the first value. `asked:A>B:pos` does so on
                    partial order sampling. `raceflip fuzz` makes such runs.

Examples:
  raceflip run app.race
  raceflip run app.race --seed 7 -D FIXED=1
  raceflip run app.race --strategy directed:@store~@load --quiet
  raceflip run app.race --strategy pct:3 --seed 7
  raceflip run app.race --strategy surw:@store,@load --seed 7
  raceflip run app.race --seed 7 --no-shrink
  raceflip run app.race --format json | jq .outcome
  raceflip run app.race --only main,worker --around 120
  raceflip run app.race --format mermaid > run.mmd
  raceflip run app.race --format svg > run.svg
  raceflip run app.race --trace run.jsonl --quiet
  raceflip run app.race --perfetto run.json --quiet     for ui.perfetto.dev
  for s in $(seq 100); do raceflip run -q app.race --seed $s || break; done";

/// Run a model once, and print its timeline and its outcome
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(in crate::cli) struct Args {
    /// The model
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    seed: SeedArgs,
    #[arg(long, value_name = "STRATEGY", default_value = "random", help_heading = head::EFFORT)]
    #[arg(help = format!("Strategy that makes the choices: {}", StrategySpec::syntax()))]
    strategy: StrategySpec,
    /// Show failing runs as they were found, without shrinking them
    #[arg(long, help_heading = head::RESULT)]
    no_shrink: bool,
    #[command(flatten)]
    defines: DefineArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    state: StateArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    if args.file.is_dir() {
        let name = args.file.to_string_lossy().into_owned();
        return Err(Refusal::new(format_args!(
            "`{name}` is a folder, and `run` performs one run of one model: name a file in it, or use `raceflip test`, `confirm`, `detect`, `explore` or `check`, which accept folders"
        )));
    }
    let model = load::model(&args.file, &args.defines.resolve(), &context.out)?;
    let limits = args.limits.resolve();
    let spec = args.strategy.profiled(|| one_run::profile(&model, limits));
    let campaign: campaign::CampaignPlan = campaign::CampaignPlan { limits, ..campaign::CampaignPlan::new(&model) };
    let spec = spec.with_holds(|hold| campaign::holds(&campaign, hold)).map_err(Refusal::new)?;
    let spec = spec.with_counts(|surw| campaign::counts(&*model, limits, surw)).map_err(Refusal::new)?;
    let strategy = spec.build(&model.code.setup.sites).map_err(Refusal::new)?;
    let report = Report::resolve(&args.report, args.state, &model)?;
    let shrinks = !args.no_shrink && report.is_plain();
    let plan = RunPlan {
        limits,
        allowed: limits,
        choices: ChoiceSource::Draw(Box::new(strategy)),
        strategy: spec.to_string(),
        seed: args.seed.seed,
        report,
        shrinking: if shrinks { ShrinkMode::IfItFails } else { ShrinkMode::Off },
        model,
    };
    one_run::perform(plan, context)
}
