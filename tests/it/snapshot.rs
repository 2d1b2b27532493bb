//! Tests of the canonical state: two runs that reach one canonical state have the same futures under the same choices.

use crate::load::{all_models, load, load_bytes};
use raceflip::base::{Id, Rng};
use raceflip::event::{Actor, Choice, ThreadId};
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine, Question, Snapshot, signature};
use std::collections::BTreeMap;

// An actor by its place in the canonical order, which is the same in two equal states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Who {
    Thread(usize),
    Clock(u64),
    Event(u32),
    Stop,
}

// Returns the open choices, sorted by actors in canonical order, so that the k-th choices of two equal states
// correspond.
fn open<G: Snapshot>(machine: &Machine<G>, threads: &[ThreadId]) -> Vec<(Who, Choice)> {
    let world = &machine.world;
    let mut all = Vec::new();
    let openings = world.openings();
    for k in 0..openings.total() {
        let actor = world.open_actor(&openings, k);
        let choice = |argument| Choice { actor, argument };
        match actor {
            Actor::Thread(thread) => {
                let at = threads.iter().position(|t| *t == thread).expect("an enabled thread was met by the walk");
                let answers = world.question(actor).and_then(Question::answers).unwrap_or(1);
                all.extend((0..answers).map(|a| (Who::Thread(at), choice(a))));
            }
            // Only the next deadline counts, as a distance. Other instants come from delays in the past, which are not
            // part of a state.
            Actor::Clock => all.push((Who::Clock(world.next_deadline() - world.now()), choice(world.next_deadline()))),
            Actor::Event(event) => all.push((Who::Event(event.index() as u32), choice(0))),
            Actor::Stop => all.push((Who::Stop, choice(0))),
        }
    }
    all.sort_by_key(|(who, choice)| (*who, choice.argument * u64::from(!matches!(who, Who::Clock(_)))));
    all
}

// Continues two machines with corresponding choices. Returns the number of steps until both ended; panics if they
// differ before.
fn same_future(mut a: Machine<Vm>, mut b: Machine<Vm>, seed: u64, steps: usize) -> usize {
    let mut rng = Rng::seeded(seed);
    for step in 0..steps {
        let (ca, cb) = (a.canonical(), b.canonical());
        assert_eq!(ca.bytes, cb.bytes, "canonical states part after {step} steps");
        assert_eq!(ca.digest(), cb.digest());
        if a.world.outcome().is_some() || b.world.outcome().is_some() {
            let end = |m: &Machine<Vm>| m.world.outcome().map(|o| kind(&signature(m.world.setup(), o)));
            assert_eq!(end(&a), end(&b), "after {step} steps");
            return step;
        }
        let (oa, ob) = (open(&a, &ca.threads), open(&b, &cb.threads));
        let whos = |o: &[(Who, Choice)]| o.iter().map(|(w, _)| *w).collect::<Vec<_>>();
        assert_eq!(whos(&oa), whos(&ob), "open choices part after {step} steps");
        if oa.is_empty() {
            return step;
        }
        let k = rng.below(oa.len() as u32) as usize;
        a.step(oa[k].1);
        b.step(ob[k].1);
    }
    steps
}

// Drops thread names, because they are not part of a state.
fn kind(signature: &str) -> String {
    signature.split(' ').take(if signature.starts_with("deadlock") { 1 } else { 3 }).collect::<Vec<_>>().join(" ")
}

#[test]
fn runs_that_meet_have_the_same_futures() {
    let mut meetings = 0;
    let mut by_other_ways = 0;
    for path in all_models() {
        let code = load(&path, &[]).code;
        // Maps a state to the first machine that reached it and to that machine's path. Two paths to one state are
        // compared.
        let mut known: BTreeMap<u128, (Machine<Vm>, Vec<Choice>)> = BTreeMap::new();
        for seed in 0..12 {
            let mut machine = Machine::new(Vm::new(code.clone()), Limits { steps: 500, ..Limits::default() });
            machine.start(false);
            let mut rng = Rng::seeded(seed);
            let mut way = Vec::new();
            for step in 0..60 {
                if machine.world.outcome().is_some() {
                    break;
                }
                let canonical = machine.canonical();
                let choices = open(&machine, &canonical.threads);
                if choices.is_empty() {
                    break;
                }
                match known.get(&canonical.digest()) {
                    Some((other, other_way)) if *other_way != way => {
                        meetings += 1;
                        by_other_ways += usize::from(other.world.now() != machine.world.now());
                        same_future(other.clone(), machine.clone(), seed * 1000 + step, 80);
                    }
                    Some(_) => {}
                    None => {
                        known.insert(canonical.digest(), (machine.clone(), way.clone()));
                    }
                }
                let choice = choices[rng.below(choices.len() as u32) as usize].1;
                way.push(choice);
                machine.step(choice);
            }
        }
    }
    assert!(meetings > 2_000, "only {meetings} meetings: the test has lost its teeth");
    assert!(by_other_ways > 50, "only {by_other_ways} meetings at different clocks");
}

/// Two states of one digest have one canonical form, also if threads of one body exchange what they hold: with values
/// that take more bytes than program counters, their contents once had digests with the same sum.
#[test]
fn states_of_one_digest_are_one_state() {
    for (threads, rounds) in [(2, 3), (2, 5), (3, 2)] {
        for step in [2, 100, 300, 70_000, 5_000_000_000_u64] {
            let text = format!("var x = 0\nthread t(i in 0..{threads}) {{ for k in 0..{rounds} {{ x += {step} }} }}");
            let model = load_bytes("exchange.race", text.as_bytes(), &[]);
            let mut first = model.machine(Limits::default());
            first.start(false);
            let (mut open, mut forms) = (vec![first], BTreeMap::new());
            while let Some(machine) = open.pop() {
                let canonical = machine.canonical();
                let known = forms.insert(canonical.digest(), canonical.bytes.clone());
                if let Some(known) = known {
                    assert_eq!(known, canonical.bytes, "{threads} threads, {rounds} rounds of {step}");
                    continue;
                }
                for thread in machine.world.enabled().iter().filter(|_| machine.world.outcome().is_none()) {
                    let mut next = machine.clone();
                    next.step(Choice { actor: Actor::Thread(thread), argument: 0 });
                    open.push(next);
                }
            }
            assert!(forms.len() > 100, "{}", forms.len());
        }
    }
}
