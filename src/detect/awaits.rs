//! Awaits: which operation has turned the condition of a thread that stands at one.
//!
//! What a condition reads is known to the guest alone. What is seen from outside is that a thread at an `await` could not go on before an operation and can
//! go on after it, or the other way round: that operation has written what the condition reads. Once the deadline of an await has passed, nothing is seen any more.

use crate::base::IdSet;
use crate::event::{Event, Happening, Op, ThreadId};
use crate::world::World;

/// A condition has turned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turned {
    /// Who stands there.
    pub(super) thread: ThreadId,
    /// Whether it holds now.
    pub(super) holds: bool,
}

/// The threads that stand at an `await`, and whether each may go on.
#[derive(Default)]
pub(super) struct Awaits {
    standing: IdSet<ThreadId>,
    // Those of them that might go on after the last event.
    held: IdSet<ThreadId>,
}

impl Awaits {
    /// Takes the next event: the awaits that it has turned, in the order of their threads.
    pub(super) fn observe(&mut self, world: &World, event: &Event) -> Vec<Turned> {
        let mut turned = Vec::new();
        let enabled = world.enabled();
        if !self.standing.is_empty() {
            let changed: Vec<ThreadId> = enabled.differing(&self.held, &self.standing).collect();
            for thread in changed {
                let holds = enabled.contains(thread);
                self.held.set(thread, holds);
                if Some(thread) != event.thread && matches!(event.what, Happening::Performed { .. }) {
                    turned.push(Turned { thread, holds });
                }
            }
        }
        if let Some(thread) = event.thread {
            let stands = !world.finished(thread) && matches!(world.thread(thread).pending, Op::Await { .. });
            self.standing.set(thread, stands);
            self.held.set(thread, stands && enabled.contains(thread));
        }
        turned
    }
}
