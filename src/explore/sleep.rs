//! Sleep sets: actors that need not be tried in a state, because they were tried before it and nothing since has met
//! them. An actor is a bit.

use super::monitor::Monitor;
use super::worker::Worker;
use crate::base::mutant::{self, Mutant};
use crate::event::{Actor, EventId};
use crate::world::{Canonicalizer, Program, Snapshot, World, independent};

impl<P: Program<Guest: Snapshot>, M: Monitor> Worker<'_, P, M> {
    /// Sets `asleep` to the open actors that are in the sleep set of this state.
    pub(super) fn wake_up(&mut self, sleep: u64) {
        self.asleep.clear();
        if !self.reduces || sleep == 0 {
            return;
        }
        for choice in &self.choices.all {
            if sleep & bit(&self.here, choice.actor) != 0 && self.asleep.last() != Some(&choice.actor) {
                self.asleep.push(choice.actor);
            }
        }
    }

    /// Returns the sleep set after a choice: those actors asleep before it that are independent of it.
    pub(super) fn sleep_after(&self, before: &World, actor: Actor) -> u64 {
        let still =
            self.asleep.iter().filter(|a| independent(before, actor, **a) || mutant::is(Mutant::SleepersNeverWake));
        still.fold(0, |mask, a| mask | bit(&self.there, *a))
    }
}

pub(super) const CLOCK_BIT: u32 = 63;
pub(super) const FIRST_EVENT_BIT: u32 = 48;

/// Returns the bit of an actor in a sleep set of this state; 0 if its number is too large for one.
pub(super) fn bit(state: &Canonicalizer, actor: Actor) -> u64 {
    match actor {
        Actor::Clock => 1 << CLOCK_BIT,
        Actor::Event(EventId(e)) if FIRST_EVENT_BIT + e < CLOCK_BIT => 1 << (FIRST_EVENT_BIT + e),
        Actor::Thread(thread) => state.thread(thread).filter(|n| *n < FIRST_EVENT_BIT).map_or(0, |n| 1 << n),
        Actor::Event(_) | Actor::Stop => 0,
    }
}
