//! Phase 1: potential pairs over many seeded runs (`stream`), until further runs bring nothing; and the pairs that a search of all states has besides, where the states are few.

use super::failures::Failures;
use super::flips::{Flips, Seen as OfTasks, Tasks};
use super::refute::{self, States};
use super::report::{Phase1, Risk, Searched};
use super::stream::{Stream, seed_of};
use super::trial::{Run, Worker};
use super::{Context, Explore, Plan, parallel};
use crate::detect::{Candidate, Candidates, Detector, Evidence, Findings, Hybrid, Pair, Rank, Traced};
use crate::event::{Event, Outcome, SiteId};
use crate::exec::{End, Observer};
use crate::sched::StrategySpec;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

// A pair that somebody wants to be driven, with what detection has seen of it.
fn given(plan: &Plan, found: &Candidates, pair: Pair) -> Candidate {
    found.get(pair).cloned().unwrap_or_else(|| Candidate {
        pair,
        rank: Rank::Unordered,
        // Whatever may bring it about is tried.
        kinds: BTreeSet::new(),
        evidence: Evidence::unseen(pair, 0, plan.model.code.setup.sites[pair.a].place.clone()),
        by: BTreeSet::new(),
        count: 0,
    })
}

// Whether it is a pair of operations that are no race.
fn is_order(plan: &Plan, pair: Pair) -> bool {
    let sites = &plan.model.code.setup.sites;
    sites[pair.a].is_operation() || sites[pair.b].is_operation()
}

// The order pairs that somebody wants to be driven. A label may stand for many operations: those count that detection has seen, and where it has seen none of them, all.
fn given_orders(plan: &Plan, found: &Candidates, pairs: &[Pair]) -> Vec<Candidate> {
    let wanted = || pairs.iter().filter(|pair| is_order(plan, **pair));
    let seen: Vec<Candidate> = wanted().filter_map(|pair| found.get(*pair).cloned()).collect();
    if !seen.is_empty() {
        return seen;
    }
    wanted().map(|pair| Candidate { rank: Rank::Order, ..given(plan, found, *pair) }).collect()
}

// What detection watches.
struct Seen<'s> {
    hybrid: Hybrid,
    traced: Option<Traced>,
    tasks: Tasks<'s>,
}

impl<'s> Seen<'s> {
    fn new(plan: &Plan, sites: &'s [SiteId]) -> Self {
        let traced = plan.detectors.iter().any(|by| *by != Detector::Hybrid).then(Traced::new);
        let hybrid = Hybrid::with_order_pairs().most_pairs(plan.most_pairs);
        Self { hybrid, traced, tasks: Tasks::new(sites) }
    }

    // The races by detector, and the order pairs.
    fn finish(self, detectors: &[Detector], world: &World) -> (Found, OfTasks) {
        let Findings { races, orders, left_out } = self.hybrid.finish_all();
        let mut races = if detectors.contains(&Detector::Hybrid) { races } else { Vec::new() };
        races.extend(self.traced.into_iter().flat_map(|traced| traced.finish(world, detectors)));
        (Found { races, orders, left_out }, self.tasks.finish(world))
    }
}

// What one run has shown. A pair that two detectors have seen is there twice.
struct Found {
    races: Vec<Candidate>,
    orders: Vec<Candidate>,
    left_out: BTreeSet<String>,
}

impl Observer for Seen<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        self.hybrid.observe(world, event);
        if let Some(traced) = &mut self.traced {
            traced.observe(world, event);
        }
        self.tasks.event(world, event);
    }
}

/// Adds the pairs that stand side by side in some state and that are not there yet.
pub(super) fn add_searched(plan: &Plan, states: &States, candidates: &mut Candidates) {
    for pair in states.adjacent() {
        candidates.add_searched(pair, plan.model.code.setup.sites[pair.a].place.clone());
    }
}

/// Whether a search of all states may add pairs to those that runs show. It goes with the detector that recall is asked of. Where pairs of runs were left out
/// (these locations have more than the plan keeps) it adds none: they would come back as pairs that no run has shown.
pub(super) fn may_add(plan: &Plan, left_out: &BTreeSet<String>) -> bool {
    left_out.is_empty()
        && plan.detectors.contains(&Detector::Hybrid)
        && plan.pairs.is_none()
        && plan.explore != Explore::Off
}

// Runs between two looks at whether more are needed.
const ROUND: u32 = 8;

// The most states that are searched after the runs. Few if no run failed and none was cut short, since few pairs are hidden then; else as many as take some ten milliseconds.
const FEW_STATES: u64 = 200;
const BEHIND_FAILURES: u64 = 10_000;

// Detection ends after so many times the runs that are made in any case.
const MOST: u32 = 20;

/// Phase 1: potential pairs, by hybrid detection over seeded runs, until two thirds of them have brought nothing new.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{Context, Plan, Silent, detect};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let found = detect(&Plan::new(&model), Context { stop: &stop, progress: &Silent });
/// assert_eq!((found.runs, found.candidates.len()), (Plan::RUNS, 3));
/// assert!(found.complete && found.failures.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn detect(plan: &Plan, context: Context<'_>) -> Phase1 {
    detect_in(plan, &Stream::new(plan, context.stop), context).0
}

/// The same with these runs; and all states, if they were searched and are not more than there may be: else how many there are at least, if that is more than the plan allows.
pub(super) fn detect_in(plan: &Plan, stream: &Stream, context: Context<'_>) -> (Phase1, Option<Result<States, u64>>) {
    context.progress.phase("detecting", u64::from(plan.runs));
    let accesses = plan.model.code.setup.sites.enumerate().filter(|(_, s)| s.kind.access().is_some());
    let sites: Vec<SiteId> = accesses.map(|(site, _)| site).collect();
    let new = || Candidates::at_most(plan.most_pairs);
    let (mut candidates, mut orders, mut left_out) = (new(), new(), BTreeSet::new());
    let mut flips = Flips::default();
    // Pairs that no run shows by itself are found by no detector of one run: they go with the one that recall is asked of.
    let hybrid = plan.detectors.contains(&Detector::Hybrid);
    let mut failures = Failures::default();
    let (mut runs, mut longest, mut limits) = (0, 0, BTreeMap::new());
    // In how many of the random walks each pair was seen, and how many those were.
    let (mut sightings, mut walks): (BTreeMap<Pair, u32>, u32) = (BTreeMap::new(), 0);
    let (mut planned, mut news, mut complete) = (0, 0, true);
    let most = plan.runs.saturating_mul(MOST);
    while complete && planned < most && planned < plan.runs.max(3 * news) {
        let round = if planned == 0 { plan.runs } else { ROUND.min(most - planned) };
        // Each run is taken up as soon as it and those before it are done: all together they may have shown more than fits into memory.
        let mut taken = 0;
        parallel::in_order(
            plan.jobs,
            round as usize,
            context.stop,
            || Worker::new(plan),
            |worker, i| {
                let mut seen = Seen::new(plan, &sites);
                let run = stream.run(seed_of(plan, u64::from(planned) + i as u64));
                let trial = worker.perform(&run, &mut seen, context.stop);
                let (found, of_tasks) = seen.finish(&plan.detectors, &worker.machine.world);
                context.progress.done();
                (trial, found, of_tasks)
            },
            |i, (trial, found, of_tasks)| {
                if trial.summary.end == End::Interrupted {
                    return;
                }
                taken += 1;
                let number = u64::from(planned) + i as u64;
                runs += 1;
                longest = longest.max(trial.summary.steps);
                if matches!(&trial.run, Run::Drawn(id) if id.strategy == StrategySpec::Random) {
                    walks += 1;
                    let seen: BTreeSet<Pair> = found.races.iter().map(|c| c.pair).collect();
                    seen.into_iter().for_each(|pair| *sightings.entry(pair).or_default() += 1);
                }
                let known = candidates.len() + failures.len() + flips.len();
                candidates.add(number, found.races);
                orders.add(number, found.orders);
                left_out.extend(found.left_out);
                if hybrid {
                    flips.add(number, of_tasks);
                }
                if let Some(Outcome::Limit(kind, limit)) = trial.summary.outcome() {
                    *limits.entry((*kind, *limit)).or_default() += 1;
                }
                if trial.failed() {
                    failures.add(&trial);
                }
                if candidates.len() + failures.len() + flips.len() > known {
                    news = planned + i as u32 + 1;
                }
            },
        );
        complete = taken == round;
        planned += round;
    }
    let once = sightings.values().filter(|n| **n == 1).count() as u32;
    for flip in flips.finish() {
        candidates.add_flip(flip.pair, flip.run, flip.place);
    }
    // What a failing run hides, or what comes to pass in few runs.
    left_out.extend([&candidates, &orders].into_iter().flat_map(|all| all.left_out().iter().cloned()));
    let searches = complete && may_add(plan, &left_out);
    let most = match plan.explore {
        Explore::Only => plan.states,
        _ if failures.len() > 0 || !limits.is_empty() => plan.states.min(BEHIND_FAILURES),
        _ => plan.states.min(FEW_STATES),
    };
    let states = searches.then(|| refute::states(plan, most, context));
    if let Some(Ok(states)) = &states {
        add_searched(plan, states, &mut candidates);
    }
    let searched = states.as_ref().map(|states| match states {
        Ok(states) => Searched { states: states.len(), complete: true },
        Err(states) => Searched { states: *states, complete: false },
    });
    let found = candidates.iter().cloned();
    let candidates = match &plan.pairs {
        None => found.collect(),
        Some(pairs) => {
            let races = pairs.iter().filter(|pair| !is_order(plan, **pair));
            races.map(|pair| given(plan, &candidates, *pair)).collect()
        }
    };
    let orders = match &plan.pairs {
        None => orders.iter().cloned().collect(),
        Some(pairs) => given_orders(plan, &orders, pairs),
    };
    let (failures, risk) = (failures.finish(plan), Risk { once, walks });
    let phase1 = Phase1 { runs, candidates, orders, failures, limits, longest, risk, searched, left_out, complete };
    // Where fewer states were enough for this, others may want more.
    (phase1, states.filter(|states| states.is_ok() || most == plan.states))
}
