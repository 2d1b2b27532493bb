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
//! - Two sends, two receives or two closes of one channel, and a close with a send or a receive.

use super::candidate::{Candidate, ConflictPlace, Rank};
use super::executions::{ExecutionQuery, Executions};
use super::findings::PairFindings;
use super::partners::{is_memory, partners, touched};
use super::section::Sections;
use super::watch::{Act, RunState};
use crate::detect::DetectorId;
use crate::detect::relation::awaits::ConditionChange;
use crate::detect::relation::signals::atomic;
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
    watch: RunState,
    orders: OrderPairFinder,
}

/// The operations so far, and the pairs of them that were found.
#[derive(Default)]
pub(in crate::detect) struct OrderPairFinder {
    things: BTreeMap<Thing, Executions<How>>,
    sections: Sections,
    // By thread at an await: the operations that have turned its condition, the latest of each site.
    changes: BTreeMap<ThreadId, Vec<ConditionWrite>>,
    pub(in crate::detect) found: PairFindings,
}

struct ConditionWrite {
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
        Self { watch: RunState::new(false), orders: OrderPairFinder::default() }
    }

    /// Processes the next event. `world` is the state after its step. The first event must be the first one of the
    /// run (the start of a thread).
    pub fn observe(&mut self, world: &World, event: &Event) {
        let changes = self.watch.observe(world, event);
        if let Some((op, value, act)) = self.watch.act(world, event) {
            self.orders.compare(world, &self.watch, (op, value, &act), &changes);
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

impl OrderPairFinder {
    /// Processes an operation of a thread. `watch.held` has the lock sets before it.
    pub(in crate::detect) fn compare(
        &mut self,
        world: &World,
        watch: &RunState,
        (op, value, act): (&Op, Value, &Act),
        changes: &[ConditionChange],
    ) {
        self.sections.compare(world, watch, (op, value, act), &mut self.found);
        for (thing, how) in touched(world, act.thread, op, value) {
            self.compare_at(world, watch, thing, (how, act));
        }
        if let Op::Await { .. } = op {
            self.end_await(world, watch, act);
        }
        for ConditionChange { thread, .. } in changes {
            let atomic = atomic(world, op, value).map(|(at, _)| AccessPlace::Cell(at));
            let turns = self.changes.entry(*thread).or_default();
            turns.retain(|turn| turn.act.by.site != act.by.site);
            turns.push(ConditionWrite { act: *act, place: op.access().map(|access| access.place).or(atomic) });
        }
    }

    fn compare_at(&mut self, world: &World, watch: &RunState, thing: Thing, (how, act): (How, &Act)) {
        let partners = partners(how);
        if partners.is_empty() {
            return;
        }
        let executions = self.things.entry(thing).or_default();
        if let Some(now) = watch.now(act.when.context) {
            let query = ExecutionQuery { world, watch, act, now, is_access: false };
            let since = executions.since(act.by, how, act.when.at.chain());
            let found = &mut self.found;
            executions.compare(query, &partners, (since, is_memory(how)), found, || place(world, thing));
        }
        executions.keep(act.by, how, act.when);
    }

    // An operation that turned the condition is not ordered with the await: the thread was pending there already.
    fn end_await(&mut self, world: &World, watch: &RunState, act: &Act) {
        for ConditionWrite { act: old, place } in self.changes.remove(&act.thread).unwrap_or_default() {
            let place = || match place {
                Some(place) => (ConflictPlace::of(world, place), world.place_name(place)),
                None => (ConflictPlace::Object { name: String::new() }, String::new()),
            };
            let how = (watch, Rank::Order, DetectorId::HYBRID);
            self.found.count(act, how, (&old.by, &old.when), world, place);
        }
    }
}

fn place(world: &World, thing: Thing) -> (ConflictPlace, String) {
    let name = thing.name(world);
    let place = match thing {
        Thing::Atomic(at) => ConflictPlace::of(world, AccessPlace::Cell(at)),
        _ => ConflictPlace::Object { name: name.clone() },
    };
    (place, name)
}
