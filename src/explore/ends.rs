//! Ends of runs in terms that do not depend on the way to a state: without names, which do.

use super::SearchPlan;
use crate::event::{Outcome, SiteId};
use crate::exec::RunResult;
use crate::world::{Canonicalizer, Guest, Machine, Program, World, signature};
use xxhash_rust::xxh3::xxh3_64;

/// The end of a run. Two ends are the same if all fields agree.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SearchEnd {
    /// Kind of the end, the failure with its site, and the values of the observed variables.
    pub ended: RunResult,
    /// Sites at which the blocked threads of a deadlock are pending, sorted; empty for other ends.
    pub blocked: Vec<Option<SiteId>>,
    /// Mark of the monitor in this state.
    pub mark: u64,
    /// Signature of the failure, if the plan asks for signatures; else empty. Forked threads have the numbers of one
    /// of the ways to the state.
    pub signature: String,
}

impl SearchEnd {
    pub(super) fn new<P: Program>(plan: &SearchPlan<'_, P>, outcome: &Outcome, world: &World, mark: u64) -> Self {
        let mut blocked: Vec<Option<SiteId>> = match outcome {
            Outcome::Deadlock(report) => report.blocked.iter().map(|b| b.site).collect(),
            _ => Vec::new(),
        };
        blocked.sort_unstable();
        let signature = if plan.signatures { signature(world.setup(), outcome) } else { String::new() };
        Self { ended: RunResult::new(plan.program, &plan.observe, outcome, world), blocked, mark, signature }
    }
}

/// Adds the outcome to a digest. The threads of an ended run are at no site any more, so that the state alone does
/// not distinguish its outcomes.
pub(super) fn distinguish(outcome: &Outcome, room: &mut Canonicalizer) {
    match outcome {
        Outcome::Failure(f) => {
            room.distinguish(1 + f.kind as u64);
            room.distinguish(f.site.map_or(0, |s| 1 + u64::from(s.0)));
            room.distinguish(xxh3_64(f.name.as_bytes()));
            room.distinguish(xxh3_64(f.message.as_bytes()));
        }
        Outcome::Limit(kind, _) => room.distinguish(16 + *kind as u64),
        Outcome::Ok | Outcome::Stuck { .. } | Outcome::Deadlock(_) => room.distinguish(0),
    }
}

/// Whether a run in this state has ended.
pub(super) enum EndCondition {
    /// Every run that reaches this state ends with this outcome.
    Ended(Outcome),
    /// A run may end here with this outcome, or continue.
    Rests(Outcome),
    /// A run continues.
    Open,
}

/// Checks whether a run in this state has ended, as the loop of a run does.
pub(super) fn end_condition<G: Guest>(machine: &mut Machine<G>) -> EndCondition {
    if let Some(outcome) = machine.world.outcome() {
        return EndCondition::Ended(outcome.clone());
    }
    let openings = machine.world.openings();
    if openings.total() == 0 {
        return EndCondition::Ended(Outcome::Deadlock(machine.world.deadlock()));
    }
    if !openings.stop() {
        return EndCondition::Open;
    }
    machine.check_rest();
    if let Some(outcome) = machine.world.outcome() {
        return EndCondition::Ended(outcome.clone());
    }
    let outcome = machine.world.rest_outcome();
    if openings.total() == 1 { EndCondition::Ended(outcome) } else { EndCondition::Rests(outcome) }
}
