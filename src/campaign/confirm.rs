//! Performs a whole campaign: detection, trials of each pair, comparison of both orders, and proofs.
//!
//! It follows RaceFuzzer's two phases, and adds the flip for two tasks of one looper. Both orders of a confirmed pair
//! are compared, and searches prove that other pairs are false.

use crate::campaign::confirmation::Confirmation;
use crate::campaign::drive::pair_trials::PairTrials;
use crate::campaign::drive::portfolio::try_portfolio;
use crate::campaign::drive::ring_trials::RingTrials;
use crate::campaign::find::detection::{add_searched, detect_in, may_add};
use crate::campaign::finding::{PairFacts, is_explained};
use crate::campaign::judge::compare::{compare, seen};
use crate::campaign::judge::livelocks::endless;
use crate::campaign::judge::refute::OrdersFound;
use crate::campaign::order::StaticOrder;
use crate::campaign::report::{Comparison, Discovery, MadeTrial, PairReport, PairSide, Proof, SearchSize, Trials};
use crate::campaign::ring::{RingProof, RingReport};
use crate::campaign::run::{RunId, RunSource};
use crate::campaign::runs::alike::{role, same_failure};
use crate::campaign::runs::endless::bounded;
use crate::campaign::runs::failures::{Failures, evidence};
use crate::campaign::runs::states::{States, states};
use crate::campaign::runs::stream::Stream;
use crate::campaign::runs::trial::Worker;
use crate::campaign::verdict::UndecidedReason;
use crate::campaign::{CampaignContext, CampaignPlan, Explore};
use crate::detect::{Candidate, Candidates, DetectorId, Pair, RingCandidate};
use crate::event::{Outcome, Site, SiteId};
use crate::exec::NoObserver;
use crate::sched::site_text;
use crate::statics::SitesClaim;
use crate::world::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// Performs a campaign: both phases, the comparison of both orders, and the proofs.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, CampaignPlan, Proof, NoProgress, Verdict, confirm};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let found = confirm(&CampaignPlan::new(&model), CampaignContext { stop: &stop, progress: &NoProgress });
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
pub fn confirm<P: Program>(plan: &CampaignPlan<P>, context: CampaignContext<'_>) -> Confirmation {
    let shorter = bounded(plan, context.stop);
    let plan = shorter.as_ref().unwrap_or(plan);
    let stream = Stream::new(plan, context.stop);
    let (mut phase1, states) = detect_in(plan, &stream, context);
    let (runs, longest) = (phase1.runs, phase1.longest);
    let mut campaign =
        Campaign { plan, context, stream: &stream, runs, longest, states, tried: false, others: Failures::default() };
    let mut pairs = campaign.pairs(&phase1.candidates, 0);
    let mut orders = if plan.trials.orders && plan.search.explore != Explore::Only {
        campaign.pairs(&phase1.orders, phase1.candidates.len())
    } else {
        Vec::new()
    };
    let rings = campaign.rings(&phase1.rings);
    // The trials may have led to a search of more states than detection did, and that may show further pairs.
    let stopped = context.stop.load(Ordering::Relaxed);
    if let Some(Ok(states)) = campaign.states.as_ref().filter(|_| may_add(plan, &phase1.coverage.left_out) && !stopped)
    {
        let mut all = Candidates::new();
        add_searched(plan, states, &mut all);
        let known: BTreeSet<Pair> = phase1.candidates.iter().map(|c| c.pair).collect();
        let others: Vec<Candidate> = all.iter().filter(|c| !known.contains(&c.pair)).cloned().collect();
        phase1.coverage.searched = Some(SearchSize { states: states.len(), complete: true });
        pairs.extend(campaign.pairs(&others, phase1.candidates.len() + orders.len()));
        phase1.candidates.extend(others);
    }
    campaign.add_ends();
    let Campaign { states, others, .. } = campaign;
    let searched = states.map(|states| match states {
        Ok(states) => SearchSize { states: states.len(), complete: true },
        Err(states) => SearchSize { states, complete: false },
    });
    let mut unexplained = others.finish(plan);
    unexplained.retain(|f| !is_explained(f, &phase1.failures, (&pairs, &orders, &rings)));
    for order in &mut orders {
        order.ring = part_of(order, &rings);
    }
    let livelocks = if context.stop.load(Ordering::Relaxed) { None } else { endless(plan, &phase1, context) };
    let interrupted = context.stop.load(Ordering::Relaxed);
    Confirmation { phase1, pairs, orders, rings, unexplained, searched, livelocks, interrupted }
}

struct Campaign<'c, P> {
    plan: &'c CampaignPlan<P>,
    context: CampaignContext<'c>,
    stream: &'c Stream,
    // Number of detection runs, and of steps of the longest one.
    runs: u32,
    longest: u64,
    // States, once a pair has needed them; their minimum number if there are too many. `None` if the states of the
    // program cannot be searched.
    states: Option<Result<States, u64>>,
    // Whether a search before the trials was tried.
    tried: bool,
    // Failures of trials that no order of their pair has.
    others: Failures,
}

// Pair after its trials and its search.
enum PairResult<'d, P: Program> {
    Decided(Box<PairReport>),
    Open(Box<ResistantPair<'d, P>>),
}

// Pair that is neither confirmed nor refuted.
struct ResistantPair<'d, P: Program> {
    pair_trials: PairTrials<'d, P>,
    // Reason why a search did not decide the pair.
    undecided: Option<UndecidedReason>,
}

// Maximum number of states that are searched before the trials of a pair: about what the trials of one pair cost.
const SEARCHED_FIRST: u64 = 1_000;

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
                PairResult::Decided(report) => drop(reports.insert(i, *report)),
                PairResult::Open(resistant) => open.push((i, *resistant)),
            }
            if open.len() == MOST_OPEN {
                self.try_portfolio(candidates, &mut open, &mut reports);
            }
        }
        self.try_portfolio(candidates, &mut open, &mut reports);
        reports.into_values().collect()
    }

    // Reports these deadlock rings, until the stop flag is set.
    fn rings(&mut self, candidates: &[RingCandidate]) -> Vec<RingReport> {
        let (plan, context, stream) = (self.plan, self.context, self.stream);
        let mut reports = Vec::new();
        let numbered = (0..).zip(candidates);
        for (number, candidate) in numbered.take_while(|_| !context.stop.load(Ordering::Relaxed)) {
            let mut ring = RingTrials::new(plan, context, candidate, number);
            ring.look_at_detection(stream);
            if plan.search.explore != Explore::Only {
                ring.drive(stream);
            }
            if !ring.is_confirmed() && plan.search.explore != Explore::Off && ring.is_complete() {
                self.states = self.states.take().or_else(|| states(plan, plan.search.states, context));
                self.states.iter().for_each(|states| ring.judge(states));
            }
            let (report, others) = ring.finish();
            let failures =
                others.iter().filter(|trial| report.deadlocks.iter().all(|f| f.signature != trial.signature));
            failures.for_each(|trial| self.others.add(trial));
            reports.push(report);
        }
        reports
    }

    // Performs further trials of the open pairs, and reports them.
    fn try_portfolio(
        &mut self,
        candidates: &[Candidate],
        open: &mut Vec<(usize, ResistantPair<'c, P>)>,
        reports: &mut BTreeMap<usize, PairReport>,
    ) {
        let mut pairs: Vec<&mut PairTrials<'c, P>> =
            open.iter_mut().map(|(_, resistant)| &mut resistant.pair_trials).collect();
        try_portfolio(self.plan, self.context, &mut pairs);
        for (i, ResistantPair { pair_trials, undecided }) in open.drain(..) {
            reports.insert(i, self.report(&candidates[i], pair_trials, None, undecided));
        }
    }

    // Performs the trials of a pair, and searches for it. Where all states are known, the search comes first: a pair
    // whose orders it refutes needs no trial, and for a pair that it confirms the trials only measure how often.
    fn attempt(&mut self, candidate: &Candidate, number: u64) -> PairResult<'c, P> {
        let (plan, context) = (self.plan, self.context);
        let mut pair_trials = PairTrials::new(plan, context, candidate, number, self.longest);
        pair_trials.look_at_detection(self.stream, self.runs);
        if let Some(order) = ordered(plan, candidate) {
            refuse_contradiction(plan, &mut pair_trials, &order);
            return PairResult::Decided(Box::new(self.report(candidate, pair_trials, Some(order), None)));
        }
        let only = plan.search.explore == Explore::Only;
        let mut orders = None;
        if only || self.knows_all_states(&mut pair_trials) {
            orders = self.orders(candidate, &mut pair_trials);
        }
        if let (Some(Ok(OrdersFound::Never { claim, is_never_cut: true })), Some(Ok(states))) = (&orders, &self.states)
        {
            let refuted = Some(Proof::Refuted(states.refutation(*claim)));
            return PairResult::Decided(Box::new(self.report(candidate, pair_trials, refuted, None)));
        }
        if !only {
            pair_trials.drive(candidate, self.stream);
        }
        let asks = plan.search.explore != Explore::Off && pair_trials.complete && !pair_trials.is_confirmed();
        if asks && orders.is_none() {
            orders = self.orders(candidate, &mut pair_trials);
        }
        let (mut refuted, mut undecided) = (None, None);
        match (orders, &self.states) {
            (Some(Ok(OrdersFound::Never { claim, .. })), Some(Ok(states))) if asks => {
                match states.refute(&mut pair_trials, claim) {
                    Ok(refutation) => refuted = refutation.map(Proof::Refuted),
                    Err(why) => undecided = Some(why),
                }
            }
            (Some(Err(why)), _) => undecided = Some(why),
            _ => {}
        }
        // Where a search has shown which orders there are, no further trial can show another one.
        let is_open = matches!(undecided, None | Some(UndecidedReason::Cut | UndecidedReason::Instances));
        let tries = is_open && refuted.is_none() && !only && candidate.is_race() && pair_trials.complete;
        if tries && !pair_trials.is_confirmed() {
            return PairResult::Open(Box::new(ResistantPair { pair_trials, undecided }));
        }
        PairResult::Decided(Box::new(self.report(candidate, pair_trials, refuted, undecided)))
    }

    // Returns whether all states are known before the trials of a pair. They are searched for the first pair that no
    // detection run confirms, if they may be few.
    fn knows_all_states(&mut self, pair_trials: &mut PairTrials<'c, P>) -> bool {
        let plan = self.plan;
        let searches = plan.search.explore != Explore::Off && self.states.is_none() && !self.tried;
        if searches && pair_trials.complete && !pair_trials.is_confirmed() {
            self.tried = true;
            // A search that this smaller bound has cut says nothing about the bound of the plan.
            self.states = states(plan, plan.search.states.min(SEARCHED_FIRST), self.context).filter(Result::is_ok);
        }
        matches!(self.states, Some(Ok(_)))
    }

    // Searches for the orders of a pair that no run has confirmed. `None` if the states of the program cannot be
    // searched, or if the pair needs no search.
    fn orders(
        &mut self,
        candidate: &Candidate,
        pair_trials: &mut PairTrials<'c, P>,
    ) -> Option<Result<OrdersFound, UndecidedReason>> {
        let plan = self.plan;
        if !pair_trials.complete || (pair_trials.is_confirmed() && plan.search.explore != Explore::Only) {
            return None;
        }
        self.states = self.states.take().or_else(|| states(plan, plan.search.states, self.context));
        match self.states.as_ref()? {
            Ok(states) => Some(states.orders(pair_trials, candidate.is_race())),
            Err(_) => Some(Err(UndecidedReason::Cut)),
        }
    }

    // Adds the failures that a search of all states has found and no trial has shown.
    fn add_ends(&mut self) {
        let Some(Ok(states)) = &self.states else { return };
        for run in states.failing() {
            let trial = Worker::new(self.plan).perform(&run, &mut NoObserver, self.context.stop);
            if trial.failed() && self.others.shown().all(|known| known.signature != trial.signature) {
                self.others.add(&trial);
            }
        }
    }

    // Judges a pair and reports it.
    fn report(
        &mut self,
        candidate: &Candidate,
        mut pair_trials: PairTrials<'_, P>,
        refuted: Option<Proof>,
        undecided: Option<UndecidedReason>,
    ) -> PairReport {
        let proof = match (refuted, pair_trials.hits.is_empty()) {
            (Some(refutation), _) => refutation,
            (None, false) => Proof::Adjacent,
            (None, true) => pair_trials.flip().map_or(Proof::Unconfirmed, |flip| Proof::Flipped(Box::new(flip))),
        };
        let undecided_by_search = undecided.filter(|_| !proof.confirmed());
        let evidence = shown(&pair_trials, &proof).iter().map(|run| evidence(self.plan, run)).collect();
        let comparison = match &proof {
            Proof::Refuted(_) | Proof::Ordered(_) => Comparison::nothing(),
            Proof::Unconfirmed => seen(&pair_trials),
            _ if !self.plan.trials.compare => seen(&pair_trials),
            _ => compare(&mut pair_trials, &proof),
        };
        // A trial that fails is a failure of the program, whatever the proof of its pair is.
        for trial in pair_trials.trials().into_iter().map(|i| &pair_trials.trials[i]).filter(|t| t.failed()) {
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
                use_free: candidate.use_free.clone(),
                searched: candidate.by.contains(&DetectorId::SEARCH),
                sides: sides(self.plan, candidate, &proof),
            },
            proof,
            evidence,
            undecided_by_search,
            trials: trials(&pair_trials),
            comparison,
            ring: None,
        }
    }
}

// Returns the proof that a race is false because static analysis orders its accesses, if it does.
fn ordered<P>(plan: &CampaignPlan<P>, candidate: &Candidate) -> Option<Proof> {
    let (statics, Pair { a, b }) = (plan.ordered.as_ref().filter(|_| candidate.is_race())?, candidate.pair);
    let order = match statics.sites(a, b) {
        SitesClaim::Ordered { first } => Some((first, if first == a { b } else { a })),
        SitesClaim::NeverBoth => None,
        _ => return None,
    };
    Some(Proof::Ordered(Box::new(StaticOrder { order, why: statics.why(a, b) })))
}

// Stops with both proofs if runs have confirmed a pair that is in order in every run: one of the proofs is wrong.
fn refuse_contradiction<P: Program>(plan: &CampaignPlan<P>, pair_trials: &mut PairTrials<'_, P>, order: &Proof) {
    let beside = (!pair_trials.hits.is_empty()).then_some(Proof::Adjacent);
    let Some(proof) = beside.or_else(|| pair_trials.flip().map(|flip| Proof::Flipped(Box::new(flip)))) else { return };
    let tokens: Vec<String> = shown(pair_trials, &proof).iter().map(|run| evidence(plan, run).token).collect();
    let why = if let Proof::Ordered(order) = order { order.why.join("; ") } else { String::new() };
    let [a, b] = [pair_trials.pair.a, pair_trials.pair.b].map(|site| site_text(&plan.setup().sites, site));
    let how = if let Proof::Adjacent = proof { "side by side" } else { "in both orders" };
    panic!(
        "static analysis orders {a} ~ {b} in every run, and runs show it {how}, so that one of the two is wrong. The \
         order: {why}. The runs (`raceflip replay TOKEN` with the model): {}",
        tokens.join(", ")
    );
}

// Returns the sides of a pair. Its contexts are those of its first occurrence, or of its proof if no run of detection
// shows it alone. If neither names them, the bodies of the statements stand for them.
fn sides<P: Program>(plan: &CampaignPlan<P>, candidate: &Candidate, proof: &Proof) -> [PairSide; 2] {
    let setup = plan.setup();
    let seen = &candidate.evidence.contexts;
    let contexts = match proof {
        _ if !seen.0.is_empty() => [&seen.0, &seen.1].map(|pedigree| role(pedigree)),
        Proof::Flipped(flip) => [&flip.instances.a, &flip.instances.b].map(|instance| role(&instance.context)),
        _ => [candidate.pair.a, candidate.pair.b].map(|site| setup.bodies[setup.sites[site].body].clone()),
    };
    let side = |id: SiteId, context| {
        let Site { line, column, .. } = setup.sites[id];
        PairSide { context, line, column, site: site_text(&setup.sites, id) }
    };
    let [a, b] = contexts;
    [side(candidate.pair.a, a), side(candidate.pair.b, b)]
}

// Returns the index of the confirmed ring with which an order pair is reported: the pair is the acquisitions of one
// lock by two neighbours of the ring, and has no other harm than its deadlock. `None` if there is no such ring.
fn part_of(order: &PairReport, rings: &[RingReport]) -> Option<u32> {
    let explains = |ring: &RingReport| {
        let deadlocks: BTreeSet<String> = ring.deadlocks.iter().map(|f| same_failure(&f.signature)).collect();
        PairFacts::harms(order).into_iter().all(|harm| deadlocks.contains(&same_failure(harm)))
    };
    let is_it = |ring: &RingReport| ring.proof == RingProof::Closed && ring.has(order.pair) && explains(ring);
    rings.iter().position(is_it).map(|at| at as u32)
}

// Returns the runs that prove the verdict.
fn shown<P: Program>(pair_trials: &PairTrials<'_, P>, proof: &Proof) -> Vec<RunSource> {
    match proof {
        Proof::Adjacent => pair_trials.hits.iter().take(1).map(|(at, _)| pair_trials.trials[*at].run.clone()).collect(),
        Proof::Flipped(flip) => flip.runs.to_vec(),
        Proof::Refuted(_) | Proof::Ordered(_) | Proof::Unconfirmed => Vec::new(),
    }
}

fn trials<P: Program>(pair_trials: &PairTrials<'_, P>) -> Trials {
    let all = pair_trials.trials();
    let beside: BTreeSet<usize> = pair_trials.hits.iter().map(|(at, _)| *at).collect();
    let is_limit = |i: &&usize| matches!(pair_trials.trials[**i].summary.outcome(), Some(Outcome::Limit(..)));
    Trials {
        count: all.len() as u32,
        made: all.iter().filter_map(|i| made(pair_trials, *i, beside.contains(i))).collect(),
        ways: pair_trials.ways.clone(),
        adjacent: all.iter().filter(|i| beside.contains(i)).count() as u32,
        reached: all.iter().filter(|i| pair_trials.orders.reached(**i)).count() as u32,
        first_failure: all.iter().position(|i| pair_trials.trials[*i].failed()).map(|i| i as u32 + 1),
        limits: all.iter().filter(is_limit).count() as u32,
        complete: pair_trials.complete && !pair_trials.context.stop.load(Ordering::Relaxed),
    }
}

fn made<P: Program>(pair_trials: &PairTrials<'_, P>, i: usize, adjacent: bool) -> Option<MadeTrial> {
    let trial = &pair_trials.trials[i];
    let RunSource::Drawn(RunId { strategy, seed }) = &trial.run else { return None };
    Some(MadeTrial {
        strategy: strategy.to_string(),
        seed: *seed,
        signature: trial.signature.clone(),
        steps: trial.summary.steps,
        first: pair_trials.decided[i],
        adjacent,
    })
}
