//! Race coverage (EventRacer: Raychev, Vechev, Sridharan, OOPSLA 2013): a race (a, b) covers a race (c, d) if c is before a, and b before d. If a and b are ordered by
//! something that no detector knows (a flag that one thread polls), c and d are ordered by it as well. So what no other race covers is to be looked at first.
//!
//! A second pass over the trace asks for each end of a race which other ends are before it. Only the example that a race is told with is looked at.

use super::order::{Edges, Order};
use super::race::Race;
use super::state::Point;
use crate::trace::{OpNo, Trace};
use std::sync::atomic::{AtomicBool, Ordering};

/// The most ends of races that are looked at: each is asked about all others.
pub(super) const MOST_ENDS: usize = 1 << 14;

/// Finds for each race one that covers it, itself uncovered if there is such a one. False if there are too many, or if it was interrupted.
pub(super) fn cover(trace: &Trace, races: &mut [Race], stop: &AtomicBool) -> bool {
    let mut ends: Vec<OpNo> = races.iter().flat_map(|race| [race.first, race.second]).collect();
    ends.sort_unstable();
    ends.dedup();
    if ends.len() > MOST_ENDS {
        return false;
    }
    let Some(before) = Before::new(trace, &ends, stop) else { return false };
    let place = |op: OpNo| ends.binary_search(&op).unwrap_or(0);
    let pairs: Vec<(usize, usize)> = races.iter().map(|race| (place(race.first), place(race.second))).collect();
    let covers = |q: usize, r: usize| {
        let ((a, b), (c, d)) = (pairs[q], pairs[r]);
        pairs[q] != pairs[r] && before.has(c, a) && before.has(b, d)
    };
    let covered: Vec<bool> = (0..races.len()).map(|r| (0..races.len()).any(|q| covers(q, r))).collect();
    for r in 0..races.len() {
        let by = |open: bool| (0..races.len()).find(|q| covered[*q] != open && covers(*q, r));
        races[r].covered_by = if covered[r] { by(true).or_else(|| by(false)) } else { None };
    }
    true
}

// Which ends are before or the same as which.
struct Before {
    words: usize,
    // Row j has bit i if end i is before end j.
    bits: Vec<u64>,
}

impl Before {
    fn new(trace: &Trace, ends: &[OpNo], stop: &AtomicBool) -> Option<Self> {
        let words = ends.len().div_ceil(64);
        let mut before = Self { words, bits: vec![0; words * ends.len()] };
        let mut order = Order::new(trace, Edges::Full);
        let mut points: Vec<Option<Point>> = Vec::with_capacity(ends.len());
        for op in trace.ops.ids() {
            let point = order.step(op);
            if op.0 % 4096 == 0 && stop.load(Ordering::Relaxed) {
                return None;
            }
            if ends.get(points.len()) != Some(&op) {
                continue;
            }
            let j = points.len();
            if let Some(now) = order.context(trace.ops[op].thread) {
                for (i, _) in points.iter().enumerate().filter(|(_, p)| p.is_some_and(|p| order.is_before(p, now))) {
                    before.set(i, j);
                }
            }
            before.set(j, j);
            points.push(point);
        }
        Some(before)
    }

    fn set(&mut self, i: usize, j: usize) {
        self.bits[j * self.words + i / 64] |= 1 << (i % 64);
    }

    fn has(&self, i: usize, j: usize) -> bool {
        self.bits[j * self.words + i / 64] >> (i % 64) & 1 == 1
    }
}
