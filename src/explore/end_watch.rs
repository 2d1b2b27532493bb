//! Decides which steps may end the run together with another step, because a property is checked in the state after
//! both.
//!
//! Independent steps lead to the same state in either order, but a run may end on the way: `x = 1` and `y = 1` are
//! independent, and each may keep `always { x + y < 2 }`, but after both the run has ended. What follows one of them is
//! then not reached through the other one, so that neither may sleep. The same holds for two steps that bring the run
//! to rest together, where a property `at end` is checked. Of two steps that end the run together, each changes what
//! is watched here: a step that changes none of it ends no run that the other step alone does not end.

use crate::event::{AccessPlace, Actor, ThreadId};
use crate::world::{Guest, How, Machine, Thing, World};

/// What a step may change of the things that decide whether a run ends by a property.
pub(super) struct EndWatch {
    writes: bool,
    // The threads that keep the run going before the step. Empty if no property is checked at rest.
    busy: Vec<ThreadId>,
}

impl EndWatch {
    /// Looks at the state before a step of this actor.
    pub(super) fn new<G: Guest>(before: &Machine<G>, actor: Actor) -> Self {
        let Machine { world, guest } = before;
        let writes = match actor {
            Actor::Thread(thread) if guest.watches_memory() => writes(world, guest, thread),
            _ => false,
        };
        let busy = if guest.watches_rest() { world.busy().collect() } else { Vec::new() };
        Self { writes, busy }
    }

    /// Looks at the state after the step. Returns whether the step may have changed what a property is checked for, or
    /// whether one is checked.
    pub(super) fn sees<G: Guest>(&self, after: &Machine<G>) -> bool {
        let Machine { world, guest } = after;
        self.writes || guest.watches_rest() && (world.rests() || !world.busy().eq(self.busy.iter().copied()))
    }
}

// Returns whether the pending operation of a thread may write memory that a property reads in every state.
fn writes<G: Guest>(world: &World, guest: &G, thread: ThreadId) -> bool {
    let effects = world.effects(thread, &world.thread(thread).pending);
    effects.touches().any(|(thing, how)| match thing {
        _ if how != How::Write => false,
        Thing::Memory(AccessPlace::Cell(at)) | Thing::Atomic(at) => guest.watches_cell(at.cell),
        Thing::Memory(AccessPlace::Life(_)) => true,
        _ => false,
    })
}
