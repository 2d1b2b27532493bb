//! Race coverage (EventRacer: Raychev, Vechev, Sridharan, OOPSLA 2013). A race (a, b) covers a race (c, d) if c is
//! before a, and b before d: if a and b are ordered by something that no detector knows (a flag that one thread
//! polls), c and d are ordered by it as well. Races that no other race covers should therefore be examined first.
//!
//! A second pass over the trace computes for each access of a race which of the other accesses are before it. Only
//! the example pair of each race is considered.

use super::order::TraceEdges;
use super::ordered::OrderQuery;
use super::race::Race;
use crate::trace::{OpNo, Trace};
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of races: each is compared with all others.
pub(super) const MOST_RACES: usize = 1 << 12;

/// Sets for each race one that covers it, preferably one that is not covered itself. Returns false if there are too
/// many races, or if `stop` was set.
pub(super) fn cover(trace: &Trace, races: &mut [Race], stop: &AtomicBool) -> bool {
    if races.len() > MOST_RACES {
        return false;
    }
    let mut ends: Vec<OpNo> = races.iter().flat_map(|race| [race.first, race.second]).collect();
    ends.sort_unstable();
    ends.dedup();
    let Some(before) = OrderQuery::new(trace, TraceEdges::Full, &ends, stop) else { return false };
    let pairs: Vec<(OpNo, OpNo)> = races.iter().map(|race| (race.first, race.second)).collect();
    let covers = |q: usize, r: usize| {
        let ((a, b), (c, d)) = (pairs[q], pairs[r]);
        pairs[q] != pairs[r] && before.is_ordered(c, a) && before.is_ordered(b, d)
    };
    let all = 0..races.len();
    let covered: Vec<bool> = all.clone().map(|r| all.clone().any(|q| covers(q, r))).collect();
    for r in all.clone().filter(|r| covered[*r]) {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let uncovered = all.clone().find(|q| !covered[*q] && covers(*q, r));
        races[r].covered_by = uncovered.or_else(|| all.clone().find(|q| covers(*q, r)));
    }
    true
}
