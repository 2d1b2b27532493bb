//! Does it hurt? From the point where a pair is decided both orders are continued with the same seeds, so that what differs is the order and nothing before it.
//!
//! Where the accesses are side by side that point is known. Where one was held it is the step at which that began: from there it is held on, or the other order is brought about in the same way.
//! A failure that one order has and the other has not is taken for the order's only if so many runs of the other would have shown it: a failure that comes in every tenth run in
//! either order must not be blamed on one of them.

use super::drive::Driven;
use super::failures::{Failures, Told, evidence};
use super::orders::{First, InstancePair};
use super::parallel;
use super::report::{Evidence, OrderReport, Verdict};
use super::sightings::{Sightings, Watch};
use super::trial::{Run, Trial, Worker};
use crate::base::mix;
use crate::event::ThreadId;
use crate::exec::{End, RunSummary, Unobserved};
use crate::sched::{Hit, Named, Prefixed, RandomWalk, RawChoices, Replay, StrategySpec};
use crate::shrink::{Effort, Shrunk, shrink};
use crate::token::Token;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Seeds with which each order is continued from each point, at least.
pub const SEEDS: u64 = 8;

// Runs of each order at least, from all points.
const LEAST_RUNS: u64 = 64;

// Points from which a pair is continued.
const POINTS: usize = 12;

// If the order did not matter, seeing a failure in none of so many runs would have at most this chance: one in a thousand (its natural logarithm, negative).
const CERTAINTY: f64 = 6.9;

// How often it is looked whether more are needed.
const MOST_ROUNDS: usize = 5;

// Runs that are made for that certainty at most, each time.
const MOST_FURTHER: u64 = 1_000;

// What is tried to make a run smaller that is shown.
const EFFORT: Effort = Effort { runs: 300, steps: 200_000 };

// A point at which the pair is decided.
struct Point {
    choices: Arc<RawChoices>,
    steps: u64,
    // The threads that stand there, if they are side by side: that of the first statement, and that of the second.
    threads: Option<[ThreadId; 2]>,
}

/// What came of both orders.
pub(super) struct Compared {
    pub(super) orders: [OrderReport; 2],
    /// Failures of one order that the other has not, from some point on: the order, and the signature.
    pub(super) harms: BTreeSet<(First, String)>,
    /// Runs in which neither order was seen.
    pub(super) undecided: u32,
}

impl Compared {
    /// No runs at all.
    pub(super) fn nothing() -> Self {
        let order = |first| OrderReport { first, runs: 0, failures: Vec::new(), passes: None };
        Self { orders: [order(First::A), order(First::B)], harms: BTreeSet::new(), undecided: 0 }
    }
}

// Runs of one order.
#[derive(Clone, Default)]
struct Tally {
    runs: u32,
    failures: Failures,
    // The first that did not fail.
    passes: Option<Run>,
}

impl Tally {
    fn add(&mut self, trial: &Trial) {
        self.runs += 1;
        if trial.failed() {
            self.failures.add(trial);
        } else if self.passes.is_none() {
            self.passes = Some(trial.run.clone());
        }
    }
}

// Runs by their order.
#[derive(Clone, Default)]
struct Tallies {
    of: [Tally; 2],
    undecided: u32,
}

impl Tallies {
    fn add(&mut self, first: Option<First>, trial: &Trial) {
        match first {
            Some(first) => self.of[first as usize].add(trial),
            None => self.undecided += 1,
        }
    }

    // Failures that an order has and the other, which was seen, has not: with how many further runs of the other one it takes to say that it has not.
    fn lacking(&self) -> impl Iterator<Item = (First, &str, u64)> {
        let sides = [(First::A, &self.of[0], &self.of[1]), (First::B, &self.of[1], &self.of[0])];
        sides.into_iter().filter(|(_, _, other)| other.runs > 0).flat_map(|(first, this, other)| {
            let lacks = |s: &str| other.failures.counts().all(|(t, _)| t != s);
            this.failures.counts().filter(move |(s, _)| lacks(s)).map(move |(signature, k)| {
                let wanted = (CERTAINTY * f64::from(this.runs) / f64::from(k)).ceil() as u64;
                (first, signature, wanted.saturating_sub(u64::from(other.runs)))
            })
        })
    }

    fn join(&mut self, other: Tallies) {
        for (mine, theirs) in self.of.iter_mut().zip(other.of) {
            mine.runs += theirs.runs;
            mine.failures.join(theirs.failures);
            mine.passes = mine.passes.take().or(theirs.passes);
        }
        self.undecided += other.undecided;
    }

    fn harms(&self) -> impl Iterator<Item = (First, String)> {
        // Only where so many runs of the other order were made that it would have shown it.
        self.lacking().filter(|(.., missing)| *missing == 0).map(|(first, signature, _)| (first, signature.to_owned()))
    }
}

/// Both orders of a confirmed pair, continued.
pub(super) fn compare(driven: &mut Driven<'_>, verdict: &Verdict) -> Compared {
    let instances = match verdict {
        Verdict::Flipped(flip) => Some(flip.instances.clone()),
        _ => None,
    };
    let points = match &instances {
        None => side_by_side(driven),
        Some(instances) => held(driven, instances),
    };
    let mut of_points = vec![Tallies::default(); points.len()];
    let seeds = SEEDS.max(LEAST_RUNS.div_ceil(points.len().max(1) as u64));
    let both = [First::A, First::B].into_iter().flat_map(|first| (0..seeds).map(move |seed| (first, seed)));
    let both: Vec<(First, u64)> = both.collect();
    let mut work: Vec<Work> = (0..points.len()).flat_map(|at| both.iter().map(move |(f, s)| (at, *f, *s))).collect();
    for round in 0..=MOST_ROUNDS {
        for (at, first, trial) in go_on(driven, &points, &work, instances.as_ref()) {
            of_points[at].add(first, &trial);
        }
        work = further(&of_points, round as u64 + 1);
    }
    let mut harms: BTreeSet<(First, String)> = of_points.iter().flat_map(Tallies::harms).collect();
    let mut all = Tallies::default();
    of_points.into_iter().for_each(|tallies| all.join(tallies));
    // What no run at all of one order has, of however many, and so many of the other, is harm as well: from some points an order cannot be brought about.
    if let Some(instances) = &instances {
        let mut made = Tallies::default();
        for i in 0..driven.trials.len() {
            made.add(driven.order(i, instances), &driven.trials[i]);
        }
        let seldom = all.of.iter().any(|t| t.runs == 0);
        let mut pooled = made.clone();
        pooled.join(all.clone());
        harms.extend(pooled.harms());
        if seldom {
            all = made;
        }
    }
    let Tallies { of: [for_a, for_b], undecided } = all;
    let orders = [(First::A, for_a), (First::B, for_b)].map(|(first, tally)| {
        let mut shows = |run: &Run| shown(driven, instances.as_ref(), first, run);
        let passes = tally.passes.as_ref().map(|run| shows(run).0);
        OrderReport { first, runs: tally.runs, failures: tally.failures.finish_with(shows), passes }
    });
    Compared { orders, harms, undecided }
}

/// The orders that the runs of an unconfirmed pair had, as they came.
pub(super) fn seen(driven: &Driven<'_>) -> Compared {
    let mut all = Tallies::default();
    for i in driven.trials() {
        all.add(driven.decided[i], &driven.trials[i]);
    }
    let Tallies { of: [for_a, for_b], undecided } = all;
    let orders = [(First::A, for_a), (First::B, for_b)].map(|(first, tally)| OrderReport {
        first,
        runs: tally.runs,
        failures: tally.failures.finish(driven.plan),
        passes: tally.passes.map(|run| evidence(driven.plan, &run)),
    });
    Compared { orders, harms: BTreeSet::new(), undecided }
}

// States in which both accesses are side by side: the first runs that come to different ones.
fn side_by_side(driven: &Driven<'_>) -> Vec<Point> {
    let mut worker = Worker::new(driven.plan);
    let mut points = Points::default();
    for (at, hit) in by_turns(driven) {
        let run = &driven.trials[at].run;
        let choices = worker.choices(run);
        let (x, y) = hit.threads;
        let swaps = if driven.pair.a == driven.pair.b {
            // One statement twice: the instance of the thread with the lesser name is the first.
            // To its end also after Ctrl-C: a run that stops early may not have these threads.
            worker.perform(run, &mut Unobserved, &AtomicBool::new(false));
            worker.machine.world.thread_name(x) > worker.machine.world.thread_name(y)
        } else {
            hit.first != driven.pair.a
        };
        let threads = Some(if swaps { [y, x] } else { [x, y] });
        if points.is_full_with(&mut worker, Point { choices, steps: hit.step, threads }) {
            break;
        }
    }
    points.all
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

// States in which something began to be held, in runs in which the two accesses came in some order.
fn held(driven: &mut Driven<'_>, instances: &InstancePair) -> Vec<Point> {
    let mut worker = Worker::new(driven.plan);
    let mut points = Points::default();
    for i in driven.from..driven.trials.len() {
        let Some(steps) = driven.trials[i].engaged else { continue };
        if driven.order(i, instances).is_none() {
            continue;
        }
        let point = Point { choices: worker.choices(&driven.trials[i].run), steps, threads: None };
        if points.is_full_with(&mut worker, point) {
            break;
        }
    }
    points.all
}

// Points of different states.
#[derive(Default)]
struct Points {
    all: Vec<Point>,
    states: BTreeSet<(u128, Option<[ThreadId; 2]>)>,
}

impl Points {
    // Adds the point, if its state is new.
    fn is_full_with(&mut self, worker: &mut Worker<'_>, point: Point) -> bool {
        let state = worker.state_after(&point.choices, point.steps);
        if self.states.insert((state, point.threads)) {
            self.all.push(point);
        }
        self.all.len() == POINTS
    }
}

// How each order is brought about where something was held: as its best way does it, or by a walk.
fn ways(driven: &Driven<'_>) -> [Named; 2] {
    let sites = &driven.plan.model.code.setup.sites;
    [First::A, First::B].map(|first| {
        let way = driven.held.as_ref().and_then(|held| held.strategy(first));
        way.and_then(|way| way.build(sites).ok()).unwrap_or_else(walk)
    })
}

fn walk() -> Named {
    Named::Random(RandomWalk::new())
}

// How an order is brought about from a point on.
fn continuing(ways: &[Named; 2], point: &Point, first: First) -> Prefixed<Named> {
    let (forced, then) = match point.threads {
        // Both at once: what one of them does to a later statement of the other is the matter of another pair.
        Some([a, b]) => (if first == First::A { vec![a, b] } else { vec![b, a] }, walk()),
        None => (vec![], ways[first as usize].clone()),
    };
    Prefixed::new(point.choices.clone(), point.steps, forced, then)
}

// From which point, which order, with which seed.
type Work = (usize, First, u64);

// Continues from points, and says which order came of it.
fn go_on(
    driven: &mut Driven<'_>,
    points: &[Point],
    work: &[Work],
    instances: Option<&InstancePair>,
) -> Vec<(usize, Option<First>, Trial)> {
    let (context, ways) = (driven.context, ways(driven));
    context.progress.phase("both orders", work.len() as u64);
    let results: Vec<Option<(Trial, Option<Sightings>)>> = parallel::map(
        driven.plan.jobs,
        work.len(),
        context.stop,
        || Worker::new(driven.plan),
        |worker, i| {
            let (at, first, seed) = work[i];
            let strategy = continuing(&ways, &points[at], first);
            // The same for both orders.
            let seed = mix(mix(driven.plan.seed, 1 << 48 | at as u64), seed);
            if instances.is_none() {
                return (worker.make(strategy, seed, &mut Unobserved, context.stop), None);
            }
            let mut watch = Watch::new(&driven.sites);
            let trial = worker.make(strategy, seed, &mut watch, context.stop);
            (trial, Some(watch.finish(&worker.machine.world)))
        },
        || context.progress.done(),
    );
    let mut all = Vec::new();
    for (result, (at, wanted, _)) in results.into_iter().zip(work) {
        let Some((trial, sightings)) = result.filter(|(t, _)| t.summary.end != End::Interrupted) else {
            driven.complete = false;
            continue;
        };
        let first = match (sightings, instances) {
            (Some(sightings), Some(instances)) => driven.order_in(&trial, &sightings, instances),
            _ => Some(*wanted),
        };
        all.push((*at, first, trial));
    }
    all
}

// Further runs from points at which one order did not show a failure that the other one has: so many that it would have shown it.
fn further(of_points: &[Tallies], round: u64) -> Vec<Work> {
    let mut all = Vec::new();
    for (at, tallies) in of_points.iter().enumerate() {
        // Of both orders: how often the one fails was estimated from the very runs that made it suspect, and would be taken for more than it is.
        let missing = tallies.lacking().map(|(.., missing)| missing).max().unwrap_or(0).min(MOST_FURTHER);
        // Seeds that no round before has taken.
        let both = [First::A, First::B].into_iter();
        all.extend(both.flat_map(|first| (0..missing).map(move |i| (at, first, round << 32 | i))));
    }
    all
}

// The run that is shown, as small as it gets with the same end and the same order; what a smaller one came to.
fn shown(driven: &mut Driven<'_>, instances: Option<&InstancePair>, first: First, run: &Run) -> Told {
    let drawn = Worker::new(driven.plan).token(run);
    match smaller(driven, instances, first, &drawn) {
        Some((token, summary)) => (Evidence::of(&token), Some(summary)),
        None => (Evidence::of(&drawn), None),
    }
}

fn smaller(
    driven: &mut Driven<'_>,
    instances: Option<&InstancePair>,
    first: First,
    drawn: &Token,
) -> Option<(Token, RunSummary)> {
    let code = &driven.plan.model.code;
    let shrunk = shrink(code, drawn, EFFORT, driven.context.stop).ok().filter(Shrunk::is_smaller)?;
    let (order, summary) = order_of(driven, instances, &shrunk.token);
    (order == Some(first)).then_some((shrunk.token, summary))
}

// Which access comes first in the run of a token, and what that run came to.
fn order_of(driven: &mut Driven<'_>, instances: Option<&InstancePair>, token: &Token) -> (Option<First>, RunSummary) {
    let mut worker = Worker::new(driven.plan);
    let mut watch = Watch::new(&driven.sites);
    let replay = Replay::new(Arc::new(token.schedule.clone()));
    let trial = worker.make(replay, 0, &mut watch, &AtomicBool::new(false));
    let sightings = watch.finish(&worker.machine.world);
    let order = match instances {
        Some(instances) => driven.order_in(&trial, &sightings, instances),
        // Of one statement twice which thread is meant is not known.
        None if driven.pair.a == driven.pair.b => None,
        None => driven.orders.first_in(&sightings),
    };
    (order, trial.summary)
}
