//! The default scheduler: each thread runs until it cannot go on, and nothing happens by chance.
//!
//! Who acts depends on the state and on the last thread alone: that thread if it can go on; else the one of those that can which was made first; else the clock, to the next
//! deadline; else the first event; else the end. Of waiters the first is woken, of two branches the first is taken. A daemon does not keep a run that
//! rests from its end: else a daemon that never ends would.

use super::{Divergence, Strategy, View};
use crate::event::{Actor, Choice, ThreadId};
use crate::world::Question;

/// The default scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::Steady, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut Steady::default(), 0, &mut Unobserved, &AtomicBool::new(false));
/// // Nobody comes between.
/// assert_eq!(machine.world.memory().cell(0), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct Steady {
    last: Option<ThreadId>,
}

impl Steady {
    /// What it chooses here.
    #[must_use]
    pub fn choice(&self, view: &View<'_>) -> Choice {
        let actor = self.actor(view);
        Choice { actor, argument: view.world.question(actor).map_or(0, |q| answer(view, q)) }
    }

    /// What has been chosen, by whomever: clock and events do not change whose turn it is.
    pub fn see(&mut self, choice: Choice) {
        if let Actor::Thread(thread) = choice.actor {
            self.last = Some(thread);
        }
    }

    fn actor(&self, view: &View<'_>) -> Actor {
        let (world, openings) = (view.world, &view.openings);
        // At rest only daemons could go on.
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

/// The answer of [`Steady`].
#[must_use]
pub fn answer(view: &View<'_>, question: Question) -> u64 {
    match question {
        Question::Waiter(_) | Question::Branch => 0,
        Question::Instant => view.world.next_deadline(),
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

    // A thread that is the only open actor is the last thread from then on.
    fn passes_over_forced(&self) -> bool {
        true
    }

    fn observe(&mut self, _: &View<'_>, choice: Choice) {
        self.see(choice);
    }
}
