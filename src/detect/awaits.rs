//! Awaits: which operation has turned the condition of a thread that stands at one.
//!
//! What a condition reads is known to the guest alone. What is seen from outside is that a thread at an `await` could not go on before an operation and can
//! go on after it, or the other way round: that operation has written what the condition reads. Once the deadline of an await has passed, nothing is seen any more.

use crate::event::{Event, Happening, Op, ThreadId};
use crate::world::World;
use std::collections::BTreeMap;

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
    standing: BTreeMap<ThreadId, bool>,
}

impl Awaits {
    /// Takes the next event: the awaits that it has turned, in the order of their threads.
    pub(super) fn observe(&mut self, world: &World, event: &Event) -> Vec<Turned> {
        let mut turned = Vec::new();
        for (thread, held) in &mut self.standing {
            let holds = world.enabled().contains(*thread);
            if Some(*thread) == event.thread || std::mem::replace(held, holds) == holds {
                continue;
            }
            if matches!(event.what, Happening::Performed { .. }) {
                turned.push(Turned { thread: *thread, holds });
            }
        }
        if let Some(thread) = event.thread {
            self.standing.remove(&thread);
            if !world.finished(thread) && matches!(world.thread(thread).pending, Op::Await { .. }) {
                self.standing.insert(thread, world.enabled().contains(thread));
            }
        }
        turned
    }
}
