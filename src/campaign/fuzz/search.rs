//! A campaign in progress: its rounds, the failures that it has found, and its report.

use super::coverage::coverage;
use super::memory::{FuzzKeeper, FuzzMemory, FuzzMemoryError, KnownFailure};
use super::plan::{planned, round};
use super::rounds::{EndsIfPanicking, Rounds};
use super::shown::atomic_cells;
use super::state::Learned;
use super::worker::{MadeRun, Worker};
use super::{FuzzFailure, FuzzPlan, FuzzReport, HowMade};
use crate::base::mutant::{self, Mutant};
use crate::campaign::plan::{CampaignContext, CampaignPlan};
use crate::campaign::run::{FUZZED, RunSource};
use crate::campaign::runs::failures::Failures;
use crate::campaign::runs::parallel::in_order;
use crate::campaign::runs::trial::{self, Trial};
use crate::event::{LimitKind, Outcome};
use crate::exec::NoObserver;
use crate::token::Token;
use crate::world::{Program, signature};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A campaign in progress.
pub(super) struct Campaign<'p, P> {
    plan: &'p CampaignPlan<P>,
    fuzz: FuzzPlan,
    atomics: Arc<[bool]>,
    // What was learned, except while rounds are performed.
    learned: Learned,
    failures: Failures,
    // The first run of each failure.
    found: Vec<(String, u64, HowMade)>,
    limits: BTreeMap<(LimitKind, u64), u64>,
    began: u64,
    is_interrupted: bool,
}

impl<'p, P: Program> Campaign<'p, P> {
    pub(super) fn new(plan: &'p CampaignPlan<P>, fuzz: FuzzPlan) -> Self {
        Self::with(plan, fuzz, Learned::default())
    }

    fn with(plan: &'p CampaignPlan<P>, fuzz: FuzzPlan, learned: Learned) -> Self {
        Self {
            plan,
            fuzz,
            atomics: atomic_cells(plan.program.setup()),
            learned,
            failures: Failures::default(),
            found: Vec::new(),
            limits: BTreeMap::new(),
            began: 0,
            is_interrupted: false,
        }
    }

    /// Returns the campaign that goes on from a memory.
    pub(super) fn resume(
        plan: &'p CampaignPlan<P>,
        fuzz: FuzzPlan,
        memory: &FuzzMemory,
    ) -> Result<Self, FuzzMemoryError> {
        let mut campaign = Self::with(plan, fuzz, memory.learned(&fuzz)?);
        campaign.limits.clone_from(&memory.limits);
        campaign.began = memory.began;
        let mut worker = trial::Worker::new(plan);
        for (i, failure) in memory.failures.iter().enumerate() {
            let run = RunSource::Made { choices: failure.choices.clone(), by: FUZZED };
            // It has failed before, so it ends.
            let shown = worker.perform(&run, &mut NoObserver, &AtomicBool::new(false));
            if !shown.failed() {
                return Err(FuzzMemoryError::Failure(i + 1));
            }
            let (number, made) = failure.first;
            campaign.found.push((shown.signature.clone(), number, made));
            campaign.failures.add_known(shown, failure.runs);
        }
        Ok(campaign)
    }

    pub(super) fn worker(&self) -> Worker<P> {
        Worker::new(self.plan, &self.atomics)
    }

    /// Performs all runs, and returns the report. The campaign begins with the saved runs.
    pub(super) fn perform(
        mut self,
        saved: &[Token],
        mut keeper: Option<&mut dyn FuzzKeeper>,
        context: CampaignContext<'_>,
    ) -> FuzzReport {
        let done = self.learned.runs;
        context.progress.phase("fuzzing", self.fuzz.runs - done);
        if self.begin_with(saved, context.stop) && done < self.fuzz.runs {
            self.perform_rounds(done, &mut keeper, context);
        }
        self.report()
    }

    // Performs saved runs. Returns whether the search begins after them: no run has failed, or it goes on.
    fn begin_with(&mut self, saved: &[Token], stop: &AtomicBool) -> bool {
        let mut worker = self.worker();
        for token in saved {
            let Some(made) = worker.repeat(token, &self.learned, stop) else {
                self.is_interrupted = true;
                return false;
            };
            self.began += 1;
            self.learned.begin_with(&made.news);
            if self.keep((0, HowMade::SAVED), made) && !self.fuzz.keeps_going {
                return false;
            }
        }
        true
    }

    fn perform_rounds(&mut self, done: u64, keeper: &mut Option<&mut dyn FuzzKeeper>, context: CampaignContext<'_>) {
        let rounds = Rounds::new(std::mem::take(&mut self.learned));
        let (plan, atomics) = (self.plan, self.atomics.clone());
        self.plan_round(&rounds);
        // The results of the present round.
        let mut made = Vec::new();
        in_order(
            plan.jobs,
            usize::try_from(self.fuzz.runs - done).unwrap_or(usize::MAX),
            &rounds.over,
            || Worker::new(plan, &atomics),
            |worker, i| {
                let _ends = EndsIfPanicking(&rounds);
                let planned = rounds.wait_for(done + i as u64 + 1)?;
                let made = worker.perform(&planned, &rounds.learned.read(), context.stop);
                context.progress.done();
                made
            },
            |_, run| {
                // A worker that waited at the end has no run.
                if rounds.is_over() {
                    return;
                }
                made.push(run);
                if rounds.is_complete(made.len()) {
                    self.end_round(&rounds, std::mem::take(&mut made), keeper);
                }
            },
        );
        self.learned = rounds.learned.into_inner();
    }

    // Number of runs of the round after `done` runs, if the campaign does not end before.
    fn length(&self, done: u64) -> u64 {
        if mutant::is(Mutant::RoundsByWorkers) { self.plan.jobs as u64 } else { round(done) }
    }

    pub(super) fn plan_round(&self, rounds: &Rounds) {
        let mut learned = rounds.learned.write();
        let done = learned.runs;
        let last = done.saturating_add(self.length(done)).min(self.fuzz.runs);
        let runs = (done + 1..=last).map(|number| planned(&mut learned, self.plan.seed, number)).collect();
        drop(learned);
        rounds.begin(done + 1, runs);
    }

    /// Learns from the runs of a round: from all of them, or up to the first failure, or up to the first one that was
    /// interrupted. Then plans the next one.
    pub(super) fn end_round(
        &mut self,
        rounds: &Rounds,
        made: Vec<Option<MadeRun>>,
        keeper: &mut Option<&mut dyn FuzzKeeper>,
    ) {
        let runs = rounds.runs();
        let mut learned = rounds.learned.write();
        let ends = |run: &Option<MadeRun>| run.as_ref().is_none_or(|run| run.news.failed && !self.fuzz.keeps_going);
        let is_cut = made.iter().any(ends) || (runs.len() as u64) < self.length(learned.runs);
        if is_cut {
            // What is kept is the state before this round: a campaign that goes on plans it again, as a whole.
            runs.iter().for_each(|run| learned.take_back(run));
            self.keep_state(&learned, keeper);
        }
        for (planned, made) in runs.iter().zip(made) {
            let Some(made) = made else {
                self.is_interrupted = true;
                break;
            };
            if is_cut {
                learned.count(planned);
            }
            learned.learn(&made.news);
            if self.keep((planned.number, HowMade::of(planned)), made) && !self.fuzz.keeps_going {
                break;
            }
        }
        let is_over = is_cut || learned.runs >= self.fuzz.runs;
        if !is_cut && (is_over || keeper.as_mut().is_some_and(|keeper| keeper.is_due())) {
            self.keep_state(&learned, keeper);
        }
        drop(learned);
        if is_over { rounds.end() } else { self.plan_round(rounds) }
    }

    fn keep_state(&self, learned: &Learned, keeper: &mut Option<&mut dyn FuzzKeeper>) {
        let Some(keeper) = keeper else { return };
        let known = |trial: &Trial| {
            let RunSource::Made { choices, .. } = &trial.run else { return None };
            let (_, number, made) = self.found.iter().find(|(signature, ..)| *signature == trial.signature)?;
            let runs = self.failures.counts().find(|(signature, _)| *signature == trial.signature)?.1;
            Some(KnownFailure { first: (*number, *made), runs, choices: choices.clone() })
        };
        let failures = self.failures.shown().filter_map(known).collect();
        keeper.keep(&FuzzMemory { failures, limits: self.limits.clone(), began: self.began, ..learned.memory() });
    }

    // Keeps the end of a run. Returns whether it failed.
    fn keep(&mut self, (number, how): (u64, HowMade), made: MadeRun) -> bool {
        let outcome = made.summary.outcome();
        if let Some(Outcome::Limit(kind, limit)) = outcome {
            *self.limits.entry((*kind, *limit)).or_default() += 1;
        }
        let failed = outcome.filter(|_| made.news.failed);
        let (Some(outcome), Some(choices)) = (failed, made.news.choices) else { return false };
        let signature = signature(self.plan.program.setup(), outcome);
        if !self.found.iter().any(|(known, ..)| *known == signature) {
            self.found.push((signature.clone(), number, how));
        }
        let run = RunSource::Made { choices, by: FUZZED };
        let (summary, races) = (made.summary, Vec::new());
        self.failures.add(&Trial { run, summary, signature, races, engaged: None, released: None });
        true
    }

    fn report(mut self) -> FuzzReport {
        let learned = &self.learned;
        let mut failures = Vec::new();
        for report in std::mem::take(&mut self.failures).finish(self.plan) {
            let first = self.found.iter().find(|(signature, ..)| *signature == report.signature);
            failures.extend(first.map(|(_, run, made)| FuzzFailure { run: *run, made: *made, report }));
        }
        failures.sort_by_key(|failure| failure.run);
        FuzzReport {
            runs: learned.runs,
            failures,
            limits: std::mem::take(&mut self.limits),
            coverage: coverage(self.plan.program.setup(), learned),
            covering: learned.covering.runs().to_vec(),
            began: self.began,
            complete: !self.is_interrupted,
        }
    }
}
