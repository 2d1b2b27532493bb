//! Awaits: finds the operation that has turned the condition of a thread that is pending at an await.
//!
//! Only the guest knows which memory a condition reads. An observer sees that a thread at an `await` was blocked
//! before an operation and is enabled after it, or the other way round: that operation has written memory that the
//! condition reads. Once the deadline of an await has passed, the thread stays enabled and no turn is seen.

use crate::base::IdSet;
use crate::event::{Event, EventKind, Op, ThreadId};
use crate::world::World;

/// A change of an await's condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::detect) struct ConditionChange {
    /// Thread that is pending at the await.
    pub(in crate::detect) thread: ThreadId,
    /// Whether the condition holds now.
    pub(in crate::detect) holds: bool,
}

/// The threads that are pending at an `await`, and which of them are enabled.
#[derive(Clone, Default, Debug)]
pub(in crate::detect) struct Awaits {
    pending_awaits: IdSet<ThreadId>,
    // Threads of `pending_awaits` that were enabled after the last event.
    held: IdSet<ThreadId>,
}

impl Awaits {
    /// Processes the next event. Returns the awaits that it has turned, in the order of their threads.
    pub(in crate::detect) fn observe(&mut self, world: &World, event: &Event) -> Vec<ConditionChange> {
        let mut changes = Vec::new();
        let enabled = world.enabled();
        if !self.pending_awaits.is_empty() {
            let changed: Vec<ThreadId> = enabled.differing(&self.held, &self.pending_awaits).collect();
            for thread in changed {
                let holds = enabled.contains(thread);
                self.held.set(thread, holds);
                if Some(thread) != event.thread && matches!(event.what, EventKind::Performed { .. }) {
                    changes.push(ConditionChange { thread, holds });
                }
            }
        }
        if let Some(thread) = event.thread {
            let is_pending = !world.finished(thread) && matches!(world.thread(thread).pending, Op::Await { .. });
            self.pending_awaits.set(thread, is_pending);
            self.held.set(thread, is_pending && enabled.contains(thread));
        }
        changes
    }
}
