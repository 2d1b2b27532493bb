//! Hybrid detection over the events of one run (RaceFuzzer, section 2.2, phase 1; see the module's head).
//!
//! Each place keeps one entry for each chain, looper (if it is a task's), lockset, site and kind, that of the latest access. This loses nothing: the earlier
//! access x is before the later x' of the same chain, so that a y which is not after x is not after x' either. A summary of the last
//! read and write only would lose pairs of sites.

use super::Detector;
use super::candidate::{Candidate, Pair, Place};
use super::order_pairs::Orders;
use super::watch::{Act, Group, Watch};
use crate::event::{Access, AccessKind, AccessPlace, Event, Location, ObjectId};
use crate::exec::Observer;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Hybrid detection over one run: an [`Observer`] that is shown every event from the start of the app.
///
/// # Examples
///
/// ```
/// use raceflip::{detect::Hybrid, exec::run, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut hybrid = Hybrid::new();
/// run(&mut model.machine(Limits::default()), &mut RoundRobin::default(), 0, &mut hybrid, &stop);
/// // Each read with the other write, and the two writes.
/// let found = hybrid.finish();
/// assert_eq!(found.len(), 3);
/// assert_eq!(found[0].evidence.location, "x");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Hybrid {
    watch: Watch,
    races: Races,
    orders: Option<Orders>,
}

// The accesses, and the pairs of them that were found.
#[derive(Default)]
struct Races {
    places: BTreeMap<AccessPlace, Vec<Group<Access>>>,
    // The cells of each object that were accessed: a free meets them all.
    cells: BTreeMap<ObjectId, BTreeSet<Location>>,
    found: BTreeMap<Pair, Candidate>,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self::new()
    }
}

impl Hybrid {
    /// Has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { watch: Watch::new(true), races: Races::default(), orders: None }
    }

    /// Has seen nothing, and finds order pairs as well: as [`OrderPairs`](super::OrderPairs) beside it would, for less.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::{detect::Hybrid, exec::run, sched::RoundRobin, vm::Model, world::Limits};
    /// # use std::sync::atomic::AtomicBool;
    /// # let text = "var x = 0; lock l; thread a { sync l { x += 1 } }; thread b { sync l { x += 1 } }";
    /// # let model = Model::from_text("add.race", text, &[])?;
    /// # let stop = AtomicBool::new(false);
    /// let mut hybrid = Hybrid::with_order_pairs();
    /// run(&mut model.machine(Limits::default()), &mut RoundRobin::default(), 0, &mut hybrid, &stop);
    /// // Nothing races, but the order of the two sections may matter.
    /// let (races, orders) = hybrid.finish_both();
    /// assert_eq!((races.len(), orders.len()), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_order_pairs() -> Self {
        Self { orders: Some(Orders::default()), ..Self::new() }
    }

    /// Takes the next event. The world is the state after its step. The first event must be the first of the run (a thread's start).
    pub fn observe(&mut self, world: &World, event: &Event) {
        let turned = self.watch.observe(world, event);
        if let Some((op, value, act)) = self.watch.act(world, event) {
            if let Some(access) = op.access() {
                self.races.meet(world, &self.watch, access, &act);
            }
            if let Some(orders) = &mut self.orders {
                orders.meet(world, &self.watch, (op, value, &act), &turned);
            }
        }
        self.watch.close(world, event);
    }

    /// The races, in the order of their pairs.
    #[must_use]
    pub fn finish(self) -> Vec<Candidate> {
        self.finish_both().0
    }

    /// The races; and the order pairs, if it was to find them. Each in the order of their pairs.
    #[must_use]
    pub fn finish_both(self) -> (Vec<Candidate>, Vec<Candidate>) {
        let orders = self.orders.map_or_else(Vec::new, Orders::finish);
        (self.races.found.into_values().collect(), orders)
    }
}

impl Races {
    // Compares an access with all before it that could conflict, and keeps it.
    fn meet(&mut self, world: &World, watch: &Watch, access: Access, act: &Act) {
        let Access { place, kind } = access;
        let since = Group::since(self.places.get(&place), &act.by, &access, act.when.at.chain());
        self.meet_at(world, watch, place, (access, act), since);
        match place {
            AccessPlace::Life(object) if kind == AccessKind::Write => {
                for at in self.cells.get(&object).cloned().unwrap_or_default() {
                    self.meet_at(world, watch, AccessPlace::Cell(at), (access, act), since);
                }
            }
            AccessPlace::Cell(at @ Location { object: Some(object), .. }) => {
                self.meet_at(world, watch, AccessPlace::Life(object), (access, act), since);
                self.cells.entry(object).or_default().insert(at);
            }
            _ => {}
        }
        Group::keep(self.places.entry(place).or_default(), act.by, access, act.when);
    }

    fn meet_at(&mut self, world: &World, watch: &Watch, place: AccessPlace, (access, act): (Access, &Act), since: u64) {
        let now = act.when.context;
        for Group { by: old, what, whens, .. } in self.places.get(&place).into_iter().flatten() {
            if !what.conflicts(&access) || watch.guarded(old, &act.by) {
                continue;
            }
            // A free and a field: it is the life that they disagree about.
            let place = what.place.max(access.place);
            let unordered = whens.range(since..).map(|(_, old)| old);
            for was in unordered.filter(|old| !watch.is_before(old, now)) {
                let how = (watch, watch.rank(was, now), old.kind(&act.by));
                let at = || (Place::of(world, place), world.place_name(place));
                act.found(&mut self.found, how, Detector::Hybrid, (old, was), world, at);
            }
        }
    }
}

impl Observer for Hybrid {
    fn event(&mut self, world: &World, event: &Event) {
        self.observe(world, event);
    }
}
