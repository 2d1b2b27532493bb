//! What carries order from one thread to another: locks, enables, signals. Each keeps what was sent by thread, since an order is never carried back into its thread.

use super::state::State;
use crate::trace::ThreadNo;

/// What was sent, by the sending thread: all that its contexts knew, joined.
#[derive(Clone, Default, Debug)]
pub(super) struct Sent {
    // invariant: one for each thread; the one that has sent last stands last
    by: Vec<(ThreadNo, State)>,
}

impl Sent {
    pub(super) fn send(&mut self, thread: ThreadNo, state: State) {
        let at = self.by.iter().rposition(|(t, _)| *t == thread);
        let state = match at.map(|at| self.by.remove(at)) {
            Some((_, mut known)) => {
                known.join(&state);
                known
            }
            None => state,
        };
        self.by.push((thread, state));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(ThreadNo, State)> {
        self.by.iter()
    }
}

/// The releases of a lock.
///
/// Whoever releases it has acquired it, and knows then what others had released before: to a third thread that is worth no less than what they would say
/// themselves (`state` says why). So two releasing threads are enough: the last one, and for its own acquisitions the one before.
#[derive(Clone, Default, Debug)]
pub(super) struct Released {
    sent: Sent,
    releases: u32,
    // Who has acquired it last, in which context, after how many releases.
    acquired: Option<(ThreadNo, u32, u32)>,
    // Somebody has released it who did not hold it: nothing is left out from then on.
    broken: bool,
}

impl Released {
    /// A thread acquires it, in a context: what it learns, thread by thread.
    pub(super) fn acquire(&mut self, thread: ThreadNo, context: u32) -> impl Iterator<Item = &(ThreadNo, State)> {
        self.acquired = Some((thread, context, self.releases));
        self.sent.iter().filter(move |(from, _)| *from != thread)
    }

    /// A thread releases it.
    pub(super) fn release(&mut self, thread: ThreadNo, context: u32, state: State) {
        self.broken |= self.acquired.take() != Some((thread, context, self.releases));
        self.releases += 1;
        self.sent.send(thread, state);
        let len = self.sent.by.len();
        if !self.broken && len > 2 {
            self.sent.by.drain(..len - 2);
        }
    }
}
