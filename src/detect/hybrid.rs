//! Hybrid detection over the events of one run (RaceFuzzer, section 2.2, phase 1; see the module's head).
//!
//! Each place keeps one entry for each chain, looper (if it is a task's), lockset, site and kind, that of the latest access. This loses nothing: the earlier
//! access x is before the later x' of the same chain, so that a y which is not after x is not after x' either. A summary of the last
//! read and write only would lose pairs of sites.

use super::candidate::{Candidate, Pair, Place};
use super::watch::{Act, By, Group, Watch, When};
use crate::event::{Access, AccessKind, AccessPlace, Event, Location, ObjectId};
use crate::exec::Observer;
use crate::world::World;
use std::collections::btree_map::Entry;
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
        Self { watch: Watch::new(true), races: Races::default() }
    }

    /// Takes the next event. The world is the state after its step. The first event must be the first of the run (a thread's start).
    pub fn observe(&mut self, world: &World, event: &Event) {
        self.watch.observe(world, event);
        if let Some((op, _, act)) = self.watch.act(world, event)
            && let Some(access) = op.access()
        {
            self.races.meet(world, &self.watch, access, &act);
        }
        self.watch.close(world, event);
    }

    /// The candidates, in the order of their pairs.
    #[must_use]
    pub fn finish(self) -> Vec<Candidate> {
        self.races.found.into_values().collect()
    }
}

impl Races {
    // Compares an access with all before it that could conflict, and keeps it.
    fn meet(&mut self, world: &World, watch: &Watch, access: Access, act: &Act) {
        let Access { place, kind } = access;
        let (by, when) = (&act.by, &act.when);
        let since = Group::since(self.places.get(&place), by, &access, when.at.chain());
        let new = (access, by, when);
        self.meet_at(world, watch, place, new, since);
        match place {
            AccessPlace::Life(object) if kind == AccessKind::Write => {
                for at in self.cells.get(&object).cloned().unwrap_or_default() {
                    self.meet_at(world, watch, AccessPlace::Cell(at), new, since);
                }
            }
            AccessPlace::Cell(at @ Location { object: Some(object), .. }) => {
                self.meet_at(world, watch, AccessPlace::Life(object), new, since);
                self.cells.entry(object).or_default().insert(at);
            }
            _ => {}
        }
        Group::keep(self.places.entry(place).or_default(), *by, access, *when);
    }

    fn meet_at(
        &mut self,
        world: &World,
        watch: &Watch,
        place: AccessPlace,
        (access, by, when): (Access, &By, &When),
        since: u64,
    ) {
        for Group { by: old, what, whens, .. } in self.places.get(&place).into_iter().flatten() {
            if !what.conflicts(&access) || watch.guarded(old, by) {
                continue;
            }
            let unordered = whens.range(since..).map(|(_, old)| old);
            for was in unordered.filter(|old| !watch.is_before(old, when.context)) {
                let rank = watch.rank(was, when.context);
                let candidate = match self.found.entry(Pair::new(old.site, by.site)) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(free) => {
                        // A free and a field: it is the life that they disagree about.
                        let place = what.place.max(access.place);
                        let (at, location) = (Place::of(world, place), world.place_name(place));
                        let (pair, evidence) = watch.evidence(world, at, location, ((old, was), (by, when)));
                        free.insert(Candidate { pair, rank, kinds: BTreeSet::new(), evidence, count: 0 })
                    }
                };
                candidate.rank = candidate.rank.min(rank);
                candidate.kinds.insert(old.kind(by));
                candidate.count += 1;
            }
        }
    }
}

impl Observer for Hybrid {
    fn event(&mut self, world: &World, event: &Event) {
        self.observe(world, event);
    }
}
