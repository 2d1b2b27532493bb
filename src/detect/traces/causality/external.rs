//! The external input rule: events that the outside world generates come one after another.

use crate::detect::relation::queues::EndedMessage;
use crate::trace::{OpNo, Trace};
use std::sync::Arc;

/// Whether the events of the outside world have an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum External {
    /// The events of one looper come in the order of their posts: the same user causes them (CAFA, section 3.3).
    Ordered,
    /// Only what enables an event comes before it.
    Free,
}

impl External {
    /// Returns what holds for a trace by its origin: the log of a real app does not say what else its user could have
    /// done.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        if trace.free_events { External::Free } else { External::Ordered }
    }
}

/// The events of one looper that have ended and are not before another one of them.
#[derive(Default)]
pub(super) struct ExternalEvents {
    // invariant: in the order of their ends, descending by post
    last: Vec<(OpNo, Arc<EndedMessage>)>,
}

impl ExternalEvents {
    /// Returns the ended events that were posted before this operation, without those that come before another one.
    pub(super) fn before(&self, post: OpNo) -> impl Iterator<Item = &Arc<EndedMessage>> {
        self.last.iter().rev().take_while(move |(earlier, _)| *earlier < post).map(|(_, ended)| ended)
    }

    /// Adds an event that has ended. It comes after those that were posted before it.
    pub(super) fn add(&mut self, post: OpNo, ended: Arc<EndedMessage>) {
        while self.last.last().is_some_and(|(earlier, _)| *earlier < post) {
            self.last.pop();
        }
        self.last.push((post, ended));
    }
}
