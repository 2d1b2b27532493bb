//! Performs a campaign over many models and their variants: in parts, with a journal, under a time limit.

use super::{Args, GroupArgs, save, text, violations};
use crate::campaign::{self, CampaignPlan, CampaignProgress};
use crate::cli::args::{DetectorArg, ToolArgs, workers};
use crate::cli::confirm::gate::{self, Gate};
use crate::cli::confirm::journal::OpenJournal;
use crate::cli::io::bar::{CampaignBar, Runs};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load::Model;
use crate::cli::io::output::Output;
use crate::cli::io::reports::{ReportFormat, ReportedModels};
use crate::cli::io::timer::Timer;
use crate::cli::io::{files, interrupt};
use crate::cli::models::seeds::Seeds;
use crate::cli::models::suite::{Case, Suite, SuiteSelection, Variants};
use crate::cli::{CommandContext, Refusal};
use crate::formats::campaign::ConfirmReport;
use crate::formats::campaigns::{CampaignReport, Partition, Settings, VariantReport};
use crate::formats::gate::GateReport;
use crate::formats::journal::{Entry, Header};
use crate::formats::report::overview;
use crate::formats::report::text::TextExtent;
use crate::world::Limits;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// Parses a part of a campaign, as in `2/8`.
pub(super) fn partition(text: &str) -> Result<Partition, String> {
    let wanted = || "write PART/OF, as in `2/8` for the second of eight".to_owned();
    let (part, of) = text.split_once('/').ok_or_else(wanted)?;
    let (part, of): (u32, u32) = (part.parse().map_err(|_| wanted())?, of.parse().map_err(|_| wanted())?);
    if of == 0 || part == 0 || part > of {
        return Err(format!("there is no part {part} of {of}: parts are counted from 1"));
    }
    Ok(Partition { part, of })
}

// Identity of a variant: file, constants, digest of the program, and digest of the source.
type VariantKey = (String, BTreeMap<String, i64>, String, String);

fn key(report: &ConfirmReport) -> VariantKey {
    let about = &report.about;
    (about.file.clone(), about.defines.clone(), about.program.clone(), about.source.clone())
}

fn key_of(case: &Case) -> VariantKey {
    let model = &case.model;
    let source = format!("{:016x}", xxh3_64(model.source.text().as_bytes()));
    (model.name().to_owned(), model.defines.iter().cloned().collect(), format!("{:016x}", model.digest()), source)
}

// Printer that reports results in the order of the variants, as soon as all earlier ones are there.
struct CampaignPrinter<'t> {
    results: BTreeMap<usize, Entry>,
    // Variants to report in order, and number of them that are reported already.
    order: &'t [usize],
    reported: usize,
    text: bool,
    extent: TextExtent,
}

impl CampaignPrinter<'_> {
    // Reports the results behind a variant that did not begin. Returns all results.
    fn finish(self, out: &mut Output) -> BTreeMap<usize, Entry> {
        let rest = self.order.iter().skip(self.reported).filter_map(|i| self.results.get(i));
        rest.filter(|_| self.text).for_each(|entry| variant(&entry.report, self.extent, out));
        self.results
    }

    fn print(&mut self, bar: &CampaignBar, out: &mut Output) {
        while let Some(entry) = self.order.get(self.reported).and_then(|i| self.results.get(i)) {
            self.reported += 1;
            if self.text {
                let extent = self.extent;
                bar.suspend(|| variant(&entry.report, extent, out));
            }
        }
    }
}

fn variant(report: &ConfirmReport, extent: TextExtent, out: &mut Output) {
    overview::variant(report, extent).iter().for_each(|line| text::line(line, out));
}

fn refuse_single(args: &Args) -> Result<(), Refusal> {
    let one_model =
        [("--pairs-from", args.pairs_from.is_some()), ("--pair", !args.pair.is_empty()), ("--timeline", args.timeline)];
    match one_model.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Refusal::new(format_args!(
            "{option} needs a single model: give one file, without --all-variants, --journal, --partition or --filter"
        ))),
        None => Ok(()),
    }
}

// Campaign with its results so far.
struct Campaign<'c> {
    args: &'c Args,
    cases: &'c [Case],
    // Indices of the variants of this part.
    order: Vec<usize>,
    settings: Settings,
    journal: Option<OpenJournal>,
    results: BTreeMap<usize, Entry>,
}

impl<'c> Campaign<'c> {
    // Opens a campaign with the finished variants of its journal.
    fn open(args: &'c Args, cases: &'c [Case], settings: Settings, out: &mut Output) -> Result<Self, Refusal> {
        let part = |i: &usize| args.partition.is_none_or(|part| part.has(*i));
        let order = (0..cases.len()).filter(part).collect();
        let mut campaign = Self { args, cases, order, settings, journal: None, results: BTreeMap::new() };
        let Some(path) = &args.journal else { return Ok(campaign) };
        let header = Header::new(campaign.settings.clone(), args.trials_out.is_some());
        let (journal, entries) = OpenJournal::open(path, &header, args.resume)?;
        campaign.journal = Some(journal);
        let mut finished: BTreeMap<VariantKey, Entry> = entries.into_iter().map(|e| (key(&e.report), e)).collect();
        let known = |i: &usize| Some((*i, finished.remove(&key_of(&cases[*i]))?));
        campaign.results = campaign.order.iter().filter_map(known).collect();
        if args.resume {
            let (n, all) = (campaign.results.len(), campaign.order.len());
            out.note(format_args!("{n} of {all} variants are already in the journal"));
        }
        Ok(campaign)
    }

    // Confirms a variant. A finished variant is in the journal before it is reported.
    fn confirm(&self, case: &Case, jobs: usize, context: campaign::CampaignContext<'_>) -> Entry {
        let model = &case.model;
        let plan = CampaignPlan { jobs, ..super::plan(self.args, model) };
        let plan = self.args.campaign.analyzed(model, plan, !self.args.no_static);
        let (_, report, trials) = violations::campaign(self.args, model, &plan, context);
        let entry = Entry { report, trials };
        if let Some(journal) = self.journal.as_ref().filter(|_| entry.report.about.complete)
            && !journal.add(&entry)
        {
            // Results that cannot be kept are not worth continuing for.
            context.stop.store(true, Ordering::Relaxed);
        }
        entry
    }

    // Confirms all remaining variants, and reports each as soon as all earlier ones are reported.
    fn perform(&mut self, stop: &AtomicBool, out: &mut Output) {
        let todo: Vec<usize> = self.order.iter().copied().filter(|i| !self.results.contains_key(i)).collect();
        let jobs = workers(self.args.campaign.jobs.jobs);
        // Variants are confirmed in parallel. If there are more workers than variants, the runs of each variant share
        // the rest.
        let outer = jobs.min(todo.len()).max(1);
        let bar = CampaignBar::new("variant");
        bar.phase("confirming", todo.len() as u64);
        let runs = Runs::new(&bar);
        let results = std::mem::take(&mut self.results);
        let Args { result, group, .. } = self.args;
        let text = result.format == ReportFormat::Text;
        let extent = TextExtent { quiet: result.quiet, all: group.all, all_orders: false };
        let mut printer = CampaignPrinter { results, order: &self.order, reported: 0, text, extent };
        printer.print(&bar, out);
        campaign::in_order(
            outer,
            todo.len(),
            stop,
            || (),
            |(), i| {
                let context = campaign::CampaignContext { stop, progress: &runs };
                self.confirm(&self.cases[todo[i]], (jobs / outer).max(1), context)
            },
            |i, entry: Entry| {
                bar.done();
                printer.results.insert(todo[i], entry);
                printer.print(&bar, out);
            },
        );
        bar.finish();
        self.results = printer.finish(out);
    }

    // Saves the harmful orders, including those from the journal, which may have been begun without --save. Interrupted
    // variants are skipped, since they would show other runs when they are confirmed again.
    fn save(&self, seeds: &Seeds) -> (BTreeSet<String>, Vec<Refusal>) {
        let (mut saved, mut refused) = (BTreeSet::new(), Vec::new());
        for (i, entry) in self.results.iter().filter(|(_, entry)| entry.report.about.complete) {
            match save(seeds, &self.cases[*i].model, &entry.report) {
                Ok(files) => saved.extend(files),
                Err(refusal) => refused.push(refusal),
            }
        }
        (saved, refused)
    }

    // Returns the report of the campaign, and its trials as lines of JSON.
    fn report(self, refused: &[Refusal]) -> (CampaignReport, String) {
        let Self { args, cases, order, settings, results, .. } = self;
        let mut report = CampaignReport::new(settings, cases.len() as u64, digest(cases), args.partition);
        let mut trials = String::new();
        for (i, entry) in results {
            for line in &entry.trials {
                // Writing to a string cannot fail.
                let _ = writeln!(trials, "{}", line.to_json());
            }
            report.results.push(VariantReport { variant: i as u64, report: entry.report });
        }
        report.complete = report.finished() == order.len();
        report.reproducible = report.complete;
        report.refused = refused.iter().map(Refusal::plain).collect();
        (report, trials)
    }
}

// Returns what the results of a campaign depend on, besides its models.
fn settings(args: &Args, plan: &CampaignPlan) -> Settings {
    let mut settings = Settings { atomic: args.atomic.names(), no_static: args.no_static, ..Settings::of(plan) };
    // The plan has the pairs of static analysis, and not its name.
    if args.campaign.detector == DetectorArg::Static {
        settings.detectors = vec!["static".to_owned()];
    }
    settings
}

pub(super) fn run(args: &Args, gate: &Gate, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    refuse_single(args)?;
    let defines = args.campaign.defines.resolve();
    let which = if args.all_variants { Variants::All } else { Variants::AsWritten };
    let given = SuiteSelection { paths: &args.paths, defines: &defines, filter: &args.filter, which };
    let Suite { cases, mut refused, left_out, .. } = Suite::load(&given, &Seeds::none(), &context.out)?;
    let models: Vec<&Model> = cases.iter().map(|case| &case.model).collect();
    super::results(args, &models)?;
    let seeds = if args.save { Some(Seeds::to_keep(&args.saved)?) } else { None };
    let Some(first) = models.first() else {
        refused.iter().for_each(|refusal| context.out.refuse(refusal));
        return Ok(ExitStatus::Refused);
    };
    let out = &mut context.out;
    let plan = super::plan(args, first);
    let limits = plan.limits;
    let settings = settings(args, &plan);
    let mut campaign = Campaign::open(args, &cases, settings, out)?;
    let stop = interrupt::install();
    let timer = Timer::start(args.time, stop.clone());
    campaign.perform(&stop, out);
    refused.extend(campaign.journal.as_ref().and_then(OpenJournal::refusal));
    let (saved, unsaved) = seeds.as_ref().map(|seeds| campaign.save(seeds)).unwrap_or_default();
    refused.extend(unsaved);
    let all = campaign.order.len();
    let (mut report, trials) = campaign.report(&refused);
    let judged = gate.judge_all(&mut report);
    let exit = match () {
        () if !refused.is_empty() => ExitStatus::Refused,
        () if !report.complete && !timer.is_up() => ExitStatus::Interrupted,
        () => gate::status(&judged),
    };
    if let Some(path) = &args.trials_out {
        files::write(path, &trials)?;
    }
    if let Some(path) = &args.out {
        files::write(path, &format!("{}\n", report.to_json()))?;
    }
    let known = (models, limits);
    finish(&report, args.result.format, left_out, known, (gate, &judged, exit), out);
    saved.iter().for_each(|file| out.note(format_args!("saved {file}")));
    refused.iter().for_each(|refusal| out.refuse(refusal));
    if !report.complete {
        let what = timer.why_stopped();
        let done = report.finished();
        out.note(format_args!(
            "{what}: {done} of {all} variants are finished; the same command may give other results"
        ));
        out.note(match &args.journal {
            Some(_) => "the same command with `--resume` continues the campaign",
            None => "to make a campaign resumable, start it with `--journal FILE`; the same command with `--resume` continues it",
        });
    }
    Ok(exit)
}

// Digest of all variants, which must be equal in all parts of a campaign.
fn digest(cases: &[Case]) -> String {
    let all: Vec<VariantKey> = cases.iter().map(key_of).collect();
    format!("{:016x}", xxh3_64(format!("{all:?}").as_bytes()))
}

// Prints the end of the report: the summary, or the whole report in another format; then what the gate says. `known`
// are the loaded models and the limits of replays, `exit` is the status of the command.
fn finish(
    campaign: &CampaignReport,
    format: ReportFormat,
    left_out: usize,
    (known, allowed): (Vec<&Model>, Limits),
    (gate, judged, exit): (&Gate, &GateReport, ExitStatus),
    out: &mut Output,
) {
    match format {
        ReportFormat::Text => {
            overview::summary(campaign).iter().for_each(|line| text::line(line, out));
            text::left_out(left_out, out);
        }
        ReportFormat::Json => out.json(&campaign.to_json()),
        _ => {
            let reports: Vec<ConfirmReport> = campaign.results.iter().map(|r| r.report.clone()).collect();
            let mut models = ReportedModels::new(known, out).allowing(allowed);
            let text = format.render(&reports, (judged, exit, &campaign.refused), &mut models);
            format.print(&text.unwrap_or_default(), out);
        }
    }
    gate.status(judged, campaign.results.iter().map(|r| &r.report), out);
}

/// Prints a finished campaign with the judgment of the gate on it. Returns the exit status.
pub(in crate::cli) fn print_campaign(
    campaign: &CampaignReport,
    (result, group): (&ToolArgs, &GroupArgs),
    (gate, judged): (&Gate, &GateReport),
    out: &mut Output,
) -> ExitStatus {
    if result.format == ReportFormat::Text {
        let extent = TextExtent { quiet: result.quiet, all: group.all, all_orders: false };
        campaign.results.iter().for_each(|r| variant(&r.report, extent, out));
    }
    let exit = match () {
        () if !campaign.refused.is_empty() => ExitStatus::Refused,
        () if !campaign.complete => ExitStatus::Interrupted,
        () => gate::status(judged),
    };
    // The report may come from anyone, so its replays are limited by the default limits.
    finish(campaign, result.format, 0, (Vec::new(), Limits::default()), (gate, judged, exit), out);
    exit
}
