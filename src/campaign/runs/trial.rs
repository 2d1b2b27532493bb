//! Performs single runs of a campaign. Each run is named so that it can be performed again.

use crate::campaign::CampaignPlan;
use crate::campaign::ring::GoalTrial;
use crate::campaign::run::{CONTINUED, RunId, RunSource, SEARCHED};
use crate::event::{Actor, Choice, LimitKind, Outcome};
use crate::exec::{ChoiceInterest, NoObserver, Observer, RunSummary, run};
use crate::explore::RunChoices;
use crate::sched::{
    ChoiceLog, Divergence, Guide, GuideRecorder, Hit, NamedStrategy, RawChoices, ReleaseReason, Rerun,
    ScheduleRecorder, Strategy, View,
};
use crate::token::Token;
use crate::world::{Limits, Machine, Program, Question, signature};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Run that was performed.
    pub run: RunSource,
    /// Summary of the run, with its end.
    pub summary: RunSummary,
    /// Signature of the outcome, which is equal for equal failures; empty if the run had no outcome.
    pub signature: String,
    /// Races that a directed run has created: the first one of each two statements.
    pub races: Vec<Hit>,
    /// Step at which the first hold began; `None` if nothing was held.
    pub engaged: Option<u64>,
    /// Reason why the hold was released; `None` if nothing was held, or if the run ended before.
    pub released: Option<ReleaseReason>,
}

impl Trial {
    /// Returns the trial as a trial of a goal that it has reached, or not. `None` if no strategy has drawn it.
    pub(in crate::campaign) fn of_goal(&self, hit: bool) -> Option<GoalTrial> {
        let RunSource::Drawn(RunId { strategy, seed }) = &self.run else { return None };
        let (strategy, signature) = (strategy.to_string(), self.signature.clone());
        Some(GoalTrial { strategy, seed: *seed, signature, steps: self.summary.steps, hit })
    }

    /// Returns whether the run failed: by a failure, a deadlock, or messages that can never run. A limit is no failure.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.summary.outcome().is_some_and(fails)
    }
}

/// Whether this outcome is a failure, a deadlock or stuck.
pub(in crate::campaign) fn fails(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failure(_) | Outcome::Deadlock(_) | Outcome::Stuck { .. })
}

/// Run that was performed again from its raw choices.
pub struct RepeatedRun<G> {
    /// Token of the run, with strategy [`SEARCHED`] and seed 0.
    pub token: Token,
    /// Summary of the run, with its end.
    pub summary: RunSummary,
    /// State at the end of the run.
    pub machine: Machine<G>,
}

/// Performs a run again that a search has found, and returns its token and its last state.
///
/// A search ignores the step limit. If the run has more steps than `limits` allows, its token gets a limit that lets it
/// reach its end.
#[must_use]
pub fn remake<P: Program>(program: &P, limits: &Limits, way: &RunChoices) -> RepeatedRun<P::Guest> {
    let cut = matches!(way.outcome, Outcome::Limit(LimitKind::Steps, _));
    let limits = Limits { steps: limits.steps.max(way.steps + u64::from(!cut)), ..*limits };
    let mut machine = program.machine(limits);
    let (mut rerun, mut recorder) = (Rerun::new(Arc::new(way.choices.clone())), ScheduleRecorder::new());
    let summary = run(&mut machine, &mut rerun, 0, &mut recorder, &AtomicBool::new(false));
    let token = Token {
        program: program.digest(),
        defines: program.defines().to_vec(),
        limits,
        strategy: SEARCHED.to_owned(),
        seed: 0,
        signature: summary.outcome().map_or(String::new(), |o| signature(program.setup(), o)),
        schedule: recorder.schedule(&machine.world),
    };
    RepeatedRun { token, summary, machine }
}

/// Strategy that follows another one for a number of steps and then diverges. The machine keeps the state that it has
/// there. A step limit would not do, since it also counts the steps of the `init` block.
pub(in crate::campaign) struct StepPrefix<S> {
    pub(in crate::campaign) inner: S,
    steps: u64,
}

impl<S> StepPrefix<S> {
    pub(in crate::campaign) fn new(inner: S, steps: u64) -> Self {
        Self { inner, steps }
    }
}

// The strategy must see forced steps: it ends at a certain step, which may be forced.
impl<S: Strategy> Strategy for StepPrefix<S> {
    fn begin(&mut self, seed: u64) {
        self.inner.begin(seed);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        if view.world.steps() < self.steps {
            return self.inner.choose(view);
        }
        let (expected, found) = ("no further step".to_owned(), "a run that continues".to_owned());
        Err(Box::new(Divergence { step: self.steps, expected, found }))
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.inner.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.inner.observe(view, choice);
    }
}

/// Worker: a machine that performs one run after another.
pub(in crate::campaign) struct Worker<'p, P: Program> {
    plan: &'p CampaignPlan<P>,
    pub(in crate::campaign) machine: Machine<P::Guest>,
}

impl<'p, P: Program> Worker<'p, P> {
    pub(in crate::campaign) fn new(plan: &'p CampaignPlan<P>) -> Self {
        Self { plan, machine: plan.program.machine(plan.limits) }
    }

    fn drawn(&self, id: &RunId) -> NamedStrategy {
        // This cannot fail: pairs consist of sites of this program, and the sites of a command line are resolved before
        // a campaign starts.
        let sites = &self.plan.setup().sites;
        id.strategy.build(sites).unwrap_or_else(|e| panic!("a strategy of this program: {e}"))
    }

    // Performs one run. Returns its summary and the signature of its outcome, which is empty if the run had none.
    fn go<O: Observer>(
        &mut self,
        strategy: &mut impl Strategy,
        seed: u64,
        observer: &mut O,
        stop: &AtomicBool,
    ) -> (RunSummary, String) {
        let summary = run(&mut self.machine, strategy, seed, observer, stop);
        let signature = summary.outcome().map_or(String::new(), |o| signature(self.plan.setup(), o));
        (summary, signature)
    }

    /// Performs a run.
    pub(in crate::campaign) fn perform<O: Observer>(
        &mut self,
        run: &RunSource,
        observer: &mut O,
        stop: &AtomicBool,
    ) -> Trial {
        let (mut races, mut engaged, mut released) = (Vec::new(), None, None);
        let (summary, signature) = match run {
            RunSource::Drawn(id) => {
                let mut strategy = self.drawn(id);
                let done = self.go(&mut strategy, id.seed, observer, stop);
                match &strategy {
                    NamedStrategy::Directed(directed) => races = directed.races().to_vec(),
                    NamedStrategy::Hold(holding) => (engaged, released) = (holding.engaged(), holding.released()),
                    _ => {}
                }
                done
            }
            RunSource::Made { choices, .. } => self.go(&mut Rerun::new(choices.clone()), 0, observer, stop),
        };
        Trial { run: run.clone(), summary, signature, races, engaged, released }
    }

    /// Performs a run with the given strategy, and keeps its choices. The result is named as a continuation.
    pub(in crate::campaign) fn make<S: Strategy, O: Observer>(
        &mut self,
        mut strategy: S,
        seed: u64,
        observer: &mut O,
        stop: &AtomicBool,
    ) -> Trial {
        let mut log = ChoiceLog::new();
        let (summary, signature) = self.go(&mut strategy, seed, &mut (&mut log, observer), stop);
        let choices = Arc::new(log.choices().clone());
        let run = RunSource::Made { choices, by: CONTINUED };
        Trial { run, summary, signature, races: Vec::new(), engaged: None, released: None }
    }

    /// Returns the state after the given number of steps of a run.
    pub(in crate::campaign) fn machine_after(&mut self, choices: &Arc<RawChoices>, steps: u64) -> Machine<P::Guest> {
        let mut machine = self.plan.program.machine(self.plan.limits);
        let mut beginning = StepPrefix::new(Rerun::new(choices.clone()), steps);
        run(&mut machine, &mut beginning, 0, &mut NoObserver, &AtomicBool::new(false));
        machine
    }

    /// Returns the choices of a run. A drawn run is performed again for that.
    pub(in crate::campaign) fn choices(&mut self, run: &RunSource) -> Arc<RawChoices> {
        match run {
            RunSource::Made { choices, .. } => choices.clone(),
            RunSource::Drawn(id) => {
                let mut log = ChoiceLog::new();
                self.go(&mut self.drawn(id), id.seed, &mut log, &AtomicBool::new(false));
                Arc::new(log.choices().clone())
            }
        }
    }

    /// Performs a run again, and returns it as a guide that other runs can follow.
    pub(in crate::campaign) fn guide(&mut self, run: &RunSource) -> Guide {
        let choices = self.choices(run);
        let mut recorder = GuideRecorder::new();
        self.go(&mut Rerun::new(choices), 0, &mut recorder, &AtomicBool::new(false));
        recorder.guide()
    }

    /// Performs a run again, and returns its token.
    pub(in crate::campaign) fn token(&mut self, run: &RunSource) -> Token {
        match run {
            RunSource::Drawn(id) => {
                let strategy = self.drawn(id);
                self.recorded(strategy, &id.strategy.to_string(), id.seed)
            }
            RunSource::Made { choices, by } => self.recorded(Rerun::new(choices.clone()), by, 0),
        }
    }

    fn recorded(&mut self, mut strategy: impl Strategy, name: &str, seed: u64) -> Token {
        let mut recorder = ScheduleRecorder::new();
        let (_, signature) = self.go(&mut strategy, seed, &mut recorder, &AtomicBool::new(false));
        Token {
            program: self.plan.program.digest(),
            defines: self.plan.program.defines().to_vec(),
            limits: self.plan.limits,
            strategy: name.to_owned(),
            seed,
            signature,
            schedule: recorder.schedule(&self.machine.world),
        }
    }
}

/// Observer that collects the choices of a run.
#[derive(Default)]
pub(in crate::campaign) struct AllChoices(pub(in crate::campaign) Vec<Choice>);

impl Observer for AllChoices {
    const EVENTS: bool = false;
    const CHOICES: ChoiceInterest = ChoiceInterest::All;

    fn choice(&mut self, _: &View<'_>, choice: Choice) {
        self.0.push(choice);
    }
}
