//! The raw choices of a run: what it takes to make it again in the same program, at the cost of one word a choice.
//!
//! Nothing is kept where one actor was open, since nothing was chosen. A [`Recorder`](super::Recorder) tells more (names and check bytes, which
//! survive edits of the program) and costs more; [`ChoiceLog`] and then a recorded [`Rerun`] come to the same schedule.

use super::{Divergence, Strategy, View};
use crate::event::{Actor, Choice, EventId, ThreadId};
use crate::world::Question;
use std::sync::Arc;

/// Choices among open actors, and the arguments of those that had a question, each in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RawChoices {
    actors: Vec<u32>,
    arguments: Vec<u64>,
}

// Two bits for the kind of actor, the rest for its number.
const KINDS: u32 = 4;

fn encode(actor: Actor) -> u32 {
    match actor {
        Actor::Thread(thread) => thread.0 * KINDS,
        Actor::Event(event) => event.0 * KINDS + 1,
        Actor::Clock => 2,
        Actor::Stop => 3,
    }
}

fn decode(word: u32) -> Actor {
    match word % KINDS {
        0 => Actor::Thread(ThreadId(word / KINDS)),
        1 => Actor::Event(EventId(word / KINDS)),
        2 => Actor::Clock,
        _ => Actor::Stop,
    }
}

impl RawChoices {
    /// Adds a choice that was made where `open` actors were open; `asked` says whether it has an argument.
    pub fn add(&mut self, choice: Choice, open: usize, asked: bool) {
        if open > 1 {
            self.actors.push(encode(choice.actor));
        }
        if asked {
            self.arguments.push(choice.argument);
        }
    }

    /// How many choices were made among several actors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.actors.len()
    }

    /// Whether there was none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actors.is_empty()
    }
}

// Choices that a log has room for from the start: few runs have more, so that few ever wait for it to grow.
const ROOM: usize = 1_024;

/// A strategy that does what another does, and keeps its choices.
pub struct ChoiceLog<S> {
    inner: S,
    log: RawChoices,
}

impl<S: Strategy> ChoiceLog<S> {
    /// Records `inner`.
    pub fn new(inner: S) -> Self {
        let actors = Vec::with_capacity(ROOM);
        Self { inner, log: RawChoices { actors, arguments: Vec::new() } }
    }

    /// What it chose so far in this run.
    #[must_use]
    pub fn choices(&self) -> &RawChoices {
        &self.log
    }
}

impl<S: Strategy> Strategy for ChoiceLog<S> {
    fn begin(&mut self, seed: u64) {
        self.inner.begin(seed);
        self.log.actors.clear();
        self.log.arguments.clear();
    }

    #[inline]
    fn passes_over_forced(&self) -> bool {
        self.inner.passes_over_forced()
    }

    #[inline(always)]
    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let actor = self.inner.choose(view)?;
        if view.openings.total() > 1 {
            self.log.actors.push(encode(actor));
        }
        Ok(actor)
    }

    #[inline(always)]
    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        let argument = self.inner.argument(view, actor, question)?;
        self.log.arguments.push(argument);
        Ok(argument)
    }

    #[inline(always)]
    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.inner.observe(view, choice);
    }
}

/// Makes raw choices again, in the program that they come from.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::{ChoiceLog, RandomWalk, Rerun}, vm::Model, world::Limits};
/// # use std::sync::{Arc, atomic::AtomicBool};
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut log = ChoiceLog::new(RandomWalk::new());
/// let drawn = run(&mut machine, &mut log, 3, &mut Unobserved, &stop);
/// let mut rerun = Rerun::new(Arc::new(log.choices().clone()));
/// assert_eq!(run(&mut machine, &mut rerun, 0, &mut Unobserved, &stop), drawn);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Rerun {
    choices: Arc<RawChoices>,
    actor: usize,
    argument: usize,
}

impl Rerun {
    /// Makes these choices, in every run.
    #[must_use]
    pub fn new(choices: Arc<RawChoices>) -> Self {
        Self { choices, actor: 0, argument: 0 }
    }

    fn differs(view: &View<'_>, expected: String) -> Box<Divergence> {
        let found =
            format!("{} open actors, and not this choice: another program, or other limits", view.openings.total());
        Box::new(Divergence { step: view.world.steps(), expected, found })
    }
}

impl Strategy for Rerun {
    fn begin(&mut self, _: u64) {
        (self.actor, self.argument) = (0, 0);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        if view.openings.total() == 1 {
            return Ok(view.world.open_actor(&view.openings, 0));
        }
        let word = self.choices.actors.get(self.actor).copied();
        self.actor += 1;
        match word.map(decode) {
            Some(actor) if view.world.is_open(actor) => Ok(actor),
            Some(actor) => Err(Self::differs(view, format!("{actor:?}"))),
            None => Err(Self::differs(view, "the end of the choices".to_owned())),
        }
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        let argument = self.choices.arguments.get(self.argument).copied();
        self.argument += 1;
        argument.ok_or_else(|| Self::differs(view, format!("no {question:?}")))
    }
}
