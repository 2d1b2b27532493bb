//! Detect, drive, judge: RaceFuzzer's two phases with the flip for two tasks of one looper; then what both orders of a confirmed pair come to, and proofs that others are false.

use super::continued::{Compared, compare, seen};
use super::detection::{Stream, detect};
use super::drive::Driven;
use super::failures::{Failures, evidence};
use super::refute::{self, States};
use super::report::{FailureReport, PairReport, Phase1, Searched, Undecided, Verdict};
use super::{Context, Explore, Plan};
use crate::detect::Candidate;
use crate::event::Outcome;
use std::collections::BTreeSet;
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
}

impl Confirmation {
    /// Whether nothing was cut short.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.phase1.complete
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
    let phase1 = detect(plan, context);
    let mut campaign = Campaign {
        plan,
        context,
        stream: Stream::new(plan, context.stop),
        phase1: &phase1,
        states: None,
        others: Failures::default(),
    };
    let pairs = campaign.pairs(&phase1.candidates, 0);
    let orders = if plan.orders && plan.explore != Explore::Only {
        campaign.pairs(&phase1.orders, phase1.candidates.len())
    } else {
        Vec::new()
    };
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
    Confirmation { phase1, pairs, orders, unexplained, searched }
}

struct Campaign<'c> {
    plan: &'c Plan,
    context: Context<'c>,
    stream: Stream,
    phase1: &'c Phase1,
    // Once somebody has asked.
    states: Option<Result<States, u64>>,
    // Failures of trials that had neither order of their pair.
    others: Failures,
}

impl Campaign<'_> {
    // These pairs, until somebody stops it.
    fn pairs(&mut self, candidates: &[Candidate], from: usize) -> Vec<PairReport> {
        let numbered = candidates.iter().zip(from as u64..);
        let stop = self.context.stop;
        let driven = numbered.take_while(|_| !stop.load(Ordering::Relaxed));
        driven.map(|(candidate, number)| self.pair(candidate, number)).collect()
    }

    fn pair(&mut self, candidate: &Candidate, number: u64) -> PairReport {
        let (plan, context) = (self.plan, self.context);
        let mut driven = Driven::new(plan, context, candidate.pair, number, self.phase1.longest);
        driven.look_at_detection(self.stream, self.phase1.runs);
        if plan.explore != Explore::Only {
            driven.drive(candidate, self.stream);
        }
        let confirmed = |driven: &Driven<'_>| {
            if driven.hits.is_empty() { driven.orders.flip().map(Verdict::Flipped) } else { Some(Verdict::Adjacent) }
        };
        let (mut verdict, mut undecided_by_search) = (confirmed(&driven), None);
        // Of other operations than accesses a search knows no orders.
        let searches = plan.explore != Explore::Off && candidate.is_race();
        let asks = verdict.is_none() || plan.explore == Explore::Only;
        if asks && searches && driven.complete {
            let states = self.states.get_or_insert_with(|| refute::states(plan, context));
            match states {
                Ok(states) => {
                    driven.searched = Some(driven.trials.len());
                    match states.judge(&mut driven) {
                        Ok(refuted) => verdict = Some(Verdict::Refuted(refuted)),
                        Err(undecided) => {
                            verdict = confirmed(&driven);
                            undecided_by_search = Some(undecided).filter(|_| verdict.is_none());
                        }
                    }
                }
                Err(_) => undecided_by_search = Some(Undecided::Cut),
            }
        }
        let verdict = verdict.unwrap_or(Verdict::Unconfirmed);
        let proof: Vec<usize> = match &verdict {
            Verdict::Adjacent => driven.hits.iter().take(1).map(|(at, _)| *at).collect(),
            Verdict::Flipped(flip) => flip.runs.to_vec(),
            Verdict::Refuted(_) | Verdict::Unconfirmed => Vec::new(),
        };
        let proof = proof.into_iter().map(|at| evidence(plan, &driven.trials[at].run)).collect();
        let beside: BTreeSet<usize> = driven.hits.iter().map(|(at, _)| *at).collect();
        let adjacent = beside.len() as u32;
        // What a trial fails with is there whatever becomes of its pair.
        let trials = driven.trials();
        let first_failure = trials.clone().find(|i| driven.trials[*i].failed()).map(|i| (i - driven.from) as u32 + 1);
        let failed: Vec<_> = driven.trials[trials.clone()].iter().filter(|t| t.failed()).cloned().collect();
        let limits = |t: &&super::trial::Trial| matches!(t.summary.outcome(), Some(Outcome::Limit(..)));
        let limits = driven.trials[trials.clone()].iter().filter(limits).count() as u32;
        let reached = trials.clone().filter(|i| driven.orders.reached(*i)).count() as u32;
        let Compared { orders, harms, undecided } = match &verdict {
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
            verdict,
            proof,
            trials: trials.len() as u32,
            ways: driven.ways,
            undecided_by_search,
            adjacent,
            reached,
            first_failure,
            orders,
            harms,
            undecided,
            limits,
            complete: driven.complete,
        }
    }
}
