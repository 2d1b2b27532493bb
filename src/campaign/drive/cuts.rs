//! Decides whether a run cut off an order: it performed `y`, and then failed or went past `x`, so that `x` never came.
//! `x` may have been still to come when `y` was performed, or it may have been settled long before that `x` would not
//! come. The statements performed so far look the same in both cases, since they do not show values.
//!
//! So the module tries it out. It performs the run again up to the step right before `y`. There the task of `y` (or its
//! thread, if it runs no task) is abandoned together with its locks, as if it had ended. If `x` comes in a run from
//! there, it was still to come: `y`, or what its task did afterwards, has prevented it.
//!
//! If `x` comes in none of these runs, a proof needs a search of all runs from there (`coming`).
//!
//! A semaphore has no owner: a unit that the task has taken may be a lock that guards `y`, or a signal.
//!
//! - For a proof that `x` was still to come no unit is given back. Otherwise a thread could continue that no thread has
//!   woken up.
//! - For a proof that `x` was not to come any more, `x` must not come with the units given back either, unless the task
//!   gives them back itself later in the run. In that case `x` could not come before the task had left that section.
//!   The order of the two is then the order of the sections, and not one of its own.

use crate::base::mix;
use crate::campaign::CampaignPlan;
use crate::campaign::order::{First, InstancePair};
use crate::campaign::run::RunSource;
use crate::campaign::runs::copies::{copy, state_key};
use crate::campaign::runs::observations::PairWatch;
use crate::campaign::runs::trial::{StepPrefix, Worker};
use crate::event::{ContextId, Event, EventKind, Op, SemaphoreId, SiteId, ThreadId};
use crate::exec::{NoObserver, Observer, go_on, run};
use crate::sched::{Guide, HoldOrders, Holding, Prefixed, RandomWalk, RawChoices, Strategy};
use crate::world::{Machine, Program, World};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Number of runs from such a state. The first one follows a run that performed both accesses, the others are random
// walks.
const TRIES: u64 = 24;

// Maximum number of states of one order from which no run performed the other access. After that no further state of
// this order is tried.
const MOST_IN_VAIN: usize = 32;

/// Cuts of one pair that were tried out.
#[derive(Default)]
pub(super) struct CutTrials {
    guides: BTreeMap<InstancePair, Guide>,
    // Whether the other access was still to come, by the state right before the first access.
    states: BTreeMap<(InstancePair, First, u128), bool>,
}

/// Run that may be a cut.
pub(in crate::campaign) struct CutSuspect<'s> {
    pub(in crate::campaign) run: &'s RunSource,
    pub(in crate::campaign) pair: &'s InstancePair,
    /// Access that the run performed.
    pub(in crate::campaign) first: First,
    /// Step at which the run performed it.
    pub(in crate::campaign) step: u64,
}

/// Plan, statements that runs are watched for, and stop flag.
pub(super) struct CutContext<'t, P> {
    pub(in crate::campaign) plan: &'t CampaignPlan<P>,
    pub(in crate::campaign) sites: &'t [SiteId],
    pub(in crate::campaign) stop: &'t AtomicBool,
}

impl CutTrials {
    /// Returns whether the other access was still to come: true only if a run from the state before the first access
    /// performs it. `known` is a run that performed both.
    pub(in crate::campaign) fn is_cut<P: Program>(
        &mut self,
        cut_context: &CutContext<'_, P>,
        suspect: &CutSuspect<'_>,
        known: &RunSource,
    ) -> bool {
        let CutSuspect { pair, first, .. } = *suspect;
        let CutContext { plan, stop, .. } = *cut_context;
        let guide = self.guides.entry(pair.clone()).or_insert_with(|| Worker::new(plan).guide(known)).clone();
        let RunPrefix { mut machine, watch, strategy, thread, choices, .. } =
            before(cut_context, suspect, guide.clone(), &mut NoObserver);
        let key = (pair.clone(), first, state_key(plan, &machine, &choices, suspect.step));
        if let Some(known) = self.states.get(&key) {
            return *known;
        }
        let of_order = |k: &(InstancePair, First, u128)| k.0 == *pair && k.1 == first;
        if self.states.iter().filter(|(k, comes)| of_order(k) && !**comes).count() >= MOST_IN_VAIN {
            return false;
        }
        let x = if first == First::A { &pair.b } else { &pair.a };
        let Some(thread) = thread else { return false };
        machine.abandon(thread);
        let comes = (0..TRIES).any(|i| {
            let (mut machine, mut watch) = match copy(&*plan.program, &machine) {
                Some(machine) => (machine, watch.clone()),
                None => {
                    let mut again = before(cut_context, suspect, guide.clone(), &mut NoObserver);
                    again.machine.abandon(thread);
                    (again.machine, again.watch)
                }
            };
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

    /// Notes that the other access was still to come, which a search has proved.
    pub(super) fn note<P: Program>(&mut self, cut_context: &CutContext<'_, P>, suspect: &CutSuspect<'_>) {
        let RunPrefix { machine, choices, .. } = before(cut_context, suspect, Guide::default(), &mut NoObserver);
        let key = state_key(cut_context.plan, &machine, &choices, suspect.step);
        self.states.insert((suspect.pair.clone(), suspect.first, key), true);
    }
}

/// Run up to the step right before the first access.
pub(super) struct RunPrefix<'t, G> {
    pub(super) machine: Machine<G>,
    watch: PairWatch<'t>,
    strategy: Prefixed<Holding>,
    // Choices of the whole run.
    choices: Arc<RawChoices>,
    /// Thread that is about to perform the first access, if it is enabled.
    pub(super) thread: Option<ThreadId>,
    /// Units of semaphores that the task of that thread (or the thread, if it runs none) has taken and not given back.
    pub(super) taken: Vec<(SemaphoreId, u64)>,
}

/// Performs the run of a suspect again up to the step right before its first access. From there `strategy` follows the
/// guide.
pub(super) fn before<'t, P: Program>(
    cut_context: &CutContext<'t, P>,
    suspect: &CutSuspect<'_>,
    guide: Guide,
    observer: &mut impl Observer,
) -> RunPrefix<'t, P::Guest> {
    let CutSuspect { run: of, pair, first, step } = *suspect;
    let CutContext { plan, sites, stop } = *cut_context;
    let following = Holding::new(Arc::new(HoldOrders { guide, ..HoldOrders::default() }), None).guided();
    let choices = Worker::new(plan).choices(of);
    let mut beginning = StepPrefix::new(Prefixed::new(choices.clone(), step, vec![], following), step);
    let mut machine = plan.program.machine(plan.limits);
    let (mut watch, mut units) = (PairWatch::new(sites), Units::default());
    run(&mut machine, &mut beginning, 0, &mut (&mut watch, &mut (&mut units, observer)), stop);
    let strategy = beginning.inner;
    let y = if first == First::A { &pair.a } else { &pair.b };
    let world = &machine.world;
    let owner_name = |context| world.contexts().name(world.setup(), context);
    let thread = world.enabled().iter().find(|t| owner_name(world.thread(*t).context) == y.context);
    let taken = thread.map_or(Vec::new(), |thread| units.taken(world.thread(thread).context));
    RunPrefix { machine, watch, strategy, choices, thread, taken }
}

/// Returns whether the task has given back all these units at the end of the whole run.
pub(super) fn gives_back<P: Program>(
    cut_context: &CutContext<'_, P>,
    suspect: &CutSuspect<'_>,
    task: ContextId,
    taken: &[(SemaphoreId, u64)],
) -> bool {
    let mut units = Units::default();
    Worker::new(cut_context.plan).perform(suspect.run, &mut units, cut_context.stop);
    let left = units.taken(task);
    taken.iter().all(|(semaphore, _)| left.iter().all(|(other, _)| other != semaphore))
}

// Units of semaphores that each thread or task has taken, minus those that it has given back.
#[derive(Default)]
struct Units {
    taken: BTreeMap<(ContextId, SemaphoreId), i64>,
}

impl Units {
    fn taken(&self, of: ContextId) -> Vec<(SemaphoreId, u64)> {
        let mine = self.taken.iter().filter(|((context, _), _)| *context == of);
        mine.filter_map(|((_, semaphore), units)| Some((*semaphore, u64::try_from(*units).ok().filter(|n| *n > 0)?)))
            .collect()
    }
}

impl Observer for Units {
    fn event(&mut self, _: &World, event: &Event) {
        let (EventKind::Performed { op, value, .. }, Some(context)) = (&event.what, event.context) else { return };
        let (semaphore, units) = match (op, op.taken(*value)) {
            (_, Some(semaphore)) => (semaphore, 1),
            (Op::Up(semaphore), None) => (*semaphore, -1),
            _ => return,
        };
        *self.taken.entry((context, semaphore)).or_default() += units;
    }
}
