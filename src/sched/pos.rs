//! POS, partial order sampling: a random priority for each pending operation (Yuan, Yang, Gu, *Partial Order Aware Concurrency Sampling*, CAV 2018).
//!
//! The open operation of highest priority is performed. Its actor's next operation gets a fresh priority, and so does every pending operation that conflicts with it. So
//! an operation that has to come before a thread's long work needs no luck at each step, as it does in a random walk: it loses to n operations that are
//! independent of it with probability 1/(n + 1), not 2^-n. And who won one conflict is no more likely to win or lose the next, as it is where priorities stay.
//!
//! What conflicts is what does not commute for exhaustive search as well: accesses of one location of which one writes, atomics, operations on one lock, semaphore, barrier, queue or
//! event, and what is tangled with more than that (waits, notifies, interrupts, the end of an object's life, conditions). Also a blocked operation gets a fresh priority where
//! one is performed that conflicts with it.
//!
//! Each actor has one pending operation, with one priority: a thread or looper that at which it stands (a looper without a task: the begin of the next one), an event its next
//! firing, which conflicts with what touches the queue that it posts to and with other firings, the clock its next move, which conflicts with whatever reads the clock and with firings, and
//! the end of a run that rests. Arguments (which waiter, which branch, which instant) are drawn once the actor is known, evenly.
//!
//! A priority is drawn when it is first needed, where there is more than one open actor; as all are drawn alike, this changes no probability.

use super::{Divergence, Strategy, View, random_argument, random_priority};
use crate::base::{Id, Rng};
use crate::event::{Actor, Choice};
use crate::world::{Question, Status, World, independent};

/// The scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::Pos, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("late.race", "var x = 0; thread a { for i in 0..20 { skip }; x = 1 }; thread b { x = 2 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut pos = Pos::new();
/// // The write behind much work comes first in one run of 22; in a random walk in one of two million.
/// let first = (0..200).filter(|seed| {
///     run(&mut machine, &mut pos, *seed, &mut Unobserved, &stop);
///     machine.world.memory().cell(0) == 2
/// });
/// assert!((4..=16).contains(&first.count()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pos {
    rng: Rng,
    // Room for the instants of the clock.
    instants: Vec<u64>,
    // By actor the priority of its next operation; `STALE` where a fresh one is to be drawn.
    threads: Vec<u64>,
    events: Vec<u64>,
    clock: u64,
    stop: u64,
}

// Less than any priority.
const STALE: u64 = 0;

impl Pos {
    /// A sampler; [`Strategy::begin`] seeds it.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rng: Rng::seeded(0),
            instants: Vec::new(),
            threads: Vec::new(),
            events: Vec::new(),
            clock: STALE,
            stop: STALE,
        }
    }

    fn priority_mut(&mut self, actor: Actor) -> &mut u64 {
        let at = |all: &mut Vec<u64>, i: usize| {
            if all.len() <= i {
                all.resize(i + 1, STALE);
            }
            i
        };
        match actor {
            Actor::Thread(thread) => {
                let i = at(&mut self.threads, thread.index());
                &mut self.threads[i]
            }
            Actor::Event(event) => {
                let i = at(&mut self.events, event.index());
                &mut self.events[i]
            }
            Actor::Clock => &mut self.clock,
            Actor::Stop => &mut self.stop,
        }
    }

    fn priority(&mut self, actor: Actor) -> u64 {
        if *self.priority_mut(actor) == STALE {
            let fresh = random_priority(&mut self.rng).max(STALE + 1);
            *self.priority_mut(actor) = fresh;
        }
        *self.priority_mut(actor)
    }

    // All that conflicts with what the actor is about to do gets a fresh priority.
    fn renew_conflicting(&mut self, world: &World, performed: Actor) {
        for (i, priority) in self.threads.iter_mut().enumerate().filter(|(_, p)| **p != STALE) {
            let thread = crate::event::ThreadId::new(i);
            let pending = world.thread(thread).status == Status::Alive;
            if pending && !independent(world, performed, Actor::Thread(thread)) {
                *priority = STALE;
            }
        }
        for (i, priority) in self.events.iter_mut().enumerate().filter(|(_, p)| **p != STALE) {
            if !independent(world, performed, Actor::Event(crate::event::EventId::new(i))) {
                *priority = STALE;
            }
        }
        if self.clock != STALE && !independent(world, performed, Actor::Clock) {
            self.clock = STALE;
        }
    }
}

impl Default for Pos {
    fn default() -> Self {
        Self::new()
    }
}

impl Strategy for Pos {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.threads.clear();
        self.events.clear();
        (self.clock, self.stop) = (STALE, STALE);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let View { world, openings } = *view;
        let mut highest = world.open_actor(&openings, 0);
        if openings.total() == 1 {
            return Ok(highest);
        }
        let mut most = self.priority(highest);
        for actor in world.open_actors(openings).skip(1) {
            let priority = self.priority(actor);
            // Should two be equal, the first in the order of actors acts.
            if priority > most {
                (highest, most) = (actor, priority);
            }
        }
        Ok(highest)
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(random_argument(&mut self.rng, &mut self.instants, view, question))
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        *self.priority_mut(choice.actor) = STALE;
        self.renew_conflicting(view.world, choice.actor);
    }
}
