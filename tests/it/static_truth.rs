//! What all runs of a small model say about the orders of its accesses: the oracle of static executes-before.
//!
//! The facts come from the graph of all states ([`crate::truth`]), and from a second walk for the stronger meaning of
//! an order. *x is past before y* also says that no x comes where y's task leaves right before y (`docs/verdicts.md`:
//! then y alone would have cut x off). So each state with a pending access continues without that task, and the
//! second walk collects the accesses that still come.

use crate::stateless::{choices, next_instants};
use crate::truth::graph_with;
use raceflip::base::IndexVec;
use raceflip::detect::Pair;
use raceflip::event::{Access, AccessKind, AccessPlace, Actor, EventKind, Site, SiteId};
use raceflip::explore::{Bounds, NoSearchProgress, OrderResult, SearchContext, SearchPlan, explore, site_orders};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// Facts about the conflicting plain accesses of a model, by their sites.
#[derive(Default)]
pub(crate) struct OrderFacts {
    /// Number of states.
    pub(crate) states: usize,
    /// Accesses that some run performs. Only [`order_facts`] knows them.
    pub(crate) performed: BTreeSet<SiteId>,
    /// The order *first, later* happens: in some run an access of `first` comes before a conflicting one of `later`,
    /// of another thread or task.
    pub(crate) orders: BTreeSet<(SiteId, SiteId)>,
    /// Pairs that are side by side in some state.
    pub(crate) beside: BTreeSet<Pair>,
    /// *x, y*: an access of `x` still comes after the task that was about to perform a conflicting one of `y` has left
    /// right before it.
    pub(crate) remains: BTreeSet<(SiteId, SiteId)>,
}

/// An access of a site to a cell of a global. Objects have different numbers in states that are the same, so their
/// accesses are left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    site: SiteId,
    cell: u32,
    writes: bool,
}

impl Visit {
    fn new(site: SiteId, access: Access) -> Option<Self> {
        match access.place {
            AccessPlace::Cell(at) if at.object.is_none() => {
                Some(Self { site, cell: at.cell, writes: access.kind == AccessKind::Write })
            }
            _ => None,
        }
    }
}

/// Bound on the accesses that the second walk tells apart.
const MOST_VISITS: usize = 128;

/// The states that come after some task has left, with the accesses that runs from there perform.
struct Later {
    /// The instants to which the clock may advance.
    instants: fn(&World) -> Vec<u64>,
    met: BTreeMap<u128, usize>,
    /// For each state the numbers of the states that follow it.
    follows: Vec<Vec<usize>>,
    /// For each state the accesses that the step into one of these performs, as bits; and later those of all runs.
    visits: Vec<u128>,
    numbers: BTreeMap<Visit, u32>,
    /// States right after a task left, each with the access that it was about to perform.
    left: BTreeSet<(usize, Visit)>,
    is_full: bool,
    /// Bound on the states.
    most: usize,
}

impl Later {
    // A walk of at most ten times as many states as the first one, and 40,000.
    fn new(instants: fn(&World) -> Vec<u64>, most: usize) -> Self {
        Self {
            most: (most * 10).min(40_000),
            instants,
            met: BTreeMap::new(),
            follows: Vec::new(),
            visits: Vec::new(),
            numbers: BTreeMap::new(),
            left: BTreeSet::new(),
            is_full: false,
        }
    }

    /// Continues a state without each of the tasks that are about to perform an access.
    fn leave_each(&mut self, machine: &Machine<Vm>) {
        let world = &machine.world;
        for id in world.enabled().iter() {
            let thread = world.thread(id);
            let access = thread.pending.access().zip(thread.site);
            let Some(visit) = access.and_then(|(access, site)| Visit::new(site, access)) else { continue };
            let mut without = machine.clone();
            without.abandon(id);
            let at = self.walk(without);
            self.left.insert((at, visit));
        }
    }

    // Visits all states from one on. Returns the number of the first one.
    fn walk(&mut self, first: Machine<Vm>) -> usize {
        let mut open = Vec::new();
        let start = self.state(first, &mut open);
        while let Some((at, mut machine)) = open.pop() {
            for choice in choices(&mut machine, self.instants).unwrap_or_default() {
                if choice.actor == Actor::Stop || self.is_full {
                    continue;
                }
                let mut next = machine.clone();
                next.step(choice);
                for event in next.world.recorded() {
                    let EventKind::Performed { op, .. } = &event.what else { continue };
                    let access = op.access().zip(event.site);
                    let Some(visit) = access.and_then(|(access, site)| Visit::new(site, access)) else { continue };
                    let known = self.numbers.len() as u32;
                    let number = *self.numbers.entry(visit).or_insert(known);
                    self.is_full |= number as usize >= MOST_VISITS;
                    self.visits[at] |= 1_u128.checked_shl(number).unwrap_or(0);
                }
                let to = self.state(next, &mut open);
                self.follows[at].push(to);
            }
        }
        start
    }

    fn state(&mut self, machine: Machine<Vm>, open: &mut Vec<(usize, Machine<Vm>)>) -> usize {
        let digest = machine.canonical().digest();
        if let Some(known) = self.met.get(&digest) {
            return *known;
        }
        let at = self.visits.len();
        self.is_full |= at >= self.most;
        self.met.insert(digest, at);
        self.visits.push(0);
        self.follows.push(Vec::new());
        open.push((at, machine));
        at
    }

    /// Returns the pairs *x, y* of sites that can conflict for which x remains where the task of y has left. `None` if
    /// there are too many states.
    fn remains(mut self, sites: &IndexVec<SiteId, Site>) -> Option<BTreeSet<(SiteId, SiteId)>> {
        if self.is_full {
            return None;
        }
        crate::truth::fixpoint(self.visits.len(), |at| {
            let all = self.follows[at].iter().fold(self.visits[at], |all, to| all | self.visits[*to]);
            std::mem::replace(&mut self.visits[at], all) != all
        });
        let mut found = BTreeSet::new();
        for (at, y) in &self.left {
            for (x, number) in &self.numbers {
                let comes = self.visits[*at] >> number & 1 == 1;
                let conflict = x.cell == y.cell && (x.writes || y.writes);
                if comes && conflict && sites[x.site].can_conflict(&sites[y.site]) {
                    found.insert((x.site, y.site));
                }
            }
        }
        Some(found)
    }
}

/// Returns the facts of a model; `None` if it has more than `most` states, or too many of them follow a task that has
/// left.
pub(crate) fn order_facts(model: &Model, most: usize) -> Option<OrderFacts> {
    let sites = &model.program.sites;
    let mut later = Later::new(next_instants, most);
    let graph = graph_with(model, most, false, &mut |machine| later.leave_each(machine))?;
    let mut facts = OrderFacts { states: graph.nodes.len(), remains: later.remains(sites)?, ..OrderFacts::default() };
    facts.performed = graph.occurrences.iter().map(|o| o.site).collect();
    facts.beside = graph.nodes.iter().flat_map(|n| n.beside.iter().map(|b| b.pair)).collect();
    for (first, then) in graph.orders().into_iter().filter(|(first, then)| graph.conflict(*first, *then)) {
        let [a, b] = [first, then].map(|i| graph.occurrences[i as usize].site);
        if sites[a].can_conflict(&sites[b]) {
            facts.orders.insert((a, b));
        }
    }
    Some(facts)
}

/// Returns the facts of a model whose delays are too long for a clock of milliseconds. The graph of its states comes
/// from `explore`; where tasks leave, the clock only moves to critical instants, so some facts may be missing there.
/// `None` if it has more than `most` states, or the product with an order has twenty times as many.
pub(crate) fn facts_by_search(model: &Model, most: u64) -> Option<OrderFacts> {
    let sites = &model.program.sites;
    let bounds = Bounds { states: most, ..Bounds::default() };
    let plan = SearchPlan { bounds, pairs: true, ..SearchPlan::new(model) };
    let context = SearchContext { stop: &AtomicBool::new(false), progress: &NoSearchProgress };
    let found = explore(&plan, context);
    if !found.complete() {
        return None;
    }
    let mut facts = OrderFacts { states: found.states as usize, ..OrderFacts::default() };
    facts.beside = found.adjacent.keys().copied().collect();
    // The product with the order has more states than the model.
    let bounds = Bounds { states: most * 20, ..Bounds::default() };
    let plan = SearchPlan { bounds, pairs: false, ..plan };
    for (pair, found) in site_orders(&plan, &found, context) {
        if !sites[pair.a].can_conflict(&sites[pair.b]) {
            continue;
        }
        if found.orders.iter().any(|(.., result)| matches!(result, OrderResult::Unknown(_))) {
            return None;
        }
        let happens = found.orders.iter().filter(|(.., result)| matches!(result, OrderResult::Happens(_)));
        facts.orders.extend(happens.map(|(first, then, _)| (*first, *then)));
    }
    facts.remains = remains_by_search(model, most as usize).unwrap_or_default();
    Some(facts)
}

// Returns what remains where a task has left, with the clock at critical instants.
fn remains_by_search(model: &Model, most: usize) -> Option<BTreeSet<(SiteId, SiteId)>> {
    let mut later = Later::new(World::instants, most);
    let mut machine = model.machine(Limits::default());
    machine.start(true);
    let (mut met, mut open) = (BTreeSet::new(), vec![machine]);
    while let Some(mut machine) = open.pop() {
        if !met.insert(machine.canonical().digest()) {
            continue;
        }
        if met.len() > most || later.is_full {
            return None;
        }
        let Ok(all) = choices(&mut machine, World::instants) else { continue };
        later.leave_each(&machine);
        for choice in all.into_iter().filter(|choice| choice.actor != Actor::Stop) {
            let mut next = machine.clone();
            next.step(choice);
            open.push(next);
        }
    }
    later.remains(&model.program.sites)
}

impl OrderFacts {
    /// Returns whether the accesses of a pair happen in one order only, and are nowhere side by side.
    pub(crate) fn has_one_order(&self, a: SiteId, b: SiteId) -> bool {
        let both = [(a, b), (b, a)].map(|order| self.orders.contains(&order));
        a != b && both[0] != both[1] && !self.beside.contains(&Pair::new(a, b))
    }

    /// Returns how all runs contradict the claim that each access of `x` is past before each conflicting one of `y`.
    pub(crate) fn denies(&self, x: SiteId, y: SiteId) -> Option<&'static str> {
        let pair = Pair::new(x, y);
        let is = [
            (self.beside.contains(&pair), "side by side in some state"),
            (x != y && self.orders.contains(&(y, x)), "in the other order in some run"),
            (x != y && self.remains.contains(&(x, y)), "the first one still comes where the second one is pending"),
        ];
        is.into_iter().find(|(is, _)| *is).map(|(_, how)| how)
    }
}
