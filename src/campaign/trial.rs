//! One run of a campaign, named so that it can be made again.

use super::Plan;
use crate::event::{LimitKind, Outcome};
use crate::exec::{Observer, RunSummary, Unobserved, run};
use crate::explore::Way;
use crate::sched::{Hit, Named, Recorder, Rerun, Strategy, StrategySpec};
use crate::token::Token;
use crate::vm::{Model, Vm};
use crate::world::{Limits, Machine, signature};
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

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Which run.
    pub id: RunId,
    /// How it ended.
    pub summary: RunSummary,
    /// Its outcome in the words that are the same for the same failure; empty if it came to none.
    pub signature: String,
    /// The races that a directed run brought about: the first of each two statements.
    pub races: Vec<Hit>,
}

impl Trial {
    /// Whether the app failed in it: by a failure, a deadlock, or messages that never run. A limit is no failure.
    #[must_use]
    pub fn failed(&self) -> bool {
        matches!(self.summary.outcome(), Some(Outcome::Failure(_) | Outcome::Deadlock(_) | Outcome::Stuck { .. }))
    }
}

/// What tokens of runs that a search has found have as their strategy; no seed draws them.
pub const SEARCHED: &str = "explore";

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

/// A worker: a machine that is used for run after run.
pub(super) struct Worker<'p> {
    plan: &'p Plan,
    pub(super) machine: Machine<Vm>,
}

impl<'p> Worker<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self { plan, machine: Machine::new(Vm::new(plan.code.clone()), plan.limits) }
    }

    fn strategy(&self, id: &RunId) -> Named {
        // Pairs come from the program's own sites, and a command line's are resolved before a campaign starts.
        id.strategy.build(&self.plan.code.setup.sites).unwrap_or_else(|e| panic!("a strategy of this program: {e}"))
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
        let signature = summary.outcome().map_or(String::new(), |o| signature(&self.plan.code.setup, o));
        (summary, signature)
    }

    /// Performs the run.
    pub(super) fn perform<O: Observer>(&mut self, id: &RunId, observer: &mut O, stop: &AtomicBool) -> Trial {
        let mut strategy = self.strategy(id);
        let (summary, signature) = self.go(&mut strategy, id.seed, observer, stop);
        let races = if let Named::Directed(directed) = &strategy { directed.races().to_vec() } else { Vec::new() };
        Trial { id: id.clone(), summary, signature, races }
    }

    /// Performs the run again, for its token.
    pub(super) fn token(&mut self, id: &RunId) -> Token {
        let mut strategy = Recorder::new(self.strategy(id));
        let (_, signature) = self.go(&mut strategy, id.seed, &mut Unobserved, &AtomicBool::new(false));
        Token {
            program: self.plan.code.digest() as u64,
            defines: self.plan.defines.clone(),
            limits: self.plan.limits,
            strategy: id.strategy.to_string(),
            seed: id.seed,
            signature,
            schedule: strategy.schedule(&self.machine.world),
        }
    }
}
