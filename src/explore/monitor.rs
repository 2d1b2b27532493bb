//! Monitors: automata that run along with a search, so that it visits the product of the program with the automaton.

use crate::base::mutant::{self, Mutant};
use crate::event::{Actor, Choice, Event};
use crate::world::{Canonicalizer, Machine, Snapshot, World};

/// An automaton that follows a run. Two ways to one state lead to different states of the product if the monitor's
/// state differs.
pub trait Monitor: Clone + Send + Sync {
    /// Whether the monitor needs events. Recording them costs time.
    const WATCHES: bool = false;

    /// Whether the monitor has no state of its own: [`write`](Self::write) writes nothing.
    const ALONE: bool = false;

    /// Receives a choice before it is made. Returns whether the search follows it.
    fn choose(&mut self, before: &World, choice: Choice) -> bool {
        let _ = (before, choice);
        true
    }

    /// Receives an event of the step. Events arrive in order. `world` is the state after the step.
    fn event(&mut self, world: &World, event: &Event) {
        let _ = (world, event);
    }

    /// Writes the monitor's state to the digest. Threads and objects have their canonical numbers in `state`.
    fn write(&self, world: &World, state: &mut Canonicalizer) {
        let _ = (world, state);
    }

    /// Whether the monitor has found what it searches for; the search ends then.
    fn accepts(&self) -> bool {
        false
    }

    /// Returns the monitor's mark of a run that ends here. Two ends with different marks are different.
    fn mark(&self) -> u64 {
        0
    }
}

/// A monitor without state.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoMonitor;

impl Monitor for NoMonitor {
    const ALONE: bool = true;
}

/// Follows only runs with a bounded number of preemptions: choices that pass over the thread that ran last although
/// it is enabled. (Musuvathi and Qadeer's context bounding.)
#[derive(Clone, Copy, Debug)]
pub struct Preemptions {
    left: u32,
    last: Option<crate::event::ThreadId>,
}

impl Preemptions {
    /// Allows at most `bound` preemptions.
    #[must_use]
    pub fn at_most(bound: u32) -> Self {
        Self { left: bound, last: None }
    }
}

impl Monitor for Preemptions {
    fn choose(&mut self, before: &World, choice: Choice) -> bool {
        let Actor::Thread(next) = choice.actor else { return true };
        if let Some(last) = self.last
            && last != next
            && before.enabled().contains(last)
        {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
        }
        self.last = Some(next);
        true
    }

    fn write(&self, _: &World, state: &mut Canonicalizer) {
        state.distinguish(u64::from(self.left));
        // A thread without a canonical number has ended, since nothing refers to it.
        let last = self.last.and_then(|t| state.thread(t));
        state.distinguish(last.map_or(0, |t| 1 + u64::from(t)));
    }
}

/// A state of the product: the program's state and the monitor's.
pub(super) struct ProductState<G, M> {
    pub(super) machine: Machine<G>,
    pub(super) monitor: M,
}

impl<G: Clone, M: Clone> Clone for ProductState<G, M> {
    fn clone(&self) -> Self {
        Self { machine: self.machine.clone(), monitor: self.monitor.clone() }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        self.machine.clone_from(&other.machine);
        self.monitor.clone_from(&other.monitor);
    }
}

impl<G: Snapshot, M: Monitor> ProductState<G, M> {
    pub(super) fn new(machine: Machine<G>, monitor: M) -> Self {
        Self { machine, monitor }
    }

    /// Follows a choice. Returns false, without effect, if the monitor refuses it.
    #[inline]
    pub(super) fn follow(&mut self, choice: Choice) -> bool {
        if !self.monitor.choose(&self.machine.world, choice) {
            return false;
        }
        self.machine.step(choice);
        if M::WATCHES {
            for event in self.machine.world.recorded() {
                self.monitor.event(&self.machine.world, event);
            }
        }
        true
    }

    /// Returns the digest of the program's state, its outcome and the monitor's state. `room` has the canonical numbers
    /// of the state afterwards.
    #[inline]
    pub(super) fn digest(&self, room: &mut Canonicalizer) -> u128 {
        self.machine.canonical_in(room);
        if let Some(outcome) = self.machine.world.outcome() {
            super::ends::distinguish(outcome, room);
        }
        self.monitor.write(&self.machine.world, room);
        kept(room.digest())
    }

    /// Bytes that the node takes, approximately.
    pub(super) fn bytes(&self) -> u64 {
        self.machine.bytes()
    }
}

// Returns the part of a digest that is kept: all of it.
#[inline(always)]
pub(super) fn kept(digest: u128) -> u128 {
    if mutant::is(Mutant::DigestsOf16Bits) { digest & 0xffff } else { digest }
}
