//! Searches for orders of instances over all runs: a product of the program with an automaton that knows which
//! instances of a pair's statements were performed.
//!
//! Two statements may come in both orders although no two of their instances do. For example, the handler of an event's
//! first firing always comes before that of the second one, since both are messages of one queue. So the search looks
//! for a run in which two instances come in an order that is not known yet. Each such run makes more orders known. If
//! there is none, all orders are known.
//!
//! Two paths to a state are distinguished unless both have performed the same instances on the same memory, and all
//! contexts that can still act have the same names. Otherwise later instances would have different names.
//!
//! A second automaton knows no names, so that it has fewer states: it decides whether any instance of one statement
//! comes before any of the other.

use crate::base::Digester;
use crate::campaign::runs::names::{names_of_contexts, names_of_objects, names_of_threads};
use crate::campaign::runs::observations::{TouchTarget, touched};
use crate::detect::{Instance, Pair};
use crate::event::{AccessKind, AccessPlace, ContextId, Event, EventKind, SiteId};
use crate::exec::{Observer, run};
use crate::explore::{
    Monitor, OrderResult, RunChoices, SearchContext, SearchPlan, is_accepted, search_for, whereabouts,
};
use crate::sched::Rerun;
use crate::world::{Canonicalizer, Program, Snapshot, World};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Two instances in the order in which they came, and the name of the location.
pub(in crate::campaign) type OrderedInstances = (Arc<Instance>, Arc<Instance>, String);

/// Pair whose orders are asked for.
#[derive(Clone, Copy)]
pub(super) struct AskedPair {
    pub(super) pair: Pair,
    /// Statement whose write the other one must read: an order in which another write to the location comes between
    /// does not count. `None` if every order counts.
    pub(super) direct: Option<SiteId>,
    // Whether orders depend on the names of objects.
    of_objects: bool,
}

impl AskedPair {
    pub(super) fn new<P: Program>(program: &P, pair: Pair, direct: Option<SiteId>) -> Self {
        let is_variable = |site: SiteId| program.setup().sites[site].variable().is_some();
        Self { pair, direct, of_objects: !(is_variable(pair.a) && is_variable(pair.b)) }
    }
}

/// Searches for a run in which two instances of the pair come in an order that is not in `known`. They must be of
/// different threads or tasks, and on the same memory, lock or queue. Also returns the number of states that were
/// visited.
pub(super) fn new_order<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    asked: AskedPair,
    known: &BTreeSet<OrderedInstances>,
    context: SearchContext<'_>,
) -> (OrderResult, u64) {
    search_for(plan, &Instances { asked, known, done: Vec::new(), found: false }, context)
}

// Maximum number of orders that are collected from one run.
const MOST_ORDERS: usize = 1 << 16;

/// Returns all orders of instances of the pair in a run; `None` if there are too many.
pub(super) fn orders_of<P: Program>(
    plan: &SearchPlan<'_, P>,
    asked: AskedPair,
    way: &RunChoices,
) -> Option<BTreeSet<OrderedInstances>> {
    let known = BTreeSet::new();
    let instances = Instances { asked, known: &known, done: Vec::new(), found: false };
    let mut all = AllOrders { instances, orders: BTreeSet::new() };
    let mut machine = plan.program.machine(plan.limits);
    let mut rerun = Rerun::new(Arc::new(way.choices.clone()));
    run(&mut machine, &mut rerun, 0, &mut all, &AtomicBool::new(false));
    (all.orders.len() < MOST_ORDERS).then_some(all.orders)
}

/// Searches for a run in which some instance of `first` comes before some instance of `then`, in another thread or task
/// and on the same memory, lock or queue.
pub(super) fn order_of_operations<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    (first, then): (SiteId, SiteId),
    context: SearchContext<'_>,
) -> OrderResult {
    let sites = &plan.program.setup().sites;
    let of_things = [first, then].iter().any(|site| sites[*site].kind.access().is_none());
    search_for(plan, &Operations { first, then, of_things, done: Vec::new(), found: false }, context).0
}

/// Returns whether no run can cut off `then` by `first`: in every run each execution of `first` comes after one of
/// `then`, and there is only one of `then`. `false` also if the search is cut.
pub(super) fn is_never_cut<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    (first, then): (SiteId, SiteId),
    context: SearchContext<'_>,
) -> bool {
    let monitor = OneBefore { first, then, come: false, broken: false };
    is_accepted(plan, &monitor, context).0 == Some(false)
}

// Instance that was performed.
#[derive(Clone)]
struct InstanceRecord {
    instance: Arc<Instance>,
    context: ContextId,
    touch: Arc<TouchTarget>,
    at: Arc<str>,
    // Whether another write to the location has followed, if that matters.
    overwritten: bool,
}

#[derive(Clone)]
struct Instances<'k> {
    asked: AskedPair,
    known: &'k BTreeSet<OrderedInstances>,
    done: Vec<InstanceRecord>,
    found: bool,
}

impl Instances<'_> {
    fn is_pair(&self, x: SiteId, y: SiteId) -> bool {
        Pair::new(x, y) == self.asked.pair
    }

    // Notes an event. Calls `met` with each order that it completes.
    fn note(&mut self, world: &World, event: &Event, mut met: impl FnMut(OrderedInstances)) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let EventKind::Performed { op, value, .. } = &event.what else { return };
        let Pair { a, b } = self.asked.pair;
        let mut performed = None;
        if (site == a || site == b)
            && let Some((touch, at)) = touched(world, event.thread, op, *value)
        {
            let before = self.done.iter().filter(|d| d.context == context && d.instance.site == site).count();
            let name = world.contexts().name(world.setup(), context);
            let instance = Arc::new(Instance { site, context: name, visit: before as u32 + 1 });
            let is_partner = |d: &&InstanceRecord| {
                d.context != context
                    && self.is_pair(d.instance.site, site)
                    && d.touch.conflicts(&touch)
                    && !(d.overwritten && self.asked.direct == Some(d.instance.site))
            };
            for d in self.done.iter().filter(is_partner) {
                let place = d.touch.common(&d.at, (&touch, &at)).to_owned();
                met((d.instance.clone(), instance.clone(), place));
            }
            let (touch, at) = (Arc::new(touch), at.into());
            performed = Some(InstanceRecord { instance, context, touch, at, overwritten: false });
        }
        if self.asked.direct.is_some()
            && let Some(access) = world.performed_access(op, *value).filter(|a| a.kind == AccessKind::Write)
        {
            let is_there = |d: &InstanceRecord| matches!(&*d.touch, TouchTarget::Memory(a) if a.place == access.place);
            self.done.iter_mut().filter(|d| is_there(d)).for_each(|d| d.overwritten = true);
        }
        self.done.extend(performed);
    }
}

impl Monitor for Instances<'_> {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (known, mut found) = (self.known, self.found);
        self.note(world, event, |order| found |= !known.contains(&order));
        self.found = found;
    }

    fn write(&self, world: &World, state: &mut Canonicalizer) {
        state.distinguish(u64::from(self.found));
        let live = names_of_contexts(world, state);
        if self.asked.of_objects {
            names_of_objects(world, state);
        }
        let digest = |d: &InstanceRecord| {
            let Instance { site, context, visit } = &*d.instance;
            let mut digester = Digester::new();
            digester.word(u64::from(site.0)).text(context).word(u64::from(*visit)).word(u64::from(d.overwritten));
            digest(digester, &d.touch, world, state, live.contains(&d.context))
        };
        distinguish(self.done.iter().filter_map(digest).collect(), state);
    }

    fn accepts(&self) -> bool {
        self.found
    }
}

// Observer that collects all orders of a run.
struct AllOrders<'k> {
    instances: Instances<'k>,
    orders: BTreeSet<OrderedInstances>,
}

impl Observer for AllOrders<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        if self.orders.len() < MOST_ORDERS {
            self.instances.note(world, event, |order| _ = self.orders.insert(order));
        }
    }
}

#[derive(Clone)]
struct Operations {
    first: SiteId,
    then: SiteId,
    // Whether some of the operations are no accesses of memory.
    of_things: bool,
    // Operations of `first` that were performed. Two that touch the same and are of one context are one.
    done: Vec<(ContextId, Arc<TouchTarget>)>,
    found: bool,
}

impl Monitor for Operations {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        if site != self.first && site != self.then {
            return;
        }
        let EventKind::Performed { op, value, .. } = &event.what else { return };
        let Some((touch, _)) = touched(world, event.thread, op, *value) else { return };
        if site == self.then {
            self.found |= self.done.iter().any(|(by, done)| *by != context && done.conflicts(&touch));
        }
        if site == self.first && self.done.iter().all(|(by, done)| *by != context || **done != touch) {
            self.done.push((context, Arc::new(touch)));
        }
    }

    fn write(&self, world: &World, state: &mut Canonicalizer) {
        state.distinguish(u64::from(self.found));
        // Locks of objects are known by the names of their objects, and queues by those of their threads.
        if self.of_things {
            names_of_objects(world, state);
            names_of_threads(world, state);
        }
        let digest = |(context, touch): &(ContextId, Arc<TouchTarget>)| {
            let mut digester = Digester::new();
            let at = whereabouts(world, state, *context);
            digester.word(at);
            digest(digester, touch, world, state, false)
        };
        let mut all: Vec<u128> = self.done.iter().filter_map(digest).collect();
        all.sort_unstable();
        all.dedup();
        distinguish(all, state);
    }

    fn accepts(&self) -> bool {
        self.found
    }
}

// Monitor that accepts a run that performs `first` before `then`, or `then` twice.
#[derive(Clone)]
struct OneBefore {
    first: SiteId,
    then: SiteId,
    come: bool,
    broken: bool,
}

impl Monitor for OneBefore {
    const WATCHES: bool = true;

    fn event(&mut self, _: &World, event: &Event) {
        if !matches!(event.what, EventKind::Performed { .. }) {
            return;
        }
        if event.site == Some(self.first) {
            self.broken |= !self.come;
        }
        if event.site == Some(self.then) {
            self.broken |= self.come;
            self.come = true;
        }
    }

    fn write(&self, _: &World, state: &mut Canonicalizer) {
        state.distinguish(u64::from(self.come) + 2 * u64::from(self.broken));
    }

    fn accepts(&self) -> bool {
        self.broken
    }
}

// Adds a set of digests to the state.
fn distinguish(mut all: Vec<u128>, state: &mut Canonicalizer) {
    all.sort_unstable();
    for word in all {
        state.distinguish(word as u64);
        state.distinguish((word >> 64) as u64);
    }
}

// Digest of a performed operation, whose target is in the numbers of the state. `None` if it no longer matters: its
// thread or task has ended, and no thread can reach that memory any more.
fn digest(
    mut digester: Digester,
    touch: &TouchTarget,
    world: &World,
    state: &Canonicalizer,
    lives: bool,
) -> Option<u128> {
    let mut gone = false;
    match touch {
        TouchTarget::Anything => _ = digester.word(0),
        TouchTarget::Things(names) => names.iter().for_each(|name| _ = digester.word(1).text(name)),
        TouchTarget::Memory(access) => {
            let writes = u64::from(access.kind == AccessKind::Write);
            let number = |object| state.object(object).map(u64::from);
            let place = match access.place {
                AccessPlace::Cell(at) => match at.object {
                    None => Some((2, 0, u64::from(at.cell))),
                    Some(object) => {
                        let base = world.memory().object(object).base;
                        number(object).map(|n| (3, n, u64::from(at.cell - base)))
                    }
                },
                AccessPlace::Life(object) => number(object).map(|n| (4, n, 0)),
            };
            gone = place.is_none();
            let (kind, object, cell) = place.unwrap_or((5, 0, 0));
            digester.word(kind).word(writes).word(object).word(cell);
        }
    }
    (lives || !gone).then(|| digester.finish())
}
