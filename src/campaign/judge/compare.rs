//! Compares both orders of a confirmed pair. From the states in which the order is open, both orders are continued with
//! the same seeds, so that they differ in the order and in nothing before it.
//!
//! `claims` decides which failures an order is to blame for. A failure of both orders may come more often with one of
//! them. That is reported as well, and is no harm.

use super::claims::{CHANCE, claims};
use super::continuations::{ContinuationRun, Continuations, Point};
use crate::base::fisher;
use crate::campaign::drive::pair_trials::PairTrials;
use crate::campaign::order::{First, InstancePair};
use crate::campaign::report::{Claim, Comparison, FrequencyDifference, OrderReport, Proof, RunEvidence};
use crate::campaign::run::RunSource;
use crate::campaign::runs::alike::key;
use crate::campaign::runs::failures::{EndSummary, evidence};
use crate::campaign::runs::orders::ObservedOrder;
use crate::campaign::runs::tally::Tallies;
use crate::campaign::runs::trial::{Trial, Worker};
use crate::event::Outcome;
use crate::exec::RunSummary;
use crate::sched::Replay;
use crate::shrink::{Effort, ShrinkResult, shrink_to};
use crate::token::Token;
use crate::world::{Program, World, signature};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Effort to shrink a run that is shown.
const EFFORT: Effort = Effort { runs: 300, steps: 200_000 };

// Maximum number of failing runs that are checked for their order; for one failure those with the least stall.
const MOST_KNOWN: usize = 32;

/// Continues both orders of a confirmed pair, and compares them.
pub(in crate::campaign) fn compare<P: Program>(pair_trials: &mut PairTrials<'_, P>, proof: &Proof) -> Comparison {
    let mut continuing = Continuations::new(pair_trials, proof);
    let pilot = continuing.pilot();
    let (claims, either) = claims(&mut continuing);
    let Continuations { pair_trials, scenes, points, of_points, .. } = continuing;
    // Points with a claim come first, so that the run that is shown starts from a state for which the claim holds.
    let claimed: BTreeSet<usize> = claims.values().map(|(_, at)| *at).collect();
    let mut in_turn: Vec<usize> = (0..points.len()).collect();
    in_turn.sort_by_key(|at| !claimed.contains(at));
    let (mut all, mut scene_of) = (Tallies::default(), ShownPoints::new());
    for &at in &in_turn {
        scenes_of(&mut scene_of, points[at].scene, &of_points[at]);
        all.join(of_points[at].clone());
    }
    // Some order could not be forced from any of the states. Then the trials are reported instead of the continuations.
    if all.of.iter().any(|tally| tally.runs == 0) && points.iter().any(|p| p.threads.is_none()) {
        (all, scene_of) = (Tallies::default(), ShownPoints::new());
        for point in points.iter().filter(|p| p.threads.is_none() && p.scene == 0) {
            scenes_of(&mut scene_of, point.scene, &point.before);
            all.join(point.before.clone());
        }
    }
    // "No failure" is reported only if no run of a known order fails. Otherwise the failing runs from before the
    // comparison are counted as well.
    if !all.fail() {
        let known = known_failing(pair_trials, proof, &points);
        for (scene, tallies) in known.into_iter().filter(|(_, tallies)| tallies.fail()) {
            scenes_of(&mut scene_of, scene, &tallies);
            all.join(tallies);
        }
    }
    // A hold or a directed scheduler may cause more stall than the failure needs. Trials and detection runs with the
    // same failure and order are shown if they have less.
    for point in points.iter().filter(|p| p.is_start) {
        scenes_of(&mut scene_of, point.scene, &point.before);
        all.show(&point.before);
    }
    if *proof == Proof::Adjacent && pair_trials.pair.a != pair_trials.pair.b {
        show_known(pair_trials, &mut all);
    }
    let more_often = if pair_trials.complete { more_often(&pilot, points.len(), &claims) } else { Vec::new() };
    // A search may show a failure that none of the reported runs of its first order has. It is not reported then.
    let either = either.iter().any(|(first, failure)| all.of[*first as usize].keys().contains(failure));
    let Tallies { of: [for_a, for_b], undecided } = all;
    let mut harms = BTreeMap::new();
    let orders = [(First::A, for_a), (First::B, for_b)].map(|(first, tally)| {
        for (signature, _) in tally.failures.counts() {
            if let Some((claim, _)) = claims.get(&(first, key(signature))) {
                harms.insert((first, signature.to_owned()), *claim);
            }
        }
        let mut shows = |run: &RunSource, end: Option<&Trial>| {
            let scene = scene_of.get(&(first, end.map(|trial| trial.signature.clone())));
            let instances = scene.and_then(|(_, scene)| scenes[*scene].instances.as_ref());
            shown(pair_trials, instances, first, run, end.map_or(u64::MAX, |trial| trial.summary.stall))
        };
        let passes = tally.passes.as_ref().map(|run| shows(run, None).0);
        let failures = tally.failures.finish_with(|trial| shows(&trial.run, Some(trial)));
        let caught = tally.caught.into_iter().map(|((name, site), runs)| (name, site, runs)).collect();
        OrderReport { first, runs: tally.runs, cut_off: tally.cut_off, failures, passes, caught }
    });
    Comparison { orders, undecided, harms, more_often, either }
}

/// Returns the orders of the trials of a pair, without a comparison.
pub(in crate::campaign) fn seen<P: Program>(pair_trials: &PairTrials<'_, P>) -> Comparison {
    let decided = |runs: &mut dyn Iterator<Item = usize>| {
        let mut all = Tallies::default();
        runs.for_each(|i| all.add(pair_trials.decided[i].map(ObservedOrder::both), &pair_trials.trials[i]));
        all
    };
    let mut all = decided(&mut pair_trials.trials().into_iter());
    all.show(&decided(&mut (0..pair_trials.trials.len())));
    let Tallies { of: [for_a, for_b], undecided } = all;
    let orders = [(First::A, for_a), (First::B, for_b)].map(|(first, tally)| OrderReport {
        first,
        runs: tally.runs,
        cut_off: tally.cut_off,
        failures: tally.failures.finish(pair_trials.plan),
        passes: tally.passes.map(|run| evidence(pair_trials.plan, &run)),
        caught: Vec::new(),
    });
    Comparison { orders, undecided, ..Comparison::nothing() }
}

// Returns the runs from before the comparison, each with its scene: for a held pair the trials from the start, for a
// pair that is side by side the runs that failed.
fn known_failing<P: Program>(
    pair_trials: &mut PairTrials<'_, P>,
    proof: &Proof,
    points: &[Point],
) -> Vec<(usize, Tallies)> {
    if *proof != Proof::Adjacent {
        return points.iter().filter(|p| p.is_start).map(|p| (p.scene, p.before.clone())).collect();
    }
    let mut failed = Tallies::default();
    // For one statement twice it is not known which thread is meant.
    if pair_trials.pair.a != pair_trials.pair.b {
        let fails: Vec<usize> = (0..pair_trials.trials.len()).filter(|i| pair_trials.trials[*i].failed()).collect();
        for i in fails.into_iter().take(MOST_KNOWN) {
            let observed = pair_trials.any_order(i).map(ObservedOrder::both);
            if observed.is_some() {
                failed.add(observed, &pair_trials.trials[i]);
            }
        }
    }
    vec![(0, failed)]
}

// Shows those trials and detection runs that have less stall for the same failure and order.
fn show_known<P: Program>(pair_trials: &mut PairTrials<'_, P>, all: &mut Tallies) {
    for (first, tally) in [First::A, First::B].into_iter().zip(&mut all.of) {
        let shown: Vec<(String, u64)> =
            tally.failures.shown().map(|t| (t.signature.clone(), t.summary.stall)).collect();
        for (signature, stall) in shown {
            let less = |i: &usize| {
                let trial = &pair_trials.trials[*i];
                trial.summary.stall < stall && trial.signature == signature
            };
            let mut known: Vec<usize> = (0..pair_trials.trials.len()).filter(less).collect();
            known.sort_by_key(|i| pair_trials.trials[*i].summary.stall);
            if let Some(i) = known.into_iter().take(MOST_KNOWN).find(|i| pair_trials.any_order(*i) == Some(first)) {
                tally.failures.show(&pair_trials.trials[i]);
            }
        }
    }
}

// Stall and scene of the run that is shown, by order and signature (`None` for a run that does not fail).
type ShownPoints = BTreeMap<(First, Option<String>), (u64, usize)>;

// Records the scene of the run that is shown of each end: the first one with the least stall.
fn scenes_of(scenes: &mut ShownPoints, scene: usize, tallies: &Tallies) {
    for (first, tally) in [First::A, First::B].into_iter().zip(&tallies.of) {
        let fails = tally.failures.shown().map(|t| (Some(t.signature.clone()), t.summary.stall));
        for (end, stall) in fails.chain(tally.passes.iter().map(|_| (None, 0))) {
            let known = scenes.entry((first, end)).or_insert((stall, scene));
            if stall < known.0 {
                *known = (stall, scene);
            }
        }
    }
}

// Failures of both orders whose rates differ significantly. Only runs of the pilot count, and from each point the same
// number for both orders. So the choice of points influences both orders alike.
fn more_often(
    pilot: &[ContinuationRun],
    points: usize,
    claims: &BTreeMap<(First, String), (Claim, usize)>,
) -> Vec<FrequencyDifference> {
    let mut of_points: Vec<[Vec<&str>; 2]> = vec![Default::default(); points];
    for ContinuationRun { at, first, trial } in pilot {
        if let Some(first) = first {
            of_points[*at][*first as usize].push(if trial.failed() { &trial.signature } else { "" });
        }
    }
    let mut runs = 0;
    let mut fails: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for [a, b] in &of_points {
        let n = a.len().min(b.len());
        runs += n as u32;
        for (order, ends) in [a, b].into_iter().enumerate() {
            for signature in ends[..n].iter().filter(|s| !s.is_empty()) {
                fails.entry(key(signature)).or_default()[order] += 1;
                names.entry(key(signature)).or_insert(signature);
            }
        }
    }
    fails.retain(|_, [a, b]| *a > 0 && *b > 0);
    let compared = fails.len() as f64;
    let rate = |(failure, [a, b]): (String, [u32; 2])| {
        let chance = fisher((a, runs), (b, runs));
        let first = if a > b { First::A } else { First::B };
        let (this, other) = ((a.max(b), runs), (a.min(b), runs));
        let is_harm = claims.contains_key(&(first, failure.clone()));
        let signature = (*names.get(&failure)?).to_owned();
        (chance * compared < CHANCE && !is_harm).then_some(FrequencyDifference {
            first,
            signature,
            this,
            other,
            chance,
        })
    };
    fails.into_iter().filter_map(rate).collect()
}

// Returns the run to show, shrunk as far as the end and the order stay the same and the stall does not grow. The
// summary is that of the smaller run, if there is one.
fn shown<P: Program>(
    pair_trials: &mut PairTrials<'_, P>,
    instances: Option<&InstancePair>,
    first: First,
    run: &RunSource,
    most_stall: u64,
) -> EndSummary {
    let drawn = Worker::new(pair_trials.plan).token(run);
    match smaller(pair_trials, instances, first, (&drawn, most_stall)) {
        Some((token, summary)) => (RunEvidence::of(&token), Some(summary)),
        None => (RunEvidence::of(&drawn), None),
    }
}

fn smaller<P: Program>(
    pair_trials: &mut PairTrials<'_, P>,
    instances: Option<&InstancePair>,
    first: First,
    (drawn, most_stall): (&Token, u64),
) -> Option<(Token, RunSummary)> {
    let program = &*pair_trials.plan.program;
    let same = |world: &World, outcome: &Outcome| {
        signature(program.setup(), outcome) == drawn.signature && world.stall() <= most_stall
    };
    let shrunk = shrink_to(program, drawn, &same, EFFORT, pair_trials.context.stop, &|_| {})
        .ok()
        .filter(ShrinkResult::is_smaller)?;
    let (order, summary) = order_of(pair_trials, instances, &shrunk.token);
    (order == Some(first)).then_some((shrunk.token, summary))
}

// Returns which access comes first in the run of a token, and the summary of that run.
fn order_of<P: Program>(
    pair_trials: &mut PairTrials<'_, P>,
    instances: Option<&InstancePair>,
    token: &Token,
) -> (Option<First>, RunSummary) {
    let mut worker = Worker::new(pair_trials.plan);
    let mut watch = pair_trials.watch();
    let replay = Replay::new(Arc::new(token.schedule.clone()));
    let trial = worker.make(replay, 0, &mut watch, &AtomicBool::new(false));
    let observations = watch.finish(&worker.machine.world);
    let order = match instances {
        Some(instances) => pair_trials.order_in(&trial, &observations, instances).map(|observed| observed.first),
        // For one statement twice it is not known which thread is meant.
        None if pair_trials.pair.a == pair_trials.pair.b => None,
        None => pair_trials.any_order_in(&trial, &observations),
    };
    (order, trial.summary)
}
