//! `raceflip explore`: visits every state that a model can reach, and reports the ends, livelocks and orders.
//!
//! The room of exhaustive searches: the bounds of a search and its progress bar (`bounds`), and its result as text.

mod bounds;
mod symmetry;
mod text;

use crate::campaign::named;
use crate::cli::args::{DefineArgs, Format, JobArgs, LimitArgs, ResultArgs, head, workers};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load::Model;
use crate::cli::io::timer::Timer;
use crate::cli::models::per_model::CommandModels;
use crate::cli::{CommandContext, Refusal};
use crate::event::Outcome;
use crate::explore::{
    self, ClockMode, Cut, Livelock, Preemptions, SearchOrder, SearchPlan, SearchReport, SiteOrders, explore,
    explore_with, explore_with_livelocks, least_stalls, site_orders,
};
use crate::formats::explore::ExploreReport;
use crate::lang::near;
use crate::lang::program::GlobalId;
use bounds::{BoundArgs, SearchBar};
use clap::ValueEnum;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use symmetry::Renamed;

const ABOUT: &str = "\
Visits every state that the model can reach, up to the bounds, and prints all ends of runs, each with a shortest run and its token. An end that a \
complete search does not print can never happen. `--pairs` also prints which accesses can be side by side, and in which orders they can be \
performed. Two states are equal if everything that can happen later is equal.

If a bound cuts the search, the result says which bound, what was covered, and an estimate of the whole. Then other ends may exist. A cut by `--memory` or \
`--time` is not reproducible. All other results are the same for any number of workers.

`--search-depth` bounds the number of steps from the start. `--steps` does not: it only limits the runs that are replayed for their tokens.

`--reduce` follows in each state only the actors of a stubborn set, as far as the text of the model shows what the others may still do. It tells:
  ends at which nothing can move, and ends at rest      all of them, with the values of `--observe`
  failures, exceptions, rings of locks                  all kinds, at all places; of the values only some
  shortest runs, livelocks, least stalls, limits        not told: leave out `--reduce`
With `--clock fast` it leaves nothing out, and with `--pairs` and `--preemptions` it cannot be used.
With `--symmetry`, one state stands for all that differ by a renaming of threads that are alike: threads of one array that use their index only as a name. All ends are found, \
each up to such a renaming; livelocks and least stalls are not. If no threads are alike, the command says where and why.

The clock is exact: it moves in units that distinguish all orders of deadlines. `--clock fast` moves it only to the instants that random walks use. That misses \
some orders, so nothing is called impossible.";

const AFTER: &str = "\
Examples:
  raceflip explore app.race
  raceflip explore models                          all models below a folder (an array in JSON)
  raceflip explore app.race --observe total,done   ends with different values are different ends
  raceflip explore app.race --pairs                which accesses can race, and in which orders
  raceflip explore app.race --states 50000000 --memory 16G
  raceflip explore app.race --symmetry             one state for all that differ by which of several alike threads does what
  raceflip explore app.race --format json | jq '.ends[].text'

Exit status:
  0    every end is `ok`, and no livelock is possible (`--symmetry` does not look for any); after a
       search that was cut (`complete` is false in the JSON): nothing bad was found so far
  1    some run fails, deadlocks, gets stuck or reaches a limit, or may run forever
  2    bad input or usage; with `--symmetry` also a model without threads that are alike
  130  interrupted; the results so far are printed";

/// Visit every state: what can happen, and what cannot
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(super) struct Args {
    /// Models, and folders of models
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Variables whose values distinguish ends; '' for none [default: those of the `expect outcomes of` lines]
    #[arg(long, value_name = "VAR,...", value_delimiter = ',', help_heading = head::MODEL)]
    observe: Option<Vec<String>>,
    /// Print which accesses can be side by side, and in which orders they can be performed
    #[arg(long, conflicts_with_all = ["reduce", "preemptions"], help_heading = head::RESULT)]
    pairs: bool,
    /// Order in which states are visited
    #[arg(long, value_enum, default_value_t, value_name = "ORDER", help_heading = head::EFFORT)]
    search: SearchArg,
    /// Steps of the clock
    #[arg(long, value_enum, default_value_t, value_name = "CLOCK", help_heading = head::EFFORT)]
    clock: ClockArg,
    /// Leave out orders of independent steps and the states between: all kinds of ends, not all answers (see below)
    #[arg(long, help_heading = head::EFFORT)]
    reduce: bool,
    /// Visit one state for all that differ by which threads of an array do what: all ends, no livelocks
    #[arg(long, conflicts_with_all = ["reduce", "pairs", "preemptions"], help_heading = head::EFFORT)]
    symmetry: bool,
    /// Follow only runs with at most N preemptions
    #[arg(long, value_name = "N", conflicts_with = "reduce", help_heading = head::EFFORT)]
    preemptions: Option<u32>,
    #[command(flatten)]
    jobs: JobArgs,
    #[command(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    bounds: BoundArgs,
    #[command(flatten)]
    defines: DefineArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Order of the search: the value of `--search`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum SearchArg {
    /// Breadth first: finds shortest runs
    #[default]
    Breadth,
    /// Depth first, with one worker: needs little memory
    Depth,
}

/// Steps of the clock: the value of `--clock`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ClockArg {
    /// Distinguishes all orders of deadlines
    #[default]
    Exact,
    /// Moves to deadlines, and to instants before them by the delays of the app
    Fast,
}

/// Result of a search.
pub(super) struct Answer<'m> {
    pub(super) model: &'m Model,
    pub(super) plan: SearchPlan<'m>,
    pub(super) preemptions: Option<u32>,
    pub(super) found: SearchReport,
    /// Least stall of each end whose shortest run has one, in milliseconds.
    pub(super) stalls: BTreeMap<explore::SearchEnd, u64>,
    /// Possible livelocks; `None` if the search could not decide.
    pub(super) livelocks: Option<Vec<Livelock>>,
    pub(super) orders: Option<SiteOrders>,
    /// The threads that were renamed; `None` without `--symmetry`.
    renamed: Option<Renamed>,
    /// Whether the time limit or an interruption has cut the search, or what follows it.
    pub(super) stopped: bool,
    /// Whether the time limit was reached.
    pub(super) timed_out: bool,
}

impl Answer<'_> {
    /// Returns whether what the search did not find is impossible.
    pub(super) fn proves(&self) -> bool {
        self.found.complete() && self.plan.clock == ClockMode::Exact && self.preemptions.is_none()
    }
}

pub(super) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let models = CommandModels::find(&args.paths, args.defines.resolve())?;
    if models.many && args.observe.as_deref().is_some_and(|names| names.iter().any(|name| !name.is_empty())) {
        return Err(Refusal::new("--observe needs a single model: give one file"));
    }
    models.each_until(args.bounds.time, &args.result, context, |model, stop, context| one(&args, model, stop, context))
}

// Explores one model. Returns its JSON, if that is the format.
fn one(
    args: &Args,
    model: &Model,
    (stop, timer): (&AtomicBool, &Timer),
    context: &mut CommandContext,
) -> Result<(ExitStatus, Option<String>), Refusal> {
    let plan: SearchPlan<'_> = SearchPlan {
        limits: args.limits.resolve(),
        jobs: workers(args.jobs.jobs),
        bounds: args.bounds.resolve(),
        first: if args.search == SearchArg::Depth { SearchOrder::Deepest } else { SearchOrder::Nearest },
        clock: if args.clock == ClockArg::Fast { ClockMode::Critical } else { ClockMode::Exact },
        stubborn: args.reduce.then(explore::Stubbornness::default),
        pairs: args.pairs,
        observe: observed(args.observe.as_deref(), model)?,
        ..SearchPlan::new(model)
    };
    if args.symmetry && plan.clock == ClockMode::Critical {
        return Err(Refusal::new("--symmetry needs the exact clock: leave out `--clock fast`"));
    }
    let bar = SearchBar::new();
    let renames = args.symmetry.then(|| context.out.paints_errors());
    let answer = search(model, plan, (args.preemptions, renames), (stop, &bar), timer);
    bar.finish();
    let answer = answer?;
    let json = (args.result.format == Format::Json).then(|| ExploreReport::new(&report(&answer)).to_json());
    if json.is_none() {
        text::all(&answer, args.result.quiet, &mut context.out);
    }
    if answer.stopped && !answer.timed_out {
        return Ok((ExitStatus::Interrupted, json));
    }
    let bad = answer.found.ends.values().any(|way| way.outcome != Outcome::Ok);
    let endless = answer.livelocks.as_ref().is_some_and(|l| !l.is_empty());
    Ok((if bad || endless { ExitStatus::Found } else { ExitStatus::Nothing }, json))
}

// Searches all states, or with `renames` one for all that differ by a renaming; it says whether errors have colors.
// Least stalls and livelocks follow only if the search is complete; the orders of pairs follow
// unless it was stopped.
fn search<'m>(
    model: &'m Model,
    plan: SearchPlan<'m>,
    (preemptions, renames): (Option<u32>, Option<bool>),
    (stop, bar): (&AtomicBool, &SearchBar),
    timer: &Timer,
) -> Result<Answer<'m>, Refusal> {
    let context = explore::SearchContext { stop, progress: bar };
    // A search in steps of the fast clock proves nothing, so it looks for no livelocks.
    let mut renamed = None;
    let (found, livelocks) = match preemptions {
        None if renames.is_some() => {
            let paints = renames.unwrap_or_default();
            let (found, threads) = symmetry::search(model, &plan, context, paints)?;
            renamed = Some(threads);
            (found, None)
        }
        Some(bound) => (explore_with(&plan, &Preemptions::at_most(bound), context), None),
        None if plan.clock == ClockMode::Critical => (explore(&plan, context), None),
        None => explore_with_livelocks(&plan, context, || bar.phase("possible livelocks")),
    };
    let mut answer = Answer {
        model,
        preemptions,
        stalls: BTreeMap::new(),
        livelocks,
        orders: None,
        renamed,
        stopped: false,
        timed_out: false,
        found,
        plan,
    };
    if answer.proves() && answer.renamed.is_none() {
        let late = answer.found.ends.iter().filter(|(_, way)| way.stall > 0).map(|(end, _)| end.clone());
        let late: BTreeSet<explore::SearchEnd> = late.collect();
        if !late.is_empty() && answer.found.reduced.is_none() {
            bar.phase("least stalls");
            answer.stalls = least_stalls(&answer.plan, answer.found.scale, &late, context);
        }
    }
    if answer.plan.pairs && answer.found.cut != Some(Cut::Stopped) {
        bar.phase("orders");
        answer.orders = Some(site_orders(&answer.plan, &answer.found, context));
    }
    answer.stopped = context.stop.load(Ordering::Relaxed);
    answer.timed_out = timer.is_up();
    Ok(answer)
}

// Returns the variables whose values distinguish ends.
fn observed(names: Option<&[String]>, model: &Model) -> Result<BTreeSet<GlobalId>, Refusal> {
    let names = match names {
        None => return Ok(named(&model.program)),
        // `--observe ''` names no variable, whatever the model's lines name.
        Some([none]) if none.is_empty() => return Ok(BTreeSet::new()),
        Some(names) => names,
    };
    let globals = &model.program.globals;
    let find = |name: &String| {
        let is = |(_, g): &(GlobalId, &crate::lang::program::Global)| g.name == *name;
        globals.enumerate().find(is).map(|(id, _)| id).ok_or_else(|| {
            let near = near(name, globals.iter().map(|g| g.name.as_str()));
            let hint = near.map_or(String::new(), |n| format!("; there is `{n}`"));
            Refusal::new(format_args!(
                "`{}` has no variable `{name}`{hint}: `--observe` takes names of `var` and `atomic`",
                model.name()
            ))
        })
    };
    names.iter().map(find).collect()
}

fn report<'a>(answer: &'a Answer<'_>) -> crate::formats::explore::ExploreParts<'a> {
    crate::formats::explore::ExploreParts {
        file: answer.model.name(),
        plan: &answer.plan,
        found: &answer.found,
        preemptions: answer.preemptions,
        stalls: &answer.stalls,
        livelocks: answer.livelocks.as_deref(),
        orders: answer.orders.as_ref(),
        alike: answer.renamed.as_ref().map(|renamed| renamed.threads.as_slice()).unwrap_or_default(),
        stopped: answer.stopped,
        timed_out: answer.timed_out,
    }
}
