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

use crate::base::{Digester, Id};
use crate::campaign::runs::observations::{TouchTarget, touched};
use crate::detect::{Instance, Pair};
use crate::event::{AccessKind, AccessPlace, ContextId, Event, EventKind, SiteId};
use crate::explore::{Monitor, OrderResult, SearchContext, SearchPlan, search_for};
use crate::world::{Canonicalizer, CreationKind, Program, Snapshot, World};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Two instances in the order in which they came.
pub(in crate::campaign) type OrderedInstances = (Instance, Instance);

/// Searches for a run in which two instances of the pair come in an order that is not in `known`. They must be of
/// different threads or tasks, and on the same memory, lock or queue. Also returns the number of states that were
/// visited.
pub(super) fn new_order<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    pair: Pair,
    known: &BTreeSet<OrderedInstances>,
    context: SearchContext<'_>,
) -> (OrderResult, u64) {
    let [a, b] = [pair.a, pair.b].map(|site| plan.program.setup().sites[site].kind);
    let races = a.access().is_some() && b.access().is_some() && !(a.is_atomic() && b.is_atomic());
    search_for(plan, &Instances { pair, known, races, done: Vec::new(), found: false }, context)
}

// Instance that was performed.
#[derive(Clone)]
struct InstanceRecord {
    instance: Arc<Instance>,
    context: ContextId,
    touch: Arc<TouchTarget>,
}

#[derive(Clone)]
struct Instances<'k> {
    pair: Pair,
    known: &'k BTreeSet<OrderedInstances>,
    // Whether both statements are accesses of plain memory. Names of objects do not matter then.
    races: bool,
    done: Vec<InstanceRecord>,
    found: bool,
}

impl Instances<'_> {
    fn is_pair(&self, x: SiteId, y: SiteId) -> bool {
        Pair::new(x, y) == self.pair
    }
}

impl Monitor for Instances<'_> {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        if site != self.pair.a && site != self.pair.b {
            return;
        }
        let EventKind::Performed { op, value, .. } = &event.what else { return };
        let Some((touch, _)) = touched(world, event.thread, op, *value) else { return };
        let before = self.done.iter().filter(|d| d.context == context && d.instance.site == site).count();
        let name = world.contexts().name(world.setup(), context);
        let instance = Arc::new(Instance { site, context: name, visit: before as u32 + 1 });
        let is_partner = |d: &&InstanceRecord| {
            d.context != context && self.is_pair(d.instance.site, site) && d.touch.conflicts(&touch)
        };
        let is_new = |d: &InstanceRecord| !self.known.contains(&((*d.instance).clone(), (*instance).clone()));
        self.found |= self.done.iter().filter(is_partner).any(is_new);
        self.done.push(InstanceRecord { instance, context, touch: Arc::new(touch) });
    }

    fn write(&self, world: &World, state: &mut Canonicalizer) {
        state.distinguish(u64::from(self.found));
        let live = names(world, state);
        if !self.races {
            names_of_objects(world, state);
        }
        let mut done: Vec<u128> =
            self.done.iter().filter_map(|d| digest(d, world, state, live.contains(&d.context))).collect();
        done.sort_unstable();
        for word in done {
            state.distinguish(word as u64);
            state.distinguish((word >> 64) as u64);
        }
    }

    fn accepts(&self) -> bool {
        self.found
    }
}

// Digest of a performed instance, in the numbers of the state. `None` if it no longer matters: its thread or task has
// ended, and no thread can reach that memory any more.
fn digest(done: &InstanceRecord, world: &World, state: &Canonicalizer, lives: bool) -> Option<u128> {
    let mut digester = Digester::new();
    let Instance { site, context, visit } = &*done.instance;
    digester.word(u64::from(site.0)).text(context).word(u64::from(*visit));
    let mut gone = false;
    match &*done.touch {
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

// Adds to the state the names of all contexts that can still act, and how many contexts each of them has made. Returns
// these contexts.
fn names(world: &World, state: &mut Canonicalizer) -> BTreeSet<ContextId> {
    let contexts = world.contexts();
    let mut threads: Vec<_> = world.threads().enumerate().filter_map(|(id, t)| Some((state.thread(id)?, t))).collect();
    threads.sort_unstable_by_key(|(number, _)| *number);
    let mut all = Vec::new();
    for (_, thread) in threads {
        all.extend([thread.home, thread.context]);
        all.extend(thread.queue.iter().flat_map(|queue| queue.waiting_tasks()).map(|task| task.context));
    }
    let mut digester = Digester::new();
    for context in &all {
        digester.text(&contexts.name(world.setup(), *context));
        let mut makes: Vec<(u64, u64, u32)> = contexts
            .makes(*context)
            .map(|(made, n)| {
                let (kind, id) = word(made);
                (kind, id, n)
            })
            .collect();
        makes.sort_unstable();
        digester.word(makes.len() as u64);
        for (kind, id, n) in makes {
            digester.word(kind).word(id).word(u64::from(n));
        }
    }
    for event in world.setup().events.ids() {
        digester.word(u64::from(contexts.counted(None, CreationKind::Event(event))));
    }
    mix_digest(state, digester.finish());
    all.into_iter().collect()
}

fn word(made: CreationKind) -> (u64, u64) {
    match made {
        CreationKind::Declared(thread) => (0, u64::from(thread.0)),
        CreationKind::Init => (1, 0),
        CreationKind::Event(event) => (2, u64::from(event.0)),
        CreationKind::Body(body) => (3, u64::from(body.0)),
        CreationKind::Looper => (4, 0),
        CreationKind::Class(class) => (5, u64::from(class)),
        CreationKind::Instance(component) => (6, u64::from(component.0)),
        CreationKind::Scope => (7, 0),
    }
}

// Adds the names of all objects to the state, since monitors are named by their objects.
fn names_of_objects(world: &World, state: &mut Canonicalizer) {
    let ids = (0..world.memory().objects_len()).map(crate::event::ObjectId::new);
    let mut objects: Vec<_> = ids.filter_map(|object| Some((state.object(object)?, object))).collect();
    objects.sort_unstable();
    let mut digester = Digester::new();
    objects.into_iter().for_each(|(_, object)| _ = digester.text(&world.object_name(object)));
    mix_digest(state, digester.finish());
}

fn mix_digest(state: &mut Canonicalizer, digest: u128) {
    state.distinguish(digest as u64);
    state.distinguish((digest >> 64) as u64);
}
