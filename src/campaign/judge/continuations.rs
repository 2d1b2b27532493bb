//! Finds the states from which both orders of a pair are continued, and performs the runs from there.
//!
//! If the accesses are side by side, such a state is known. If one access was held, it is the state in which the hold
//! began: from there the hold continues, or the other order is forced in the same way. Each pair of instances is a
//! scene of its own.

use crate::base::mix;
use crate::campaign::drive::pair_trials::PairTrials;
use crate::campaign::drive::ways::HoldTrials;
use crate::campaign::order::{First, InstancePair};
use crate::campaign::report::Proof;
use crate::campaign::run::RunSource;
use crate::campaign::runs::caught::{CaughtException, CaughtWatch};
use crate::campaign::runs::copies::state_key;
use crate::campaign::runs::observations::Observations;
use crate::campaign::runs::orders::ObservedOrder;
use crate::campaign::runs::parallel;
use crate::campaign::runs::tally::Tallies;
use crate::campaign::runs::trial::{Trial, Worker};
use crate::event::ThreadId;
use crate::exec::{LoopEnd, NoObserver};
use crate::explore;
use crate::sched::{Hit, NamedStrategy, Prefixed, RandomWalk, RawChoices, StrategySpec};
use crate::world::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Minimum number of seeds with which each order is continued from each state.
pub const SEEDS: u64 = 8;

// Minimum number of runs of each order, from all states of a scene together.
const LEAST_RUNS: u64 = 64;

// Maximum number of states from which a pair is continued, and from which each pair of instances in later tasks is.
const POINTS: usize = 12;
const LATER_POINTS: usize = 4;

// First seed of the runs after the pilot.
const FURTHER: u64 = 1 << 32;

/// Pair whose order is forced: two threads that are side by side, or two instances.
pub(super) struct ForcedPair {
    /// Instances, if one of them was held; `None` if the accesses are side by side.
    pub(in crate::campaign) instances: Option<InstancePair>,
    /// Instances with the pedigrees that a search needs.
    pub(super) pedigrees: Option<[explore::StatementInstance; 2]>,
    // Strategy that forces each order if an access was held: the best way of the order, or a random walk if no way was
    // successful.
    ways: [NamedStrategy; 2],
}

/// State in which the order is open.
pub(super) struct Point {
    pub(in crate::campaign) choices: Arc<RawChoices>,
    pub(in crate::campaign) steps: u64,
    /// Threads that are pending at the two statements, if they are side by side: that of the first statement, then that
    /// of the second.
    pub(in crate::campaign) threads: Option<[ThreadId; 2]>,
    /// Names of the two threads or tasks.
    pub(in crate::campaign) roles: [String; 2],
    pub(super) scene: usize,
    /// Whether the point is the start of the program, from which all trials run.
    pub(super) is_start: bool,
    /// Trials from the start of the program, by order; empty for other points.
    pub(in crate::campaign) before: Tallies,
}

/// A trial with what was seen of the two statements, and the exceptions that the app has caught.
type WatchedTrial = (Trial, Option<Observations>, BTreeSet<CaughtException>);

/// Index of a point, order to force, and seed.
type Work = (usize, First, u64);

/// Continued run: the index of its point, the order that it has (`None` if neither was seen), and the run.
pub(in crate::campaign) struct ContinuationRun {
    pub(in crate::campaign) at: usize,
    pub(in crate::campaign) first: Option<First>,
    pub(in crate::campaign) trial: Trial,
}

/// Both orders of a confirmed pair, with the points that they are continued from.
pub(in crate::campaign) struct Continuations<'c, 'd, P: Program> {
    pub(in crate::campaign) pair_trials: &'c mut PairTrials<'d, P>,
    pub(super) scenes: Vec<ForcedPair>,
    pub(super) points: Vec<Point>,
    /// Continued runs of each point, by order.
    pub(super) of_points: Vec<Tallies>,
    // Next seed of each point and order, for runs after the pilot.
    taken: BTreeMap<(usize, First), u64>,
}

impl<'c, 'd, P: Program> Continuations<'c, 'd, P> {
    /// Collects the points: the states that are side by side, or the states in which a hold began, and the start of the
    /// program.
    pub(in crate::campaign) fn new(pair_trials: &'c mut PairTrials<'d, P>, proof: &Proof) -> Self {
        let mut all =
            Self { pair_trials, scenes: Vec::new(), points: Vec::new(), of_points: Vec::new(), taken: BTreeMap::new() };
        match proof {
            Proof::Flipped(flip) => {
                let held = all.pair_trials.held.take();
                all.instances(flip.instances.clone(), held.as_ref(), POINTS);
                all.pair_trials.held = held;
                for later in std::mem::take(&mut all.pair_trials.later) {
                    if later.instances != flip.instances {
                        all.instances(later.instances.clone(), Some(&later), LATER_POINTS);
                    }
                }
                if let Some(between) = all.pair_trials.between.take() {
                    all.instances(between.instances.clone(), Some(&between), LATER_POINTS);
                }
                all.add_the_start();
            }
            _ => all.side_by_side(),
        }
        all.of_points = vec![Tallies::default(); all.points.len()];
        all
    }

    /// Returns whether the continuation is interrupted or incomplete.
    pub(super) fn is_stopped(&self) -> bool {
        !self.pair_trials.complete || self.pair_trials.context.stop.load(Ordering::Relaxed)
    }

    /// Continues both orders from every point except the start, with the same seeds, and returns the runs.
    pub(in crate::campaign) fn pilot(&mut self) -> Vec<ContinuationRun> {
        let mut work = Vec::new();
        for at in (0..self.points.len()).filter(|at| !self.points[*at].is_start) {
            let scene = self.points[at].scene;
            let of_scene = self.points.iter().filter(|p| p.scene == scene && !p.is_start).count() as u64;
            let seeds = SEEDS.max(LEAST_RUNS.div_ceil(of_scene));
            let both = [First::A, First::B].into_iter();
            work.extend(both.flat_map(|first| (0..seeds).map(move |seed| (at, first, seed))));
        }
        self.go_on(&work)
    }

    /// Performs `n` further runs from one point that are meant to have the given order.
    pub(in crate::campaign) fn further(&mut self, at: usize, first: First, n: u64) -> Vec<ContinuationRun> {
        let taken = self.taken.entry((at, first)).or_insert(FURTHER);
        let from = *taken;
        *taken += n;
        let work: Vec<Work> = (from..from + n).map(|seed| (at, first, seed)).collect();
        self.go_on(&work)
    }

    // Adds the states in which both accesses are side by side, in the order of their runs, each state once.
    fn side_by_side(&mut self) {
        self.scenes.push(ForcedPair { instances: None, pedigrees: None, ways: [walk(), walk()] });
        let mut worker = Worker::new(self.pair_trials.plan);
        let mut states = BTreeSet::new();
        for (at, hit) in by_turns(self.pair_trials) {
            let choices = worker.choices(&self.pair_trials.trials[at].run);
            let machine = worker.machine_after(&choices, hit.step);
            let world = &machine.world;
            let (x, y) = hit.threads;
            // If both are one statement, the thread with the lesser name counts as the first.
            let swaps = match self.pair_trials.pair.a == self.pair_trials.pair.b {
                true => world.thread_name(x) > world.thread_name(y),
                false => hit.first != self.pair_trials.pair.a,
            };
            let threads = if swaps { [y, x] } else { [x, y] };
            let roles = threads.map(|t| world.contexts().name(world.setup(), world.thread(t).context));
            if states.insert((state_key(self.pair_trials.plan, &machine, &choices, hit.step), threads)) {
                self.points.push(Point { threads: Some(threads), ..Point::new(choices, hit.step, roles, 0) });
            }
            if self.points.len() == POINTS {
                break;
            }
        }
    }

    // Adds a pair of instances as a scene, with the different states in which a hold began. Only runs in which the two
    // came in some order count.
    fn instances(&mut self, instances: InstancePair, held: Option<&HoldTrials>, most: usize) {
        let scene = self.scenes.len();
        let roles = [instances.a.context.clone(), instances.b.context.clone()];
        let mut worker = Worker::new(self.pair_trials.plan);
        let mut states = BTreeSet::new();
        for i in self.pair_trials.from..self.pair_trials.trials.len() {
            let Some(steps) = self.pair_trials.trials[i].engaged else { continue };
            if states.len() == most || self.pair_trials.order(i, &instances).is_none() {
                continue;
            }
            let choices = worker.choices(&self.pair_trials.trials[i].run);
            let machine = worker.machine_after(&choices, steps);
            if states.insert(state_key(self.pair_trials.plan, &machine, &choices, steps)) {
                self.points.push(Point::new(choices, steps, roles.clone(), scene));
            }
        }
        let sites = &self.pair_trials.plan.setup().sites;
        let ways = [First::A, First::B].map(|first| {
            let way: Option<StrategySpec> = held.and_then(|held| held.strategy(first));
            way.and_then(|way| way.build(sites).ok()).unwrap_or_else(walk)
        });
        let pedigrees = self.pair_trials.pedigrees(&instances);
        self.scenes.push(ForcedPair { instances: Some(instances), pedigrees, ways });
    }

    // Adds the start of the program to each scene: from some states an order cannot be forced, but all trials run from
    // the start.
    fn add_the_start(&mut self) {
        for (scene, of) in self.scenes.iter().enumerate() {
            let Some(instances) = of.instances.as_ref() else { continue };
            let mut before = Tallies::default();
            for i in 0..self.pair_trials.trials.len() {
                before.add(self.pair_trials.order(i, instances), &self.pair_trials.trials[i]);
            }
            let roles = [instances.a.context.clone(), instances.b.context.clone()];
            let start = Point::new(Arc::new(RawChoices::default()), 0, roles, scene);
            self.points.push(Point { is_start: true, before, ..start });
        }
    }

    // Returns the strategy that forces an order from a point.
    fn strategy(&self, at: usize, first: First) -> Prefixed<NamedStrategy> {
        let point = &self.points[at];
        let (forced, then) = match point.in_order(first) {
            // Both threads act at once. A conflict of one access with a later statement of the other thread belongs to
            // another pair.
            Some(threads) => (threads.to_vec(), walk()),
            None => (vec![], self.scenes[point.scene].ways[first as usize].clone()),
        };
        Prefixed::new(point.choices.clone(), point.steps, forced, then)
    }

    // Performs these runs, judges their order, and counts them.
    fn go_on(&mut self, work: &[Work]) -> Vec<ContinuationRun> {
        let context = self.pair_trials.context;
        context.progress.phase("both orders", work.len() as u64);
        // Without a handler for them no exception of a reference is caught.
        let catches = self.pair_trials.plan.setup().catches_references;
        let results: Vec<Option<WatchedTrial>> = parallel::map(
            self.pair_trials.plan.jobs,
            work.len(),
            context.stop,
            || Worker::new(self.pair_trials.plan),
            |worker, i| {
                let (at, first, seed) = work[i];
                let strategy = self.strategy(at, first);
                // Both orders use the same seeds.
                let seed = mix(mix(self.pair_trials.plan.seed, 1 << 48 | at as u64), seed);
                let mut caught = CaughtWatch::default();
                if self.points[at].threads.is_some() {
                    let trial = match catches {
                        true => worker.make(strategy, seed, &mut caught, context.stop),
                        false => worker.make(strategy, seed, &mut NoObserver, context.stop),
                    };
                    return (trial, None, caught.finish());
                }
                let mut watch = self.pair_trials.watch();
                let trial = match catches {
                    true => worker.make(strategy, seed, &mut (&mut watch, &mut caught), context.stop),
                    false => worker.make(strategy, seed, &mut watch, context.stop),
                };
                (trial, Some(watch.finish(&worker.machine.world)), caught.finish())
            },
            || context.progress.done(),
        );
        let mut all = Vec::new();
        for (result, (at, wanted, _)) in results.into_iter().zip(work) {
            let Some((trial, observations, caught)) = result.filter(|(t, ..)| t.summary.end != LoopEnd::Interrupted)
            else {
                self.pair_trials.complete = false;
                continue;
            };
            let instances = self.scenes[self.points[*at].scene].instances.as_ref();
            let observed = match (observations, instances) {
                (Some(observations), Some(instances)) => self.pair_trials.order_in(&trial, &observations, instances),
                _ => Some(ObservedOrder::both(*wanted)),
            };
            self.of_points[*at].add(observed, &trial);
            self.of_points[*at].add_caught(observed, caught);
            all.push(ContinuationRun { at: *at, first: observed.map(|observed| observed.first), trial });
        }
        all
    }
}

impl Point {
    fn new(choices: Arc<RawChoices>, steps: u64, roles: [String; 2], scene: usize) -> Self {
        Self { choices, steps, threads: None, roles, scene, is_start: false, before: Tallies::default() }
    }

    /// Returns the threads that are side by side at the point, in the order in which they act.
    pub(in crate::campaign) fn in_order(&self, first: First) -> Option<[ThreadId; 2]> {
        self.threads.map(|[a, b]| if first == First::A { [a, b] } else { [b, a] })
    }
}

fn walk() -> NamedStrategy {
    NamedStrategy::Random(RandomWalk::new())
}

// Returns the runs with both accesses side by side, one of each strategy in turn: the first visits say little about
// later ones.
fn by_turns<P: Program>(pair_trials: &PairTrials<'_, P>) -> Vec<(usize, Hit)> {
    let mut made: Vec<(&StrategySpec, usize)> = Vec::new();
    let turn = |(at, hit): &(usize, Hit)| {
        let RunSource::Drawn(id) = &pair_trials.trials[*at].run else { return (0, *at, *hit) };
        let i = made.iter().position(|(strategy, _)| **strategy == id.strategy).unwrap_or_else(|| {
            made.push((&id.strategy, 0));
            made.len() - 1
        });
        made[i].1 += 1;
        (made[i].1, *at, *hit)
    };
    let mut all: Vec<_> = pair_trials.hits.iter().map(turn).collect();
    all.sort_by_key(|(turn, at, _)| (*turn, *at));
    all.into_iter().map(|(_, at, hit)| (at, hit)).collect()
}
