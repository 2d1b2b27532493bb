//! Copies and compares states, if the guest of the program is a snapshot. A state of another guest is reached again by
//! running to it, and is named by the choices that lead to it.

use super::trial::StepPrefix;
use crate::campaign::CampaignPlan;
use crate::exec::run;
use crate::sched::{ChoiceLog, RawChoices, Rerun};
use crate::world::{Machine, Program, Search, Snapshot};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Returns a copy of a state; `None` if states of the program cannot be copied.
pub(in crate::campaign) fn copy<P: Program>(program: &P, machine: &Machine<P::Guest>) -> Option<Machine<P::Guest>> {
    program.search(Copied(machine))
}

// Copy of a state.
struct Copied<'m, G>(&'m Machine<G>);

impl<P: Program> Search<P> for Copied<'_, P::Guest> {
    type Answer = Machine<P::Guest>;

    fn perform(self, _: &P) -> Machine<P::Guest>
    where
        P::Guest: Snapshot,
    {
        self.0.clone()
    }
}

// Digest of the canonical state.
struct Digested<'m, G>(&'m Machine<G>);

impl<P: Program> Search<P> for Digested<'_, P::Guest> {
    type Answer = u128;

    fn perform(self, _: &P) -> u128
    where
        P::Guest: Snapshot,
    {
        self.0.canonical().digest()
    }
}

/// Returns a key of the state after `steps` steps of a run, which `machine` is in. Equal keys mean equal states. If the
/// guest is a snapshot, equal states also have equal keys; otherwise only states that the same choices lead to.
pub(in crate::campaign) fn state_key<P: Program>(
    plan: &CampaignPlan<P>,
    machine: &Machine<P::Guest>,
    choices: &Arc<RawChoices>,
    steps: u64,
) -> u128 {
    plan.program.search(Digested(machine)).unwrap_or_else(|| {
        let mut log = ChoiceLog::new();
        let mut beginning = StepPrefix::new(Rerun::new(choices.clone()), steps);
        run(&mut plan.program.machine(plan.limits), &mut beginning, 0, &mut log, &AtomicBool::new(false));
        log.choices().digest(steps)
    })
}
