//! The definition of a stubborn set, tried on random walks. Debug builds do this in some of the states.

use super::ClockMode;
use super::choices::OpenChoices;
use super::stubborn::StubbornSets;
use crate::base::{Rng, mix};
use crate::event::{Actor, Choice};
use crate::world::{Canonicalizer, Machine, Snapshot, signature};

// Each `CHECKED`-th of the first `MOST` states is checked, by a walk of at most `MOST_STEPS` steps.
const CHECKED: u64 = 5;
const MOST: u64 = 20_000;
const MOST_STEPS: u32 = 20;

/// Checks a set in some states: after a random walk of actors outside of it each of its choices is still open, leads to
/// the same state as if it had come first, and nothing else has become open in it. `number` is that of the state, in
/// some order.
pub(super) fn check<G: Snapshot>(sets: &StubbornSets<G>, machine: &Machine<G>, number: u64) {
    if !number.is_multiple_of(CHECKED) || number > MOST {
        return;
    }
    let (mut numbers, mut choices) = (Canonicalizer::new(), OpenChoices::default());
    let mut list = |machine: &Machine<G>| {
        machine.canonical_in(&mut numbers);
        choices.list(&machine.world, &numbers, ClockMode::Exact);
        choices.all.clone()
    };
    let is_inside = |choice: &Choice| sets.has(choice.actor);
    let of_set: Vec<Choice> = list(machine).into_iter().filter(is_inside).collect();
    let mut rng = Rng::seeded(mix(machine.canonical().digest() as u64, number));
    let (mut walk, mut there) = (Vec::new(), machine.clone());
    for _ in 0..rng.below(MOST_STEPS + 1) {
        let outside: Vec<Choice> = list(&there).into_iter().filter(|choice| !is_inside(choice)).collect();
        let Some(last) = (outside.len() as u32).checked_sub(1) else { break };
        let choice = outside[rng.below(last + 1) as usize];
        let before = there.clone();
        there.step(choice);
        // Nothing follows the end of a run, so nothing commutes with it.
        if there.world.outcome().is_some() {
            there = before;
            break;
        }
        walk.push(choice);
    }
    assert!(!there.world.rests(), "a run may stop outside of a stubborn set, by {walk:?}");
    let after: Vec<Choice> = list(&there).into_iter().filter(is_inside).collect();
    let open = |all: &[Choice]| all.iter().map(|c| (c.actor, argument(c))).collect::<Vec<_>>();
    assert_eq!(open(&after), open(&of_set), "{walk:?} opens or closes choices of a stubborn set");
    for (first, last) in of_set.iter().zip(&after) {
        let (mut then, mut before) = (there.clone(), machine.clone());
        then.step(*last);
        before.step(*first);
        // A step that ends the run is no reason to leave others out.
        if before.world.outcome().is_some() {
            continue;
        }
        for choice in &walk {
            assert!(before.world.outcome().is_none(), "{first:?} before {walk:?} ends the run");
            assert!(before.world.is_open(choice.actor), "{first:?} before {walk:?} closes {choice:?}");
            before.step(*choice);
        }
        let end =
            |machine: &Machine<G>| machine.world.outcome().map(|outcome| signature(machine.world.setup(), outcome));
        assert_eq!(end(&then), end(&before), "{first:?} before {walk:?} ends otherwise");
        if then.world.outcome().is_none() {
            let (then, before) = (then.canonical().digest(), before.canonical().digest());
            assert_eq!(then, before, "{first:?} before {walk:?} leads to another state");
        }
    }
}

// An instant of the clock is not part of what is open: it depends on what has passed.
fn argument(choice: &Choice) -> u64 {
    if choice.actor == Actor::Clock { 0 } else { choice.argument }
}
