//! `raceflip test`: do the `expect` lines of models hold?

mod tell;

use super::args::{Defines, Format, LimitArgs};
use super::campaign::{Bar, Runs, number_of_runs, workers};
use super::exit::Status;
use super::seeds::{self, Seeds};
use super::suite::{Case, Suite};
use super::{Context, Refusal, interrupt};
use crate::campaign::{self, Plan, Progress, TestPlan, Tested};
use crate::formats::test::{TestReport, Variant};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use tell::Told;

const ABOUT: &str = "\
Runs models and says which of their `expect` lines hold. A folder stands for all `.race` files below it.

A model is tested once for each variant that the conditions of its lines speak of: `expect failure if FIXED == 0` and `expect no \
failure if FIXED == 1` are the variants FIXED=0 and FIXED=1. A line that wants something to happen holds if some run shows it; for \
what is rare up to a hundred times --runs are made, and campaigns as `raceflip confirm` makes them. A line that wants something never to happen \
holds if no run shows it: that is no proof. (It is not checked, and the variant fails, if a limit cuts all runs.) \
For lines about order the random walks count.

A failure that must not be is saved in the folder `seeds`, and made again first by every later test, until it is gone and the file is deleted. \
What is shown and saved is shrunk first (`raceflip shrink` says how): a smaller run with the same end.";

const AFTER: &str = "\
Examples:
  raceflip test models                       everything below a folder
  raceflip test app.race -D FIXED=1          one variant
  raceflip test models --filter queue --filter FIXED=1
  raceflip test models --runs 20000 --seed 7 --no-save
  raceflip test models --format json | jq '.variants[] | select(.verdict == \"failed\") | .file'

Exit status:
  0    all lines hold, as far as the runs tell
  1    some do not
  2    a model, a seed file or the command line is not right; what is right was tested
  130  interrupted; what was tested by then is printed";

/// Check whether the `expect` lines of models hold
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(super) struct Args {
    /// Models, and folders of models
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Test only variants with this text in their name, as it is printed: path and constants (may be repeated: any of them)
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Random walks for each variant
    #[arg(long, value_name = "N", default_value = "2000", value_parser = number_of_runs())]
    runs: u32,
    /// Search all states of variants that have no more of them than this, instead of random walks (0: never)
    #[arg(long, value_name = "STATES", default_value_t = TestPlan::STATES)]
    explore_limit: u64,
    /// Trials of each potential pair, where lines speak of pairs, or where walks do not show what must be
    #[arg(long, value_name = "N", default_value_t = Plan::TRIALS, value_parser = number_of_runs())]
    trials: u32,
    /// Decides every choice of every run
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Workers; the result is the same for any number [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// The folder of saved failures
    #[arg(long, value_name = "DIR", default_value = "seeds")]
    seeds: PathBuf,
    /// Save no failures (those that are saved are still made again)
    #[arg(long)]
    no_save: bool,
    /// Show and save runs as they were drawn, and not smaller ones that end in the same way
    #[arg(long)]
    no_shrink: bool,
    /// The form of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    defines: Defines,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Status, Refusal> {
    let mut seeds = Seeds::open(&args.seeds)?;
    let suite = Suite::load(&args.paths, &args.defines.resolve(), &args.filter, &seeds, &context.out)?;
    let stop = interrupt::install();
    let jobs = workers(args.jobs);
    // Variants side by side; what workers are left over share the runs of one.
    let outer = jobs.min(suite.cases.len()).max(1);
    let plan = |case: &Case| Plan {
        limits: args.limits.resolve(),
        seed: args.seed,
        trials: args.trials,
        jobs: (jobs / outer).max(1),
        ..Plan::new(&case.model)
    };
    let plans: Vec<TestPlan<'_>> = suite
        .cases
        .iter()
        .map(|case| TestPlan {
            model: &case.model,
            states: args.explore_limit,
            campaign: plan(case),
            walks: args.runs,
            saved: &case.saved,
            shrinks: !args.no_shrink,
        })
        .collect();
    let bar = Bar::new("variant");
    bar.phase("testing", plans.len() as u64);
    let runs = Runs::new(&bar);
    let mut told = Told::new(&suite, &plans, args.format, &bar, &mut context.out);
    let mut variants = Vec::new();
    campaign::in_order(
        outer,
        plans.len(),
        &stop,
        || (),
        |(), i| campaign::test(&plans[i], campaign::Context { stop: &stop, progress: &runs }),
        |i, tested: Tested| {
            bar.done();
            let files =
                if args.no_save { seeds::Files::new() } else { seeds.save(&suite.cases[i], &plans[i], &tested) };
            variants.push(Variant::new(suite.cases[i].model.name(), told.verdict(&tested), &plans[i], &tested));
            told.variant(i, tested, files);
        },
    );
    bar.finish();
    let tally = told.finish();
    let tested = variants.iter().filter(|v| v.complete).count();
    let mut refused = suite.refused;
    refused.extend(seeds.refused());
    let complete = tested == suite.cases.len();
    if args.format == Format::Json {
        let texts = refused.iter().map(Refusal::plain).collect();
        let report = TestReport::new(args.seed, args.runs, complete, variants, texts);
        context.out.json(&report.to_json());
    }
    for refusal in &refused {
        context.out.refuse(refusal);
    }
    let interrupted = !complete && stop.load(Ordering::Relaxed);
    if interrupted {
        context.out.note(format_args!("interrupted: {tested} of {} variants were tested", suite.cases.len()));
    }
    Ok(match () {
        () if interrupted => Status::Interrupted,
        () if !refused.is_empty() => Status::Refused,
        () if tally.failed > 0 => Status::Found,
        () => Status::Nothing,
    })
}
