//! Performs a whole campaign: detection, trials of each pair, comparison of both orders, and proofs.
//!
//! It follows RaceFuzzer's two phases, and adds the flip for two tasks of one looper. Both orders of a confirmed pair
//! are compared, and searches prove that other pairs are false.

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
use crate::detect::{Candidate, Candidates, DetectorId, Pair};
use crate::event::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// Result of a whole campaign.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// Result of detection.
    pub phase1: Phase1,
    /// Report of each potential pair, in the order of `phase1.candidates`.
    pub pairs: Vec<PairReport>,
    /// Report of each order pair, in the order of `phase1.orders`; empty if order pairs were not driven.
    pub orders: Vec<PairReport>,
    /// Failures of trials that no order of any pair has, and no detection run either. Of order pairs only the harmful
    /// ones explain a failure.
    pub unexplained: Vec<FailureReport>,
    /// Search of all states; `None` if there was none.
    pub searched: Option<Searched>,
    /// Possible livelocks; `None` if they were not looked for, or if there are too many states.
    pub livelocks: Option<Vec<Endless>>,
    /// Whether the stop flag was set before the campaign ended. The pair in progress may have a weaker result than it
    /// would have had.
    pub interrupted: bool,
}

impl Confirmation {
    /// Returns whether the campaign is complete: nothing was interrupted or left out.
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.interrupted
            && self.phase1.complete
            && self.pairs.len() == self.phase1.candidates.len()
            && self.pairs.iter().chain(&self.orders).all(|p| p.complete)
    }
}

/// Performs a campaign: both phases, the comparison of both orders, and the proofs.
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
    // The trials may have led to a search of more states than detection did, and that may show further pairs.
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
        // Order pairs without harm explain no failure.
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
    // Number of detection runs, and of steps of the longest one.
    runs: u32,
    longest: u64,
    // States, once a pair has needed them; their minimum number if there are too many.
    states: Option<Result<States, u64>>,
    // Failures of trials that no order of their pair has.
    others: Failures,
}

// Pair after its trials and its search.
enum Tried<'d> {
    Decided(Box<PairReport>),
    Open(Box<Resists<'d>>),
}

// Pair that is neither confirmed nor refuted.
struct Resists<'d> {
    driven: Driven<'d>,
    // Reason why a search did not decide the pair.
    undecided: Option<Undecided>,
}

// Maximum number of open pairs that share a budget of trials. All their runs are kept until then.
const MOST_OPEN: usize = 16;

impl<'c> Campaign<'c> {
    // Reports these pairs, until the stop flag is set. Open pairs get their further trials together, since one budget
    // goes to the pairs where trials pay off.
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

    // Performs further trials of the open pairs, and reports them.
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

    // Performs the trials of a pair, and searches for it if they do not confirm it.
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

    // Judges a pair and reports it.
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
        // Failures are counted before the verdict: a trial that fails is a failure of the program, whatever the verdict
        // on its pair is.
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
            searched: candidate.by.contains(&DetectorId::SEARCH),
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
