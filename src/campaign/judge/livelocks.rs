//! Finds possible livelocks of a program whose runs reach the step limit. A run that is cut off says nothing about its
//! continuation, which may never end.

use crate::campaign::report::{LivelockCycle, Phase1, RunEvidence};
use crate::campaign::run::SEARCHED;
use crate::campaign::runs::trial::remake;
use crate::campaign::{CampaignContext, CampaignPlan, Explore};
use crate::event::LimitKind;
use crate::explore::{self, Bounds, livelocks};
use crate::world::{Limits, Program, Search, Snapshot};
use std::sync::atomic::AtomicBool;

// Memory of a search beside other work, in bytes.
const MEMORY: u64 = 1 << 30;

/// Returns the possible livelocks. `None` if they are not looked for (no run reached the step limit, and the plan does
/// not ask for them), if searches are off, if the states of the program cannot be searched, or if there are too many.
pub(in crate::campaign) fn endless<P: Program>(
    plan: &CampaignPlan<P>,
    phase1: &Phase1,
    context: CampaignContext<'_>,
) -> Option<Vec<LivelockCycle>> {
    let is_cut = phase1.coverage.limits.keys().any(|(kind, _)| *kind == LimitKind::Steps);
    if plan.search.explore == Explore::Off || !(is_cut || plan.search.livelocks) {
        return None;
    }
    plan.program.search(Livelocks { plan, stop: context.stop }).flatten()
}

// Search for possible livelocks.
struct Livelocks<'p, P> {
    plan: &'p CampaignPlan<P>,
    stop: &'p AtomicBool,
}

impl<P: Program> Search<P> for Livelocks<'_, P> {
    type Answer = Option<Vec<LivelockCycle>>;

    fn perform(self, program: &P) -> Option<Vec<LivelockCycle>>
    where
        P::Guest: Snapshot,
    {
        let Self { plan, stop } = self;
        let bounds = Bounds { states: plan.search.states, memory: MEMORY, ..Bounds::default() };
        let search =
            explore::SearchPlan { limits: plan.limits, jobs: plan.jobs, bounds, ..explore::SearchPlan::new(program) };
        let (found, cut) = livelocks(&search, explore::SearchContext { stop, progress: &explore::NoSearchProgress });
        if cut.is_some() {
            return None;
        }
        let report = |livelock: &explore::Livelock| {
            let limits = Limits { steps: livelock.way.steps, ..plan.limits };
            let remade = remake(program, &limits, &livelock.way);
            let name = |thread| remade.machine.world.thread_name(thread);
            LivelockCycle {
                threads: livelock.threads.iter().map(|thread| name(*thread)).collect(),
                states: livelock.states,
                evidence: RunEvidence { strategy: SEARCHED.to_owned(), seed: 0, token: remade.token.to_string() },
            }
        };
        Some(found.iter().map(report).collect())
    }
}
