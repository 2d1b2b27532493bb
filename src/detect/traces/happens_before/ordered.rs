//! The order among some operations of a trace, for all pairs of them.

use super::accesses::AccessQuery;
use super::order::{TraceEdges, TraceOrder};
use crate::detect::relation::clock::Point;
use crate::detect::traces::causality::{self, CausalityRules};
use crate::detect::traces::hybrid_trace;
use crate::trace::{OpNo, Trace};
use std::sync::atomic::{AtomicBool, Ordering};

/// The order of a set of operations of a trace, with one bit for each pair of them.
///
/// # Examples
///
/// ```
/// use raceflip::detect::happens_before::{TraceEdges, OrderQuery};
/// use raceflip::trace::{Action, Builder, OpNo, SiteNo};
/// # use std::sync::atomic::AtomicBool;
///
/// let mut builder = Builder::new();
/// let (main, worker) = (builder.thread("main"), builder.thread("worker"));
/// let x = builder.location("x", "x");
/// for (thread, action) in [(main, Action::Write(x)), (main, Action::Fork(worker)), (worker, Action::Write(x)), (main, Action::Read(x))] {
///     builder.push(thread, action, SiteNo::NONE, 0)?;
/// }
/// let accesses = [OpNo(0), OpNo(2), OpNo(3)];
/// let order = OrderQuery::new(&builder.finish(), TraceEdges::Full, &accesses, &AtomicBool::new(false)).expect("nobody stops it");
/// assert!(order.is_ordered(OpNo(0), OpNo(2)) && !order.is_ordered(OpNo(2), OpNo(3)));
/// # Ok::<(), raceflip::trace::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OrderQuery {
    // invariant: ascending
    ops: Vec<OpNo>,
    words: usize,
    // Row j has bit i if operation i is before operation j, or if i = j.
    bits: Vec<u64>,
}

impl OrderQuery {
    /// Computes the order among these operations, which must be in the order of the trace. `None` if `stop` was set.
    /// Operations of the environment are before and after nothing.
    #[must_use]
    pub fn new(trace: &Trace, edges: TraceEdges, ops: &[OpNo], stop: &AtomicBool) -> Option<Self> {
        let mut order = TraceOrder::new(trace, edges);
        Self::collect(trace, ops, stop, |op, earlier, before| {
            let point = order.step(op);
            if let Some(now) = order.context(trace.ops[op].thread) {
                before.extend(earlier.iter().map(|point| point.is_some_and(|point| order.is_before(point, now))));
            }
            point
        })
    }

    /// Computes the order among these operations that every run with them has: that of hybrid detection. `None` if
    /// `stop` was set. Operations of the environment are before and after nothing.
    #[must_use]
    pub fn hybrid(trace: &Trace, ops: &[OpNo], stop: &AtomicBool) -> Option<Self> {
        hybrid_trace::order_of(trace, ops, stop)
    }

    /// Computes the order among these operations in the relation of CAFA. `None` if `stop` was set. Operations of the
    /// environment are before and after nothing.
    #[must_use]
    pub fn causal(trace: &Trace, rules: CausalityRules, ops: &[OpNo], stop: &AtomicBool) -> Option<Self> {
        causality::order_of(trace, rules, ops, stop)
    }

    /// Collects the order from a relation. `step` performs an operation and returns its point. It adds for each of the
    /// earlier points whether it is before the operation, or nothing if none is.
    pub(in crate::detect) fn collect(
        trace: &Trace,
        ops: &[OpNo],
        stop: &AtomicBool,
        mut step: impl FnMut(OpNo, &[Option<Point>], &mut Vec<bool>) -> Option<Point>,
    ) -> Option<Self> {
        debug_assert!(ops.is_sorted(), "in the order of the trace");
        let words = ops.len().div_ceil(64);
        let mut ordered = Self { ops: ops.to_vec(), words, bits: vec![0; words * ops.len()] };
        let mut points: Vec<Option<Point>> = Vec::with_capacity(ops.len());
        let mut before = Vec::new();
        for op in trace.ops.ids() {
            if op.0 % 4096 == 0 && stop.load(Ordering::Relaxed) {
                return None;
            }
            let j = points.len();
            let is_wanted = ops.get(j) == Some(&op);
            before.clear();
            let point = step(op, if is_wanted { &points } else { &[] }, &mut before);
            if !is_wanted {
                continue;
            }
            for (i, _) in before.iter().enumerate().filter(|(_, is_before)| **is_before) {
                ordered.bits[j * words + i / 64] |= 1 << (i % 64);
            }
            ordered.bits[j * words + j / 64] |= 1 << (j % 64);
            points.push(point);
        }
        Some(ordered)
    }

    /// Whether the first operation is before the second one, or the same; false for operations that were not given to
    /// [`new`](Self::new).
    #[must_use]
    pub fn is_ordered(&self, first: OpNo, second: OpNo) -> bool {
        let (Ok(i), Ok(j)) = (self.ops.binary_search(&first), self.ops.binary_search(&second)) else { return false };
        self.bits[j * self.words + i / 64] >> (i % 64) & 1 == 1
    }
}
