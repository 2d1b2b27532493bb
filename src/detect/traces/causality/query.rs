//! The order among some operations of a trace.

use super::order::{CausalOrder, CausalityRules, Notes};
use crate::detect::happens_before::OrderQuery;
use crate::trace::{Action, OpNo, Trace};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the order among these operations, which must be in the order of the trace. `None` if `stop` was set.
pub(in crate::detect) fn order_of(
    trace: &Trace,
    rules: CausalityRules,
    ops: &[OpNo],
    stop: &AtomicBool,
) -> Option<OrderQuery> {
    let mut order = CausalOrder::new(trace, rules, Arc::new(settle(trace, rules, stop)?));
    OrderQuery::collect(trace, ops, stop, |op, earlier, before| {
        let thread = trace.ops[op].thread;
        let known = |order: &CausalOrder<'_>, before: &mut Vec<bool>| {
            if let Some(now) = order.context(thread) {
                before.extend(earlier.iter().map(|point| point.is_some_and(|point| now.clock.has(point))));
            }
        };
        // An operation that closes its context has no edge into it but that of program order. A thread that ends in
        // its loop leaves the loop first.
        let action = trace.ops[op].action;
        let closes = matches!(action, Action::End(_) | Action::Loop | Action::ThreadExit);
        if closes && order.context(thread).is_none() {
            order.enter(op);
        }
        if closes {
            known(&order, before);
        }
        let point = order.step(op);
        if !closes {
            known(&order, before);
        }
        point
    })
}

/// Performs passes until one finds nothing new. Returns what they have found; `None` if `stop` was set.
fn settle(trace: &Trace, rules: CausalityRules, stop: &AtomicBool) -> Option<Notes> {
    let mut notes = Notes::default();
    loop {
        let mut order = CausalOrder::new(trace, rules, Arc::new(notes));
        for op in trace.ops.ids() {
            if op.0 % 4096 == 0 && stop.load(Ordering::Relaxed) {
                return None;
            }
            order.step(op);
        }
        let repeat = order.is_to_repeat();
        notes = order.into_notes();
        if !repeat {
            return Some(notes);
        }
    }
}
