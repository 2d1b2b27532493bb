//! Describes deviations in words.

use crate::event::Choice;
use crate::exec::{ChoiceInterest, Observer};
use crate::sched::{Steady, View, describe};
use crate::world::{Question, World};

/// A deviation, described for readers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescribedDeviation {
    /// Number of steps before this one, so the first step has 0.
    pub step: u64,
    /// The actor that was chosen, and its operation: "thread a at line 7: write x".
    pub took: String,
    /// The actor that the default scheduler would have chosen, described like `took`.
    pub instead_of: String,
}

/// An observer that records in words where a run deviates from the default scheduler.
#[derive(Default)]
pub(super) struct DepartureRecorder {
    steady: Steady,
    pub(super) departures: Vec<DescribedDeviation>,
}

impl Observer for DepartureRecorder {
    const EVENTS: bool = false;
    const CHOICES: ChoiceInterest = ChoiceInterest::Unforced;

    fn begin(&mut self, _: &World) {
        self.steady = Steady::default();
        self.departures.clear();
    }

    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        let default = self.steady.choice(view);
        if choice != default {
            let answer = |c: Choice| match view.world.question(c.actor) {
                Some(Question::Waiter(waiters)) => format!(", waiter {} of {waiters}", c.argument + 1),
                Some(Question::Instance(n)) => format!(", instance {} of {n}", c.argument + 1),
                Some(Question::Case(open)) => format!(", case {} of {open}", c.argument + 1),
                Some(Question::Branch) => format!(", branch {}", c.argument),
                Some(Question::Value { from, .. }) => format!(", value {}", from.saturating_add_unsigned(c.argument)),
                Some(Question::Instant) | None => String::new(),
            };
            let words = |c: Choice| describe(view.world, c) + &answer(c);
            let (step, took, instead_of) = (view.world.steps(), words(choice), words(default));
            self.departures.push(DescribedDeviation { step, took, instead_of });
        }
        self.steady.see(choice);
    }
}
