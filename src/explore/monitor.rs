//! What a search keeps of the way to a state, beside the state: the product of the app with a small automaton.

use crate::base::mutant::{self, Mutant};
use crate::event::{Actor, Choice, Event};
use crate::vm::Vm;
use crate::world::{Canonicalizer, Machine, Parts, Touched, World};

/// An automaton that goes along with a run. Two ways to one state are told apart where it stands differently.
pub trait Monitor: Clone + Send + Sync {
    /// Whether it wants events; recording them costs time.
    const WATCHES: bool = false;

    /// Whether it has nothing to tell apart.
    const ALONE: bool = false;

    /// A choice is about to be made. Whether it is to be followed at all.
    fn choose(&mut self, before: &World, choice: Choice) -> bool {
        let _ = (before, choice);
        true
    }

    /// An event of the step, in order. The world is the state after it.
    fn event(&mut self, world: &World, event: &Event) {
        let _ = (world, event);
    }

    /// Writes where it stands. The numbers of threads and objects are those of the state.
    fn write(&self, world: &World, state: &mut Canonicalizer) {
        let _ = (world, state);
    }

    /// Whether it has seen what it was looking for: then the search is over.
    fn accepts(&self) -> bool {
        false
    }

    /// What it says of a run that ends here: part of what makes two ends the same.
    fn mark(&self) -> u64 {
        0
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Nothing;

impl Monitor for Nothing {
    const ALONE: bool = true;
}

/// Follows only runs with so many preemptions at most: times at which another thread goes on although the last one could have.
/// (Musuvathi and Qadeer's context bounding.)
#[derive(Clone, Copy, Debug)]
pub struct Preemptions {
    left: u32,
    last: Option<crate::event::ThreadId>,
}

impl Preemptions {
    /// At most so many.
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
        state.tell_apart(u64::from(self.left));
        // A thread that nothing refers to any more has ended.
        let last = self.last.and_then(|t| state.thread(t));
        state.tell_apart(last.map_or(0, |t| 1 + u64::from(t)));
    }
}

/// A state with what is kept of the way to it.
pub(super) struct Node<M> {
    pub(super) machine: Machine<Vm>,
    pub(super) monitor: M,
    // Of the state alone.
    parts: Parts,
}

impl<M: Clone> Clone for Node<M> {
    fn clone(&self) -> Self {
        Self { machine: self.machine.clone(), monitor: self.monitor.clone(), parts: self.parts.clone() }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        self.machine.clone_from(&other.machine);
        self.monitor.clone_from(&other.monitor);
        self.parts.clone_from(&other.parts);
    }
}

impl<M: Monitor> Node<M> {
    pub(super) fn new(machine: Machine<Vm>, monitor: M) -> Self {
        Self { machine, monitor, parts: Parts::default() }
    }

    /// Follows a choice; false, and nothing done, if the monitor does not want it.
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

    /// [`digest`](Self::digest) after a step that changed this, if that is known. `room` has the numbers of this state afterwards.
    #[inline]
    pub(super) fn digest_after(&mut self, touched: Option<Touched>, room: &mut Canonicalizer) -> u128 {
        if M::ALONE
            && let Some(touched) = touched
            && self.machine.follow_parts(&mut self.parts, touched, room)
        {
            debug_assert_eq!(kept(self.parts.digest()), self.clone().digest(&mut Canonicalizer::new()));
            return kept(self.parts.digest());
        }
        self.digest(room)
    }

    /// Back to the state before a step.
    #[inline]
    pub(super) fn take_back(&mut self, before: &Self, touched: Option<Touched>) {
        let Some(touched) = touched else { return self.clone_from(before) };
        self.machine.take_back(&before.machine, touched);
        self.monitor.clone_from(&before.monitor);
        self.parts.clone_from(&before.parts);
    }

    /// The digest of the state and of where the monitor stands; also of how it ended.
    #[inline]
    pub(super) fn digest(&mut self, room: &mut Canonicalizer) -> u128 {
        self.machine.canonical_in(room);
        if let Some(outcome) = self.machine.world.outcome() {
            super::ends::tell_apart(outcome, room);
        }
        self.monitor.write(&self.machine.world, room);
        self.parts.keep(room, self.machine.world.declared());
        kept(self.parts.digest())
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> u64 {
        self.machine.bytes() + self.parts.bytes()
    }
}

// What is kept of a digest: all of it.
#[inline(always)]
fn kept(digest: u128) -> u128 {
    if mutant::is(Mutant::DigestsOf16Bits) { digest & 0xffff } else { digest }
}
