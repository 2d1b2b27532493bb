//! Lock sets of the threads of a trace, as numbered sets.

use crate::base::IndexVec;
use crate::detect::sets::{SetId, Sets};
use crate::trace::{Action, LockNo, ThreadNo, Trace};

/// A set of locks.
pub(super) type Lockset = SetId;

/// The lock sets of the threads of a trace, up to the current operation.
pub(super) struct Locksets {
    sets: Sets,
    held: IndexVec<ThreadNo, Lockset>,
}

impl Locksets {
    pub(super) fn new(trace: &Trace) -> Self {
        Self { sets: Sets::default(), held: trace.threads.iter().map(|_| SetId::EMPTY).collect() }
    }

    pub(super) fn of(&self, thread: ThreadNo) -> Lockset {
        self.held[thread]
    }

    pub(super) fn step(&mut self, thread: ThreadNo, action: Action) {
        let held = &mut self.held[thread];
        match action {
            Action::Acquire(LockNo(lock)) => *held = self.sets.with(*held, lock),
            Action::Release(LockNo(lock)) => *held = self.sets.without(*held, lock),
            _ => {}
        }
    }

    /// Whether two sets have a lock in common.
    pub(super) fn exclude(&self, a: Lockset, b: Lockset) -> bool {
        self.sets.meet(a, b)
    }
}
