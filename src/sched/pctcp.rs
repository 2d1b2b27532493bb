//! PCTCP: PCT whose priorities belong to chains of threads and tasks (Ozkan, Majumdar, Niksic, Tabaei Befrouei, Weissenbacher, *Randomized testing of distributed systems with
//! probabilistic guarantees*, OOPSLA 2018).
//!
//! A bug of depth d is found with probability at least 1/(w^2 n^(d-1)) in runs of n steps, where at most w of the contexts (threads and tasks) and other actors are side by side: many threads that
//! follow each other, or tasks that a queue orders, count once, where PCT counts each actor that there ever is. `chains` has the causality and the algorithm.
//!
//! A looper acts with the priority of its task's chain; between tasks with that of the task that begins next. No task overtakes another in its queue, so that a low one holds up what
//! stands behind it: the order in which two posts without order between them reach a queue is decided where they are posted, and counts as one of the d orders there.
//!
//! Each event, the clock and the end of a run have a priority of their own, as in PCT; a firing's task is in a chain. Each of the d - 1 change points lowers the chain that takes the step.
//! After n steps the run goes on as a random walk, so that it also ends where a chain of high priority waits busily. Arguments are drawn evenly.

use super::chains::{Chains, NONE};
use super::{Divergence, Strategy, View, random_actor, random_argument, random_priority};
use crate::base::{Id, Rng};
use crate::event::{Actor, Choice, EventId, Op, ThreadId};
use crate::world::{Question, World};

/// The scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::Pctcp, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "looper ui\nthread a { for i in 0..5 { post t() to ui } }\ntask t() { skip }";
/// let model = Model::from_text("posts.race", text, &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut pctcp = Pctcp::new(2, 20);
/// run(&mut machine, &mut pctcp, 1, &mut Unobserved, &stop);
/// // The thread, and five tasks that its posts order.
/// assert_eq!(pctcp.chains(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pctcp {
    depth: u32,
    steps: u32,
    rng: Rng,
    // Room for the instants of the clock.
    instants: Vec<u64>,
    // The i-th (from 0) lowers to level `depth - 1 - i` the chain that takes this step, counted from 1. Not sorted.
    change_points: Vec<u64>,
    chains: Chains,
    // By chain, and of the others: initial priorities, `UNDRAWN` as long as nobody has asked.
    of_chains: Vec<u64>,
    of_events: Vec<u64>,
    clock: u64,
    stop: u64,
    // Below all that were never lowered: with its level, once each.
    lowered: Vec<(Who, u32)>,
}

const UNDRAWN: u64 = 0;

// What has a priority.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Chain(u32),
    Event(EventId),
    Clock,
    Stop,
}

impl Pctcp {
    /// The depth unless told otherwise.
    pub const DEPTH: u32 = super::Pct::DEPTH;

    /// Looks for bugs of this depth (at least 1) in runs of about this many steps (at least 1).
    #[must_use]
    pub fn new(depth: u32, steps: u32) -> Self {
        debug_assert!(depth > 0 && steps > 0);
        Self {
            depth,
            steps,
            rng: Rng::seeded(0),
            instants: Vec::new(),
            change_points: Vec::new(),
            chains: Chains::default(),
            of_chains: Vec::new(),
            of_events: Vec::new(),
            clock: UNDRAWN,
            stop: UNDRAWN,
            lowered: Vec::new(),
        }
    }

    /// How many chains of threads and tasks the run has had; those of its last step are not counted.
    #[must_use]
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    fn who(&mut self, world: &World, actor: Actor) -> Who {
        match actor {
            Actor::Thread(thread) => Who::Chain(self.chain(world, thread)),
            Actor::Event(event) => Who::Event(event),
            Actor::Clock => Who::Clock,
            Actor::Stop => Who::Stop,
        }
    }

    fn chain(&mut self, world: &World, thread: ThreadId) -> u32 {
        let t = world.thread(thread);
        let next = match (&t.pending, &t.queue) {
            (Op::Begin, Some(queue)) if t.context == t.home => queue.next_task().map(|task| task.context),
            _ => None,
        };
        self.chains.of(next.unwrap_or(t.context))
    }

    // The greatest acts.
    fn priority(&mut self, who: Who) -> (bool, u64) {
        if let Some((_, level)) = self.lowered.iter().find(|(lowered, _)| *lowered == who) {
            return (false, u64::from(*level));
        }
        let known = |all: &mut Vec<u64>, i: usize| {
            if all.len() <= i {
                all.resize(i + 1, UNDRAWN);
            }
            i
        };
        let priority = match who {
            Who::Chain(chain) => {
                debug_assert!(chain != NONE);
                let i = known(&mut self.of_chains, chain as usize);
                &mut self.of_chains[i]
            }
            Who::Event(event) => {
                let i = known(&mut self.of_events, event.index());
                &mut self.of_events[i]
            }
            Who::Clock => &mut self.clock,
            Who::Stop => &mut self.stop,
        };
        if *priority == UNDRAWN {
            *priority = random_priority(&mut self.rng).max(UNDRAWN + 1);
        }
        (true, *priority)
    }
}

impl Strategy for Pctcp {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.change_points.clear();
        for _ in 1..self.depth {
            let step = u64::from(self.rng.below(self.steps)) + 1;
            self.change_points.push(step);
        }
        self.chains.clear();
        self.of_chains.clear();
        self.of_events.clear();
        (self.clock, self.stop) = (UNDRAWN, UNDRAWN);
        self.lowered.clear();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let View { world, openings } = *view;
        let first = world.open_actor(&openings, 0);
        if world.steps() >= u64::from(self.steps) {
            return Ok(random_actor(&mut self.rng, view));
        }
        self.chains.welcome(world);
        if openings.total() == 1 {
            return Ok(first);
        }
        let who = self.who(world, first);
        let (mut highest, mut most) = (first, self.priority(who));
        for actor in world.open_actors(openings).skip(1) {
            let who = self.who(world, actor);
            let priority = self.priority(who);
            // Of equals the first acts.
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
        if view.world.steps() >= u64::from(self.steps) {
            return;
        }
        // Where somebody else has chosen this is the first that is heard of the state.
        self.chains.welcome(view.world);
        let step = view.world.steps() + 1;
        for i in 0..self.change_points.len() {
            if self.change_points[i] == step {
                let who = self.who(view.world, choice.actor);
                self.lowered.retain(|(lowered, _)| *lowered != who);
                self.lowered.push((who, self.depth - 1 - i as u32));
            }
        }
        self.chains.observe(view.world, choice);
    }
}
