//! The steps from a state that is a vector of numbers: those of its threads are remembered, and a machine performs only
//! those that are new or that cannot be known by what they meet.

use super::ClockMode;
use super::SearchPlan;
use super::choices::OpenChoices;
use super::components::{Scratch, Shared};
use super::level::NearState;
use super::remembered::{LeftBehind, RememberedStep, RememberedSteps, key};
use super::symmetry::Orbits;
use crate::base::Id;
use crate::event::{Actor, Choice, ThreadId};
use crate::world::{Canonicalizer, Keeps, Meets, Snapshot, World, is_quiet};
use std::sync::Arc;

/// What a worker needs for states that are vectors.
pub(super) struct VectorWorker<G: Snapshot> {
    pub(super) shared: Arc<Shared<G>>,
    pub(super) scratch: Scratch<G>,
    // A machine that stays in the state that is visited, if the search reduces.
    before: Option<Scratch<G>>,
    remembered: RememberedSteps,
    /// What a symmetric search needs.
    pub(super) orbits: Option<Box<Orbits<G>>>,
    // Choices of the state that is visited, each with what its step leaves. `None`: it has to be performed.
    pub(super) choices: Vec<(Choice, Option<NearStep>)>,
    // Successor that is a vector.
    pub(super) next: Vec<u32>,
    // Number of remembered steps that were taken; debug builds perform some of them again.
    #[cfg(debug_assertions)]
    taken: u64,
}

/// A step whose effect is known.
#[derive(Clone, Copy)]
pub(super) struct NearStep {
    /// Difference of the digests of the two states.
    pub(super) difference: u128,
    pub(super) to: NearState,
}

// A debug build performs every `CHECKED`-th remembered step again.
#[cfg(debug_assertions)]
const CHECKED: u64 = 61;

/// The remembered steps of all workers take at most one `PART_OF_STEPS`-th of the memory bound.
pub(super) const PART_OF_STEPS: u64 = 16;

impl<G: Snapshot> VectorWorker<G> {
    pub(super) fn new<P>(plan: &SearchPlan<'_, P>, shared: &Arc<Shared<G>>, scratch: &Scratch<G>) -> Self {
        let bytes = plan.bounds.memory / PART_OF_STEPS / plan.jobs.max(1) as u64;
        Self {
            shared: shared.clone(),
            scratch: scratch.another(shared),
            before: plan.reduces().then(|| scratch.another(shared)),
            remembered: RememberedSteps::new(bytes),
            orbits: plan.symmetry.as_ref().map(|symmetry| Box::new(Orbits::new(symmetry, shared, scratch))),
            choices: Vec::new(),
            next: Vec::new(),
            #[cfg(debug_assertions)]
            taken: 0,
        }
    }

    /// Returns the world of the state that is visited. Only a search that reduces asks for it.
    pub(super) fn before(&mut self, vector: &[u32]) -> &World {
        let before = self.before.get_or_insert_with(|| self.scratch.another(&self.shared));
        if !before.is_at(vector) {
            before.load(&self.shared, vector);
        }
        &before.machine.world
    }

    /// Returns whether the step of an actor from the state that is visited to that of the machine was quiet.
    pub(super) fn was_quiet(&mut self, vector: &[u32], actor: Actor) -> bool {
        self.before(vector);
        let before = self.before.as_ref().map(|before| &before.machine.world);
        before.is_some_and(|before| is_quiet(before, &self.scratch.machine.world, actor))
    }

    /// Makes all contents known to this worker.
    pub(super) fn learn(&mut self) {
        self.scratch.learn(&self.shared);
    }

    /// Whether the next step of a thread begins a task.
    pub(super) fn begins(&self, vector: &[u32], thread: ThreadId) -> bool {
        self.scratch.facts(vector[thread.index()]).begins
    }

    // Returns what a step of a thread leaves, whose footprint is known.
    #[inline(always)]
    fn step(&mut self, vector: &[u32], thread: usize, met: Option<u32>, argument: u64) -> RememberedStep {
        let other = met.map_or(argument as u32, |met| vector[met as usize]);
        let key = key(vector[thread], other);
        match self.remembered.get(key) {
            Some(step) => {
                #[cfg(debug_assertions)]
                self.check(vector, thread, met, argument, step);
                step
            }
            None => self.new_step(vector, thread, met, argument, key),
        }
    }

    // Performs some of the remembered steps again and compares all slots.
    #[cfg(debug_assertions)]
    fn check(&mut self, vector: &[u32], thread: usize, met: Option<u32>, argument: u64, step: RememberedStep) {
        self.taken += 1;
        if !self.taken.is_multiple_of(CHECKED) {
            return;
        }
        let again = self.perform_alone(vector, thread, met, argument);
        let place = || format!("a step of thread {thread} at slot {met:?}");
        assert_eq!(step, again, "{} is another one than it was", place());
        if let RememberedStep::Leaves(left) = step {
            let (shared, scratch) = (&*self.shared, &mut self.scratch);
            scratch.load(shared, vector);
            scratch.machine.step(Choice { actor: Actor::Thread(ThreadId::new(thread)), argument });
            // A step that closes a ring of locks ends the run.
            if scratch.machine.world.outcome().is_none() {
                assert!(scratch.intern_all(shared, vector, &mut self.next), "{} leaves slots", place());
                let of_thread = (thread as u32, left.thread);
                let to = NearState { thread: of_thread, met: met.map_or(of_thread, |met| (met, left.met)) };
                let mut expected = vector.to_vec();
                to.apply(&mut expected);
                assert_eq!(self.next, expected, "{} leaves another state", place());
            }
            scratch.forget_all();
        }
    }

    #[inline(never)]
    fn new_step(&mut self, vector: &[u32], thread: usize, met: Option<u32>, argument: u64, key: u64) -> RememberedStep {
        let step = self.perform_alone(vector, thread, met, argument);
        self.remembered.add(key, step);
        step
    }

    // Performs a step, and finds out what it leaves.
    fn perform_alone(&mut self, vector: &[u32], thread: usize, met: Option<u32>, argument: u64) -> RememberedStep {
        let (shared, scratch) = (&*self.shared, &mut self.scratch);
        scratch.load(shared, vector);
        let id = ThreadId::new(thread);
        if !scratch.machine.world.enabled().contains(id) {
            return RememberedStep::Blocked;
        }
        scratch.machine.step(Choice { actor: Actor::Thread(id), argument });
        // A ring of locks is a matter of the whole state.
        scratch.machine.world.forget_ring();
        let kept = scratch.machine.kept_to_footprint(id);
        match kept {
            // The other slots still have what was loaded.
            true => [Some(thread as u32), met].into_iter().flatten().for_each(|slot| scratch.forget(slot as usize)),
            false => scratch.forget_all(),
        }
        if !scratch.machine.fits(&shared.slots) {
            scratch.forget_all();
            return RememberedStep::Perform;
        }
        let Some(to) = scratch.intern(shared, thread, vector[thread]) else { return RememberedStep::Perform };
        let mut left = LeftBehind { thread: to, met: 0, difference: 0 };
        left.difference = scratch.digest(to).wrapping_sub(scratch.digest(vector[thread]));
        if let Some(met) = met {
            let before = vector[met as usize];
            let Some(to) = scratch.intern(shared, met as usize, before) else { return RememberedStep::Perform };
            left.met = to;
            left.difference = left.difference.wrapping_add(scratch.digest(to)).wrapping_sub(scratch.digest(before));
        }
        // The end of a thread may change more. So may the rest of a step, which debug builds check.
        let is_other = |slot: usize| slot != thread && Some(slot as u32) != met && slot != shared.slots.clock();
        let mut others = (0..vector.len()).filter(|slot| is_other(*slot));
        debug_assert!(
            !kept || others.clone().all(|slot| scratch.has(shared, slot, vector[slot])),
            "a step of thread {thread} changes more than slot {met:?}"
        );
        let same = kept || others.all(|slot| scratch.has(shared, slot, vector[slot]));
        if same { RememberedStep::Leaves(left) } else { RememberedStep::Perform }
    }

    // Whether a thread closes a ring of threads, each of which needs the lock of the next one, by its step to a lock.
    fn closes_ring(&self, vector: &[u32], thread: usize, to: &NearState) -> bool {
        let after = |slot: u32| match slot {
            _ if slot == to.thread.0 => to.thread.1,
            _ if slot == to.met.0 => to.met.1,
            _ => vector[slot as usize],
        };
        let mut at = thread;
        for _ in 0..self.shared.slots.threads {
            let Some((lock, reentrant)) = self.scratch.facts(after(at as u32)).wants else { return false };
            let Some(owner) = self.scratch.facts(after(lock)).owner else { return false };
            if reentrant && owner.index() == at {
                return false;
            }
            if owner.index() == thread {
                return true;
            }
            at = owner.index();
            if at >= self.shared.slots.threads {
                return false;
            }
        }
        false
    }

    /// Takes over the choices of a state that a machine has listed.
    pub(super) fn take_over(&mut self, vector: &[u32], open: &OpenChoices) {
        for choice in &open.all {
            let near = match choice.actor {
                Actor::Thread(thread) => self.near(vector, thread.index(), choice.argument),
                _ => None,
            };
            self.choices.push((*choice, near));
        }
    }

    // Returns what an open choice of a thread leaves, if that is known.
    fn near(&mut self, vector: &[u32], thread: usize, argument: u64) -> Option<NearStep> {
        let met = match self.scratch.facts(vector[thread]).meets {
            Meets::Slot(met) => Some(met),
            Meets::Nothing => None,
            Meets::Ended | Meets::Unknown => return None,
        };
        match self.step(vector, thread, met, argument) {
            RememberedStep::Leaves(left) => self.near_step(vector, thread, met, left),
            RememberedStep::Blocked | RememberedStep::Perform => None,
        }
    }

    #[inline(always)]
    fn near_step(&self, vector: &[u32], thread: usize, met: Option<u32>, left: LeftBehind) -> Option<NearStep> {
        let of_thread = (thread as u32, left.thread);
        let to = NearState { thread: of_thread, met: met.map_or(of_thread, |met| (met, left.met)) };
        if self.scratch.facts(left.thread).wants.is_some() && self.closes_ring(vector, thread, &to) {
            return None;
        }
        Some(NearStep { difference: left.difference, to })
    }

    /// Calls `each` with the choices of a state in which the steps of all threads have known footprints, and nothing
    /// else is open, until it returns false. Returns whether it never did.
    #[inline(always)]
    pub(super) fn each_known(
        &mut self,
        vector: &[u32],
        mut each: impl FnMut(&mut Self, Choice, Option<NearStep>) -> bool,
    ) -> bool {
        for (thread, number) in vector.iter().enumerate().take(self.shared.slots.threads) {
            let facts = self.scratch.facts(*number);
            let met = match facts.meets {
                Meets::Slot(met) => Some(met),
                Meets::Nothing => None,
                Meets::Ended | Meets::Unknown => continue,
            };
            for argument in 0..u64::from(facts.answers) {
                let near = match self.step(vector, thread, met, argument) {
                    RememberedStep::Blocked => break,
                    RememberedStep::Perform => None,
                    RememberedStep::Leaves(left) => self.near_step(vector, thread, met, left),
                };
                let actor = Actor::Thread(ThreadId::new(thread));
                if !each(self, Choice { actor, argument }, near) {
                    return false;
                }
            }
        }
        true
    }
}

/// What a look at the contents of a vector says about the choices of the state.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Whether a machine has to list the choices. It has the state then.
    pub(super) by_machine: bool,
    /// Whether runs may end in the state.
    pub(super) may_end: bool,
}

impl<G: Snapshot> VectorWorker<G> {
    /// Looks at a state. Lists its choices in `open` if a machine has to do that, or if `by_machine`, and else in
    /// [`choices`](Self::choices).
    pub(super) fn look(
        &mut self,
        vector: &[u32],
        by_machine: bool,
        open: &mut OpenChoices,
        numbers: &mut Canonicalizer,
    ) -> Look {
        let (unknown, works) = self.first_look(vector);
        let by_machine = by_machine || unknown;
        self.choices.clear();
        let is_empty = if by_machine {
            self.scratch.load(&self.shared, vector);
            let world = &self.scratch.machine.world;
            world.number_declared(numbers);
            open.list(world, numbers, ClockMode::Exact);
            open.all.is_empty()
        } else {
            self.each_known(vector, |this, choice, near| {
                this.choices.push((choice, near));
                true
            });
            self.choices.is_empty()
        };
        // A state in which some thread works and some choice is open is no end.
        Look { by_machine, may_end: !works || is_empty }
    }

    /// Returns whether a machine has to list the choices, and whether some thread keeps the run going.
    #[inline(always)]
    pub(super) fn first_look(&self, vector: &[u32]) -> (bool, bool) {
        let slots = &self.shared.slots;
        let (mut by_machine, mut works) = (false, false);
        for number in &vector[..slots.threads] {
            let facts = self.scratch.facts(*number);
            by_machine |= facts.meets == Meets::Unknown || facts.last > 0;
            works |= match facts.keeps {
                Keeps::Never => false,
                Keeps::Always => true,
                Keeps::UnlessIdle(queue) => !self.scratch.facts(vector[queue as usize]).is_idle,
            };
        }
        by_machine |= slots.queues().any(|slot| self.scratch.facts(vector[slot]).last > 0);
        by_machine |= slots.environment().is_some_and(|slot| self.scratch.facts(vector[slot]).may_fire);
        (by_machine, works)
    }
}
