//! Records facts about values for the end of a run: the last writes of each location, and the locks that each thread
//! holds, with the step of their acquisition.

use crate::event::{AccessPlace, Event, EventKind, LockId, Op, RwLockId, ThreadId, WaitSet};
use crate::world::{Change, LockHold, World};
use std::collections::BTreeMap;

/// A write of a location.
#[derive(Clone, Debug)]
pub(super) struct WriteFact {
    pub(super) step: u64,
    pub(super) by: String,
    /// The value that was written, in words; `None` for a free.
    pub(super) value: Option<String>,
    pub(super) site: Option<crate::event::SiteId>,
}

/// The last write of a location, and the write before it.
pub(super) type Writes = (WriteFact, Option<WriteFact>);

/// A lock or a reader-writer lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum HeldLock {
    Lock(LockId),
    RwLock(RwLockId),
}

impl From<LockHold> for HeldLock {
    fn from(hold: LockHold) -> Self {
        match hold {
            LockHold::Lock(lock) => HeldLock::Lock(lock),
            LockHold::Read(lock) | LockHold::Write(lock) => HeldLock::RwLock(lock),
        }
    }
}

/// The facts about a run so far.
#[derive(Clone, Default, Debug)]
pub(super) struct Facts {
    written: BTreeMap<AccessPlace, Writes>,
    // The line at which each thread accessed memory last, and the places that it accessed there.
    accessed: BTreeMap<ThreadId, (u32, Vec<AccessPlace>)>,
    // How often each thread holds each lock, and since which step.
    held: BTreeMap<(ThreadId, HeldLock), (u32, u64)>,
    // The threads that wait and have not been notified, each with its wait set.
    waiting: Vec<(WaitSet, ThreadId)>,
    // Holds that a waiting thread has released and will acquire again.
    given: BTreeMap<(ThreadId, LockId), u32>,
}

// Maximum number of places that are recorded for one line. More of them would not help a reader.
const MOST: usize = 6;

impl Facts {
    pub(super) fn event(&mut self, world: &World, event: &Event, by: &str, value: impl FnOnce() -> Option<String>) {
        let (EventKind::Performed { op, value: result, refused, .. }, Some(thread)) = (&event.what, event.thread)
        else {
            return;
        };
        if !refused {
            self.lock(world, thread, op);
        }
        let Some((place, writes)) = touched(op, *result) else { return };
        let line = event.site.map_or(0, |s| world.setup().sites[s].line);
        let (at, places) = self.accessed.entry(thread).or_default();
        if *at != line {
            (*at, *places) = (line, Vec::new());
        }
        if !places.contains(&place) && places.len() < MOST {
            places.push(place);
        }
        if writes && !refused {
            let new = WriteFact { step: world.steps(), by: by.to_owned(), value: value(), site: event.site };
            let old = self.written.remove(&place);
            self.written.insert(place, (new, old.map(|(last, _)| last)));
        }
    }

    fn lock(&mut self, world: &World, thread: ThreadId, op: &Op) {
        let step = world.steps();
        match world.effects(thread, op).hold() {
            Some((hold, Change::Taken)) => self.hold(thread, hold.into(), 1, step),
            Some((hold, Change::GivenUp)) => self.give_up(thread, hold.into(), 1),
            None => {}
        }
        match op {
            Op::Wait { on, lock, .. } if world.in_wait(thread) => {
                self.waiting.push((*on, thread));
                let depth = self.held.get(&(thread, HeldLock::Lock(*lock))).map_or(0, |(n, _)| *n);
                self.given.insert((thread, *lock), depth);
                self.give_up(thread, HeldLock::Lock(*lock), depth);
            }
            Op::Reacquire { lock, .. } => {
                self.waiting.retain(|(_, t)| *t != thread);
                let depth = self.given.remove(&(thread, *lock)).unwrap_or(1);
                self.hold(thread, HeldLock::Lock(*lock), depth, step);
            }
            _ => {}
        }
    }

    /// Returns the threads that the last operation, a notify, has woken.
    pub(super) fn notified(&mut self, world: &World, on: WaitSet) -> Vec<ThreadId> {
        let left = world.waiters(on);
        let woken = |(at, thread): &(WaitSet, ThreadId)| *at == on && !left.contains(thread);
        let threads = self.waiting.iter().filter(|w| woken(w)).map(|(_, thread)| *thread).collect();
        self.waiting.retain(|w| !woken(w));
        threads
    }

    fn hold(&mut self, thread: ThreadId, what: HeldLock, times: u32, step: u64) {
        self.held.entry((thread, what)).or_insert((0, step)).0 += times;
    }

    fn give_up(&mut self, thread: ThreadId, what: HeldLock, times: u32) {
        if let Some((n, _)) = self.held.get_mut(&(thread, what)) {
            *n = n.saturating_sub(times);
            if *n == 0 {
                self.held.remove(&(thread, what));
            }
        }
    }

    /// Returns the places that a thread accessed at the line of its last access, if that is `line`.
    pub(super) fn accessed(&self, thread: ThreadId, line: u32) -> &[AccessPlace] {
        self.accessed.get(&thread).filter(|(at, _)| *at == line).map_or(&[], |(_, places)| places)
    }

    /// Returns the objects that were freed.
    pub(super) fn freed(&self) -> Vec<AccessPlace> {
        self.written.keys().filter(|p| matches!(p, AccessPlace::Life(_))).copied().collect()
    }

    /// Returns the last writes of a place.
    pub(super) fn written(&self, place: AccessPlace) -> Option<&Writes> {
        self.written.get(&place)
    }

    /// Returns the locks that a thread holds, each with the step of its acquisition.
    pub(super) fn held(&self, thread: ThreadId) -> Vec<(HeldLock, u64)> {
        let from = (thread, HeldLock::Lock(LockId(0)));
        self.held.range(from..).take_while(|((t, _), _)| *t == thread).map(|((_, l), (_, s))| (*l, *s)).collect()
    }
}

// Returns the memory that an operation accesses, including atomics, and whether it writes.
fn touched(op: &Op, result: i64) -> Option<(AccessPlace, bool)> {
    match op {
        Op::AtomicRead(at) => Some((AccessPlace::Cell(*at), false)),
        Op::Cas { at, .. } => Some((AccessPlace::Cell(*at), result != 0)),
        Op::AtomicWrite(at, _) | Op::FetchAdd(at, _) | Op::Exchange(at, _) => Some((AccessPlace::Cell(*at), true)),
        op => op.access().map(|a| (a.place, a.kind == crate::event::AccessKind::Write)),
    }
}
