//! In which orders two accesses can be performed: the product of the app with an automaton that remembers the first of them.
//!
//! - *Site orders*: some operation of `x`, and later one of `y` on the same memory, by another thread or task. What `x` touched is coloured, so that
//!   renumbering keeps it.
//! - *Instance orders*: the same of two instances (`docs/semantics.md`, *Names*): statements in the thread or task of a pedigree, at their how-manieth visit.
//!   How far a pedigree has come about is part of the product.

use super::monitor::Monitor;
use super::{Context, Cut, Explored, Plan, Way, search_for};
use crate::base::Id;
use crate::detect::Pair;
use crate::event::{Access, AccessKind, AccessPlace, ContextId, Event, Happening, SiteId};
use crate::exec::{Observer, run};
use crate::sched::Rerun;
use crate::world::{Canonicalizer, Made, Status, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whether an order can happen.
#[derive(Clone, Debug)]
pub enum Order {
    /// It can: a shortest run with it.
    Happens(Way),
    /// In no run.
    Never,
    /// In none that was visited; the search was cut.
    Unknown(Cut),
}

/// Whether some run performs `first` and later `then`, in different threads or tasks, on the same memory.
#[must_use]
pub fn site_order(plan: &Plan<'_>, first: SiteId, then: SiteId, context: Context<'_>) -> Order {
    search_for(plan, &SiteOrder { first, then, marks: Vec::new(), found: false }, context).0
}

/// In which orders the accesses of each pair that could conflict can be performed.
pub type SiteOrders = BTreeMap<Pair, PairOrders>;

/// In which orders the accesses of a pair can be performed.
#[derive(Clone, Debug)]
pub struct PairOrders {
    /// The first, the second, and whether that happens; one order for a site with itself.
    pub orders: Vec<(SiteId, SiteId, Order)>,
    /// If both happen: whether the two instances that one order was seen of can also come the other way round.
    pub flips: Option<Order>,
}

/// The orders of all pairs of accesses that may touch the same memory, one writing. Those of which nothing happens are left out.
#[must_use]
pub fn site_orders(plan: &Plan<'_>, found: &Explored, context: Context<'_>) -> SiteOrders {
    let mut all = BTreeMap::new();
    for pair in conflicting(plan, found) {
        let ways = BTreeSet::from([(pair.a, pair.b), (pair.b, pair.a)]);
        let orders: Vec<(SiteId, SiteId, Order)> =
            ways.into_iter().map(|(first, then)| (first, then, site_order(plan, first, then, context))).collect();
        let happens = |o: &&(SiteId, SiteId, Order)| matches!(o.2, Order::Happens(_));
        let flips = match orders.iter().filter(happens).collect::<Vec<_>>().as_slice() {
            [(first, then, Order::Happens(way)), _, ..] => flips(plan, *first, *then, way, context),
            [(first, then, Order::Happens(way))] if first == then => flips(plan, *first, *then, way, context),
            _ => None,
        };
        if found.adjacent.contains_key(&pair) || orders.iter().any(|o| !matches!(o.2, Order::Never)) {
            all.insert(pair, PairOrders { orders, flips });
        }
    }
    all
}

// Whether the instances of a run that has the order can come the other way round.
fn flips(plan: &Plan<'_>, first: SiteId, then: SiteId, way: &Way, context: Context<'_>) -> Option<Order> {
    let (one, other) = witness(plan, first, then, way)?;
    Some(instance_order(plan, &other, &one, context))
}

/// The instances of a run's first operation of `first` and the operation of `then` that conflicts with it.
#[must_use]
pub fn witness(plan: &Plan<'_>, first: SiteId, then: SiteId, way: &Way) -> Option<(Instance, Instance)> {
    let mut seen = Seen { first, then, visits: BTreeMap::new(), firsts: Vec::new(), found: None };
    let mut machine = plan.model.machine(plan.limits);
    let mut rerun = Rerun::new(Arc::new(way.choices.clone()));
    run(&mut machine, &mut rerun, 0, &mut seen, &AtomicBool::new(false));
    seen.found
}

struct Seen {
    first: SiteId,
    then: SiteId,
    visits: BTreeMap<(SiteId, ContextId), u32>,
    firsts: Vec<(Instance, ContextId, Access)>,
    found: Option<(Instance, Instance)>,
}

impl Observer for Seen {
    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let Happening::Performed { op, .. } = &event.what else { return };
        let Some(access) = op.access().filter(|_| site == self.first || site == self.then) else { return };
        let visits = self.visits.entry((site, context)).or_default();
        *visits += 1;
        let instance = Instance { site, pedigree: world.contexts().chain(context), visit: *visits };
        if site == self.then && self.found.is_none() {
            let before = self.firsts.iter().find(|(_, c, a)| *c != context && a.conflicts(&access));
            self.found = before.map(|(first, ..)| (first.clone(), instance.clone()));
        }
        if site == self.first {
            self.firsts.push((instance, context, access));
        }
    }
}

// Sites that access memory of the same name, one writing. Names are the source's: of fields the last one counts, whatever object it is in.
fn conflicting(plan: &Plan<'_>, found: &Explored) -> BTreeSet<Pair> {
    let sites = &plan.model.code.setup.sites;
    let name = |place: &str| -> String {
        let last = place.rsplit('.').next().unwrap_or(place);
        last.split('[').next().unwrap_or(last).to_owned()
    };
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
            if writes && (place == other || *frees || *also) {
                pairs.insert(Pair::new(*a, *b));
            }
        }
    }
    pairs
}

/// Whose access it was, as far as it can matter later: of whom nothing is left is told apart from nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    access: Access,
    context: ContextId,
}

#[derive(Clone)]
struct SiteOrder {
    first: SiteId,
    then: SiteId,
    marks: Vec<Mark>,
    found: bool,
}

impl Monitor for SiteOrder {
    const WATCHES: bool = true;

    fn event(&mut self, _: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let Happening::Performed { op, .. } = &event.what else { return };
        let Some(access) = op.access() else { return };
        if site == self.then {
            self.found |= self.marks.iter().any(|m| m.context != context && m.access.conflicts(&access));
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
        state.tell_apart(words.len() as u64 * 2 + u64::from(self.found));
        words.iter().flatten().for_each(|w| state.tell_apart(*w));
    }

    fn accepts(&self) -> bool {
        self.found
    }
}

impl Mark {
    // In the numbers of the state; `None` if nobody can touch that memory any more.
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

// Where a thread or task is: on which thread it runs, or that it is over.
fn whereabouts(world: &World, state: &Canonicalizer, context: ContextId) -> u64 {
    let alive = |t: &crate::world::Thread| t.status == Status::Alive;
    let found = world.threads().enumerate().find(|(_, t)| alive(t) && (t.context == context || t.home == context));
    found.and_then(|(id, t)| Some(1 + 2 * u64::from(state.thread(id)?) + u64::from(t.home == context))).unwrap_or(0)
}

/// Whether some run performs the access `first` and later the access `then`, both at their how-manieth visit in the thread or task of their pedigree.
///
/// A pedigree is told by what was made, from the outermost on: see [`crate::world::Contexts::chain`].
#[must_use]
pub fn instance_order(plan: &Plan<'_>, first: &Instance, then: &Instance, context: Context<'_>) -> Order {
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

/// An instance: a statement, in the thread or task of this pedigree, at its how-manieth visit there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    /// The statement.
    pub site: SiteId,
    /// What was made, and the how-manieth of its kind it was, from the outermost maker on.
    pub pedigree: Vec<(Made, u32)>,
    /// Counted from 1.
    pub visit: u32,
}

#[derive(Clone)]
struct InstanceOrder {
    first: Instance,
    then: Instance,
    visits: [u32; 2],
    // What the first one touched.
    access: Option<Access>,
    // The second came, and the first had not.
    over: bool,
    found: bool,
}

impl Monitor for InstanceOrder {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let Happening::Performed { op, .. } = &event.what else { return };
        let Some(access) = op.access() else { return };
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
        state.tell_apart(u64::from(self.found) + 2 * u64::from(self.over));
        if self.over || self.found {
            return;
        }
        let mark = self.access.map(|access| Mark { access, context: ContextId::new(0) });
        let place = mark.map(|m| m.words(world, state));
        state.tell_apart(match place {
            None => 0,
            Some(None) => 1,
            Some(Some(_)) => 2,
        });
        if let Some(Some([a, b, c, _])) = place {
            [a, b, c].into_iter().for_each(|w| state.tell_apart(w));
        }
        for (instance, visits) in [&self.first, &self.then].into_iter().zip(self.visits) {
            write_progress(world, state, instance, visits);
        }
    }

    fn accepts(&self) -> bool {
        self.found
    }
}

/// Writes how near an instance is that has not been performed: how often its statement was performed in its thread or task, and how far that has come about.
pub fn write_progress(world: &World, state: &mut Canonicalizer, instance: &Instance, visits: u32) {
    state.tell_apart(u64::from(visits));
    progress(world, state, &instance.pedigree);
}

// How far a pedigree has come about: for each maker in it where it is, and if the next one is not there yet how many of its kind were made.
fn progress(world: &World, state: &mut Canonicalizer, pedigree: &[(Made, u32)]) {
    let contexts = world.contexts();
    let mut parent = None;
    for (made, nth) in pedigree {
        match contexts.find(parent, *made, *nth) {
            Some(context) => {
                let at = whereabouts(world, state, context);
                state.tell_apart(1);
                state.tell_apart(if at == 0 { queued(world, state, context) } else { at });
                parent = Some(context);
            }
            None => {
                state.tell_apart(0);
                state.tell_apart(u64::from(contexts.counted(parent, *made)));
                return;
            }
        }
    }
}

// Where a posted task stands: on which looper's queue, and the how-manieth it is there; 0 if nowhere.
fn queued(world: &World, state: &Canonicalizer, context: ContextId) -> u64 {
    for (id, thread) in world.threads().enumerate() {
        let Some(queue) = &thread.queue else { continue };
        let is =
            |m: &crate::world::Message| matches!(&m.kind, crate::world::MessageKind::Task(t) if t.context == context);
        if let Some(rank) = queue.messages().position(is) {
            return (1 << 32) + (u64::from(state.thread(id).unwrap_or(0)) << 16) + rank as u64;
        }
    }
    0
}
