//! Computes the fewest deviations with which a model can reach an end, by a 0-1 breadth-first search over states: the
//! default choice costs 0, and any other choice costs 1.
//!
//! This is an independent way to the result of shrinking. It does not use recorded runs, lists of deviations, or
//! passes.

use crate::stateless::choices;
use raceflip::base::Digester;
use raceflip::event::{Actor, Choice, ThreadId};
use raceflip::sched::{Steady, View};
use raceflip::vm::Vm;
use raceflip::world::{Machine, World, signature};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// A state that is still to be visited, given by its predecessor and the choice that leads to it; `None` for the
/// initial state.
struct Open {
    from: Rc<Machine<Vm>>,
    choice: Option<Choice>,
    steady: Steady,
    last: Option<ThreadId>,
    cost: u64,
}

/// Returns the fewest deviations of a run with this signature; `None` if there are more than `most` states to visit, or
/// if there is no such run.
pub(crate) fn fewest_deviations(mut machine: Machine<Vm>, wanted: &str, most: usize) -> Option<u64> {
    machine.start(false);
    let (steady, last) = (Steady::default(), None);
    let mut open = VecDeque::from([Open { from: Rc::new(machine), choice: None, steady, last, cost: 0 }]);
    let mut met = BTreeSet::new();
    while let Some(Open { from, choice, steady, last, cost }) = open.pop_front() {
        let mut machine = Machine::clone(&from);
        drop(from);
        if let Some(choice) = choice {
            machine.step(choice);
        }
        let choices = match choices(&mut machine, World::instants) {
            Ok(choices) => choices,
            Err(outcome) if signature(machine.world.setup(), &outcome) == wanted => return Some(cost),
            Err(_) => continue,
        };
        if !met.insert(key(&machine, last)) {
            continue;
        }
        if met.len() > most {
            return None;
        }
        let openings = machine.world.openings();
        let default = steady.choice(&View { world: &machine.world, openings });
        let machine = Rc::new(machine);
        for choice in choices {
            let (mut steady, mut last) = (steady, last);
            steady.see(choice);
            if let Actor::Thread(thread) = choice.actor {
                last = Some(thread);
            }
            let open_one = |cost| Open { from: machine.clone(), choice: Some(choice), steady, last, cost };
            if choice == default { open.push_front(open_one(cost)) } else { open.push_back(open_one(cost + 1)) }
        }
    }
    None
}

/// Returns the identity of a state: the canonical state, and what the default choice and signatures use besides it (the
/// last thread, the order of the threads, and their names).
fn key(machine: &Machine<Vm>, last: Option<ThreadId>) -> u128 {
    let canonical = machine.canonical();
    let mut digest = Digester::new();
    digest.word(canonical.digest() as u64).word((canonical.digest() >> 64) as u64);
    digest.word(last.map_or(u64::MAX, |t| u64::from(t.0)));
    for thread in canonical.threads {
        digest.word(u64::from(thread.0)).text(&machine.world.thread_name(thread));
    }
    digest.finish()
}
