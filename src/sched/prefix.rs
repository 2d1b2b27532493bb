//! The beginning of a run that was made, then some threads in a fixed order, then another strategy: how both orders of two accesses are continued from one state.

use super::{Divergence, RawChoices, Rerun, Strategy, View};
use crate::event::{Actor, Choice, ThreadId};
use crate::world::Question;
use std::sync::Arc;

/// Makes the first steps of a run again, lets these threads act, and then chooses as another strategy does, which has seen all that.
#[derive(Clone)]
pub struct Prefixed<S> {
    rerun: Rerun,
    steps: u64,
    forced: Vec<ThreadId>,
    at: usize,
    then: S,
}

impl<S> Prefixed<S> {
    /// The first `steps` steps of the run that made these choices; then `forced`, each once if it can act; then `then`.
    pub fn new(choices: Arc<RawChoices>, steps: u64, forced: Vec<ThreadId>, then: S) -> Self {
        Self { rerun: Rerun::new(choices), steps, forced, at: 0, then }
    }
}

impl<S: Strategy> Strategy for Prefixed<S> {
    fn begin(&mut self, seed: u64) {
        self.rerun.begin(0);
        self.at = 0;
        self.then.begin(seed);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        if view.world.steps() < self.steps {
            return self.rerun.choose(view);
        }
        while let Some(thread) = self.forced.get(self.at) {
            self.at += 1;
            let actor = Actor::Thread(*thread);
            if view.world.is_open(actor) {
                return Ok(actor);
            }
        }
        self.then.choose(view)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        if view.world.steps() < self.steps {
            return self.rerun.argument(view, actor, question);
        }
        self.then.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.then.observe(view, choice);
    }
}
