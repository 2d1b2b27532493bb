//! Exhaustive search: visits every state that a program can reach, up to bounds, and reports whether a bound cut it.
//!
//! States are canonical (`docs/semantics.md`, *The canonical state*): two states are equal if nothing that can happen
//! later differs. A search visits each state once, breadth first. It therefore reports which ends can be reached,
//! with a shortest way to each, and what can never happen. A verdict "refuted" rests on it, and the fuzzer and the
//! detectors are tested against it.
//!
//! - **The clock** is exact: its units are small enough to distinguish all orders of deadlines ([`ClockMode::Exact`]).
//! - **Reduction**: of choices that commute only one order is followed (sleep sets, kept with the states; a state is
//!   revisited when its sleep set shrinks: Godefroid, Holzmann and Pirottin, *State-space caching revisited*). It
//!   leaves out transitions, never states, so it needs no proviso for cycles.
//! - **Stubborn sets** leave out states as well ([`Stubbornness`], `stubborn`), and with them some answers.
//! - **The same answer for any number of workers**: of two ways to a state the lesser one counts (`table`), and
//!   bounds cut between batches.

mod accepted;
mod atomicity;
mod breadth;
mod choices;
mod components;
mod depth;
mod end_watch;
mod ends;
mod estimate;
mod finds;
mod graph;
mod level;
mod livelock;
mod monitor;
mod order;
mod path;
mod progress;
mod proviso;
mod remembered;
mod searched;
mod sleep;
mod stall;
mod stubborn;
#[cfg(debug_assertions)]
mod stubborn_check;
mod symmetry;
mod table;
mod transitions;
mod vector_worker;
mod vectors;
mod worker;

pub use accepted::{AbandonedTask, is_accepted, search_for};
pub use atomicity::{Unknown, Violations, violations};
pub use ends::SearchEnd;
pub use estimate::Estimate;
pub use livelock::{Livelock, explore_with_livelocks, livelocks};
pub use monitor::{Monitor, NoMonitor, Preemptions};
pub use order::{
    OrderResult, PairOrders, SiteOrders, StatementInstance, instance_order, site_order, site_orders, whereabouts,
    witness, write_progress,
};
pub use path::RunChoices;
pub use progress::{NoSearchProgress, SearchContext, SearchProgress, SearchStatus};
pub use stall::least_stalls;
pub use stubborn::Stubbornness;
pub use symmetry::explore_symmetric;
pub use table::MOST_STATES;

use crate::base::mutant::{self, Mutant};
use crate::detect::Pair;
use crate::event::{Actor, Choice, GlobalId};
use crate::vm::Model;
use crate::world::{Limits, Program, Scale, Snapshot, Symmetry, divisor};
use finds::Finds;
use monitor::ProductState;
use searched::{SearchState, SearchStorage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The subject of a search, its bounds and its options.
pub struct SearchPlan<'m, P = Model> {
    /// The program to search.
    pub program: &'m P,
    /// Limits of each run; the step limit does not apply to the search itself.
    pub limits: Limits,
    /// Number of workers. The result is the same for any number.
    pub jobs: usize,
    /// Bounds that cut the search if it does not end before.
    pub bounds: Bounds,
    /// Order in which states are visited.
    pub first: SearchOrder,
    /// How the clock moves.
    pub clock: ClockMode,
    /// Whether only one order of commuting choices is followed. States and ends are the same, with fewer transitions;
    /// ways are no longer shortest ways.
    pub reduce: bool,
    /// Whether a search leaves out states as well, by stubborn sets. Then it tells the ends at which nothing can move,
    /// with their values, and of all others the kinds and sites; it has no shortest ways. `reduce` is ignored then. A
    /// search with [`pairs`](Self::pairs), a monitor, the fast clock or [`symmetry`](Self::symmetry) is never reduced.
    pub stubborn: Option<Stubbornness>,
    /// The threads that are alike, for [`explore_symmetric`].
    pub symmetry: Option<Arc<Symmetry>>,
    /// Whether the search records which accesses can be side by side. This turns reduction off.
    pub pairs: bool,
    /// Variables whose values distinguish ends.
    pub observe: BTreeSet<GlobalId>,
    /// Choices, in milliseconds, that lead to the state at which the search starts; empty for the start of the app.
    /// They must be open one after another, as they are in the run that they come from. Depth counts from that state.
    pub from: Vec<Choice>,
    /// Whether failures with different signatures are different ends ([`SearchEnd::signature`]).
    pub signatures: bool,
    /// What is abandoned in the state that [`from`](Self::from) leads to. No run reaches the states that follow, so
    /// that only [`is_accepted`] may search them.
    pub abandoned: Option<AbandonedTask>,
}

impl<P> Clone for SearchPlan<'_, P> {
    fn clone(&self) -> Self {
        let Self { observe, from, abandoned, symmetry, .. } = self;
        let (observe, from, abandoned) = (observe.clone(), from.clone(), abandoned.clone());
        Self { observe, from, abandoned, symmetry: symmetry.clone(), ..*self }
    }
}

impl<'m, P> SearchPlan<'m, P> {
    /// Returns the plan of a search of this program with one worker and the default bounds.
    #[must_use]
    pub fn new(program: &'m P) -> Self {
        Self {
            program,
            limits: Limits::default(),
            jobs: 1,
            bounds: Bounds::default(),
            first: SearchOrder::Nearest,
            clock: ClockMode::Exact,
            reduce: false,
            stubborn: None,
            symmetry: None,
            pairs: false,
            observe: BTreeSet::new(),
            from: Vec::new(),
            signatures: false,
            abandoned: None,
        }
    }

    fn reduces(&self) -> bool {
        self.reduce && !self.pairs && self.clock == ClockMode::Exact && self.stubborn.is_none()
    }

    /// Returns how the search leaves out states; `None` if it visits all of them.
    #[must_use]
    pub fn stubbornness(&self) -> Option<Stubbornness> {
        self.stubborn.filter(|_| !self.pairs && self.clock == ClockMode::Exact && self.symmetry.is_none())
    }

    // Returns the plan of a search that visits all states and follows all choices.
    fn in_full(&self) -> Self {
        Self { reduce: false, stubborn: None, pairs: false, ..self.clone() }
    }
}

/// Bounds of a search. If a bound cuts the search, the result says so ([`SearchReport::cut`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Maximum number of states.
    pub states: u64,
    /// Maximum number of steps from the start.
    pub depth: u32,
    /// Maximum memory in bytes, approximately. A cut by this bound may be at another place on another machine.
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

/// Which states a search visits first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchOrder {
    /// The states with the fewest steps from the start: the search finds everything on a shortest way.
    Nearest,
    /// The states that were found last: takes little memory, with one worker and at most 16 million states.
    Deepest,
}

/// How the clock of a search moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockMode {
    /// In units that distinguish all orders of deadlines.
    Exact,
    /// To the critical instants, as in random walks: fewer states, but some orders are missed. What such a search
    /// does not find may exist.
    Critical,
}

/// Why a search ended before it was complete.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cut {
    /// The bound of states was reached.
    States,
    /// The bound of depth was reached.
    Depth,
    /// The bound of memory was reached.
    Memory,
    /// The caller stopped the search ([`SearchContext::stop`]).
    Stopped,
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct SearchReport {
    /// Number of states found.
    pub states: u64,
    /// Number of choices followed. All ticks in a row from one state count as one.
    pub transitions: u64,
    /// Number of states in which only the choices of a stubborn set were followed. `None` if the search visits all
    /// states.
    pub reduced: Option<u64>,
    /// Steps from the start to the farthest state.
    pub depth: u32,
    /// The bound that cut the search; `None` if it is complete.
    pub cut: Option<Cut>,
    /// Number of states found and not visited.
    pub frontier: u64,
    /// Estimated size of the whole search, if it was cut.
    pub estimate: Option<Estimate>,
    /// Length of the clock's unit: `down / up` milliseconds.
    pub scale: Scale,
    /// Ends that runs can have, each with a shortest run to it.
    pub ends: BTreeMap<SearchEnd, RunChoices>,
    /// All marks that a monitor with [`Monitor::WATCHES`] returned in a visited state ([`Monitor::mark`]).
    pub marks: BTreeSet<u64>,
    /// Pairs of accesses that can be side by side, each with a run to such a state.
    pub adjacent: BTreeMap<Pair, RunChoices>,
    /// Size of the visited set in bytes.
    pub table_bytes: u64,
    /// Peak memory in bytes, approximately.
    pub memory: u64,
}

impl SearchReport {
    /// Whether every state that can be reached was visited.
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
/// use raceflip::{explore::{self, SearchPlan, NoSearchProgress, explore}, vm::Model};
/// use std::sync::atomic::AtomicBool;
///
/// let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let observe = model.program.globals.ids().collect();
/// let stop = AtomicBool::new(false);
/// let found = explore(&SearchPlan { observe, ..SearchPlan::new(&model) }, explore::SearchContext { stop: &stop, progress: &NoSearchProgress });
/// assert!(found.complete());
/// let ends: Vec<String> = found.ends.keys().map(|end| end.ended.text()).collect();
/// assert_eq!(ends, ["ok 1", "ok 2"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn explore<P: Program<Guest: Snapshot>>(plan: &SearchPlan<'_, P>, context: SearchContext<'_>) -> SearchReport {
    explore_with(plan, &NoMonitor, context)
}

/// Like [`explore`], for the product of the program with a monitor.
#[must_use]
pub fn explore_with<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    monitor: &M,
    context: SearchContext<'_>,
) -> SearchReport {
    let (scale, searched) = search(plan, monitor, SearchStorage::States, context);
    explored(plan, scale, searched, context)
}

/// Like [`explore_with`], but returns a result only if the search is complete.
///
/// # Errors
///
/// Returns the number of states that the search has found if it is cut. The number is a lower bound.
pub fn exhaust<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    monitor: &M,
    context: SearchContext<'_>,
) -> Result<SearchReport, u64> {
    let (scale, searched) = search(plan, monitor, SearchStorage::States, context);
    if searched.cut.is_some() { Err(searched.table.len()) } else { Ok(explored(plan, scale, searched, context)) }
}

/// Returns the number of states and the ends of runs, without a run to any of them; `None` if the search is cut.
#[must_use]
pub fn exhaust_ends<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    monitor: &M,
    context: SearchContext<'_>,
) -> Option<(u64, BTreeSet<SearchEnd>)> {
    let (_, searched) = search(plan, monitor, SearchStorage::States, context);
    searched.cut.is_none().then(|| (searched.table.len(), searched.finds.ends.into_keys().collect()))
}

fn explored<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    searched: SearchState<P::Guest, M>,
    context: SearchContext<'_>,
) -> SearchReport {
    let ends = symmetry::ends(plan, scale, &searched);
    let adjacent = path::ways(plan, scale, &searched, &searched.finds.adjacent);
    let work = searched.finds.transitions.saturating_mul(searched.largest.max(searched.first.bytes()));
    let cut = searched.cut.filter(|_| plan.symmetry.is_none());
    let estimate =
        cut.map(|_| estimate::estimate(plan, &searched.first, work, |d| searched.table.contains(d), context.stop));
    let SearchState { table, finds, depth, cut, frontier, memory, relations, .. } = searched;
    SearchReport {
        states: table.len(),
        transitions: finds.transitions,
        reduced: relations.map(|_| finds.reduced),
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

/// Returns the state at which a search starts.
fn first<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    monitor: &M,
) -> ProductState<P::Guest, M> {
    let mut machine = plan.program.machine(plan.limits);
    machine.world.set_scale(scale);
    machine.start(M::WATCHES);
    let mut monitor = monitor.clone();
    for event in machine.world.recorded() {
        monitor.event(&machine.world, event);
    }
    let mut node = ProductState::new(machine, monitor);
    for choice in &plan.from {
        let argument = if choice.actor == Actor::Clock { scale.instant(choice.argument) } else { choice.argument };
        node.follow(Choice { argument, ..*choice });
    }
    plan.abandoned.iter().for_each(|task| task.leave(&mut node.machine));
    node
}

// What a scale has to fit: the greatest common divisor of all durations, and the number of deadlines that are ahead
// at once.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ScaleFit {
    divisor: u64,
    deadlines: u64,
}

impl ScaleFit {
    // `docs/semantics.md`, *The clock*: units of g / (n + 1) milliseconds, or of one millisecond.
    fn scale(self) -> Scale {
        if mutant::is(Mutant::UnitsOfTheDivisor) {
            return Scale::new(1, self.divisor.max(1));
        }
        if self.divisor <= self.deadlines { Scale::default() } else { Scale::new(self.deadlines + 1, self.divisor) }
    }
}

// Searches in units that fit the durations known so far. If the search meets durations or deadlines for which they
// are too large, it starts again with smaller units.
fn search<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    monitor: &M,
    keep: SearchStorage,
    context: SearchContext<'_>,
) -> (Scale, SearchState<P::Guest, M>) {
    let setup = plan.program.setup();
    let ticks = plan.from.iter().filter(|choice| choice.actor == Actor::Clock).map(|choice| choice.argument);
    let instants = setup.instants.iter().copied().chain(ticks).map(|i| i.saturating_sub(1));
    let durations = setup.delays.iter().copied().chain(instants);
    let mut fit =
        ScaleFit { divisor: durations.fold(0, divisor), deadlines: 1 + u64::from(!setup.instants.is_empty()) };
    loop {
        let scale = if plan.clock == ClockMode::Exact { fit.scale() } else { Scale::default() };
        let searched = match plan.first {
            SearchOrder::Nearest => breadth::search(plan, scale, monitor, keep, context),
            SearchOrder::Deepest => depth::search(plan, scale, monitor, keep, context),
        };
        match misfit(plan, scale, &searched.finds) {
            None => return (scale, searched),
            Some(better) => fit = better,
        }
    }
}

// Returns what is known of the right units if the units of this search are too large for its findings.
fn misfit<P: Program>(plan: &SearchPlan<'_, P>, scale: Scale, finds: &Finds) -> Option<ScaleFit> {
    let whole = scale.up == 1 && scale.down == 1;
    let setup = plan.program.setup();
    let deadlines = finds.deadlines as u64 + u64::from(!setup.instants.is_empty());
    let fits = whole || (finds.fits == scale.down && deadlines < scale.up);
    let fits = fits || finds.fits == scale.down && mutant::is(Mutant::UnitsOfTheDivisor);
    (!fits).then_some(ScaleFit { divisor: finds.fits, deadlines: deadlines.max(scale.up - 1) })
}
