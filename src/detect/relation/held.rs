//! Lock sets: the locks that a thread holds at an access.
//!
//! A wait gives its lock up, and its reacquisition takes the lock back with the same depth, also when the wait ends
//! with an exception. The thread performs nothing between the two, so that no access sees the difference. Both are
//! therefore ignored, and a wait that throws at once is no special case.

use super::sets::{SetId, Sets};
use crate::base::IndexVec;
use crate::event::{EventKind, LockId, RwLockId, ThreadId};
use crate::world::{Change, LockHold, World};
use std::collections::BTreeMap;

crate::define_id! {
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// An interned lockset; 0 is the empty one.
    LocksetId
}

/// The lock sets of all threads.
pub(in crate::detect) struct HeldLocksets {
    threads: BTreeMap<ThreadId, ThreadHolds>,
    all: IndexVec<LocksetId, Lockset>,
    ids: BTreeMap<Lockset, LocksetId>,
    sets: Sets,
}

// A lock set, as the numbers of its locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lockset {
    locks: SetId,
    reads: SetId,
    writes: SetId,
}

impl Lockset {
    const EMPTY: Self = Self { locks: SetId::EMPTY, reads: SetId::EMPTY, writes: SetId::EMPTY };
}

struct ThreadHolds {
    // invariant: no count is 0
    counts: BTreeMap<LockHold, u32>,
    // The holds that are in `counts`.
    held: Lockset,
    // The interned set, unless the holds have changed since.
    lockset: Option<LocksetId>,
}

impl Default for ThreadHolds {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), held: Lockset::EMPTY, lockset: None }
    }
}

impl HeldLocksets {
    pub(in crate::detect) fn new() -> Self {
        let mut held =
            Self { threads: BTreeMap::new(), all: IndexVec::new(), ids: BTreeMap::new(), sets: Sets::default() };
        held.intern(Lockset::EMPTY);
        held
    }

    fn intern(&mut self, set: Lockset) -> LocksetId {
        let Self { all, ids, .. } = self;
        *ids.entry(set).or_insert_with(|| all.add(set))
    }

    pub(in crate::detect) fn observe(&mut self, world: &World, thread: ThreadId, what: &EventKind) {
        let EventKind::Performed { op, refused: false, .. } = what else { return };
        if let Some((hold, change)) = world.effects(thread, op).hold() {
            self.count(thread, hold, change == Change::Taken);
        }
    }

    fn count(&mut self, thread: ThreadId, hold: LockHold, more: bool) {
        let thread = self.threads.entry(thread).or_default();
        let was = thread.counts.get(&hold).copied().unwrap_or(0);
        let now = if more { was + 1 } else { was.saturating_sub(1) };
        match now {
            0 => thread.counts.remove(&hold),
            n => thread.counts.insert(hold, n),
        };
        if (was == 0) == (now == 0) {
            return;
        }
        let Lockset { locks, reads, writes } = &mut thread.held;
        let (set, number) = match hold {
            LockHold::Lock(LockId(number)) => (locks, number),
            LockHold::Read(RwLockId(number)) => (reads, number),
            LockHold::Write(RwLockId(number)) => (writes, number),
        };
        *set = if more { self.sets.with(*set, number) } else { self.sets.without(*set, number) };
        thread.lockset = None;
    }

    /// Returns how often the thread holds this now.
    pub(in crate::detect) fn count_of(&self, thread: ThreadId, hold: LockHold) -> u32 {
        self.threads.get(&thread).and_then(|t| t.counts.get(&hold)).copied().unwrap_or(0)
    }

    /// Returns the holds of a set, in their order.
    pub(in crate::detect) fn holds(&self, set: LocksetId) -> impl Iterator<Item = LockHold> + '_ {
        let Lockset { locks, reads, writes } = self.all[set];
        let of = |set| self.sets.members(set);
        let locks = of(locks).map(|number| LockHold::Lock(LockId(number)));
        let reads = of(reads).map(|number| LockHold::Read(RwLockId(number)));
        locks.chain(reads).chain(of(writes).map(|number| LockHold::Write(RwLockId(number))))
    }

    /// Returns the set of locks that the thread holds now.
    pub(in crate::detect) fn lockset(&mut self, thread: ThreadId) -> LocksetId {
        let Some(t) = self.threads.get(&thread) else { return LocksetId(0) };
        if let Some(id) = t.lockset {
            return id;
        }
        let id = self.intern(t.held);
        self.threads.entry(thread).or_default().lockset = Some(id);
        id
    }

    /// Returns the set without a hold.
    pub(in crate::detect) fn without(&mut self, set: LocksetId, hold: LockHold) -> LocksetId {
        let Lockset { mut locks, mut reads, mut writes } = self.all[set];
        let (of, number) = match hold {
            LockHold::Lock(LockId(number)) => (&mut locks, number),
            LockHold::Read(RwLockId(number)) => (&mut reads, number),
            LockHold::Write(RwLockId(number)) => (&mut writes, number),
        };
        *of = self.sets.without(*of, number);
        self.intern(Lockset { locks, reads, writes })
    }

    /// Whether two threads cannot have these two sets at once.
    pub(in crate::detect) fn exclude(&self, a: LocksetId, b: LocksetId) -> bool {
        let (a, b, sets) = (&self.all[a], &self.all[b], &self.sets);
        let crossed = sets.intersects(a.writes, b.reads) || sets.intersects(a.reads, b.writes);
        crossed || sets.intersects(a.locks, b.locks) || sets.intersects(a.writes, b.writes)
    }

    /// Returns the names of the locks of a set.
    pub(in crate::detect) fn names(&self, world: &World, set: LocksetId) -> Vec<String> {
        self.holds(set).map(|hold| hold.name(world)).collect()
    }
}
