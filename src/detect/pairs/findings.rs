//! The pairs that one run has shown.

use super::candidate::{Candidate, ConflictPlace, FirstOccurrence, Pair, Rank};
use super::executions::{ExecutionQuery, MOST_PAIRS};
use super::watch::{Act, ExecutionTime, OperationKey, RunState};
use crate::detect::DetectorId;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Pairs with their evidence.
pub(in crate::detect) struct PairFindings {
    /// Number of pairs that each place may add.
    pub(in crate::detect) most: u32,
    // Candidates in the order in which they were found.
    all: Vec<Candidate>,
    ids: BTreeMap<Pair, u32>,
    left_out: BTreeSet<String>,
}

impl Default for PairFindings {
    fn default() -> Self {
        Self { most: MOST_PAIRS, all: Vec::new(), ids: BTreeMap::new(), left_out: BTreeSet::new() }
    }
}

impl PairFindings {
    /// Returns the candidate of an execution and an earlier one that it is not ordered with. A new candidate has
    /// their rank; the rank of a known one is not changed. `None` if the candidate would be new and the place has
    /// `most` pairs already.
    pub(in crate::detect) fn compare(
        &mut self,
        ExecutionQuery { world, watch, act, is_access, .. }: ExecutionQuery<'_>,
        old: &OperationKey,
        was: &ExecutionTime,
        (pairs, most): (&mut u32, u32),
        place: impl Fn() -> (ConflictPlace, String),
    ) -> Option<&mut Candidate> {
        let pair = Pair::new(old.site, act.by.site);
        let id = match self.ids.get(&pair) {
            Some(id) => *id,
            None if *pairs >= most => return None,
            None => {
                *pairs += 1;
                let rank = if is_access { watch.rank(was, act.when.context) } else { Rank::Order };
                self.add(pair, rank, act.evidence(watch, world, place(), (old, was)))
            }
        };
        let candidate = &mut self.all[id as usize];
        candidate.kinds.insert(old.kind(&act.by));
        candidate.by.insert(DetectorId::HYBRID);
        Some(candidate)
    }

    /// Counts a pair of executions that a detector has found, and returns its candidate; `old` is the earlier one.
    pub(in crate::detect) fn count(
        &mut self,
        act: &Act,
        (watch, rank, by): (&RunState, Rank, DetectorId),
        (old, was): (&OperationKey, &ExecutionTime),
        world: &World,
        place: impl FnOnce() -> (ConflictPlace, String),
    ) -> &mut Candidate {
        let pair = Pair::new(old.site, act.by.site);
        let id = match self.ids.get(&pair) {
            Some(id) => *id,
            None => self.add(pair, rank, act.evidence(watch, world, place(), (old, was))),
        };
        let candidate = &mut self.all[id as usize];
        candidate.rank = candidate.rank.min(rank);
        candidate.kinds.insert(old.kind(&act.by));
        candidate.by.insert(by);
        candidate.count += 1;
        candidate
    }

    fn add(&mut self, pair: Pair, rank: Rank, evidence: FirstOccurrence) -> u32 {
        let id = self.all.len() as u32;
        self.ids.insert(pair, id);
        let (kinds, by) = (BTreeSet::new(), BTreeSet::new());
        self.all.push(Candidate { pair, rank, kinds, evidence, by, use_free: None, count: 0 });
        id
    }

    /// Records that there were more pairs at this location.
    pub(in crate::detect) fn leave_out(&mut self, location: String) {
        self.left_out.insert(location);
    }

    /// Returns the candidates in the order of their pairs, and the locations that have more.
    pub(in crate::detect) fn finish(mut self) -> (Vec<Candidate>, BTreeSet<String>) {
        self.all.sort_by_key(|candidate| candidate.pair);
        (self.all, self.left_out)
    }
}
