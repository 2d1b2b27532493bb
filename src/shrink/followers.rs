//! Strategies that follow a given list of deviations or choices, and fall back to the default scheduler where an entry
//! is not possible.

use super::deviation::{Deviation, Segment};
use crate::event::{Actor, Choice};
use crate::sched::{Divergence, Steady, Strategy, View, answer};
use crate::world::Question;

/// The default scheduler with deviations. A deviation is skipped if its actor is not enabled at its step. An answer
/// that is not possible is replaced with the default one.
///
/// # Examples
///
/// ```
/// use raceflip::{event::{Actor, Choice, ThreadId}, exec::{NoObserver, run}};
/// use raceflip::{shrink::{DeviationFollower, Deviation}, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// // Thread a has read x, and b comes between: one preemption.
/// let deviation = Deviation { step: 1, choice: Choice { actor: Actor::Thread(ThreadId(1)), argument: 0 } };
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut DeviationFollower::new(vec![deviation]), 0, &mut NoObserver, &AtomicBool::new(false));
/// assert_eq!(machine.world.memory().cell(0), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviationFollower {
    steady: Steady,
    // Ascending by step.
    deviations: Vec<Deviation>,
    at: usize,
    argument: Option<u64>,
}

impl DeviationFollower {
    /// Creates the strategy with these deviations, ascending by step.
    #[must_use]
    pub fn new(deviations: Vec<Deviation>) -> Self {
        debug_assert!(deviations.is_sorted_by_key(|d| d.step));
        Self { steady: Steady::default(), deviations, at: 0, argument: None }
    }
}

impl Strategy for DeviationFollower {
    fn begin(&mut self, _: u64) {
        (self.steady, self.at, self.argument) = (Steady::default(), 0, None);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        self.argument = None;
        let step = view.world.steps();
        while let Some(deviation) = self.deviations.get(self.at).filter(|d| d.step <= step) {
            self.at += 1;
            if deviation.step == step && view.world.is_open(deviation.choice.actor) {
                self.argument = Some(deviation.choice.argument);
                return Ok(deviation.choice.actor);
            }
        }
        Ok(self.steady.choice(view).actor)
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(answered(view, question, self.argument))
    }

    // At a forced step no other actor can be chosen, so a deviation there has no effect. A burst continues the thread
    // that was observed last.
    fn passes_over_forced(&self) -> bool {
        true
    }

    fn observe(&mut self, _: &View<'_>, choice: Choice) {
        self.steady.see(choice);
    }
}

/// Follows a list of choices in order, skips those whose actor is not enabled, and continues as the default scheduler
/// after the end of the list.
pub(super) struct SegmentFollower {
    steady: Steady,
    segments: Vec<Segment>,
    at: usize,
    used: u64,
    argument: Option<u64>,
}

impl SegmentFollower {
    pub(super) fn new(segments: Vec<Segment>) -> Self {
        Self { steady: Steady::default(), segments, at: 0, used: 0, argument: None }
    }
}

// The strategy must see forced steps: the list contains them.
impl Strategy for SegmentFollower {
    fn begin(&mut self, _: u64) {
        (self.steady, self.at, self.used, self.argument) = (Steady::default(), 0, 0, None);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        self.argument = None;
        while let Some(Segment { choice, count }) = self.segments.get(self.at) {
            if self.used < *count && view.world.is_open(choice.actor) {
                self.used += 1;
                self.argument = Some(choice.argument);
                return Ok(choice.actor);
            }
            (self.at, self.used) = (self.at + 1, 0);
        }
        Ok(self.steady.choice(view).actor)
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(answered(view, question, self.argument))
    }

    fn observe(&mut self, _: &View<'_>, choice: Choice) {
        self.steady.see(choice);
    }
}

// Returns the wanted answer if the question permits it, else the default answer.
fn answered(view: &View<'_>, question: Question, wanted: Option<u64>) -> u64 {
    wanted.filter(|argument| question.fits(*argument, view.world.now())).unwrap_or_else(|| answer(view, question))
}
