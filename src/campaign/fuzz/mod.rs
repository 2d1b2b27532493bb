//! A campaign that learns from run to run. It looks for any failure: no pair of accesses is named, none has to be
//! detected first. A run asks for a reads-from pair that no run has shown yet, or begins where few runs have been.
//!
//! Reads-from pairs between statements, and a scheduler that prefers and never forbids ([`Asked`]), are RFF's (Wolff et
//! al., *Greybox Fuzzing for Concurrency Testing*, ASPLOS 2024). Which pair is asked for (one, the least seen and asked
//! for, with all its instances), locks and queues as locations, and runs from rare states are ours.
//!
//! Runs come in rounds. The runs of a round are planned in order, performed by any number of workers, and learned from
//! in order when all of them have ended. So the number of workers does not change a result.
//!
//! - `shown`: what a run shows, as an observer;
//! - `pairs`, `rare`: what is learned of pairs and of states;
//! - `plan`: the kinds of runs, and the length of rounds;
//! - `rounds`: hands the runs of a round to the workers;
//! - `state`: everything that was learned;
//! - `coverage`: the report on pairs, statements and states.

mod coverage;
mod pairs;
mod plan;
mod rare;
mod rounds;
mod shown;
mod state;
#[cfg(test)]
mod tests;

pub use coverage::{FuzzCoverage, OrderKind, PairCoverage, statement_text};

use crate::base::mutant::{self, Mutant};
use crate::campaign::plan::{CampaignContext, CampaignPlan};
use crate::campaign::report::FailureReport;
use crate::campaign::run::{FUZZED, RunSource};
use crate::campaign::runs::failures::Failures;
use crate::campaign::runs::parallel::in_order;
use crate::campaign::runs::trial::{Trial, fails};
use crate::event::{LimitKind, Outcome};
use crate::exec::{RunSummary, run};
use crate::sched::{Asked, AskedBase, ChoiceLog, Pos, Prefixed, RandomWalk, RawChoices};
use crate::world::{Machine, Program, Statement, signature};
use plan::{PlannedRun, planned, round};
use rounds::{EndsIfPanicking, Rounds};
use shown::{ReadPair, RunWatch, atomic_cells};
use state::{Learned, RunNews};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Plan of a learning campaign, beside the plan of every campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FuzzPlan {
    /// Maximum number of runs.
    pub runs: u64,
    /// Whether the campaign goes on after a failure, to collect others.
    pub keeps_going: bool,
}

impl FuzzPlan {
    /// Default of [`runs`](Self::runs).
    pub const RUNS: u64 = 10_000;
}

impl Default for FuzzPlan {
    fn default() -> Self {
        Self { runs: Self::RUNS, keeps_going: false }
    }
}

/// Result of a learning campaign.
#[derive(Clone, Debug)]
pub struct FuzzReport {
    /// Number of runs. Without [`FuzzPlan::keeps_going`], the last one is the first that failed.
    pub runs: u64,
    /// Failures, in the order in which they were found.
    pub failures: Vec<FuzzFailure>,
    /// Runs that ended at a limit. That is no failure.
    pub limits: BTreeMap<(LimitKind, u64), u64>,
    /// What the runs have shown.
    pub coverage: FuzzCoverage,
    /// Whether the campaign was not interrupted.
    pub complete: bool,
}

/// A failure, and how it was found.
#[derive(Clone, Debug)]
pub struct FuzzFailure {
    /// Number of the first run with this failure, from 1.
    pub run: u64,
    /// How that run was made.
    pub made: HowMade,
    /// The failure.
    pub report: FailureReport,
}

/// How a run was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HowMade {
    /// The pair that the run was asked for: writer and reader. `None` if it was not asked.
    pub asked: Option<(Statement, Statement)>,
    /// Number of steps of another run that it repeated first, if it began at a rare state.
    pub repeated: Option<u64>,
    /// Whether the base was partial order sampling, and not a random walk.
    pub pos: bool,
}

impl HowMade {
    fn of(planned: &PlannedRun) -> Self {
        let asked: Option<ReadPair> = planned.ask.as_ref().map(|(pair, _)| *pair);
        Self { asked, repeated: planned.beginning.as_ref().map(|(_, steps)| *steps), pos: planned.kind.pos }
    }
}

/// Performs a learning campaign.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, CampaignPlan, FuzzPlan, NoProgress, fuzz};
/// # use std::sync::atomic::AtomicBool;
/// let text = "var x = 0; thread a { x = 1; x = 2 }; thread b { for i in 0..50 { skip }; assert x != 1 }";
/// let model = raceflip::vm::Model::from_text("window.race", text, &[])?;
/// let stop = AtomicBool::new(false);
/// let context = CampaignContext { stop: &stop, progress: &NoProgress };
/// let report = fuzz(&CampaignPlan::new(&model), &FuzzPlan { runs: 200, keeps_going: false }, context);
/// // A random walk takes far more runs. Here one is asked that the assert reads what `x = 1` has written.
/// assert!(report.runs < 10 && report.failures.len() == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fuzz<P: Program>(plan: &CampaignPlan<P>, fuzz: &FuzzPlan, context: CampaignContext<'_>) -> FuzzReport {
    context.progress.phase("fuzzing", fuzz.runs);
    let atomics = atomic_cells(plan.program.setup());
    let mut campaign = Campaign::new(plan, *fuzz);
    let rounds = Rounds::new();
    campaign.plan_round(&rounds);
    // The results of the present round.
    let mut made = Vec::new();
    in_order(
        plan.jobs,
        usize::try_from(fuzz.runs).unwrap_or(usize::MAX),
        &rounds.over,
        || Worker::new(plan, &atomics),
        |worker, i| {
            let _ends = EndsIfPanicking(&rounds);
            let planned = rounds.wait_for(i as u64 + 1)?;
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
                campaign.end_round(&rounds, made.drain(..));
            }
        },
    );
    campaign.report(&rounds)
}

/// A campaign in progress.
struct Campaign<'p, P> {
    plan: &'p CampaignPlan<P>,
    fuzz: FuzzPlan,
    failures: Failures,
    // The first run of each failure.
    found: Vec<(String, u64, HowMade)>,
    limits: BTreeMap<(LimitKind, u64), u64>,
    is_interrupted: bool,
}

/// What a run has shown.
struct MadeRun {
    summary: RunSummary,
    news: RunNews,
}

impl<'p, P: Program> Campaign<'p, P> {
    fn new(plan: &'p CampaignPlan<P>, fuzz: FuzzPlan) -> Self {
        let (failures, found, limits) = (Failures::default(), Vec::new(), BTreeMap::new());
        Self { plan, fuzz, failures, found, limits, is_interrupted: false }
    }

    fn plan_round(&self, rounds: &Rounds) {
        let mut learned = rounds.learned.write();
        let done = learned.runs;
        let by_workers = mutant::is(Mutant::RoundsByWorkers);
        let length = if by_workers { self.plan.jobs as u64 } else { round(done) };
        let last = done.saturating_add(length).min(self.fuzz.runs);
        let runs = (done + 1..=last).map(|number| planned(&mut learned, self.plan.seed, number)).collect();
        drop(learned);
        rounds.begin(done + 1, runs);
    }

    // Learns from the runs of a round: from all of them, or up to the first failure, or up to the first one that was
    // interrupted. Then plans the next one.
    fn end_round(&mut self, rounds: &Rounds, made: impl Iterator<Item = Option<MadeRun>>) {
        let mut learned = rounds.learned.write();
        let mut is_over = false;
        for (planned, made) in rounds.runs().iter().zip(made) {
            let Some(made) = made else {
                self.is_interrupted = true;
                break;
            };
            learned.learn(&made.news);
            if self.keep(planned, made) && !self.fuzz.keeps_going {
                is_over = true;
                break;
            }
        }
        is_over |= self.is_interrupted || learned.runs >= self.fuzz.runs;
        drop(learned);
        if is_over { rounds.end() } else { self.plan_round(rounds) }
    }

    // Keeps the end of a run. Returns whether it failed.
    fn keep(&mut self, planned: &PlannedRun, made: MadeRun) -> bool {
        let outcome = made.summary.outcome();
        if let Some(Outcome::Limit(kind, limit)) = outcome {
            *self.limits.entry((*kind, *limit)).or_default() += 1;
        }
        let (Some(outcome), Some(choices)) = (outcome.filter(|outcome| fails(outcome)), made.news.choices) else {
            return false;
        };
        let signature = signature(self.plan.program.setup(), outcome);
        if !self.found.iter().any(|(known, ..)| *known == signature) {
            self.found.push((signature.clone(), planned.number, HowMade::of(planned)));
        }
        let run = RunSource::Made { choices, by: FUZZED };
        let (summary, races) = (made.summary, Vec::new());
        self.failures.add(&Trial { run, summary, signature, races, engaged: None, released: None });
        true
    }

    fn report(self, rounds: &Rounds) -> FuzzReport {
        let learned = rounds.learned.read();
        let mut failures = Vec::new();
        for report in self.failures.finish(self.plan) {
            let first = self.found.iter().find(|(signature, ..)| *signature == report.signature);
            failures.extend(first.map(|(_, run, made)| FuzzFailure { run: *run, made: *made, report }));
        }
        failures.sort_by_key(|failure| failure.run);
        FuzzReport {
            runs: learned.runs,
            failures,
            limits: self.limits,
            coverage: coverage::coverage(self.plan.program.setup(), &learned),
            complete: !self.is_interrupted,
        }
    }
}

/// Performs runs, one after the other.
struct Worker<P: Program> {
    machine: Machine<P::Guest>,
    random: Asked,
    pos: Asked,
    log: ChoiceLog,
    watch: RunWatch,
}

impl<P: Program> Worker<P> {
    fn new(plan: &CampaignPlan<P>, atomics: &Arc<[bool]>) -> Self {
        Self {
            machine: plan.program.machine(plan.limits),
            random: Asked::new(AskedBase::Random(RandomWalk::new()), None),
            pos: Asked::new(AskedBase::Pos(Pos::new()), None),
            log: ChoiceLog::new(),
            watch: RunWatch::new(atomics.clone()),
        }
    }

    // Performs a planned run. Returns `None` if it was interrupted.
    fn perform(&mut self, planned: &PlannedRun, learned: &Learned, stop: &AtomicBool) -> Option<MadeRun> {
        let strategy = if planned.kind.pos { &mut self.pos } else { &mut self.random };
        strategy.ask(planned.ask.as_ref().map(|(_, ask)| ask.clone()));
        let (choices, steps) = planned.beginning.clone().unwrap_or_default();
        self.watch.note_from(steps);
        let mut observers = (&mut self.log, &mut self.watch);
        let summary = if steps > 0 {
            let mut prefixed = Prefixed::new(choices, steps, Vec::new(), strategy);
            run(&mut self.machine, &mut prefixed, planned.seed, &mut observers, stop)
        } else {
            run(&mut self.machine, strategy, planned.seed, &mut observers, stop)
        };
        let failed = fails(summary.outcome()?);
        let states = learned.states.news(self.watch.states());
        let needed = failed || states.is_new();
        let choices: Option<Arc<RawChoices>> = needed.then(|| Arc::new(self.log.choices().clone()));
        let news = RunNews { steps: summary.steps, pairs: learned.pairs.news(&self.watch), states, choices };
        Some(MadeRun { summary, news })
    }
}
