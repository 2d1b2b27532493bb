//! Critical sections: two acquisitions of one lock are an order pair if their sections conflict.
//!
//! A section consists of the operations of its thread from the acquisition to the release. A wait ends it, and the
//! return from the wait begins another section of the same acquisition. The footprint of a section is what it
//! accesses, sends and takes, the locks that it acquires, and also the locks that were held around it. Therefore the
//! inner acquisitions of two threads that lock in opposite orders conflict with the outer ones, even if the threads
//! do nothing else there.
//!
//! A section is compared with the earlier ones whenever its footprint grows, so that a section in which the run ends
//! (a deadlock) is compared as well. It is compared only with sections whose footprint conflicts with the new element
//! and that were not ordered with it when it began.
//!
//! An operation belongs to all open sections of its thread, so that n nested locks would cost n². A section whose
//! footprint is full (`is_full`) is therefore skipped. Only a write to something that it has read can change it, and
//! `Nest` finds it by that.

use super::candidate::{ConflictPlace, ContextKind};
use super::executions::{ExecutionQuery, Executions};
use super::findings::PairFindings;
use super::partners::{TouchEffect, TouchedThing, conflict, touches};
use super::watch::{Act, OperationKey, RunState};
use crate::detect::relation::clock::Clock;
use crate::detect::relation::contexts::ContextClock;
use crate::event::{AccessKind, AccessPlace, Location, LockId, ObjectId, Op, SiteId, ThreadId, Value};
use crate::world::{Change, LockHold, Thing, World};
use std::collections::{BTreeMap, BTreeSet};

/// The places and objects that a section has touched, and how.
type Footprint = BTreeMap<TouchedThing, AccessKind>;

// A larger footprint records only that more was touched (`TouchedThing::Anything`).
const MOST_TOUCHED: usize = 64;

// If a site has more different footprints at one lock, the further ones are recorded as unknown
// (`TouchedThing::Anything`).
const MOST_FOOTPRINTS: usize = 16;

/// The critical sections of a run.
#[derive(Default)]
pub(in crate::detect) struct Sections {
    locks: BTreeMap<Thing, LockSections>,
    footprints: Footprints,
    open: BTreeMap<ThreadId, Nest>,
    // Acquisitions whose lock a wait has released, by waiting thread.
    waiting: BTreeMap<ThreadId, Act>,
}

// The sections of one lock that have ended.
#[derive(Default)]
struct LockSections {
    compared: Executions<SectionKind>,
    // Common properties of each class of `compared`.
    classes: Vec<SectionClass>,
    // Classes that have touched a place or object, and how.
    about: BTreeMap<SectionKey, Vec<(u32, AccessKind)>>,
    // Number of groups of each statement.
    of_site: BTreeMap<SiteId, usize>,
    // Epoch of the latest section of each chain.
    last: Clock,
}

// LockHold and footprint of a section.
type SectionKind = (LockHold, u32);

// Common properties of the sections of one class.
struct SectionClass {
    what: SectionKind,
    by: OperationKey,
}

// Key by which sections are looked up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SectionKey {
    Touched(TouchedThing),
    CellsOf(ObjectId),
}

// All footprints, by number.
#[derive(Default)]
struct Footprints {
    all: Vec<Footprint>,
    ids: BTreeMap<Footprint, u32>,
}

impl Footprints {
    fn id(&mut self, footprint: Footprint) -> u32 {
        let Self { all, ids } = self;
        *ids.entry(footprint).or_insert_with_key(|footprint| {
            all.push(footprint.clone());
            all.len() as u32 - 1
        })
    }
}

// The open sections of a thread.
#[derive(Default)]
struct Nest {
    // Sections by number, in the order in which they began.
    open: BTreeMap<u32, OpenSection>,
    // Numbers of the sections of each hold. invariant: no list is empty; ascending
    of: BTreeMap<LockHold, Vec<u32>>,
    // Numbers of the sections that are not full. invariant: ascending
    heedful: Vec<u32>,
    // Numbers of the full sections, by the places that they have read and not written.
    read: BTreeMap<TouchedThing, BTreeSet<u32>>,
    // Number of the next section.
    next: u32,
}

struct OpenSection {
    hold: LockHold,
    act: Act,
    footprint: Footprint,
    // Knowledge of its context when it began; `None` if all earlier sections of the lock were before it, so that
    // there is nothing to compare.
    begun: Option<ContextClock>,
    // Classes with which a conflict was found already.
    compared: BTreeSet<u32>,
}

impl Sections {
    /// Processes an operation of a thread. `watch.held` has the lock sets before the operation.
    pub(in crate::detect) fn compare(
        &mut self,
        world: &World,
        watch: &RunState,
        (op, value, act): (&Op, Value, &Act),
        found: &mut PairFindings,
    ) {
        let thread = act.thread;
        for touch in touches(world, thread, op, value) {
            self.touch(world, watch, thread, touch, found);
        }
        if act.refused {
            return;
        }
        let hold = world.effects(thread, op).hold();
        if let Some((hold, Change::Taken)) = hold
            && watch.held.count_of(thread, hold) == 0
        {
            // The acquisition is part of the sections around it.
            self.touch(world, watch, thread, TouchedThing::hold(hold), found);
            self.begin(world, watch, hold, *act, found);
        } else if let Some((hold, Change::GivenUp)) = hold
            && watch.held.count_of(thread, hold) == 1
        {
            self.end(thread, hold);
        } else if let Op::Wait { lock, .. } = *op
            && world.in_wait(thread)
        {
            let first = self.end(thread, LockHold::Lock(lock));
            self.waiting.extend(first.map(|act| (thread, act)));
        } else if let Op::Reacquire { lock, .. } = *op {
            self.come_back(world, watch, lock, act, found);
        }
    }

    fn come_back(&mut self, world: &World, watch: &RunState, lock: LockId, act: &Act, found: &mut PairFindings) {
        if let Some(mut first) = self.waiting.remove(&act.thread) {
            first.when.at = act.when.at;
            self.begin(world, watch, LockHold::Lock(lock), first, found);
        }
    }

    fn begin(&mut self, world: &World, watch: &RunState, hold: LockHold, act: Act, found: &mut PairFindings) {
        let now = watch.now(act.when.context);
        let begun = self.locks.get(&hold.thing()).and_then(|lock| now.filter(|now| now.misses(&lock.last))).cloned();
        let mut open = OpenSection { hold, act, footprint: Footprint::new(), begun, compared: BTreeSet::new() };
        let Self { open: nests, locks, footprints, .. } = self;
        for around in watch.held.holds(act.by.lockset) {
            open.touch(world, watch, (locks, footprints), TouchedThing::hold(around), found);
            // The other locks around it change nothing: no thread holds both sides of a reader-writer lock, so no
            // later touch is a write to something read.
            if open.is_full() {
                break;
            }
        }
        nests.entry(act.thread).or_default().add(open);
    }

    // Ends the section and keeps it. Returns the operation that began it.
    fn end(&mut self, thread: ThreadId, hold: LockHold) -> Option<Act> {
        let OpenSection { hold, act, footprint, .. } = self.open.get_mut(&thread)?.remove(hold)?;
        let lock = self.locks.entry(hold.thing()).or_default();
        let mut what = (hold, self.footprints.id(footprint));
        let of_site = lock.of_site.entry(act.by.site).or_default();
        if !lock.compared.is_known(act.by, what) && *of_site >= MOST_FOOTPRINTS {
            what.1 = self.footprints.id(Footprint::from([(TouchedThing::Anything, AccessKind::Write)]));
        }
        *of_site += usize::from(!lock.compared.is_known(act.by, what));
        lock.keep(&self.footprints, what, &act);
        Some(act)
    }

    fn touch(
        &mut self,
        world: &World,
        watch: &RunState,
        thread: ThreadId,
        touch: TouchEffect,
        found: &mut PairFindings,
    ) {
        let Self { open, locks, footprints, .. } = self;
        if let Some(nest) = open.get_mut(&thread) {
            nest.touch(touch, |open| open.touch(world, watch, (&mut *locks, footprints), touch, found));
        }
    }
}

impl Nest {
    fn add(&mut self, open: OpenSection) {
        let number = self.next;
        self.next += 1;
        self.of.entry(open.hold).or_default().push(number);
        if open.is_full() {
            Self::leave(&mut self.read, number, &open);
        } else {
            self.heedful.push(number);
        }
        self.open.insert(number, open);
    }

    // Registers a full section by the places that it has read.
    fn leave(read: &mut BTreeMap<TouchedThing, BTreeSet<u32>>, number: u32, open: &OpenSection) {
        for touched in open.read() {
            read.entry(touched).or_default().insert(number);
        }
    }

    // Passes a touch to the sections that it may change, in the order in which they began: those that are not full,
    // and for a write the full ones that have read the place.
    fn touch(&mut self, (touched, kind): TouchEffect, mut update: impl FnMut(&mut OpenSection)) {
        let mut numbers = std::mem::take(&mut self.heedful);
        if kind == AccessKind::Write {
            numbers.extend(self.read.remove(&touched).unwrap_or_default());
        }
        numbers.sort_unstable();
        numbers.retain(|number| {
            let Some(open) = self.open.get_mut(number) else { return false };
            let was_full = open.is_full();
            update(open);
            if !was_full && open.is_full() {
                Self::leave(&mut self.read, *number, open);
            }
            !open.is_full()
        });
        self.heedful = numbers;
    }

    // Removes the last section of a hold.
    fn remove(&mut self, hold: LockHold) -> Option<OpenSection> {
        let of = self.of.get_mut(&hold)?;
        let number = of.pop()?;
        if of.is_empty() {
            self.of.remove(&hold);
        }
        let open = self.open.remove(&number)?;
        if let Ok(at) = self.heedful.binary_search(&number) {
            self.heedful.remove(at);
        }
        for touched in open.read().filter(|_| open.is_full()) {
            if let Some(numbers) = self.read.get_mut(&touched) {
                numbers.remove(&number);
                if numbers.is_empty() {
                    self.read.remove(&touched);
                }
            }
        }
        Some(open)
    }
}

impl LockSections {
    fn keep(&mut self, footprints: &Footprints, what: SectionKind, act: &Act) {
        let (class, is_new) = self.compared.keep(act.by, what, act.when);
        self.last.learn(act.when.at.hybrid());
        if !is_new {
            return;
        }
        self.classes.push(SectionClass { what, by: act.by });
        for (touched, kind) in &footprints.all[what.1 as usize] {
            let mut add = |about| self.about.entry(about).or_default().push((class as u32, *kind));
            add(SectionKey::Touched(*touched));
            if let TouchedThing::Memory(AccessPlace::Cell(Location { object: Some(object), .. })) = touched {
                add(SectionKey::CellsOf(*object));
            }
        }
    }

    // Returns the classes with which a touch conflicts.
    fn conflicting(&self, footprints: &Footprints, (touched, kind): TouchEffect) -> Vec<u32> {
        if touched == TouchedThing::Anything {
            let footprint = |what: &SectionKind| footprints.all[what.1 as usize].iter();
            let conflicts = |what| footprint(what).any(|(at, how)| conflict((touched, kind), (*at, *how)));
            return (0..).zip(&self.classes).filter(|(_, of)| conflicts(&of.what)).map(|(class, _)| class).collect();
        }
        // This is `conflict`, evaluated for all footprints at once.
        let writes = AccessKind::Write;
        let listed = |about, how: &dyn Fn(AccessKind) -> bool| {
            let listed = self.about.get(&about).into_iter().flatten().filter(|(_, kind)| how(*kind));
            listed.map(|(class, _)| *class).collect::<Vec<u32>>()
        };
        let same = |how: AccessKind| kind == writes || how == writes;
        let mut classes = listed(SectionKey::Touched(touched), &same);
        classes.extend(listed(SectionKey::Touched(TouchedThing::Anything), &same));
        match touched {
            TouchedThing::Memory(AccessPlace::Life(object)) if kind == writes => {
                classes.extend(listed(SectionKey::CellsOf(object), &|_| true));
            }
            TouchedThing::Memory(AccessPlace::Cell(Location { object: Some(object), .. })) => {
                let life = SectionKey::Touched(TouchedThing::Memory(AccessPlace::Life(object)));
                classes.extend(listed(life, &|how| how == writes));
            }
            _ => {}
        }
        classes
    }
}

impl OpenSection {
    // Whether the footprint records no further places. Touches of places that are new to it change nothing.
    fn is_full(&self) -> bool {
        self.footprint.len() >= MOST_TOUCHED && self.footprint.get(&TouchedThing::Anything) == Some(&AccessKind::Write)
    }

    // Returns the places that the section has read and not written.
    fn read(&self) -> impl Iterator<Item = TouchedThing> + '_ {
        self.footprint.iter().filter(|(_, kind)| **kind == AccessKind::Read).map(|(touched, _)| *touched)
    }

    // Adds a touch to the footprint, and compares the section with those that now conflict.
    fn touch(
        &mut self,
        world: &World,
        watch: &RunState,
        (locks, footprints): (&mut BTreeMap<Thing, LockSections>, &Footprints),
        touch: TouchEffect,
        found: &mut PairFindings,
    ) {
        let full = self.footprint.len() >= MOST_TOUCHED && !self.footprint.contains_key(&touch.0);
        let touch = if full { (TouchedThing::Anything, AccessKind::Write) } else { touch };
        if self.footprint.get(&touch.0).is_some_and(|known| *known >= touch.1) {
            return;
        }
        self.footprint.insert(touch.0, touch.1);
        let Self { hold, act, begun: Some(now), compared, .. } = self else { return };
        let Some(lock) = locks.get_mut(&hold.thing()) else { return };
        let mut classes = lock.conflicting(footprints, touch);
        classes.retain(|class| compared.insert(*class));
        // Two readers do not conflict here, nor two tasks of one looper, nor sections under a common outer lock.
        classes.retain(|class| {
            let SectionClass { what, by } = &lock.classes[*class as usize];
            let same = by.kind(&act.by) == ContextKind::SameLooper;
            hold.excludes(what.0) && !same && !watch.guarded(by, &act.by)
        });
        let query = ExecutionQuery { world, watch, act, now, is_access: false };
        let name = || hold.thing().name(world);
        let classes = classes.into_iter().map(|class| class as usize);
        lock.compared.compare_classes(query, classes, 0, found, || (ConflictPlace::Object { name: name() }, name()));
    }
}
