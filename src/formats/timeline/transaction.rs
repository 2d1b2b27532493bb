//! Finds the steps of a violated transaction in a run, so that its timeline shows what does not happen in one piece.

use super::Mark;
use crate::base::Id;
use crate::detect::TraceRecorder;
use crate::detect::atomicity::{
    Atomicity, AtomicityOptions, Cycle, Finding, Specification, StepNo, Steps, Transactions, analyze, is_named,
};
use crate::event::Event;
use crate::exec::{self, Observer};
use crate::sched::Replay;
use crate::token::Token;
use crate::trace::Trace;
use crate::vm::Model;
use crate::world::{Limits, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A violated transaction in a run. Steps are numbered from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionMarks {
    /// The name of the transaction, with its number: `Player#1`.
    pub name: String,
    /// All its steps.
    pub own: BTreeSet<u64>,
    /// The steps of the cycle that come between.
    pub between: BTreeSet<u64>,
    /// For each step of the cycle to which an edge leads: the step that it comes from, and what it is about.
    pub edges: BTreeMap<u64, (u64, String)>,
}

impl TransactionMarks {
    /// Returns the names of the transactions of a specification that the run of a token violates, in the order of the
    /// alphabet. `None` if the run cannot be performed under these limits.
    #[must_use]
    pub fn names(
        model: &Model,
        token: &Token,
        allowed: &Limits,
        specification: Specification,
    ) -> Option<BTreeSet<String>> {
        let RecordedRun { found, .. } = RecordedRun::of(model, token, allowed, specification)?;
        Some(found.findings.into_iter().filter(Finding::counts).map(|finding| finding.declared).collect())
    }

    /// Finds a violated transaction in the run of a token: the one that shows a cycle through these statements, or else
    /// the first one of this name, with a cycle of the best priority. `None` if the run cannot be performed under these
    /// limits, or violates none.
    #[must_use]
    pub fn of(
        model: &Model,
        token: &Token,
        allowed: &Limits,
        (specification, declared): (Specification, &str),
        statements: &[Option<&str>],
    ) -> Option<Self> {
        let RecordedRun { trace, of_operation, found } = RecordedRun::of(model, token, allowed, specification)?;
        let own = found.findings.iter().filter(|finding| finding.counts() && is_named(&finding.declared, declared));
        let mut cycles: Vec<&Cycle> = own.flat_map(|finding| &finding.cycles).collect();
        // A name with a number is that of one instance.
        cycles.retain(|cycle| !declared.contains('#') || cycle.transaction == declared);
        cycles.sort_by_key(|cycle| cycle.priority);
        let same = cycles.iter().find(|cycle| sites(cycle).eq(statements.iter().copied()));
        let cycle = same.or(cycles.first())?;
        let steps = Steps::of(&trace);
        let transactions = Transactions::of(&steps, specification);
        // Operations that end a trace belong to the last step.
        let last = of_operation.last().copied().unwrap_or_default();
        let step = |at: StepNo| of_operation.get(steps.all[at].op.index()).copied().unwrap_or(last);
        let moments = || cycle.edges.iter().flat_map(|edge| [&edge.from, &edge.to]);
        let inside = moments().find(|moment| moment.inside)?;
        let number = transactions.of_step(inside.step);
        let edges = cycle.edges.iter().map(|edge| {
            let about = edge.about.clone().unwrap_or_else(|| edge.kind.name().to_owned());
            (step(edge.to.step), (step(edge.from.step), about))
        });
        let own: BTreeSet<u64> = steps.all.ids().filter(|at| transactions.of_step(*at) == number).map(step).collect();
        // A fork and the first operation of its thread are one step of the run.
        let between = moments().filter(|moment| !moment.inside).map(|moment| step(moment.step));
        let between = between.filter(|step| !own.contains(step)).collect();
        let edges = edges.filter(|(to, (from, _))| from < to).collect();
        Some(Self { name: cycle.transaction.clone(), own, between, edges })
    }

    /// Returns the mark of a step, if it is on the cycle.
    pub(super) fn mark(&self, step: u64) -> Option<Mark> {
        let on_cycle = self.edges.contains_key(&step) || self.edges.values().any(|(from, _)| *from == step);
        match (self.between.contains(&step), on_cycle) {
            (true, _) => Some(Mark::Between),
            (false, true) => Some(Mark::Own),
            (false, false) => None,
        }
    }

    /// Describes the edge of the cycle that leads to a step: ` (cycle: val, from step 3)`. Empty if none does.
    pub(super) fn edge(&self, step: u64) -> String {
        self.edges.get(&step).map_or(String::new(), |(from, about)| format!(" (cycle: {about}, from step {from})"))
    }

    /// Whether the transaction has begun at this step, and is not over.
    #[must_use]
    pub fn is_open(&self, step: u64) -> bool {
        self.own.first().is_some_and(|first| *first <= step) && self.own.last().is_some_and(|last| step <= *last)
    }
}

// The trace of a run, the step of each of its operations, and what the analysis of it has found.
struct RecordedRun {
    trace: Trace,
    of_operation: Vec<u64>,
    found: Atomicity,
}

impl RecordedRun {
    fn of(model: &Model, token: &Token, allowed: &Limits, specification: Specification) -> Option<Self> {
        let mut seen = StepRecorder::default();
        let mut machine = model.machine(token.limits.within(allowed));
        let mut replay = Replay::new(Arc::new(token.schedule.clone()));
        let stop = AtomicBool::new(false);
        exec::run(&mut machine, &mut replay, token.seed, &mut seen, &stop).outcome()?;
        let trace = seen.recorder.finish();
        let found = analyze(&trace, specification, AtomicityOptions::default(), &stop)?;
        Some(Self { trace, of_operation: seen.steps, found })
    }
}

/// Returns the statements of a cycle, two for each edge.
fn sites(cycle: &Cycle) -> impl Iterator<Item = Option<&str>> {
    cycle.edges.iter().flat_map(|edge| [edge.from.site.as_deref(), edge.to.site.as_deref()])
}

// Records the trace of a run, with the step of each operation.
#[derive(Default)]
struct StepRecorder {
    recorder: TraceRecorder,
    steps: Vec<u64>,
}

impl Observer for StepRecorder {
    fn event(&mut self, world: &World, event: &Event) {
        self.recorder.observe(world, event);
        self.steps.resize(self.recorder.len(), world.steps());
    }
}
