//! Delay bounding (Emmi, Qadeer, Rakamaric, POPL 2011), randomized: a deterministic scheduler with a few delays at
//! random steps.
//!
//! Without delays the scheduler runs a thread until it blocks or ends, then the next one in the order of creation, in a
//! ring. If no thread is enabled, the clock advances to the next deadline, then events fire. A delay passes over the
//! actor that would act, to the next open one of the ring: threads, clock, events, end of the run. The paper explores
//! all placements of d delays. Here each delay is drawn uniformly and independently from k steps, so that a bug that
//! needs d delays at certain steps is found with probability at least 1/k^d.
//!
//! After k steps the run continues as a random walk, so that it also ends where a thread waits busily for another one.
//! Branches and the waiters that a notify wakes do not belong to the order of actors: they are drawn uniformly.

use super::error::SpecError;
use super::spec::{ProfileNeed, Spec};
use super::{Divergence, Strategy, View, bounded, random_actor, random_argument};
use crate::base::{Id, IndexVec, Rng};
use crate::event::{Actor, Choice, Site, SiteId};
use crate::world::Question;
use std::fmt;

/// Parameters of the `delay` strategy: a number of delays, and a number of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelaySpec {
    /// Number of delays.
    pub delays: u32,
    /// Approximate number of steps of a run. If `None`, a profile run has to supply it.
    pub steps: Option<u32>,
}

impl Spec for DelaySpec {
    type Strategy = DelayBounded;

    const NAME: &'static str = "delay";
    const SYNTAX: &'static str = "delay[:DELAYS[,steps=N]]";
    const EXAMPLES: &'static [&'static str] = &["delay:2"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let (delays, steps) = bounded::parse::<Self>(text, 0, DelayBounded::DELAYS)?;
        Ok(Some(Self { delays, steps }))
    }

    fn profile(&mut self) -> ProfileNeed<'_> {
        ProfileNeed::Steps(&mut self.steps)
    }

    fn build(&self, _: &IndexVec<SiteId, Site>) -> Result<DelayBounded, SpecError> {
        Ok(DelayBounded::new(self.delays, bounded::given(self, self.steps)?))
    }
}

impl fmt::Display for DelaySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bounded::write::<Self>(f, self.delays, self.steps)
    }
}

/// The scheduler of the `delay` strategy.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::DelayBounded, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// // Without delays one thread comes after the other.
/// run(&mut machine, &mut DelayBounded::new(0, 10), 0, &mut NoObserver, &stop);
/// assert_eq!(machine.world.memory().cell(0), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DelayBounded {
    delays: u32,
    steps: u32,
    rng: Rng,
    // The steps (from 0) at which an actor is passed over, ascending. A step that occurs twice passes over two actors.
    points: Vec<u64>,
    // Index of the thread whose turn it is: the last one that acted, or 0 after another actor acted.
    turn: usize,
}

impl DelayBounded {
    /// Default number of delays.
    pub const DELAYS: u32 = 2;

    /// Creates a scheduler that places this many delays in the first `steps` steps (at least 1).
    #[must_use]
    pub fn new(delays: u32, steps: u32) -> Self {
        debug_assert!(steps > 0);
        Self { delays, steps, rng: Rng::seeded(0), points: Vec::new(), turn: 0 }
    }
}

impl Strategy for DelayBounded {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.turn = 0;
        self.points.clear();
        for _ in 0..self.delays {
            let step = u64::from(self.rng.below(self.steps));
            self.points.push(step);
        }
        self.points.sort_unstable();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let View { world, openings } = *view;
        let step = world.steps();
        if step >= u64::from(self.steps) {
            return Ok(random_actor(&mut self.rng, view));
        }
        // The rank, among open actors, of the actor that acts without a delay: the thread whose turn it is, or the next
        // one in the ring.
        let undelayed = world.enabled().iter().position(|t| t.index() >= self.turn).unwrap_or(0);
        let delays = self.points.partition_point(|p| *p <= step) - self.points.partition_point(|p| *p < step);
        Ok(world.open_actor(&openings, (undelayed + delays) % openings.total()))
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(match question.answers() {
            None => view.world.next_deadline(),
            Some(_) => random_argument(&mut self.rng, &mut Vec::new(), view, question),
        })
    }

    // A delay at a forced step has no effect, and a burst does not change the thread whose turn it is.
    fn passes_over_forced(&self) -> bool {
        true
    }

    fn observe(&mut self, _: &View<'_>, choice: Choice) {
        self.turn = match choice.actor {
            Actor::Thread(thread) => thread.index(),
            Actor::Clock | Actor::Event(_) | Actor::Stop => 0,
        };
    }
}
