//! The filters of use-free races (CAFA, section 4.3): why a free cannot make a use fail if both are in tasks of one
//! looper, which run one after another.

use crate::base::IndexVec;
use crate::detect::UseFreeFilter;
use crate::detect::happens_before::Filter;
use crate::trace::{Action, LocationNo, OpNo, ThreadNo, Trace};
use std::collections::BTreeMap;

/// The filters of the uses and frees of a trace.
pub(super) struct Filters {
    // invariant: ascending by operation
    of: Vec<(OpNo, Filter)>,
}

// What the running task of a thread has done to a location.
#[derive(Default)]
struct Allocations {
    last: Option<OpNo>,
    // Frees behind which nothing was allocated yet.
    frees: Vec<OpNo>,
}

impl Filters {
    /// Finds the filter of each use (a guard, or an allocation before it in its task) and of each free (an allocation
    /// behind it in its task). An allocation is a write of the location that is no free.
    pub(super) fn new(trace: &Trace) -> Self {
        let mut tasks: IndexVec<ThreadNo, BTreeMap<LocationNo, Allocations>> =
            trace.threads.iter().map(|_| BTreeMap::new()).collect();
        let mut marks = trace.marks.iter().peekable();
        let mut of = Vec::new();
        for (op, operation) in trace.ops.enumerate() {
            let mark = marks.next_if(|(marked, _)| *marked == op).map(|(_, mark)| mark).unwrap_or_default();
            let task = &mut tasks[operation.thread];
            let because = |kind, by| Filter { kind, by };
            match operation.action {
                // Also a thread's own code, whose filters nothing asks for, is apart from its tasks.
                Action::Begin(_) | Action::End(_) => task.clear(),
                Action::Read(at) if mark.uses => {
                    let guard = mark.guard.map(|by| because(UseFreeFilter::Guarded, by));
                    let allocated = || task.get(&at)?.last.map(|by| because(UseFreeFilter::AllocatedBefore, by));
                    of.extend(guard.or_else(allocated).map(|filter| (op, filter)));
                }
                Action::Write(at) if mark.frees => task.entry(at).or_default().frees.push(op),
                Action::Write(at) => {
                    let known = task.entry(at).or_default();
                    known.last = Some(op);
                    let frees = known.frees.drain(..);
                    of.extend(frees.map(|free| (free, because(UseFreeFilter::AllocatedAfter, op))));
                }
                _ => {}
            }
        }
        of.sort_by_key(|(op, _)| *op);
        Self { of }
    }

    /// Returns the filter of a use or free.
    pub(super) fn of(&self, op: OpNo) -> Option<Filter> {
        self.of.binary_search_by_key(&op, |(op, _)| *op).ok().map(|at| self.of[at].1)
    }
}
