//! Describes deviations in words.

use crate::event::{Actor, Choice};
use crate::sched::{Divergence, Steady, Strategy, View, describe};
use crate::world::Question;

/// A deviation, described for readers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Number of steps before this one, so the first step has 0.
    pub step: u64,
    /// The actor that was chosen, and its operation: "thread a at line 7: write x".
    pub took: String,
    /// The actor that the default scheduler would have chosen, described like `took`.
    pub instead_of: String,
}

/// A strategy that delegates to another one and records in words where that strategy deviates from the default
/// scheduler.
pub(super) struct Worded<S> {
    inner: S,
    steady: Steady,
    pub(super) departures: Vec<Departure>,
}

impl<S> Worded<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner, steady: Steady::default(), departures: Vec::new() }
    }
}

impl<S: Strategy> Strategy for Worded<S> {
    fn begin(&mut self, seed: u64) {
        self.inner.begin(seed);
        self.steady = Steady::default();
        self.departures.clear();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        self.inner.choose(view)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.inner.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.inner.observe(view, choice);
        let default = self.steady.choice(view);
        if choice != default {
            let answer = |c: Choice| match view.world.question(c.actor) {
                Some(Question::Waiter(waiters)) => format!(", waiter {} of {waiters}", c.argument + 1),
                Some(Question::Branch) => format!(", branch {}", c.argument),
                Some(Question::Instant) | None => String::new(),
            };
            let words = |c: Choice| describe(view.world, c) + &answer(c);
            let (step, took, instead_of) = (view.world.steps(), words(choice), words(default));
            self.departures.push(Departure { step, took, instead_of });
        }
        self.steady.see(choice);
    }
}
