//! Tests one variant of a model: performs runs of it, and judges its `expect` lines by them.
//!
//! 1. Saved runs come first.
//! 2. A search of all states follows. If there are few enough, it judges the lines about ends and orders (`searched`).
//! 3. Otherwise seeded random walks are performed, as many as the plan says.
//! 4. As many runs that learn from each other follow (`campaigns`), unless walks have shown all that lines require, and
//!    none forbids anything.
//! 5. A campaign follows if lines are about pairs, or if no run has shown an end or order that a line requires.
//! 6. Rare ends and orders get more runs as long as a required one is missing: up to [`RARE`] times as many walks, and
//!    a second campaign that is ten times as large if it is about pairs.
//!
//! Walks stop as soon as all required ends are seen only if no line forbids anything. Rounds have a fixed size, so that
//! the number of workers does not change a result.

use super::atomicity::{AtomicityLines, is_about_atomicity};
use super::ends::{EndMismatch, is_of_absence, judge, named};
use super::implied::expecting_no_failure;
use super::order::{OrderTally, OrderWatch, is_about_order};
use super::proved::{LineProofs, is_provable, settle};
use super::race::{is_about_order_pairs, is_about_pairs, judge_pairs};
use super::saved::{ReplayedSeed, SeedResult, replay_saved};
use super::search::{SearchedStates, search};
use super::test_result::{LineResult, LineVerdict, Origin, ShownEnds, TestPlan, TestResult};
use super::truth::TestFacts;
use crate::base::mix;
use crate::campaign::run::{RunId, RunSource};
use crate::campaign::runs::parallel;
use crate::campaign::runs::trial::{Trial, Worker};
use crate::campaign::{CampaignContext, Confirmation};
use crate::event::{LimitKind, Outcome, SiteId};
use crate::exec::{EndKind, LoopEnd, NoObserver, RunResult};
use crate::lang::program::{Expectation, ExpectationKind};
use crate::sched::StrategySpec;
use crate::statics::{Statics, StaticsOptions, analyze};
use crate::vm::Model;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Maximum number of walks for a required end that was not seen, as a multiple of the plan's.
pub const RARE: u32 = 100;

// Size of the second campaign: multiple of the planned runs and trials.
const LARGER: u32 = 10;

// Maximum number of steps of all walks together, after which rare ends are not looked for any more. Walks do not find
// what is rare in long runs.
pub(super) const RARE_STEPS: u64 = 50_000_000;

// Maximum number of ends that are shown against one line.
const MOST_SHOWN: usize = 20;

// Number of walks between two checks whether more are needed.
const ROUND: u32 = 250;

// All runs with the same end.
#[derive(Clone)]
pub(super) struct EndGroup {
    pub(super) outcome: Outcome,
    pub(super) signature: String,
    pub(super) runs: u32,
    pub(super) origin: Origin,
    // Token of the first run. A walk has none until it is needed.
    pub(super) token: Option<String>,
}

// Test of a variant in progress: its plan, and what its runs have shown so far.
pub(super) struct Test<'t> {
    pub(super) plan: &'t TestPlan<'t>,
    pub(super) context: CampaignContext<'t>,
    pub(super) ends: BTreeMap<RunResult, EndGroup>,
    orders: Vec<(usize, OrderTally)>,
    atomicity: AtomicityLines,
    searched: Option<SearchedStates>,
    pub(super) walks: u32,
    pub(super) steps: u64,
    limits: BTreeMap<(LimitKind, u64), u32>,
    pub(super) found: Option<Confirmation>,
    // Runs that are no walks; `None` if there are none.
    pub(super) trials: Option<u32>,
    saved: Vec<SeedResult>,
    // What static analysis claims of the variant, once something has asked.
    statics: Option<Arc<Statics>>,
}

/// Tests a variant. A model without `expect` lines expects that no run fails, deadlocks or is stuck. These implied
/// lines have the number 0.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, LineVerdict, CampaignPlan, NoProgress, TestPlan, test};
/// # use raceflip::vm::Model;
/// # let stop = std::sync::atomic::AtomicBool::new(false);
/// let text = "var x = 0; thread a { x += 1 }; thread b { x += 1 }
///     expect outcomes of x: ok 1, ok 2
///     expect deadlock";
/// let model = Model::from_text("add.race", text, &[])?;
/// let plan = TestPlan { model: &model, campaign: CampaignPlan::new(&model), walks: 100, states: 0, saved: &[], shrinks: true };
/// let tested = test(&plan, CampaignContext { stop: &stop, progress: &NoProgress });
/// assert!(!tested.passed());
/// assert!(matches!(tested.lines[0].verdict, LineVerdict::Met));
/// let LineVerdict::Unmet(why, ..) = &tested.lines[1].verdict else { panic!("there is no deadlock") };
/// println!("{}: {}", tested.lines[1].text, why.join(", "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn test(plan: &TestPlan<'_>, context: CampaignContext<'_>) -> TestResult {
    match expecting_no_failure(plan.model) {
        // The model has no `expect` lines: runs are enough, and there is no search.
        Some(model) => {
            let TestPlan { walks, saved, shrinks, .. } = *plan;
            test_lines(
                &TestPlan { model: &model, campaign: plan.campaign.clone(), walks, states: 0, saved, shrinks },
                context,
            )
        }
        None => test_lines(plan, context),
    }
}

fn test_lines(plan: &TestPlan<'_>, context: CampaignContext<'_>) -> TestResult {
    let about_order = plan.model.program.expectations.iter().enumerate().filter(|(_, e)| is_about_order(&e.kind));
    let mut test = Test {
        plan,
        context,
        ends: BTreeMap::new(),
        orders: about_order.map(|(i, _)| (i, OrderTally::default())).collect(),
        atomicity: AtomicityLines::default(),
        searched: None,
        walks: 0,
        steps: 0,
        limits: BTreeMap::new(),
        found: None,
        trials: None,
        saved: Vec::new(),
        statics: None,
    };
    let complete = test.perform();
    test.finish(complete)
}

impl Test<'_> {
    // Performs all runs. Returns whether none was interrupted.
    fn perform(&mut self) -> bool {
        self.replay_saved();
        self.search();
        if self.context.stop.load(Ordering::Relaxed) {
            return false;
        }
        let kinds = || self.plan.model.program.expectations.iter().map(|e| &e.kind);
        let walked = kinds().any(|k| !is_about_pairs(k) && !is_about_atomicity(k));
        let forbids = kinds().any(|k| {
            use ExpectationKind as K;
            is_of_absence(k) || matches!(k, K::Outcomes { .. } | K::Order { .. })
        });
        let pairs = kinds().any(is_about_pairs);
        let n = if walked && self.searched.is_none() { self.plan.walks } else { 0 };
        while self.walks < n && (forbids || self.misses()) {
            if !self.round(ROUND.min(n - self.walks)) {
                return false;
            }
        }
        let (walks, complete) = self.atomicity.perform(self.plan, self.context);
        if self.searched.is_none() {
            self.walks = self.walks.max(walks);
        }
        if !complete {
            return false;
        }
        if n > 0 && (forbids || self.misses()) && !self.learn() {
            return false;
        }
        let mut plan = self.plan.campaign.clone();
        if pairs {
            plan.ordered = Some(self.statics());
        }
        plan.trials.orders |= kinds().any(is_about_order_pairs);
        if (pairs || self.misses()) && !self.campaign(&plan) {
            return false;
        }
        while self.misses() && self.walks < n.saturating_mul(RARE) && self.steps < RARE_STEPS {
            if !self.round(ROUND) {
                return false;
            }
        }
        if self.misses_pairs() && !self.campaign(&plan.larger(LARGER)) {
            return false;
        }
        !self.context.stop.load(Ordering::Relaxed)
    }

    // Returns what static analysis claims of the variant.
    fn statics(&mut self) -> Arc<Statics> {
        let program = &self.plan.model.program;
        let analyze = || Arc::new(analyze(program, &StaticsOptions::explained()));
        self.statics.get_or_insert_with(analyze).clone()
    }

    fn unmet(&self, kind: &ExpectationKind) -> Option<EndMismatch> {
        judge(kind, self.ends.keys())
    }

    // Searches all states, if there are few enough, and adds their ends and orders.
    fn search(&mut self) {
        let Some(searched) = search(self.plan, self.context.stop) else { return };
        for (end, outcome, signature, token) in searched.ends {
            self.merge(end, EndGroup { outcome, signature, runs: 1, origin: Origin::Searched, token: Some(token) });
        }
        self.orders.iter_mut().zip(searched.orders).for_each(|((_, tally), of_search)| *tally = of_search);
        self.searched = Some(searched.states);
    }

    // Whether a required end or order is missing, and more runs may show it.
    fn misses(&self) -> bool {
        if self.searched.is_some() {
            return false;
        }
        let lines = &self.plan.model.program.expectations;
        lines.iter().any(|e| self.unmet(&e.kind).is_some_and(|u| !u.missing.is_empty()))
            || self.orders.iter().any(|(i, tally)| tally.wants_more(&lines[*i].kind))
    }

    // Whether a required pair is missing, or its required verdict, and more runs may show it.
    fn misses_pairs(&self) -> bool {
        let Some(found) = &self.found else { return false };
        let sites = &self.plan.model.program.sites;
        let lines = self.plan.model.program.expectations.iter();
        lines.filter_map(|e| judge_pairs(&e.kind, sites, found)).any(|b| b.more_may_help)
    }

    // Performs the next `n` walks. Returns false if they were interrupted.
    fn round(&mut self, n: u32) -> bool {
        let (plan, from, stop) = (self.plan, self.walks, self.context.stop);
        let of = named(&plan.model.program);
        let done = parallel::map(
            plan.campaign.jobs,
            n as usize,
            stop,
            || Worker::new(&plan.campaign),
            |worker, i| {
                let seed = mix(plan.campaign.seed, u64::from(from) + i as u64);
                let run = walk(seed);
                let mut watch = OrderWatch::new(&plan.model.program.expectations);
                let trial = if self.orders.is_empty() {
                    worker.perform(&run, &mut NoObserver, stop)
                } else {
                    worker.perform(&run, &mut watch, stop)
                };
                let outcome = trial.summary.outcome();
                let end = outcome.map(|o| RunResult::new(&plan.model.program, &of, o, &worker.machine.world));
                let orders = watch.finish(outcome);
                (trial, end, orders)
            },
            || {},
        );
        for (trial, end, orders) in done.into_iter().flatten() {
            let Some(end) = end else { continue };
            self.walks += 1;
            self.context.progress.done();
            self.steps += trial.summary.steps;
            let failure = trial.failed().then_some(trial.signature.as_str());
            for ((_, tally), shows) in self.orders.iter_mut().zip(orders) {
                tally.add(shows, failure);
            }
            if let Some(Outcome::Limit(kind, limit)) = trial.summary.outcome() {
                *self.limits.entry((*kind, *limit)).or_default() += 1;
            }
            self.add(end, &trial);
        }
        self.walks == from + n
    }

    fn add(&mut self, end: RunResult, trial: &Trial) {
        let LoopEnd::Outcome(outcome) = &trial.summary.end else { return };
        let RunSource::Drawn(id) = &trial.run else { return };
        let seen = EndGroup {
            outcome: outcome.clone(),
            signature: trial.signature.clone(),
            runs: 1,
            origin: Origin::Drawn { strategy: id.strategy.to_string(), seed: id.seed },
            token: None,
        };
        self.merge(end, seen);
    }

    pub(super) fn merge(&mut self, end: RunResult, seen: EndGroup) {
        match self.ends.get_mut(&end) {
            None => {
                self.ends.insert(end, seen);
            }
            Some(known) => known.runs += seen.runs,
        }
    }

    // Replays the saved runs, and adds their ends.
    fn replay_saved(&mut self) {
        let of = named(&self.plan.model.program);
        for (number, saved) in self.plan.saved.iter().enumerate() {
            let (result, again) = replay_saved(self.plan, &of, saved, self.context.stop);
            // A limit says nothing about the program.
            if let Some(ReplayedSeed { end, outcome, token }) =
                again.filter(|a| !matches!(a.outcome, Outcome::Limit(..)))
            {
                let signature = token.signature.clone();
                let origin = Origin::Saved(number);
                self.merge(end, EndGroup { outcome, signature, runs: 1, origin, token: Some(token.to_string()) });
            }
            self.saved.push(result);
        }
    }

    // Judges all lines, and finds the corrections of those that do not hold. `complete` is false after an interruption.
    fn finish(mut self, complete: bool) -> TestResult {
        let mut worker = Worker::new(&self.plan.campaign);
        let expectations = &self.plan.model.program.expectations;
        let asks = self.searched.is_none() && expectations.iter().any(|e| is_provable(&e.kind));
        let proofs = asks.then(|| LineProofs::new(self.statics()));
        let line = |(i, e): (usize, &Expectation)| {
            let proof = proofs.as_ref().and_then(|proofs| proofs.of(&e.kind));
            let verdict = settle(e, proof.as_deref(), self.verdict(i, &e.kind, &mut worker));
            let verdict = match verdict {
                // Runs that contradict the line stay valid after an interruption. A missing end might still have come.
                LineVerdict::Unmet(_, shown, more) if !complete && !shown.is_empty() => {
                    LineVerdict::Unmet(vec![], shown, more)
                }
                // What holds in every run needs none.
                LineVerdict::Met if proof.is_some() => LineVerdict::Met,
                LineVerdict::Unmet(..) | LineVerdict::Met | LineVerdict::Cut if !complete => {
                    LineVerdict::Unchecked(INTERRUPTED)
                }
                verdict => verdict,
            };
            let tally = self.orders.iter().find(|(n, _)| *n == i).map(|(_, tally)| tally);
            let atomicity = self.atomicity.tally(i);
            let known = TestFacts { searched: self.searched.is_some(), tally, atomicity, found: self.found.as_ref() };
            let truth = known.truth(&e.kind, &verdict, self.ends.keys());
            LineResult { line: e.line, text: e.text.clone(), verdict, truth, proof }
        };
        let lines = expectations.iter().enumerate().map(line).collect();
        TestResult {
            states: self.searched.as_ref().map(|searched| searched.count),
            reduced: self.searched.is_some_and(|searched| searched.reduced),
            lines,
            walks: self.walks,
            trials: self.trials,
            limits: self.limits,
            saved: self.saved,
            complete,
        }
    }

    // Judges the line with index `i`: by the ends, by its tally if it is about order, or by the campaign if it is about
    // pairs.
    fn verdict(&self, i: usize, kind: &ExpectationKind, worker: &mut Worker<'_, Model>) -> LineVerdict {
        let unmet = |why: &str| LineVerdict::Unmet(vec![why.to_owned()], Vec::new(), 0);
        if let ExpectationKind::Livelock { no } = kind {
            return match self.searched.as_ref().and_then(|searched| searched.livelock) {
                Some(found) if found != *no => LineVerdict::Met,
                Some(true) => unmet("some run may continue forever: `raceflip explore` shows it"),
                Some(false) => unmet("no run continues forever"),
                None => LineVerdict::Unchecked("only a search finds livelocks, and there are too many states"),
            };
        }
        if is_about_atomicity(kind) {
            let Some(tally) = self.atomicity.tally(i) else { return LineVerdict::Unchecked(INTERRUPTED) };
            let why = tally.judge(kind, &mut |run| worker.token(run).to_string());
            return why.map_or(LineVerdict::Met, |why| LineVerdict::Unmet(vec![why], Vec::new(), 0));
        }
        let met = if is_of_absence(kind) && self.all_cut() { LineVerdict::Cut } else { LineVerdict::Met };
        if let Some(unmet) = self.unmet(kind) {
            if unmet.is_met() {
                return met;
            }
            let never = if self.searched.is_some() { "can never happen" } else { "did not happen in any run" };
            let elsewhere = self.elsewhere(kind).map_or(String::new(), |hint| format!(": {hint}"));
            let why = unmet.missing.iter().map(|m| format!("`{m}` {never}{elsewhere}")).collect();
            let surplus = self.surplus(kind, &unmet.surplus);
            let shown: Vec<ShownEnds> =
                surplus.iter().take(MOST_SHOWN).map(|(e, s)| self.shown(kind, e, s, worker)).collect();
            let more = surplus.len() - shown.len();
            return LineVerdict::Unmet(why, shown, more);
        }
        let tally = self.orders.iter().find(|(n, _)| *n == i).map(|(_, tally)| tally);
        let why = match (tally, &self.found) {
            (Some(tally), _) => tally.judge(kind),
            (None, Some(found)) => judge_pairs(kind, &self.plan.model.program.sites, found).map(|b| b.why),
            // The test was interrupted before the campaign.
            (None, None) => return LineVerdict::Unchecked(INTERRUPTED),
        };
        why.map_or(met, |why| LineVerdict::Unmet(vec![why], Vec::new(), 0))
    }

    // Hint for a failure line that is not met: the places at which runs fail in the same way, outside the place that
    // the line names.
    fn elsewhere(&self, kind: &ExpectationKind) -> Option<String> {
        let ExpectationKind::Failure { no: false, what, site: Some(at) } = kind else { return None };
        let anywhere = ExpectationKind::Failure { no: true, what: what.clone(), site: None };
        let sites = &self.plan.model.program.sites;
        let failing = self.unmet(&anywhere)?.surplus;
        let site = |(i, end): (usize, &RunResult)| match end.kind {
            EndKind::Failure { site: Some(site), .. } if failing.binary_search(&i).is_ok() => Some(site),
            _ => None,
        };
        let places: BTreeSet<SiteId> = self.ends.keys().enumerate().filter_map(site).collect();
        let place = |id: &SiteId| {
            let label = sites[*id].label.as_ref().map_or(String::new(), |label| format!(" (@{label})"));
            format!(":{}:{}{label}", sites[*id].line, sites[*id].column)
        };
        let places: Vec<String> = places.iter().map(place).collect();
        let text = &at.text;
        (!places.is_empty()).then(|| {
            format!(
                "runs fail in this way at {}, which `{text}` does not cover: label that statement",
                places.join(", ")
            )
        })
    }

    // Whether all runs hit a limit.
    fn all_cut(&self) -> bool {
        // A search without ends proves that there are none.
        let known = self.walks > 0 || self.searched.is_some() && !self.ends.is_empty();
        known && self.ends.keys().all(|end| matches!(end.kind, EndKind::Limit(_)))
    }
}

// Run of a random walk.
pub(super) fn walk(seed: u64) -> RunSource {
    RunSource::Drawn(RunId { strategy: StrategySpec::default(), seed })
}

const INTERRUPTED: &str = "the test was interrupted before this line was judged";
