//! A campaign in progress: its rounds, the failures that it has found, and its report.

use super::coverage::coverage;
use super::inputs::{FuzzInputs, Input, InputProgram, InputSpace, Programs, known_input};
use super::memory::{FuzzKeeper, FuzzMemory, FuzzMemoryError, KnownFailure};
use super::plan::{input_rng, planned, round};
use super::rounds::{EndsIfPanicking, Rounds};
use super::state::Learned;
use super::worker::{MadeRun, Worker};
use super::{FuzzFailure, FuzzPlan, FuzzReport, HowMade};
use crate::base::mutant::{self, Mutant};
use crate::campaign::plan::{CampaignContext, CampaignPlan, CampaignProgress, FuzzProgress};
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

/// Number of draws that may give values which the model cannot have; after them a run has the first input.
const MOST_REFUSED: usize = 64;

/// A campaign in progress.
pub(super) struct Campaign<'p, P> {
    plan: &'p CampaignPlan<P>,
    fuzz: FuzzPlan,
    programs: Arc<Programs<'p, P>>,
    // What was learned, except while rounds are performed.
    learned: Learned,
    // Failures by the number of the input that showed them first.
    failures: BTreeMap<usize, Failures>,
    found: Vec<FirstFailure>,
    limits: BTreeMap<(LimitKind, u64), u64>,
    began: u64,
    is_interrupted: bool,
}

// The first run with a failure.
struct FirstFailure {
    signature: String,
    number: u64,
    made: HowMade,
    input: usize,
}

impl<'p, P: Program> Campaign<'p, P> {
    pub(super) fn new(plan: &'p CampaignPlan<P>, fuzz: FuzzPlan, space: Option<&'p dyn InputSpace<P>>) -> Self {
        let programs = Programs::new(plan, space);
        let learned = Learned::new(programs.first());
        Self::with(plan, fuzz, programs, learned)
    }

    fn with(plan: &'p CampaignPlan<P>, fuzz: FuzzPlan, programs: Programs<'p, P>, learned: Learned) -> Self {
        Self {
            plan,
            fuzz,
            programs: Arc::new(programs),
            learned,
            failures: BTreeMap::new(),
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
        space: Option<&'p dyn InputSpace<P>>,
        memory: &FuzzMemory,
    ) -> Result<Self, FuzzMemoryError> {
        let programs = Programs::new(plan, space);
        let learned = memory.learned(&fuzz)?;
        programs.add_again(&learned)?;
        if !memory.fits(&programs.setup()) {
            return Err(FuzzMemoryError::Statement);
        }
        let mut campaign = Self::with(plan, fuzz, programs, learned);
        campaign.limits.clone_from(&memory.limits);
        campaign.began = memory.began;
        for (i, failure) in memory.failures.iter().enumerate() {
            let program = campaign.program(failure.input);
            let mut worker = trial::Worker::new(&program.plan);
            let run = RunSource::Made { choices: failure.choices.clone(), by: FUZZED };
            // It has failed before, so it ends.
            let shown = worker.perform(&run, &mut NoObserver, &AtomicBool::new(false));
            if !shown.failed() {
                return Err(FuzzMemoryError::Failure(i + 1));
            }
            let ((number, made), input) = (failure.first, failure.input);
            campaign.found.push(FirstFailure { signature: shown.signature.clone(), number, made, input });
            campaign.failures.entry(input).or_default().add_known(shown, failure.runs);
        }
        Ok(campaign)
    }

    // Returns the program of an input that is known.
    fn program(&self, input: usize) -> Arc<InputProgram<P>> {
        self.programs.of(input, self.learned.values(input))
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
        let programs = self.programs.clone();
        let mut worker = Worker::new(&programs);
        for token in saved {
            // A run with other constants than those of this campaign shows nothing of it.
            let Some(values) = self.programs.input_of(&token.defines) else { continue };
            let Some(input) = known_input(&self.programs, &mut self.learned, values) else { continue };
            let Some(made) = worker.repeat((input, token), &self.learned, stop) else {
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
        let rounds = Rounds::new(std::mem::replace(&mut self.learned, Learned::new(Input::new())));
        let (plan, programs) = (self.plan, self.programs.clone());
        self.plan_round(&rounds);
        // The results of the present round.
        let mut made = Vec::new();
        in_order(
            plan.jobs,
            usize::try_from(self.fuzz.runs - done).unwrap_or(usize::MAX),
            &rounds.over,
            || Worker::new(&programs),
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
                    self.end_round(&rounds, std::mem::take(&mut made), keeper, context.progress);
                }
            },
        );
        self.learned = rounds.learned.into_inner();
    }

    // Number of runs of the round after `done` runs, if the campaign does not end before.
    fn length(&self, done: u64) -> u64 {
        if mutant::is(Mutant::RoundsByWorkers) { self.plan.jobs as u64 } else { round(done) }
    }

    // Returns the number of the input of a run.
    fn input(&self, learned: &mut Learned, number: u64) -> usize {
        if self.programs.ranges().is_empty() || number == 1 {
            return 0;
        }
        let mut rng = input_rng(self.plan.seed, number);
        for _ in 0..MOST_REFUSED {
            let runs = |input: &Input| learned.inputs.get(input).map_or(0, |known| known.runs);
            let values = self.programs.draw(&mut rng, runs);
            if let Some(input) = known_input(&self.programs, learned, values) {
                return input;
            }
        }
        0
    }

    pub(super) fn plan_round(&self, rounds: &Rounds) {
        let mut learned = rounds.learned.write();
        let done = learned.runs;
        let last = done.saturating_add(self.length(done)).min(self.fuzz.runs);
        let plan = |number| {
            let input = self.input(&mut learned, number);
            let program = self.programs.of(input, learned.values(input));
            planned(&mut learned, (input, &program), self.plan.seed, number)
        };
        let runs = (done + 1..=last).map(plan).collect();
        drop(learned);
        rounds.begin(done + 1, runs);
    }

    /// Learns from the runs of a round: from all of them, or up to the first failure, or up to the first one that was
    /// interrupted. Then plans the next one.
    pub(super) fn end_round(
        &mut self,
        rounds: &Rounds,
        made: Vec<Option<MadeRun<P>>>,
        keeper: &mut Option<&mut dyn FuzzKeeper>,
        progress: &dyn CampaignProgress,
    ) {
        let runs = rounds.runs();
        let mut learned = rounds.learned.write();
        let ends = |run: &Option<MadeRun<P>>| run.as_ref().is_none_or(|run| run.news.failed && !self.fuzz.keeps_going);
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
        self.tell(&learned, progress);
        let is_over = is_cut || learned.runs >= self.fuzz.runs;
        if !is_cut && (is_over || keeper.as_mut().is_some_and(|keeper| keeper.is_due())) {
            self.keep_state(&learned, keeper);
        }
        drop(learned);
        if is_over { rounds.end() } else { self.plan_round(rounds) }
    }

    fn tell(&self, learned: &Learned, progress: &dyn CampaignProgress) {
        let failures: Vec<(&str, u32)> = self.failures.values().flat_map(Failures::counts).collect();
        progress.learned(&FuzzProgress {
            pairs: learned.pairs.counts(),
            states: learned.states[0] as u64,
            corpus: learned.covering.runs().len() as u64,
            failures: &failures,
        });
    }

    fn keep_state(&self, learned: &Learned, keeper: &mut Option<&mut dyn FuzzKeeper>) {
        let Some(keeper) = keeper else { return };
        let known = |first: &FirstFailure| {
            let FirstFailure { signature, number, made, input } = first;
            let failures = self.failures.get(input)?;
            let shown = failures.shown().find(|trial| trial.signature == *signature)?;
            let RunSource::Made { choices, .. } = &shown.run else { return None };
            let runs = failures.counts().find(|(known, _)| known == signature)?.1;
            Some(KnownFailure { input: *input, first: (*number, *made), runs, choices: choices.clone() })
        };
        let failures = self.found.iter().filter_map(known).collect();
        keeper.keep(&FuzzMemory { failures, limits: self.limits.clone(), began: self.began, ..learned.memory() });
    }

    // Keeps the end of a run. Returns whether it failed.
    fn keep(&mut self, (number, how): (u64, HowMade), made: MadeRun<P>) -> bool {
        let outcome = made.summary.outcome();
        if let Some(Outcome::Limit(kind, limit)) = outcome {
            *self.limits.entry((*kind, *limit)).or_default() += 1;
        }
        let failed = outcome.filter(|_| made.news.failed);
        let (Some(outcome), Some(choices)) = (failed, made.news.choices) else { return false };
        let input = made.news.input;
        let signature = signature(made.program.plan.program.setup(), outcome);
        let known = self.found.iter().find(|first| first.signature == signature);
        let of = known.map_or(input, |first| first.input);
        if known.is_none() {
            self.found.push(FirstFailure { signature: signature.clone(), number, made: how, input });
        }
        let run = RunSource::Made { choices, by: FUZZED };
        let (summary, races) = (made.summary, Vec::new());
        let failures = self.failures.entry(of).or_default();
        if of == input {
            failures.add(&Trial { run, summary, signature, races, engaged: None, released: None });
        } else {
            failures.count(&signature);
        }
        true
    }

    fn report(mut self) -> FuzzReport {
        let mut failures = Vec::new();
        for (input, of_input) in std::mem::take(&mut self.failures) {
            let program = self.program(input);
            for report in of_input.finish(&program.plan) {
                let first = self.found.iter().find(|first| first.signature == report.signature);
                failures.extend(first.map(|first| FuzzFailure {
                    run: first.number,
                    made: first.made,
                    input: self.learned.values(input).clone(),
                    smaller_input: None,
                    report,
                }));
            }
        }
        failures.sort_by_key(|failure| failure.run);
        let (learned, setup) = (&self.learned, self.programs.setup());
        FuzzReport {
            runs: learned.runs,
            failures,
            limits: std::mem::take(&mut self.limits),
            coverage: coverage(&setup, learned),
            inputs: FuzzInputs::new(setup, self.programs.ranges(), learned),
            covering: learned.covering.runs().to_vec(),
            began: self.began,
            complete: !self.is_interrupted,
        }
    }
}
