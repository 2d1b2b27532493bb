//! Barriers.

use crate::event::{BarrierId, Op, SiteKind};
use crate::native::handle::Handle;
use crate::native::run::{Run, perform, with};
use std::fmt;
use std::panic::Location;

const PLACE: &str = "Barrier";

/// A barrier, as [`std::sync::Barrier`]. The last thread to arrive is the leader, and each thread can be that.
pub struct Barrier {
    handle: Handle,
    parties: usize,
}

/// Whether a thread is the leader of its generation.
#[derive(Clone, Copy, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns whether the thread was the last one to arrive.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// Creates a barrier for this many threads. 0 counts as 1.
    #[track_caller]
    #[must_use]
    pub const fn new(n: usize) -> Self {
        Self { handle: Handle::new(Location::caller()), parties: n }
    }

    /// Waits until as many threads have arrived as the barrier is for.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let parties = self.parties.max(1) as i64;
        let make = |run: &mut Run, name| run.world().make_barrier(name, parties).0;
        let id = BarrierId(self.handle.id(|| PLACE.to_owned(), make));
        perform(Op::Arrive(id), SiteKind::Arrive, PLACE, Location::caller());
        // A thread that had to wait has come back from the second half of the operation.
        let is_last = |run: &mut Run| {
            let thread = run.thread;
            !run.over && matches!(run.world().thread(thread).pending, Op::Arrive(_))
        };
        BarrierWaitResult(with(is_last).unwrap_or(false))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
