//! Finds the ways to force an order of two operations, from one run that performs both.

use super::causes::Causes;
use super::holds::Goal;
use super::ring_ways::{is_ring_of, ring_holds};
use crate::campaign::CampaignPlan;
use crate::campaign::order::{First, InstancePair};
use crate::campaign::runs::stream::Stream;
use crate::campaign::runs::trial::Worker;
use crate::detect::{Hybrid, Pair, Ring};
use crate::event::{Event, SiteId};
use crate::exec::{Observer, run};
use crate::sched::{
    EventCounter, Guide, HoldOrders, HoldSpec, Moment, ProfileCounts, RoundRobin, SiteSpec, SpecError, StrategySpec,
    SurwSpec,
};
use crate::world::{Limits, Program, World};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Ways to force the orders of one pair of instances by holding.
pub(in crate::campaign) struct HoldTrials {
    // Ways of both orders, with their hits, the nearest ones first.
    pub(in crate::campaign) ways: Vec<HoldTrial>,
    /// Instances that the ways flip.
    pub(in crate::campaign) instances: InstancePair,
    /// Statements of the two instances and of all their causes.
    pub(in crate::campaign) causes: Vec<SiteId>,
}

/// Way to force an order, with its trials and hits.
#[derive(Clone)]
pub(in crate::campaign) struct HoldTrial {
    pub(super) spec: HoldSpec,
    pub(in crate::campaign) wanted: First,
    pub(in crate::campaign) trials: u32,
    pub(in crate::campaign) hits: u32,
}

impl HoldTrials {
    /// Returns the index of the best way to force this order.
    pub(in crate::campaign) fn best(&self, wanted: First) -> Option<usize> {
        self.best_of(|way| way.wanted == wanted)
    }

    /// Returns the strategy of the best way that does not hold the clock. A clock that is held keeps timeouts from
    /// expiring, whatever the order is.
    pub(in crate::campaign) fn strategy(&self, wanted: First) -> Option<StrategySpec> {
        let best = self.best_of(|way| way.wanted == wanted && !way.stops_the_clock());
        best.map(|at| StrategySpec::Hold(self.ways[at].spec.clone()))
    }

    // Returns the way with the highest hit rate among these, if it has any hits. Of equally good ones the nearest wins.
    fn best_of(&self, counts: impl Fn(&HoldTrial) -> bool) -> Option<usize> {
        let of = self.ways.iter().enumerate().filter(|(_, way)| way.hits > 0 && counts(way));
        let best = of.reduce(|best, other| {
            let (x, y) = (best.1, other.1);
            let better = u64::from(y.hits) * u64::from(x.trials) > u64::from(x.hits) * u64::from(y.trials);
            if better { other } else { best }
        });
        best.map(|(at, _)| at)
    }
}

impl HoldTrial {
    fn stops_the_clock(&self) -> bool {
        let number = self.spec.way.map_or(0, |way| way as usize - 1);
        let way = self.spec.holds.as_ref().and_then(|holds| holds.ways.get(number));
        way.is_some_and(|way| way.iter().any(|hold| hold.what == Moment::Tick))
    }
}

/// Returns the number of steps after which a hold is released.
pub(super) fn patience(longest: u64) -> u64 {
    (10 * longest).max(1_000)
}

// Observers of the run that shows the causes.
struct CauseObservers {
    causes: Causes,
    hybrid: Hybrid,
}

impl Observer for CauseObservers {
    fn event(&mut self, world: &World, event: &Event) {
        self.causes.event(world, event);
        self.hybrid.observe(world, event);
    }
}

// The run that shows the causes of two statements.
struct Profile<'p, P: Program> {
    worker: Worker<'p, P>,
    causes: Causes,
    // Steps at which detection would report the pair in this run.
    steps: Option<(u64, u64)>,
    patience: u64,
    guide: Guide,
}

impl<'p, P: Program> Profile<'p, P> {
    fn new(plan: &'p CampaignPlan<P>, stream: &Stream, pair: Pair, profile: u64, stop: &AtomicBool) -> Self {
        let mut seen = CauseObservers { causes: Causes::default(), hybrid: Hybrid::with_order_pairs() };
        let mut worker = Worker::new(plan);
        let profiled = stream.run(profile);
        let guide = worker.guide(&profiled);
        let trial = worker.perform(&profiled, &mut seen, stop);
        let (races, orders) = seen.hybrid.finish_both();
        let steps = races.into_iter().chain(orders).find(|c| c.pair == pair).map(|c| c.evidence.steps);
        Self { worker, causes: seen.causes, steps, patience: patience(trial.summary.steps), guide }
    }

    fn world(&self) -> &World {
        &self.worker.machine.world
    }

    // The pairs of operations of two statements: the first one that conflicts, then those of later tasks.
    fn pairs(&self, pair: Pair) -> Vec<(usize, usize)> {
        let (world, sites) = (self.world(), (pair.a, pair.b));
        let Some(first) = self.causes.pair(world, sites, self.steps) else { return Vec::new() };
        std::iter::once(first).chain(self.causes.later(world, sites, first)).collect()
    }

    fn holds(&self, goal: &Goal) -> HoldOrders {
        let ways = self.causes.ways(self.world(), goal);
        HoldOrders { ways, patience: self.patience, guide: self.guide.clone(), to_the_last: goal.is_longer() }
    }
}

// Ways for two accesses of a pair, in each order, with the instances that are meant.
struct Ways {
    // Index of this pair of instances among those of the two statements, as in `HoldSpec::later`.
    later: u32,
    // Ways that let the first statement's instance come first, then ways that let the second's.
    of: [HoldOrders; 2],
    instances: InstancePair,
    causes: Vec<SiteId>,
}

// Finds the ways for the first two accesses, then for later tasks. Empty if the run does not perform both on one
// location.
fn ways<P: Program>(plan: &CampaignPlan<P>, stream: &Stream, pair: Pair, profile: u64, stop: &AtomicBool) -> Vec<Ways> {
    let seen = Profile::new(plan, stream, pair, profile, stop);
    let holds = |first, then| seen.holds(&Goal::of_two(first, then));
    let of_two = |(later, (mut a, mut b)): (usize, (usize, usize))| {
        let mut instances = seen.causes.instances(seen.world(), a, b)?;
        if pair.a == pair.b && instances.a > instances.b {
            (a, b) = (b, a);
            instances = seen.causes.instances(seen.world(), a, b)?;
        }
        let causes = seen.causes.sites((a, b));
        Some(Ways { later: later as u32, of: [holds(a, b), holds(b, a)], instances, causes })
    };
    let mut all = seen.pairs(pair).into_iter().enumerate();
    // Without ways for the first two accesses there are none for later ones.
    let first = all.next().and_then(of_two);
    let later = first.is_some().then(|| all.filter_map(of_two));
    first.into_iter().chain(later.into_iter().flatten()).collect()
}

/// Returns the ways to let the write of a pair come first and to keep other writes out between it and the read,
/// untried, as the detection run with the seed `profile` shows them. `None` if the run shows no other writes to the
/// location.
pub(super) fn prepare_between<P: Program>(
    plan: &CampaignPlan<P>,
    stream: &Stream,
    (pair, write): (Pair, First),
    profile: u64,
    stop: &AtomicBool,
) -> Option<HoldTrials> {
    let seen = Profile::new(plan, stream, pair, profile, stop);
    let (a, b) = *seen.pairs(pair).first()?;
    let (written, read) = if write == First::A { (a, b) } else { (b, a) };
    let without = seen.causes.other_writers(seen.world(), written, read);
    if without.is_empty() {
        return None;
    }
    let sites = if write == First::A { [pair.a, pair.b] } else { [pair.b, pair.a] };
    let goal = seen.causes.goal(seen.world(), (written, read), &[sites.to_vec()], &without)?;
    let holds = Arc::new(seen.holds(&goal));
    let instances = seen.causes.instances(seen.world(), a, b)?;
    let spec = HoldSpec {
        sequences: vec![sites.map(|site| plan.site(site)).to_vec()],
        without: without.into_iter().map(|site| plan.site(site)).collect(),
        way: None,
        guided: false,
        profile,
        later: 0,
        ring: false,
        holds: Some(holds.clone()),
    };
    let way = |i: usize| HoldSpec { way: Some(i as u32 + 1), ..spec.clone() };
    let ways = (0..holds.ways.len()).map(|i| HoldTrial { spec: way(i), wanted: write, trials: 0, hits: 0 }).collect();
    Some(HoldTrials { ways, instances, causes: seen.causes.sites((a, b)) })
}

/// Returns the ways to force both orders of a pair, untried, as the detection run with the seed `profile` shows them:
/// for the first two accesses, then for later tasks. Empty if the run does not perform both on one location.
pub(super) fn prepare<P: Program>(
    plan: &CampaignPlan<P>,
    stream: &Stream,
    pair: Pair,
    profile: u64,
    stop: &AtomicBool,
) -> Vec<HoldTrials> {
    ways(plan, stream, pair, profile, stop).into_iter().map(|ways| of_ways(plan, pair, profile, ways)).collect()
}

// Turns the ways into `hold` strategies of both orders.
fn of_ways<P: Program>(plan: &CampaignPlan<P>, pair: Pair, profile: u64, ways: Ways) -> HoldTrials {
    let Ways { later, of: [a_first, b_first], instances, causes } = ways;
    let (a, b) = (plan.site(pair.a), plan.site(pair.b));
    let directions: Vec<(SiteSpec, SiteSpec, HoldOrders, Vec<First>)> = if pair.a == pair.b {
        let (holds, wanted) = of_one_site(a_first, b_first);
        vec![(a, b, holds, wanted)]
    } else {
        let (m, n) = (a_first.ways.len(), b_first.ways.len());
        vec![(a.clone(), b.clone(), a_first, vec![First::A; m]), (b, a, b_first, vec![First::B; n])]
    };
    let mut all = Vec::new();
    for (first, then, holds, wanted) in directions {
        let holds = Arc::new(holds);
        for (i, wanted) in wanted.into_iter().enumerate() {
            let (sequences, holds) = (vec![vec![first.clone(), then.clone()]], Some(holds.clone()));
            let (way, without) = (Some(i as u32 + 1), Vec::new());
            let spec = HoldSpec { sequences, without, way, guided: false, profile, later, ring: false, holds };
            all.push((i, HoldTrial { spec, wanted, trials: 0, hits: 0 }));
        }
    }
    // The nearest ways of both orders come first.
    all.sort_by_key(|(i, _)| *i);
    HoldTrials { ways: all.into_iter().map(|(_, way)| way).collect(), instances, causes }
}

// For one statement twice both orders have the same name: the ways of one order come first, then those of the other.
fn of_one_site(mut a_first: HoldOrders, b_first: HoldOrders) -> (HoldOrders, Vec<First>) {
    let (m, n) = (a_first.ways.len(), b_first.ways.len());
    a_first.ways.extend(b_first.ways);
    (a_first, [vec![First::A; m], vec![First::B; n]].concat())
}

/// Returns the ways to force the order that a `hold` strategy names, as the run that it names shows them. If the names
/// cover several pairs of statements, the first pair counts that the run performs on one location.
///
/// # Errors
///
/// Returns a [`SpecError`] if the strategy names a statement that the program does not have.
pub fn holds<P: Program>(plan: &CampaignPlan<P>, spec: &HoldSpec) -> Result<HoldOrders, SpecError> {
    let sites = &plan.setup().sites;
    let resolved = |sequence: &Vec<SiteSpec>| sequence.iter().map(|site| site.resolve(sites)).collect();
    let sequences = spec.sequences.iter().map(resolved).collect::<Result<Vec<Vec<Vec<SiteId>>>, SpecError>>()?;
    let without = spec.without.iter().map(|site| site.resolve(sites)).collect::<Result<Vec<_>, _>>()?.concat();
    let [firsts, thens, ..] = sequences.first().map_or(&[][..], Vec::as_slice) else {
        return Ok(HoldOrders::default());
    };
    let stop = AtomicBool::new(false);
    let stream = Stream::new(plan, &stop);
    if spec.ring {
        let is_it = |ring: &Ring| is_ring_of(ring, &sequences);
        return Ok(ring_holds(plan, &stream, is_it, spec.profile, &stop).unwrap_or_default());
    }
    for first in firsts {
        for then in thens {
            let pair = Pair::new(*first, *then);
            let found = if spec.is_of_two() {
                order_of_two(plan, &stream, (pair, *first), spec, &stop)
            } else {
                longer_order(plan, &stream, (*first, *then), (spec, &sequences, &without), &stop)
            };
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }
    Ok(HoldOrders::default())
}

fn order_of_two<P: Program>(
    plan: &CampaignPlan<P>,
    stream: &Stream,
    (pair, first): (Pair, SiteId),
    spec: &HoldSpec,
    stop: &AtomicBool,
) -> Option<HoldOrders> {
    let mut ways = ways(plan, stream, pair, spec.profile, stop).into_iter();
    let Ways { of: [a_first, b_first], .. } = ways.find(|ways| ways.later == spec.later)?;
    Some(match (pair.a == pair.b, first == pair.a) {
        (true, _) => of_one_site(a_first, b_first).0,
        (_, true) => a_first,
        _ => b_first,
    })
}

// The ways of an order of more than two statements, or of one that others are kept out of. Each statement may stand for
// several sites: the first one counts that the run performs.
fn longer_order<P: Program>(
    plan: &CampaignPlan<P>,
    stream: &Stream,
    (first, then): (SiteId, SiteId),
    (spec, sequences, without): (&HoldSpec, &[Vec<Vec<SiteId>>], &[SiteId]),
    stop: &AtomicBool,
) -> Option<HoldOrders> {
    let pair = Pair::new(first, then);
    let seen = Profile::new(plan, stream, pair, spec.profile, stop);
    let (a, b) = *seen.pairs(pair).get(spec.later as usize)?;
    let two = if first == pair.a { (a, b) } else { (b, a) };
    let performed = |sites: &Vec<SiteId>| sites.iter().copied().find(|site| seen.causes.visits(*site) > 0);
    let mut sequences =
        sequences.iter().map(|of| of.iter().map(performed).collect()).collect::<Option<Vec<Vec<SiteId>>>>()?;
    sequences.first_mut()?.splice(..2, [first, then]);
    Some(seen.holds(&seen.causes.goal(seen.world(), two, &sequences, without)?))
}

/// Counts the interesting events of each thread and task of the program, which a `surw` strategy needs. They are
/// counted in a round robin, which is the same every time.
///
/// # Errors
///
/// Returns a [`SpecError`] if the strategy names a statement that the program does not have.
pub fn counts<P: Program>(program: &P, limits: Limits, spec: &SurwSpec) -> Result<ProfileCounts, SpecError> {
    let mut machine = program.machine(limits);
    let mut counter = EventCounter::new(spec.interesting(&program.setup().sites)?);
    run(&mut machine, &mut RoundRobin::default(), 0, &mut counter, &AtomicBool::new(false));
    Ok(counter.counts(&machine.world))
}
