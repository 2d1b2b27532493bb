//! `raceflip static`: what is in one order in every run, without running anything.

use crate::base::counted;
use crate::cli::args::{DefineArgs, Format, ResultArgs, head};
use crate::cli::confirm::found::pair;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load::Model;
use crate::cli::io::output::{BOLD, Output, paint};
use crate::cli::models::per_model::CommandModels;
use crate::cli::{CommandContext, Refusal};
use crate::detect::Pair;
use crate::event::SiteId;
use crate::formats::report::words;
use crate::formats::statics::{OrderedPair, StaticReport};
use crate::statics::{Statics, StaticsOptions, analyze};
use std::path::PathBuf;

const ABOUT: &str = "\
Prints, without running the model, which pairs of accesses may race, which tasks are in one order in every run, and which locks protect nothing. What it claims holds in every run, for the given constants: \
`raceflip confirm` refutes a pair that is in order without a search. A pair that it prints may be false: it claims nothing where it does not understand the model.";

const AFTER: &str = "\
Examples:
  raceflip static app.race
  raceflip static app.race -D FIXED=1
  raceflip static app.race --orders         the accesses that are in order, each with its reason
  raceflip static app.race --graph          who posts what, to which looper
  raceflip static app.race --format json > static.json && raceflip confirm app.race --pairs-from static.json

Exit status:
  0    no pair
  1    some pairs that nothing orders
  2    bad input or usage";

/// Print what is in one order in every run, without running the model
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Models, and folders of models
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print also the accesses that are in order, with the reasons
    #[arg(long, help_heading = head::RESULT)]
    orders: bool,
    /// Print also who posts, forks and enables what
    #[arg(long, help_heading = head::RESULT)]
    graph: bool,
    #[command(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    defines: DefineArgs,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let models = CommandModels::find(&args.paths, args.defines.resolve())?;
    models.each(
        &args.result,
        context,
        || None,
        |model, context| {
            let statics = analyze(&model.program, &StaticsOptions::explained());
            let report = StaticReport::new(model.name(), model, &statics);
            let status = if report.pairs.is_empty() { ExitStatus::Nothing } else { ExitStatus::Found };
            if args.result.format == Format::Json {
                return Ok((status, Some(report.to_json())));
            }
            print(&args, model, &statics, &report, &mut context.out);
            Ok((status, None))
        },
    )
}

fn print(args: &Args, model: &Model, statics: &Statics, report: &StaticReport, out: &mut Output) {
    let quiet = args.result.quiet;
    let heading = |out: &mut Output, count: usize, one: &str, rest: &str| {
        let colon = if quiet { "" } else { ":" };
        writeln!(out, "{} {rest}{colon}", counted(count as u64, one));
    };
    let because = |out: &mut Output, why: &[String]| why.iter().for_each(|line| writeln!(out, "    {line}"));
    heading(out, report.pairs.len(), "pair", "that nothing orders");
    for open in report.pairs.iter().filter(|_| !quiet) {
        let sites = Pair::new(SiteId(open.pair.0), SiteId(open.pair.1));
        let settled = open.settled.as_ref().map_or_else(String::new, |word| format!("  {word}"));
        let place = paint(BOLD, &open.location);
        writeln!(out, "{}  {place}  {}  ({}){settled}", open.rank, pair(model, sites), words::contexts(&open.contexts));
        because(out, &open.why);
    }
    if !report.orders.is_empty() {
        heading(out, report.orders.len(), "order", "of tasks that every run has");
    }
    for order in report.orders.iter().filter(|_| !quiet) {
        writeln!(out, "{} < {}", paint(BOLD, &order.before), paint(BOLD, &order.after));
        because(out, &order.why);
    }
    if !report.locks.is_empty() {
        heading(out, report.locks.len(), "block", "whose lock protects nothing");
    }
    for lock in report.locks.iter().filter(|_| !quiet) {
        let label = lock.label.as_ref().map_or_else(String::new, |label| format!(" @{label}"));
        writeln!(out, ":{} sync{label}", lock.line);
        because(out, &lock.why);
    }
    if args.orders && !quiet {
        heading(out, report.refuted.len() + report.both_orders.len(), "pair", "in order");
        for found in report.refuted.iter().chain(&report.both_orders) {
            writeln!(out, "{}", in_order(found));
            because(out, &found.why);
        }
    }
    if args.graph {
        statics.graph_lines().iter().for_each(|line| writeln!(out, "{line}"));
    }
    let folded = if report.complete { "" } else { "; contexts are folded, because there are too many" };
    writeln!(
        out,
        "{} in {}: {} in order, {} protected by locks{folded}",
        counted(report.operations as u64, "operation"),
        counted(report.contexts as u64, "context"),
        counted((report.refuted.len() + report.both_orders.len()) as u64, "pair"),
        report.locked,
    );
}

fn in_order(found: &OrderedPair) -> String {
    match (&found.first, &found.then) {
        (Some(first), Some(then)) => format!("{first} < {then}"),
        _ => format!("{} ~ {}", found.a, found.b),
    }
}
