//! The states from which both orders of a pair are continued, and the runs from there.
//!
//! Where the accesses are side by side such a state is known. Where one was held it is the step at which that began: from there it is held on, or the other order is brought about in
//! the same way. Of several pairs of instances each is a scene of its own.

use super::drive::Driven;
use super::orders::{Came, First, InstancePair};
use super::parallel;
use super::report::Verdict;
use super::sightings::{Sightings, Watch};
use super::tally::Tallies;
use super::trial::{Run, Trial, Worker};
use super::ways::Held;
use crate::base::mix;
use crate::event::ThreadId;
use crate::exec::{End, Unobserved};
use crate::explore;
use crate::sched::{Hit, Named, Prefixed, RandomWalk, RawChoices, StrategySpec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Seeds with which each order is continued from each state, at least.
pub const SEEDS: u64 = 8;

// Runs of each order at least, from all states.
const LEAST_RUNS: u64 = 64;

// States from which a pair is continued, and from which each pair of later instances is.
const POINTS: usize = 12;
const LATER_POINTS: usize = 4;

// Seeds from here on are those of runs after the first ones.
const FURTHER: u64 = 1 << 32;

/// What is put in order: two threads that are side by side, or two instances.
pub(super) struct Scene {
    /// The instances, if something was held.
    pub(super) instances: Option<InstancePair>,
    /// The same for a search.
    pub(super) pedigrees: Option<[explore::Instance; 2]>,
    // How each order is brought about where something was held: as its best way does it, or by a walk.
    ways: [Named; 2],
}

/// A state in which the order is open.
pub(super) struct Point {
    pub(super) choices: Arc<RawChoices>,
    pub(super) steps: u64,
    /// The threads that stand there, if they are side by side: that of the first statement, and that of the second.
    pub(super) threads: Option<[ThreadId; 2]>,
    /// The two threads or tasks, by name.
    pub(super) roles: [String; 2],
    pub(super) scene: usize,
    /// Whether it is the start of the app, from which all trials are runs.
    pub(super) is_start: bool,
    /// What came of it before: the trials.
    pub(super) before: Tallies,
}

/// From which point, which order, with which seed.
type Work = (usize, First, u64);

/// A run that was continued: from which point, which order it was meant to have, which it has.
pub(super) struct Continued {
    pub(super) at: usize,
    pub(super) first: Option<First>,
    pub(super) trial: Trial,
}

/// Both orders of a confirmed pair, being continued.
pub(super) struct Continuing<'c, 'd> {
    pub(super) driven: &'c mut Driven<'d>,
    pub(super) scenes: Vec<Scene>,
    pub(super) points: Vec<Point>,
    /// What came of the runs from each point.
    pub(super) of_points: Vec<Tallies>,
    // Seeds that were taken.
    taken: BTreeMap<(usize, First), u64>,
}

impl<'c, 'd> Continuing<'c, 'd> {
    pub(super) fn new(driven: &'c mut Driven<'d>, verdict: &Verdict) -> Self {
        let mut all =
            Self { driven, scenes: Vec::new(), points: Vec::new(), of_points: Vec::new(), taken: BTreeMap::new() };
        match verdict {
            Verdict::Flipped(flip) => {
                let held = all.driven.held.take();
                all.instances(flip.instances.clone(), held.as_ref(), POINTS);
                all.driven.held = held;
                for later in std::mem::take(&mut all.driven.later) {
                    if later.instances != flip.instances {
                        all.instances(later.instances.clone(), Some(&later), LATER_POINTS);
                    }
                }
                all.add_the_start();
            }
            _ => all.side_by_side(),
        }
        all.of_points = vec![Tallies::default(); all.points.len()];
        all
    }

    /// Whether somebody has stopped it.
    pub(super) fn is_stopped(&self) -> bool {
        !self.driven.complete || self.driven.context.stop.load(Ordering::Relaxed)
    }

    /// Continues both orders from every point with the same seeds, and returns how that came out.
    pub(super) fn pilot(&mut self) -> Vec<Continued> {
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

    /// So many further runs that are meant to have this order, from one point.
    pub(super) fn further(&mut self, at: usize, first: First, n: u64) -> Vec<Continued> {
        let taken = self.taken.entry((at, first)).or_insert(FURTHER);
        let from = *taken;
        *taken += n;
        let work: Vec<Work> = (from..from + n).map(|seed| (at, first, seed)).collect();
        self.go_on(&work)
    }

    // States in which both accesses are side by side: the first runs that come to different ones.
    fn side_by_side(&mut self) {
        self.scenes.push(Scene { instances: None, pedigrees: None, ways: [walk(), walk()] });
        let mut worker = Worker::new(self.driven.plan);
        let mut states = BTreeSet::new();
        for (at, hit) in by_turns(self.driven) {
            let choices = worker.choices(&self.driven.trials[at].run);
            let machine = worker.machine_after(&choices, hit.step);
            let world = &machine.world;
            let (x, y) = hit.threads;
            // Of one statement twice the instance of the thread with the lesser name is the first.
            let swaps = match self.driven.pair.a == self.driven.pair.b {
                true => world.thread_name(x) > world.thread_name(y),
                false => hit.first != self.driven.pair.a,
            };
            let threads = if swaps { [y, x] } else { [x, y] };
            let roles = threads.map(|t| world.contexts().name(world.setup(), world.thread(t).context));
            if states.insert((machine.canonical().digest(), threads)) {
                self.points.push(Point { threads: Some(threads), ..Point::new(choices, hit.step, roles, 0) });
            }
            if self.points.len() == POINTS {
                break;
            }
        }
    }

    // A pair of instances, with the states in which something began to be held, in runs in which the two came in some order.
    fn instances(&mut self, instances: InstancePair, held: Option<&Held>, most: usize) {
        let scene = self.scenes.len();
        let roles = [instances.a.context.clone(), instances.b.context.clone()];
        let mut worker = Worker::new(self.driven.plan);
        let mut states = BTreeSet::new();
        for i in self.driven.from..self.driven.trials.len() {
            let Some(steps) = self.driven.trials[i].engaged else { continue };
            if states.len() == most || self.driven.order(i, &instances).is_none() {
                continue;
            }
            let choices = worker.choices(&self.driven.trials[i].run);
            if states.insert(worker.machine_after(&choices, steps).canonical().digest()) {
                self.points.push(Point::new(choices, steps, roles.clone(), scene));
            }
        }
        let sites = &self.driven.plan.model.code.setup.sites;
        let ways = [First::A, First::B].map(|first| {
            let way: Option<StrategySpec> = held.and_then(|held| held.strategy(first));
            way.and_then(|way| way.build(sites).ok()).unwrap_or_else(walk)
        });
        let pedigrees = pedigrees(self.driven, &instances, &mut worker);
        self.scenes.push(Scene { instances: Some(instances), pedigrees, ways });
    }

    // The start of the app, from which all trials are runs: from some states an order cannot be brought about.
    fn add_the_start(&mut self) {
        for (scene, of) in self.scenes.iter().enumerate() {
            let Some(instances) = of.instances.as_ref() else { continue };
            let mut before = Tallies::default();
            for i in 0..self.driven.trials.len() {
                before.add(self.driven.order(i, instances), &self.driven.trials[i]);
            }
            let roles = [instances.a.context.clone(), instances.b.context.clone()];
            let start = Point::new(Arc::new(RawChoices::default()), 0, roles, scene);
            self.points.push(Point { is_start: true, before, ..start });
        }
    }

    // How an order is brought about from a point on.
    fn strategy(&self, at: usize, first: First) -> Prefixed<Named> {
        let point = &self.points[at];
        let (forced, then) = match point.in_order(first) {
            // Both at once: what one of them does to a later statement of the other is the matter of another pair.
            Some(threads) => (threads.to_vec(), walk()),
            None => (vec![], self.scenes[point.scene].ways[first as usize].clone()),
        };
        Prefixed::new(point.choices.clone(), point.steps, forced, then)
    }

    // Makes these runs, says which order came of each, and counts them.
    fn go_on(&mut self, work: &[Work]) -> Vec<Continued> {
        let context = self.driven.context;
        context.progress.phase("both orders", work.len() as u64);
        let results: Vec<Option<(Trial, Option<Sightings>)>> = parallel::map(
            self.driven.plan.jobs,
            work.len(),
            context.stop,
            || Worker::new(self.driven.plan),
            |worker, i| {
                let (at, first, seed) = work[i];
                let strategy = self.strategy(at, first);
                // The same for both orders.
                let seed = mix(mix(self.driven.plan.seed, 1 << 48 | at as u64), seed);
                if self.points[at].threads.is_some() {
                    return (worker.make(strategy, seed, &mut Unobserved, context.stop), None);
                }
                let mut watch = Watch::new(&self.driven.sites);
                let trial = worker.make(strategy, seed, &mut watch, context.stop);
                (trial, Some(watch.finish(&worker.machine.world)))
            },
            || context.progress.done(),
        );
        let mut all = Vec::new();
        for (result, (at, wanted, _)) in results.into_iter().zip(work) {
            let Some((trial, sightings)) = result.filter(|(t, _)| t.summary.end != End::Interrupted) else {
                self.driven.complete = false;
                continue;
            };
            let instances = self.scenes[self.points[*at].scene].instances.as_ref();
            let came = match (sightings, instances) {
                (Some(sightings), Some(instances)) => self.driven.order_in(&trial, &sightings, instances),
                _ => Some(Came::both(*wanted)),
            };
            self.of_points[*at].add(came, &trial);
            all.push(Continued { at: *at, first: came.map(|came| came.first), trial });
        }
        all
    }
}

impl Point {
    fn new(choices: Arc<RawChoices>, steps: u64, roles: [String; 2], scene: usize) -> Self {
        Self { choices, steps, threads: None, roles, scene, is_start: false, before: Tallies::default() }
    }

    /// The threads that stand there side by side, in the order in which they act.
    pub(super) fn in_order(&self, first: First) -> Option<[ThreadId; 2]> {
        self.threads.map(|[a, b]| if first == First::A { [a, b] } else { [b, a] })
    }
}

fn walk() -> Named {
    Named::Random(RandomWalk::new())
}

// The runs with both side by side, one of each strategy in turn: what the first visits come to says little of later ones.
fn by_turns(driven: &Driven<'_>) -> Vec<(usize, Hit)> {
    let mut made: Vec<(&StrategySpec, usize)> = Vec::new();
    let turn = |(at, hit): &(usize, Hit)| {
        let Run::Drawn(id) = &driven.trials[*at].run else { return (0, *at, *hit) };
        let i = made.iter().position(|(strategy, _)| **strategy == id.strategy).unwrap_or_else(|| {
            made.push((&id.strategy, 0));
            made.len() - 1
        });
        made[i].1 += 1;
        (made[i].1, *at, *hit)
    };
    let mut all: Vec<_> = driven.hits.iter().map(turn).collect();
    all.sort_by_key(|(turn, at, _)| (*turn, *at));
    all.into_iter().map(|(_, at, hit)| (at, hit)).collect()
}

// Two instances as a search tells them: a run that performed both has the pedigrees to their names.
fn pedigrees(driven: &Driven<'_>, pair: &InstancePair, worker: &mut Worker<'_>) -> Option<[explore::Instance; 2]> {
    let run = driven.trials[driven.orders.known(pair)?].run.clone();
    // To its end also after Ctrl-C: a run that stops early may not have these threads.
    worker.perform(&run, &mut Unobserved, &AtomicBool::new(false));
    let world = &worker.machine.world;
    let [a, b] = [&pair.a, &pair.b].map(|instance| {
        let context = world.contexts().named(world.setup(), &instance.context)?;
        let pedigree = world.contexts().chain(context);
        Some(explore::Instance { site: instance.site, pedigree, visit: instance.visit })
    });
    Some([a?, b?])
}
