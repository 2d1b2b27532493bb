//! Hybrid detection over the events of one run (RaceFuzzer, section 2.2, phase 1; see the module's head).
//!
//! Each place keeps one entry for each chain, thread, lockset, site and kind, that of the latest access. This loses nothing: the earlier
//! access x is before the later x' of the same chain, so that a y which is not after x is not after x' either. A summary of the last
//! read and write only would lose pairs of sites.

use super::candidate::{Candidate, ContextKind, Evidence, Pair, Place};
use super::clock::Point;
use super::held::{Held, LocksetId};
use super::order::Order;
use crate::event::{
    Access, AccessKind, AccessPlace, ContextId, Event, Happening, Location, ObjectId, SiteId, ThreadId,
};
use crate::exec::Observer;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Hybrid detection over one run: an [`Observer`] that is shown every event from the start of the app.
pub struct Hybrid {
    order: Order,
    held: Held,
    places: BTreeMap<AccessPlace, Vec<Entry>>,
    // The cells of each object that were accessed: a free meets them all.
    cells: BTreeMap<ObjectId, BTreeSet<Location>>,
    found: BTreeMap<Pair, Candidate>,
}

// An access, and where its thread was.
#[derive(Clone, Copy)]
struct Entry {
    site: SiteId,
    access: Access,
    thread: ThreadId,
    is_task: bool,
    lockset: LocksetId,
    point: Point,
    context: ContextId,
    step: u64,
}

impl Entry {
    // Whether a later access with the same future meetings stands for both.
    fn is_renewed_by(&self, later: &Entry) -> bool {
        (self.site, self.access, self.thread, self.is_task, self.lockset, self.point.chain)
            == (later.site, later.access, later.thread, later.is_task, later.lockset, later.point.chain)
    }

    fn kind(&self, other: &Entry) -> ContextKind {
        match (self.is_task, other.is_task) {
            _ if self.thread == other.thread => ContextKind::SameLooper,
            (false, false) => ContextKind::ThreadThread,
            (true, true) => ContextKind::TaskTask,
            _ => ContextKind::ThreadTask,
        }
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
            let is_task = world.thread(thread).home != context;
            let lockset = self.held.lockset(thread);
            self.meet(world, Entry { site, access, thread, is_task, lockset, point, context, step: event.step });
        }
        self.held.observe(world, thread, &event.what);
    }

    /// The candidates, in the order of their pairs.
    #[must_use]
    pub fn finish(self) -> Vec<Candidate> {
        self.found.into_values().collect()
    }

    // Compares an access with all before it that could conflict, and keeps it.
    fn meet(&mut self, world: &World, new: Entry) {
        let place = new.access.place;
        self.meet_at(world, place, &new);
        match place {
            AccessPlace::Life(object) if new.access.kind == AccessKind::Write => {
                for at in self.cells.get(&object).cloned().unwrap_or_default() {
                    self.meet_at(world, AccessPlace::Cell(at), &new);
                }
            }
            AccessPlace::Cell(at @ Location { object: Some(object), .. }) => {
                self.meet_at(world, AccessPlace::Life(object), &new);
                self.cells.entry(object).or_default().insert(at);
            }
            _ => {}
        }
        let entries = self.places.entry(place).or_default();
        match entries.iter_mut().find(|e| e.is_renewed_by(&new)) {
            Some(old) => *old = new,
            None => entries.push(new),
        }
    }

    fn meet_at(&mut self, world: &World, place: AccessPlace, new: &Entry) {
        let (Some(entries), Some(now)) = (self.places.get(&place), self.order.context(new.context)) else { return };
        // Most of many accesses to one place are of one statement.
        let mut last: Option<(SiteId, ContextKind, &mut Candidate)> = None;
        for old in entries {
            let kind = old.kind(new);
            let races = old.access.conflicts(&new.access)
                && !now.has(old.point)
                && (kind == ContextKind::SameLooper || !self.held.exclude(old.lockset, new.lockset));
            if !races {
                continue;
            }
            if let Some((site, known, candidate)) = &mut last
                && (*site, *known) == (old.site, kind)
            {
                candidate.count += 1;
                continue;
            }
            let pair = Pair::new(old.site, new.site);
            let candidate = self.found.entry(pair).or_insert_with(|| Candidate {
                pair,
                kinds: BTreeSet::new(),
                evidence: evidence(world, &self.held, old, new),
                count: 0,
            });
            candidate.kinds.insert(kind);
            candidate.count += 1;
            last = Some((old.site, kind, candidate));
        }
    }
}

impl Observer for Hybrid {
    fn event(&mut self, world: &World, event: &Event) {
        self.observe(world, event);
    }
}

fn evidence(world: &World, held: &Held, old: &Entry, new: &Entry) -> Evidence {
    let (a, b) = if old.site <= new.site { (old, new) } else { (new, old) };
    let name = |e: &Entry| world.contexts().name(world.setup(), e.context);
    // A free and a field: it is the life that they disagree about.
    let at = [a, b].map(|e| e.access.place).into_iter().max().unwrap_or(a.access.place);
    Evidence {
        run: 0,
        place: Place::of(world, at),
        location: world.place_name(at),
        steps: (a.step, b.step),
        contexts: (name(a), name(b)),
        locksets: (held.names(world, a.lockset), held.names(world, b.lockset)),
    }
}
