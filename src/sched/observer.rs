//! The trait `Observer`, which watches a run. Its public path is [`exec::Observer`](crate::exec::Observer). It is
//! defined here, below the loop of a run, so that the recorders of choices can implement it.

use super::View;
use crate::event::{Choice, Event};
use crate::world::World;

/// Watches a run. Each method does nothing by default.
///
/// The two constants say what the observer needs. A run whose observer needs neither events nor choices spends nothing
/// on them.
pub trait Observer {
    /// Whether the observer needs events. A run whose observer does not need them records none.
    const EVENTS: bool = true;

    /// Which choices the observer needs. [`choice`](Self::choice) is called for at least these, and not at all if it is
    /// [`ChoiceInterest::None`].
    const CHOICES: ChoiceInterest = ChoiceInterest::None;

    /// Starts a new run. `world` is the state before the first choice.
    fn begin(&mut self, world: &World) {
        let _ = world;
    }

    /// Receives the choice of the next step, before the step is performed. The strategy made it in this view.
    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        let _ = (view, choice);
    }

    /// Receives an event of the step that was just performed. Events arrive in order. `world` is the state after the
    /// step.
    fn event(&mut self, world: &World, event: &Event) {
        let _ = (world, event);
    }
}

/// Which choices of a run an observer needs.
///
/// A step is forced if exactly one actor is open and it is a thread. A strategy can permit that such steps are
/// performed in a burst ([`Strategy::passes_over_forced`](super::Strategy::passes_over_forced)). An observer of events
/// or of all choices prevents it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChoiceInterest {
    /// No choice.
    None,
    /// The choices of all steps that are not forced. Choices of forced steps may be missing. No missing choice has an
    /// argument.
    Unforced,
    /// The choices of all steps.
    All,
}

impl ChoiceInterest {
    /// Returns the choices that two observers with these needs require together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        if self as u8 >= other as u8 { self } else { other }
    }
}

/// An observer that needs neither events nor choices.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    const EVENTS: bool = false;
}

impl<A: Observer, B: Observer> Observer for (&mut A, &mut B) {
    const EVENTS: bool = A::EVENTS || B::EVENTS;
    const CHOICES: ChoiceInterest = A::CHOICES.with(B::CHOICES);

    fn begin(&mut self, world: &World) {
        self.0.begin(world);
        self.1.begin(world);
    }

    #[inline(always)]
    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        if !matches!(A::CHOICES, ChoiceInterest::None) {
            self.0.choice(view, choice);
        }
        if !matches!(B::CHOICES, ChoiceInterest::None) {
            self.1.choice(view, choice);
        }
    }

    fn event(&mut self, world: &World, event: &Event) {
        if A::EVENTS {
            self.0.event(world, event);
        }
        if B::EVENTS {
            self.1.event(world, event);
        }
    }
}
