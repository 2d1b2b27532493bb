//! `raceflip test`: checks whether the `expect` lines of models hold.
//!
//! The room of tests: the command, its results as text, and `--bless`, which rewrites lines that do not hold.

mod bless;
mod text;

use crate::base::{clean, counted};
use crate::campaign::{self, CampaignPlan, CampaignProgress, TestPlan, TestResult, TrialPlan};
use crate::cli::args::{DefineArgs, JobArgs, LimitArgs, SeedArgs, ToolArgs, head, number_of_runs, workers};
use crate::cli::confirm::gate;
use crate::cli::io::bar::{CampaignBar, Runs};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::interrupt;
use crate::cli::models::seeds::{self, Seeds};
use crate::cli::models::suite::{Case, Suite, SuiteSelection, Variants};
use crate::cli::{CommandContext, Refusal};
use crate::formats::gate::{GateFailure, GateReport, UNMET};
use crate::formats::test::{TestReport, TestedInputs, Variant};
use crate::lang::variants::InputCount;
use clap::ValueEnum;
use indicatif::HumanCount;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use text::ResultPrinter;

const ABOUT: &str = "\
Runs models and prints which of their `expect` lines hold. A folder stands for all `.race` files below it.

A constant with a declared range (`const N in 1..4 = 2`) is an input: the lines hold for all of its values. A small range is tested as a whole, \
of a larger one its ends and the value of the model; `raceflip fuzz` draws the others. A note says how many inputs there are.

A model is tested once for each variant that the conditions of its lines name: `expect failure if FIXED == 0` and `expect no \
failure if FIXED == 1` name the variants FIXED=0 and FIXED=1. A line that requires something holds if some run shows it. For \
rare behavior, raceflip performs up to a hundred times --walks, and campaigns like those of `raceflip fuzz` and `raceflip confirm`. A line that forbids something \
holds if no run shows it, also none of as many runs as walks that learn from each other, which is not a proof. (If a limit cuts all runs, the line is not checked, and the variant fails.) \
For lines about order, the random walks count. A model without `expect` lines expects that no run fails, deadlocks or gets stuck.

A forbidden failure is saved in the folder `seeds`. Every later test replays it first, until the failure is gone and the file is deleted. \
Failures are shrunk before they are shown and saved (see `raceflip shrink --help`): to smaller runs with the same end.";

const AFTER: &str = "\
Examples:
  raceflip test models                       everything below a folder
  raceflip test app.race -D FIXED=1          one variant
  raceflip test models --filter queue --filter FIXED=1
  raceflip test models --bless               rewrite lines that do not hold
  raceflip test models --walks 20000 --seed 7 --no-save
  raceflip test models --fail-on limits,unchecked --format junit > junit.xml    a gate in CI
  raceflip test models --format json | jq '.variants[] | select(.verdict == \"failed\") | .file'

Exit status:
  0    all lines hold in the runs that were performed
  1    some line does not hold, or a condition of --fail-on is met
  2    a model, a saved failure or the command line is invalid; valid models were tested
  130  interrupted; the results so far are printed";

/// Check whether the `expect` lines of models hold
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(super) struct Args {
    /// Models and folders of models; each model is tested in all variants that its `expect` lines name
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only variants whose printed name (path and constants) contains this text (may be repeated: any of them)
    #[arg(long, value_name = "TEXT", help_heading = head::MODEL)]
    filter: Vec<String>,
    #[command(flatten)]
    defines: DefineArgs,
    /// Number of random walks for each variant
    #[arg(long, alias = "runs", value_name = "N", default_value = "2000", value_parser = number_of_runs(), help_heading = head::EFFORT)]
    walks: u32,
    /// Maximum number of states to search
    ///
    /// A variant with at most this many states is searched instead of tested by random walks (0: no search).
    #[arg(long, value_name = "STATES", default_value_t = TestPlan::STATES, help_heading = head::EFFORT)]
    explore_limit: u64,
    /// Number of trials of each pair, for each kind of trial
    ///
    /// Trials are performed for lines about pairs, and where walks do not show required behavior.
    #[arg(long, value_name = "N", default_value_t = CampaignPlan::TRIALS, value_parser = number_of_runs(), help_heading = head::EFFORT)]
    trials: u32,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    jobs: JobArgs,
    /// Exit with 1 also in these cases, separated by commas; for a gate in CI, use `limits,unchecked`
    #[arg(long, value_enum, value_name = "WHAT,...", value_delimiter = ',', help_heading = head::GATE)]
    fail_on: Vec<TestFailOn>,
    #[command(flatten)]
    result: ToolArgs,
    /// Show failing runs as they were found, without shrinking them
    #[arg(long, help_heading = head::RESULT)]
    no_shrink: bool,
    /// Folder of saved failures
    #[arg(long, alias = "seeds", value_name = "DIR", default_value = "seeds", help_heading = head::SAVED)]
    saved: PathBuf,
    /// Do not save failures (saved failures are still replayed)
    #[arg(long, help_heading = head::SAVED)]
    no_save: bool,
    /// Rewrite lines that do not hold to match the model, where its behavior is known
    ///
    /// Behavior is known from a search of all states, from a run that shows it, and from the verdict of a pair. A model
    /// without lines gets one, `expect outcomes`. \
    /// Undecided lines are kept and reported. Nothing else in a file changes.
    #[arg(long, conflicts_with_all = ["filter", "defines"], help_heading = head::RESULT)]
    bless: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Further reasons for a test to fail: the values of `--fail-on`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum TestFailOn {
    /// A line that could not be checked
    Unchecked,
    /// A run that reached a limit: later steps are unknown
    Limits,
}

// Returns the judgment of the gate. `unmet` is the number of variants that fail, which fail every test.
fn judge(on: &[TestFailOn], variants: &[Variant], unmet: u64) -> GateReport {
    let unchecked = variants.iter().flat_map(|v| &v.expectations).filter(|e| e.verdict == "unchecked").count() as u64;
    let cut = variants.iter().flat_map(|v| &v.limits).map(|c| u64::from(c.runs)).sum();
    let asks = |what| on.contains(&what);
    let all = [
        (asks(TestFailOn::Unchecked), unchecked, "unchecked", "lines could not be checked"),
        (asks(TestFailOn::Limits), cut, "limits", "runs reached a limit, so later steps are unknown"),
        (true, unmet, UNMET, "variants fail"),
    ];
    let asked: Vec<_> = all.into_iter().filter(|(asked, ..)| *asked).collect();
    let failure =
        |&(_, count, on, why): &(bool, u64, &str, &str)| GateFailure { on: on.to_owned(), count, why: why.to_owned() };
    let failed = asked.iter().filter(|(_, count, ..)| *count > 0).map(failure).collect();
    GateReport::new(asked.iter().map(|(_, _, word, _)| (*word).to_owned()).collect(), on.is_empty(), failed)
}

pub(super) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let mut seeds = Seeds::open(&args.saved)?;
    let defines = args.defines.resolve();
    let given = SuiteSelection { paths: &args.paths, defines: &defines, filter: &args.filter, which: Variants::All };
    let mut suite = Suite::load(&given, &seeds, &context.out)?;
    if args.bless {
        bless::give_lines(&mut suite, &context.out)?;
    }
    let suite = suite;
    let stop = interrupt::install();
    let jobs = workers(args.jobs.jobs);
    // Variants are tested in parallel. If there are more workers than variants, the runs of each variant share the
    // rest.
    let outer = jobs.min(suite.cases.len()).max(1);
    let plan = |case: &Case| CampaignPlan {
        limits: args.limits.resolve(),
        seed: args.seed.seed,
        jobs: (jobs / outer).max(1),
        trials: TrialPlan { count: args.trials, ..TrialPlan::default() },
        ..CampaignPlan::new(&*case.model)
    };
    let plans: Vec<TestPlan<'_>> = suite
        .cases
        .iter()
        .map(|case| TestPlan {
            model: &case.model,
            states: args.explore_limit,
            campaign: plan(case),
            walks: args.walks,
            saved: &case.saved,
            shrinks: !args.no_shrink,
        })
        .collect();
    let bar = CampaignBar::new("variant");
    bar.phase("testing", plans.len() as u64);
    let runs = Runs::new(&bar);
    let mut printer = ResultPrinter::new(&suite, &plans, &args.result, &bar, &mut context.out);
    let (mut variants, mut all_tested) = (Vec::new(), Vec::new());
    campaign::in_order(
        outer,
        plans.len(),
        &stop,
        || (),
        |(), i| campaign::test(&plans[i], campaign::CampaignContext { stop: &stop, progress: &runs }),
        |i, tested: TestResult| {
            bar.done();
            let files = if args.no_save || args.bless {
                seeds::Files::new()
            } else {
                seeds.save(&suite.cases[i], &plans[i], &tested)
            };
            variants.push(Variant::new(suite.cases[i].model.name(), printer.verdict(&tested), &plans[i], &tested));
            if args.bless {
                all_tested.push(tested.clone());
            }
            printer.variant(i, tested, files);
        },
    );
    bar.finish();
    let tally = printer.finish();
    let tested = variants.iter().filter(|v| v.complete).count();
    let mut refused = suite.refused;
    refused.extend(seeds.refused());
    let complete = tested == suite.cases.len();
    // All files are rewritten or none: a variant that could not be read or tested may belong to a line that would be
    // rewritten.
    let blesses = args.bless && complete && refused.is_empty();
    let blessed = blesses.then(|| bless::bless(&suite.cases, &all_tested, &mut context.out));
    let any_left = blessed.as_ref().map(|b| b.left > 0 || b.rewritten == 0 && tally.failed > 0);
    refused.extend(blessed.into_iter().flat_map(|blessed| blessed.refused));
    if args.bless && !blesses {
        context.out.note("nothing was rewritten");
    }
    let unmet = if any_left.unwrap_or(tally.failed > 0) { tally.failed.max(1) as u64 } else { 0 };
    let judged = judge(&args.fail_on, &variants, unmet);
    let interrupted = !complete && stop.load(Ordering::Relaxed);
    let exit = match () {
        () if interrupted => ExitStatus::Interrupted,
        () if !refused.is_empty() => ExitStatus::Refused,
        () => gate::status(&judged),
    };
    let texts = refused.iter().map(Refusal::plain).collect();
    let mut report = TestReport::new(args.seed.seed, args.walks, complete, variants, texts);
    report.gate = Some(judged.clone());
    let inputs = |(file, count): &(String, InputCount)| TestedInputs {
        file: file.clone(),
        tested: count.tested,
        possible: count.possible,
    };
    report.inputs = suite.inputs.iter().map(inputs).collect();
    for (name, InputCount { tested, possible }) in &suite.inputs {
        let (tested, possible, name) = (HumanCount(*tested), HumanCount(*possible), clean(name));
        context.out.note(format_args!("{name}: {tested} of {possible} inputs are variants"));
    }
    if let Some(first) = suite.impossible.first() {
        let count = counted(suite.impossible.len() as u64, "input");
        let why: Vec<String> = first.lines().map(clean).collect();
        context.out.note(format_args!("{count} left out, because the model cannot have it: {}", why.join(" ")));
    }
    if let Some(text) = args.result.format.test(&report, exit) {
        args.result.format.print(&text, &mut context.out);
    }
    gate::note(&judged, &mut context.out);
    for refusal in &refused {
        context.out.refuse(refusal);
    }
    if interrupted {
        // The numbers match the summary: an interrupted variant that has failed counts as tested.
        let (done, all) = (tally.done, suite.cases.len());
        let cut = if tested < done { format!(", {} of them incompletely", done - tested) } else { String::new() };
        context.out.note(format_args!("interrupted: {done} of {all} variants were tested{cut}"));
    }
    Ok(exit)
}
