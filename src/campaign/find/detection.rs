//! Phase 1: finds potential pairs over many seeded runs (`stream`), until further runs show nothing new.
//!
//! Where the states are few, a search of all states adds the pairs that no run has shown.

use super::flips::{Flips, TaskAccesses as OfTasks, Tasks};
use super::learned;
use crate::campaign::report::{Coverage, Phase1, Risk, SearchSize};
use crate::campaign::run::{RunId, RunSource};
use crate::campaign::runs::endless::bounded;
use crate::campaign::runs::failures::Failures;
use crate::campaign::runs::parallel;
use crate::campaign::runs::states::{self, States};
use crate::campaign::runs::stream::{Stream, seed_of};
use crate::campaign::runs::trial::Worker;
use crate::campaign::{CampaignContext, CampaignPlan, Explore};
use crate::detect::{Candidate, Candidates, DetectorId, Findings, FirstOccurrence, Hybrid, Pair, Rank, RingCandidates};
use crate::event::{Event, Outcome, SiteId};
use crate::exec::{LoopEnd, Observer};
use crate::sched::StrategySpec;
use crate::world::{Program, World};
use std::collections::{BTreeMap, BTreeSet};

// Returns the candidate of a pair that the plan names, with what detection has seen of it.
fn given<P: Program>(plan: &CampaignPlan<P>, found: &Candidates, pair: Pair) -> Candidate {
    found.get(pair).cloned().unwrap_or_else(|| Candidate {
        pair,
        rank: Rank::Unordered,
        // No kinds: every way to drive the pair is tried.
        kinds: BTreeSet::new(),
        evidence: FirstOccurrence::unseen(pair, 0, plan.setup().sites[pair.a].place.clone()),
        by: BTreeSet::new(),
        use_free: None,
        count: 0,
    })
}

// Whether the pair is an order pair: at least one of its statements is no access.
fn is_order<P: Program>(plan: &CampaignPlan<P>, pair: Pair) -> bool {
    let sites = &plan.setup().sites;
    sites[pair.a].is_operation() || sites[pair.b].is_operation()
}

// Order pairs among the pairs that the plan names. A label may cover many operations: the pairs that detection has seen
// are taken, or all of them if it has seen none.
fn given_orders<P: Program>(plan: &CampaignPlan<P>, found: &Candidates, pairs: &[Pair]) -> Vec<Candidate> {
    let wanted = || pairs.iter().filter(|pair| is_order(plan, **pair));
    let seen: Vec<Candidate> = wanted().filter_map(|pair| found.get(*pair).cloned()).collect();
    if !seen.is_empty() {
        return seen;
    }
    wanted().map(|pair| Candidate { rank: Rank::Order, ..given(plan, found, *pair) }).collect()
}

// Observers of one detection run.
struct DetectionObservers<'s> {
    hybrid: Hybrid,
    tasks: Tasks<'s>,
}

impl<'s> DetectionObservers<'s> {
    fn new<P>(plan: &CampaignPlan<P>, sites: &'s [SiteId]) -> Self {
        let hybrid =
            Hybrid::with_order_pairs().most_pairs(plan.detection.most_pairs).record_for(&plan.detection.detectors);
        Self { hybrid, tasks: Tasks::new(sites) }
    }

    // Returns what the detectors report, and the accesses of tasks.
    fn finish(self, detectors: &[DetectorId], world: &World) -> (Findings, OfTasks) {
        (self.hybrid.finish_for(detectors, world), self.tasks.finish(world))
    }
}

impl Observer for DetectionObservers<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        self.hybrid.observe(world, event);
        self.tasks.event(world, event);
    }
}

/// Adds the pairs that are side by side in some state and that no run has shown.
pub(in crate::campaign) fn add_searched<P: Program>(
    plan: &CampaignPlan<P>,
    states: &States,
    candidates: &mut Candidates,
) {
    for pair in states.adjacent() {
        candidates.add_searched(pair, plan.setup().sites[pair.a].place.clone());
    }
}

/// Whether a search of all states may add pairs to those that runs show.
///
/// Such pairs count as findings of the hybrid detector, which is the one for recall. If pairs of runs were left out
/// (their locations have more than the plan keeps), the search adds none: the omitted pairs would return as pairs that
/// no run has shown.
pub(in crate::campaign) fn may_add<P>(plan: &CampaignPlan<P>, left_out: &BTreeSet<String>) -> bool {
    left_out.is_empty()
        && plan.detection.detectors.contains(&DetectorId::HYBRID)
        && plan.trials.pairs.is_none()
        && plan.search.explore != Explore::Off
}

// Runs between two checks whether more runs are needed.
const ROUND: u32 = 8;

// Maximum number of states that are searched after the runs. It is small if no run failed and none was cut short, since
// few pairs are hidden then. Otherwise it is the number of states that takes some ten milliseconds.
const FEW_STATES: u64 = 200;
const BEHIND_FAILURES: u64 = 10_000;

// Maximum number of detection runs, as a multiple of the minimum.
const MOST: u32 = 20;

/// Performs phase 1: finds potential pairs by detection over seeded runs, until the last two thirds of the runs have
/// shown nothing new.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, detect};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let found = detect(&CampaignPlan::new(&model), CampaignContext { stop: &stop, progress: &NoProgress });
/// assert_eq!((found.runs, found.candidates.len()), (CampaignPlan::RUNS, 3));
/// assert!(found.coverage.complete && found.failures.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn detect<P: Program>(plan: &CampaignPlan<P>, context: CampaignContext<'_>) -> Phase1 {
    let shorter = bounded(plan, context.stop);
    let plan = shorter.as_ref().unwrap_or(plan);
    detect_in(plan, &Stream::new(plan, context.stop), context).0
}

/// Performs phase 1 with the runs of `stream`.
///
/// Returns the states as well, if they were searched: all of them if they are at most as many as this search allows, or
/// else their minimum number if that exceeds what the plan allows.
pub(in crate::campaign) fn detect_in<P: Program>(
    plan: &CampaignPlan<P>,
    stream: &Stream,
    context: CampaignContext<'_>,
) -> (Phase1, Option<Result<States, u64>>) {
    context.progress.phase("detecting", u64::from(plan.detection.runs));
    let accesses = plan.setup().sites.enumerate().filter(|(_, s)| s.kind.access().is_some());
    let sites: Vec<SiteId> = accesses.map(|(site, _)| site).collect();
    let new = || Candidates::at_most(plan.detection.most_pairs);
    let (mut candidates, mut orders, mut left_out) = (new(), new(), BTreeSet::new());
    let (mut flips, mut rings) = (Flips::default(), RingCandidates::default());
    // No detector of a single run reports a flip of two tasks. Such pairs count as findings of the hybrid detector,
    // which is the one for recall.
    let hybrid = plan.detection.detectors.contains(&DetectorId::HYBRID);
    let mut failures = Failures::default();
    let (mut runs, mut longest, mut limits) = (0, 0, BTreeMap::new());
    // Number of random walks that showed each pair, and number of random walks.
    let (mut observations, mut walks): (BTreeMap<Pair, u32>, u32) = (BTreeMap::new(), 0);
    let (mut planned, mut news, mut complete) = (0, 0, true);
    let most = plan.detection.runs.saturating_mul(MOST);
    while complete && planned < most && planned < plan.detection.runs.max(3 * news) {
        let round = if planned == 0 { plan.detection.runs } else { ROUND.min(most - planned) };
        // Each run is added as soon as it and all runs before it are finished. The findings of all runs together may
        // not fit into memory.
        let mut taken = 0;
        parallel::in_order(
            plan.jobs,
            round as usize,
            context.stop,
            || Worker::new(plan),
            |worker, i| {
                let mut seen = DetectionObservers::new(plan, &sites);
                let run = stream.run(seed_of(plan, u64::from(planned) + i as u64));
                let trial = worker.perform(&run, &mut seen, context.stop);
                let (found, of_tasks) = seen.finish(&plan.detection.detectors, &worker.machine.world);
                context.progress.done();
                (trial, found, of_tasks)
            },
            |i, (trial, found, of_tasks)| {
                if trial.summary.end == LoopEnd::Interrupted {
                    return;
                }
                taken += 1;
                let number = u64::from(planned) + i as u64;
                runs += 1;
                longest = longest.max(trial.summary.steps);
                if matches!(&trial.run, RunSource::Drawn(RunId { strategy: StrategySpec::Random(_), .. })) {
                    walks += 1;
                    let seen: BTreeSet<Pair> = found.races.iter().map(|c| c.pair).collect();
                    seen.into_iter().for_each(|pair| *observations.entry(pair).or_default() += 1);
                }
                let known = candidates.len() + failures.len() + flips.len();
                rings.add(number, found.rings);
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
    let once = observations.values().filter(|n| **n == 1).count() as u32;
    for flip in flips.finish() {
        candidates.add_flip(flip.pair, flip.run, flip.place);
    }
    // Pairs that a failing run hides, or that only few runs show, are left to a search.
    left_out.extend([&candidates, &orders].into_iter().flat_map(|all| all.left_out().iter().cloned()));
    let searches = complete && may_add(plan, &left_out);
    let most = match plan.search.explore {
        Explore::Only => plan.search.states,
        _ if failures.len() > 0 || !limits.is_empty() => plan.search.states.min(BEHIND_FAILURES),
        _ => plan.search.states.min(FEW_STATES),
    };
    let states = if searches { states::states(plan, most, context) } else { None };
    if let Some(Ok(states)) = &states {
        add_searched(plan, states, &mut candidates);
    }
    // A search that has visited all states has found every pair.
    let learns = complete && hybrid && plan.trials.pairs.is_none() && left_out.is_empty();
    if learns && !matches!(states, Some(Ok(_))) {
        let mut worker = Worker::new(plan);
        let of_campaign = learned::runs(plan, context);
        complete = of_campaign.is_some();
        for (i, run) in (0..).zip(of_campaign.into_iter().flatten()) {
            let mut seen = DetectionObservers::new(plan, &sites);
            worker.perform(&run, &mut seen, context.stop);
            let (found, _) = seen.finish(&plan.detection.detectors, &worker.machine.world);
            candidates.add(u64::from(planned) + i, found.races);
        }
        left_out.extend(candidates.left_out().iter().cloned());
    }
    let searched = states.as_ref().map(|states| match states {
        Ok(states) => SearchSize { states: states.len(), complete: true },
        Err(states) => SearchSize { states: *states, complete: false },
    });
    let (found, filtered): (Vec<Candidate>, Vec<Candidate>) =
        candidates.iter().cloned().partition(|candidate| candidate.rank != Rank::Filtered);
    let candidates = match &plan.trials.pairs {
        None => found,
        Some(pairs) => {
            let races = pairs.iter().filter(|pair| !is_order(plan, **pair));
            races.map(|pair| given(plan, &candidates, *pair)).collect()
        }
    };
    let orders = match &plan.trials.pairs {
        None => orders.iter().cloned().collect(),
        Some(pairs) => given_orders(plan, &orders, pairs),
    };
    let rings = if plan.trials.pairs.is_none() { rings.finish() } else { Vec::new() };
    let (failures, risk) = (failures.finish(plan), Risk { once, walks });
    let coverage = Coverage { risk, limits, left_out, searched, complete };
    let phase1 = Phase1 { runs, candidates, filtered, orders, rings, failures, longest, coverage };
    // The smaller bound of this search was exceeded, not that of the plan: a later search may visit more states.
    (phase1, states.filter(|states| states.is_ok() || most == plan.search.states))
}
