//! A run as the list of its deviations from the default scheduler: preemptions, reorderings, answers that are not the first.

use crate::event::{Actor, Choice};
use crate::sched::{Divergence, Steady, Strategy, View};
use crate::world::Question;

/// A step at which another choice was made than the default scheduler makes. It means something in the program that it comes from, and only there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deviation {
    /// The step, counted from 0.
    pub step: u64,
    /// What was chosen.
    pub choice: Choice,
}

/// Equal choices in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) choice: Choice,
    pub(super) count: u64,
}

/// A strategy that does what another does, and keeps where that deviates from the default.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::RoundRobin, shrink::Departures, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "var x = 0; thread a { x += 1; x += 1 }; thread b { x += 1 }";
/// let model = Model::from_text("add.race", text, &[])?;
/// let mut departures = Departures::new(RoundRobin::default());
/// run(&mut model.machine(Limits::default()), &mut departures, 0, &mut Unobserved, &AtomicBool::new(false));
/// // To b, to a, and to b: then b has ended, and a goes on by default.
/// assert_eq!(departures.deviations().iter().map(|d| d.step).collect::<Vec<_>>(), [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Departures<S> {
    inner: S,
    steady: Steady,
    deviations: Vec<Deviation>,
    // Each with the step of its first.
    segments: Vec<(u64, Choice)>,
    // From which step on other choices are kept, and at most how many.
    survey: Option<(u64, usize)>,
    others: Vec<Deviation>,
    cut: bool,
}

impl<S: Strategy> Departures<S> {
    /// Watches `inner`.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            steady: Steady::default(),
            deviations: Vec::new(),
            segments: Vec::new(),
            survey: None,
            others: Vec::new(),
            cut: false,
        }
    }

    /// The same, and keeps each deviation that would have been open from this step on, up to `most`.
    pub(super) fn surveying(self, from: u64, most: usize) -> Self {
        Self { survey: Some((from, most)), ..self }
    }

    /// Where the run deviated so far, ascending.
    #[must_use]
    pub fn deviations(&self) -> &[Deviation] {
        &self.deviations
    }

    /// The strategy.
    #[must_use]
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// All choices of a run that took so many steps.
    pub(super) fn segments(&self, steps: u64) -> Vec<Segment> {
        let ends = self.segments.iter().skip(1).map(|(step, _)| *step).chain([steps]);
        // The end of a run is no step.
        let made = self.segments.iter().zip(ends).filter(|((start, _), end)| *end > *start);
        made.map(|((start, choice), end)| Segment { choice: *choice, count: end - start }).collect()
    }

    /// The deviations that would have been open, and whether these are all.
    pub(super) fn others(&self) -> (&[Deviation], bool) {
        (&self.others, !self.cut)
    }

    fn keep_others(&mut self, view: &View<'_>, default: Choice) {
        let step = view.world.steps();
        let Some((_, most)) = self.survey.filter(|(from, _)| step >= *from) else { return };
        for actor in view.world.open_actors(view.openings) {
            let arguments = match view.world.question(actor) {
                None => vec![0],
                Some(Question::Branch) => vec![0, 1],
                Some(Question::Waiter(waiters)) => (0..waiters as u64).collect(),
                Some(Question::Instant) => view.world.instants(),
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

impl<S: Strategy> Strategy for Departures<S> {
    fn begin(&mut self, seed: u64) {
        self.inner.begin(seed);
        self.steady = Steady::default();
        self.deviations.clear();
        self.segments.clear();
        self.others.clear();
        self.cut = false;
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        self.inner.choose(view)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.inner.argument(view, actor, question)
    }

    // Where one thread is open and nothing else, that is the default.
    fn passes_over_forced(&self) -> bool {
        self.inner.passes_over_forced()
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.inner.observe(view, choice);
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
