//! Performs a whole campaign: detection, trials of each pair, comparison of both orders, and proofs.
//!
//! It follows RaceFuzzer's two phases, and adds the flip for two tasks of one looper. Both orders of a confirmed pair
//! are compared, and searches prove that other pairs are false.

use crate::campaign::drive::driven::Driven;
use crate::campaign::drive::portfolio::resist;
use crate::campaign::find::detection::{add_searched, detect_in, may_add};
use crate::campaign::finding::Confirmation;
use crate::campaign::finding::is_explained;
use crate::campaign::judge::compare::{compare, seen};
use crate::campaign::judge::livelocks::endless;
use crate::campaign::report::{
    Comparison, Discovery, MadeTrial, PairReport, Proof, Refutation, Searched, Trials, Undecided,
};
use crate::campaign::run::{Run, RunId};
use crate::campaign::runs::failures::{Failures, evidence};
use crate::campaign::runs::states::{States, states};
use crate::campaign::runs::stream::Stream;
use crate::campaign::{Context, Explore, Plan};
use crate::detect::{Candidate, Candidates, DetectorId, Pair};
use crate::event::Outcome;
use crate::world::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// Performs a campaign: both phases, the comparison of both orders, and the proofs.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{Context, Plan, Proof, Silent, Verdict, confirm};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let found = confirm(&Plan::new(&model), Context { stop: &stop, progress: &Silent });
/// for pair in &found.pairs {
///     // No order fails, so that the race is real and does no harm.
///     assert_eq!(pair.verdict(), Verdict::Real);
///     assert_eq!(pair.proof, Proof::Adjacent);
///     let [a_first, b_first] = &pair.comparison.orders;
///     assert!(a_first.runs > 0 && b_first.runs > 0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn confirm<P: Program>(plan: &Plan<P>, context: Context<'_>) -> Confirmation {
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
    if let Some(Ok(states)) = campaign.states.as_ref().filter(|_| may_add(plan, &phase1.coverage.left_out) && !stopped)
    {
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
    let mut unexplained = others.finish(plan);
    unexplained.retain(|f| !is_explained(f, &phase1.failures, (&pairs, &orders)));
    let livelocks = if context.stop.load(Ordering::Relaxed) { None } else { endless(plan, &phase1, context) };
    let interrupted = context.stop.load(Ordering::Relaxed);
    Confirmation { phase1, pairs, orders, unexplained, searched, livelocks, interrupted }
}

struct Campaign<'c, P> {
    plan: &'c Plan<P>,
    context: Context<'c>,
    stream: &'c Stream,
    // Number of detection runs, and of steps of the longest one.
    runs: u32,
    longest: u64,
    // States, once a pair has needed them; their minimum number if there are too many. `None` if the states of the
    // program cannot be searched.
    states: Option<Result<States, u64>>,
    // Failures of trials that no order of their pair has.
    others: Failures,
}

// Pair after its trials and its search.
enum Tried<'d, P: Program> {
    Decided(Box<PairReport>),
    Open(Box<Resists<'d, P>>),
}

// Pair that is neither confirmed nor refuted.
struct Resists<'d, P: Program> {
    driven: Driven<'d, P>,
    // Reason why a search did not decide the pair.
    undecided: Option<Undecided>,
}

// Maximum number of open pairs that share a budget of trials. All their runs are kept until then.
const MOST_OPEN: usize = 16;

impl<'c, P: Program> Campaign<'c, P> {
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
        open: &mut Vec<(usize, Resists<'c, P>)>,
        reports: &mut BTreeMap<usize, PairReport>,
    ) {
        let mut pairs: Vec<&mut Driven<'c, P>> = open.iter_mut().map(|(_, resists)| &mut resists.driven).collect();
        resist(self.plan, self.context, &mut pairs);
        for (i, Resists { driven, undecided }) in open.drain(..) {
            reports.insert(i, self.report(&candidates[i], driven, None, undecided));
        }
    }

    // Performs the trials of a pair, and searches for it if they do not confirm it.
    fn attempt(&mut self, candidate: &Candidate, number: u64) -> Tried<'c, P> {
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
            self.states = self.states.take().or_else(|| states(plan, plan.states, context));
            match &self.states {
                Some(Ok(states)) => match states.judge(&mut driven, candidate.is_race()) {
                    Ok(refutation) => refuted = Some(refutation),
                    Err(why) => undecided = Some(why),
                },
                Some(Err(_)) => undecided = Some(Undecided::Cut),
                None => {}
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
        mut driven: Driven<'_, P>,
        refuted: Option<Refutation>,
        undecided: Option<Undecided>,
    ) -> PairReport {
        let proof = match (refuted, driven.hits.is_empty()) {
            (Some(refutation), _) => Proof::Refuted(refutation),
            (None, false) => Proof::Adjacent,
            (None, true) => driven.flip().map_or(Proof::Unconfirmed, |flip| Proof::Flipped(Box::new(flip))),
        };
        let undecided_by_search = undecided.filter(|_| !proof.confirmed());
        let evidence = shown(&driven, &proof).iter().map(|run| evidence(self.plan, run)).collect();
        let comparison = match &proof {
            Proof::Unconfirmed => seen(&driven),
            Proof::Refuted(_) => Comparison::nothing(),
            _ => compare(&mut driven, &proof),
        };
        // A trial that fails is a failure of the program, whatever the proof of its pair is.
        for trial in driven.trials().into_iter().map(|i| &driven.trials[i]).filter(|t| t.failed()) {
            if comparison.failures().all(|f| f.signature != trial.signature) {
                self.others.add(trial);
            }
        }
        PairReport {
            pair: candidate.pair,
            discovery: Discovery {
                place: candidate.evidence.location.clone(),
                rank: candidate.rank,
                kinds: candidate.kinds.clone(),
                searched: candidate.by.contains(&DetectorId::SEARCH),
            },
            proof,
            evidence,
            undecided_by_search,
            trials: trials(&driven),
            comparison,
            complete: driven.complete && !self.context.stop.load(Ordering::Relaxed),
        }
    }
}

// Returns the runs that prove the verdict.
fn shown<P: Program>(driven: &Driven<'_, P>, proof: &Proof) -> Vec<Run> {
    match proof {
        Proof::Adjacent => driven.hits.iter().take(1).map(|(at, _)| driven.trials[*at].run.clone()).collect(),
        Proof::Flipped(flip) => flip.runs.to_vec(),
        Proof::Refuted(_) | Proof::Unconfirmed => Vec::new(),
    }
}

fn trials<P: Program>(driven: &Driven<'_, P>) -> Trials {
    let all = driven.trials();
    let beside: BTreeSet<usize> = driven.hits.iter().map(|(at, _)| *at).collect();
    let is_limit = |i: &&usize| matches!(driven.trials[**i].summary.outcome(), Some(Outcome::Limit(..)));
    Trials {
        count: all.len() as u32,
        made: all.iter().filter_map(|i| made(driven, *i, beside.contains(i))).collect(),
        ways: driven.ways.clone(),
        adjacent: beside.len() as u32,
        reached: all.iter().filter(|i| driven.orders.reached(**i)).count() as u32,
        first_failure: all.iter().position(|i| driven.trials[*i].failed()).map(|i| i as u32 + 1),
        limits: all.iter().filter(is_limit).count() as u32,
    }
}

fn made<P: Program>(driven: &Driven<'_, P>, i: usize, adjacent: bool) -> Option<MadeTrial> {
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
