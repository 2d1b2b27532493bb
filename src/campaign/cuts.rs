//! An order that is cut off: a run performed `y`, and then failed or went past `x`, so that `x` never came. Was `x` still to come when `y` was performed, or had it long been
//! settled that it would not? What was performed so far looks the same in both cases, since values are not seen in it.
//!
//! So it is tried. The run is made again up to right before `y`. There `y`'s task is given up (its thread, if it runs no task), with the locks that it holds, as if it had ended. If
//! `x` comes in a run from there, it was still to come, and what kept it from coming is `y` and what its task did from there on.

use super::Plan;
use super::orders::{First, InstancePair};
use super::sightings::Watch;
use super::trial::{Run, Worker};
use crate::base::mix;
use crate::event::SiteId;
use crate::exec::{go_on, run};
use crate::sched::{Guide, Holding, Holds, Prefixed, RandomWalk, Strategy};
use crate::world::Limits;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Runs from such a state: the first does what a run does that performed both, the others are random walks.
const TRIES: u64 = 24;

// States of one order from which all of these were in vain, before no more are tried.
const MOST_IN_VAIN: usize = 32;

/// The cuts of one pair that were looked into.
#[derive(Default)]
pub(super) struct Cuts {
    guides: BTreeMap<InstancePair, Guide>,
    // By the state right before the access that came first: whether the other one was still to come.
    states: BTreeMap<(InstancePair, First, u128), bool>,
}

/// A run that may be a cut.
pub(super) struct Suspect<'s> {
    pub(super) run: &'s Run,
    pub(super) pair: &'s InstancePair,
    /// Which of the two it performed,
    pub(super) first: First,
    /// after so many steps.
    pub(super) step: u64,
}

/// The program, and which statements a run is watched for.
pub(super) struct Trying<'t> {
    pub(super) plan: &'t Plan,
    pub(super) sites: &'t [SiteId],
    pub(super) stop: &'t AtomicBool,
}

impl Cuts {
    /// Whether the other access was still to come, as far as one can tell. `known` is a run that performed both.
    pub(super) fn is_cut(&mut self, trying: &Trying<'_>, suspect: &Suspect<'_>, known: &Run) -> bool {
        let Suspect { run: of, pair, first, step } = *suspect;
        let Trying { plan, sites, stop } = *trying;
        let mut worker = Worker::new(plan);
        let guide = self.guides.entry(pair.clone()).or_insert_with(|| worker.guide(known)).clone();
        let following = Holding::new(Arc::new(Holds { guide, ..Holds::default() }), None).guided();
        let mut strategy = Prefixed::new(worker.choices(of), step, vec![], following);
        // A limit stops it there.
        let mut machine = plan.model.machine(Limits { steps: step, ..plan.limits });
        let mut watch = Watch::new(sites);
        run(&mut machine, &mut strategy, 0, &mut watch, stop);
        let key = (pair.clone(), first, machine.canonical().digest());
        if let Some(known) = self.states.get(&key) {
            return *known;
        }
        let of_order = |k: &(InstancePair, First, u128)| k.0 == *pair && k.1 == first;
        if self.states.iter().filter(|(k, comes)| of_order(k) && !**comes).count() >= MOST_IN_VAIN {
            return false;
        }
        let (y, x) = if first == First::A { (&pair.a, &pair.b) } else { (&pair.b, &pair.a) };
        let world = &machine.world;
        let whose = |context| world.contexts().name(world.setup(), context);
        let Some(thread) = world.enabled().iter().find(|t| whose(world.thread(*t).context) == y.context) else {
            return false;
        };
        machine.world.set_limits(plan.limits);
        machine.abandon(thread);
        let comes = (0..TRIES).any(|i| {
            let (mut machine, mut watch) = (machine.clone(), watch.clone());
            if i == 0 {
                go_on(&mut machine, &mut strategy.clone(), &mut watch, stop);
            } else {
                let mut walk = RandomWalk::new();
                walk.begin(mix(plan.seed, 1 << 49 | i));
                go_on(&mut machine, &mut walk, &mut watch, stop);
            }
            watch.finish(&machine.world).seen.iter().any(|s| s.instance == *x && s.is_at(&pair.place))
        });
        self.states.insert(key, comes);
        comes
    }
}
