//! Critical sections: two acquisitions of one lock are an order pair if what their sections do conflicts.
//!
//! A section is what its thread does from the acquisition to the release; a wait ends it, and the return from the wait begins one more of the same acquisition.
//! It touches what it accesses, sends, takes, and the locks that it acquires, but also those that were held around it: so the inner
//! acquisitions of two threads that lock in opposite orders conflict with the outer ones, though nothing else is done there.
//!
//! A section is compared with those before it whenever it touches something new: a run that ends inside of it (a deadlock) has been looked at.

use super::Detector;
use super::candidate::{Candidate, ContextKind, Pair, Place, Rank};
use super::deed::{Thing, Touch, Touched, conflict, touches};
use super::held::Hold;
use super::watch::{Act, Group, Watch, When};
use crate::event::{AccessKind, LockId, Op, ThreadId, Value};
use crate::world::World;
use std::collections::BTreeMap;

/// What a section has touched, and how.
type Footprint = BTreeMap<Touched, AccessKind>;

// Of a larger footprint it is not known what else is in it.
const MOST_TOUCHED: usize = 64;

// Of a site that has more different footprints at one lock the others are taken for unknown.
const MOST_FOOTPRINTS: usize = 16;

/// The sections of a run.
#[derive(Default)]
pub(super) struct Sections {
    ended: BTreeMap<Thing, Vec<Group<Ended>>>,
    open: BTreeMap<ThreadId, Vec<Open>>,
    // The acquisitions that a wait has given up.
    waiting: BTreeMap<ThreadId, Act>,
}

#[derive(Clone, PartialEq)]
struct Ended {
    hold: Hold,
    footprint: Footprint,
}

struct Open {
    hold: Hold,
    act: Act,
    footprint: Footprint,
    // Ended sections that it is not ordered with and has not been found to conflict with.
    unmet: Vec<Unmet>,
}

struct Unmet {
    group: usize,
    whens: Vec<When>,
}

fn thing(hold: Hold) -> Thing {
    match hold {
        Hold::Lock(lock) => Thing::Lock(lock),
        Hold::Read(lock) | Hold::Write(lock) => Thing::RwLock(lock),
    }
}

fn acquired(op: &Op) -> Option<Hold> {
    match *op {
        Op::Acquire(lock) => Some(Hold::Lock(lock)),
        Op::ReadLock(lock) => Some(Hold::Read(lock)),
        Op::WriteLock(lock) => Some(Hold::Write(lock)),
        _ => None,
    }
}

fn released(op: &Op) -> Option<Hold> {
    match *op {
        Op::Release(lock) => Some(Hold::Lock(lock)),
        Op::ReadUnlock(lock) => Some(Hold::Read(lock)),
        Op::WriteUnlock(lock) => Some(Hold::Write(lock)),
        _ => None,
    }
}

type Found = BTreeMap<Pair, Candidate>;

impl Sections {
    /// The thread performs the operation; the locksets are those before it.
    pub(super) fn meet(
        &mut self,
        world: &World,
        watch: &Watch,
        (op, value, act): (&Op, Value, &Act),
        found: &mut Found,
    ) {
        let thread = act.thread;
        for touch in touches(world, thread, op, value) {
            self.touch(world, watch, thread, touch, found);
        }
        if let Some(hold) = acquired(op).filter(|hold| !watch.held.is_dead(*hold))
            && watch.held.count_of(thread, hold) == 0
        {
            // For the sections around it.
            self.touch(world, watch, thread, Touched::hold(hold), found);
            self.begin(world, watch, hold, *act, found);
        } else if let Some(hold) = released(op)
            && watch.held.count_of(thread, hold) == 1
        {
            self.end(thread, hold);
        } else if let Op::Wait { lock, .. } = *op
            && matches!(world.thread(thread).pending, Op::Reacquire { .. })
        {
            let first = self.end(thread, Hold::Lock(lock));
            self.waiting.extend(first.map(|act| (thread, act)));
        } else if let Op::Reacquire { lock, .. } = *op {
            self.come_back(world, watch, lock, act, found);
        }
    }

    fn come_back(&mut self, world: &World, watch: &Watch, lock: LockId, act: &Act, found: &mut Found) {
        if let Some(mut first) = self.waiting.remove(&act.thread) {
            first.when.at = act.when.at;
            self.begin(world, watch, Hold::Lock(lock), first, found);
        }
    }

    fn begin(&mut self, world: &World, watch: &Watch, hold: Hold, act: Act, found: &mut Found) {
        let mut unmet = Vec::new();
        for (group, Group { by, what, whens, .. }) in self.ended.get(&thing(hold)).into_iter().flatten().enumerate() {
            // Two readers, two tasks of one looper, and what a lock around it keeps apart.
            let kind = by.kind(&act.by);
            if !hold.excludes(what.hold) || kind == ContextKind::SameLooper || watch.guarded(by, &act.by) {
                continue;
            }
            let unordered = whens.values().filter(|old| !watch.is_before(old, act.when.context));
            let whens: Vec<When> = unordered.copied().collect();
            if !whens.is_empty() {
                unmet.push(Unmet { group, whens });
            }
        }
        let mut open = Open { hold, act, footprint: Footprint::new(), unmet };
        let ended = self.ended.get(&thing(hold)).map_or(&[][..], Vec::as_slice);
        for around in watch.held.holds(act.by.lockset) {
            open.touch(world, watch, ended, Touched::hold(*around), found);
        }
        self.open.entry(act.thread).or_default().push(open);
    }

    // Ends the section, and keeps it; what had begun it.
    fn end(&mut self, thread: ThreadId, hold: Hold) -> Option<Act> {
        let open = self.open.get_mut(&thread)?;
        let at = open.iter().rposition(|open| open.hold == hold)?;
        let Open { hold, act, mut footprint, .. } = open.remove(at);
        let groups = self.ended.entry(thing(hold)).or_default();
        let known = groups.iter().any(|g| g.by == act.by && g.what.footprint == footprint);
        if !known && groups.iter().filter(|g| g.by.site == act.by.site).count() >= MOST_FOOTPRINTS {
            footprint = Footprint::from([(Touched::Anything, AccessKind::Write)]);
        }
        Group::keep(groups, act.by, Ended { hold, footprint }, act.when);
        Some(act)
    }

    fn touch(&mut self, world: &World, watch: &Watch, thread: ThreadId, touch: Touch, found: &mut Found) {
        for open in self.open.get_mut(&thread).into_iter().flatten() {
            let ended = self.ended.get(&thing(open.hold)).map_or(&[][..], Vec::as_slice);
            open.touch(world, watch, ended, touch, found);
        }
    }
}

impl Open {
    // Adds to the footprint, and meets the sections that now conflict.
    fn touch(&mut self, world: &World, watch: &Watch, ended: &[Group<Ended>], touch: Touch, found: &mut Found) {
        let full = self.footprint.len() >= MOST_TOUCHED && !self.footprint.contains_key(&touch.0);
        let (touched, kind) = if full { (Touched::Anything, AccessKind::Write) } else { touch };
        if self.footprint.get(&touched).is_some_and(|known| *known >= kind) {
            return;
        }
        self.footprint.insert(touched, kind);
        let Self { hold, act, unmet, .. } = self;
        unmet.retain(|Unmet { group, whens }| {
            let Group { by, what, .. } = &ended[*group];
            let conflicts = what.footprint.iter().any(|(at, how)| conflict((touched, kind), (*at, *how)));
            for was in whens.iter().filter(|_| conflicts) {
                let name = || thing(*hold).name(world);
                let how = (watch, Rank::Order, by.kind(&act.by));
                act.found(found, how, Detector::Hybrid, (by, was), world, || (Place::Object { name: name() }, name()));
            }
            !conflicts
        });
    }
}
