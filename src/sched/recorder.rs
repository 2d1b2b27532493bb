//! Records the choices of another strategy by name.

use super::schedule::{CheckBytes, Schedule, name};
use super::{Divergence, Strategy, View};
use crate::event::{Actor, Choice};
use crate::world::Question;

/// A strategy that does what another does, and keeps its choices.
pub struct Recorder<S> {
    inner: S,
    schedule: Schedule,
    actors: Vec<Actor>,
    checks: CheckBytes,
}

impl<S: Strategy> Recorder<S> {
    /// Records `inner`.
    pub fn new(inner: S) -> Self {
        Self { inner, schedule: Schedule::default(), actors: Vec::new(), checks: CheckBytes::default() }
    }

    /// The strategy, and what it chose in its last run.
    pub fn into_parts(self) -> (S, Schedule) {
        (self.inner, self.schedule)
    }

    /// What it chose so far in this run.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl<S: Strategy> Strategy for Recorder<S> {
    fn begin(&mut self, seed: u64) {
        self.inner.begin(seed);
        self.schedule = Schedule::default();
        self.actors.clear();
        self.checks.clear();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        self.inner.choose(view)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.inner.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.inner.observe(view, choice);
        let at = self.actors.iter().position(|a| *a == choice.actor).unwrap_or_else(|| {
            self.actors.push(choice.actor);
            self.schedule.actors.push(name(view.world, choice.actor));
            self.actors.len() - 1
        });
        let check = self.checks.of(at, view.world, &self.schedule.actors[at], choice.actor);
        self.schedule.push(at as u32, choice.argument, check);
    }
}
