//! Those who wait for something, first come, first served.

use std::collections::{BTreeSet, VecDeque};
use std::task::Waker;

/// Number of one who waits.
pub(super) type Ticket = u64;

/// A queue of those who wait, and those whose turn has come and who have not noticed yet.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<(Ticket, usize, Waker)>,
    served: BTreeSet<Ticket>,
    last: Ticket,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self { waiting: VecDeque::new(), served: BTreeSet::new(), last: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Queues one who needs so many.
    pub(super) fn enter(&mut self, needs: usize, waker: Waker) -> Ticket {
        self.last += 1;
        self.waiting.push_back((self.last, needs, waker));
        self.last
    }

    /// Returns what the first one needs.
    pub(super) fn first(&self) -> Option<usize> {
        self.waiting.front().map(|(_, needs, _)| *needs)
    }

    /// Serves the first one. Returns its waker.
    pub(super) fn serve(&mut self) -> Option<Waker> {
        let (ticket, _, waker) = self.waiting.pop_front()?;
        self.served.insert(ticket);
        Some(waker)
    }

    /// Returns whether one was served, who does not wait any more then. Otherwise it has this waker from now on.
    pub(super) fn take(&mut self, ticket: Ticket, waker: Waker) -> bool {
        if let Some((_, _, own)) = self.waiting.iter_mut().find(|(of, _, _)| *of == ticket) {
            *own = waker;
        }
        self.served.remove(&ticket)
    }

    /// Removes one who gives up. Returns whether it was served.
    pub(super) fn leave(&mut self, ticket: Ticket) -> bool {
        self.waiting.retain(|(of, _, _)| *of != ticket);
        self.served.remove(&ticket)
    }

    /// Removes all who wait, unserved. Returns their wakers.
    pub(super) fn dismiss(&mut self) -> Vec<Waker> {
        self.waiting.drain(..).map(|(_, _, waker)| waker).collect()
    }
}
