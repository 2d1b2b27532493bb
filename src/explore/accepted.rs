//! Searches for a state that a monitor accepts, from the start of the program or from another state.

use super::monitor::Monitor;
use super::path::way;
use super::searched::SearchStorage;
use super::{OrderResult, SearchContext, SearchPlan, search};
use crate::event::{SemaphoreId, ThreadId};
use crate::world::{Guest, Machine, Program, Snapshot};

/// A task, or a thread that runs none, that leaves a run as if it had ended.
#[derive(Clone, Debug)]
pub struct AbandonedTask {
    /// The thread that performs the task.
    pub thread: ThreadId,
    /// Units of semaphores that are given back.
    pub units: Vec<(SemaphoreId, u64)>,
}

impl AbandonedTask {
    /// Lets the task leave a state, before its pending operation.
    pub(super) fn leave<G: Guest>(&self, machine: &mut Machine<G>) {
        self.units.iter().for_each(|(semaphore, units)| machine.world.give_back(*semaphore, *units));
        machine.abandon(self.thread);
    }
}

/// Searches for a run that a monitor accepts. Returns whether there is one, and the number of visited states of the
/// product.
#[must_use]
pub fn search_for<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    monitor: &M,
    context: SearchContext<'_>,
) -> (OrderResult, u64) {
    let plan = plan.in_full();
    let (scale, searched) = search(&plan, monitor, SearchStorage::States, context);
    let order = match (searched.finds.accepted, searched.cut) {
        (Some(first), _) => OrderResult::Happens(way(&plan, scale, &searched, first)),
        (None, Some(cut)) => OrderResult::Unknown(cut),
        (None, None) => OrderResult::Never,
    };
    (order, searched.table.len())
}

/// Returns whether a monitor accepts some state, and the number of visited states of the product; `None` if a bound cut
/// the search before.
#[must_use]
pub fn is_accepted<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    monitor: &M,
    context: SearchContext<'_>,
) -> (Option<bool>, u64) {
    let plan = plan.in_full();
    let (_, searched) = search(&plan, monitor, SearchStorage::States, context);
    let accepted = searched.finds.accepted.is_some();
    ((accepted || searched.cut.is_none()).then_some(accepted), searched.table.len())
}
