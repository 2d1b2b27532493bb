//! The beginning of an earlier run, then some threads in a fixed order, then another strategy. A campaign uses it to
//! continue both orders of two accesses from one state.

use super::{Divergence, RawChoices, Rerun, Strategy, View};
use crate::event::{Actor, Choice, ThreadId};
use crate::world::Question;
use std::sync::Arc;

/// Repeats the first steps of a run, then lets the given threads act, and then chooses as another strategy does. That
/// strategy observes all steps from the start.
#[derive(Clone)]
pub struct Prefixed<S> {
    rerun: Rerun,
    steps: u64,
    forced: Vec<ThreadId>,
    at: usize,
    then: S,
}

impl<S> Prefixed<S> {
    /// Creates a strategy that repeats the first `steps` steps of the run with these choices. Then each thread of
    /// `forced` performs one step if it is enabled. Then `then` chooses.
    pub fn new(choices: Arc<RawChoices>, steps: u64, forced: Vec<ThreadId>, then: S) -> Self {
        Self { rerun: Rerun::new(choices), steps, forced, at: 0, then }
    }
}

// The strategy must see forced steps: the beginning ends at a certain step, which may be forced, and from there on the
// threads of `forced` act or are passed over.
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
