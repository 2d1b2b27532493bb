//! Compares the detector with a naive implementation of the rules on random programs, and tests each edge by hand.

mod edges;
mod hybrid_trace;
mod naive;
mod naive_edges;
mod naive_orders;
mod orders;
mod random;
mod ranks;
mod refused;
mod script;

use crate::base::Rng;
use crate::detect::traces::record::TraceRecorder;
use crate::detect::{Candidate, ContextKind, Hybrid, OrderPairs, Pair};
use crate::event::{Actor, Choice, Event, EventKind, Op, ThreadId};
use crate::world::{Limits, Machine, Question, World};
use script::Script;
use std::collections::{BTreeMap, BTreeSet};

/// A recorded run.
struct RecordedRun {
    machine: Machine<Script>,
    events: Vec<EventRecord>,
    candidates: Vec<Candidate>,
    orders: Vec<Candidate>,
}

/// An event with the further data that the naive rules need.
#[derive(Clone)]
struct EventRecord {
    event: Event,
    /// Looper to which a post goes.
    looper: Option<ThreadId>,
    /// Whether the operation threw.
    threw: bool,
    /// Threads that are pending at an `await` after the event, and whether they are enabled.
    awaits: BTreeMap<ThreadId, bool>,
    /// Threads in a wait set after the event.
    waiting: BTreeSet<ThreadId>,
}

// Records an event in a trace, without its site, which a script does not declare. Of an operation that was refused, at
// most the access is recorded: of the cell, and of the life of its object. A looper between two tasks begins a task
// without a post for that.
fn record(recorder: &mut TraceRecorder, world: &World, event: &Event) {
    let before = recorder.len();
    recorder.observe(world, &Event { site: None, ..event.clone() });
    if let EventKind::Performed { op, refused: true, .. } = &event.what {
        let most = if op.access().is_some() { 3 } else { 0 };
        assert!(recorder.len() - before <= most, "{event:?}");
    }
}

type PairKinds = BTreeSet<(Pair, ContextKind)>;

impl RecordedRun {
    fn found(&self) -> PairKinds {
        found(&self.candidates)
    }
}

fn found<'a>(candidates: impl IntoIterator<Item = &'a Candidate>) -> PairKinds {
    candidates.into_iter().flat_map(|c| c.kinds.iter().map(|k| (c.pair, *k))).collect()
}

/// Runs the script under a random walk of at most `most` steps, which sometimes continues with one thread for a
/// while.
fn run(script: Script, seed: u64, most: u64) -> RecordedRun {
    let mut rng = Rng::seeded(seed);
    let mut machine = Machine::new(script, Limits::default());
    let (mut hybrid, mut events) = (Hybrid::with_order_pairs(), Vec::new());
    let mut alone = OrderPairs::new();
    let mut recorder = TraceRecorder::nameless();
    machine.start(true);
    let mut record_events = |machine: &Machine<Script>| {
        for event in machine.world.recorded() {
            hybrid.observe(&machine.world, event);
            alone.observe(&machine.world, event);
            record(&mut recorder, &machine.world, event);
            let looper = match &event.what {
                EventKind::Performed { op: Op::Post { target, .. }, .. } => Some(machine.world.thread_of(*target)),
                _ => None,
            };
            let threw = matches!(event.what, EventKind::Performed { .. }) && machine.guest.threw;
            let world = &machine.world;
            let alive = world.threads().ids().filter(|t| !world.finished(*t));
            let (mut awaits, mut waiting) = (BTreeMap::new(), BTreeSet::new());
            for thread in alive {
                match world.thread(thread).pending {
                    Op::Await { .. } => drop(awaits.insert(thread, world.enabled().contains(thread))),
                    Op::Reacquire { on, .. } if world.waiters(on).contains(&thread) => drop(waiting.insert(thread)),
                    _ => {}
                }
            }
            events.push(EventRecord { event: event.clone(), looper, threw, awaits, waiting });
        }
    };
    record_events(&machine);
    let mut last = None;
    while machine.world.outcome().is_none() && machine.world.steps() < most {
        let openings = machine.world.openings();
        let total = openings.total() - usize::from(openings.stop());
        if total == 0 {
            break;
        }
        let drawn = machine.world.open_actor(&openings, rng.below(total as u32) as usize);
        let actor = match last {
            Some(last) if rng.below(3) > 0 && machine.world.is_open(last) => last,
            _ => drawn,
        };
        last = matches!(actor, Actor::Thread(_)).then_some(actor);
        let argument = match machine.world.question(actor) {
            None => 0,
            Some(Question::Branch) => u64::from(rng.coin()),
            Some(Question::Waiter(n) | Question::Instance(n) | Question::Case(n)) => u64::from(rng.below(n as u32)),
            Some(Question::Value { values, .. }) => u64::from(rng.below(values)),
            Some(Question::Instant) => {
                let instants = machine.world.instants();
                instants[rng.below(instants.len() as u32) as usize]
            }
        };
        machine.guest.threw = false;
        machine.step(Choice { actor, argument });
        record_events(&machine);
    }
    let (candidates, orders) = hybrid.finish_both();
    assert_eq!(orders, alone.finish());
    RecordedRun { machine, events, candidates, orders }
}
