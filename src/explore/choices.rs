//! Lists the choices that are open in a state, in an order that does not depend on the way to it: the clock, threads
//! by canonical number, events.

use super::ClockMode;
use super::worker::AFTER_TICKS;
use crate::base::Id;
use crate::event::{Actor, Choice, ThreadId};
use crate::world::{Canonicalizer, Question, World};

/// The choices of a state. The buffers are reused from state to state.
#[derive(Default)]
pub(super) struct OpenChoices {
    pub(super) all: Vec<Choice>,
    threads: Vec<(u32, ThreadId)>,
}

impl OpenChoices {
    /// Lists the choices of this state. `state` has its canonical numbers, which are needed only if some enabled
    /// thread is not a declared one.
    ///
    /// The exact clock has one choice, the next unit: later instants are reached by repeating it.
    pub(super) fn list(&mut self, world: &World, state: &Canonicalizer, clock: ClockMode) {
        self.all.clear();
        if world.clock_open() {
            match clock {
                ClockMode::Exact => self.all.push(Choice { actor: Actor::Clock, argument: world.now() + 1 }),
                ClockMode::Critical => {
                    let instants = world.instants();
                    self.all.extend(instants.into_iter().map(|argument| Choice { actor: Actor::Clock, argument }));
                }
            }
        }
        if numbered_by_themselves(world) {
            for thread in world.enabled().iter() {
                push(&mut self.all, world, Actor::Thread(thread));
            }
        } else {
            self.threads.clear();
            let numbered = |t: ThreadId| (state.thread(t).unwrap_or(u32::MAX), t);
            self.threads.extend(world.enabled().iter().map(numbered));
            self.threads.sort_unstable();
            for (_, thread) in &self.threads {
                push(&mut self.all, world, Actor::Thread(*thread));
            }
        }
        for event in world.fireable().iter() {
            push(&mut self.all, world, Actor::Event(event));
        }
    }
}

/// Whether all enabled threads are declared ones, whose canonical numbers are those of their declaration.
pub(super) fn numbered_by_themselves(world: &World) -> bool {
    let declared = world.setup().threads.len();
    world.enabled().is_empty() || world.enabled().nth(world.enabled().len() - 1).is_some_and(|t| t.index() < declared)
}

/// Returns an upper bound of the number of states that the choices of this state lead to.
pub(super) fn most(world: &World, clock: ClockMode) -> u64 {
    let ticks = match clock {
        _ if !world.clock_open() => 0,
        ClockMode::Exact => world.last_instant().saturating_sub(world.now()).clamp(1, AFTER_TICKS),
        ClockMode::Critical => world.instants().len() as u64,
    };
    let threads: u64 = world.enabled().iter().map(|thread| answers(world, Actor::Thread(thread))).sum();
    let events: u64 = world.fireable().iter().map(|event| answers(world, Actor::Event(event))).sum();
    ticks + threads + events
}

// Returns the number of ways in which the operation of an actor can be performed.
fn answers(world: &World, actor: Actor) -> u64 {
    world.question(actor).and_then(Question::answers).unwrap_or(1)
}

fn push(all: &mut Vec<Choice>, world: &World, actor: Actor) {
    all.extend((0..answers(world, actor)).map(|argument| Choice { actor, argument }));
}
