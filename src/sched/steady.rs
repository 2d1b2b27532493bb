//! The default scheduler: it runs each thread until the thread is blocked, without any random choice.
//!
//! A choice depends only on the state and on the thread that acted last. The scheduler chooses the first of these that
//! is possible:
//!
//! 1. the thread that acted last;
//! 2. the oldest enabled thread;
//! 3. an advance of the clock to the next deadline;
//! 4. the first enabled event;
//! 5. the end of the run.
//!
//! A notify wakes the first waiter, and a branch takes the first way. When the run is at rest, enabled daemons are
//! passed over: a daemon that never ends would otherwise keep the run from ending.

use super::{Divergence, Strategy, View};
use crate::event::{Actor, Choice, ThreadId};
use crate::world::Question;

/// The default scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::Steady, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut Steady::default(), 0, &mut NoObserver, &AtomicBool::new(false));
/// // No other thread comes between.
/// assert_eq!(machine.world.memory().cell(0), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct Steady {
    last: Option<ThreadId>,
}

impl Steady {
    /// Returns the choice of the default scheduler in this state.
    #[must_use]
    pub fn choice(&self, view: &View<'_>) -> Choice {
        let actor = self.actor(view);
        Choice { actor, argument: view.world.question(actor).map_or(0, |q| answer(view, q)) }
    }

    /// Takes note of a choice, which may come from any strategy. The clock and events do not change the thread whose
    /// turn it is.
    pub fn see(&mut self, choice: Choice) {
        if let Actor::Thread(thread) = choice.actor {
            self.last = Some(thread);
        }
    }

    fn actor(&self, view: &View<'_>) -> Actor {
        let (world, openings) = (view.world, &view.openings);
        // At rest only daemons are enabled.
        if !openings.stop() {
            if let Some(last) = self.last.filter(|t| world.enabled().contains(*t)) {
                return Actor::Thread(last);
            }
            if openings.threads() > 0 {
                return world.open_actor(openings, 0);
            }
        }
        match world.fireable().iter().next() {
            _ if openings.clock() => Actor::Clock,
            Some(event) => Actor::Event(event),
            None => Actor::Stop,
        }
    }
}

/// Returns the argument that [`Steady`] chooses: the first of the answers, or the next deadline.
#[must_use]
pub fn answer(view: &View<'_>, question: Question) -> u64 {
    match question.answers() {
        Some(_) => 0,
        None => view.world.next_deadline(),
    }
}

impl Strategy for Steady {
    fn begin(&mut self, _: u64) {
        self.last = None;
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        Ok(self.actor(view))
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(answer(view, question))
    }

    // A burst continues the thread that was observed last, so `last` is still right after it.
    fn passes_over_forced(&self) -> bool {
        true
    }

    fn observe(&mut self, _: &View<'_>, choice: Choice) {
        self.see(choice);
    }
}
