//! Performs the runs of a campaign, one after the other, and finds what each adds to what was learned.

use super::RunBase;
use super::inputs::{InputProgram, Programs};
use super::plan::PlannedRun;
use super::shown::RunWatch;
use super::state::{Learned, RunNews};
use crate::campaign::runs::trial::fails;
use crate::exec::{LoopEnd, RunSummary, run};
use crate::sched::{
    Asked, AskedBase, ChoiceLog, Pct, Pos, Prefixed, RandomWalk, RawChoices, Replay, Strategy, Tolerant,
};
use crate::token::Token;
use crate::world::{Machine, Program};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a run has shown.
pub(super) struct MadeRun<P> {
    /// The program of the run.
    pub(super) program: Arc<InputProgram<P>>,
    pub(super) summary: RunSummary,
    pub(super) news: RunNews,
}

/// Performs runs, one after the other.
pub(super) struct Worker<'c, P: Program> {
    programs: &'c Programs<'c, P>,
    seat: Seat<P>,
    random: Asked,
    pos: Asked,
    pct: Asked,
    log: ChoiceLog,
}

// What a worker has for the runs of one input.
struct Seat<P: Program> {
    input: usize,
    program: Arc<InputProgram<P>>,
    machine: Machine<P::Guest>,
    watch: RunWatch,
}

impl<P: Program> Seat<P> {
    fn new(input: usize, program: Arc<InputProgram<P>>) -> Self {
        let machine = program.plan.program.machine(program.plan.limits);
        let watch = RunWatch::new(program.atomics.clone());
        Self { input, program, machine, watch }
    }
}

impl<'c, P: Program> Worker<'c, P> {
    pub(super) fn new(programs: &'c Programs<'c, P>) -> Self {
        Self {
            programs,
            seat: Seat::new(0, programs.of(0, &programs.first())),
            random: Asked::new(AskedBase::Random(RandomWalk::new()), None),
            pos: Asked::new(AskedBase::Pos(Pos::new()), None),
            pct: Asked::new(AskedBase::Pct(Pct::new(1, 1)), None),
            log: ChoiceLog::new(),
        }
    }

    // Prepares for a run of an input.
    fn sit(&mut self, input: usize, learned: &Learned) {
        if self.seat.input != input {
            self.seat = Seat::new(input, self.programs.of(input, learned.values(input)));
        }
    }

    /// Performs a planned run. Returns `None` if it was interrupted.
    pub(super) fn perform(&mut self, planned: &PlannedRun, learned: &Learned, stop: &AtomicBool) -> Option<MadeRun<P>> {
        self.sit(planned.input, learned);
        let Seat { machine, watch, .. } = &mut self.seat;
        let strategy = match planned.kind.base {
            RunBase::Pos => &mut self.pos,
            RunBase::Pct => &mut self.pct,
            RunBase::Random | RunBase::Saved => &mut self.random,
        };
        if let Some((depth, steps)) = planned.shape {
            strategy.shape(depth, steps);
        }
        strategy.ask(planned.ask.as_ref().map(|(_, ask)| ask.clone()));
        let steps = planned.beginning.as_ref().map_or(0, |beginning| beginning.steps);
        watch.note_from(steps);
        let mut observers = (&mut self.log, watch);
        let summary = match &planned.beginning {
            Some(beginning) if steps > 0 => {
                let mut prefixed = Prefixed::new(beginning.choices.clone(), steps, Vec::new(), strategy);
                run(machine, &mut prefixed, planned.seed, &mut observers, stop)
            }
            _ => run(machine, strategy, planned.seed, &mut observers, stop),
        };
        self.made(summary, learned)
    }

    /// Performs a saved run again: tolerantly, if the program has changed or a choice does not fit. Returns `None` if
    /// it was interrupted.
    pub(super) fn repeat(
        &mut self,
        (input, saved): (usize, &Token),
        learned: &Learned,
        stop: &AtomicBool,
    ) -> Option<MadeRun<P>> {
        let schedule = Arc::new(saved.schedule.clone());
        self.sit(input, learned);
        self.seat.watch.note_from(0);
        if saved.program == self.seat.program.plan.program.digest() {
            let summary = self.follow(Replay::new(schedule.clone()), saved.seed, stop);
            if !matches!(summary.end, LoopEnd::Diverged(_)) {
                return self.made(summary, learned);
            }
        }
        let summary = self.follow(Tolerant::new(schedule), saved.seed, stop);
        self.made(summary, learned)
    }

    fn follow(&mut self, mut strategy: impl Strategy, seed: u64, stop: &AtomicBool) -> RunSummary {
        let Seat { machine, watch, .. } = &mut self.seat;
        run(machine, &mut strategy, seed, &mut (&mut self.log, watch), stop)
    }

    fn made(&self, summary: RunSummary, learned: &Learned) -> Option<MadeRun<P>> {
        let failed = fails(summary.outcome()?);
        let Seat { input, watch, program, .. } = &self.seat;
        let pairs = learned.pairs.news(watch, program.names.as_ref());
        let states = learned.inputs[*input].states.news(watch.states(), learned.elsewhere(*input));
        let needed = failed || states.is_new() || learned.covering.may_keep(learned, &pairs);
        let choices: Option<Arc<RawChoices>> = needed.then(|| Arc::new(self.log.choices().clone()));
        let news = RunNews { input: *input, steps: summary.steps, pairs, states, failed, choices };
        Some(MadeRun { program: program.clone(), summary, news })
    }
}
