//! Carriers of order from one thread to another: locks, enables, signals. Each keeps the sent states by thread, since
//! no order is carried back into its own thread.

use super::state::ContextState;
use crate::detect::relation::tree::{ClockStore, TreeClock};
use crate::trace::ThreadNo;

/// The states that were sent, joined for each sending thread.
#[derive(Clone, Default, Debug)]
pub(super) struct SendStates {
    // invariant: one for each thread; the thread that has sent last comes last
    by: Vec<(ThreadNo, ContextState)>,
}

impl SendStates {
    pub(super) fn send(&mut self, clocks: &mut ClockStore, thread: ThreadNo, state: ContextState) {
        let at = self.by.iter().rposition(|(t, _)| *t == thread);
        let state = match at.map(|at| self.by.remove(at)) {
            Some((_, mut known)) => {
                known.join(clocks, &state);
                known
            }
            None => state,
        };
        self.by.push((thread, state));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(ThreadNo, ContextState)> {
        self.by.iter()
    }

    /// Shows each clock, to be changed.
    pub(super) fn visit(&mut self, each: &mut dyn FnMut(&mut TreeClock)) {
        self.by.iter_mut().for_each(|(_, state)| state.visit(each));
    }
}

/// The releases of a lock.
///
/// A thread that releases a lock has acquired it, and knows then what other threads had released before. To a third
/// thread this knowledge is worth at least as much as the original states (`state` explains why). So the states of
/// two releasing threads are enough: those of the last one and, for its own acquisitions, those of the one before.
#[derive(Clone, Default, Debug)]
pub(super) struct ReleaseStates {
    sent: SendStates,
    releases: u32,
    // Thread and context of the last acquisition, and the number of releases before it.
    acquired: Option<(ThreadNo, u32, u32)>,
    // Whether a thread has released the lock without holding it. From then on no state is dropped.
    broken: bool,
}

impl ReleaseStates {
    /// Records that a thread acquires the lock in a context. Returns the states that it learns, by thread.
    pub(super) fn acquire(
        &mut self,
        thread: ThreadNo,
        context: u32,
    ) -> impl Iterator<Item = &(ThreadNo, ContextState)> {
        self.acquired = Some((thread, context, self.releases));
        self.sent.iter().filter(move |(from, _)| *from != thread)
    }

    /// Records that a thread releases the lock in a context.
    pub(super) fn release(&mut self, clocks: &mut ClockStore, (thread, context): (ThreadNo, u32), state: ContextState) {
        self.broken |= self.acquired.take() != Some((thread, context, self.releases));
        self.releases += 1;
        self.sent.send(clocks, thread, state);
        let len = self.sent.by.len();
        if !self.broken && len > 2 {
            self.sent.by.drain(..len - 2);
        }
    }

    /// Shows each clock, to be changed.
    pub(super) fn visit(&mut self, each: &mut dyn FnMut(&mut TreeClock)) {
        self.sent.visit(each);
    }
}
