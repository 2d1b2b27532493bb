//! Performs the runs of a campaign, one after the other, and finds what each adds to what was learned.

use super::plan::PlannedRun;
use super::shown::RunWatch;
use super::state::{Learned, RunNews};
use crate::campaign::plan::CampaignPlan;
use crate::campaign::runs::trial::fails;
use crate::exec::{LoopEnd, RunSummary, run};
use crate::sched::{Asked, AskedBase, ChoiceLog, Pos, Prefixed, RandomWalk, RawChoices, Replay, Strategy, Tolerant};
use crate::token::Token;
use crate::world::{Machine, Program};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a run has shown.
pub(super) struct MadeRun {
    pub(super) summary: RunSummary,
    pub(super) news: RunNews,
}

/// Performs runs, one after the other.
pub(super) struct Worker<P: Program> {
    machine: Machine<P::Guest>,
    program: u64,
    random: Asked,
    pos: Asked,
    log: ChoiceLog,
    watch: RunWatch,
}

impl<P: Program> Worker<P> {
    pub(super) fn new(plan: &CampaignPlan<P>, atomics: &Arc<[bool]>) -> Self {
        Self {
            machine: plan.program.machine(plan.limits),
            program: plan.program.digest(),
            random: Asked::new(AskedBase::Random(RandomWalk::new()), None),
            pos: Asked::new(AskedBase::Pos(Pos::new()), None),
            log: ChoiceLog::new(),
            watch: RunWatch::new(atomics.clone()),
        }
    }

    /// Performs a planned run. Returns `None` if it was interrupted.
    pub(super) fn perform(&mut self, planned: &PlannedRun, learned: &Learned, stop: &AtomicBool) -> Option<MadeRun> {
        let strategy = if planned.kind.pos { &mut self.pos } else { &mut self.random };
        strategy.ask(planned.ask.as_ref().map(|(_, ask)| ask.clone()));
        let steps = planned.beginning.as_ref().map_or(0, |beginning| beginning.steps);
        self.watch.note_from(steps);
        let mut observers = (&mut self.log, &mut self.watch);
        let summary = match &planned.beginning {
            Some(beginning) if steps > 0 => {
                let mut prefixed = Prefixed::new(beginning.choices.clone(), steps, Vec::new(), strategy);
                run(&mut self.machine, &mut prefixed, planned.seed, &mut observers, stop)
            }
            _ => run(&mut self.machine, strategy, planned.seed, &mut observers, stop),
        };
        self.made(summary, learned)
    }

    /// Performs a saved run again: tolerantly, if the program has changed or a choice does not fit. Returns `None` if
    /// it was interrupted.
    pub(super) fn repeat(&mut self, saved: &Token, learned: &Learned, stop: &AtomicBool) -> Option<MadeRun> {
        let schedule = Arc::new(saved.schedule.clone());
        self.watch.note_from(0);
        if saved.program == self.program {
            let summary = self.follow(Replay::new(schedule.clone()), saved.seed, stop);
            if !matches!(summary.end, LoopEnd::Diverged(_)) {
                return self.made(summary, learned);
            }
        }
        let summary = self.follow(Tolerant::new(schedule), saved.seed, stop);
        self.made(summary, learned)
    }

    fn follow(&mut self, mut strategy: impl Strategy, seed: u64, stop: &AtomicBool) -> RunSummary {
        run(&mut self.machine, &mut strategy, seed, &mut (&mut self.log, &mut self.watch), stop)
    }

    fn made(&self, summary: RunSummary, learned: &Learned) -> Option<MadeRun> {
        let failed = fails(summary.outcome()?);
        let (pairs, states) = (learned.pairs.news(&self.watch), learned.states.news(self.watch.states()));
        let needed = failed || states.is_new() || learned.covering.may_keep(learned, &pairs);
        let choices: Option<Arc<RawChoices>> = needed.then(|| Arc::new(self.log.choices().clone()));
        let news = RunNews { steps: summary.steps, pairs, states, failed, choices };
        Some(MadeRun { summary, news })
    }
}
