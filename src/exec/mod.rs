//! The loop of one run: asks the world which choices are open, lets the strategy choose one, performs it and passes
//! its events to the observer.
//!
//! A random walk, RaceFuzzer and a replay differ only in the strategy.
//!
//! [`run`] performs a run and returns a [`RunSummary`]; an [`Observer`] watches it ([the
//! tutorial](crate#10-an-observer-of-ones-own) has one).

mod run_result;

pub use crate::sched::observer::{ChoiceInterest, NoObserver, Observer};
pub use run_result::{EndKind, RunResult, value_text};

use crate::event::{Actor, Choice, LimitKind, Outcome};
use crate::sched::{Divergence, Strategy, View};
use crate::world::{Guest, Machine, Openings};
use std::sync::atomic::{AtomicBool, Ordering};

/// Why the loop of a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoopEnd {
    /// The run ended with this outcome.
    Outcome(Outcome),
    /// The strategy, a replay, could not continue.
    Diverged(Box<Divergence>),
    /// The caller set the stop flag.
    Interrupted,
}

/// Summary of a run that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunSummary {
    /// Why the loop ended.
    pub end: LoopEnd,
    /// Number of steps performed.
    pub steps: u64,
    /// Virtual clock at the end, in milliseconds.
    pub now: u64,
    /// Stall: milliseconds of virtual time that passed while some thread could have run.
    pub stall: u64,
    /// Number of posts that were refused because their looper had quit.
    pub refused_posts: u32,
}

impl RunSummary {
    /// Returns the outcome, if the run has one.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.end {
            LoopEnd::Outcome(outcome) => Some(outcome),
            _ => None,
        }
    }
}

// Number of steps between two checks of the stop flag: a few microseconds, or a second if each step runs up to the
// limit of local instructions.
const STEPS_BETWEEN_LOOKS: u64 = 64;

/// Performs one run from the start of the app. `stop` may be set by another thread to interrupt it.
///
/// # Examples
///
/// ```
/// use raceflip::{event::Outcome, exec::{NoObserver, run}, sched::RandomWalk, vm::Model, world::Limits};
/// use std::sync::atomic::AtomicBool;
///
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let mut machine = model.machine(Limits::default());
/// let stop = AtomicBool::new(false);
/// let summary = run(&mut machine, &mut RandomWalk::new(), 1, &mut NoObserver, &stop);
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
    machine.start(O::EVENTS);
    strategy.begin(seed);
    observer.begin(&machine.world);
    pass_events(machine, observer);
    go_on(machine, strategy, observer, stop)
}

/// Continues a run that has been started, from the present state of the machine, with a strategy and an observer that
/// have begun.
#[inline(always)]
pub(crate) fn go_on<G: Guest, S: Strategy, O: Observer>(
    machine: &mut Machine<G>,
    strategy: &mut S,
    observer: &mut O,
    stop: &AtomicBool,
) -> RunSummary {
    let passes = !O::EVENTS && !matches!(O::CHOICES, ChoiceInterest::All) && strategy.passes_over_forced();
    // Next step at which to check the step limit and the stop flag. Both checks are rare, so that the loop stays
    // fast.
    let mut look = 0;
    let end = loop {
        if let Some(outcome) = machine.world.outcome() {
            break LoopEnd::Outcome(outcome.clone());
        }
        let steps = machine.world.steps();
        if steps >= look {
            let limit = machine.world.limits().steps;
            if steps >= limit {
                break LoopEnd::Outcome(Outcome::Limit(LimitKind::Steps, limit));
            }
            if stop.load(Ordering::Relaxed) {
                break LoopEnd::Interrupted;
            }
            look = limit.min(steps + STEPS_BETWEEN_LOOKS);
        }
        let openings = machine.world.openings();
        if openings.total() == 0 {
            break LoopEnd::Outcome(Outcome::Deadlock(machine.world.deadlock()));
        }
        if openings.stop() {
            machine.check_rest();
            if machine.world.outcome().is_some() {
                continue;
            }
        }
        let most = if passes && openings.threads_only() { look - steps } else { 1 };
        if let Err(divergence) = step(machine, openings, strategy, observer, most) {
            break LoopEnd::Diverged(divergence);
        }
        pass_events(machine, observer);
    };
    // A replay that has diverged may go on from here with another strategy.
    if matches!(end, LoopEnd::Outcome(_)) && machine.guest.has_unfinished() {
        machine.close();
    }
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
fn pass_events<G: Guest, O: Observer>(machine: &Machine<G>, observer: &mut O) {
    if O::EVENTS {
        for event in machine.world.recorded() {
            observer.event(&machine.world, event);
        }
    }
}

// Asks for a choice and performs it. Then performs the forced steps that follow, up to `most` steps in all.
#[inline(always)]
fn step<G: Guest, S: Strategy, O: Observer>(
    machine: &mut Machine<G>,
    openings: Openings,
    strategy: &mut S,
    observer: &mut O,
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
    if !matches!(O::CHOICES, ChoiceInterest::None) {
        observer.choice(&view, choice);
    }
    match actor {
        Actor::Thread(thread) => machine.thread_acts(thread, argument, most),
        _ => machine.step(choice),
    }
    Ok(())
}
