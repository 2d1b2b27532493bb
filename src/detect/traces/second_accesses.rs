//! The accesses of a trace that race with an earlier one in FastTrack's order, as RAPID counts races
//! (<https://github.com/umangm/rapid>, `HB`): every second access counts, also behind the first race of a location, and
//! each time that it comes.

use crate::base::IndexVec;
use crate::detect::relation::clock::Point;
use crate::detect::traces::detector::stopped;
use crate::detect::traces::thread_order::{LockEdges, ThreadOrder};
use crate::trace::{LocationNo, OpNo, ThreadNo, Trace};
use smallvec::SmallVec;
use std::sync::atomic::AtomicBool;

// The last access of each thread to a location, for threads that have one. Earlier accesses of a thread are before it:
// if one of them is not ordered with a later access of another thread, the last one is not either.
type LastAccesses = SmallVec<[Point; 1]>;

#[derive(Clone, Default)]
struct Variable {
    writes: LastAccesses,
    reads: LastAccesses,
}

/// Returns the accesses that race with an earlier one, in the order of the trace. `None` if `stop` was set.
///
/// An access races with an earlier one of another thread to the same location if one of them writes and FastTrack's
/// order does not order them. FastTrack itself need not find the pair: it keeps only the last accesses of a location.
///
/// # Examples
///
/// ```
/// use raceflip::detect::{fasttrack, second_accesses};
/// use raceflip::formats::traces;
/// # use std::sync::atomic::AtomicBool;
/// # let stop = AtomicBool::new(false);
///
/// let trace = traces::read("trace.std", "T0|w(x)|1\nT1|r(x)|2\nT1|r(x)|2\n".as_bytes())?;
/// assert_eq!(second_accesses(&trace, &stop).expect("not stopped").len(), 2);
/// assert_eq!(fasttrack(&trace, &stop).expect("not stopped").len(), 1);
/// # Ok::<(), traces::ReadError>(())
/// ```
#[must_use]
pub fn second_accesses(trace: &Trace, stop: &AtomicBool) -> Option<Vec<OpNo>> {
    let mut order = ThreadOrder::new(trace, LockEdges::Ordered);
    let mut variables: IndexVec<LocationNo, Variable> = trace.places.iter().map(|_| Variable::default()).collect();
    let mut found = Vec::new();
    for (at, operation) in trace.ops.enumerate() {
        if stopped(at, stop) {
            return None;
        }
        order.step(operation);
        let thread = operation.thread;
        let Some((place, writes)) = operation.action.access().filter(|_| !trace.threads[thread].environment) else {
            continue;
        };
        let variable = &mut variables[place];
        let races = |all: &LastAccesses| all.iter().any(|last| !order.knows(thread, *last));
        if races(&variable.writes) || writes && races(&variable.reads) {
            found.push(at);
        }
        note(if writes { &mut variable.writes } else { &mut variable.reads }, &order, thread);
    }
    Some(found)
}

fn note(all: &mut LastAccesses, order: &ThreadOrder<'_>, thread: ThreadNo) {
    let now = order.at(thread);
    match all.iter_mut().find(|last| last.chain == now.chain) {
        Some(last) => *last = now,
        None => all.push(now),
    }
}
