//! From a state that was visited to the run that comes to it.

use super::choices::Choices;
use super::ends::{Standing, standing};
use super::monitor::{Monitor, Node};
use super::{Clock, Plan};
use crate::event::{Actor, Choice, LimitKind, Outcome};
use crate::sched::{RawChoices, Steady, View};
use crate::vm::Vm;
use crate::world::{Canonicalizer, Machine, Question, Scale};

/// A run, by its choices.
#[derive(Clone, Debug)]
pub struct Way {
    /// What makes it again, in milliseconds.
    pub choices: RawChoices,
    /// How it ends.
    pub outcome: Outcome,
    /// Its steps.
    pub steps: u64,
    /// Milliseconds that pass in it while some thread could run.
    pub stall: u64,
}

/// The choices, in units of the clock, that lead through states of these digests: at each the first one that does.
///
/// `None` if there are none: that would be a mistake of the search.
pub(super) fn through<M: Monitor>(first: &Node<M>, digests: &[u128], clock: Clock) -> Option<Vec<Choice>> {
    let (mut here, mut there) = (Canonicalizer::new(), Canonicalizer::new());
    let mut choices = Choices::default();
    let mut node = first.clone();
    let mut way = Vec::new();
    for digest in digests.get(1..)? {
        node.machine.canonical_in(&mut here);
        choices.list(&node.machine.world, &here, clock);
        let mut found = None;
        let last = node.machine.world.last_instant();
        'choices: for choice in &choices.all {
            let mut next = node.clone();
            let mut choice = *choice;
            loop {
                if !next.follow(choice) {
                    break;
                }
                if next.digest(&mut there) == *digest {
                    found = Some((choice, next));
                    break 'choices;
                }
                // All ticks in a row are one step.
                let goes_on = choice.actor == Actor::Clock
                    && clock == Clock::Exact
                    && next.machine.world.outcome().is_none()
                    && next.machine.world.now() < last;
                if !goes_on {
                    break;
                }
                choice.argument += 1;
            }
        }
        let (choice, next) = found?;
        way.push(choice);
        node = next;
    }
    Some(way)
}

/// The run that makes these choices and no more: a limit of steps cuts it off there.
pub(super) fn cut_off(plan: &Plan<'_>, scale: Scale, way: &[Choice]) -> Option<Way> {
    let (machine, choices) = perform(plan, scale, way)?;
    let (steps, stall) = (machine.world.steps(), machine.world.stall());
    Some(Way { choices, outcome: Outcome::Limit(LimitKind::Steps, steps), steps, stall })
}

// In milliseconds.
fn perform(plan: &Plan<'_>, scale: Scale, way: &[Choice]) -> Option<(Machine<Vm>, RawChoices)> {
    let mut machine = plan.model.machine(plan.limits);
    machine.start(false);
    let mut raw = RawChoices::default();
    let in_milliseconds = |choice: &Choice| match choice.actor {
        Actor::Clock => Choice { argument: scale.milliseconds(choice.argument), ..*choice },
        _ => *choice,
    };
    for choice in plan.from.iter().copied().chain(way.iter().map(in_milliseconds)) {
        if machine.world.outcome().is_some() || !machine.world.is_open(choice.actor) {
            return None;
        }
        make(&mut machine, &mut raw, choice);
    }
    Some((machine, raw))
}

/// The run that makes these choices, and then goes on by the default scheduler ([`Steady`]) to its end.
pub(super) fn complete(plan: &Plan<'_>, scale: Scale, way: &[Choice]) -> Option<Way> {
    let (mut machine, mut raw) = perform(plan, scale, way)?;
    let mut steady = Steady::default();
    plan.from.iter().chain(way).for_each(|choice| steady.see(*choice));
    let outcome = loop {
        if let Standing::Ended(outcome) | Standing::Rests(outcome) = standing(&mut machine) {
            let openings = machine.world.openings();
            if machine.world.outcome().is_none() && openings.stop() {
                raw.add(Choice { actor: Actor::Stop, argument: 0 }, openings.total(), false);
            }
            break outcome;
        }
        if machine.world.steps() >= plan.limits.steps {
            break Outcome::Limit(LimitKind::Steps, plan.limits.steps);
        }
        let world = &machine.world;
        let choice = steady.choice(&View { world, openings: world.openings() });
        make(&mut machine, &mut raw, choice);
        steady.see(choice);
    };
    let world = &machine.world;
    Some(Way { choices: raw, outcome, steps: world.steps(), stall: world.stall() })
}

fn make(machine: &mut Machine<Vm>, raw: &mut RawChoices, choice: Choice) {
    let world = &machine.world;
    let asked: Option<Question> = world.question(choice.actor);
    raw.add(choice, world.openings().total(), asked.is_some());
    machine.step(choice);
}
