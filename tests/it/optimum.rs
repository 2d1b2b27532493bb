//! The fewest deviations with which a model can come to an end: 0-1 breadth-first search over states, where the default choice costs nothing and any other one costs 1.
//!
//! The second way to what shrinking looks for: it knows nothing of runs that were made, lists or passes.

use raceflip::base::Digester;
use raceflip::event::{Actor, Choice, Outcome, ThreadId};
use raceflip::sched::View;
use raceflip::shrink::Steady;
use raceflip::vm::Vm;
use raceflip::world::{Machine, Question, signature};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// A state that is still to be made: the choice that leads to it.
struct Open {
    from: Rc<Machine<Vm>>,
    choice: Option<Choice>,
    steady: Steady,
    last: Option<ThreadId>,
    cost: u64,
}

/// The fewest deviations of a run with this signature; `None` if more than `most` states would have to be looked at, or if there is no such run.
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
        match end(&mut machine) {
            Some(outcome) if signature(machine.world.setup(), &outcome) == wanted => return Some(cost),
            Some(_) => continue,
            None => {}
        }
        if !met.insert(key(&machine, last)) {
            continue;
        }
        if met.len() > most {
            return None;
        }
        let openings = machine.world.openings();
        let default = steady.choice(&View { world: &machine.world, openings });
        let machine = Rc::new(machine);
        for choice in choices(&machine) {
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

/// How the run ends here, as `exec::run` says.
fn end(machine: &mut Machine<Vm>) -> Option<Outcome> {
    let openings = machine.world.openings();
    if machine.world.outcome().is_none() && openings.stop() {
        machine.check_rest();
    }
    let dead = || openings.total() == 0;
    machine.world.outcome().cloned().or_else(|| dead().then(|| Outcome::Deadlock(machine.world.deadlock())))
}

/// The state, and what the default and the signatures see beside it: the last thread, the order of the threads, their names.
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

fn choices(machine: &Machine<Vm>) -> Vec<Choice> {
    let (world, openings) = (&machine.world, machine.world.openings());
    let mut all = Vec::new();
    for k in 0..openings.total() {
        let actor = world.open_actor(&openings, k);
        let arguments = match world.question(actor) {
            None => vec![0],
            Some(Question::Branch) => vec![0, 1],
            Some(Question::Waiter(waiters)) => (0..waiters as u64).collect(),
            Some(Question::Instant) => world.instants(),
        };
        all.extend(arguments.into_iter().map(|argument| Choice { actor, argument }));
    }
    all
}
