//! An order that is cut off: a run performed `y`, and then failed or went past `x`, so that `x` never came. Was `y` first of the two, or had it long been settled that `x`
//! would not come? What was performed so far looks the same in both cases, since values are not seen in it.
//!
//! So it is tried. The run is made again up to where only the order of the two is open: right before `y` (before the outermost lock that its thread holds there), or if
//! both are tasks of one looper before what put `y`'s task into the queue. There `y` is held. If from that very state `x` comes and then `y`, both orders were possible,
//! and the run that was cut off shows the other one.

use super::Plan;
use super::causes::Causes;
use super::orders::{First, InstancePair, order_in};
use super::sightings::Watch;
use super::trial::{Run, Worker};
use crate::base::mix;
use crate::event::SiteId;
use crate::sched::{Hold, Holding, Holds, Prefixed};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Runs from a state in which `y` is held: half of them do what the run does that shows both.
const TRIES: u64 = 16;

// States of one order from which all of these were in vain, before no more are tried.
const MOST_IN_VAIN: usize = 16;

/// What holds the access that comes first in a cut.
struct Turn {
    hold: Hold,
    holds: Holds,
}

/// The cuts of one pair that were looked into.
#[derive(Default)]
pub(super) struct Cuts {
    turns: BTreeMap<(InstancePair, First), Option<Turn>>,
    // By the state in which the order is open: a run with the other order, if one was found.
    states: BTreeMap<(InstancePair, First, u128), Option<Run>>,
}

/// A run that may be a cut.
pub(super) struct Suspect<'s> {
    pub(super) run: &'s Run,
    pub(super) pair: &'s InstancePair,
    /// Which of the two it performed.
    pub(super) first: First,
}

/// The program, and which statements a run is watched for.
pub(super) struct Trying<'t> {
    pub(super) plan: &'t Plan,
    pub(super) sites: &'t [SiteId],
    pub(super) patience: u64,
    pub(super) stop: &'t AtomicBool,
}

impl Cuts {
    /// A run with the other order from the state in which the order is open; `None` if none was found, and the suspect is no cut as far as one can tell. `known` is a
    /// run that performed both.
    pub(super) fn other_order(&mut self, trying: &Trying<'_>, suspect: &Suspect<'_>, known: &Run) -> Option<Run> {
        let Suspect { run, pair, first } = *suspect;
        let mut worker = Worker::new(trying.plan);
        let key = (pair.clone(), first);
        let turn = self.turns.entry(key).or_insert_with(|| turn(&mut worker, trying, pair, first, known)).as_ref()?;
        let mut causes = Causes::default();
        worker.perform(run, &mut causes, trying.stop);
        let (steps, outermost) = causes.before(&worker.machine.world, &turn.hold.what)?;
        let choices = worker.choices(run);
        let state = worker.state_after(&choices, steps);
        let of_order = |k: &&(InstancePair, First, u128)| k.0 == *pair && k.1 == first;
        if let Some(judged) = self.states.get(&(pair.clone(), first, state)) {
            return judged.clone();
        }
        let in_vain = self.states.iter().filter(|(k, found)| of_order(k) && found.is_none()).count();
        if in_vain >= MOST_IN_VAIN {
            return None;
        }
        let hold = Hold { outermost, ..turn.hold.clone() };
        let holds = Arc::new(Holds { ways: vec![hold], ..turn.holds.clone() });
        let found = (0..TRIES).find_map(|i| {
            let holding = Holding::new(holds.clone(), Some(0));
            let holding = if i % 2 == 0 { holding.guided() } else { holding };
            let strategy = Prefixed::new(choices.clone(), steps, vec![], holding);
            let mut watch = Watch::new(trying.sites);
            let trial = worker.make(strategy, mix(trying.plan.seed, 1 << 49 | i), &mut watch, trying.stop);
            let order = order_in(&watch.finish(&worker.machine.world), pair);
            (order == Some(first.other())).then_some(trial.run)
        });
        self.states.insert((pair.clone(), first, state), found.clone());
        found
    }
}

// How the access is held that comes first in a cut, as a run shows it that performed both.
fn turn(worker: &mut Worker<'_>, trying: &Trying<'_>, pair: &InstancePair, first: First, known: &Run) -> Option<Turn> {
    let mut causes = Causes::default();
    worker.perform(known, &mut causes, trying.stop);
    let world = &worker.machine.world;
    let (y, x) = if first == First::A { (&pair.a, &pair.b) } else { (&pair.b, &pair.a) };
    let (y, x) = (causes.of_instance(world, y)?, causes.of_instance(world, x)?);
    let hold = causes.turn(world, x, y)?;
    let holds = Holds { ways: Vec::new(), patience: trying.patience, guide: worker.guide(known) };
    Some(Turn { hold, holds })
}
