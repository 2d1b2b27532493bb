//! `raceflip fuzz`: looks for any failure of a model, by runs that learn from each other.
//!
//! The room of learning campaigns: the command, its journal, the corpus of a model, and its result as text (`text`).

mod corpus;
mod inputs;
mod journal;
mod text;

use crate::campaign::{
    self, CampaignContext, CampaignPlan, FuzzFailure, FuzzKeeper, FuzzPlan, FuzzReport, FuzzStart, ModelInputs,
    with_smaller_input,
};
use crate::cli::args::{DefineArgs, JobArgs, LimitArgs, SeedArgs, ToolArgs, VaryArgs, head, workers};
use crate::cli::io::bar::CampaignBar;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::files;
use crate::cli::io::load::Model;
use crate::cli::io::output::many;
use crate::cli::io::reports::{ReportFormat, ReportedModels};
use crate::cli::io::timer::{Timer, duration};
use crate::cli::models::per_model::{CommandModels, Visited};
use crate::cli::run::shrink_mode;
use crate::cli::{CommandContext, Refusal};
use crate::formats::campaign::ConfirmReport;
use crate::formats::fuzz::FuzzReport as FuzzJson;
use crate::formats::gate::{ANY_FAILURE, GateFailure, GateReport};
use crate::formats::report::fuzzed;
use crate::shrink::ShrinkResult;
use crate::token::Token;
use crate::vm;
use corpus::{OpenCorpus, SavedCorpus};
use journal::FuzzJournal;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const ABOUT: &str = "\
Looks for any failure of a model: a failed assert, an exception, a deadlock, messages that can never run, a broken property. Nothing has to be named or detected first. \
The runs learn from each other. Each run is a random walk, partial order sampling or PCT (see `raceflip run --help`), and most of them have an aim: that one statement reads \
what another one has written, which has been rarely seen so far; or to go on from a state where few runs have been. Who held a lock before, and which message was posted before, \
count as reads and writes as well.

The first run that fails is shrunk (see `raceflip shrink --help`), and its timeline and its token are printed. With --keep-going the search goes on, and lists all failures.

Without a failure the result says what the runs have shown: how many of the possible pairs of a write and a read, the statements that no run performed, and the states. \
That proves nothing; `raceflip explore` may.

With --vary each run has values of its own for some constants, so that a search goes over inputs and orders at once. \
What one value has shown of pairs counts for the others. A failing run is shrunk to smaller values first.

With --corpus, failures are saved as `raceflip test` saves them, and runs that together show all pairs that were seen. The next search begins with them. \
With --journal, a search that was interrupted or killed goes on later, as if nothing had happened.

The number of workers changes no result. With --time the number of runs depends on the machine, but run i is the same.";

const AFTER: &str = "\
Examples:
  raceflip fuzz app.race
  raceflip fuzz app.race --runs 100000 --seed 7
  raceflip fuzz app.race --time 8h --runs 1000000000 --keep-going     over night
  raceflip fuzz app.race --runs 1000000 --journal app.journal         goes on with --resume if it is killed
  raceflip fuzz app.race --vary USERS=1..5            with one to four users
  raceflip fuzz app.race --corpus seeds               begin with what earlier searches have saved
  raceflip fuzz models                                all models below a folder (an array in JSON)
  raceflip fuzz app.race --pairs                      also each pair, with the runs that showed it
  raceflip fuzz app.race --format json | jq '.failures[].text'
  raceflip fuzz models --time 10m --keep-going --format junit > fuzz.xml     in CI

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
    /// Stop after this time, as in `30s`, `10m` or `1h`
    ///
    /// The results so far are reported. Their number of runs depends on the machine.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = head::EFFORT)]
    time: Option<Duration>,
    /// Go on after a failure, and list all failures
    #[arg(long, help_heading = head::EFFORT)]
    keep_going: bool,
    /// Begin with the failures and runs that are saved in this folder, and save those of this search there
    #[arg(long, value_name = "DIR", help_heading = head::SAVED)]
    corpus: Option<PathBuf>,
    /// Record the state of the search in this file, at most once a minute and at the end, so that it can be resumed
    #[arg(long, value_name = "FILE", help_heading = head::LONG)]
    journal: Option<PathBuf>,
    /// Resume the search of the journal, if there is one; the result is the same as without the interruption
    #[arg(long, requires = "journal", help_heading = head::LONG)]
    resume: bool,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    jobs: JobArgs,
    /// Print each possible pair, with the number of runs that showed it and that asked for it
    #[arg(long, help_heading = head::RESULT)]
    pairs: bool,
    /// Show failing runs as they were found, without shrinking them
    #[arg(long, help_heading = head::RESULT)]
    no_shrink: bool,
    #[command(flatten)]
    result: ToolArgs,
    #[command(flatten)]
    defines: DefineArgs,
    #[command(flatten)]
    vary: VaryArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// More runs would take years.
const MOST_RUNS: u64 = 1_000_000_000_000;

/// Finished campaign with everything that its report needs.
struct Fuzzed<'m> {
    plan: &'m CampaignPlan,
    fuzz: FuzzPlan,
    /// Inputs, if constants are varied.
    inputs: Option<&'m ModelInputs>,
    found: FuzzReport,
    /// For each failure, the model with the values that its run has.
    models: Vec<Model>,
    /// For each failure, a smaller run with the same failure, if one was looked for and found.
    smaller: Vec<Option<Box<ShrinkResult>>>,
    /// What was saved for later searches.
    saved: Option<SavedCorpus>,
}

pub(super) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let models = CommandModels::find(&args.paths, args.defines.resolve())?;
    if args.journal.is_some() && models.many {
        return Err(Refusal::new("--journal needs a single model: give one file"));
    }
    if !args.vary.vary.is_empty() && models.many {
        return Err(Refusal::new("--vary needs a single model: give one file"));
    }
    let Visited { status, reports: found, unread } =
        models
            .reports_until(args.time, &args.result, context, |model, stop, context| one(&args, model, stop, context))?;
    match args.result.format {
        ReportFormat::Text => {}
        ReportFormat::Json => {
            let objects: Vec<String> = found.iter().map(|found| found.json.to_json()).collect();
            context.out.json(&models.joined(&objects));
        }
        format => {
            let reports: Vec<ConfirmReport> = found.into_iter().flat_map(|found| found.campaigns).collect();
            let mut models = ReportedModels::new(Vec::new(), &context.out).allowing(args.limits.resolve());
            let text = format.render(&reports, (&judged(&reports), status, &unread), &mut models);
            format.print(&text.unwrap_or_default(), &mut context.out);
        }
    }
    Ok(status)
}

/// The result of one model, for other programs.
struct FuzzedReport {
    json: FuzzJson,
    campaigns: Vec<ConfirmReport>,
}

// Judges the reports: a search fails on any failure.
fn judged(reports: &[ConfirmReport]) -> GateReport {
    let count = reports.iter().map(|report| report.detection_failures.len() as u64).sum();
    let failure = GateFailure { on: ANY_FAILURE.to_owned(), count, why: "runs fail".to_owned() };
    GateReport::new(vec![ANY_FAILURE.to_owned()], true, if count > 0 { vec![failure] } else { Vec::new() })
}

// Fuzzes one model. Returns its report, unless the result is text.
fn one(
    args: &Args,
    model: &Model,
    (stop, timer): (&AtomicBool, &Timer),
    context: &mut CommandContext,
) -> Result<(ExitStatus, Option<FuzzedReport>), Refusal> {
    let plan = CampaignPlan {
        limits: args.limits.resolve(),
        seed: args.seed.seed,
        jobs: workers(args.jobs.jobs),
        ..CampaignPlan::new(&**model)
    };
    let fuzz = FuzzPlan { runs: args.runs, keeps_going: args.keep_going };
    let inputs = inputs::of(&args.vary, model, &plan.program, context)?;
    let corpus = args.corpus.as_deref().map(|folder| OpenCorpus::open(folder, model, inputs.as_ref())).transpose()?;
    let mut start = FuzzStart { inputs: inputs.as_ref().map(|inputs| inputs as _), ..FuzzStart::default() };
    if let Some(corpus) = &corpus {
        start.saved = corpus.saved().to_vec();
    }
    let mut journal = None;
    if let Some(path) = &args.journal {
        files::distinct(&[("--journal", Some(path))], ("model", &[&model.path]))?;
        let (open, memory) = FuzzJournal::open(path, &plan, inputs.as_ref(), args.resume)?;
        if let Some(memory) = &memory {
            context.out.note(format_args!("{} are already in the journal", many(memory.runs, "run")));
        }
        start.memory = memory;
        journal = Some(open);
    }
    start.keeper = journal.as_mut().map(|journal| journal as &mut dyn FuzzKeeper);
    let bar = CampaignBar::new("run");
    let found = campaign::fuzz_from(&plan, &fuzz, start, CampaignContext { stop, progress: &bar });
    bar.finish();
    let mut found = found.map_err(|e| journal::cannot(args.journal.as_deref().unwrap_or(Path::new("")), &e))?;
    // The time of `--time` is for the search: a failure that it found is shrunk after it.
    let patient = AtomicBool::new(false);
    let stop = if timer.is_up() { &patient } else { stop };
    if let Some(inputs) = inputs.as_ref().filter(|_| !args.no_shrink) {
        let smaller = |failure: FuzzFailure| with_smaller_input(&plan, inputs, failure, stop);
        found.failures = found.failures.into_iter().map(smaller).collect();
    }
    let models: Vec<Model> =
        found.failures.iter().map(|failure| inputs::model(model, inputs.as_ref(), failure)).collect();
    let smaller = found.failures.iter().zip(&models).map(|(failure, model)| {
        let token = failure.report.evidence.token.parse::<Token>().ok().filter(|_| !args.no_shrink)?;
        shrink_mode::smaller(model, &token, &failure.report.outcome, stop)
    });
    let smaller = smaller.collect();
    let inputs = inputs.as_ref();
    let mut fuzzed = Fuzzed { plan: &plan, fuzz, inputs, smaller, found, models, saved: None };
    let mut refused: Vec<Refusal> = journal.as_ref().and_then(FuzzJournal::refusal).into_iter().collect();
    match corpus.map(|corpus| corpus.save(&fuzzed)).transpose() {
        Ok(saved) => fuzzed.saved = saved,
        Err(refusal) => refused.push(refusal),
    }
    let interrupted = !fuzzed.found.complete && !timer.is_up();
    refused.iter().for_each(|refusal| context.out.refuse(refusal));
    let status = match (fuzzed.found.failures.is_empty(), interrupted) {
        (false, _) => ExitStatus::Found,
        (true, true) => ExitStatus::Interrupted,
        (true, false) => ExitStatus::Nothing,
    };
    let status = if refused.is_empty() { status } else { status.and(ExitStatus::Refused) };
    if args.result.format != ReportFormat::Text {
        let shown = fuzzed.models.iter().zip(&fuzzed.smaller).map(|(model, smaller)| (&**model, smaller.as_deref()));
        let json = FuzzJson::new(model.name(), &plan, &fuzz, &fuzzed.found, &shown.collect::<Vec<_>>());
        let programs: Vec<&vm::Model> = fuzzed.models.iter().map(|model| &**model).collect();
        let campaigns = fuzzed::campaigns(&json, !interrupted, model, &programs);
        return Ok((status, Some(FuzzedReport { json, campaigns })));
    }
    text::print(&fuzzed, args, interrupted, context)?;
    Ok((status, None))
}
