//! Which locks each thread holds, as numbered sets.

use crate::base::IndexVec;
use crate::trace::{Action, LockNo, ThreadNo, Trace};
use indexmap::IndexSet;
use xxhash_rust::xxh3::Xxh3Builder;

/// A set of locks; 0 is the empty one.
pub(super) type Lockset = u32;

/// The locksets of the threads of a trace, up to an operation.
pub(super) struct Locksets {
    // invariant: each ascending
    sets: IndexSet<Vec<LockNo>, Xxh3Builder>,
    held: IndexVec<ThreadNo, Lockset>,
}

impl Locksets {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut sets = IndexSet::with_hasher(Xxh3Builder::new());
        sets.insert(Vec::new());
        Self { sets, held: trace.threads.iter().map(|_| 0).collect() }
    }

    pub(super) fn of(&self, thread: ThreadNo) -> Lockset {
        self.held[thread]
    }

    pub(super) fn step(&mut self, thread: ThreadNo, action: Action) {
        let mut set = match action {
            Action::Acquire(_) | Action::Release(_) => self.sets[self.held[thread] as usize].clone(),
            _ => return,
        };
        match (action, set.binary_search(&lock_of(action))) {
            (Action::Acquire(lock), Err(at)) => set.insert(at, lock),
            (Action::Release(_), Ok(at)) => drop(set.remove(at)),
            _ => {}
        }
        self.held[thread] = self.sets.insert_full(set).0 as Lockset;
    }

    /// Whether a lock is in both.
    pub(super) fn exclude(&self, a: Lockset, b: Lockset) -> bool {
        let (a, b) = (&self.sets[a as usize], &self.sets[b as usize]);
        a.iter().any(|lock| b.binary_search(lock).is_ok())
    }
}

fn lock_of(action: Action) -> LockNo {
    match action {
        Action::Acquire(lock) | Action::Release(lock) => lock,
        _ => LockNo(u32::MAX),
    }
}
