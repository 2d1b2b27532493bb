//! Confirms violations of atomicity: what detection runs show, what directed runs force, whether it does harm, and what
//! a search proves.
//!
//! - A violation that a run shows is real: the run's token is the proof.
//! - A transaction that detection has in one piece is driven: directed runs hold operations so that conflicts come in
//!   an order that would violate it ([`candidates`]). Then a search of all states decides, if there are few enough.
//! - Harm: directed runs let the intruder come between, before and after, from the same seeds. A failure that comes
//!   with the violation, and in none of so many runs that have the transaction in one piece that it has a probability
//!   below [`BELOW`](super::claims::BELOW) in them (except with probability [`CHANCE`](super::claims::CHANCE)), is its
//!   harm.

use super::atomicity::{Searched, search_violation};
use super::harm_tally::{HarmTally, enough};
use crate::base::mix;
use crate::campaign::drive::held_trials::PILOT;
use crate::campaign::drive::ways::holds;
use crate::campaign::find::atomicity::{RecordedRun, record};
use crate::campaign::report::RunEvidence;
use crate::campaign::run::{RunId, RunSource};
use crate::campaign::runs::endless::bounded;
use crate::campaign::runs::parallel;
use crate::campaign::runs::stream::{Stream, seed_of};
use crate::campaign::runs::trial::{Trial, Worker};
use crate::campaign::violation::{
    ConfirmedViolation, ConfirmedViolations, DirectedRuns, KnownHarm, OpenHarm, SearchAnswer, ViolationHarm,
    ViolationVerdict,
};
use crate::campaign::{CampaignContext, CampaignPlan, Explore};
use crate::detect::atomicity::{
    AtomicityOptions, Blame, Finding, Moment, OfRuns, SeenFinding, Specification, StepNo, Steps, Transactions,
    candidates,
};
use crate::detect::happens_before::OrderQuery;
use crate::event::{SiteId, by_trace_name};
use crate::sched::{HoldSpec, StrategySpec};
use crate::trace::OpNo;
use crate::world::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

// Maximum number of candidates of a transaction that are driven.
const MOST_CANDIDATES: usize = 16;

// Maximum number of accesses of a run that are ordered by a table of all pairs, to exclude candidates.
const MOST_ORDERED: usize = 10_000;

// Number of orders: what comes between does so, or comes after or before.
const ORDERS: usize = 3;

// Maximum number of ways to force one of them that are tried: the nearest ones.
const MOST_WAYS: usize = 4;

// Number of runs of each way in one round, and maximum number of rounds for harm.
const ROUND: u32 = 40;
const MOST_ROUNDS: u32 = 36;

/// Confirms the violations of atomicity of a program under some specifications.
#[must_use]
pub fn confirm_violations<P: Program>(
    plan: &CampaignPlan<P>,
    specifications: &[Specification],
    options: AtomicityOptions,
    context: CampaignContext<'_>,
) -> ConfirmedViolations {
    let shorter = bounded(plan, context.stop);
    let plan = shorter.as_ref().unwrap_or(plan);
    let stream = Stream::new(plan, context.stop);
    let sites = by_trace_name(&plan.setup().sites);
    let mut campaign = Violations { plan, specifications, options, context, worker: Worker::new(plan), sites };
    context.progress.phase("detecting atomicity", u64::from(plan.detection.runs));
    let sources = (0..plan.detection.runs).map(|i| stream.run(seed_of(plan, u64::from(i)))).collect();
    let runs = campaign.perform(sources);
    let complete = runs.len() == plan.detection.runs as usize;
    let mut all = Vec::new();
    for (n, specification) in specifications.iter().enumerate() {
        let mut of_runs = OfRuns::new(*specification);
        for (i, run) in runs.iter().enumerate() {
            of_runs.add(i, run.found[n].clone());
        }
        let findings: Vec<SeenFinding> = of_runs.finish().into_iter().filter(|seen| seen.finding.counts()).collect();
        let mut decided: BTreeSet<String> = BTreeSet::new();
        for seen in findings {
            let is_certain = seen.finding.blame == Blame::Certain;
            if is_certain {
                decided.insert(seen.finding.declared.clone());
            }
            all.push(campaign.of_finding((n, *specification), seen, &runs));
        }
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, run) in runs.iter().enumerate() {
            run.found[n].declared.iter().for_each(|name| _ = first.entry(name).or_insert(i));
        }
        for (name, run) in first {
            if !decided.contains(name) && !context.stop.load(std::sync::atomic::Ordering::Relaxed) {
                let joint =
                    all.iter().any(|of: &ConfirmedViolation| of.specification == *specification && of.declared == name);
                let found = campaign.of_name((n, *specification), name, (run, &runs[run]));
                // That it is not to blame alone says the joint finding.
                if !joint || found.verdict < ViolationVerdict::Joint {
                    all.push(found);
                }
            }
        }
    }
    all.sort_by_key(|of| (of.verdict, of.seen.as_ref().map_or(9, |seen| seen.finding.priority)));
    let complete = complete && !context.stop.load(std::sync::atomic::Ordering::Relaxed);
    ConfirmedViolations { runs: runs.len() as u32, all, complete }
}

struct Violations<'c, P: Program> {
    plan: &'c CampaignPlan<P>,
    specifications: &'c [Specification],
    options: AtomicityOptions,
    context: CampaignContext<'c>,
    worker: Worker<'c, P>,
    // The sites by their names in traces.
    sites: BTreeMap<String, SiteId>,
}

impl<P: Program> Violations<'_, P> {
    fn perform(&self, sources: Vec<RunSource>) -> Vec<RecordedRun> {
        let Self { plan, specifications, options, context, .. } = self;
        let done = parallel::map(
            plan.jobs,
            sources.len(),
            context.stop,
            || Worker::new(plan),
            |worker, i| {
                let recorded = record(worker, &sources[i], (specifications, *options), context.stop);
                context.progress.done();
                recorded
            },
            || {},
        );
        done.into_iter().flatten().flatten().collect()
    }

    // The strategies that bring conflicts about in these orders, as the detection run with this number shows them: one
    // for each way, the nearest way first.
    fn strategies(&self, orders: &[Vec<SiteId>], profile: usize) -> Vec<StrategySpec> {
        // Without trials the campaign makes no directed runs.
        if self.plan.search.explore == Explore::Only {
            return Vec::new();
        }
        let sequences = orders.iter().map(|of| of.iter().map(|site| self.plan.site(*site)).collect()).collect();
        let profile = seed_of(self.plan, profile as u64);
        let spec = HoldSpec {
            sequences,
            without: Vec::new(),
            way: None,
            guided: false,
            ring: false,
            profile,
            later: 0,
            holds: None,
        };
        let Ok(found) = holds(self.plan, &spec) else { return Vec::new() };
        let found = Arc::new(found);
        let ways = 1..=found.ways.len().min(MOST_WAYS) as u32;
        let of = |way| HoldSpec { way: Some(way), holds: Some(Arc::clone(&found)), ..spec.clone() };
        ways.map(|way| StrategySpec::Hold(of(way))).collect()
    }

    // Draws a few runs of each strategy. Returns the one with the most runs that are wanted, of equally good ones the
    // first; `None` without strategies.
    fn best<'s>(
        &self,
        strategies: &'s [StrategySpec],
        mut is_wanted: impl FnMut(RecordedRun) -> bool,
    ) -> Option<&'s StrategySpec> {
        let n = PILOT.min(self.plan.trials.count);
        let mut best: Option<(&StrategySpec, usize)> = None;
        for strategy in strategies {
            let hits = self.draw(strategy, 0, n).into_iter().map(&mut is_wanted).filter(|hit| *hit).count();
            if best.is_none_or(|(_, most)| hits > most) {
                best = Some((strategy, hits));
            }
        }
        best.map(|(strategy, _)| strategy)
    }

    fn draw(&self, strategy: &StrategySpec, from: u32, n: u32) -> Vec<RecordedRun> {
        self.context.progress.phase("driving transactions", u64::from(n));
        let seed = |i: u32| mix(self.plan.seed, u64::from(from + i));
        self.perform((0..n).map(|i| RunSource::Drawn(RunId { strategy: strategy.clone(), seed: seed(i) })).collect())
    }

    // Judges a finding that detection runs show.
    fn of_finding(
        &mut self,
        (n, specification): (usize, Specification),
        seen: SeenFinding,
        runs: &[RecordedRun],
    ) -> ConfirmedViolation {
        let mut of = ConfirmedViolation {
            evidence: Some(RunEvidence::of(&self.worker.token(&runs[seen.first].trial.run))),
            verdict: ViolationVerdict::Joint,
            ..unjudged(specification, &seen.finding.declared)
        };
        if seen.finding.blame == Blame::Certain {
            of.verdict = ViolationVerdict::Real;
            self.harm(&mut of, (n, &seen.finding), seen.first, runs);
        }
        of.seen = Some(seen);
        of
    }

    // Compares runs with a violation with runs without it, and notes its harm. `profile` is the number of a detection
    // run that performs the statements of the finding.
    fn harm(
        &mut self,
        of: &mut ConfirmedViolation,
        (n, finding): (usize, &Finding),
        profile: usize,
        runs: &[RecordedRun],
    ) {
        let mut tally = HarmTally::new(n, finding);
        runs.iter().for_each(|run| _ = tally.add(run));
        let mut directed = Vec::new();
        for (n, order) in self.orders(finding).iter().enumerate() {
            let ways = order.iter().map(|of| self.strategies(of, profile)).find(|ways| !ways.is_empty());
            let best = self.best(ways.as_deref().unwrap_or(&[]), |run| {
                let violates = tally.add(&run);
                of.directed([(&run.trial, violates)].into_iter());
                violates == (n == 0)
            });
            directed.extend(best.cloned());
        }
        // Where an order cannot be directed, random walks may come to it.
        let walks = directed.len() < ORDERS && self.plan.search.explore != Explore::Only;
        for round in 0..MOST_ROUNDS {
            let is_decided = tally.serial.all() >= enough() && tally.violated >= ROUND;
            // Harm needs a failure with the violation. Without one in the first rounds there is none to compare, and
            // with few runs in one piece so far all rounds would be too few.
            let has_no_chance =
                tally.suspects().next().is_none() || tally.serial.all() * MOST_ROUNDS < enough() * round;
            if directed.is_empty() && !walks || is_decided || round > 2 && has_no_chance {
                break;
            }
            let from = PILOT + round * ROUND;
            if walks {
                self.draw(&StrategySpec::default(), from, ROUND).iter().for_each(|run| _ = tally.add(run));
            }
            for strategy in &directed {
                let more = self.draw(strategy, from, ROUND);
                of.directed(more.iter().map(|run| (&run.trial, tally.add(run))));
            }
        }
        let others: Vec<String> = tally.suspects().skip(1).map(str::to_owned).collect();
        let HarmTally { violated, serial, .. } = tally;
        if serial.all() >= enough()
            && let Some(signature) = tally.suspects().next()
            && let Some(failure) = tally.with.clone().finish(self.plan).into_iter().find(|f| f.signature == signature)
        {
            of.verdict = ViolationVerdict::Harmful;
            of.harm = Some(KnownHarm::Needed(Box::new(ViolationHarm { failure, violated, serial, others })));
        } else {
            let signature = tally.suspects().next().or_else(|| Some(tally.with.counts().next()?.0));
            of.harm = signature.map(|signature| {
                let either_way = tally.without.contains(signature);
                KnownHarm::Open(OpenHarm { signature: signature.to_owned(), either_way })
            });
        }
    }

    // The orders to bring about: the intruder between, after and before. Each is a list of which the first possible
    // one counts: two statements without a conflict cannot be directed, so those of the cycle's ends stand in.
    fn orders(&self, finding: &Finding) -> Vec<Vec<Vec<Vec<SiteId>>>> {
        let Some(cycle) = finding.cycles.first() else { return Vec::new() };
        let (Some(leaves), Some(back)) = (cycle.edges.first(), cycle.edges.last()) else { return Vec::new() };
        let site = |moment: &Moment| self.sites.get(moment.site.as_deref()?).copied();
        let (Some(a1), Some(b), Some(c), Some(a2)) =
            (site(&leaves.from), site(&leaves.to), site(&back.from), site(&back.to))
        else {
            return Vec::new();
        };
        let between = if b == c { vec![vec![a1, b, a2]] } else { vec![vec![a1, b], vec![c, a2]] };
        let either = |x: [SiteId; 2], y: [SiteId; 2]| vec![vec![x.to_vec()], vec![y.to_vec()]];
        vec![vec![between], either([a2, b], [a2, c]), either([c, a1], [b, a1])]
    }

    // Judges a transaction that no detection run shows to be violated.
    fn of_name(
        &mut self,
        (n, specification): (usize, Specification),
        name: &str,
        (number, run): (usize, &RecordedRun),
    ) -> ConfirmedViolation {
        let mut of = unjudged(specification, name);
        let shows = |run: &RecordedRun| run.found[n].findings.iter().any(|found| found.is_violation_of(Some(name)));
        for orders in self.candidates(specification, name, run) {
            let strategies = self.strategies(&orders, number);
            let mut more = Vec::new();
            let best = self.best(&strategies, |run| {
                let hit = shows(&run);
                more.push(run);
                hit
            });
            let Some(best) = best else { continue };
            let n_more = (self.plan.trials.count.min(ROUND) / 2).saturating_sub(PILOT);
            more.extend(self.draw(best, PILOT, n_more));
            of.directed(more.iter().map(|run| (&run.trial, shows(run))));
            if let Some(run) = more.iter().find(|run| shows(run)) {
                let found = run.found[n].findings.iter().find(|found| found.is_violation_of(Some(name)));
                of.verdict = ViolationVerdict::Real;
                of.evidence = Some(RunEvidence::of(&self.worker.token(&run.trial.run)));
                if let Some(finding) = found {
                    self.harm(&mut of, (n, finding), number, &[]);
                    of.seen = Some(SeenFinding { finding: finding.clone(), runs: 0, first: number });
                }
                return of;
            }
        }
        if self.plan.search.explore == Explore::Off {
            return of;
        }
        match search_violation(self.plan, self.plan.search.states, (specification, Some(name)), self.context) {
            Some(Searched::Violated(token)) => {
                of.verdict = ViolationVerdict::Real;
                of.evidence = Some(RunEvidence::of(&token));
                of.searched = Some(SearchAnswer::Violated);
            }
            Some(Searched::Never(states)) => {
                of.verdict = ViolationVerdict::Refuted;
                of.searched = Some(SearchAnswer::Never(states));
            }
            Some(Searched::Unknown(why)) => of.searched = Some(SearchAnswer::Undecided(why.text())),
            None => {}
        }
        of
    }

    // The orders of statements that would violate the first transaction of this name in a run.
    fn candidates(&self, specification: Specification, name: &str, run: &RecordedRun) -> Vec<Vec<Vec<SiteId>>> {
        let steps = Steps::of(&run.trace);
        let transactions = Transactions::of(&steps, specification);
        let Some((of, _)) = transactions.all.enumerate().find(|(_, own)| own.declared == name) else {
            return Vec::new();
        };
        let site = |at: StepNo| self.sites.get(&run.trace.sites[steps.site_of(at)]).copied();
        let orders = |edges: Vec<(StepNo, StepNo)>| -> Option<Vec<Vec<SiteId>>> {
            match edges.as_slice() {
                [(a1, b), (c, a2)] if b == c => Some(vec![vec![site(*a1)?, site(*b)?, site(*a2)?]]),
                _ => edges.iter().map(|(x, y)| Some(vec![site(*x)?, site(*y)?])).collect(),
            }
        };
        let accesses: Vec<OpNo> =
            run.trace.ops.enumerate().filter(|(_, op)| op.action.access().is_some()).map(|(at, _)| at).collect();
        // Without an order nothing is excluded.
        let order = (accesses.len() <= MOST_ORDERED)
            .then(|| OrderQuery::hybrid(&run.trace, &accesses, self.context.stop))
            .flatten();
        let is_before = |first: StepNo, then: StepNo| {
            let ops = steps.op_of(first).zip(steps.op_of(then));
            order.as_ref().zip(ops).is_some_and(|(order, (first, then))| order.is_ordered(first, then))
        };
        let found = candidates(&steps, &transactions, of, MOST_CANDIDATES, &is_before);
        found.into_iter().filter_map(orders).collect()
    }
}

impl ConfirmedViolation {
    // Notes directed runs, each with whether it violates the transaction.
    fn directed<'r>(&mut self, runs: impl Iterator<Item = (&'r Trial, bool)>) {
        for (trial, hit) in runs {
            self.directed.trials += 1;
            self.directed.hits += u32::from(hit);
            self.directed.made.extend(trial.of_goal(hit));
        }
    }
}

// What is known about a transaction before it is judged.
fn unjudged(specification: Specification, name: &str) -> ConfirmedViolation {
    ConfirmedViolation {
        specification,
        declared: name.to_owned(),
        verdict: ViolationVerdict::Unconfirmed,
        seen: None,
        evidence: None,
        directed: DirectedRuns::default(),
        searched: None,
        harm: None,
    }
}
