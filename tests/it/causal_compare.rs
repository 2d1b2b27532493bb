//! Compares CAFA's order of a random trace with its rules, for every pair of operations.

use crate::causal_rules::Rules;
use crate::causal_traces;
use raceflip::detect::causality::{CausalityRules, External};
use raceflip::detect::happens_before::OrderQuery;
use raceflip::trace::{OpNo, Trace};
use std::sync::atomic::AtomicBool;

/// Returns the order of all operations.
pub(crate) fn query(trace: &Trace, rules: CausalityRules) -> OrderQuery {
    let ops: Vec<OpNo> = trace.ops.ids().collect();
    OrderQuery::causal(trace, rules, &ops, &AtomicBool::new(false)).expect("it is not stopped")
}

/// Compares all pairs of a trace under all rules. Returns the number of pairs and of ordered pairs, or a difference.
pub(crate) fn compare(seed: u64, most: u32) -> Result<(u64, u64), String> {
    let trace = causal_traces::trace(seed, most);
    let mut total = (0, 0);
    for printed in [false, true] {
        for external in [External::Free, External::Ordered] {
            let rules = CausalityRules { printed, external };
            let (expected, found) = (Rules::new(&trace, rules), query(&trace, rules));
            for j in (0..trace.ops.len()).filter(|j| !expected.is_environment(*j)) {
                for i in (0..j).filter(|i| !expected.is_environment(*i)) {
                    let before = found.is_ordered(OpNo(i as u32), OpNo(j as u32));
                    if before != expected.is_before(i, j) {
                        let listing: Vec<String> = trace
                            .ops
                            .enumerate()
                            .map(|(op, what)| {
                                let about = match what.action {
                                    raceflip::trace::Action::Post(task) => format!("{:?}", trace.tasks[task]),
                                    _ => String::new(),
                                };
                                format!("{} {:?} {:?} {about}", op.0, what.thread, what.action)
                            })
                            .collect();
                        return Err(format!(
                            "seed {seed}: {rules:?}: {i} before {j}: {before}\n{}",
                            listing.join("\n")
                        ));
                    }
                    total = (total.0 + 1, total.1 + u64::from(before));
                }
            }
        }
    }
    Ok(total)
}
