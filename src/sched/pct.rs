//! PCT: random priorities, lowered at a few random steps (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010,
//! figure 4).
//!
//! A bug of depth d, which needs d orders of two operations each, is found with probability at least 1/(n k^(d-1)),
//! where n actors perform at most k steps. The clock, events and the end of a run are actors as threads are: each has a
//! priority, and n counts them. Arguments (a waiter, a branch, an instant) are drawn uniformly; if a bug needs certain
//! arguments, the bound is divided by the number of possible ones.
//!
//! Beyond the paper: after k steps, for which the paper promises nothing, the run continues as a random walk. So it
//! also ends where the actor of highest priority waits busily for another one (Coyote's fair PCT does the same).

use super::error::SpecError;
use super::spec::{ProfileNeed, Spec};
use super::{Divergence, Strategy, View, bounded, random_actor, random_argument, random_priority};
use crate::base::{Id, IndexVec, Rng};
use crate::event::{Actor, Choice, Site, SiteId, ThreadId};
use crate::world::{Question, World};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::fmt;

/// Parameters of the `pct` strategy: a depth, and a number of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PctSpec {
    /// Depth of the bugs to look for.
    pub depth: u32,
    /// Approximate number of steps of a run. If `None`, a profile run has to supply it.
    pub steps: Option<u32>,
}

impl Spec for PctSpec {
    type Strategy = Pct;

    const NAME: &'static str = "pct";
    const SYNTAX: &'static str = "pct[:DEPTH[,steps=N]]";
    const EXAMPLES: &'static [&'static str] = &["pct:3"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let (depth, steps) = bounded::parse::<Self>(text, 1, Pct::DEPTH)?;
        Ok(Some(Self { depth, steps }))
    }

    fn profile(&mut self) -> ProfileNeed<'_> {
        ProfileNeed::Steps(&mut self.steps)
    }

    fn build(&self, _: &IndexVec<SiteId, Site>) -> Result<Pct, SpecError> {
        Ok(Pct::new(self.depth, bounded::given(self, self.steps)?))
    }
}

impl fmt::Display for PctSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bounded::write::<Self>(f, self.depth, self.steps)
    }
}

/// The scheduler of the `pct` strategy.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::Pct, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// // One update is lost after one change of priority in four steps.
/// let mut pct = Pct::new(2, 4);
/// let lost = (0..50).find(|seed| {
///     run(&mut machine, &mut pct, *seed, &mut NoObserver, &stop);
///     machine.world.memory().cell(0) == 1
/// });
/// assert!(lost.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pct {
    depth: u32,
    steps: u32,
    rng: Rng,
    // Scratch space for the instants of the clock.
    instants: Vec<u64>,
    // The i-th one (from 0) lowers the actor of this step (from 1) to level `depth - 1 - i`. The vector is not sorted:
    // the order in which levels are used is random as well.
    change_points: Vec<u64>,
    // Initial priorities: 64 random bits each, so that the priority of a later actor is equally likely to take any
    // rank. Of two equal priorities the first in the order of actors wins.
    clock: u64,
    stop: u64,
    events: Vec<u64>,
    threads: Vec<u64>,
    // The threads by descending initial priority; of equal priorities the older thread comes first. Threads that were
    // found finished are removed.
    ranked: Vec<(Reverse<u64>, ThreadId)>,
    // Lowered actors with their level, once each. They rank below all actors that were never lowered.
    lowered: Vec<(Actor, u32)>,
}

// A priority, to compare actors: the greatest one acts. The flag is false for a lowered actor.
type Priority = (bool, u64);

impl Pct {
    /// Default depth. Most known bugs need no more.
    pub const DEPTH: u32 = 3;

    /// Creates a scheduler for bugs of this depth (at least 1) in runs of about this many steps (at least 1).
    #[must_use]
    pub fn new(depth: u32, steps: u32) -> Self {
        debug_assert!(depth > 0 && steps > 0);
        Self {
            depth,
            steps,
            rng: Rng::seeded(0),
            instants: Vec::new(),
            change_points: Vec::new(),
            clock: 0,
            stop: 0,
            events: Vec::new(),
            threads: Vec::new(),
            ranked: Vec::new(),
            lowered: Vec::new(),
        }
    }

    /// Sets the depth and the approximate number of steps of the runs that follow. Both are at least 1.
    pub fn reshape(&mut self, depth: u32, steps: u32) {
        debug_assert!(depth > 0 && steps > 0);
        (self.depth, self.steps) = (depth, steps);
    }

    /// Chooses among some of the open actors, at least one: the one of highest priority, or, behind the number of
    /// steps, a random one.
    pub(super) fn one_of(&mut self, world: &World, actors: &[Actor]) -> Actor {
        if world.steps() >= u64::from(self.steps) {
            return self.rng.pick(actors);
        }
        self.meet(world);
        // Of equal priorities the first one wins.
        let highest = actors.iter().copied().reduce(|a, b| if self.priority(b) > self.priority(a) { b } else { a });
        highest.unwrap_or(Actor::Stop)
    }

    // Draws the initial priorities of all actors that have none yet.
    fn meet(&mut self, world: &World) {
        if self.events.is_empty() {
            self.events = (0..world.setup().events.len()).map(|_| self.draw()).collect();
        }
        self.welcome(world);
    }

    fn draw(&mut self) -> u64 {
        random_priority(&mut self.rng)
    }

    // Draws the initial priorities of threads that were created since the last step.
    fn welcome(&mut self, world: &World) {
        while self.threads.len() < world.threads().len() {
            let priority = self.draw();
            let rank = (Reverse(priority), ThreadId::new(self.threads.len()));
            self.threads.push(priority);
            let at = self.ranked.partition_point(|other| *other < rank);
            self.ranked.insert(at, rank);
        }
    }

    // The enabled thread with the highest initial priority among the threads that were never lowered.
    fn highest(&mut self, world: &World) -> Option<ThreadId> {
        let Self { ranked, lowered, .. } = self;
        let is_lowered = |thread| lowered.iter().any(|(actor, _)| *actor == Actor::Thread(thread));
        let mut at = 0;
        while let Some((_, thread)) = ranked.get(at).copied() {
            if world.finished(thread) {
                ranked.remove(at);
            } else if world.enabled().contains(thread) && !is_lowered(thread) {
                return Some(thread);
            } else {
                at += 1;
            }
        }
        None
    }

    fn priority(&self, actor: Actor) -> Priority {
        if let Some((_, level)) = self.lowered.iter().find(|(a, _)| *a == actor) {
            return (false, u64::from(*level));
        }
        let initial = match actor {
            Actor::Thread(thread) => self.threads[thread.index()],
            Actor::Event(event) => self.events[event.index()],
            Actor::Clock => self.clock,
            Actor::Stop => self.stop,
        };
        (true, initial)
    }
}

// PCT must see forced steps: a change point at such a step lowers the thread that performs it.
impl Strategy for Pct {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.change_points.clear();
        for _ in 1..self.depth {
            let step = u64::from(self.rng.below(self.steps)) + 1;
            self.change_points.push(step);
        }
        (self.clock, self.stop) = (self.draw(), self.draw());
        self.events.clear();
        self.threads.clear();
        self.ranked.clear();
        self.lowered.clear();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let View { world, openings } = *view;
        if openings.total() == 1 {
            return Ok(world.open_actor(&openings, 0));
        }
        if world.steps() >= u64::from(self.steps) {
            return Ok(random_actor(&mut self.rng, view));
        }
        self.meet(world);
        // Among the threads that were never lowered only the one of highest priority can act. The other candidates are
        // few.
        let thread = self.highest(world);
        let mut lowered: SmallVec<[Actor; 4]> = self.lowered.iter().map(|(actor, _)| *actor).collect();
        lowered.retain(|actor| matches!(actor, Actor::Thread(_)) && world.is_open(*actor));
        let others = (openings.threads()..openings.total()).map(|k| world.open_actor(&openings, k));
        let open = thread.map(Actor::Thread).into_iter().chain(lowered).chain(others);
        // Of equal priorities the first one must win. `max_by_key` would return the last one.
        let highest = open.reduce(|a, b| if self.priority(b) > self.priority(a) { b } else { a });
        Ok(highest.unwrap_or(Actor::Stop))
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(random_argument(&mut self.rng, &mut self.instants, view, question))
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        let step = view.world.steps() + 1;
        for (i, _) in self.change_points.iter().enumerate().filter(|(_, at)| **at == step) {
            self.lowered.retain(|(actor, _)| *actor != choice.actor);
            self.lowered.push((choice.actor, self.depth - 1 - i as u32));
        }
    }
}
