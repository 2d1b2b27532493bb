//! Chooses the ends that are shown against an `expect` line, and shrinks their runs.

use super::ends::relevant_end;
use super::smaller::smaller;
use super::test_result::{Origin, ShownEnds};
use super::variant::{EndGroup, Test, walk};
use crate::campaign::runs::trial::Worker;
use crate::exec::RunResult;
use crate::lang::program::ExpectationKind;
use crate::vm::Model;
use std::collections::{BTreeMap, BTreeSet};

impl Test<'_> {
    // Returns the ends with these indices, merged as far as the line does not distinguish them: first the saved and
    // searched ones, then one end of each signature before the rest.
    pub(super) fn surplus(&self, kind: &ExpectationKind, numbers: &[usize]) -> Vec<(RunResult, EndGroup)> {
        let of_these = self.ends.iter().enumerate().filter(|(i, _)| numbers.binary_search(i).is_ok());
        let mut all: Vec<_> = of_these.map(|(_, end)| end).collect();
        all.sort_by_key(|(_, seen)| matches!(seen.origin, Origin::Drawn { .. }));
        let mut merged: Vec<(RunResult, EndGroup)> = Vec::new();
        let mut places = BTreeMap::new();
        for (end, seen) in all {
            let end = relevant_end(kind, end);
            let place = *places.entry(end.clone()).or_insert(merged.len());
            match merged.get_mut(place) {
                Some((_, known)) => known.runs += seen.runs,
                None => merged.push((end, seen.clone())),
            }
        }
        let mut known = BTreeSet::new();
        let (mut ends, rest): (Vec<_>, Vec<_>) =
            merged.into_iter().partition(|(_, seen)| known.insert(seen.signature.clone()));
        ends.extend(rest);
        ends
    }

    // Returns an end to show. A drawn run is shrunk first, as far as its end stays the same for the line.
    pub(super) fn shown(
        &self,
        kind: &ExpectationKind,
        end: &RunResult,
        seen: &EndGroup,
        worker: &mut Worker<'_, Model>,
    ) -> ShownEnds {
        let (mut token, mut shrunk) = (seen.token.clone().unwrap_or_default(), None);
        let mut outcome = seen.outcome.clone();
        if let Origin::Drawn { seed, .. } = seen.origin {
            let drawn = token.parse().unwrap_or_else(|_| worker.token(&walk(seed)));
            let smaller = smaller(self.plan, kind, end, &drawn, self.context.stop);
            shrunk = smaller.as_ref().map(|s| (s.before, s.after));
            // The outcome is that of the run that is shown.
            outcome = smaller.as_ref().map_or(outcome, |s| s.outcome.clone());
            token = smaller.map_or(drawn, |s| s.token).to_string();
        }
        ShownEnds {
            text: end.text(),
            outcome,
            signature: seen.signature.clone(),
            runs: seen.runs,
            origin: seen.origin.clone(),
            token,
            shrunk,
        }
    }
}
