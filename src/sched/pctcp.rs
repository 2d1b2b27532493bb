//! PCTCP: PCT with priorities for chains of threads and tasks (Ozkan, Majumdar, Niksic, Tabaei Befrouei, Weissenbacher,
//! *Randomized testing of distributed systems with probabilistic guarantees*, OOPSLA 2018).
//!
//! A bug of depth d is found with probability at least 1/(w^2 n^(d-1)) in runs of n steps, where at most w of the
//! contexts (threads and tasks) and other actors are concurrent. Many threads that follow each other, or tasks that a
//! queue orders, count once, whereas PCT counts each actor that ever exists. `chains` documents the causality and the
//! algorithm.
//!
//! A looper acts with the priority of its task's chain, and between tasks with that of the task that begins next. No
//! task overtakes another one in its queue, so a task of low priority delays the messages behind it. The order in which
//! two unordered posts reach a queue is decided where they are posted, and counts there as one of the d orders.
//!
//! Each event, the clock and the end of a run have a priority of their own, as in PCT. The task of a firing belongs to
//! a chain. Each of the d - 1 priority change points lowers the chain that performs the step. After n steps the run
//! continues as a random walk, so that it also ends where a chain of high priority waits busily. Arguments are drawn
//! uniformly.

use super::chains::{Chains, NONE};
use super::error::SpecError;
use super::spec::{ProfileNeed, Spec};
use super::{Divergence, Strategy, View, bounded, random_actor, random_argument, random_priority};
use crate::base::{Id, IndexVec, Rng};
use crate::event::{Actor, Choice, EventId, Op, Site, SiteId, ThreadId};
use crate::world::{Question, World};
use std::fmt;

/// Parameters of the `pctcp` strategy: a depth, and a number of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PctcpSpec {
    /// Depth of the bugs to look for.
    pub depth: u32,
    /// Approximate number of steps of a run. If `None`, a profile run has to supply it.
    pub steps: Option<u32>,
}

impl Spec for PctcpSpec {
    type Strategy = Pctcp;

    const NAME: &'static str = "pctcp";
    const SYNTAX: &'static str = "pctcp[:DEPTH[,steps=N]]";
    const EXAMPLES: &'static [&'static str] = &["pctcp:3"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let (depth, steps) = bounded::parse::<Self>(text, 1, Pctcp::DEPTH)?;
        Ok(Some(Self { depth, steps }))
    }

    fn profile(&mut self) -> ProfileNeed<'_> {
        ProfileNeed::Steps(&mut self.steps)
    }

    fn build(&self, _: &IndexVec<SiteId, Site>) -> Result<Pctcp, SpecError> {
        Ok(Pctcp::new(self.depth, bounded::given(self, self.steps)?))
    }
}

impl fmt::Display for PctcpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bounded::write::<Self>(f, self.depth, self.steps)
    }
}

/// The scheduler of the `pctcp` strategy.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::Pctcp, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "looper ui\nthread a { for i in 0..5 { post t() to ui } }\ntask t() { skip }";
/// let model = Model::from_text("posts.race", text, &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut pctcp = Pctcp::new(2, 20);
/// run(&mut machine, &mut pctcp, 1, &mut NoObserver, &stop);
/// // The thread, and five tasks that its posts order.
/// assert_eq!(pctcp.chains(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pctcp {
    depth: u32,
    steps: u32,
    rng: Rng,
    // Scratch space for the instants of the clock.
    instants: Vec<u64>,
    // The i-th one (from 0) lowers the chain of this step (from 1) to level `depth - 1 - i`. The vector is not sorted.
    change_points: Vec<u64>,
    chains: Chains,
    // Initial priorities, by chain and for the other actors. `UNDRAWN` until one is needed.
    of_chains: Vec<u64>,
    of_events: Vec<u64>,
    clock: u64,
    stop: u64,
    // Lowered chains and actors with their level, once each. They rank below all that were never lowered.
    lowered: Vec<(PriorityOwner, u32)>,
}

const UNDRAWN: u64 = 0;

// An owner of a priority.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PriorityOwner {
    Chain(u32),
    Event(EventId),
    Clock,
    Stop,
}

impl Pctcp {
    /// Default depth.
    pub const DEPTH: u32 = super::Pct::DEPTH;

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
            chains: Chains::default(),
            of_chains: Vec::new(),
            of_events: Vec::new(),
            clock: UNDRAWN,
            stop: UNDRAWN,
            lowered: Vec::new(),
        }
    }

    /// Returns the number of chains of threads and tasks so far. Contexts that the last step created are not counted.
    #[must_use]
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    fn who(&mut self, world: &World, actor: Actor) -> PriorityOwner {
        match actor {
            Actor::Thread(thread) => PriorityOwner::Chain(self.chain(world, thread)),
            Actor::Event(event) => PriorityOwner::Event(event),
            Actor::Clock => PriorityOwner::Clock,
            Actor::Stop => PriorityOwner::Stop,
        }
    }

    fn chain(&mut self, world: &World, thread: ThreadId) -> u32 {
        let t = world.thread(thread);
        // A looper between tasks begins the next task with its next step, so it has the priority of that task's chain
        // already.
        let next = match (&t.pending, world.queue(thread)) {
            (Op::Begin, Some(queue)) if t.context == t.home => queue.next_task().map(|task| task.context),
            _ => None,
        };
        self.chains.of(next.unwrap_or(t.context))
    }

    // The priority, to compare owners: the greatest one acts. The flag is false for a lowered one.
    fn priority(&mut self, who: PriorityOwner) -> (bool, u64) {
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
            PriorityOwner::Chain(chain) => {
                debug_assert!(chain != NONE);
                let i = known(&mut self.of_chains, chain as usize);
                &mut self.of_chains[i]
            }
            PriorityOwner::Event(event) => {
                let i = known(&mut self.of_events, event.index());
                &mut self.of_events[i]
            }
            PriorityOwner::Clock => &mut self.clock,
            PriorityOwner::Stop => &mut self.stop,
        };
        if *priority == UNDRAWN {
            *priority = random_priority(&mut self.rng).max(UNDRAWN + 1);
        }
        (true, *priority)
    }
}

// PCTCP must see forced steps: they build the chains, and a change point may be at one.
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
            // Of equal priorities the first one wins.
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
        // If another strategy made the choice, `choose` was not called and this is the first view of the state.
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
