//! Lock sets of the threads of a trace, as numbered sets.

use crate::base::IndexVec;
use crate::detect::relation::sets::{SetId, Sets};
use crate::trace::{Action, LockNo, ThreadNo, Trace};

/// A set of locks.
pub(in crate::detect) type Lockset = SetId;

/// The lock sets of the threads of a trace, up to the current operation.
pub(in crate::detect) struct Locksets {
    sets: Sets,
    held: IndexVec<ThreadNo, Lockset>,
}

impl Locksets {
    pub(in crate::detect) fn new(trace: &Trace) -> Self {
        Self { sets: Sets::default(), held: trace.threads.iter().map(|_| SetId::EMPTY).collect() }
    }

    pub(in crate::detect) fn of(&self, thread: ThreadNo) -> Lockset {
        self.held[thread]
    }

    pub(in crate::detect) fn step(&mut self, thread: ThreadNo, action: Action) {
        let held = &mut self.held[thread];
        match action {
            Action::Acquire(LockNo(lock)) => *held = self.sets.with(*held, lock),
            Action::Release(LockNo(lock)) => *held = self.sets.without(*held, lock),
            _ => {}
        }
    }

    /// Whether two sets have a lock in common.
    pub(in crate::detect) fn exclude(&self, a: Lockset, b: Lockset) -> bool {
        self.sets.intersects(a, b)
    }
}
