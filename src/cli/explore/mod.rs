//! `raceflip explore`: visits every state that a model can reach, and reports the ends, livelocks and orders.

mod bounds;
mod tell;

use super::args::{Defines, Format, JobArgs, LimitArgs, ResultArgs, head};
use super::campaign::workers;
use super::each::Models;
use super::exit::Status;
use super::load::Model;
use super::timer::Timer;
use super::{Context, Refusal, interrupt};
use crate::campaign::named;
use crate::event::Outcome;
use crate::explore::{
    self, Clock, Cut, Explored, First, Livelock, Plan, Preemptions, SiteOrders, explore, explore_with, least_stalls,
    livelocks, site_orders,
};
use crate::formats::explore::ExploreReport;
use crate::lang::near;
use crate::lang::program::GlobalId;
use bounds::{Bar, BoundArgs};
use clap::ValueEnum;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

const ABOUT: &str = "\
Visits every state that the model can reach, up to the bounds, and prints how runs can end, each with a shortest run and its token: what is not \
printed by a search that was complete can never happen. With `--pairs` also which accesses can stand side by side, and in which orders they can be \
performed. Two states are the same if nothing that can happen later differs.

Where a bound cuts the search it says so, what was covered, and how large the whole may be: then what is not printed may still happen. A cut by `--memory` or \
`--time` is not reproducible; all else is the same for any number of workers.

`--search-depth` bounds how many steps from the start the search goes. `--steps` does not: it only limits the runs that are performed again for their tokens.

The clock is exact: it moves in units that tell all orders of deadlines apart. `--clock fast` moves it to the instants that random walks use, which misses \
some orders; on it nothing is called impossible.";

const AFTER: &str = "\
Examples:
  raceflip explore app.race
  raceflip explore models                          one after the other; as JSON an array
  raceflip explore app.race --observe total,done   ends with different values are different ends
  raceflip explore app.race --pairs                can these two accesses race, and in which order?
  raceflip explore app.race --states 50000000 --memory 16G
  raceflip explore app.race --format json | jq '.ends[].text'

Exit status:
  0    every end that was found is `ok`, and no livelock; of a search that was cut (`complete` is false
       in the JSON) it says no more than that nothing bad was found so far
  1    some run fails, blocks, is stuck or comes to a limit, or may go on for ever
  2    bad input or usage
  130  interrupted; what was found by then is printed";

/// Visit every state: what can happen, and what never can
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(super) struct Args {
    /// Models, and folders of models
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Variables whose values tell ends apart; '' for none [default: those of the model's `expect outcomes of` lines]
    #[arg(long, value_name = "VAR,...", value_delimiter = ',', help_heading = head::MODEL)]
    observe: Option<Vec<String>>,
    /// Tell which accesses can stand side by side, and in which orders they can be performed
    #[arg(long, conflicts_with_all = ["reduce", "preemptions"], help_heading = head::RESULT)]
    pairs: bool,
    /// Which states are looked at first
    #[arg(long, value_enum, default_value_t, value_name = "ORDER", help_heading = head::EFFORT)]
    search: Search,
    /// How the clock moves
    #[arg(long, value_enum, default_value_t, value_name = "CLOCK", help_heading = head::EFFORT)]
    clock: ClockArg,
    /// Follow only one order of steps that commute: as many states, fewer transitions; runs are no shortest ones
    #[arg(long, help_heading = head::EFFORT)]
    reduce: bool,
    /// Follow only runs in which a thread that could have gone on is put aside so many times at most
    #[arg(long, value_name = "N", conflicts_with = "reduce", help_heading = head::EFFORT)]
    preemptions: Option<u32>,
    #[command(flatten)]
    jobs: JobArgs,
    #[command(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    bounds: BoundArgs,
    #[command(flatten)]
    defines: Defines,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Order of the search: the value of `--search`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Search {
    /// Nearest first: shortest runs
    #[default]
    Breadth,
    /// Last found first, by one worker: little memory
    Depth,
}

/// Steps of the clock: the value of `--clock`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ClockArg {
    /// Tells all orders of deadlines apart
    #[default]
    Exact,
    /// To deadlines, and as long before them as the app's delays are
    Fast,
}

/// Result of a search.
pub(super) struct Answer<'m> {
    pub(super) model: &'m Model,
    pub(super) plan: Plan<'m>,
    pub(super) preemptions: Option<u32>,
    pub(super) found: Explored,
    /// Least stall of each end whose shortest run has one, in milliseconds.
    pub(super) stalls: BTreeMap<explore::End, u64>,
    /// Possible livelocks; `None` if the search could not decide.
    pub(super) livelocks: Option<Vec<Livelock>>,
    pub(super) orders: Option<SiteOrders>,
    /// Whether the time limit or an interruption has cut the search, or what follows it.
    pub(super) stopped: bool,
    /// Whether the time limit was reached.
    pub(super) timed_out: bool,
}

impl Answer<'_> {
    /// Returns whether what the search did not find is impossible.
    pub(super) fn proves(&self) -> bool {
        self.found.complete() && self.plan.clock == Clock::Exact && self.preemptions.is_none()
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Status, Refusal> {
    let models = Models::find(&args.paths, args.defines.resolve())?;
    if models.many && args.observe.as_deref().is_some_and(|names| names.iter().any(|name| !name.is_empty())) {
        return Err(Refusal::new("--observe names variables of one model: give one file"));
    }
    let stop = interrupt::install();
    let timer = Timer::start(args.bounds.time, stop.clone());
    let why = || if timer.is_up() { "the time is up" } else { "interrupted" };
    let stopped = || stop.load(Ordering::Relaxed).then(why);
    models.each(&args.result, context, stopped, |model, context| one(&args, model, (&stop, &timer), context))
}

// Explores one model. Returns its JSON, if that is the format.
fn one(
    args: &Args,
    model: &Model,
    (stop, timer): (&AtomicBool, &Timer),
    context: &mut Context,
) -> Result<(Status, Option<String>), Refusal> {
    let plan: Plan<'_> = Plan {
        limits: args.limits.resolve(),
        jobs: workers(args.jobs.jobs),
        bounds: args.bounds.resolve(),
        first: if args.search == Search::Depth { First::Deepest } else { First::Nearest },
        clock: if args.clock == ClockArg::Fast { Clock::Critical } else { Clock::Exact },
        reduce: args.reduce,
        pairs: args.pairs,
        observe: observed(args.observe.as_deref(), model)?,
        ..Plan::new(model)
    };
    let bar = Bar::new();
    let answer = search(model, plan, args.preemptions, (stop, &bar), timer);
    bar.finish();
    let json = (args.result.format == Format::Json).then(|| ExploreReport::new(&report(&answer)).to_json());
    if json.is_none() {
        tell::all(&answer, args.result.quiet, &mut context.out);
    }
    if answer.stopped && !answer.timed_out {
        return Ok((Status::Interrupted, json));
    }
    let bad = answer.found.ends.values().any(|way| way.outcome != Outcome::Ok);
    let endless = answer.livelocks.as_ref().is_some_and(|l| !l.is_empty());
    Ok((if bad || endless { Status::Found } else { Status::Nothing }, json))
}

// Searches all states. Least stalls and livelocks follow only if the search is complete; the orders of pairs follow
// unless it was stopped.
fn search<'m>(
    model: &'m Model,
    plan: Plan<'m>,
    preemptions: Option<u32>,
    (stop, bar): (&AtomicBool, &Bar),
    timer: &Timer,
) -> Answer<'m> {
    let context = explore::Context { stop, progress: bar };
    let found = match preemptions {
        Some(bound) => explore_with(&plan, &Preemptions::at_most(bound), context),
        None => explore(&plan, context),
    };
    let mut answer = Answer {
        model,
        preemptions,
        stalls: BTreeMap::new(),
        livelocks: None,
        orders: None,
        stopped: false,
        timed_out: false,
        found,
        plan,
    };
    if answer.proves() {
        let late = answer.found.ends.iter().filter(|(_, way)| way.stall > 0).map(|(end, _)| end.clone());
        let late: BTreeSet<explore::End> = late.collect();
        if !late.is_empty() {
            bar.phase("least stalls");
            answer.stalls = least_stalls(&answer.plan, answer.found.scale, &late, context);
        }
        bar.phase("possible livelocks");
        let (livelocks, cut) = livelocks(&answer.plan, context);
        answer.livelocks = cut.is_none().then_some(livelocks);
    }
    if answer.plan.pairs && answer.found.cut != Some(Cut::Stopped) {
        bar.phase("orders");
        answer.orders = Some(site_orders(&answer.plan, &answer.found, context));
    }
    answer.stopped = context.stop.load(Ordering::Relaxed);
    answer.timed_out = timer.is_up();
    answer
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

fn report<'a>(answer: &'a Answer<'_>) -> crate::formats::explore::About<'a> {
    crate::formats::explore::About {
        file: answer.model.name(),
        plan: &answer.plan,
        found: &answer.found,
        preemptions: answer.preemptions,
        stalls: &answer.stalls,
        livelocks: answer.livelocks.as_deref(),
        orders: answer.orders.as_ref(),
        stopped: answer.stopped,
        timed_out: answer.timed_out,
    }
}
