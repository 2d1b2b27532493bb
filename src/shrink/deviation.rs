//! Represents a run as the list of its deviations from the default scheduler: preemptions, reorderings, and answers
//! other than the default one.

use crate::event::Choice;
use crate::exec::{ChoiceInterest, Observer};
use crate::sched::{Steady, View};
use crate::world::{Question, World};

/// A step at which the choice differs from that of the default scheduler. It has a meaning only in the program of its
/// run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deviation {
    /// Number of steps before this one, so the first step has 0.
    pub step: u64,
    /// The choice that was made.
    pub choice: Choice,
}

/// A maximal sequence of consecutive equal choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) choice: Choice,
    pub(super) count: u64,
}

/// An observer that records where a run deviates from the default scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::run, sched::RoundRobin, shrink::Departures, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "var x = 0; thread a { x += 1; x += 1 }; thread b { x += 1 }";
/// let model = Model::from_text("add.race", text, &[])?;
/// let mut departures = Departures::new();
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut RoundRobin::default(), 0, &mut departures, &AtomicBool::new(false));
/// // To b, to a, and to b: then b has ended, and a continues by default.
/// assert_eq!(departures.deviations().iter().map(|d| d.step).collect::<Vec<_>>(), [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Departures {
    steady: Steady,
    deviations: Vec<Deviation>,
    // Sequences of equal choices, each with the step at which it begins.
    segments: Vec<(u64, Choice)>,
    // The step from which on the alternatives are recorded in `others`, and their maximum number.
    survey: Option<(u64, usize)>,
    others: Vec<Deviation>,
    cut: bool,
}

impl Departures {
    /// Creates a recorder. It records one run at a time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also records the alternatives to the default choice at each step from `from` on, up to `most` of them in all.
    pub(super) fn surveying(self, from: u64, most: usize) -> Self {
        Self { survey: Some((from, most)), ..self }
    }

    /// Returns the deviations of the run so far, ascending by step.
    #[must_use]
    pub fn deviations(&self) -> &[Deviation] {
        &self.deviations
    }

    /// Returns all choices of a run of `steps` steps as segments.
    pub(super) fn segments(&self, steps: u64) -> Vec<Segment> {
        let ends = self.segments.iter().skip(1).map(|(step, _)| *step).chain([steps]);
        // The choice to stop ends the run and is no step, so its segment is empty.
        let made = self.segments.iter().zip(ends).filter(|((start, _), end)| *end > *start);
        made.map(|((start, choice), end)| Segment { choice: *choice, count: end - start }).collect()
    }

    /// Returns the alternatives that were enabled, and whether the list is complete.
    pub(super) fn others(&self) -> (&[Deviation], bool) {
        (&self.others, !self.cut)
    }

    fn keep_others(&mut self, view: &View<'_>, default: Choice) {
        let step = view.world.steps();
        let Some((_, most)) = self.survey.filter(|(from, _)| step >= *from) else { return };
        for actor in view.world.open_actors(view.openings) {
            let arguments = match view.world.question(actor).map(Question::answers) {
                None => vec![0],
                Some(Some(answers)) => (0..answers).collect(),
                Some(None) => view.world.instants(),
            };
            let choices = arguments.into_iter().map(|argument| Choice { actor, argument });
            self.others.extend(choices.filter(|c| *c != default).map(|choice| Deviation { step, choice }));
        }
        if self.others.len() > most {
            self.others.truncate(most);
            (self.survey, self.cut) = (None, true);
        }
    }
}

impl Observer for Departures {
    const EVENTS: bool = false;
    // With one enabled thread and no other actor the default scheduler chooses that thread too, so a forced step is
    // never a deviation.
    const CHOICES: ChoiceInterest = ChoiceInterest::Unforced;

    fn begin(&mut self, _: &World) {
        self.steady = Steady::default();
        self.deviations.clear();
        self.segments.clear();
        self.others.clear();
        self.cut = false;
    }

    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        let (default, step) = (self.steady.choice(view), view.world.steps());
        if choice != default {
            self.deviations.push(Deviation { step, choice });
        }
        if self.segments.last().is_none_or(|(_, last)| *last != choice) {
            self.segments.push((step, choice));
        }
        self.keep_others(view, default);
        self.steady.see(choice);
    }
}
