//! What workers find. Merging the findings gives the same result in any order.

use super::ends::SearchEnd;
use super::table::StateId;
use super::transitions::Transitions;
use crate::detect::Pair;
use std::collections::{BTreeMap, BTreeSet};

/// The place at which something was found first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Sight {
    /// Fewest steps to it.
    pub(super) depth: u32,
    /// Least way among those with the fewest steps.
    pub(super) rank: u64,
    /// State in which it was found.
    pub(super) at: StateId,
}

/// Findings of workers. Merging them gives the same result in any order.
#[derive(Clone, Default)]
pub(super) struct Finds {
    pub(super) transitions: u64,
    /// Number of states in which only a stubborn set was followed.
    pub(super) reduced: u64,
    pub(super) ends: BTreeMap<SearchEnd, Sight>,
    pub(super) adjacent: BTreeMap<Pair, Sight>,
    /// The first state that the monitor accepts.
    pub(super) accepted: Option<Sight>,
    /// Marks of the monitor in all states, if it watches.
    pub(super) marks: BTreeSet<u64>,
    /// Transitions of the state graph, if it is kept.
    pub(super) graph: Transitions,
    /// Number of states at the bound of depth whose successors were not visited.
    pub(super) cut_by_depth: u64,
    /// Whether a symmetric search has found a state that cannot be renamed.
    pub(super) unfit: bool,
    /// Number of choices that the monitor refused.
    pub(super) refused: u64,
    /// Whether some transition led to a state of the same level or of an earlier one. Without such a transition the
    /// graph of states has no cycle.
    pub(super) goes_back: bool,
    /// Largest number of deadlines that were ahead at once.
    pub(super) deadlines: usize,
    /// Greatest common divisor of all durations that were used. If it is less than that of the scale, the scale does
    /// not fit.
    pub(super) fits: u64,
}

impl Finds {
    pub(super) fn merge(&mut self, other: &mut Finds) {
        self.transitions += std::mem::take(&mut other.transitions);
        self.reduced += std::mem::take(&mut other.reduced);
        self.cut_by_depth += std::mem::take(&mut other.cut_by_depth);
        self.refused += std::mem::take(&mut other.refused);
        self.goes_back |= other.goes_back;
        self.unfit |= other.unfit;
        self.deadlines = self.deadlines.max(other.deadlines);
        self.fits = crate::world::divisor(self.fits, other.fits);
        self.accepted = self.accepted.into_iter().chain(other.accepted.take()).min();
        self.marks.append(&mut other.marks);
        self.graph.append(&mut other.graph);
        merge(&mut self.ends, &mut other.ends);
        merge(&mut self.adjacent, &mut other.adjacent);
    }
}

fn merge<K: Ord>(into: &mut BTreeMap<K, Sight>, from: &mut BTreeMap<K, Sight>) {
    for (key, first) in std::mem::take(from) {
        note(into, key, first);
    }
}

pub(super) fn note<K: Ord>(into: &mut BTreeMap<K, Sight>, key: K, first: Sight) {
    let known = into.entry(key).or_insert(first);
    *known = first.min(*known);
}
