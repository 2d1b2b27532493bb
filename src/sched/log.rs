//! The raw choices of a run: they suffice to repeat it in the same program and cost one word per choice.
//!
//! A step with only one open actor is not stored, since it is no choice. A
//! [`ScheduleRecorder`](super::ScheduleRecorder) stores more (names and check bytes, which survive edits of the
//! program) and costs more. A [`ChoiceLog`] and then a recorded [`Rerun`] give the same schedule.

use super::observer::{ChoiceInterest, Observer};
use super::{Divergence, Strategy, View};
use crate::base::Digester;
use crate::event::{Actor, Choice, EventId, ThreadId};
use crate::world::{Question, World};
use std::sync::Arc;

/// The choices of a run among several open actors, and the arguments of its steps, each in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RawChoices {
    actors: Vec<u32>,
    arguments: Vec<u64>,
}

// The two low bits of a word hold the kind of actor, the others its number.
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
    /// Adds a choice among `open` open actors. `asked` says whether the step has an argument.
    #[inline]
    pub fn add(&mut self, choice: Choice, open: usize, asked: bool) {
        if open > 1 {
            self.actors.push(encode(choice.actor));
        }
        if asked {
            self.arguments.push(choice.argument);
        }
    }

    /// Returns the number of choices among several actors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.actors.len()
    }

    /// Returns the choices as numbers: one for each choice among several actors, and the arguments.
    #[must_use]
    pub fn numbers(&self) -> (&[u32], &[u64]) {
        (&self.actors, &self.arguments)
    }

    /// Returns the choices with these [`numbers`](Self::numbers). A [`Rerun`] of choices that do not fit the program
    /// ends with a divergence.
    #[must_use]
    pub fn from_numbers(actors: Vec<u32>, arguments: Vec<u64>) -> Self {
        Self { actors, arguments }
    }

    /// Returns a digest of the choices, for a run of this many steps.
    #[must_use]
    pub fn digest(&self, steps: u64) -> u128 {
        let mut digester = Digester::new();
        digester.word(steps).word(self.actors.len() as u64);
        self.actors.iter().for_each(|actor| _ = digester.word(u64::from(*actor)));
        self.arguments.iter().for_each(|argument| _ = digester.word(*argument));
        digester.finish()
    }

    /// Returns whether there was no choice among several actors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actors.is_empty()
    }
}

// Initial capacity of a log. Few runs have more choices, so a log rarely has to grow.
const ROOM: usize = 1_024;

/// An observer that records the raw choices of a run.
pub struct ChoiceLog {
    log: RawChoices,
}

impl ChoiceLog {
    /// Creates a log. It keeps one run at a time.
    #[must_use]
    pub fn new() -> Self {
        Self { log: RawChoices { actors: Vec::with_capacity(ROOM), arguments: Vec::new() } }
    }

    /// Returns the choices of this run so far.
    #[must_use]
    pub fn choices(&self) -> &RawChoices {
        &self.log
    }
}

impl Default for ChoiceLog {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for ChoiceLog {
    const EVENTS: bool = false;
    const CHOICES: ChoiceInterest = ChoiceInterest::Unforced;

    fn begin(&mut self, _: &World) {
        self.log.actors.clear();
        self.log.arguments.clear();
    }

    #[inline(always)]
    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        self.log.add(choice, view.openings.total(), view.world.question(choice.actor).is_some());
    }
}

/// Repeats raw choices in the program that they come from.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::{ChoiceLog, RandomWalk, Rerun}, vm::Model, world::Limits};
/// # use std::sync::{Arc, atomic::AtomicBool};
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut log = ChoiceLog::new();
/// let drawn = run(&mut machine, &mut RandomWalk::new(), 3, &mut log, &stop);
/// let mut rerun = Rerun::new(Arc::new(log.choices().clone()));
/// assert_eq!(run(&mut machine, &mut rerun, 0, &mut NoObserver, &stop), drawn);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Rerun {
    choices: Arc<RawChoices>,
    actor: usize,
    argument: usize,
}

impl Rerun {
    /// Creates a strategy that repeats these choices in every run.
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

    // A forced step is no choice, so the log has no entry for it.
    fn passes_over_forced(&self) -> bool {
        true
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        let argument = self.choices.arguments.get(self.argument).copied();
        self.argument += 1;
        argument.ok_or_else(|| Self::differs(view, format!("no {question:?}")))
    }
}
