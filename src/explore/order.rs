//! Decides in which orders two accesses can happen: a search of the product of the program with an automaton that
//! remembers the first access.
//!
//! - *Site orders*: some operation of `x`, and later one of `y` on the same memory, by another thread or task. The
//!   memory that `x` touched is part of the state, in canonical numbers, so that renumbering keeps it.
//! - *Instance orders*: an instance before another one (`docs/semantics.md`, *Names*), where an instance is the n-th
//!   execution of a statement in the thread or task of a pedigree. The product includes how much of the pedigree
//!   exists already.

use super::monitor::Monitor;
use super::{Cut, RunChoices, SearchContext, SearchPlan, SearchReport, search_for};
use crate::base::Id;
use crate::detect::Pair;
use crate::event::{Access, AccessKind, AccessPlace, ContextId, Event, EventKind, SiteId};
use crate::exec::{Observer, run};
use crate::sched::Rerun;
use crate::world::{Canonicalizer, CreationKind, Program, Snapshot, ThreadStage, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whether an order can happen.
#[derive(Clone, Debug)]
pub enum OrderResult {
    /// Some run has the order; a shortest such run.
    Happens(RunChoices),
    /// No run has the order.
    Never,
    /// No visited run has the order, but this bound cut the search.
    Unknown(Cut),
}

/// Returns whether some run performs `first` and later `then`, in different threads or tasks, on the same memory. With
/// `direct`, no other write to that memory may come between the two.
#[must_use]
pub fn site_order<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    (first, then): (SiteId, SiteId),
    direct: bool,
    context: SearchContext<'_>,
) -> OrderResult {
    search_for(plan, &SiteOrder { first, then, direct, marks: Vec::new(), found: false }, context).0
}

/// Orders in which the accesses of each pair can happen, for the pairs that could conflict.
pub type SiteOrders = BTreeMap<Pair, PairOrders>;

/// Orders in which the accesses of a pair can happen.
#[derive(Clone, Debug)]
pub struct PairOrders {
    /// First site, second site, and whether that order happens. A site with itself has one entry.
    pub orders: Vec<(SiteId, SiteId, OrderResult)>,
    /// Whether the two instances of a run with the first order can also come the other way round. `None` unless both
    /// orders happen, or the one order of a site with itself.
    pub flips: Option<OrderResult>,
}

/// Returns the orders of all pairs of accesses that may touch the same memory, one of them writing. Pairs whose orders
/// are all [`OrderResult::Never`] are left out, unless they can be side by side.
#[must_use]
pub fn site_orders<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    found: &SearchReport,
    context: SearchContext<'_>,
) -> SiteOrders {
    let mut all = BTreeMap::new();
    for pair in conflicting(plan, found) {
        let ways = BTreeSet::from([(pair.a, pair.b), (pair.b, pair.a)]);
        let orders: Vec<(SiteId, SiteId, OrderResult)> = ways
            .into_iter()
            .map(|(first, then)| (first, then, site_order(plan, (first, then), false, context)))
            .collect();
        let happens = |o: &&(SiteId, SiteId, OrderResult)| matches!(o.2, OrderResult::Happens(_));
        let flips = match orders.iter().filter(happens).collect::<Vec<_>>().as_slice() {
            [(first, then, OrderResult::Happens(way)), _, ..] => flips(plan, *first, *then, way, context),
            [(first, then, OrderResult::Happens(way))] if first == then => flips(plan, *first, *then, way, context),
            _ => None,
        };
        if found.adjacent.contains_key(&pair) || orders.iter().any(|o| !matches!(o.2, OrderResult::Never)) {
            all.insert(pair, PairOrders { orders, flips });
        }
    }
    all
}

// Returns whether the instances of a run that has the order can come the other way round.
fn flips<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    first: SiteId,
    then: SiteId,
    way: &RunChoices,
    context: SearchContext<'_>,
) -> Option<OrderResult> {
    let (one, other) = witness(plan, first, then, way)?;
    Some(instance_order(plan, &other, &one, context))
}

/// Returns the instances of a run's first conflict in this order: an operation of `first`, and the operation of
/// `then` that conflicts with it.
#[must_use]
pub fn witness<P: Program>(
    plan: &SearchPlan<'_, P>,
    first: SiteId,
    then: SiteId,
    way: &RunChoices,
) -> Option<(StatementInstance, StatementInstance)> {
    let mut seen = OrderObserver { first, then, visits: BTreeMap::new(), firsts: Vec::new(), found: None };
    let mut machine = plan.program.machine(plan.limits);
    let mut rerun = Rerun::new(Arc::new(way.choices.clone()));
    run(&mut machine, &mut rerun, 0, &mut seen, &AtomicBool::new(false));
    seen.found
}

struct OrderObserver {
    first: SiteId,
    then: SiteId,
    visits: BTreeMap<(SiteId, ContextId), u32>,
    firsts: Vec<(StatementInstance, ContextId, Access)>,
    found: Option<(StatementInstance, StatementInstance)>,
}

impl Observer for OrderObserver {
    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let EventKind::Performed { op, value, .. } = &event.what else { return };
        let Some(access) = world.performed_access(op, *value).filter(|_| site == self.first || site == self.then)
        else {
            return;
        };
        let visits = self.visits.entry((site, context)).or_default();
        *visits += 1;
        let instance = StatementInstance { site, pedigree: world.contexts().chain(context), visit: *visits };
        if site == self.then && self.found.is_none() {
            let before = self.firsts.iter().find(|(_, c, a)| *c != context && a.races(&access));
            self.found = before.map(|(first, ..)| (first.clone(), instance.clone()));
        }
        if site == self.first {
            self.firsts.push((instance, context, access));
        }
    }
}

// Returns the pairs of sites that access memory of the same name, one of them writing. Names are those of the source;
// of a field only the last part counts, since its object is not known. Pairs found side by side are included.
fn conflicting<P: Program>(plan: &SearchPlan<'_, P>, found: &SearchReport) -> BTreeSet<Pair> {
    let sites = &plan.program.setup().sites;
    let name = |place: &str| -> String {
        let last = place.rsplit('.').next().unwrap_or(place);
        last.split('[').next().unwrap_or(last).to_owned()
    };
    let atomic = |site: SiteId| sites[site].kind.is_atomic();
    let accesses: Vec<(SiteId, AccessKind, String, bool)> = sites
        .enumerate()
        .filter_map(|(id, s)| {
            Some((id, s.kind.access()?, name(&s.place), matches!(s.kind, crate::event::SiteKind::Free)))
        })
        .collect();
    let mut pairs: BTreeSet<Pair> = found.adjacent.keys().copied().collect();
    for (i, (a, x, place, frees)) in accesses.iter().enumerate() {
        for (b, y, other, also) in &accesses[i..] {
            let writes = *x == AccessKind::Write || *y == AccessKind::Write;
            if writes && (place == other || *frees || *also) && !(atomic(*a) && atomic(*b)) {
                pairs.insert(Pair::new(*a, *b));
            }
        }
    }
    pairs
}

/// The access of `first`, and the thread or task that performed it. Its context matters only while it exists: two
/// ended contexts are not distinguished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    access: Access,
    context: ContextId,
}

#[derive(Clone)]
struct SiteOrder {
    first: SiteId,
    then: SiteId,
    // Whether another write to the memory of a mark removes the mark.
    direct: bool,
    marks: Vec<Mark>,
    found: bool,
}

impl Monitor for SiteOrder {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let EventKind::Performed { op, value, .. } = &event.what else { return };
        let Some(access) = world.performed_access(op, *value) else { return };
        if site == self.then {
            self.found |= self.marks.iter().any(|m| m.context != context && m.access.races(&access));
        }
        if self.direct && access.kind == AccessKind::Write {
            self.marks.retain(|mark| mark.access.place != access.place);
        }
        let mark = Mark { access, context };
        if site == self.first && !self.marks.contains(&mark) {
            self.marks.push(mark);
        }
    }

    fn write(&self, world: &World, state: &mut Canonicalizer) {
        let mut words: Vec<[u64; 4]> = self.marks.iter().filter_map(|m| m.words(world, state)).collect();
        words.sort_unstable();
        words.dedup();
        state.distinguish(words.len() as u64 * 2 + u64::from(self.found));
        words.iter().flatten().for_each(|w| state.distinguish(*w));
    }

    fn accepts(&self) -> bool {
        self.found
    }
}

impl Mark {
    // Returns the access in the canonical numbers of the state; `None` if no thread can touch that memory any more.
    fn words(&self, world: &World, state: &Canonicalizer) -> Option<[u64; 4]> {
        let writes = u64::from(self.access.kind == AccessKind::Write);
        let (kind, object, cell) = match self.access.place {
            AccessPlace::Cell(at) => match at.object {
                None => (0, 0, u64::from(at.cell)),
                Some(object) => (1, state.object(object)?, u64::from(at.cell - world.memory().object(object).base)),
            },
            AccessPlace::Life(object) => (2, state.object(object)?, 0),
        };
        Some([kind * 2 + writes, u64::from(object), cell, whereabouts(world, state, self.context)])
    }
}

/// Returns where a thread or task is: a number for the thread that it runs on, or 0 if it does not run.
#[must_use]
pub fn whereabouts(world: &World, state: &Canonicalizer, context: ContextId) -> u64 {
    let alive = |t: &crate::world::ThreadRecord| t.status == ThreadStage::Alive;
    let found = world.threads().enumerate().find(|(_, t)| alive(t) && (t.context == context || t.home == context));
    found.and_then(|(id, t)| Some(1 + 2 * u64::from(state.thread(id)?) + u64::from(t.home == context))).unwrap_or(0)
}

/// Returns whether some run performs the access `first` and later the access `then`. Each instance is the n-th
/// execution of its statement in the thread or task of its pedigree.
///
/// A pedigree lists what was created, from the outermost creator on: see [`crate::world::Contexts::chain`].
#[must_use]
pub fn instance_order<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    first: &StatementInstance,
    then: &StatementInstance,
    context: SearchContext<'_>,
) -> OrderResult {
    let monitor = InstanceOrder {
        first: first.clone(),
        then: then.clone(),
        visits: [0, 0],
        access: None,
        over: false,
        found: false,
    };
    search_for(plan, &monitor, context).0
}

/// An instance: the n-th execution of a statement in the thread or task of a pedigree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatementInstance {
    /// The statement.
    pub site: SiteId,
    /// What was created, and its ordinal among those of its kind, from the outermost creator on.
    pub pedigree: Vec<(CreationKind, u32)>,
    /// Ordinal of the execution, from 1.
    pub visit: u32,
}

#[derive(Clone)]
struct InstanceOrder {
    first: StatementInstance,
    then: StatementInstance,
    visits: [u32; 2],
    // Access of the first instance, once it has been performed.
    access: Option<Access>,
    // The second instance has been performed, so that the order is decided: only `found` matters from here on.
    over: bool,
    found: bool,
}

impl Monitor for InstanceOrder {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let EventKind::Performed { op, value, .. } = &event.what else { return };
        let Some(access) = world.performed_access(op, *value) else { return };
        let mut arrived = [false; 2];
        for (i, instance) in [&self.first, &self.then].into_iter().enumerate() {
            if site == instance.site && world.contexts().chain(context) == instance.pedigree {
                self.visits[i] = (self.visits[i] + 1).min(instance.visit + 1);
                arrived[i] = self.visits[i] == instance.visit;
            }
        }
        if arrived[1] {
            self.found |= self.access.is_some_and(|first| first.place == access.place || first.conflicts(&access));
            self.over = true;
        }
        if arrived[0] {
            self.access = Some(access);
        }
    }

    fn write(&self, world: &World, state: &mut Canonicalizer) {
        state.distinguish(u64::from(self.found) + 2 * u64::from(self.over));
        if self.over || self.found {
            return;
        }
        let mark = self.access.map(|access| Mark { access, context: ContextId::new(0) });
        let place = mark.map(|m| m.words(world, state));
        state.distinguish(match place {
            None => 0,
            Some(None) => 1,
            Some(Some(_)) => 2,
        });
        if let Some(Some([a, b, c, _])) = place {
            [a, b, c].into_iter().for_each(|w| state.distinguish(w));
        }
        for (instance, visits) in [&self.first, &self.then].into_iter().zip(self.visits) {
            write_progress(world, state, instance, visits);
        }
    }

    fn accepts(&self) -> bool {
        self.found
    }
}

/// Writes to `state` how much is missing until an instance can be performed: how often its statement has been
/// performed in its thread or task, and how much of its pedigree exists.
pub fn write_progress(world: &World, state: &mut Canonicalizer, instance: &StatementInstance, visits: u32) {
    state.distinguish(u64::from(visits));
    progress(world, state, &instance.pedigree);
}

// Writes how much of a pedigree exists: the place of each context in it, and at the first missing one the number of
// its kind that were created.
fn progress(world: &World, state: &mut Canonicalizer, pedigree: &[(CreationKind, u32)]) {
    let contexts = world.contexts();
    let mut parent = None;
    for (made, nth) in pedigree {
        match contexts.find(parent, *made, *nth) {
            Some(context) => {
                let at = whereabouts(world, state, context);
                state.distinguish(1);
                state.distinguish(if at == 0 { queued(world, state, context) } else { at });
                parent = Some(context);
            }
            None => {
                state.distinguish(0);
                state.distinguish(u64::from(contexts.counted(parent, *made)));
                return;
            }
        }
    }
}

// Returns the place of a posted task: its looper and its rank in the looper's queue; 0 if it is in no queue.
fn queued(world: &World, state: &Canonicalizer, context: ContextId) -> u64 {
    for (id, thread) in world.threads().enumerate() {
        let Some(queue) = &thread.queue else { continue };
        if let Some(rank) = queue.waiting_tasks().position(|task| task.context == context) {
            return (1 << 32) + (u64::from(state.thread(id).unwrap_or(0)) << 16) + rank as u64;
        }
    }
    0
}
