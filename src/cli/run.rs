//! `raceflip run`: performs one run of a model, and prints it as a timeline.

use super::args::{Defines, LimitArgs, ReportArgs, SeedArgs, head};
use super::exit::Status;
use super::plan::{Choices, Plan, Report};
use super::shrunk::Shrinking;
use super::state::StateArgs;
use super::{Context, Refusal, load, single};
use crate::campaign;
use crate::sched::StrategySpec;
use std::path::PathBuf;

const ABOUT: &str = "\
Runs a model once and prints what happened as a timeline: a column for each thread and looper, a row for each step, with what it did, \
the values it read and wrote, and where it stands in the model; then how the run ended, and a token that replays it. \
The README explains the signs.

The seed decides every choice. It is 0 unless another one is given, so the same command prints the same run, on any machine.

A run that fails is shrunk (`raceflip shrink` says how): the timeline and the token are those of a smaller run that fails in the same way, and a line says so. \
--no-shrink shows the run as it was drawn; so do --trace, --perfetto, --until and --state, which look into that very run. The JSON is about the run as \
drawn as well, and has the token of the smaller one beside it.";

const AFTER: &str = "\
Strategies:
  random            every choice that is open is as likely as any other (the default)
  round-robin       threads in turn, one step each
  pct:D             PCT: random priorities, lowered at D - 1 random steps. Finds a bug of depth D
                    with probability 1/(n K^(D-1)) at least, for n actors and K steps. D is 3
                    unless given. `pct:D,steps=K`: K, else the steps of a round-robin run.
  delay:D           delay bounding: each thread runs until it blocks, but D times, at random steps
                    of K, the one that would act is passed over. D is 2 unless given; K as for pct.
                    Both go on as `random` after K steps.
  pctcp:D           PCTCP: PCT with a priority for each chain of threads and tasks that follow each
                    other by posts, forks, joins and queues. Finds a bug of depth D with probability
                    1/(W^2 K^(D-1)) at least, for W of them side by side. D and K as for pct.
  pos               partial order sampling: a random priority for each pending operation, drawn anew
                    where one was performed that conflicts with it. N steps of a thread that
                    conflict with nothing come before an operation of another one once in N + 1
                    runs, and not once in 2^N as in a random walk.
  surw:A,B,...      SURW: each order of the interesting events is as likely as any other. They are
                    those of the named sites; `surw`: all accesses, atomics, acquisitions and
                    signals. Their numbers are those of a round-robin run.
  directed:A~B      RaceFuzzer: holds a thread back at one of two sites until another reaches
                    the other. A site is `@label`, `@label.read of x`, or LINE:COLUMN.
                    `directed:A~B,patience=N`: holds it back for N steps at most.
                    `directed:A~B,visits=N/M`: passes over some of the first visits, up to N at A
                    and M at B, drawn anew in each run: for sites in hot loops.
  hold:A<B          B waits until A was performed: the access itself is held, or the post, fork or
                    firing that brings it about, or the clock. What can be held is seen in one run.
                    `way=N`: holds in the N-th nearest way, from 1; else a run draws one.
                    `profile=SEED`: the detection run that shows the ways; 0, the round robin,
                    unless given. `guided`: all others do what they did there, as far as they can.
  avoid:A,B,...     whoever stands at one of these sites waits as long as anybody else can act, for
                    1,000 steps at most: runs that get past a failure. All else is a random walk.

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
  raceflip run app.race --trace run.jsonl --quiet
  raceflip run app.race --perfetto run.json --quiet     for ui.perfetto.dev
  for s in $(seq 100); do raceflip run -q app.race --seed $s || break; done";

/// Run a model once, and print its timeline and how it ended
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(super) struct Args {
    /// The model
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    seed: SeedArgs,
    #[arg(long, value_name = "STRATEGY", default_value = "random", help_heading = head::EFFORT)]
    #[arg(help = format!("How choices are made: {}", StrategySpec::syntax()))]
    strategy: StrategySpec,
    /// Show runs as they were drawn, and not smaller ones that end in the same way
    #[arg(long, help_heading = head::RESULT)]
    no_shrink: bool,
    #[command(flatten)]
    defines: Defines,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    state: StateArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Status, Refusal> {
    if args.file.is_dir() {
        let name = args.file.to_string_lossy().into_owned();
        return Err(Refusal::new(format_args!(
            "`{name}` is a folder, and `run` makes one run of one model: name a file in it, or take `raceflip test`, `confirm`, `detect`, `explore` or `check`, which take folders"
        )));
    }
    let model = load::model(&args.file, &args.defines.resolve(), &context.out)?;
    let limits = args.limits.resolve();
    let spec = args.strategy.profiled(|| single::profile(&model, limits));
    let campaign: campaign::Plan = campaign::Plan { limits, ..campaign::Plan::new(&model) };
    let spec = spec.with_holds(|hold| campaign::holds(&campaign, hold)).map_err(Refusal::new)?;
    let spec = spec.with_counts(|surw| campaign::counts(&*model, limits, surw)).map_err(Refusal::new)?;
    let strategy = spec.build(&model.code.setup.sites).map_err(Refusal::new)?;
    let report = Report::resolve(&args.report, args.state, &model)?;
    let shrinks = !args.no_shrink && report.is_plain();
    let plan = Plan {
        limits,
        allowed: limits,
        choices: Choices::Draw(Box::new(strategy)),
        strategy: spec.to_string(),
        seed: args.seed.seed,
        report,
        shrinking: if shrinks { Shrinking::IfItFails } else { Shrinking::Off },
        model,
    };
    single::perform(plan, context)
}
