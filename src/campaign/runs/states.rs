//! Searches all states of a program, for pairs that no run has shown and for proofs.

use super::trial::fails;
use crate::campaign::run::{RunSource, SEARCHED};
use crate::campaign::{CampaignContext, CampaignPlan};
use crate::detect::Pair;
use crate::explore::{self, Bounds, NoMonitor, NoSearchProgress, RunChoices, SearchReport};
use crate::world::{Program, Search, Snapshot};
use std::cell::Cell;
use std::sync::Arc;

// Maximum number of states of the product with an order, as a multiple of the plan's; memory of a search beside other
// work, in bytes.
pub(in crate::campaign) const PRODUCT: u64 = 10;
const MEMORY: u64 = 1 << 30;

/// All states of a program, with the pairs that are side by side in some state.
pub(in crate::campaign) struct States {
    pub(in crate::campaign) found: SearchReport,
    // Number of states that may still be visited for order pairs. All of them share this budget.
    pub(in crate::campaign) left: Cell<u64>,
}

/// Searches all states, up to `most`. Returns the minimum number of states as an error if there are more, and `None` if
/// the states of the program cannot be searched.
pub(in crate::campaign) fn states<P: Program>(
    plan: &CampaignPlan<P>,
    most: u64,
    context: CampaignContext<'_>,
) -> Option<Result<States, u64>> {
    plan.program.search(AllStates { plan, most, context })
}

// Search of all states.
struct AllStates<'c, P> {
    plan: &'c CampaignPlan<P>,
    most: u64,
    context: CampaignContext<'c>,
}

impl<P: Program> Search<P> for AllStates<'_, P> {
    type Answer = Result<States, u64>;

    fn perform(self, _: &P) -> Result<States, u64>
    where
        P::Guest: Snapshot,
    {
        let Self { plan, most, context } = self;
        context.progress.phase("searching all states", 0);
        let searched = explore::SearchPlan { pairs: true, ..search(plan, most) };
        let found = explore::exhaust(
            &searched,
            &NoMonitor,
            explore::SearchContext { stop: context.stop, progress: &NoSearchProgress },
        )?;
        Ok(States { found, left: Cell::new(plan.search.states.saturating_mul(PRODUCT)) })
    }
}

/// Returns the plan of a search with at most this number of states.
pub(in crate::campaign) fn search<P: Program>(plan: &CampaignPlan<P>, states: u64) -> explore::SearchPlan<'_, P> {
    let bounds = Bounds { states, memory: MEMORY, ..Bounds::default() };
    explore::SearchPlan { limits: plan.limits, jobs: plan.jobs, bounds, ..explore::SearchPlan::new(&plan.program) }
}

impl States {
    /// Returns the number of states.
    pub(in crate::campaign) fn len(&self) -> u64 {
        self.found.states
    }

    /// Returns a run for each way to fail.
    pub(in crate::campaign) fn failing(&self) -> impl Iterator<Item = RunSource> {
        self.found.ends.values().filter(|way| fails(&way.outcome)).map(run_of)
    }

    /// Returns the pairs that are side by side in some state.
    pub(in crate::campaign) fn adjacent(&self) -> impl Iterator<Item = Pair> {
        self.found.adjacent.keys().copied()
    }
}

/// Returns a run that a search has found.
pub(in crate::campaign) fn run_of(way: &RunChoices) -> RunSource {
    RunSource::Made { choices: Arc::new(way.choices.clone()), by: SEARCHED }
}
