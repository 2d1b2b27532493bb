//! Hybrid detection over the events of one run (RaceFuzzer, section 2.2, phase 1; see the module's head).
//!
//! Each place keeps one entry for each chain, looper (if it is a task's), lockset, site and kind, that of the latest access. This loses nothing: the earlier
//! access x is before the later x' of the same chain, so that a y which is not after x is not after x' either. A summary of the last
//! read and write only would lose pairs of sites.

use super::candidate::{Candidate, ContextKind, Evidence, Pair, Place};
use super::clock::{ChainId, Point};
use super::held::{Held, LocksetId};
use super::order::Order;
use crate::event::{
    Access, AccessKind, AccessPlace, ContextId, Event, Happening, Location, ObjectId, SiteId, ThreadId,
};
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
    order: Order,
    held: Held,
    places: BTreeMap<AccessPlace, Vec<Group>>,
    // The cells of each object that were accessed: a free meets them all.
    cells: BTreeMap<ObjectId, BTreeSet<Location>>,
    found: BTreeMap<Pair, Candidate>,
}

// What decides whether two accesses can meet, but for their order.
#[derive(Clone, Copy, PartialEq)]
struct Traits {
    site: SiteId,
    access: Access,
    // Of a task. Which thread own code belongs to does not matter: it is ordered with all else on its thread.
    looper: Option<ThreadId>,
    lockset: LocksetId,
}

impl Traits {
    fn kind(&self, other: &Traits) -> ContextKind {
        match (self.looper, other.looper) {
            (None, None) => ContextKind::ThreadThread,
            (Some(a), Some(b)) if a == b => ContextKind::SameLooper,
            (Some(_), Some(_)) => ContextKind::TaskTask,
            _ => ContextKind::ThreadTask,
        }
    }
}

// One access.
#[derive(Clone, Copy)]
struct When {
    point: Point,
    context: ContextId,
    step: u64,
}

// Accesses with the same traits.
struct Group {
    traits: Traits,
    // By step. invariant: one of each chain, the latest, whose step `latest` has
    whens: BTreeMap<u64, When>,
    latest: BTreeMap<ChainId, u64>,
}

impl Group {
    fn new(traits: Traits) -> Self {
        Self { traits, whens: BTreeMap::new(), latest: BTreeMap::new() }
    }

    fn keep(&mut self, when: When) {
        if let Some(old) = self.latest.insert(when.point.chain, when.step) {
            self.whens.remove(&old);
        }
        self.whens.insert(when.step, when);
    }
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
        Self {
            order: Order::new(),
            held: Held::new(),
            places: BTreeMap::new(),
            cells: BTreeMap::new(),
            found: BTreeMap::new(),
        }
    }

    /// Takes the next event. The world is the state after its step. The first event must be the first of the run (a thread's start).
    pub fn observe(&mut self, world: &World, event: &Event) {
        self.order.observe(world, event);
        let Some((thread, context)) = event.thread.zip(event.context) else { return };
        if let (Happening::Performed { op, .. }, Some(site)) = (&event.what, event.site)
            && let Some(access) = op.access()
            && let Some(point) = self.order.context(context).map(|c| c.at())
        {
            let looper = (world.thread(thread).home != context).then_some(thread);
            let lockset = self.held.lockset(thread);
            let traits = Traits { site, access, looper, lockset };
            self.meet(world, traits, When { point, context, step: event.step });
        }
        self.held.observe(world, thread, &event.what);
    }

    /// The candidates, in the order of their pairs.
    #[must_use]
    pub fn finish(self) -> Vec<Candidate> {
        self.found.into_values().collect()
    }

    // Compares an access with all before it that could conflict, and keeps it.
    fn meet(&mut self, world: &World, new: Traits, when: When) {
        let place = new.access.place;
        let group = |g: &&Group| g.traits == new;
        let known = self.places.get(&place).and_then(|groups| groups.iter().find(group));
        // The last access like it on its chain has met what came before that, and what is not ordered with this one was not ordered with that one:
        // a thread that loops costs what happened in between, not all threads there ever were.
        let since = known.and_then(|g| g.latest.get(&when.point.chain)).map_or(0, |step| step + 1);
        self.meet_at(world, place, &new, &when, since);
        match place {
            AccessPlace::Life(object) if new.access.kind == AccessKind::Write => {
                for at in self.cells.get(&object).cloned().unwrap_or_default() {
                    self.meet_at(world, AccessPlace::Cell(at), &new, &when, since);
                }
            }
            AccessPlace::Cell(at @ Location { object: Some(object), .. }) => {
                self.meet_at(world, AccessPlace::Life(object), &new, &when, since);
                self.cells.entry(object).or_default().insert(at);
            }
            _ => {}
        }
        let groups = self.places.entry(place).or_default();
        let at = groups.iter().position(|g| g.traits == new).unwrap_or_else(|| {
            groups.push(Group::new(new));
            groups.len() - 1
        });
        groups[at].keep(when);
    }

    fn meet_at(&mut self, world: &World, place: AccessPlace, new: &Traits, when: &When, since: u64) {
        let (Some(groups), Some(now)) = (self.places.get(&place), self.order.context(when.context)) else { return };
        for Group { traits: old, whens, .. } in groups {
            let kind = old.kind(new);
            let guarded = || kind != ContextKind::SameLooper && self.held.exclude(old.lockset, new.lockset);
            if !old.access.conflicts(&new.access) || guarded() {
                continue;
            }
            let mut unordered = whens.range(since..).map(|(_, old)| old).filter(|old| !now.has(old.point));
            let Some(first) = unordered.next() else { continue };
            let pair = Pair::new(old.site, new.site);
            let candidate = self.found.entry(pair).or_insert_with(|| Candidate {
                pair,
                kinds: BTreeSet::new(),
                evidence: evidence(world, &self.held, (old, first), (new, when)),
                count: 0,
            });
            candidate.kinds.insert(kind);
            candidate.count += 1 + unordered.count() as u64;
        }
    }
}

impl Observer for Hybrid {
    fn event(&mut self, world: &World, event: &Event) {
        self.observe(world, event);
    }
}

fn evidence(world: &World, held: &Held, old: (&Traits, &When), new: (&Traits, &When)) -> Evidence {
    let ((a, a_when), (b, b_when)) = if old.0.site <= new.0.site { (old, new) } else { (new, old) };
    let name = |context| world.contexts().name(world.setup(), context);
    // A free and a field: it is the life that they disagree about.
    let place = a.access.place.max(b.access.place);
    Evidence {
        run: 0,
        place: Some(Place::of(world, place)),
        location: world.place_name(place),
        steps: (a_when.step, b_when.step),
        contexts: (name(a_when.context), name(b_when.context)),
        locksets: (held.names(world, a.lockset), held.names(world, b.lockset)),
    }
}
