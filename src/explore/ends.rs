//! How runs end, in terms that are the same for every way to a state: no names, which depend on the way.

use super::Plan;
use crate::event::{Outcome, SiteId};
use crate::exec::Ended;
use crate::vm::Vm;
use crate::world::{Canonicalizer, Machine, World, signature};
use xxhash_rust::xxh3::xxh3_64;

/// What makes two ends the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct End {
    /// The kind, the failure with its site, the values of the variables that are observed.
    pub ended: Ended,
    /// Of a deadlock, where the blocked threads stand, sorted.
    pub blocked: Vec<Option<SiteId>>,
    /// What the monitor says of it.
    pub mark: u64,
    /// What a campaign tells failures apart by, if the plan asks for it; else empty. Forked threads have the numbers that they have on one of the ways to the state.
    pub signature: String,
}

impl End {
    pub(super) fn new(plan: &Plan<'_>, outcome: &Outcome, world: &World, mark: u64) -> Self {
        let mut blocked: Vec<Option<SiteId>> = match outcome {
            Outcome::Deadlock(report) => report.blocked.iter().map(|b| b.site).collect(),
            _ => Vec::new(),
        };
        blocked.sort_unstable();
        let signature = if plan.signatures { signature(world.setup(), outcome) } else { String::new() };
        Self { ended: Ended::new(&plan.model.program, &plan.observe, outcome, world), blocked, mark, signature }
    }
}

/// A run that has ended is at no site any more: what it came to is told apart by itself.
pub(super) fn tell_apart(outcome: &Outcome, room: &mut Canonicalizer) {
    match outcome {
        Outcome::Failure(f) => {
            room.tell_apart(1 + f.kind as u64);
            room.tell_apart(f.site.map_or(0, |s| 1 + u64::from(s.0)));
            room.tell_apart(xxh3_64(f.name.as_bytes()));
            room.tell_apart(xxh3_64(f.message.as_bytes()));
        }
        Outcome::Limit(kind, _) => room.tell_apart(16 + *kind as u64),
        Outcome::Ok | Outcome::Stuck { .. } | Outcome::Deadlock(_) => room.tell_apart(0),
    }
}

/// Where a state stands in the life of a run.
pub(super) enum Standing {
    /// Every run that comes here ends so.
    Ended(Outcome),
    /// A run may end here so, or go on.
    Rests(Outcome),
    /// It goes on.
    Open,
}

/// Looks at a state as the loop of a run does.
pub(super) fn standing(machine: &mut Machine<Vm>) -> Standing {
    if let Some(outcome) = machine.world.outcome() {
        return Standing::Ended(outcome.clone());
    }
    let openings = machine.world.openings();
    if openings.total() == 0 {
        return Standing::Ended(Outcome::Deadlock(machine.world.deadlock()));
    }
    if !openings.stop() {
        return Standing::Open;
    }
    machine.check_rest();
    if let Some(outcome) = machine.world.outcome() {
        return Standing::Ended(outcome.clone());
    }
    let outcome = machine.world.rest_outcome();
    if openings.total() == 1 { Standing::Ended(outcome) } else { Standing::Rests(outcome) }
}
