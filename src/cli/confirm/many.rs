//! A campaign over many models and their variants: in parts, with a journal, under a time limit.

use super::super::campaign::{Bar, Runs, workers};
use super::super::exit::Status;
use super::super::journal::OpenJournal;
use super::super::load::Model;
use super::super::output::Output;
use super::super::reports::{Models, ReportFormat};
use super::super::seeds::Seeds;
use super::super::suite::{Case, Suite};
use super::super::timer::Timer;
use super::super::{Context, Refusal, files, interrupt};
use super::{Args, save, told};
use crate::campaign::{self, Plan, Progress};
use crate::formats::campaign::ConfirmReport;
use crate::formats::campaigns::{CampaignReport, Partition, Settings, TrialLine, VariantReport};
use crate::formats::journal::{Entry, Header};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::atomic::Ordering;
use xxhash_rust::xxh3::xxh3_64;

/// `2/8`
pub(super) fn partition(text: &str) -> Result<Partition, String> {
    let wanted = || "write PART/OF, as in `2/8` for the second of eight".to_owned();
    let (part, of) = text.split_once('/').ok_or_else(wanted)?;
    let (part, of): (u32, u32) = (part.parse().map_err(|_| wanted())?, of.parse().map_err(|_| wanted())?);
    if of == 0 || part == 0 || part > of {
        return Err(format!("there is no part {part} of {of}: parts are counted from 1"));
    }
    Ok(Partition { part, of })
}

// What a variant came to; what was cut short does not count as finished.
struct Done {
    entry: Entry,
    // Files of harmful orders that were saved, or what kept them from it.
    saved: Result<Vec<String>, Refusal>,
}

// The name of a variant, and of what it is.
type Key = (String, BTreeMap<String, i64>, String);

fn key(report: &ConfirmReport) -> Key {
    let about = &report.about;
    (about.file.clone(), about.defines.clone(), about.program.clone())
}

fn key_of(case: &Case) -> Key {
    let model = &case.model;
    (model.name().to_owned(), model.defines.iter().cloned().collect(), format!("{:016x}", model.digest()))
}

// Everything that a campaign works with.
struct Work<'w> {
    args: &'w Args,
    seeds: Option<Mutex<Seeds>>,
    journal: Option<OpenJournal>,
}

impl Work<'_> {
    fn plan(&self, case: &Case, jobs: usize) -> Plan {
        Plan { jobs, ..super::plan(self.args, &case.model) }
    }

    // A variant; what is finished is saved, and then in the journal, before anybody hears of it.
    fn confirm(&self, case: &Case, jobs: usize, context: campaign::Context<'_>) -> Done {
        let (plan, model) = (self.plan(case, jobs), &case.model);
        let found = campaign::confirm(&plan, context);
        let report = ConfirmReport::new(model.name(), model.digest(), &plan, &found);
        let mut trials = Vec::new();
        if self.args.trials_out.is_some() {
            let pairs = found.pairs.iter().chain(&found.orders);
            trials.extend(pairs.flat_map(|pair| TrialLine::of(model.name(), &plan, pair)));
        }
        let saved = self.seeds.as_ref().map_or(Ok(Vec::new()), |seeds| save(&seeds.lock(), model, &found));
        let entry = Entry { report, trials };
        if let Some(journal) = self.journal.as_ref().filter(|_| entry.report.about.complete)
            && !journal.add(&entry)
        {
            // What cannot be kept is not worth to be gone on with.
            context.stop.store(true, Ordering::Relaxed);
        }
        Done { entry, saved }
    }
}

// Tells results in the order of the variants, as soon as those before are there.
struct Teller<'t> {
    results: BTreeMap<usize, Entry>,
    // Variants that are to come, and how many of them are told.
    order: &'t [usize],
    told: usize,
    text: bool,
}

impl Teller<'_> {
    fn tell(&mut self, bar: &Bar, out: &mut Output) {
        while let Some(entry) = self.order.get(self.told).and_then(|i| self.results.get(i)) {
            self.told += 1;
            if self.text {
                bar.suspend(|| told::variant(&entry.report, out));
            }
        }
    }
}

fn refuse_single(args: &Args) -> Result<(), Refusal> {
    let single = [("--pairs", args.pairs.is_some()), ("--pair", !args.pair.is_empty()), ("--timeline", args.timeline)];
    match single.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Refusal::new(format_args!(
            "{option} is for one model: give one file, and no --journal, --partition or --filter"
        ))),
        None => Ok(()),
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Status, Refusal> {
    refuse_single(args)?;
    for path in args.out.iter().chain(&args.trials_out) {
        files::may_write(path)?;
    }
    let suite = Suite::load(&args.paths, &args.campaign.defines.resolve(), &args.filter, &Seeds::none(), &context.out)?;
    let seeds = if args.save { Some(Mutex::new(Seeds::to_keep(&args.seeds)?)) } else { None };
    let cases = &suite.cases;
    let order: Vec<usize> = (0..cases.len()).filter(|i| args.partition.is_none_or(|part| part.has(*i))).collect();
    let Some(first) = cases.first() else {
        suite.refused.iter().for_each(|refusal| context.out.refuse(refusal));
        return Ok(Status::Refused);
    };
    let settings = Settings::of(&super::plan(args, &first.model));
    let mut results = BTreeMap::new();
    let mut journal = None;
    if let Some(path) = &args.journal {
        let header = Header::new(settings.clone(), args.trials_out.is_some());
        let (open, entries) = OpenJournal::open(path, &header, args.resume)?;
        let mut finished: BTreeMap<Key, Entry> = entries.into_iter().map(|e| (key(&e.report), e)).collect();
        results.extend(order.iter().filter_map(|i| Some((*i, finished.remove(&key_of(&cases[*i]))?))));
        journal = Some(open);
    }
    let todo: Vec<usize> = order.iter().copied().filter(|i| !results.contains_key(i)).collect();
    if args.resume {
        let n = results.len();
        context.out.note(format_args!("{n} of {} variants are in the journal already", order.len()));
    }
    let work = Work { args, seeds, journal };
    let stop = interrupt::install();
    let timer = Timer::start(args.time, stop.clone());
    let jobs = workers(args.campaign.jobs);
    // Variants side by side; what workers are left over share the runs of one.
    let outer = jobs.min(todo.len()).max(1);
    let bar = Bar::new("variant");
    bar.phase("confirming", todo.len() as u64);
    let runs = Runs::new(&bar);
    let mut teller = Teller { results, order: &order, told: 0, text: args.format == ReportFormat::Text };
    let (mut saved, mut refused) = (Vec::new(), suite.refused);
    teller.tell(&bar, &mut context.out);
    campaign::in_order(
        outer,
        todo.len(),
        &stop,
        || (),
        |(), i| {
            let context = campaign::Context { stop: &stop, progress: &runs };
            work.confirm(&cases[todo[i]], (jobs / outer).max(1), context)
        },
        |i, done: Done| {
            bar.done();
            match done.saved {
                Ok(files) => saved.extend(files),
                Err(refusal) => refused.push(refusal),
            }
            teller.results.insert(todo[i], done.entry);
            teller.tell(&bar, &mut context.out);
        },
    );
    bar.finish();
    refused.extend(work.journal.as_ref().and_then(OpenJournal::refusal));
    let (told, results) = (teller.told, teller.results);
    if teller.text {
        // Variants after one that was not begun.
        for entry in order.iter().skip(told).filter_map(|i| results.get(i)) {
            told::variant(&entry.report, &mut context.out);
        }
    }
    let (mut campaign, mut trials) =
        (CampaignReport::new(settings, cases.len() as u64, digest(cases), args.partition), String::new());
    for (i, entry) in results {
        for line in &entry.trials {
            // Writing to a string cannot fail.
            let _ = writeln!(trials, "{}", line.to_json());
        }
        campaign.results.push(VariantReport { variant: i as u64, report: entry.report });
    }
    let finished = campaign.results.iter().filter(|r| r.report.about.complete).count();
    campaign.complete = finished == order.len();
    campaign.reproducible = campaign.complete;
    campaign.refused = refused.iter().map(Refusal::plain).collect();
    if let Some(path) = &args.trials_out {
        files::write(path, &trials)?;
    }
    if let Some(path) = &args.out {
        files::write(path, &format!("{}\n", campaign.to_json()))?;
    }
    let status = finish(&campaign, args.format, cases.iter().map(|case| &case.model).collect(), &mut context.out);
    let saved: BTreeSet<String> = saved.into_iter().collect();
    saved.iter().for_each(|file| context.out.note(format_args!("saved {file}")));
    refused.iter().for_each(|refusal| context.out.refuse(refusal));
    if !campaign.complete {
        let what = if timer.is_up() { "the time is up" } else { "interrupted" };
        context.out.note(format_args!(
            "{what}: {finished} of {} variants are finished; the same command may bring other results",
            order.len()
        ));
    }
    Ok(match () {
        () if !refused.is_empty() => Status::Refused,
        () if !campaign.complete && !timer.is_up() => Status::Interrupted,
        () => status,
    })
}

// What parts must have in common.
fn digest(cases: &[Case]) -> String {
    let all: Vec<Key> = cases.iter().map(key_of).collect();
    format!("{:016x}", xxh3_64(format!("{all:?}").as_bytes()))
}

// The end of the report: the summary, or all of it in another form, with the models that are at hand.
fn finish(campaign: &CampaignReport, format: ReportFormat, known: Vec<&Model>, out: &mut Output) -> Status {
    match format {
        ReportFormat::Text => told::summary(campaign, out),
        ReportFormat::Json => writeln!(out, "{}", campaign.to_json()),
        _ => {
            let reports: Vec<ConfirmReport> = campaign.results.iter().map(|r| r.report.clone()).collect();
            let text = format.render(&reports, &mut Models::new(known, out));
            write!(out, "{}", text.unwrap_or_default());
        }
    }
    let found = campaign.results.iter().any(|r| told::found(&r.report));
    if found { Status::Found } else { Status::Nothing }
}

/// All of a campaign that is there already.
pub(in crate::cli) fn tell(campaign: &CampaignReport, format: ReportFormat, out: &mut Output) -> Status {
    if format == ReportFormat::Text {
        campaign.results.iter().for_each(|result| told::variant(&result.report, out));
    }
    let status = finish(campaign, format, Vec::new(), out);
    match () {
        () if !campaign.refused.is_empty() => Status::Refused,
        () if !campaign.complete => Status::Interrupted,
        () => status,
    }
}
