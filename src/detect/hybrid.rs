//! Hybrid detection over the events of one run (RaceFuzzer, section 2.2, phase 1; see the module's head).
//!
//! Each place keeps one entry for each chain, looper (if it is a task's), lockset, site and kind, that of the latest access (`met`). A summary of the last
//! read and write only would lose pairs of sites.

use super::candidate::{Candidate, Place};
use super::found::Found;
use super::met::{Meeting, Met};
use super::order_pairs::Orders;
use super::watch::{Act, Watch};
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

/// What one run has shown.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The races, in the order of their pairs.
    pub races: Vec<Candidate>,
    /// The order pairs, in the order of their pairs.
    pub orders: Vec<Candidate>,
    /// Locations, locks, queues ... with more pairs than are kept of one.
    pub left_out: BTreeSet<String>,
}

// The accesses, and the pairs of them that were found.
#[derive(Default)]
struct Races {
    places: BTreeMap<AccessPlace, Met<AccessKind>>,
    // The cells of each object that were accessed: a free meets them all.
    cells: BTreeMap<ObjectId, BTreeSet<Location>>,
    found: Found,
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

    /// Keeps so many pairs of statements of one location, and as many order pairs of one thing, instead of 10,000. What has more is told
    /// ([`Findings::left_out`]).
    #[must_use]
    pub fn most_pairs(mut self, most: u32) -> Self {
        self.races.found.most = most;
        if let Some(orders) = &mut self.orders {
            orders.found.most = most;
        }
        self
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
        let Findings { races, orders, .. } = self.finish_all();
        (races, orders)
    }

    /// All that was found, and where more would have been.
    #[must_use]
    pub fn finish_all(self) -> Findings {
        let (races, mut left_out) = self.races.found.finish();
        let (orders, more) = self.orders.map_or_else(Default::default, |orders| orders.found.finish());
        left_out.extend(more);
        Findings { races, orders, left_out }
    }
}

impl Races {
    // Compares an access with all before it that could conflict, and keeps it.
    fn meet(&mut self, world: &World, watch: &Watch, access: Access, act: &Act) {
        use AccessKind::{Read, Write};
        let Access { place, kind } = access;
        let Some(now) = watch.now(act.when.context) else { return };
        let meeting = Meeting { world, watch, act, now, is_access: true };
        let since = self.places.get(&place).map_or(0, |met| met.since(act.by, kind, act.when.at.chain()));
        let Self { places, cells, found } = self;
        // A free and a field: it is the life that they disagree about.
        let mut meet_at = |at: AccessPlace, conflicting: (AccessKind, AccessKind)| {
            let Some(met) = places.get_mut(&at) else { return };
            let named = at.max(place);
            let place = || (Place::of(world, named), world.place_name(named));
            met.meet(meeting, &[conflicting], (since, true), found, place);
        };
        meet_at(place, (if kind == Write { Read } else { Write }, Write));
        match place {
            AccessPlace::Life(object) if kind == Write => {
                let cells = cells.get(&object).into_iter().flatten();
                cells.for_each(|at| meet_at(AccessPlace::Cell(*at), (Read, Write)));
            }
            AccessPlace::Cell(at @ Location { object: Some(object), .. }) => {
                meet_at(AccessPlace::Life(object), (Write, Write));
                cells.entry(object).or_default().insert(at);
            }
            _ => {}
        }
        places.entry(place).or_default().keep(act.by, kind, act.when);
    }
}

impl Observer for Hybrid {
    fn event(&mut self, world: &World, event: &Event) {
        self.observe(world, event);
    }
}
