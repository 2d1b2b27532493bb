//! Detect, then drive: RaceFuzzer's two phases, with the flip for two tasks of one looper.
//!
//! First form: pairs of different threads are driven by the directed scheduler, the order of two tasks of one looper by random walks, and so are
//! pairs that the directed scheduler never brought side by side.
//! A confirmed pair is real; of an unconfirmed one nothing is claimed.

use super::orders::{First, Orders};
use super::report::{Evidence, FailureReport, OrderReport, PairReport, Phase1, Verdict};
use super::sightings::{Sightings, Watch};
use super::trial::{RunId, Trial, Worker};
use super::{Context, Plan, parallel};
use crate::base::mix;
use crate::detect::{Candidate, Candidates, ContextKind, Hybrid, Pair};
use crate::event::{Outcome, SiteId};
use crate::exec::End;
use crate::sched::{SiteSpec, StrategySpec, site_text};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// A whole campaign.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// What detection found.
    pub phase1: Phase1,
    /// Each potential pair with its verdict, in the order of `phase1.candidates`.
    pub pairs: Vec<PairReport>,
    /// Failures of trials that came after neither order of the pair that was driven, and that no pair explains.
    pub unexplained: Vec<FailureReport>,
}

impl Confirmation {
    /// Whether nothing was cut short.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.phase1.complete
            && self.pairs.len() == self.phase1.candidates.len()
            && self.pairs.iter().all(|p| p.complete)
    }
}

// Detection runs: one round robin, which is how most runs in the field look, and random walks.
fn detection_run(plan: &Plan, i: usize) -> RunId {
    let strategy = if i == 0 { StrategySpec::RoundRobin } else { StrategySpec::Random };
    RunId { strategy, seed: mix(plan.seed, i as u64) }
}

/// Phase 1: potential pairs, by hybrid detection over seeded runs.
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
    context.progress.phase("detecting", u64::from(plan.runs));
    let results = parallel::map(
        plan.jobs,
        plan.runs as usize,
        context.stop,
        || Worker::new(plan),
        |worker, i| {
            let mut hybrid = Hybrid::new();
            let trial = worker.perform(&detection_run(plan, i), &mut hybrid, context.stop);
            (trial, hybrid.finish())
        },
        || context.progress.done(),
    );
    let mut candidates = Candidates::new();
    let mut failures = Failures::default();
    let (mut runs, mut longest, mut limits) = (0, 0, BTreeMap::new());
    for (i, result) in results.into_iter().enumerate() {
        let Some((trial, found)) = result.filter(|(t, _)| t.summary.end != End::Interrupted) else { continue };
        runs += 1;
        longest = longest.max(trial.summary.steps);
        candidates.add(i as u64, found);
        if let Some(Outcome::Limit(kind, limit)) = trial.summary.outcome() {
            *limits.entry((*kind, *limit)).or_default() += 1;
        }
        if trial.failed() {
            failures.add(&trial);
        }
    }
    let mut worker = Worker::new(plan);
    Phase1 {
        runs,
        candidates: candidates.iter().cloned().collect(),
        failures: failures.finish(&mut worker),
        limits,
        longest,
        complete: runs == plan.runs,
    }
}

/// Both phases.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{Context, Plan, Silent, Verdict, confirm};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let found = confirm(&Plan::new(&model), Context { stop: &stop, progress: &Silent });
/// for pair in &found.pairs {
///     assert_eq!(pair.verdict, Verdict::Adjacent);
///     let [a_first, b_first] = &pair.orders;
///     assert!(a_first.runs > 0 && b_first.runs > 0);
///     // No order fails, so that the race is real and does no harm.
///     assert!(pair.hurts().is_empty());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn confirm(plan: &Plan, context: Context<'_>) -> Confirmation {
    let phase1 = detect(plan, context);
    let mut pairs = Vec::new();
    let mut others = Failures::default();
    for (number, candidate) in phase1.candidates.iter().enumerate() {
        if context.stop.load(Ordering::Relaxed) {
            break;
        }
        pairs.push(drive(plan, context, &phase1, candidate, number as u64, &mut others));
    }
    let explained = |f: &FailureReport| {
        pairs.iter().flat_map(|p| &p.orders).flat_map(|o| &o.failures).any(|g| g.signature == f.signature)
    };
    let mut unexplained = others.finish(&mut Worker::new(plan));
    unexplained.retain(|f| !explained(f) && phase1.failures.iter().all(|g| g.signature != f.signature));
    Confirmation { phase1, pairs, unexplained }
}

// A way of driving a pair, with its trials. Those of the second way have other seeds than those of the first.
fn trials(plan: &Plan, number: u64, strategy: &StrategySpec, way: u64) -> Vec<RunId> {
    let (seed, n) = (mix(plan.seed, 1 << 32 | number), u64::from(plan.trials));
    (way * n..(way + 1) * n).map(|t| RunId { strategy: strategy.clone(), seed: mix(seed, t) }).collect()
}

fn directed(plan: &Plan, phase1: &Phase1, Pair { a, b }: Pair) -> StrategySpec {
    let spec = |site: SiteId| -> SiteSpec {
        site_text(&plan.code.setup.sites, site).parse().unwrap_or_else(|e| panic!("a site's own name: {e}"))
    };
    // Long enough that no run of phase 1 would have been cut, short enough that a livelock is left soon.
    let patience = (10 * phase1.longest).max(1_000);
    StrategySpec::Directed { a: spec(a), b: spec(b), patience }
}

type Watched = (Trial, Sightings);

// Runs that are watched for these statements; less than all of them if the campaign is stopped.
fn watched(plan: &Plan, context: Context<'_>, sites: &[SiteId], ids: &[RunId]) -> Vec<Watched> {
    context.progress.phase("driving a pair", ids.len() as u64);
    let results = parallel::map(
        plan.jobs,
        ids.len(),
        context.stop,
        || Worker::new(plan),
        |worker, i| {
            let mut watch = Watch::new(sites);
            let trial = worker.perform(&ids[i], &mut watch, context.stop);
            (trial, watch.finish(&worker.machine.world))
        },
        || context.progress.done(),
    );
    results.into_iter().flatten().filter(|(t, _)| t.summary.end != End::Interrupted).collect()
}

// Phase 2 for one pair. Its detection runs are looked at once more: they may show both orders already. Directed trials come first, unless
// detection saw tasks of one looper only, which are never side by side. If those bring nothing side by side (a post that must wait, say,
// or a lock that is no lock to detection), or if detection saw tasks of one looper, random walks may show both orders.
fn drive(
    plan: &Plan,
    context: Context<'_>,
    phase1: &Phase1,
    candidate: &Candidate,
    number: u64,
    others: &mut Failures,
) -> PairReport {
    let Pair { a, b } = candidate.pair;
    let mut sites = vec![a, b];
    sites.dedup();
    let detection = phase1.runs as usize;
    let mut ids: Vec<RunId> = (0..detection).map(|i| detection_run(plan, i)).collect();
    let is_directed = candidate.kinds.iter().any(|k| *k != ContextKind::SameLooper);
    if is_directed {
        ids.extend(trials(plan, number, &directed(plan, phase1, candidate.pair), 0));
    }
    let mut done = watched(plan, context, &sites, &ids);
    let mut all = ids.len();
    let side_by_side = |(t, _): &Watched| t.races.iter().any(|h| h.is_of(a, b));
    if candidate.kinds.contains(&ContextKind::SameLooper) || !done.iter().any(side_by_side) {
        let more = trials(plan, number, &StrategySpec::Random, u64::from(is_directed));
        done.extend(watched(plan, context, &sites, &more));
        all += more.len();
    }
    let complete = done.len() == all;
    let mut worker = Worker::new(plan);
    let mut report = judge(candidate, detection, done, others, &mut worker);
    report.complete = complete;
    report
}

fn judge(
    candidate: &Candidate,
    detection: usize,
    done: Vec<Watched>,
    others: &mut Failures,
    worker: &mut Worker<'_>,
) -> PairReport {
    let Pair { a, b } = candidate.pair;
    let mut orders = Orders::new(a, b);
    let mut decided = Vec::new();
    let mut runs = Vec::new();
    for (trial, sightings) in done {
        decided.push(orders.add(sightings, trial.failed()));
        runs.push(trial);
    }
    let hit = |t: &Trial| t.races.iter().find(|h| h.is_of(a, b)).copied();
    let verdict = if runs.iter().any(|t| hit(t).is_some()) {
        Verdict::Adjacent
    } else {
        orders.flip().map_or(Verdict::Unconfirmed, Verdict::Flipped)
    };
    let mut tallies = [Tally::default(), Tally::default()];
    let (mut undecided, mut limits, mut directed) = (0, 0, (0, 0));
    for (i, trial) in runs.iter().enumerate().skip(detection.min(runs.len())) {
        if matches!(trial.id.strategy, StrategySpec::Directed { .. }) {
            directed.0 += 1;
            directed.1 += u32::from(hit(trial).is_some());
        }
        if matches!(trial.summary.outcome(), Some(Outcome::Limit(..))) {
            limits += 1;
        }
        // Of a pair that flips, the two instances that do. Else what the coin decided; else the first two instances that conflict; else a cut.
        let coin = hit(trial).filter(|_| a != b).map(|h| if h.first == a { First::A } else { First::B });
        let first = match &verdict {
            Verdict::Flipped(flip) => orders.order(i, &flip.instances),
            _ => coin.or(decided[i]).or_else(|| orders.cut(i)),
        };
        match first {
            Some(first) => tallies[first as usize].add(trial),
            None => {
                undecided += 1;
                if trial.failed() {
                    others.add(trial);
                }
            }
        }
    }
    let [for_a, for_b] = tallies;
    PairReport {
        pair: candidate.pair,
        place: candidate.evidence.location.clone(),
        kinds: candidate.kinds.clone(),
        verdict,
        trials: runs.len().saturating_sub(detection) as u32,
        directed,
        orders: [for_a.finish(First::A, worker), for_b.finish(First::B, worker)],
        undecided,
        limits,
        complete: true,
    }
}

#[derive(Default)]
struct Tally {
    runs: u32,
    failures: Failures,
    passes: Option<RunId>,
}

impl Tally {
    fn add(&mut self, trial: &Trial) {
        self.runs += 1;
        if trial.failed() {
            self.failures.add(trial);
        } else {
            self.passes.get_or_insert_with(|| trial.id.clone());
        }
    }

    fn finish(self, first: First, worker: &mut Worker<'_>) -> OrderReport {
        let passes = self.passes.map(|id| evidence(id, worker));
        OrderReport { first, runs: self.runs, failures: self.failures.finish(worker), passes }
    }
}

fn evidence(id: RunId, worker: &mut Worker<'_>) -> Evidence {
    let token = worker.token(&id).to_string();
    Evidence { id, token }
}

// Failures by signature, in the order of their first run.
#[derive(Default)]
struct Failures {
    all: Vec<(Trial, u32, u64)>,
}

impl Failures {
    fn add(&mut self, trial: &Trial) {
        match self.all.iter_mut().find(|(t, ..)| t.signature == trial.signature) {
            Some((_, runs, stall)) => {
                *runs += 1;
                *stall = trial.summary.stall.min(*stall);
            }
            None => self.all.push((trial.clone(), 1, trial.summary.stall)),
        }
    }

    fn finish(mut self, worker: &mut Worker<'_>) -> Vec<FailureReport> {
        self.all.sort_by_key(|x| std::cmp::Reverse(x.1));
        self.all
            .into_iter()
            .filter_map(|(trial, runs, least_stall)| {
                let outcome = trial.summary.outcome()?.clone();
                let evidence = evidence(trial.id, worker);
                Some(FailureReport { signature: trial.signature, outcome, runs, least_stall, evidence })
            })
            .collect()
    }
}
