//! Reconstructs the run that leads to a visited state.

use super::choices::OpenChoices;
use super::ends::{EndCondition, SearchEnd, end_condition};
use super::finds::Sight;
use super::monitor::{Monitor, ProductState};
use super::searched::SearchState;
use super::sleep::bit;
use super::{ClockMode, SearchPlan};
use crate::event::{Actor, Choice, LimitKind, Outcome};
use crate::sched::{RawChoices, Steady, View};
use crate::world::{Canonicalizer, Guest, Machine, Program, Question, Scale, Snapshot};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::Xxh3Builder;

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

/// Returns a shortest run to a visited state, continued to an end.
pub(super) fn way<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    searched: &SearchState<P::Guest, M>,
    to: Sight,
) -> RunChoices {
    let found = BTreeMap::from([((), to)]);
    ways(plan, scale, searched, &found).into_values().next().expect("one thing was found")
}

/// Returns for each thing that was found a shortest run to its state, continued to an end.
pub(super) fn ways<K: Ord + Clone, P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    searched: &SearchState<P::Guest, M>,
    found: &BTreeMap<K, Sight>,
) -> BTreeMap<K, RunChoices> {
    // What was found in one state, or in neighbours, comes one after the other, so that the ways begin alike.
    let mut found: Vec<(&K, Sight)> = found.iter().map(|(what, at)| (what, *at)).collect();
    found.sort_by_key(|(_, sight)| (searched.table.parent(sight.at), *sight));
    let Some((_, first)) = found.first() else { return BTreeMap::new() };
    let start = searched.table.way(first.at)[0];
    let mut finder = WayFinder::new(&searched.first, start, plan.clock);
    let mut way = |to: Sight| {
        let choices = finder.way(&searched.table.way(to.at));
        let choices = choices.expect("a search finds its way again to what it has visited");
        complete(plan, scale, &choices).expect("a way in units of the clock is one in milliseconds")
    };
    found.into_iter().map(|(what, sight)| (what.clone(), way(sight))).collect()
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
        let of_actor = choices.all.iter().filter(|choice| by == 0 || bit(&here, choice.actor) == by);
        let mut led = of_actor.flat_map(|choice| followed(&node, *choice, clock));
        let found = led.find(|(_, next)| next.digest(&mut there) == *digest);
        drop(led);
        let (choice, next) = found?;
        way.push(choice);
        node = next;
    }
    Some(way)
}

/// Finds ways to many states, one after the other, as [`through`] does. What a way has in common with the one before is
/// not followed again, and no choice of a common state is tried twice.
pub(super) struct WayFinder<G, M> {
    clock: ClockMode,
    // The states of the last way.
    places: Vec<Place<G, M>>,
    scratch: (Canonicalizer, Canonicalizer, OpenChoices),
}

struct Place<G, M> {
    digest: u128,
    node: ProductState<G, M>,
    // The choice that led here; none led to the first state.
    choice: Option<Choice>,
    // The choices of this state that were not tried yet, the next one last; `None` if they were not listed.
    open: Option<Vec<Choice>>,
    // What the tried choices lead to, and the first choice that does.
    known: IndexMap<u128, Choice, Xxh3Builder>,
}

impl<G: Snapshot, M: Monitor> WayFinder<G, M> {
    pub(super) fn new(first: &ProductState<G, M>, digest: u128, clock: ClockMode) -> Self {
        let first = Place { digest, node: first.clone(), choice: None, open: None, known: IndexMap::default() };
        Self {
            clock,
            places: vec![first],
            scratch: (Canonicalizer::new(), Canonicalizer::new(), OpenChoices::default()),
        }
    }

    /// Returns choices that lead through states with these digests, as [`through`] does.
    pub(super) fn way(&mut self, digests: &[u128]) -> Option<Vec<Choice>> {
        let common = self.places.iter().zip(digests).take_while(|(place, digest)| place.digest == **digest).count();
        self.places.truncate(common);
        for digest in digests.get(common..)? {
            let place = self.places.last_mut()?;
            let choice = place.choice_to(*digest, self.clock, &mut self.scratch)?;
            let mut node = place.node.clone();
            node.follow(choice);
            let known = IndexMap::default();
            self.places.push(Place { digest: *digest, node, choice: Some(choice), open: None, known });
        }
        Some(self.places.iter().filter_map(|place| place.choice).collect())
    }
}

impl<G: Snapshot, M: Monitor> Place<G, M> {
    fn choice_to(
        &mut self,
        digest: u128,
        clock: ClockMode,
        (here, there, choices): &mut (Canonicalizer, Canonicalizer, OpenChoices),
    ) -> Option<Choice> {
        let open = self.open.get_or_insert_with(|| {
            self.node.machine.canonical_in(here);
            choices.list(&self.node.machine.world, here, clock);
            choices.all.iter().rev().copied().collect()
        });
        loop {
            if let Some(choice) = self.known.get(&digest) {
                return Some(*choice);
            }
            for (choice, next) in followed(&self.node, open.pop()?, clock) {
                self.known.entry(next.digest(there)).or_insert(choice);
            }
        }
    }
}

// Returns the states to which a choice leads. All ticks in a row are one step, so a tick leads to several.
fn followed<G: Snapshot, M: Monitor>(
    from: &ProductState<G, M>,
    choice: Choice,
    clock: ClockMode,
) -> impl Iterator<Item = (Choice, ProductState<G, M>)> {
    let last = from.machine.world.last_instant();
    let first = {
        let mut next = from.clone();
        next.follow(choice).then_some((choice, next))
    };
    std::iter::successors(first, move |(choice, next)| {
        let goes_on = choice.actor == Actor::Clock
            && clock == ClockMode::Exact
            && next.machine.world.outcome().is_none()
            && next.machine.world.now() < last;
        let choice = Choice { argument: choice.argument + 1, ..*choice };
        let mut next = next.clone();
        (goes_on && next.follow(choice)).then_some((choice, next))
    })
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
