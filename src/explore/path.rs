//! Reconstructs the run that leads to a visited state.

use super::choices::OpenChoices;
use super::ends::{EndCondition, SearchEnd, end_condition};
use super::monitor::{Monitor, ProductState};
use super::sleep::bit;
use super::{ClockMode, SearchPlan};
use crate::event::{Actor, Choice, LimitKind, Outcome};
use crate::sched::{RawChoices, Steady, View};
use crate::world::{Canonicalizer, Guest, Machine, Program, Question, Scale, Snapshot};

/// A run, given by its choices.
#[derive(Clone, Debug)]
pub struct RunChoices {
    /// Choices that repeat the run, in milliseconds.
    pub choices: RawChoices,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Number of steps of the run.
    pub steps: u64,
    /// Stall: milliseconds that pass in the run while some thread could run.
    pub stall: u64,
}

/// Returns choices, in units of the clock, that lead through states with these digests: at each state the first
/// choice that leads to the next digest.
///
/// `None` if there are none, which would be an error of the search.
pub(super) fn through<G: Snapshot, M: Monitor>(
    first: &ProductState<G, M>,
    digests: &[u128],
    clock: ClockMode,
) -> Option<Vec<Choice>> {
    through_by(first, digests, &[], clock)
}

/// Like [`through`], where the actor of each step is known: `by` are their bits ([`bit`]), 0 for one that has none. If
/// there are fewer bits than steps, the actors of the others are not known.
pub(super) fn through_by<G: Snapshot, M: Monitor>(
    first: &ProductState<G, M>,
    digests: &[u128],
    by: &[u64],
    clock: ClockMode,
) -> Option<Vec<Choice>> {
    let (mut here, mut there) = (Canonicalizer::new(), Canonicalizer::new());
    let mut choices = OpenChoices::default();
    let mut node = first.clone();
    let mut way = Vec::new();
    for (i, digest) in digests.get(1..)?.iter().enumerate() {
        let by = by.get(i).copied().unwrap_or(0);
        node.machine.canonical_in(&mut here);
        choices.list(&node.machine.world, &here, clock);
        let mut found = None;
        let last = node.machine.world.last_instant();
        'choices: for choice in &choices.all {
            if by != 0 && bit(&here, choice.actor) != by {
                continue;
            }
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
                    && clock == ClockMode::Exact
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

/// Returns the run of these choices and no more: a step limit cuts it off after them.
pub(super) fn cut_off<P: Program>(plan: &SearchPlan<'_, P>, scale: Scale, way: &[Choice]) -> Option<RunChoices> {
    let (machine, choices) = perform(plan, scale, way)?;
    let (steps, stall) = (machine.world.steps(), machine.world.stall());
    Some(RunChoices { choices, outcome: Outcome::Limit(LimitKind::Steps, steps), steps, stall })
}

// Performs the choices in milliseconds, as a run does; `None` if one of them is not open.
fn perform<P: Program>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    way: &[Choice],
) -> Option<(Machine<P::Guest>, RawChoices)> {
    let mut machine = plan.program.machine(plan.limits);
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

/// Returns the run of these choices, continued by the default scheduler ([`Steady`]) to its end.
pub(super) fn complete<P: Program>(plan: &SearchPlan<'_, P>, scale: Scale, way: &[Choice]) -> Option<RunChoices> {
    let (mut machine, mut raw) = perform(plan, scale, way)?;
    let mut steady = Steady::default();
    plan.from.iter().chain(way).for_each(|choice| steady.see(*choice));
    let outcome = loop {
        if let EndCondition::Ended(outcome) | EndCondition::Rests(outcome) = end_condition(&mut machine) {
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
    Some(RunChoices { choices: raw, outcome, steps: world.steps(), stall: world.stall() })
}

/// Returns the end of the run of these choices, and the run.
pub(super) fn end_of<P: Program>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    way: &[Choice],
) -> Option<(SearchEnd, RunChoices)> {
    let (mut machine, _) = perform(plan, scale, way)?;
    let (EndCondition::Ended(outcome) | EndCondition::Rests(outcome)) = end_condition(&mut machine) else {
        return None;
    };
    let end = SearchEnd::new(plan, &outcome, &machine.world, 0);
    Some((end, complete(plan, scale, way)?))
}

fn make<G: Guest>(machine: &mut Machine<G>, raw: &mut RawChoices, choice: Choice) {
    let world = &machine.world;
    let asked: Option<Question> = world.question(choice.actor);
    raw.add(choice, world.openings().total(), asked.is_some());
    machine.step(choice);
}
