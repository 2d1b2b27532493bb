//! Joins cycles that are the same, and groups them to findings.

use super::{Blame, Cycle, CycleEdge, EdgeKind, Finding};
use std::collections::{BTreeMap, BTreeSet};

/// A cycle with its transaction's name without numbers, and who is to blame.
pub(super) struct FoundCycle {
    pub(super) declared: String,
    pub(super) blame: Blame,
    pub(super) cycle: Cycle,
}

// What two edges that count as one agree in.
type EdgeKey = (String, Option<String>, String, Option<String>, EdgeKind, Option<String>);

fn key(edge: &CycleEdge) -> EdgeKey {
    let CycleEdge { from, to, kind, field, .. } = edge;
    (from.body.clone(), from.site.clone(), to.body.clone(), to.site.clone(), *kind, field.clone())
}

/// Groups cycles: of several that agree in the edges that leave and come back the first one is kept, and cycles of one
/// name with the same locations and the same bodies between are a finding. The most suspicious finding comes first.
pub(super) fn group(found: Vec<FoundCycle>) -> Vec<Finding> {
    let mut known: BTreeSet<(String, bool, Option<EdgeKey>, Option<EdgeKey>)> = BTreeSet::new();
    let mut groups: BTreeMap<(String, bool, BTreeSet<String>, BTreeSet<String>), usize> = BTreeMap::new();
    let mut findings: Vec<Finding> = Vec::new();
    for FoundCycle { declared, blame, cycle } in found {
        let joint = blame != Blame::Certain;
        let ends = (cycle.edges.first().map(key), cycle.edges.last().map(key));
        if !known.insert((declared.clone(), joint, ends.0, ends.1)) {
            continue;
        }
        let fields = cycle.edges.iter().filter_map(|edge| edge.field.clone()).collect();
        let outside = cycle.edges.iter().flat_map(|edge| [&edge.from, &edge.to]).filter(|moment| !moment.inside);
        let bodies = outside.map(|moment| moment.body.clone()).collect();
        let group = (declared.clone(), joint, fields, bodies);
        let at = *groups.entry(group).or_insert_with(|| {
            let priority = cycle.priority;
            findings.push(Finding { declared, blame: blame.clone(), priority, cycles: Vec::new() });
            findings.len() - 1
        });
        let finding = &mut findings[at];
        finding.priority = finding.priority.min(cycle.priority);
        if let (Blame::Joint(names), Blame::Joint(more)) = (&mut finding.blame, blame) {
            names.extend(more);
            names.sort();
            names.dedup();
        }
        finding.cycles.push(cycle);
    }
    for finding in &mut findings {
        finding.cycles.sort_by_key(|cycle| (cycle.priority, cycle.edges.len()));
    }
    // The sort is stable: findings that are alike keep the order of the run.
    findings.sort_by_key(|finding| {
        (!finding.counts(), finding.blame != Blame::Certain, finding.is_marked(), finding.priority)
    });
    findings
}
