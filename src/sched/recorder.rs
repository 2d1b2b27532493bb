//! Records the choices of a run and names their actors after the run.

use super::View;
use super::names::ContextNames;
use super::observer::{ChoiceInterest, Observer};
use super::schedule::{ActorName, CheckBytes, Schedule, about_to};
use crate::event::{Actor, Choice, EventId, InstanceId, SiteId};
use crate::world::World;
use std::collections::BTreeMap;

/// An observer that records the choices of a run with what a token needs.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::run, sched::{RandomWalk, ScheduleRecorder}, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut recorder = ScheduleRecorder::new();
/// let summary = run(&mut machine, &mut RandomWalk::new(), 3, &mut recorder, &stop);
/// let schedule = recorder.schedule(&machine.world);
/// assert!(schedule.len() >= summary.steps);
/// let names: Vec<String> = (0..schedule.actors.len()).map(|a| schedule.actor_name(a as u32)).collect();
/// assert!(names.contains(&"thread a".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct ScheduleRecorder {
    log: Vec<ChoiceRun>,
}

/// Equal choices in a row. Names and check bytes are computed on demand, after the run: they do not change during a
/// run.
#[derive(Clone, Copy)]
struct ChoiceRun {
    pending: PendingStatement,
    // Argument of the choice. Of a row of a component it is the number of the instance in the run.
    argument: u64,
    count: u64,
}

/// An actor, and the operation that was pending at it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PendingStatement {
    actor: Actor,
    site: Option<SiteId>,
    word: &'static str,
}

impl PendingStatement {
    // The instance for which a row of a component is fired, by the recorded argument. `None` for any other choice.
    fn instance(&self, world: &World, argument: u64) -> Option<InstanceId> {
        match self.actor {
            Actor::Event(event) if world.is_row(event) => Some(InstanceId(argument as u32)),
            _ => None,
        }
    }
}

// The number of the instance that the argument of a firing means; the argument itself for an event that is no row.
fn instance_number(world: &World, event: EventId, argument: u64) -> u64 {
    world.open_for(event).get(argument as usize).map_or(argument, |instance| u64::from(instance.0))
}

impl ScheduleRecorder {
    /// Creates a recorder. It records one run at a time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the choices of this run so far. `world` must be the state that they led to.
    #[must_use]
    pub fn schedule(&self, world: &World) -> Schedule {
        let mut schedule = Schedule::default();
        // The index of each actor in the schedule.
        let mut actors: BTreeMap<(Actor, Option<InstanceId>), u32> = BTreeMap::new();
        let mut known = ContextNames::default();
        let mut checks = CheckBytes::default();
        for ChoiceRun { pending, argument, count } in &self.log {
            // The name of the instance stands for the argument, so that it means the same in every run.
            let instance = pending.instance(world, *argument);
            let argument = if instance.is_some() { 0 } else { *argument };
            let at = *actors.entry((pending.actor, instance)).or_insert_with(|| {
                let name = match pending.actor {
                    Actor::Thread(thread) => ActorName::Thread(known.add(world, thread, &mut schedule.names)),
                    Actor::Event(event) => ActorName::Event(world.event_name(event, instance)),
                    Actor::Clock => ActorName::Clock,
                    Actor::Stop => ActorName::Stop,
                };
                schedule.actors.push(name);
                schedule.actors.len() as u32 - 1
            });
            let check = checks.of(at as usize, world, &schedule, (pending.site, pending.word));
            schedule.push(at, argument, check, *count);
        }
        schedule
    }
}

impl Observer for ScheduleRecorder {
    const EVENTS: bool = false;
    const CHOICES: ChoiceInterest = ChoiceInterest::All;

    fn begin(&mut self, _: &World) {
        self.log.clear();
    }

    #[inline(always)]
    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        let (site, word) = about_to(view.world, choice.actor);
        let pending = PendingStatement { actor: choice.actor, site, word };
        let argument = match choice.actor {
            Actor::Event(event) => instance_number(view.world, event, choice.argument),
            _ => choice.argument,
        };
        match self.log.last_mut() {
            Some(last) if last.pending == pending && last.argument == argument => last.count += 1,
            _ => self.log.push(ChoiceRun { pending, argument, count: 1 }),
        }
    }
}
