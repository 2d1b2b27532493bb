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

/// The events of one looper that have ended.
#[derive(Default)]
pub(super) struct ExternalEvents {
    // invariant: ascending by post
    ended: Vec<EndedEvent>,
}

struct EndedEvent {
    post: OpNo,
    ended: Arc<EndedMessage>,
    // Whether it comes after all events that were posted before it and have ended. An event that begins late, because
    // of a delay, does not come before those that were posted after it and have ended.
    covers: bool,
}

impl ExternalEvents {
    /// Returns the ended events that were posted before this operation, without those that come before another one if
    /// events begin in the order of their posts.
    pub(super) fn before(&self, post: OpNo) -> impl Iterator<Item = &Arc<EndedMessage>> {
        let mut earlier = self.ended[..self.ended.partition_point(|event| event.post < post)].iter().rev();
        let mut is_covered = false;
        std::iter::from_fn(move || {
            let event = earlier.next().filter(|_| !is_covered)?;
            is_covered = event.covers;
            Some(&event.ended)
        })
    }

    /// Adds an event that has ended. It comes after those that were posted before it and have ended.
    pub(super) fn add(&mut self, post: OpNo, ended: Arc<EndedMessage>) {
        let at = self.ended.partition_point(|event| event.post < post);
        self.ended[at..].iter_mut().for_each(|later| later.covers = false);
        self.ended.insert(at, EndedEvent { post, ended, covers: true });
    }
}
