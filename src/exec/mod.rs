//! The loop of one run: ask the world which choices are open, ask the strategy for one, perform it, tell the observer.
//!
//! A random walk, RaceFuzzer and a replay differ in the strategy only.
//!
//! [`run`] performs a run and returns a [`RunSummary`]; an [`Observer`] watches it ([the tutorial](crate#10-an-observer-of-ones-own) has one).

mod ended;

pub use ended::{EndKind, Ended, value_text};

use crate::event::{Actor, Choice, Event, LimitKind, Outcome};
use crate::sched::{Divergence, Strategy, View};
use crate::world::{Guest, Machine, Openings, World};
use std::sync::atomic::{AtomicBool, Ordering};

/// Watches a run.
pub trait Observer {
    /// Whether it wants events; a run that nobody watches records nothing.
    const WATCHES: bool = true;

    /// An event of the step that was just performed, in order. The world is the state after the step.
    fn event(&mut self, world: &World, event: &Event);
}

/// Watches nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {
    const WATCHES: bool = false;

    fn event(&mut self, _: &World, _: &Event) {}
}

impl<A: Observer, B: Observer> Observer for (&mut A, &mut B) {
    const WATCHES: bool = A::WATCHES || B::WATCHES;

    fn event(&mut self, world: &World, event: &Event) {
        if A::WATCHES {
            self.0.event(world, event);
        }
        if B::WATCHES {
            self.1.event(world, event);
        }
    }
}

/// How the loop came to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The run ended.
    Outcome(Outcome),
    /// The strategy, a replay, could not go on.
    Diverged(Box<Divergence>),
    /// Somebody wanted it to stop.
    Interrupted,
}

/// What is told of a run that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunSummary {
    /// How it ended.
    pub end: End,
    /// Steps performed.
    pub steps: u64,
    /// The virtual clock at the end, in milliseconds.
    pub now: u64,
    /// Milliseconds that passed while some thread could have run.
    pub stall: u64,
    /// Posts refused because their looper had quit.
    pub refused_posts: u32,
}

impl RunSummary {
    /// The outcome, if the run came to one.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.end {
            End::Outcome(outcome) => Some(outcome),
            _ => None,
        }
    }
}

// How many steps pass between two looks at whether to stop: a few microseconds; a second where each step runs up to the limit of local
// instructions.
const STEPS_BETWEEN_LOOKS: u64 = 64;

/// Performs one run from the start of the app. `stop` may be set by another thread to interrupt it.
///
/// # Examples
///
/// ```
/// use raceflip::{event::Outcome, exec::{Unobserved, run}, sched::RandomWalk, vm::Model, world::Limits};
/// use std::sync::atomic::AtomicBool;
///
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let mut machine = model.machine(Limits::default());
/// let stop = AtomicBool::new(false);
/// let summary = run(&mut machine, &mut RandomWalk::new(), 1, &mut Unobserved, &stop);
/// assert_eq!(summary.outcome(), Some(&Outcome::Ok));
/// // The last state is still there.
/// assert!([1, 2].contains(&machine.world.memory().cell(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run<G: Guest, S: Strategy, O: Observer>(
    machine: &mut Machine<G>,
    strategy: &mut S,
    seed: u64,
    observer: &mut O,
    stop: &AtomicBool,
) -> RunSummary {
    machine.start(O::WATCHES);
    strategy.begin(seed);
    tell(machine, observer);
    go_on(machine, strategy, observer, stop)
}

/// Goes on with a run that has been started, from the state in which the machine is, with a strategy that has begun.
#[inline(always)]
pub(crate) fn go_on<G: Guest, S: Strategy, O: Observer>(
    machine: &mut Machine<G>,
    strategy: &mut S,
    observer: &mut O,
    stop: &AtomicBool,
) -> RunSummary {
    let passes = !O::WATCHES && strategy.passes_over_forced();
    // The next step at which to look at what hardly ever happens.
    let mut look = 0;
    let end = loop {
        if let Some(outcome) = machine.world.outcome() {
            break End::Outcome(outcome.clone());
        }
        let steps = machine.world.steps();
        if steps >= look {
            let limit = machine.world.limits().steps;
            if steps >= limit {
                break End::Outcome(Outcome::Limit(LimitKind::Steps, limit));
            }
            if stop.load(Ordering::Relaxed) {
                break End::Interrupted;
            }
            look = limit.min(steps + STEPS_BETWEEN_LOOKS);
        }
        let openings = machine.world.openings();
        if openings.total() == 0 {
            break End::Outcome(Outcome::Deadlock(machine.world.deadlock()));
        }
        if openings.stop() {
            machine.check_rest();
            if machine.world.outcome().is_some() {
                continue;
            }
        }
        let most = if passes && openings.threads_only() { look - steps } else { 1 };
        if let Err(divergence) = step(machine, openings, strategy, most) {
            break End::Diverged(divergence);
        }
        tell(machine, observer);
    };
    let world = &machine.world;
    RunSummary {
        end,
        steps: world.steps(),
        now: world.now(),
        stall: world.stall(),
        refused_posts: world.refused_posts(),
    }
}

#[inline(always)]
fn tell<G: Guest, O: Observer>(machine: &Machine<G>, observer: &mut O) {
    if O::WATCHES {
        for event in machine.world.recorded() {
            observer.event(&machine.world, event);
        }
    }
}

// Asks for a choice and performs it, and of what is forced after it so much that it makes `most` steps.
#[inline(always)]
fn step<G: Guest, S: Strategy>(
    machine: &mut Machine<G>,
    openings: Openings,
    strategy: &mut S,
    most: u64,
) -> Result<(), Box<Divergence>> {
    let view = View { world: &machine.world, openings };
    let actor = strategy.choose(&view)?;
    debug_assert!(view.world.is_open(actor), "{actor:?} is not open");
    let argument = match view.world.question(actor) {
        Some(question) => strategy.argument(&view, actor, question)?,
        None => 0,
    };
    debug_assert!(actor != Actor::Clock || argument > view.world.now());
    let choice = Choice { actor, argument };
    strategy.observe(&view, choice);
    match actor {
        Actor::Thread(thread) => machine.thread_acts(thread, argument, most),
        _ => machine.step(choice),
    }
    Ok(())
}
