//! Delay bounding (Emmi, Qadeer, Rakamaric, POPL 2011), randomised: a deterministic scheduler, and a few delays at random steps.
//!
//! The scheduler without delays lets a thread run until it blocks or ends, then the next one in the order of creation, in a ring; where no thread can run,
//! the clock moves to the next deadline, then events fire. A delay passes over the actor that would act, to the next open one of the
//! ring threads, clock, events, end of the run. The paper explores all ways to place d delays; here they are drawn from k steps, evenly and independently, so that a
//! bug that needs d delays at certain steps is found with probability at least 1/k^d.
//!
//! After k steps the run goes on as a random walk, so that it also ends where a thread waits busily for another.
//! Branches and which waiter a notify wakes are no matter of the order of actors: they are drawn evenly.

use super::{Divergence, Strategy, View, random_actor, random_argument};
use crate::base::{Id, Rng};
use crate::event::{Actor, Choice};
use crate::world::Question;

/// The scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::DelayBounded, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// // Without delays one thread comes after the other.
/// run(&mut machine, &mut DelayBounded::new(0, 10), 0, &mut Unobserved, &stop);
/// assert_eq!(machine.world.memory().cell(0), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DelayBounded {
    delays: u32,
    steps: u32,
    rng: Rng,
    // The steps at which an actor is passed over, counted from 0, ascending; one that stands twice passes over two.
    points: Vec<u64>,
    // The thread whose turn it is, by number: the last that acted, or the first after something else acted.
    turn: usize,
}

impl DelayBounded {
    /// The delays unless told otherwise.
    pub const DELAYS: u32 = 2;

    /// Places this many delays in the first `steps` steps (at least 1).
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
        // The rank, among open actors, of the one that acts without a delay: the thread whose turn it is, or the next in the ring.
        let undelayed = world.enabled().iter().position(|t| t.index() >= self.turn).unwrap_or(0);
        let delays = self.points.partition_point(|p| *p <= step) - self.points.partition_point(|p| *p < step);
        Ok(world.open_actor(&openings, (undelayed + delays) % openings.total()))
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(match question {
            Question::Instant => view.world.next_deadline(),
            Question::Waiter(_) | Question::Branch => random_argument(&mut self.rng, &mut Vec::new(), view, question),
        })
    }

    fn observe(&mut self, _: &View<'_>, choice: Choice) {
        self.turn = match choice.actor {
            Actor::Thread(thread) => thread.index(),
            Actor::Clock | Actor::Event(_) | Actor::Stop => 0,
        };
    }
}
