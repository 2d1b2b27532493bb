//! The ways to bring an order of two operations about, as one run shows them.

use super::Plan;
use super::causes::Causes;
use super::orders::{First, InstancePair};
use super::stream::Stream;
use super::trial::Worker;
use crate::detect::{Hybrid, Pair};
use crate::event::{Event, SiteId};
use crate::exec::{Observer, Unobserved, run};
use crate::sched::{
    Counting, Counts, HoldSpec, Holds, Moment, RoundRobin, SiteSpec, SpecError, StrategySpec, SurwSpec, site_text,
};
use crate::vm::Model;
use crate::world::{Limits, World};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The ways to hold.
pub(super) struct Held {
    // For each direction: how it is named, its ways.
    pub(super) ways: Vec<HeldWay>,
    /// The two accesses that are flipped.
    pub(super) instances: InstancePair,
    /// The statements of these two and of all that brings them about.
    pub(super) causes: Vec<SiteId>,
}

/// One of them, and how often it did it.
#[derive(Clone)]
pub(super) struct HeldWay {
    pub(super) spec: HoldSpec,
    pub(super) wanted: First,
    pub(super) trials: u32,
    pub(super) hits: u32,
}

impl Held {
    /// The best way to bring this order about, by its number.
    pub(super) fn best(&self, wanted: First) -> Option<usize> {
        self.best_of(|way| way.wanted == wanted)
    }

    /// The strategy of the best way that holds no clock: a clock that stands still keeps timeouts from coming, whatever the order.
    pub(super) fn strategy(&self, wanted: First) -> Option<StrategySpec> {
        let best = self.best_of(|way| way.wanted == wanted && !way.stops_the_clock());
        best.map(|at| StrategySpec::Hold(self.ways[at].spec.clone()))
    }

    // The best of these that ever did it; the nearest of those that are equally good.
    fn best_of(&self, counts: impl Fn(&HeldWay) -> bool) -> Option<usize> {
        let of = self.ways.iter().enumerate().filter(|(_, way)| way.hits > 0 && counts(way));
        let best = of.reduce(|best, other| {
            let (x, y) = (best.1, other.1);
            let better = u64::from(y.hits) * u64::from(x.trials) > u64::from(x.hits) * u64::from(y.trials);
            if better { other } else { best }
        });
        best.map(|(at, _)| at)
    }
}

impl HeldWay {
    fn stops_the_clock(&self) -> bool {
        let number = self.spec.way.map_or(0, |way| way as usize - 1);
        let hold = self.spec.holds.as_ref().and_then(|holds| holds.ways.get(number));
        hold.is_some_and(|hold| hold.what == Moment::Tick)
    }
}

/// Steps after which what waits is let go.
pub(super) fn patience(longest: u64) -> u64 {
    (10 * longest).max(1_000)
}

/// A site by its own name.
pub(super) fn spec(plan: &Plan, site: SiteId) -> SiteSpec {
    site_text(&plan.model.code.setup.sites, site).parse().unwrap_or_else(|e| panic!("a site's own name: {e}"))
}

// A run that shows causes.
struct Profile {
    causes: Causes,
    hybrid: Hybrid,
}

impl Observer for Profile {
    fn event(&mut self, world: &World, event: &Event) {
        self.causes.event(world, event);
        self.hybrid.observe(world, event);
    }
}

// What one run says of two accesses of a pair: in each direction the ways, and which accesses are meant.
struct Ways {
    // Which two of the statements' instances, as `HoldSpec::later` has it.
    later: u32,
    // First::A: the ways to let the instance of the first statement come first.
    of: [Holds; 2],
    instances: InstancePair,
    causes: Vec<SiteId>,
}

// The first two accesses, then later ones; none if the run does not perform both on one location.
fn ways(plan: &Plan, stream: &Stream, pair: Pair, profile: u64, stop: &AtomicBool) -> Vec<Ways> {
    let mut seen = Profile { causes: Causes::default(), hybrid: Hybrid::with_order_pairs() };
    let mut worker = Worker::new(plan);
    let profiled = stream.run(profile);
    let guide = worker.guide(&profiled);
    let trial = worker.perform(&profiled, &mut seen, stop);
    let world = &worker.machine.world;
    let (races, orders) = seen.hybrid.finish_both();
    let steps = races.into_iter().chain(orders).find(|c| c.pair == pair).map(|c| c.evidence.steps);
    let Some(first) = seen.causes.pair(world, (pair.a, pair.b), steps) else { return Vec::new() };
    let all = std::iter::once(first).chain(seen.causes.later(world, (pair.a, pair.b), first));
    let patience = patience(trial.summary.steps);
    let holds = |first, then| Holds { ways: seen.causes.ways(world, first, then), patience, guide: guide.clone() };
    let of_two = |(later, (mut a, mut b)): (usize, (usize, usize))| {
        let mut instances = seen.causes.instances(world, a, b)?;
        if pair.a == pair.b && instances.a > instances.b {
            (a, b) = (b, a);
            instances = seen.causes.instances(world, a, b)?;
        }
        let causes = seen.causes.sites((a, b));
        Some(Ways { later: later as u32, of: [holds(a, b), holds(b, a)], instances, causes })
    };
    let mut all = all.enumerate();
    // Without the first there are no later ones.
    let first = all.next().and_then(of_two);
    let later = first.is_some().then(|| all.filter_map(of_two));
    first.into_iter().chain(later.into_iter().flatten()).collect()
}

/// The ways to bring both orders of a pair about, untried, as the detection run of this seed shows them: of the first two accesses, then of later tasks. None if the run does
/// not perform both on one location.
pub(super) fn prepare(plan: &Plan, stream: &Stream, pair: Pair, profile: u64, stop: &AtomicBool) -> Vec<Held> {
    ways(plan, stream, pair, profile, stop).into_iter().map(|ways| of_ways(plan, pair, profile, ways)).collect()
}

fn of_ways(plan: &Plan, pair: Pair, profile: u64, ways: Ways) -> Held {
    let Ways { later, of: [a_first, b_first], instances, causes } = ways;
    let (a, b) = (spec(plan, pair.a), spec(plan, pair.b));
    let directions: Vec<(SiteSpec, SiteSpec, Holds, Vec<First>)> = if pair.a == pair.b {
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
            let (first, then, holds) = (first.clone(), then.clone(), Some(holds.clone()));
            let spec = HoldSpec { first, then, way: Some(i as u32 + 1), guided: false, profile, later, holds };
            all.push((i, HeldWay { spec, wanted, trials: 0, hits: 0 }));
        }
    }
    // The nearest ways of both directions first.
    all.sort_by_key(|(i, _)| *i);
    Held { ways: all.into_iter().map(|(_, way)| way).collect(), instances, causes }
}

// Of one statement twice both directions have one name: the ways of the one, then those of the other.
fn of_one_site(mut a_first: Holds, b_first: Holds) -> (Holds, Vec<First>) {
    let (m, n) = (a_first.ways.len(), b_first.ways.len());
    a_first.ways.extend(b_first.ways);
    (a_first, [vec![First::A; m], vec![First::B; n]].concat())
}

/// The ways to bring the order about that a `hold` strategy names, as the run that it names shows them. Of several accesses that its statements have those count that
/// the run performs on one location.
///
/// # Errors
///
/// If there is no such statement.
pub fn holds(plan: &Plan, spec: &HoldSpec) -> Result<Holds, SpecError> {
    let sites = &plan.model.code.setup.sites;
    let (firsts, thens) = (spec.first.resolve(sites)?, spec.then.resolve(sites)?);
    let stop = AtomicBool::new(false);
    let stream = Stream::new(plan, &stop);
    for first in firsts {
        for then in &thens {
            let pair = Pair::new(first, *then);
            let found =
                ways(plan, &stream, pair, spec.profile, &stop).into_iter().find(|ways| ways.later == spec.later);
            let Some(Ways { of: [a_first, b_first], .. }) = found else { continue };
            return Ok(match (pair.a == pair.b, first == pair.a) {
                (true, _) => of_one_site(a_first, b_first).0,
                (_, true) => a_first,
                _ => b_first,
            });
        }
    }
    Ok(Holds::default())
}

/// How many interesting events each thread and task of the model has, as a `surw` strategy must know: in a round robin, which is the same every time.
///
/// # Errors
///
/// If it has no such statement.
pub fn counts(model: &Model, limits: Limits, spec: &SurwSpec) -> Result<Counts, SpecError> {
    let mut machine = model.machine(limits);
    let mut counting = Counting::new(RoundRobin::default(), spec.interesting(&model.code.setup.sites)?);
    run(&mut machine, &mut counting, 0, &mut Unobserved, &AtomicBool::new(false));
    Ok(counting.counts(&machine.world))
}
