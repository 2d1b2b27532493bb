//! POS, partial order sampling: a random priority for each pending operation (Yuan, Yang, Gu, *Partial Order Aware
//! Concurrency Sampling*, CAV 2018).
//!
//! The strategy performs the pending operation with the highest priority among the open actors. Then the actor's next
//! operation gets a fresh priority, and so does every pending operation that conflicts with the performed one. So an
//! order in which an operation comes after another thread's long work does not need luck at each step, as it does in a
//! random walk: an operation comes after n operations that are independent of it with probability 1/(n + 1), not 2^-n.
//! And the winner of one conflict is neither more nor less likely to win the next one, as it would be with fixed
//! priorities.
//!
//! Two operations conflict if exhaustive search treats them as dependent: accesses to one location of which one writes,
//! atomics, operations on one lock, semaphore, barrier, queue or event, and operations that depend on more than one of
//! these (waits, notifies, interrupts, the end of an object's life, conditions). A blocked operation also gets a fresh
//! priority when a conflicting one is performed.
//!
//! Each actor has one pending operation with one priority:
//!
//! - a thread or looper: its pending operation; for a looper without a task, the begin of the next one;
//! - an event: its next firing, which conflicts with operations on the queue that it posts to and with other firings;
//! - the clock: its next advance, which conflicts with operations that read the clock and with firings;
//! - the end of a run that is at rest.
//!
//! Arguments (a waiter, a branch, an instant) are drawn uniformly after the actor has been chosen.
//!
//! A priority is drawn when it is first needed, that is, where more than one actor is open. Since all priorities have
//! the same distribution, this does not change any probability.

use super::error::SpecError;
use super::spec::Spec;
use super::{Divergence, Strategy, View, random_argument, random_priority};
use crate::base::{Id, IndexVec, Rng};
use crate::event::{Actor, Choice, Site, SiteId};
use crate::world::{Question, ThreadStage, World, independent};
use std::fmt;

/// Parameters of the `pos` strategy: there are none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PosSpec;

impl Spec for PosSpec {
    type Strategy = Pos;

    const NAME: &'static str = "pos";
    const SYNTAX: &'static str = "pos";
    const EXAMPLES: &'static [&'static str] = &["pos"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        Ok(text.is_none().then_some(Self))
    }

    fn build(&self, _: &IndexVec<SiteId, Site>) -> Result<Pos, SpecError> {
        Ok(Pos::new())
    }
}

impl fmt::Display for PosSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAME)
    }
}

/// The scheduler of the `pos` strategy.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::Pos, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("late.race", "var x = 0; thread a { for i in 0..20 { skip }; x = 1 }; thread b { x = 2 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut pos = Pos::new();
/// // The write behind much work comes first in one run of 22; in a random walk in one of two million.
/// let first = (0..200).filter(|seed| {
///     run(&mut machine, &mut pos, *seed, &mut NoObserver, &stop);
///     machine.world.memory().cell(0) == 2
/// });
/// assert!((4..=16).contains(&first.count()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pos {
    rng: Rng,
    // Scratch space for the instants of the clock.
    instants: Vec<u64>,
    // For each actor the priority of its next operation, or `STALE` if a fresh one has to be drawn.
    threads: Vec<u64>,
    events: Vec<u64>,
    clock: u64,
    stop: u64,
}

// A value below all priorities.
const STALE: u64 = 0;

impl Pos {
    /// Creates a sampler. [`Strategy::begin`] seeds it.
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

    /// Returns the actor of the highest priority. Of two equal ones, the first counts.
    pub(super) fn highest(&mut self, actors: impl IntoIterator<Item = Actor>) -> Option<Actor> {
        let mut highest = None;
        let mut most = STALE;
        for actor in actors {
            let priority = self.priority(actor);
            if priority > most {
                (highest, most) = (Some(actor), priority);
            }
        }
        highest
    }

    // Marks the priority of every operation stale that conflicts with the one that the actor is about to perform.
    fn renew_conflicting(&mut self, world: &World, performed: Actor) {
        for (i, priority) in self.threads.iter_mut().enumerate().filter(|(_, p)| **p != STALE) {
            let thread = crate::event::ThreadId::new(i);
            let pending = world.thread(thread).status == ThreadStage::Alive;
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

// POS must see forced steps: each of them renews the priorities of the operations that conflict with it.
impl Strategy for Pos {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.threads.clear();
        self.events.clear();
        (self.clock, self.stop) = (STALE, STALE);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let View { world, openings } = *view;
        let first = world.open_actor(&openings, 0);
        if openings.total() == 1 {
            return Ok(first);
        }
        Ok(self.highest(world.open_actors(openings)).unwrap_or(first))
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(random_argument(&mut self.rng, &mut self.instants, view, question))
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        *self.priority_mut(choice.actor) = STALE;
        self.renew_conflicting(view.world, choice.actor);
    }
}
