//! Refutes pairs of two statements in loops without end, whose executions are too many for names: two threads that take
//! turns perform them in one order.
//!
//! A monitor counts how many executions of the first statement more than of the second one there were. If that number
//! is the same before each execution of the first statement, in every run, then the i-th execution of the first one
//! comes after the same executions of the second one in every run. So no two executions come in both orders. The number
//! stays small, and the product with it has few states, however long the loops are.

use crate::event::{ContextId, Event, EventKind, SiteId};
use crate::explore::{Monitor, SearchContext, SearchPlan, is_accepted};
use crate::world::{Canonicalizer, Program, Snapshot, World};

// Differences that are tried: the first statement begins a round, or the second one does.
const DIFFERENCES: [i8; 2] = [0, -1];

/// Returns whether the two statements take turns in every run, each in one thread, so that no two of their executions
/// come in both orders. `false` also if the search is cut.
pub(super) fn take_turns<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    (first, then): (SiteId, SiteId),
    context: SearchContext<'_>,
) -> bool {
    DIFFERENCES.into_iter().any(|before| {
        let rounds = Rounds { sites: [first, then], before, more: 0, by: [None; 2], broken: false };
        is_accepted(plan, &rounds, context).0 == Some(false)
    })
}

// Monitor that accepts a run in which the statements do not take turns.
#[derive(Clone)]
struct Rounds {
    sites: [SiteId; 2],
    // Number of executions of the first statement more than of the second one, before each execution of the first one.
    before: i8,
    more: i8,
    // Thread that performs each statement.
    by: [Option<ContextId>; 2],
    broken: bool,
}

impl Monitor for Rounds {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let EventKind::Performed { op, .. } = &event.what else { return };
        let Some(which) = self.sites.iter().position(|s| *s == site).filter(|_| !op.is_second_half()) else { return };
        let by = *self.by[which].get_or_insert(context);
        // A task or a forked thread has a name for each of its kind.
        self.broken |= by != context || world.contexts().chain(context).len() > 1;
        match which {
            0 => {
                self.broken |= self.more != self.before;
                self.more += 1;
            }
            _ => self.more -= 1,
        }
        self.broken |= !(-2..=2).contains(&self.more);
    }

    fn write(&self, _: &World, state: &mut Canonicalizer) {
        state.distinguish(u64::from(self.broken));
        state.distinguish((i64::from(self.more) + 8) as u64);
        let number = |by: Option<ContextId>| by.map_or(0, |context| 1 + u64::from(context.0));
        self.by.into_iter().for_each(|by| state.distinguish(number(by)));
    }

    fn accepts(&self) -> bool {
        self.broken
    }
}
