//! Prints the result of a learning campaign: the failures, and what the runs have shown.

use super::{Args, Fuzzed, inputs};
use crate::base::counted;
use crate::campaign::{FuzzCoverage, FuzzFailure, HowMade, OrderKind, PairCoverage, statement_text};
use crate::cli::io::output::{BAD, BOLD, Output, many, paint};
use crate::cli::io::replay_command;
use crate::cli::run::one_run;
use crate::cli::run::outcome::limit_text;
use crate::cli::run::plan::{ChoiceSource, Form, Report, RunPlan};
use crate::cli::run::shrink_mode::{ShrinkMode, sizes};
use crate::cli::run::timeline::TimelineView;
use crate::cli::{CommandContext, Refusal};
use crate::formats::failure_place::ending;
use crate::formats::fuzz::{base_name, unreachable};
use crate::sched::site_text;
use crate::token::Token;
use crate::world::Statement;
use indicatif::HumanCount;
use std::sync::atomic::AtomicBool;

pub(super) fn print(
    fuzzed: &Fuzzed<'_>,
    args: &Args,
    interrupted: bool,
    context: &mut CommandContext,
) -> Result<(), Refusal> {
    match fuzzed.found.failures.first() {
        Some(first) if !fuzzed.fuzz.keeps_going => only(fuzzed, first, args, context)?,
        Some(_) => failures(fuzzed, args, &mut context.out),
        None => {
            let runs = many(fuzzed.found.runs, "run");
            writeln!(context.out, "{runs}, no failure: that proves nothing (`raceflip explore` may)");
        }
    }
    let out = &mut context.out;
    for ((kind, limit), runs) in &fuzzed.found.limits {
        writeln!(out, "{} reached the {}", many(*runs, "run"), limit_text(*kind, *limit));
    }
    // A run that failed is the result; what else was seen is of interest if the search goes on.
    if (fuzzed.found.failures.is_empty() || fuzzed.fuzz.keeps_going) && !args.result.quiet {
        coverage(fuzzed, args.pairs, out);
    }
    if args.pairs {
        list(fuzzed, out);
    }
    if let Some(saved) = fuzzed.saved.as_ref().filter(|_| !args.result.quiet) {
        for name in &saved.failures {
            writeln!(out, "{} {name}", paint(BOLD, "saved in"));
        }
        if saved.runs > 0 {
            let runs = many(saved.runs as u64, "run");
            row(out, "corpus", format!("{runs} in {}", saved.name));
        }
    }
    if interrupted {
        let (made, all) = (HumanCount(fuzzed.found.runs), many(fuzzed.fuzz.runs, "run"));
        out.note(format_args!("interrupted after {made} of {all}"));
        if let Some(path) = &args.journal {
            let name = path.to_string_lossy();
            out.note(format_args!("the same command with `--resume` goes on from the journal `{name}`"));
        }
    }
    Ok(())
}

// Prints the only failure: how it was found, and its run, shrunk if possible.
fn only(fuzzed: &Fuzzed<'_>, failure: &FuzzFailure, args: &Args, context: &mut CommandContext) -> Result<(), Refusal> {
    let with = inputs::values(&fuzzed.found, failure);
    match failure.run {
        0 => writeln!(context.out, "a saved run fails{with}"),
        run => writeln!(context.out, "run {} fails{with} ({})", HumanCount(run), how(fuzzed, &failure.made)),
    }
    let Some(model) = fuzzed.models.first() else { return Ok(()) };
    // The campaign has written the token, so it can be read.
    let Ok(token) = failure.report.evidence.token.parse::<Token>() else { return Ok(()) };
    let smaller = fuzzed.smaller.first().cloned().flatten();
    let form = if args.result.quiet { Form::Brief } else { Form::Timeline };
    let report = Report { form, trace: None, perfetto: None, view: TimelineView::default(), state: Default::default() };
    let plan = RunPlan {
        limits: token.limits,
        allowed: token.limits,
        strategy: token.strategy.clone(),
        seed: token.seed,
        report,
        choices: ChoiceSource::Replay(Box::new(smaller.as_ref().map_or(token, |smaller| smaller.token.clone()))),
        shrinking: smaller.map_or(ShrinkMode::Off, ShrinkMode::Drawn),
        model: model.clone(),
    };
    // The run ends soon, and it is the result. So Ctrl-C does not interrupt it.
    one_run::perform_until(plan, &AtomicBool::new(false), context).map(|_| ())
}

// Prints all failures, each with its first run and the command that replays the run to show.
fn failures(fuzzed: &Fuzzed<'_>, args: &Args, out: &mut Output) {
    let found = &fuzzed.found;
    writeln!(out, "{}, {}", many(found.runs, "run"), counted(found.failures.len() as u64, "failure"));
    for ((failure, smaller), model) in found.failures.iter().zip(&fuzzed.smaller).zip(&fuzzed.models) {
        let report = &failure.report;
        let text = ending(model, &report.outcome).unwrap_or_else(|| report.signature.clone());
        let runs = many(u64::from(report.runs), "run");
        let first = match failure.run {
            0 => "first in a saved run".to_owned(),
            run => format!("first in run {} ({})", HumanCount(run), how(fuzzed, &failure.made)),
        };
        writeln!(out, "{}, in {runs}, {first}{}", paint(BAD, text), inputs::values(found, failure));
        if args.result.quiet {
            continue;
        }
        let token = smaller.as_ref().map_or_else(|| report.evidence.token.clone(), |smaller| smaller.token.to_string());
        let evidence = &report.evidence;
        let limits = &fuzzed.plan.limits;
        for command in replay_command::replay(model, &token, &evidence.strategy, evidence.seed, limits) {
            writeln!(out, "  {command}");
        }
        if let Some(smaller) = smaller {
            writeln!(out, "  shrunk {}", sizes(smaller.before, smaller.after));
        }
    }
}

// How a run was made: `asked for @a > @b, pos`.
fn how(fuzzed: &Fuzzed<'_>, made: &HowMade) -> String {
    let mut parts = Vec::new();
    if let Some((writer, reader)) = made.asked {
        parts.push(format!("asked for {}", pair(fuzzed, writer, reader)));
    }
    if let Some(steps) = made.repeated {
        parts.push(format!("from a rare state after {}", many(steps, "step")));
    }
    parts.push(base_name(made.base).to_owned());
    parts.join(", ")
}

fn pair(fuzzed: &Fuzzed<'_>, writer: Statement, reader: Statement) -> String {
    let name = |statement| statement_text(&fuzzed.found.inputs.setup, statement);
    format!("{} > {}", name(writer), name(reader))
}

fn row(out: &mut Output, head: &str, text: String) {
    writeln!(out, "{} {text}", paint(BOLD, format!("{head:<11}")));
}

// Maximum number of statements that are named without `--pairs`.
const NAMED: usize = 8;

fn coverage(fuzzed: &Fuzzed<'_>, all: bool, out: &mut Output) {
    let coverage = &fuzzed.found.coverage;
    if !fuzzed.found.inputs.varied.is_empty() {
        row(out, "inputs", inputs::coverage(&fuzzed.found));
    }
    row(out, "pairs", pairs(coverage, all));
    let orders = orders(coverage);
    if !orders.is_empty() {
        row(out, "orders", orders);
    }
    let performed = coverage.statements - coverage.never.len() as u64;
    let mut text = format!("{} of {}", HumanCount(performed), HumanCount(coverage.statements));
    if !coverage.never.is_empty() {
        let sites = &fuzzed.found.inputs.setup.sites;
        let named = if all { usize::MAX } else { NAMED };
        let unreachable = unreachable(fuzzed.plan, &fuzzed.found);
        let names = coverage.never.iter().take(named).map(|id| {
            let name = match &sites[*id] {
                site if site.label.is_some() => format!("{}:{} {}", site.line, site.column, site_name(site)),
                _ => site_text(sites, *id),
            };
            name + if unreachable.contains(id) { " (nothing comes there)" } else { "" }
        });
        text += &format!("; never: {}", names.collect::<Vec<_>>().join(", "));
        let more = coverage.never.len().saturating_sub(named);
        if more > 0 {
            text += &format!(" and {more} more (--pairs)");
        }
    }
    row(out, "statements", text);
    let [coarse, middle, fine] = coverage.states.map(HumanCount);
    let (lately, new) = (many(coverage.new_states.lately, "run"), HumanCount(coverage.new_states.new));
    let mut text = format!("{coarse} coarse, {middle}, {fine} fine; ");
    if coverage.is_full() {
        text += "there are more, which were not kept";
    } else {
        text += &format!("of the last {lately} {new} came to a new coarse one");
    }
    if let Some(expected) = coverage.expected(1_000) {
        text += &format!(", and 1,000 more would bring about {}", rounded(expected));
    }
    row(out, "states", text);
}

// Formats an estimated number: it has no more than two digits that say something.
fn rounded(expected: f64) -> String {
    match expected {
        n if n < 0.05 => "none".to_owned(),
        n if n < 10.0 => format!("{n:.1}"),
        n => HumanCount(n.round() as u64).to_string(),
    }
}

fn site_name(site: &crate::event::Site) -> String {
    site.label.as_ref().map_or(String::new(), |label| format!("@{label}"))
}

fn pairs(coverage: &FuzzCoverage, all: bool) -> String {
    let mut text = format!("{} of {} seen", HumanCount(coverage.seen()), HumanCount(coverage.pairs.len() as u64));
    if let Some(run) = coverage.last_new {
        text += &format!(", the last one new in run {}", HumanCount(run));
    }
    let (mut refused, mut asks) = (0, 0);
    for pair in coverage.refused() {
        refused += 1;
        asks += u64::from(pair.asked);
    }
    if refused > 0 {
        let was = if refused == 1 { "was" } else { "were" };
        let times = if asks == 1 { "once".to_owned() } else { format!("{} times", HumanCount(asks)) };
        text += &format!("; {refused} {was} asked for {times} and never came");
        text += if all { "" } else { " (--pairs)" };
    }
    text
}

fn orders(coverage: &FuzzCoverage) -> String {
    let kinds = [(OrderKind::Posts, "two posts to one looper"), (OrderKind::Sections, "two sections of one lock")];
    let parts = kinds.iter().filter_map(|(kind, words)| {
        let (seen, all) = coverage.orders(*kind);
        (all > 0).then(|| format!("{seen} of {all} of {words}"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

// Prints each possible pair.
fn list(fuzzed: &Fuzzed<'_>, out: &mut Output) {
    let all = &fuzzed.found.coverage.pairs;
    writeln!(out, "{} (WRITER > READER: runs that showed it, runs that asked for it):", paint(BOLD, "possible pairs"));
    for PairCoverage { writer, reader, seen, asked, .. } in all {
        let name = pair(fuzzed, *writer, *reader);
        let name = if *seen == 0 { paint(BAD, name) } else { name };
        writeln!(out, "  {name}: {}, {}", HumanCount(u64::from(*seen)), HumanCount(u64::from(*asked)));
    }
}
