//! One run of a campaign, named so that it can be made again.

use super::Plan;
use crate::event::{Actor, Choice, LimitKind, Outcome};
use crate::exec::{Observer, RunSummary, Unobserved, run};
use crate::explore::Way;
use crate::sched::{
    ChoiceLog, Divergence, Guide, Guiding, Hit, Named, RawChoices, Recorder, Released, Rerun, Strategy, StrategySpec,
    View,
};
use crate::token::Token;
use crate::vm::{Model, Vm};
use crate::world::{Limits, Machine, Question, signature};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A run: its strategy and its seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunId {
    /// How its choices are made.
    pub strategy: StrategySpec,
    /// From which seed.
    pub seed: u64,
}

/// A run that can be made again in the same program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Run {
    /// Drawn.
    Drawn(RunId),
    /// By its choices, since no seed draws it: [`SEARCHED`] or [`CONTINUED`].
    Made {
        /// The choices.
        choices: Arc<RawChoices>,
        /// Where they come from: the strategy of its token.
        by: &'static str,
    },
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Which run.
    pub run: Run,
    /// How it ended.
    pub summary: RunSummary,
    /// Its outcome in the words that are the same for the same failure; empty if it came to none.
    pub signature: String,
    /// The races that a directed run brought about: the first of each two statements.
    pub races: Vec<Hit>,
    /// The step at which something was held back first, if anything was.
    pub engaged: Option<u64>,
    /// Why what was held was let go.
    pub released: Option<Released>,
}

impl Trial {
    /// Whether the app failed in it: by a failure, a deadlock, or messages that never run. A limit is no failure.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.summary.outcome().is_some_and(fails)
    }
}

/// Whether the app fails by this.
pub(super) fn fails(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failure(_) | Outcome::Deadlock(_) | Outcome::Stuck { .. })
}

/// What tokens of runs that a search has found have as their strategy; no seed draws them.
pub const SEARCHED: &str = "explore";

/// What tokens of runs have as their strategy in which a campaign has continued another run in a certain order; no seed draws them.
pub const CONTINUED: &str = "confirm";

/// A run that was made again from its raw choices.
pub struct Remade {
    /// Its token, of strategy [`SEARCHED`] and seed 0.
    pub token: Token,
    /// How it ended.
    pub summary: RunSummary,
    /// The state at its end.
    pub machine: Machine<Vm>,
}

/// Makes a run again that a search has found, for its token and its last state.
///
/// The limit of steps does not count in a search. Where the run has more, its token has a limit that lets it come to its end.
#[must_use]
pub fn remake(model: &Model, limits: &Limits, way: &Way) -> Remade {
    let cut = matches!(way.outcome, Outcome::Limit(LimitKind::Steps, _));
    let limits = Limits { steps: limits.steps.max(way.steps + u64::from(!cut)), ..*limits };
    let mut machine = model.machine(limits);
    let mut strategy = Recorder::new(Rerun::new(Arc::new(way.choices.clone())));
    let summary = run(&mut machine, &mut strategy, 0, &mut Unobserved, &AtomicBool::new(false));
    let token = Token {
        program: model.digest(),
        defines: model.defines.clone(),
        limits,
        strategy: SEARCHED.to_owned(),
        seed: 0,
        signature: summary.outcome().map_or(String::new(), |o| signature(&model.code.setup, o)),
        schedule: strategy.schedule(&machine.world),
    };
    Remade { token, summary, machine }
}

/// Does what another strategy does for so many steps, and then gives up, so that the machine is left as it is there. A limit of steps would do the same, but that it is one of
/// the `init` block as well.
pub(super) struct UpTo<S> {
    pub(super) inner: S,
    /// What it chose.
    pub(super) made: Vec<Choice>,
    steps: u64,
}

impl<S> UpTo<S> {
    pub(super) fn new(inner: S, steps: u64) -> Self {
        Self { inner, made: Vec::new(), steps }
    }
}

impl<S: Strategy> Strategy for UpTo<S> {
    fn begin(&mut self, seed: u64) {
        self.inner.begin(seed);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        if view.world.steps() < self.steps {
            return self.inner.choose(view);
        }
        let (expected, found) = ("no further step".to_owned(), "a run that goes on".to_owned());
        Err(Box::new(Divergence { step: self.steps, expected, found }))
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.inner.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.inner.observe(view, choice);
        self.made.push(choice);
    }
}

/// A worker: a machine that is used for run after run.
pub(super) struct Worker<'p> {
    plan: &'p Plan,
    pub(super) machine: Machine<Vm>,
}

impl<'p> Worker<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self { plan, machine: plan.model.machine(plan.limits) }
    }

    fn drawn(&self, id: &RunId) -> Named {
        // Pairs come from the program's own sites, and a command line's are resolved before a campaign starts.
        let sites = &self.plan.model.code.setup.sites;
        id.strategy.build(sites).unwrap_or_else(|e| panic!("a strategy of this program: {e}"))
    }

    // One run, and the signature of its outcome; empty if it came to none.
    fn go<O: Observer>(
        &mut self,
        strategy: &mut impl Strategy,
        seed: u64,
        observer: &mut O,
        stop: &AtomicBool,
    ) -> (RunSummary, String) {
        let summary = run(&mut self.machine, strategy, seed, observer, stop);
        let signature = summary.outcome().map_or(String::new(), |o| signature(&self.plan.model.code.setup, o));
        (summary, signature)
    }

    /// Performs the run.
    pub(super) fn perform<O: Observer>(&mut self, run: &Run, observer: &mut O, stop: &AtomicBool) -> Trial {
        let (mut races, mut engaged, mut released) = (Vec::new(), None, None);
        let (summary, signature) = match run {
            Run::Drawn(id) => {
                let mut strategy = self.drawn(id);
                let done = self.go(&mut strategy, id.seed, observer, stop);
                match &strategy {
                    Named::Directed(directed) => races = directed.races().to_vec(),
                    Named::Hold(holding) => (engaged, released) = (holding.engaged(), holding.released()),
                    _ => {}
                }
                done
            }
            Run::Made { choices, .. } => self.go(&mut Rerun::new(choices.clone()), 0, observer, stop),
        };
        Trial { run: run.clone(), summary, signature, races, engaged, released }
    }

    /// Performs a run by a strategy of its own, and keeps its choices.
    pub(super) fn make<S: Strategy, O: Observer>(
        &mut self,
        strategy: S,
        seed: u64,
        observer: &mut O,
        stop: &AtomicBool,
    ) -> Trial {
        let mut log = ChoiceLog::new(strategy);
        let (summary, signature) = self.go(&mut log, seed, observer, stop);
        let choices = Arc::new(log.choices().clone());
        let run = Run::Made { choices, by: CONTINUED };
        Trial { run, summary, signature, races: Vec::new(), engaged: None, released: None }
    }

    /// The state after so many steps of a run.
    pub(super) fn machine_after(&mut self, choices: &Arc<RawChoices>, steps: u64) -> Machine<Vm> {
        let mut machine = self.plan.model.machine(self.plan.limits);
        let mut beginning = UpTo::new(Rerun::new(choices.clone()), steps);
        run(&mut machine, &mut beginning, 0, &mut Unobserved, &AtomicBool::new(false));
        machine
    }

    /// The choices of a run.
    pub(super) fn choices(&mut self, run: &Run) -> Arc<RawChoices> {
        match run {
            Run::Made { choices, .. } => choices.clone(),
            Run::Drawn(id) => {
                let mut log = ChoiceLog::new(self.drawn(id));
                self.go(&mut log, id.seed, &mut Unobserved, &AtomicBool::new(false));
                Arc::new(log.choices().clone())
            }
        }
    }

    /// The run as something to follow.
    pub(super) fn guide(&mut self, run: &Run) -> Guide {
        let choices = self.choices(run);
        let mut guiding = Guiding::new(Rerun::new(choices));
        self.go(&mut guiding, 0, &mut Unobserved, &AtomicBool::new(false));
        guiding.guide()
    }

    /// Performs the run again, for its token.
    pub(super) fn token(&mut self, run: &Run) -> Token {
        match run {
            Run::Drawn(id) => {
                let strategy = self.drawn(id);
                self.recorded(strategy, &id.strategy.to_string(), id.seed)
            }
            Run::Made { choices, by } => self.recorded(Rerun::new(choices.clone()), by, 0),
        }
    }

    fn recorded(&mut self, strategy: impl Strategy, name: &str, seed: u64) -> Token {
        let mut strategy = Recorder::new(strategy);
        let (_, signature) = self.go(&mut strategy, seed, &mut Unobserved, &AtomicBool::new(false));
        Token {
            program: self.plan.model.digest(),
            defines: self.plan.model.defines.clone(),
            limits: self.plan.limits,
            strategy: name.to_owned(),
            seed,
            signature,
            schedule: strategy.schedule(&self.machine.world),
        }
    }
}
