//! A guide is a run in terms that mean the same in every run, for another run to follow as far as it can.
//!
//! A replay stops where a choice does not fit. A guide serves runs that differ from it in one point: an actor that
//! cannot act at its place in the guide is passed over and acts later.

use super::View;
use super::moment::Pedigree;
use super::observer::{ChoiceInterest, Observer};
use crate::base::Id;
use crate::event::{Actor, Choice, EventId, ThreadId};
use crate::world::World;
use std::collections::VecDeque;

/// An actor of a guide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GuideActor {
    // A thread, as its index in `Guide::threads`.
    Thread(u32),
    Event(EventId),
    Clock,
    Stop,
}

/// A run to follow: the pedigrees of its threads, and its choices.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Guide {
    threads: Vec<Pedigree>,
    steps: Vec<(GuideActor, u64)>,
}

/// An observer that records a run as a [`Guide`].
#[derive(Default)]
pub struct GuideRecorder {
    guide: Guide,
    // For each thread of this run, its index in the guide.
    known: Vec<Option<u32>>,
}

impl GuideRecorder {
    /// Creates a recorder. It records one run at a time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the run so far.
    #[must_use]
    pub fn guide(self) -> Guide {
        self.guide
    }

    fn number(&mut self, world: &World, thread: ThreadId) -> u32 {
        let at = thread.index();
        if self.known.len() <= at {
            self.known.resize(at + 1, None);
        }
        let threads = &mut self.guide.threads;
        *self.known[at].get_or_insert_with(|| {
            threads.push(world.contexts().chain(world.thread(thread).home));
            threads.len() as u32 - 1
        })
    }
}

impl Observer for GuideRecorder {
    const EVENTS: bool = false;
    const CHOICES: ChoiceInterest = ChoiceInterest::All;

    fn begin(&mut self, _: &World) {
        self.guide = Guide::default();
        self.known.clear();
    }

    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        let who = match choice.actor {
            Actor::Thread(thread) => GuideActor::Thread(self.number(view.world, thread)),
            Actor::Event(event) => GuideActor::Event(event),
            Actor::Clock => GuideActor::Clock,
            Actor::Stop => GuideActor::Stop,
        };
        self.guide.steps.push((who, choice.argument));
    }
}

/// The progress of a run that follows a guide.
#[derive(Clone, Default)]
pub(super) struct GuideProgress {
    // Steps of the guide that have not been performed yet.
    left: VecDeque<(GuideActor, u64)>,
    // For each thread of the guide, the thread of this run, once it exists.
    threads: Vec<Option<ThreadId>>,
}

// Maximum number of steps to look at. If none of so many steps of the guide is possible, the run has nothing left in
// common with it.
const MOST_PASSED: usize = 4_096;

impl GuideProgress {
    pub(super) fn begin(&mut self, guide: &Guide) {
        self.left.clear();
        self.left.extend(guide.steps.iter().copied());
        self.threads.clear();
        self.threads.resize(guide.threads.len(), None);
    }

    fn actor(&mut self, guide: &Guide, world: &World, who: GuideActor) -> Option<Actor> {
        Some(match who {
            GuideActor::Thread(n) => {
                let thread = &mut self.threads[n as usize];
                if thread.is_none() {
                    let is = |t: &ThreadId| world.contexts().is(world.thread(*t).home, &guide.threads[n as usize]);
                    *thread = world.threads().ids().find(is);
                }
                Actor::Thread((*thread)?)
            }
            GuideActor::Event(event) => Actor::Event(event),
            GuideActor::Clock => Actor::Clock,
            GuideActor::Stop => return None,
        })
    }

    /// Returns the actor of the first remaining step of the guide whose actor is open and not `held`.
    pub(super) fn next(&mut self, guide: &Guide, view: &View<'_>, held: &[Actor]) -> Option<Actor> {
        for i in 0..self.left.len().min(MOST_PASSED) {
            let (who, _) = self.left[i];
            let actor = self.actor(guide, view.world, who).filter(|a| !held.contains(a) && view.world.is_open(*a));
            if actor.is_some() {
                return actor;
            }
        }
        None
    }

    /// Returns the argument of the actor's next step in the guide.
    pub(super) fn argument(&mut self, guide: &Guide, world: &World, actor: Actor) -> Option<u64> {
        let at = self.position(guide, world, actor)?;
        Some(self.left[at].1)
    }

    fn position(&mut self, guide: &Guide, world: &World, actor: Actor) -> Option<usize> {
        (0..self.left.len().min(MOST_PASSED)).find(|i| self.actor(guide, world, self.left[*i].0) == Some(actor))
    }

    /// Removes the actor's next step from the guide: the actor performs it now.
    pub(super) fn observe(&mut self, guide: &Guide, world: &World, actor: Actor) {
        if let Some(at) = self.position(guide, world, actor) {
            self.left.remove(at);
        }
    }
}
