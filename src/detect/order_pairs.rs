//! Order pairs: two operations of different contexts that the hybrid relation does not order, that are no race, but
//! whose order may matter. Many published bugs have no data race: locked
//! sections, messages or cancellations came in the wrong order.
//!
//! - Two acquisitions of one lock whose sections conflict (`section`).
//! - Two operations on one atomic, one of which writes.
//! - An await and the operation that was seen to turn its condition, either way, while a thread was pending there
//!   (`awaits`): only the guest knows which memory a condition reads. A write before the thread has arrived is missed
//!   in that run.
//! - A post and a cancel of its handler that would remove it; a post and a quit of its looper; an enable and a
//!   disable of one event.
//! - A send and a receive: notify and wait, up and down of a semaphore (and two downs), an interrupt and a sleep or
//!   wait of that thread.

use super::DetectorId;
use super::awaits::Turned;
use super::candidate::{Candidate, Place, Rank};
use super::deed::{is_memory, partners, touched};
use super::found::Found;
use super::met::{Meeting, Met};
use super::section::Sections;
use super::signals::atomic;
use super::watch::{Act, Watch};
use crate::event::{AccessPlace, Event, Op, ThreadId, Value};
use crate::exec::Observer;
use crate::world::{How, Thing, World};
use std::collections::BTreeMap;

/// Order pairs over one run: an [`Observer`] that must receive every event from the start of the app.
///
/// # Examples
///
/// ```
/// use raceflip::{detect::{OrderPairs, Rank}, exec::run, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("up.race", "semaphore s = 1; thread a { down s; up s }; thread b { down s }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut pairs = OrderPairs::new();
/// run(&mut model.machine(Limits::default()), &mut RoundRobin::default(), 0, &mut pairs, &stop);
/// // The two downs, and the up with the other down.
/// let found = pairs.finish();
/// assert_eq!(found.len(), 2);
/// assert!(found.iter().all(|c| c.rank == Rank::Order && c.evidence.location == "semaphore s"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OrderPairs {
    watch: Watch,
    orders: Orders,
}

/// The operations so far, and the pairs of them that were found.
#[derive(Default)]
pub(super) struct Orders {
    things: BTreeMap<Thing, Met<How>>,
    sections: Sections,
    // By thread at an await: the operations that have turned its condition, the latest of each site.
    turned: BTreeMap<ThreadId, Vec<Turn>>,
    pub(super) found: Found,
}

struct Turn {
    act: Act,
    // The place that the operation wrote; `None` if it is not known.
    place: Option<AccessPlace>,
}

impl Default for OrderPairs {
    fn default() -> Self {
        Self::new()
    }
}

impl OrderPairs {
    /// Returns a detector that has seen no event.
    #[must_use]
    pub fn new() -> Self {
        Self { watch: Watch::new(false), orders: Orders::default() }
    }

    /// Processes the next event. `world` is the state after its step. The first event must be the first one of the
    /// run (the start of a thread).
    pub fn observe(&mut self, world: &World, event: &Event) {
        let turned = self.watch.observe(world, event);
        if let Some((op, value, act)) = self.watch.act(world, event) {
            self.orders.meet(world, &self.watch, (op, value, &act), &turned);
        }
        self.watch.close(world, event);
    }

    /// Returns the order pairs, in the order of their pairs.
    #[must_use]
    pub fn finish(self) -> Vec<Candidate> {
        self.orders.found.finish().0
    }
}

impl Observer for OrderPairs {
    fn event(&mut self, world: &World, event: &Event) {
        self.observe(world, event);
    }
}

impl Orders {
    /// Processes an operation of a thread. `watch.held` has the lock sets before it.
    pub(super) fn meet(
        &mut self,
        world: &World,
        watch: &Watch,
        (op, value, act): (&Op, Value, &Act),
        turned: &[Turned],
    ) {
        self.sections.meet(world, watch, (op, value, act), &mut self.found);
        for (thing, how) in touched(world, act.thread, op, value) {
            self.meet_at(world, watch, thing, (how, act));
        }
        if let Op::Await { .. } = op {
            self.end_await(world, watch, act);
        }
        for Turned { thread, .. } in turned {
            let atomic = atomic(world, op, value).map(|(at, _)| AccessPlace::Cell(at));
            let turns = self.turned.entry(*thread).or_default();
            turns.retain(|turn| turn.act.by.site != act.by.site);
            turns.push(Turn { act: *act, place: op.access().map(|access| access.place).or(atomic) });
        }
    }

    fn meet_at(&mut self, world: &World, watch: &Watch, thing: Thing, (how, act): (How, &Act)) {
        let partners = partners(how);
        if partners.is_empty() {
            return;
        }
        let met = self.things.entry(thing).or_default();
        if let Some(now) = watch.now(act.when.context) {
            let meeting = Meeting { world, watch, act, now, is_access: false };
            let since = met.since(act.by, how, act.when.at.chain());
            let found = &mut self.found;
            met.meet(meeting, &partners, (since, is_memory(how)), found, || place(world, thing));
        }
        met.keep(act.by, how, act.when);
    }

    // An operation that turned the condition is not ordered with the await: the thread was pending there already.
    fn end_await(&mut self, world: &World, watch: &Watch, act: &Act) {
        for Turn { act: old, place } in self.turned.remove(&act.thread).unwrap_or_default() {
            let place = || match place {
                Some(place) => (Place::of(world, place), world.place_name(place)),
                None => (Place::Object { name: String::new() }, String::new()),
            };
            let how = (watch, Rank::Order, DetectorId::HYBRID);
            self.found.count(act, how, (&old.by, &old.when), world, place);
        }
    }
}

fn place(world: &World, thing: Thing) -> (Place, String) {
    let name = thing.name(world);
    let place = match thing {
        Thing::Atomic(at) => Place::of(world, AccessPlace::Cell(at)),
        _ => Place::Object { name: name.clone() },
    };
    (place, name)
}
