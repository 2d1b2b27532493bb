//! Finds possible livelocks of a program whose runs reach the step limit. A run that is cut off says nothing about its
//! continuation, which may never end.

use crate::campaign::report::{Endless, Evidence, Phase1};
use crate::campaign::run::SEARCHED;
use crate::campaign::runs::trial::remake;
use crate::campaign::{Context, Explore, Plan};
use crate::event::LimitKind;
use crate::explore::{self, Bounds, livelocks};
use crate::world::{Limits, Program, Search, Snapshot};
use std::sync::atomic::AtomicBool;

// Memory of a search beside other work, in bytes.
const MEMORY: u64 = 1 << 30;

/// Returns the possible livelocks. `None` if they are not looked for (no run reached the step limit, and the plan does
/// not ask for them), if searches are off, if the states of the program cannot be searched, or if there are too many.
pub(in crate::campaign) fn endless<P: Program>(
    plan: &Plan<P>,
    phase1: &Phase1,
    context: Context<'_>,
) -> Option<Vec<Endless>> {
    let is_cut = phase1.coverage.limits.keys().any(|(kind, _)| *kind == LimitKind::Steps);
    if plan.explore == Explore::Off || !(is_cut || plan.livelocks) {
        return None;
    }
    plan.program.search(Livelocks { plan, stop: context.stop }).flatten()
}

// Search for possible livelocks.
struct Livelocks<'p, P> {
    plan: &'p Plan<P>,
    stop: &'p AtomicBool,
}

impl<P: Program> Search<P> for Livelocks<'_, P> {
    type Answer = Option<Vec<Endless>>;

    fn perform(self, program: &P) -> Option<Vec<Endless>>
    where
        P::Guest: Snapshot,
    {
        let Self { plan, stop } = self;
        let bounds = Bounds { states: plan.states, memory: MEMORY, ..Bounds::default() };
        let search = explore::Plan { limits: plan.limits, jobs: plan.jobs, bounds, ..explore::Plan::new(program) };
        let (found, cut) = livelocks(&search, explore::Context { stop, progress: &explore::Silent });
        if cut.is_some() {
            return None;
        }
        let report = |livelock: &explore::Livelock| {
            let limits = Limits { steps: livelock.way.steps, ..plan.limits };
            let remade = remake(program, &limits, &livelock.way);
            let name = |thread| remade.machine.world.thread_name(thread);
            Endless {
                threads: livelock.threads.iter().map(|thread| name(*thread)).collect(),
                states: livelock.states,
                evidence: Evidence { strategy: SEARCHED.to_owned(), seed: 0, token: remade.token.to_string() },
            }
        };
        Some(found.iter().map(report).collect())
    }
}
