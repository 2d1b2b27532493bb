//! `raceflip detect`: finds the pairs of accesses that may race.

use crate::base::counted;
use crate::campaign::{self, Phase1, TrialPlan};
use crate::cli::args::{AtomicityArgs, CampaignArgs, DetectorArg, Format, ResultArgs, head};
use crate::cli::confirm::found::{failure, kinds, pair, potential};
use crate::cli::io::bar::CampaignBar;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load::Model;
use crate::cli::io::output::{BAD, BOLD, Output, paint};
use crate::cli::io::{files, interrupt};
use crate::cli::models::per_model::CommandModels;
use crate::cli::{CommandContext, Refusal};
use crate::detect::{Candidate, DetectorId};
use crate::formats::atomicity::{AtomicityReport, SpecificationReport};
use crate::formats::detect::DetectReport;
use crate::formats::pairs::PairsFile;
use crate::formats::report::rings;
use crate::formats::ring;
use crate::formats::use_free::UseFreeFields;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

const ABOUT: &str = "\
Runs a model with several seeds and prints the pairs of accesses that may race. It uses hybrid detection, extended to loopers. Two accesses \
are a potential pair if they touch the same memory, one writes, they belong to different threads or tasks, no common lock guards \
them, and no operation of the run orders them. A potential pair may be false: `raceflip confirm` decides that. It also prints deadlock rings: threads or tasks each of which holds a lock \
and wants one that the next of them holds.";

const AFTER: &str = "\
Examples:
  raceflip detect app.race
  raceflip detect app.race --runs 200 --seed 1
  raceflip detect app.race --detector all   each pair with the detectors that report it
  raceflip detect app.race --detector atomicity   components and blocks that runs show not to be in one piece
  raceflip detect app.race --format json
  raceflip detect models                    all models below a folder (an array in JSON)
  raceflip detect app.race --out pairs.json && raceflip confirm app.race --pairs-from pairs.json";

/// Print the pairs of accesses that may race
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Models, and folders of models
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    result: ResultArgs,
    /// Write the result to this file
    ///
    /// The file contains the pairs of one model, for `raceflip confirm --pairs-from`.
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    out: Option<PathBuf>,
    /// Print also what a filter of the detector `cafa` excludes (rank D), with the reason
    #[arg(long, help_heading = head::RESULT)]
    guarded: bool,
    #[command(flatten)]
    atomic: AtomicityArgs,
    /// Print all cycles of each violation of atomicity, and those of causes only
    #[arg(long, help_heading = head::RESULT)]
    all: bool,
    #[command(flatten)]
    campaign: CampaignArgs,
}

// Detectors that report the pair, if there are several detectors.
fn seen_by(detectors: &[DetectorId], candidate: &Candidate) -> String {
    let names: Vec<&str> = candidate.by.iter().map(|by| by.name()).collect();
    let names_detectors = detectors.len() > 1 || candidate.by.contains(&DetectorId::SEARCH);
    if names_detectors { format!("  by {}", names.join(", ")) } else { String::new() }
}

// Contexts in which the pair was seen.
fn seen_in(candidate: &Candidate) -> String {
    if candidate.by.contains(&DetectorId::SEARCH) { "in no run".to_owned() } else { kinds(&candidate.kinds) }
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    if args.campaign.detector == DetectorArg::Atomicity && args.out.is_some() {
        return Err(Refusal::new("`--out` is a list of pairs, and the analysis of atomicity finds none: leave it out"));
    }
    if matches!(args.campaign.detector, DetectorArg::Pairs(_) | DetectorArg::Static)
        && (args.atomic.is_given() || args.all)
    {
        return Err(Refusal::new(
            "`--atomic`, `--edges` and `--all` are options of the analysis of atomicity: add `--detector atomicity`",
        ));
    }
    let models = CommandModels::find(&args.paths, args.campaign.defines.resolve())?;
    if let Some(path) = &args.out {
        if models.many {
            return Err(Refusal::new("`--out` needs exactly one model: give one file"));
        }
        files::may_write(path)?;
    }
    let stop = interrupt::install();
    let stopped = || stop.load(Ordering::Relaxed).then_some("interrupted");
    models.each(&args.result, context, stopped, |model, context| one(&args, model, &stop, context))
}

// Detects the pairs of one model. Returns its JSON, if that is the format.
fn one(
    args: &Args,
    model: &Model,
    stop: &AtomicBool,
    context: &mut CommandContext,
) -> Result<(ExitStatus, Option<String>), Refusal> {
    let plan = args.campaign.plan(model, TrialPlan { count: 0, ..TrialPlan::default() });
    let plan = args.campaign.analyzed(model, plan, false);
    if args.campaign.detector == DetectorArg::Atomicity {
        let Shown { report, lines, complete } = violations(args, model, &plan, stop);
        let status = match (complete, report.is_violated()) {
            (false, _) => ExitStatus::Interrupted,
            (true, true) => ExitStatus::Found,
            (true, false) => ExitStatus::Nothing,
        };
        let is_json = args.result.format == Format::Json;
        if !is_json {
            lines.iter().for_each(|line| writeln!(context.out, "{line}"));
        }
        if !complete {
            context.out.note(format_args!(
                "interrupted after {} of {} runs",
                report.runs.unwrap_or(0),
                plan.detection.runs
            ));
        }
        return Ok((status, is_json.then(|| report.to_json())));
    }
    let bar = CampaignBar::new("run");
    let found = campaign::detect(&plan, campaign::CampaignContext { stop, progress: &bar });
    bar.finish();
    if let Some(path) = &args.out {
        let list = PairsFile::new(model.name(), model.digest(), &model.code.setup.sites, &found.candidates);
        files::write(path, &format!("{}\n", list.to_json()))?;
    }
    // A model that declares no transactions has no violations.
    let shown = (args.campaign.detector == DetectorArg::All
        && found.coverage.complete
        && (model.program.declares_transactions || !args.atomic.specifications().is_empty()))
    .then(|| violations(args, model, &plan, stop));
    let out = &mut context.out;
    let json = (args.result.format == Format::Json).then(|| {
        let report = DetectReport::new(model.name(), model.digest(), &plan, &found);
        DetectReport { atomicity: shown.as_ref().map(|shown| shown.report.clone()), ..report }.to_json()
    });
    if json.is_none() {
        print_pairs(model, &plan, &found, args, out);
        shown.iter().flat_map(|shown| &shown.lines).for_each(|line| writeln!(out, "{line}"));
    }
    if !found.coverage.complete {
        out.note(format_args!("interrupted after {} of {} runs", found.runs, plan.detection.runs));
        return Ok((ExitStatus::Interrupted, json));
    }
    let violated = shown.is_some_and(|shown| shown.report.is_violated());
    let nothing = found.candidates.is_empty() && found.rings.is_empty() && found.failures.is_empty() && !violated;
    Ok((if nothing { ExitStatus::Nothing } else { ExitStatus::Found }, json))
}

// The violations of atomicity that the runs of a model show.
struct Shown {
    report: AtomicityReport,
    lines: Vec<String>,
    complete: bool,
}

fn violations(args: &Args, model: &Model, plan: &campaign::CampaignPlan, stop: &AtomicBool) -> Shown {
    let (options, asked) = (args.atomic.options(), args.atomic.specifications());
    let bar = CampaignBar::new("run");
    let campaign_context = campaign::CampaignContext { stop, progress: &bar };
    let found = campaign::detect_violations(plan, &args.atomic.wanted(), options, campaign_context);
    bar.finish();
    // Of the usual specifications only those count that the model uses.
    let declared = found.specifications.iter().filter(|of| !asked.is_empty() || of.seen.transactions > 0);
    let reports: Vec<SpecificationReport> = declared.map(SpecificationReport::of_runs).collect();
    let mut lines = vec![format!("atomicity, in {}", counted(u64::from(found.runs), "run"))];
    if reports.is_empty() {
        lines.push("the model declares no transactions: `--atomic tree` takes trees of tasks as such".to_owned());
    }
    let report = AtomicityReport::new(model.name(), Some(found.runs), options.edges, reports);
    lines.extend(if args.result.quiet { report.counts() } else { report.text(args.all) });
    Shown { report, lines, complete: found.complete }
}

fn print_pairs(model: &Model, plan: &campaign::CampaignPlan, found: &Phase1, args: &Args, out: &mut Output) {
    let quiet = args.result.quiet;
    potential(out, &plan.detection.detectors, found);
    let filtered = if args.guarded { found.filtered.as_slice() } else { &[] };
    for candidate in found.candidates.iter().chain(filtered).filter(|_| !quiet) {
        let use_free = UseFreeFields::of(candidate.use_free.as_ref()).words();
        let use_free = if use_free.is_empty() { use_free } else { format!("  {use_free}") };
        writeln!(
            out,
            "{}  {}  {}  ({}){}{use_free}",
            candidate.rank.letter(),
            paint(BOLD, &candidate.evidence.location),
            pair(model, candidate.pair),
            seen_in(candidate),
            seen_by(&plan.detection.detectors, candidate),
        );
    }
    if !found.orders.is_empty() {
        let colon = if quiet { "" } else { ":" };
        writeln!(out, "{}, no races, whose order may matter{colon}", counted(found.orders.len() as u64, "order pair"));
    }
    let shown = if quiet { &[] } else { found.orders.as_slice() };
    for order in shown {
        let (rank, place) = (order.rank.letter(), paint(BOLD, &order.evidence.location));
        writeln!(out, "{rank}  {place}  {}  ({})", pair(model, order.pair), kinds(&order.kinds));
    }
    if !found.rings.is_empty() {
        let colon = if quiet { "" } else { ":" };
        writeln!(out, "{} that may close{colon}", counted(found.rings.len() as u64, "deadlock ring"));
    }
    let shown = if quiet { &[] } else { found.rings.as_slice() };
    for (number, found) in (1..).zip(shown) {
        for part in ring::potential(plan, found).parts {
            writeln!(out, "{number}  {}", rings::part(&part));
        }
    }
    for f in &found.failures {
        let text = paint(BAD, failure(model, f));
        writeln!(out, "{text}, in {} (`raceflip confirm` explains them)", counted(u64::from(f.runs), "run"));
    }
}
