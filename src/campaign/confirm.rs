//! Detect, drive, judge: RaceFuzzer's two phases with the flip for two tasks of one looper; then what both orders of a confirmed pair come to, and proofs that others are false.

use super::continued::{Compared, compare, seen};
use super::detection::{add_searched, detect_in, may_add};
use super::drive::Driven;
use super::endless::endless;
use super::failures::{Failures, evidence};
use super::refute::{self, States};
use super::report::{Endless, FailureReport, MadeTrial, PairReport, Phase1, Refutation, Searched, Undecided, Verdict};
use super::resist::resist;
use super::stream::Stream;
use super::trial::{Run, RunId};
use super::{Context, Explore, Plan};
use crate::detect::{Candidate, Candidates, Detector, Pair};
use crate::event::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// A whole campaign.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// What detection found.
    pub phase1: Phase1,
    /// Each potential pair with its verdict, in the order of `phase1.candidates`.
    pub pairs: Vec<PairReport>,
    /// Each order pair with its verdict, in the order of `phase1.orders`, if these were driven.
    pub orders: Vec<PairReport>,
    /// Failures of trials that came after neither order of the pair that was driven, and that no pair explains.
    pub unexplained: Vec<FailureReport>,
    /// The search of all states, if there was one.
    pub searched: Option<Searched>,
    /// Possible livelocks; `None` if they were not looked for, or if there are too many states.
    pub livelocks: Option<Vec<Endless>>,
    /// Whether somebody stopped it: what was at work then may have come to less than it would have.
    pub interrupted: bool,
}

impl Confirmation {
    /// Whether nothing was cut short.
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.interrupted
            && self.phase1.complete
            && self.pairs.len() == self.phase1.candidates.len()
            && self.pairs.iter().chain(&self.orders).all(|p| p.complete)
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
    let stream = Stream::new(plan, context.stop);
    let (mut phase1, states) = detect_in(plan, &stream, context);
    let (runs, longest) = (phase1.runs, phase1.longest);
    let mut campaign = Campaign { plan, context, stream: &stream, runs, longest, states, others: Failures::default() };
    let mut pairs = campaign.pairs(&phase1.candidates, 0);
    let orders = if plan.orders && plan.explore != Explore::Only {
        campaign.pairs(&phase1.orders, phase1.candidates.len())
    } else {
        Vec::new()
    };
    // What was searched for these pairs may show others.
    let stopped = context.stop.load(Ordering::Relaxed);
    if let Some(Ok(states)) = campaign.states.as_ref().filter(|_| may_add(plan, &phase1.left_out) && !stopped) {
        let mut all = Candidates::new();
        add_searched(plan, states, &mut all);
        let known: BTreeSet<Pair> = phase1.candidates.iter().map(|c| c.pair).collect();
        let others: Vec<Candidate> = all.iter().filter(|c| !known.contains(&c.pair)).cloned().collect();
        phase1.searched = Some(Searched { states: states.len(), complete: true });
        pairs.extend(campaign.pairs(&others, phase1.candidates.len() + orders.len()));
        phase1.candidates.extend(others);
    }
    let Campaign { states, others, .. } = campaign;
    let searched = states.map(|states| match states {
        Ok(states) => Searched { states: states.len(), complete: true },
        Err(states) => Searched { states, complete: false },
    });
    let explained = |f: &FailureReport| {
        // Order pairs that do no harm explain nothing.
        let harmful = orders.iter().filter(|p| !p.harms.is_empty());
        let all = pairs.iter().chain(harmful).flat_map(|p| &p.orders);
        all.flat_map(|o| &o.failures).any(|g| g.signature == f.signature)
    };
    let mut unexplained = others.finish(plan);
    unexplained.retain(|f| !explained(f) && phase1.failures.iter().all(|g| g.signature != f.signature));
    let livelocks = if context.stop.load(Ordering::Relaxed) { None } else { endless(plan, &phase1, context) };
    let interrupted = context.stop.load(Ordering::Relaxed);
    Confirmation { phase1, pairs, orders, unexplained, searched, livelocks, interrupted }
}

struct Campaign<'c> {
    plan: &'c Plan,
    context: Context<'c>,
    stream: &'c Stream,
    // Runs of detection, and the steps of the longest.
    runs: u32,
    longest: u64,
    // Once somebody has asked.
    states: Option<Result<States, u64>>,
    // Failures of trials that had neither order of their pair.
    others: Failures,
}

// A pair after it was driven and searched for.
enum Tried<'d> {
    Decided(Box<PairReport>),
    Open(Box<Resists<'d>>),
}

// A pair that was neither confirmed nor refuted.
struct Resists<'d> {
    driven: Driven<'d>,
    // Why a search has not decided it.
    undecided: Option<Undecided>,
}

// Pairs that share their trials: of each all runs are kept until then.
const MOST_OPEN: usize = 16;

impl<'c> Campaign<'c> {
    // These pairs, until somebody stops it. Those that resist are tried together, since the trials go where they pay.
    fn pairs(&mut self, candidates: &[Candidate], from: usize) -> Vec<PairReport> {
        let (mut open, mut reports) = (Vec::new(), BTreeMap::new());
        let stop = self.context.stop;
        for (i, candidate) in candidates.iter().enumerate().take_while(|_| !stop.load(Ordering::Relaxed)) {
            match self.attempt(candidate, (from + i) as u64) {
                Tried::Decided(report) => drop(reports.insert(i, *report)),
                Tried::Open(resists) => open.push((i, *resists)),
            }
            if open.len() == MOST_OPEN {
                self.resist(candidates, &mut open, &mut reports);
            }
        }
        self.resist(candidates, &mut open, &mut reports);
        reports.into_values().collect()
    }

    // Further trials of the pairs that are open, and what has come of them.
    fn resist(
        &mut self,
        candidates: &[Candidate],
        open: &mut Vec<(usize, Resists<'c>)>,
        reports: &mut BTreeMap<usize, PairReport>,
    ) {
        let mut pairs: Vec<&mut Driven<'c>> = open.iter_mut().map(|(_, resists)| &mut resists.driven).collect();
        resist(self.plan, self.context, &mut pairs);
        for (i, Resists { driven, undecided }) in open.drain(..) {
            reports.insert(i, self.report(&candidates[i], driven, None, undecided));
        }
    }

    // Drives a pair, and searches for it.
    fn attempt(&mut self, candidate: &Candidate, number: u64) -> Tried<'c> {
        let (plan, context) = (self.plan, self.context);
        let mut driven = Driven::new(plan, context, candidate.pair, number, self.longest);
        driven.look_at_detection(self.stream, self.runs);
        if plan.explore != Explore::Only {
            driven.drive(candidate, self.stream);
        }
        let (mut refuted, mut undecided) = (None, None);
        let searches = plan.explore != Explore::Off;
        let asks = plan.explore == Explore::Only || !driven.is_confirmed();
        if asks && searches && driven.complete {
            match self.states.get_or_insert_with(|| refute::states(plan, plan.states, context)) {
                Ok(states) => {
                    let judged =
                        if candidate.is_race() { states.judge(&mut driven) } else { states.judge_order(&mut driven) };
                    match judged {
                        Ok(refutation) => refuted = Some(refutation),
                        Err(why) => undecided = Some(why),
                    }
                }
                Err(_) => undecided = Some(Undecided::Cut),
            }
        }
        let open = refuted.is_none() && plan.explore != Explore::Only && candidate.is_race() && driven.complete;
        if open && !driven.is_confirmed() {
            return Tried::Open(Box::new(Resists { driven, undecided }));
        }
        Tried::Decided(Box::new(self.report(candidate, driven, refuted, undecided)))
    }

    // What has come of a pair.
    fn report(
        &mut self,
        candidate: &Candidate,
        mut driven: Driven<'_>,
        refuted: Option<Refutation>,
        undecided: Option<Undecided>,
    ) -> PairReport {
        let plan = self.plan;
        let verdict = match (refuted, driven.hits.is_empty()) {
            (Some(refutation), _) => Verdict::Refuted(refutation),
            (None, false) => Verdict::Adjacent,
            (None, true) => driven.flip().map_or(Verdict::Unconfirmed, |flip| Verdict::Flipped(Box::new(flip))),
        };
        let undecided_by_search = undecided.filter(|_| !verdict.confirmed());
        let proof: Vec<Run> = match &verdict {
            Verdict::Adjacent => driven.hits.iter().take(1).map(|(at, _)| driven.trials[*at].run.clone()).collect(),
            Verdict::Flipped(flip) => flip.runs.to_vec(),
            Verdict::Refuted(_) | Verdict::Unconfirmed => Vec::new(),
        };
        let proof = proof.iter().map(|run| evidence(plan, run)).collect();
        let beside: BTreeSet<usize> = driven.hits.iter().map(|(at, _)| *at).collect();
        let adjacent = beside.len() as u32;
        // What a trial fails with is there whatever becomes of its pair.
        let trials = driven.trials();
        let first_failure = trials.iter().position(|i| driven.trials[*i].failed()).map(|i| i as u32 + 1);
        let failed: Vec<_> = trials.iter().map(|i| &driven.trials[*i]).filter(|t| t.failed()).cloned().collect();
        let is_limit = |i: &&usize| matches!(driven.trials[**i].summary.outcome(), Some(Outcome::Limit(..)));
        let limits = trials.iter().filter(is_limit).count() as u32;
        let reached = trials.iter().filter(|i| driven.orders.reached(**i)).count() as u32;
        let Compared { orders, harms, more_often, either, undecided } = match &verdict {
            Verdict::Unconfirmed => seen(&driven),
            Verdict::Refuted(_) => Compared::nothing(),
            _ => compare(&mut driven, &verdict),
        };
        for trial in failed {
            let known = orders.iter().flat_map(|o| &o.failures).any(|f| f.signature == trial.signature);
            if !known {
                self.others.add(&trial);
            }
        }
        PairReport {
            pair: candidate.pair,
            place: candidate.evidence.location.clone(),
            rank: candidate.rank,
            kinds: candidate.kinds.clone(),
            searched: candidate.by.contains(&Detector::Search),
            verdict,
            proof,
            trials: trials.len() as u32,
            made: trials.iter().filter_map(|i| made(&driven, *i, beside.contains(i))).collect(),
            ways: driven.ways,
            undecided_by_search,
            adjacent,
            reached,
            first_failure,
            orders,
            harms,
            more_often,
            either,
            undecided,
            limits,
            complete: driven.complete && !self.context.stop.load(Ordering::Relaxed),
        }
    }
}

fn made(driven: &Driven<'_>, i: usize, adjacent: bool) -> Option<MadeTrial> {
    let trial = &driven.trials[i];
    let Run::Drawn(RunId { strategy, seed }) = &trial.run else { return None };
    Some(MadeTrial {
        strategy: strategy.to_string(),
        seed: *seed,
        signature: trial.signature.clone(),
        steps: trial.summary.steps,
        first: driven.decided[i],
        adjacent,
    })
}
