//! Confirms violations of atomicity: what detection runs show, what directed runs force, whether it does harm, and what
//! a search proves.
//!
//! - A violation that a run shows is real: the run's token is the proof.
//! - A transaction that detection has in one piece is driven: directed runs hold operations so that conflicts come in
//!   an order that would violate it ([`candidates`]). Then a search of all states decides, if there are few enough.
//! - Harm: directed runs let the intruder come between, before and after, from the same seeds. A failure that comes
//!   with the violation, and in none of so many runs that have the transaction in one piece that it has a probability
//!   below [`BELOW`] in them (except with probability [`CHANCE`]), is its harm.

use super::atomicity::{Searched, search_violation};
use super::claims::{BELOW, CHANCE};
use crate::base::mix;
use crate::campaign::drive::ways::holds;
use crate::campaign::find::atomicity::{RecordedRun, record};
use crate::campaign::run::{RunId, RunSource};
use crate::campaign::runs::endless::bounded;
use crate::campaign::runs::parallel;
use crate::campaign::runs::stream::{Stream, seed_of};
use crate::campaign::runs::trial::Worker;
use crate::campaign::violation::{
    ConfirmedViolation, ConfirmedViolations, DirectedRuns, SearchAnswer, ViolationHarm, ViolationVerdict,
};
use crate::campaign::{CampaignContext, CampaignPlan, Explore};
use crate::detect::atomicity::{
    AtomicityOptions, Blame, Finding, Moment, OfRuns, SeenFinding, Specification, StepNo, Steps, Transactions,
    candidates,
};
use crate::event::SiteId;
use crate::sched::{HoldSpec, StrategySpec};
use crate::world::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

// Maximum number of candidates of a transaction that are driven.
const MOST_CANDIDATES: usize = 16;

// Number of runs of each way in one round, and maximum number of rounds for harm.
const ROUND: u32 = 40;
const MOST_ROUNDS: u32 = 12;

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
    let mut sites = BTreeMap::new();
    for (site, about) in plan.setup().sites.enumerate() {
        sites.entry(about.trace_name()).or_insert(site);
    }
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
    // The sites by their names in traces; of several with one name the first.
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

    // The strategy that brings conflicts about in these orders, as the detection run with this number shows them.
    fn strategy(&self, orders: &[Vec<SiteId>], profile: usize) -> Option<StrategySpec> {
        // Without trials the campaign makes no directed runs.
        if self.plan.search.explore == Explore::Only {
            return None;
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
        let found = holds(self.plan, &spec).ok().filter(|found| !found.ways.is_empty())?;
        Some(StrategySpec::Hold(HoldSpec { holds: Some(Arc::new(found)), ..spec }))
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
        let token = Some(self.worker.token(&runs[seen.first].trial.run));
        let declared = seen.finding.declared.clone();
        let (mut directed, mut harm) = (DirectedRuns::default(), None);
        let verdict = if seen.finding.blame == Blame::Certain {
            (directed, harm) = self.harm((n, &seen.finding), seen.first, runs);
            if harm.is_some() { ViolationVerdict::Harmful } else { ViolationVerdict::Real }
        } else {
            ViolationVerdict::Joint
        };
        ConfirmedViolation { specification, declared, verdict, seen: Some(seen), token, directed, searched: None, harm }
    }

    // Compares runs with a violation with runs without it. Returns the numbers of directed runs, and
    // the harm.
    fn harm(
        &mut self,
        (n, finding): (usize, &Finding),
        profile: usize,
        runs: &[RecordedRun],
    ) -> (DirectedRuns, Option<ViolationHarm>) {
        let mut tally = HarmTally::default();
        runs.iter().for_each(|run| tally.add(n, finding, run));
        let ways: Vec<StrategySpec> =
            self.ways(finding).iter().filter_map(|orders| self.strategy(orders, profile)).collect();
        let mut directed = DirectedRuns::default();
        // Harm needs a failure with the violation. Without one in the first rounds there is none to compare.
        for round in 0..MOST_ROUNDS {
            if tally.serial >= enough() && tally.violated >= ROUND || round > 2 && tally.suspects().next().is_none() {
                break;
            }
            for way in &ways {
                let before = tally.violated;
                let more = self.draw(way, round * ROUND, ROUND);
                directed.trials += more.len() as u32;
                more.iter().for_each(|run| tally.add(n, finding, run));
                directed.hits += tally.violated - before;
            }
            if ways.is_empty() {
                break;
            }
        }
        let found = tally.suspects().next().filter(|_| tally.serial >= enough());
        let harm = found.map(|(signature, (fails, source))| ViolationHarm {
            signature: signature.clone(),
            token: self.worker.token(source),
            violated: tally.violated,
            fails: *fails,
            serial: tally.serial,
        });
        (directed, harm)
    }

    // The orders to bring about: the intruder between, after and before.
    fn ways(&self, finding: &Finding) -> Vec<Vec<Vec<SiteId>>> {
        let Some(cycle) = finding.cycles.first() else { return Vec::new() };
        let (Some(leaves), Some(back)) = (cycle.edges.first(), cycle.edges.last()) else { return Vec::new() };
        let site = |moment: &Moment| self.sites.get(moment.site.as_deref()?).copied();
        let (Some(a1), Some(b), Some(c), Some(a2)) =
            (site(&leaves.from), site(&leaves.to), site(&back.from), site(&back.to))
        else {
            return Vec::new();
        };
        let between = if b == c { vec![vec![a1, b, a2]] } else { vec![vec![a1, b], vec![c, a2]] };
        vec![between, vec![vec![a2, b]], vec![vec![c, a1]]]
    }

    // Judges a transaction that no detection run shows to be violated.
    fn of_name(
        &mut self,
        (n, specification): (usize, Specification),
        name: &str,
        (number, run): (usize, &RecordedRun),
    ) -> ConfirmedViolation {
        let mut of = ConfirmedViolation {
            specification,
            declared: name.to_owned(),
            verdict: ViolationVerdict::Unconfirmed,
            seen: None,
            token: None,
            directed: DirectedRuns::default(),
            searched: None,
            harm: None,
        };
        for orders in self.candidates(specification, name, run) {
            let Some(strategy) = self.strategy(&orders, number) else { continue };
            let more = self.draw(&strategy, 0, self.plan.trials.count.min(ROUND) / 2);
            of.directed.trials += more.len() as u32;
            let shows =
                |run: &&RecordedRun| run.found[n].findings.iter().any(|found| found.is_violation_of(Some(name)));
            of.directed.hits += more.iter().filter(shows).count() as u32;
            if let Some(run) = more.iter().find(shows) {
                let found = run.found[n].findings.iter().find(|found| found.is_violation_of(Some(name)));
                of.verdict = ViolationVerdict::Real;
                of.token = Some(self.worker.token(&run.trial.run));
                of.seen = found.cloned().map(|finding| SeenFinding { finding, runs: 0, first: number });
                if let Some(seen) = &of.seen {
                    let (directed, harm) = self.harm((n, &seen.finding), number, &[]);
                    of.directed.trials += directed.trials;
                    of.directed.hits += directed.hits;
                    if harm.is_some() {
                        (of.verdict, of.harm) = (ViolationVerdict::Harmful, harm);
                    }
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
                of.token = Some(*token);
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
        candidates(&steps, &transactions, of, MOST_CANDIDATES).into_iter().filter_map(orders).collect()
    }
}

// Number of runs without a failure that bound its probability.
fn enough() -> u32 {
    (CHANCE.ln() / (1.0 - BELOW).ln()).ceil() as u32
}

// Runs with a violation and runs that have its transactions in one piece, with their failures.
#[derive(Default)]
struct HarmTally {
    violated: u32,
    serial: u32,
    // Failures of runs with the violation, each with their number and the first run.
    with: BTreeMap<String, (u32, RunSource)>,
    without: BTreeSet<String>,
}

impl HarmTally {
    fn add(&mut self, n: usize, finding: &Finding, run: &RecordedRun) {
        let shown = run.found[n].findings.iter();
        if shown.clone().any(|other| other.is_same(finding)) {
            self.violated += 1;
            if run.trial.failed() {
                let (signature, source) = (&run.trial.signature, &run.trial.run);
                self.with.entry(signature.clone()).or_insert_with(|| (0, source.clone())).0 += 1;
            }
        } else if run.found[n].declared.contains(&finding.declared)
            && !shown.clone().any(|other| other.declared == finding.declared)
        {
            self.serial += 1;
            self.without.extend(run.trial.failed().then(|| run.trial.signature.clone()));
        }
    }

    fn suspects(&self) -> impl Iterator<Item = (&String, &(u32, RunSource))> {
        self.with.iter().filter(|(signature, _)| !self.without.contains(*signature))
    }
}
