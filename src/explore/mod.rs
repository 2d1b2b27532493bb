//! Exhaustive search: every state that a model can reach, up to bounds that are told.
//!
//! States are canonical (`docs/semantics.md`, *The canonical state*): two are the same if nothing that can happen later differs. A search visits each once,
//! breadth first, and so says which ends can be reached, on which shortest way, and what can never be. It is what a verdict "refuted"
//! rests on, and what the fuzzer and the detectors are tested against.
//!
//! - **The clock** is exact: in units that tell all orders of deadlines apart ([`Clock::Exact`]).
//! - **Reduction**: of choices that commute only one order is followed (sleep sets, kept with the states, and states are looked at again where one shrinks:
//!   Godefroid, Holzmann and Pirottin, *State-space caching revisited*). It leaves out transitions, never states, so it needs no proviso for cycles.
//! - **The same answer for any number of workers**: of two ways to a state the lesser one counts (`table`), and bounds cut between batches.

mod breadth;
mod choices;
mod depth;
mod ends;
mod estimate;
mod livelock;
mod monitor;
mod order;
mod path;
mod searched;
mod stall;
mod table;
mod worker;

pub use ends::End;
pub use estimate::Estimate;
pub use livelock::{Livelock, livelocks};
pub use monitor::{Monitor, Nothing, Preemptions};
pub use order::{
    Instance, Order, PairOrders, SiteOrders, instance_order, site_order, site_orders, witness, write_progress,
};
pub use path::Way;
pub use stall::least_stalls;
pub use table::MOST_STATES;

use crate::base::mutant::{self, Mutant};
use crate::detect::Pair;
use crate::event::{Actor, Choice};
use crate::lang::program::GlobalId;
use crate::vm::Model;
use crate::world::{Limits, Scale, divisor};
use monitor::Node;
use searched::{Keep, Searched};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use worker::{Finds, Sight};

/// What is searched, and how far.
#[derive(Clone)]
pub struct Plan<'m> {
    /// The model.
    pub model: &'m Model,
    /// Limits of each run; that of steps does not count.
    pub limits: Limits,
    /// Workers; the result is the same for any number.
    pub jobs: usize,
    /// Where the search ends if the states do not.
    pub bounds: Bounds,
    /// Which states are looked at first.
    pub first: First,
    /// How the clock moves.
    pub clock: Clock,
    /// Whether of choices that commute only one order is followed. States and ends are the same, and there are fewer transitions; ways are no
    /// shortest ones any more.
    pub reduce: bool,
    /// Whether it is noted which accesses can stand side by side; then nothing is reduced.
    pub pairs: bool,
    /// Variables whose values tell ends apart.
    pub observe: BTreeSet<GlobalId>,
    /// Choices, in milliseconds, that lead to the state from which everything is searched; none: from the start of the app. They must be open one after
    /// another, as they are in the run that they come from. Depth counts from that state.
    pub from: Vec<Choice>,
    /// Whether failures of different signatures are different ends ([`End::signature`]).
    pub signatures: bool,
}

impl<'m> Plan<'m> {
    /// A search of this model with one worker and the usual bounds.
    #[must_use]
    pub fn new(model: &'m Model) -> Self {
        Self {
            model,
            limits: Limits::default(),
            jobs: 1,
            bounds: Bounds::default(),
            first: First::Nearest,
            clock: Clock::Exact,
            reduce: false,
            pairs: false,
            observe: BTreeSet::new(),
            from: Vec::new(),
            signatures: false,
        }
    }

    fn reduces(&self) -> bool {
        self.reduce && !self.pairs && self.clock == Clock::Exact
    }
}

/// How far a search goes. Where a bound cuts it, the answer says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// States.
    pub states: u64,
    /// Steps from the start.
    pub depth: u32,
    /// Bytes, as far as they can be told; where this cuts is not promised to be the same elsewhere.
    pub memory: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { states: 10_000_000, depth: 1_000_000, memory: 4 << 30 }
    }
}

impl Bounds {
    // `full`: there is no room for one more state.
    fn cut(&self, states: u64, full: bool, stopped: bool) -> Option<Cut> {
        let cuts = [(stopped, Cut::Stopped), (states >= self.states, Cut::States), (full, Cut::Memory)];
        cuts.into_iter().find(|(is, _)| *is).map(|(_, cut)| cut)
    }
}

/// Which states a search looks at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// Those that take the fewest steps: what is found is found on a shortest way.
    Nearest,
    /// Those that were found last: in little memory, by one worker, at most 16 million states.
    Deepest,
}

/// How the clock of a search moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// In units that tell all orders of deadlines apart.
    Exact,
    /// To the critical instants, as random walks do: fewer states, and some orders are missed. What it does not find may exist.
    Critical,
}

/// What ended a search before it was through.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cut {
    /// The bound of states.
    States,
    /// The bound of depth.
    Depth,
    /// The bound of memory.
    Memory,
    /// Somebody wanted it to stop.
    Stopped,
}

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// States that were found.
    pub states: u64,
    /// Choices that were followed.
    pub transitions: u64,
    /// States that were found and not looked at.
    pub frontier: u64,
    /// Bytes, about.
    pub memory: u64,
    /// Steps from the start.
    pub depth: u32,
}

/// Is told how far a search is.
pub trait Progress: Sync {
    /// It is here.
    fn at(&self, status: &Status);
}

/// Tells nobody.
#[derive(Clone, Copy, Default, Debug)]
pub struct Silent;

impl Progress for Silent {
    fn at(&self, _: &Status) {}
}

/// How a search is stopped, and whom it tells how far it is.
#[derive(Clone, Copy)]
pub struct Context<'c> {
    /// Set by somebody to stop it.
    pub stop: &'c AtomicBool,
    /// Is told.
    pub progress: &'c dyn Progress,
}

/// What a search has found.
#[derive(Clone, Debug)]
pub struct Explored {
    /// States that were found.
    pub states: u64,
    /// Choices that were followed, all ticks in a row from one state counted as one.
    pub transitions: u64,
    /// Steps to the state that is the farthest.
    pub depth: u32,
    /// What ended it; `None` if it is complete.
    pub cut: Option<Cut>,
    /// States that were found and not looked at.
    pub frontier: u64,
    /// How large the whole may be, if the search was cut.
    pub estimate: Option<Estimate>,
    /// The length of the clock's unit: `down / up` milliseconds.
    pub scale: Scale,
    /// How runs end, each with a shortest run that ends so.
    pub ends: BTreeMap<End, Way>,
    /// What a monitor that watches said anywhere ([`Monitor::mark`]).
    pub marks: BTreeSet<u64>,
    /// Pairs of accesses that can stand side by side, each with a run that brings them there.
    pub adjacent: BTreeMap<Pair, Way>,
    /// Bytes of the visited set.
    pub table_bytes: u64,
    /// The most bytes that it took, about.
    pub memory: u64,
}

impl Explored {
    /// Whether everything that can be reached was visited.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.cut.is_none()
    }
}

/// Visits every state that can be reached, within the bounds.
///
/// # Examples
///
/// ```
/// use raceflip::{explore::{self, Plan, Silent, explore}, vm::Model};
/// use std::sync::atomic::AtomicBool;
///
/// let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let observe = model.program.globals.ids().collect();
/// let stop = AtomicBool::new(false);
/// let found = explore(&Plan { observe, ..Plan::new(&model) }, explore::Context { stop: &stop, progress: &Silent });
/// assert!(found.complete());
/// let ends: Vec<String> = found.ends.keys().map(|end| end.ended.text()).collect();
/// assert_eq!(ends, ["ok 1", "ok 2"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn explore(plan: &Plan<'_>, context: Context<'_>) -> Explored {
    explore_with(plan, &Nothing, context)
}

/// [`explore`] of the product with a monitor.
#[must_use]
pub fn explore_with<M: Monitor>(plan: &Plan<'_>, monitor: &M, context: Context<'_>) -> Explored {
    let (scale, searched) = search(plan, monitor, Keep::States, context);
    explored(plan, scale, searched)
}

/// [`explore_with`], if it is complete.
///
/// # Errors
///
/// If it is cut: then all that is told is how many states there are at least.
pub fn exhaust<M: Monitor>(plan: &Plan<'_>, monitor: &M, context: Context<'_>) -> Result<Explored, u64> {
    let (scale, searched) = search(plan, monitor, Keep::States, context);
    if searched.cut.is_some() { Err(searched.table.len()) } else { Ok(explored(plan, scale, searched)) }
}

/// How many states there are and how runs end, with no run to any of that; `None` if the search is cut.
#[must_use]
pub fn exhaust_ends<M: Monitor>(plan: &Plan<'_>, monitor: &M, context: Context<'_>) -> Option<(u64, BTreeSet<End>)> {
    let (_, searched) = search(plan, monitor, Keep::States, context);
    searched.cut.is_none().then(|| (searched.table.len(), searched.finds.ends.into_keys().collect()))
}

fn explored<M: Monitor>(plan: &Plan<'_>, scale: Scale, searched: Searched<M>) -> Explored {
    let ends =
        searched.finds.ends.iter().map(|(end, seen)| (end.clone(), way(plan, scale, &searched, *seen))).collect();
    let adjacent =
        searched.finds.adjacent.iter().map(|(pair, seen)| (*pair, way(plan, scale, &searched, *seen))).collect();
    let visited = |digest| searched.table.contains(digest);
    let work = searched.finds.transitions.saturating_mul(searched.largest);
    let estimate = searched.cut.map(|_| estimate::estimate(plan, &searched.first, work, visited));
    let Searched { table, finds, depth, cut, frontier, memory, .. } = searched;
    Explored {
        states: table.len(),
        transitions: finds.transitions,
        depth,
        cut,
        frontier,
        estimate,
        scale,
        ends,
        marks: finds.marks,
        adjacent,
        table_bytes: table.bytes(),
        memory,
    }
}

/// Searches for what a monitor accepts: whether some run comes to that, and how many states of the product were visited.
#[must_use]
pub fn search_for<M: Monitor>(plan: &Plan<'_>, monitor: &M, context: Context<'_>) -> (Order, u64) {
    let plan = Plan { reduce: false, pairs: false, ..plan.clone() };
    let (scale, searched) = search(&plan, monitor, Keep::States, context);
    let order = match (searched.finds.accepted, searched.cut) {
        (Some(first), _) => Order::Happens(way(&plan, scale, &searched, first)),
        (None, Some(cut)) => Order::Unknown(cut),
        (None, None) => Order::Never,
    };
    (order, searched.table.len())
}

// A shortest run to a state that was visited, and on to an end.
fn way<M: Monitor>(plan: &Plan<'_>, scale: Scale, searched: &Searched<M>, to: Sight) -> Way {
    let choices = path::through(&searched.first, &searched.table.way(to.at), plan.clock);
    let choices = choices.expect("a search finds its way again to what it has visited");
    path::complete(plan, scale, &choices).expect("a way in units of the clock is one in milliseconds")
}

/// Where a search starts.
fn first<M: Monitor>(plan: &Plan<'_>, scale: Scale, monitor: &M) -> Node<M> {
    let mut machine = plan.model.machine(plan.limits);
    machine.world.set_scale(scale);
    machine.start(M::WATCHES);
    let mut monitor = monitor.clone();
    for event in machine.world.recorded() {
        monitor.event(&machine.world, event);
    }
    let mut node = Node::new(machine, monitor);
    for choice in &plan.from {
        let argument = if choice.actor == Actor::Clock { scale.instant(choice.argument) } else { choice.argument };
        node.follow(Choice { argument, ..*choice });
    }
    node
}

// What a scale has to fit: what divides all durations, and the deadlines that are ahead at once.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fit {
    divisor: u64,
    deadlines: u64,
}

impl Fit {
    // `docs/semantics.md`, *The clock*: units of g / (n + 1) milliseconds, or of one.
    fn scale(self) -> Scale {
        if mutant::is(Mutant::UnitsOfTheDivisor) {
            return Scale::new(1, self.divisor.max(1));
        }
        if self.divisor <= self.deadlines { Scale::default() } else { Scale::new(self.deadlines + 1, self.divisor) }
    }
}

// Searches in the units that fit; where a search finds that they do not, it is begun again in smaller ones.
fn search<M: Monitor>(plan: &Plan<'_>, monitor: &M, keep: Keep, context: Context<'_>) -> (Scale, Searched<M>) {
    let setup = &plan.model.code.setup;
    let ticks = plan.from.iter().filter(|choice| choice.actor == Actor::Clock).map(|choice| choice.argument);
    let instants = setup.instants.iter().copied().chain(ticks).map(|i| i.saturating_sub(1));
    let durations = setup.delays.iter().copied().chain(instants);
    let mut fit = Fit { divisor: durations.fold(0, divisor), deadlines: 1 + u64::from(!setup.instants.is_empty()) };
    loop {
        let scale = if plan.clock == Clock::Exact { fit.scale() } else { Scale::default() };
        let searched = match plan.first {
            First::Nearest => breadth::search(plan, scale, monitor, keep, context),
            First::Deepest => depth::search(plan, scale, monitor, keep, context),
        };
        match misfit(plan, scale, &searched.finds) {
            None => return (scale, searched),
            Some(better) => fit = better,
        }
    }
}

// Whether the units are too large for what was found; then what is known of the right ones.
fn misfit(plan: &Plan<'_>, scale: Scale, finds: &Finds) -> Option<Fit> {
    let whole = scale.up == 1 && scale.down == 1;
    let setup = &plan.model.code.setup;
    let deadlines = finds.deadlines as u64 + u64::from(!setup.instants.is_empty());
    let fits = whole || (finds.fits == scale.down && deadlines < scale.up);
    let fits = fits || finds.fits == scale.down && mutant::is(Mutant::UnitsOfTheDivisor);
    (!fits).then_some(Fit { divisor: finds.fits, deadlines: deadlines.max(scale.up - 1) })
}
