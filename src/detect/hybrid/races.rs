//! Hybrid detection over the events of one run (RaceFuzzer, section 2.2, phase 1; see [`detect`](crate::detect)).
//!
//! Each place keeps the latest access for each chain, looper (of a task), lock set, site and kind (`executions`). A
//! summary of only the last read and write would lose pairs of sites.

use super::tape::Tape;
use crate::detect::DetectorId;
use crate::detect::pairs::candidate::{Candidate, ConflictPlace};
use crate::detect::pairs::executions::{ExecutionQuery, Executions};
use crate::detect::pairs::findings::PairFindings;
use crate::detect::pairs::lock_order::LockOrder;
use crate::detect::pairs::order_pairs::OrderPairFinder;
use crate::detect::pairs::rings::{RingCandidate, rings};
use crate::detect::pairs::watch::{Act, RunState};
use crate::event::{Access, AccessKind, AccessPlace, Event, Location, ObjectId};
use crate::exec::Observer;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Hybrid detection over one run: an [`Observer`] that must receive every event from the start of the app.
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
    watch: RunState,
    races: Races,
    orders: Option<OrderPairFinder>,
    // The lock order, if order pairs are wanted.
    locks: Option<LockOrder>,
    tape: Option<Tape>,
}

/// Candidates of one run.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Races, in the order of their pairs.
    pub races: Vec<Candidate>,
    /// Order pairs, in the order of their pairs.
    pub orders: Vec<Candidate>,
    /// Deadlock rings, the shortest and nearest first. Only [`Hybrid::finish_for`] finds them.
    pub rings: Vec<RingCandidate>,
    /// Names of locations, locks, queues and the like that have more pairs than are kept for one of them.
    pub left_out: BTreeSet<String>,
}

// The accesses so far, and the pairs of them that were found.
#[derive(Default)]
struct Races {
    places: BTreeMap<AccessPlace, Executions<(AccessKind, bool)>>,
    // The cells of each object that were accessed: a free of the object conflicts with all of them.
    cells: BTreeMap<ObjectId, BTreeSet<Location>>,
    found: PairFindings,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self::new()
    }
}

impl Hybrid {
    /// Returns a detector that has seen no event, for races only.
    #[must_use]
    pub fn new() -> Self {
        Self { watch: RunState::new(true), races: Races::default(), orders: None, locks: None, tape: None }
    }

    /// Returns a detector that has seen no event, for races and order pairs: it finds the same order pairs as a
    /// separate [`OrderPairs`](crate::detect::OrderPairs), at less cost.
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
        Self { orders: Some(OrderPairFinder::default()), locks: Some(LockOrder::default()), ..Self::new() }
    }

    /// Keeps at most `most` pairs of statements of one location, and at most `most` order pairs of one object,
    /// instead of 10,000. The names of those with more are in [`Findings::left_out`].
    #[must_use]
    pub fn most_pairs(mut self, most: u32) -> Self {
        self.races.found.most = most;
        if let Some(orders) = &mut self.orders {
            orders.found.most = most;
        }
        self
    }

    /// Also records a trace of the run for those of the detectors that read one: [`Hybrid::finish_for`] returns what
    /// they find.
    #[must_use]
    pub fn record_for(mut self, detectors: &[DetectorId]) -> Self {
        let readers: Vec<DetectorId> = detectors.iter().copied().filter(|by| *by != DetectorId::HYBRID).collect();
        self.tape = (!readers.is_empty()).then(|| Tape::new(readers));
        self
    }

    /// Processes the next event. `world` is the state after its step. The first event must be the first one of the
    /// run (the start of a thread).
    pub fn observe(&mut self, world: &World, event: &Event) {
        let changes = self.watch.observe(world, event);
        let mut touched = None;
        if let Some((op, value, act)) = self.watch.act(world, event) {
            if let Some(access) = world.performed_access(op, value) {
                self.races.compare(world, &self.watch, access, &act);
                touched = Some((act, access.place));
            }
            if let Some(orders) = &mut self.orders {
                orders.compare(world, &self.watch, (op, value, &act), &changes);
            }
            if let Some(locks) = &mut self.locks {
                locks.observe(world, &mut self.watch, (op, value, &act));
            }
        }
        if let Some(tape) = &mut self.tape {
            tape.observe(world, event, self.watch.passed(), touched);
        }
        self.watch.close(world, event);
    }

    /// Returns the races, in the order of their pairs.
    #[must_use]
    pub fn finish(self) -> Vec<Candidate> {
        self.finish_both().0
    }

    /// Returns the races and the order pairs, each in the order of their pairs. There are no order pairs unless the
    /// detector was created by [`Hybrid::with_order_pairs`].
    #[must_use]
    pub fn finish_both(self) -> (Vec<Candidate>, Vec<Candidate>) {
        let Findings { races, orders, .. } = self.finish_all();
        (races, orders)
    }

    /// Returns the races that these detectors find, each of them on its own, with all order pairs and rings. A pair
    /// that two detectors report is among the races twice. `world` is the state after the run. Detectors besides
    /// [`DetectorId::HYBRID`] must have been given to [`Hybrid::record_for`].
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::{detect::{DetectorId, Hybrid}, exec::run, sched::RoundRobin, vm::Model, world::Limits};
    /// # use std::sync::atomic::AtomicBool;
    /// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
    /// # let stop = AtomicBool::new(false);
    /// let detectors: Vec<DetectorId> = DetectorId::of_runs().collect();
    /// let mut hybrid = Hybrid::new().record_for(&detectors);
    /// let mut machine = model.machine(Limits::default());
    /// run(&mut machine, &mut RoundRobin::default(), 0, &mut hybrid, &stop);
    /// // Each read with the other write, and the two writes.
    /// let races = hybrid.finish_for(&detectors, &machine.world).races;
    /// assert_eq!(races.iter().filter(|pair| pair.by.contains(&DetectorId::HYBRID)).count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn finish_for(mut self, detectors: &[DetectorId], world: &World) -> Findings {
        let more = self.tape.take().map(|tape| tape.finish(&self.watch, world));
        let rings = self.locks.take().map_or_else(Vec::new, |locks| rings(&locks, &mut self.watch, world));
        let mut found = Findings { rings, ..self.finish_all() };
        if !detectors.contains(&DetectorId::HYBRID) {
            found.races.clear();
        }
        found.races.extend(more.into_iter().flatten());
        found
    }

    /// Returns all candidates, and the names of the locations and objects with more pairs than were kept.
    #[must_use]
    pub fn finish_all(self) -> Findings {
        let (races, mut left_out) = self.races.found.finish();
        let (orders, more) = self.orders.map_or_else(Default::default, |orders| orders.found.finish());
        left_out.extend(more);
        Findings { races, orders, rings: Vec::new(), left_out }
    }
}

impl Races {
    // Compares an access with all earlier accesses that may conflict with it, and keeps it.
    fn compare(&mut self, world: &World, watch: &RunState, access: Access, act: &Act) {
        use AccessKind::{Read, Write};
        let Access { place, kind, atomic } = access;
        let Some(now) = watch.now(act.when.context) else { return };
        let query = ExecutionQuery { world, watch, act, now, is_access: true };
        let since = self
            .places
            .get(&place)
            .map_or(0, |executions| executions.since(act.by, (kind, atomic), act.when.at.chain()));
        let Self { places, cells, found } = self;
        // A free and an access to a field conflict on the life of the object, which is the larger of the two places.
        // Two operations on an atomic do not race. Plain accesses come first in the order of what executions do.
        let all = [((Read, false), (Read, true)), ((Write, false), (Write, true))];
        let mut compare_at = |at: AccessPlace, writes_only: bool| {
            let Some(executions) = places.get_mut(&at) else { return };
            let named = at.max(place);
            let place = || (ConflictPlace::of(world, named), world.place_name(named));
            let ranges = all.map(|(plain, mixed)| (plain, if atomic { plain } else { mixed }));
            executions.compare(query, &ranges[usize::from(writes_only)..], (since, true), found, place);
        };
        compare_at(place, kind != Write);
        match place {
            AccessPlace::Life(object) if kind == Write => {
                let cells = cells.get(&object).into_iter().flatten();
                cells.for_each(|at| compare_at(AccessPlace::Cell(*at), false));
            }
            AccessPlace::Cell(at @ Location { object: Some(object), .. }) => {
                compare_at(AccessPlace::Life(object), true);
                cells.entry(object).or_default().insert(at);
            }
            _ => {}
        }
        places.entry(place).or_default().keep(act.by, (kind, atomic), act.when);
    }
}

impl Observer for Hybrid {
    fn event(&mut self, world: &World, event: &Event) {
        self.observe(world, event);
    }
}
