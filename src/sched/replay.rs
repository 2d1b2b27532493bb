//! Replays a schedule and stops at the first choice that does not fit.

use super::names::{ContextNames, NameId};
use super::schedule::{ActorName, CheckBytes, Schedule, about_to, actor_name, describe};
use super::{Strategy, View};
use crate::event::{Actor, Choice, InstanceId, ThreadId};
use crate::world::{Question, World};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The point at which a replay left its recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the replay left its recording at step {step}: expected {expected}, found {found}")]
pub struct Divergence {
    /// The step of the divergence, from 0.
    pub step: u64,
    /// The choice of the recording at that step.
    pub expected: String,
    /// The state of the run at that step.
    pub found: String,
}

/// A strategy that replays recorded choices.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{LoopEnd, NoObserver, run}, sched::{ScheduleRecorder, Replay, RoundRobin}, vm::Model, world::Limits};
/// # use std::sync::{Arc, atomic::AtomicBool};
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut recorder = ScheduleRecorder::new();
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut RoundRobin::default(), 0, &mut recorder, &stop);
/// let mut replay = Replay::new(Arc::new(recorder.schedule(&machine.world)));
///
/// // In a model without thread `b` it stops, and says where.
/// let other = Model::from_text("add.race", "var x = 0; thread a { x += 1 }", &[])?;
/// let summary = run(&mut other.machine(Limits::default()), &mut replay, 0, &mut NoObserver, &stop);
/// let LoopEnd::Diverged(divergence) = summary.end else { panic!("it must diverge") };
/// assert_eq!((divergence.step, &divergence.expected[..]), (1, "thread b"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Replay {
    schedule: Arc<Schedule>,
    at: usize,
    used: u64,
    argument: u64,
    // For each actor of the schedule the actor of this run, once it exists. A thread's index does not change within a
    // run.
    actors: Vec<Option<Actor>>,
    // For each actor of the schedule that is a row of a component: the instance, once it exists.
    instances: Vec<Option<InstanceId>>,
    // The threads whose names have been looked up. Each thread is looked up once.
    threads: BTreeMap<NameId, ThreadId>,
    known: ContextNames,
    asked: usize,
    checks: CheckBytes,
}

impl Replay {
    /// Creates a replay of this schedule.
    #[must_use]
    pub fn new(schedule: Arc<Schedule>) -> Self {
        Self {
            schedule,
            at: 0,
            used: 0,
            argument: 0,
            actors: Vec::new(),
            instances: Vec::new(),
            threads: BTreeMap::new(),
            known: ContextNames::default(),
            asked: 0,
            checks: CheckBytes::default(),
        }
    }

    /// Returns the divergence of a run that ended before its recording did. `None` if no choice is left.
    #[must_use]
    pub fn left_over(&self, step: u64) -> Option<Divergence> {
        let next = self.schedule.choices.get(self.at)?;
        Some(Divergence { step, expected: self.schedule.actor_name(next.actor), found: "the run has ended".to_owned() })
    }

    /// Returns the actor with this number in the schedule, if it exists. The lookup is repeated until it does.
    pub(super) fn actor_of(&mut self, world: &World, number: usize) -> Option<Actor> {
        if self.actors[number].is_none() {
            let schedule = self.schedule.clone();
            self.actors[number] = self.named(world, &schedule.actors[number], number);
        }
        self.actors[number]
    }

    /// Returns the argument of a choice of the actor with this number, of which `argument` was recorded. `None`
    /// if the actor is a row of a component that is not open for its instance.
    pub(super) fn argument_of(&self, world: &World, number: usize, argument: u64) -> Option<u64> {
        match (self.actors[number], self.instances[number]) {
            (Some(Actor::Event(row)), Some(instance)) => {
                world.open_for(row).iter().position(|open| *open == instance).map(|at| at as u64)
            }
            _ => Some(argument),
        }
    }

    fn named(&mut self, world: &World, wanted: &ActorName, number: usize) -> Option<Actor> {
        match wanted {
            ActorName::Thread(name) => {
                for thread in world.threads().ids().skip(self.asked) {
                    // Of two threads with the same name the older one is meant.
                    if let Some(name) = self.known.find(world, thread, &self.schedule.names) {
                        self.threads.entry(name).or_insert(thread);
                    }
                }
                self.asked = world.threads().len();
                self.threads.get(name).copied().map(Actor::Thread)
            }
            ActorName::Event(event) => {
                if let Some((row, instance)) = world.row_named(event) {
                    self.instances[number] = Some(instance);
                    return Some(Actor::Event(row));
                }
                let mut events = world.setup().events.enumerate().filter(|(id, _)| !world.is_row(*id));
                events.find(|(_, e)| e.name == *event).map(|(id, _)| Actor::Event(id))
            }
            ActorName::Clock => Some(Actor::Clock),
            ActorName::Stop => Some(Actor::Stop),
        }
    }
}

// Text for the first few open actors, for messages.
fn open(view: &View<'_>) -> String {
    const SHOWN: usize = 4;
    let total = view.openings.total();
    let mut all: Vec<String> = (0..total.min(SHOWN))
        .map(|k| {
            let actor = view.world.open_actor(&view.openings, k);
            match actor {
                Actor::Clock => actor_name(view.world, actor),
                actor => describe(view.world, Choice { actor, argument: 0 }),
            }
        })
        .collect();
    if total > SHOWN {
        all.push(format!("{} more", total - SHOWN));
    }
    all.join("; ")
}

// A replay must see forced steps: the recording contains them.
impl Strategy for Replay {
    fn begin(&mut self, _: u64) {
        (self.at, self.used, self.argument) = (0, 0, 0);
        self.actors = vec![None; self.schedule.actors.len()];
        self.instances = vec![None; self.schedule.actors.len()];
        self.threads.clear();
        self.known.clear();
        self.asked = 0;
        self.checks.clear();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let world = view.world;
        let diverged =
            |expected: String, found: String| Err(Box::new(Divergence { step: world.steps(), expected, found }));
        let schedule = self.schedule.clone();
        let Some(next) = schedule.choices.get(self.at).copied() else {
            return diverged("the end of the run".to_owned(), format!("open choices: {}", open(view)));
        };
        let wanted = || schedule.actor_name(next.actor);
        let number = next.actor as usize;
        let Some(actor) = self.actor_of(world, number) else {
            return diverged(wanted(), format!("there is no {}; open: {}", wanted(), open(view)));
        };
        let argument = self.argument_of(world, number, next.argument).filter(|_| world.is_open(actor));
        let Some(argument) = argument else {
            return diverged(format!("{} to go on", wanted()), format!("it cannot; open: {}", open(view)));
        };
        if self.checks.of(number, world, &schedule, about_to(world, actor)) != next.check {
            let found = describe(world, Choice { actor, argument: next.argument });
            return diverged(format!("{} at another operation", wanted()), found);
        }
        if next.argument != 0 && world.question(actor).is_none() {
            let found = "there is nothing to choose".to_owned();
            return diverged(format!("{} to choose with argument {}", wanted(), next.argument), found);
        }
        self.argument = argument;
        self.used += 1;
        if self.used == next.count {
            self.at += 1;
            self.used = 0;
        }
        Ok(actor)
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        if question.fits(self.argument, view.world.now()) {
            return Ok(self.argument);
        }
        let found = match question {
            Question::Waiter(n) => format!("{n} threads wait"),
            Question::Instance(n) => format!("{n} instances"),
            Question::Case(n) => format!("{n} cases can go"),
            Question::Branch => "a branch".to_owned(),
            Question::Value { values, .. } => format!("{values} values to choose from"),
            Question::Instant => format!("the clock is already at {} ms", view.world.now()),
        };
        let expected = format!("a choice with argument {}", self.argument);
        Err(Box::new(Divergence { step: view.world.steps(), expected, found }))
    }
}
