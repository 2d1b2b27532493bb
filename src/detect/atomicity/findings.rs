//! Joins cycles that are the same, and groups them to findings.

use super::{Atomicity, Blame, Cycle, CycleEdge, EdgeKind, Finding, Specification};
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

// What findings that count as one agree in: declared name, whether the blame is joint, locations, bodies between.
type FindingKey = (String, bool, BTreeSet<String>, BTreeSet<String>);

fn finding_key(declared: &str, blame: &Blame, cycle: &Cycle) -> FindingKey {
    let fields = cycle.edges.iter().filter_map(|edge| edge.field.clone()).collect();
    let outside = cycle.edges.iter().flat_map(|edge| [&edge.from, &edge.to]).filter(|moment| !moment.inside);
    let bodies = outside.map(|moment| moment.body.clone()).collect();
    (declared.to_owned(), *blame != Blame::Certain, fields, bodies)
}

/// Findings to which cycles are added.
#[derive(Default, Debug)]
struct Groups {
    known: BTreeSet<(String, bool, Option<EdgeKey>, Option<EdgeKey>)>,
    numbers: BTreeMap<FindingKey, usize>,
    findings: Vec<Finding>,
}

impl Groups {
    // Adds a cycle, unless one with the same ends is known. Returns the number of its finding.
    fn add(&mut self, declared: &str, blame: &Blame, cycle: Cycle) -> usize {
        let at = *self.numbers.entry(finding_key(declared, blame, &cycle)).or_insert_with(|| {
            let (declared, blame, priority) = (declared.to_owned(), blame.clone(), cycle.priority);
            self.findings.push(Finding { declared, blame, priority, cycles: Vec::new() });
            self.findings.len() - 1
        });
        let ends = (cycle.edges.first().map(key), cycle.edges.last().map(key));
        let is_new = self.known.insert((declared.to_owned(), *blame != Blame::Certain, ends.0, ends.1));
        let finding = &mut self.findings[at];
        finding.priority = finding.priority.min(cycle.priority);
        if let (Blame::Joint(names), Blame::Joint(more)) = (&mut finding.blame, blame) {
            names.extend(more.iter().cloned());
            names.sort();
            names.dedup();
        }
        // A finding has at least one cycle, also if another finding has one with the same ends.
        if is_new || finding.cycles.is_empty() {
            finding.cycles.push(cycle);
        }
        at
    }
}

fn sort_cycles(finding: &mut Finding) {
    finding.cycles.sort_by_key(|cycle| (cycle.priority, cycle.edges.len()));
}

// The place of a finding in a list. Sorts are stable: findings that are alike keep the order of the runs.
fn rank(finding: &Finding) -> (bool, bool, bool, u8) {
    (!finding.counts(), finding.blame != Blame::Certain, finding.is_marked(), finding.priority)
}

/// Groups cycles: of several that agree in the edges that leave and come back the first one is kept, and cycles of one
/// name with the same locations and the same bodies between are a finding. The most suspicious finding comes first.
pub(super) fn group(found: Vec<FoundCycle>) -> Vec<Finding> {
    let mut groups = Groups::default();
    for FoundCycle { declared, blame, cycle } in found {
        groups.add(&declared, &blame, cycle);
    }
    groups.findings.iter_mut().for_each(sort_cycles);
    groups.findings.sort_by_key(rank);
    groups.findings
}

/// A finding that runs show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenFinding {
    /// The finding, with the cycles of all runs.
    pub finding: Finding,
    /// Number of runs that show it.
    pub runs: u32,
    /// The first of these runs.
    pub first: usize,
}

/// What one specification shows in several runs.
#[derive(Debug)]
pub struct OfRuns {
    /// The specification.
    pub specification: Specification,
    /// Number of declared transactions of all runs.
    pub transactions: usize,
    /// Number of those that are to blame for certain.
    pub violated: usize,
    /// Number of those that are only jointly to blame.
    pub joint: usize,
    /// Number of violated transactions whose cycles were not computed.
    pub left_out: usize,
    groups: Groups,
    // For each finding the number of runs that show it, the first and the last one.
    seen: Vec<(u32, usize, usize)>,
}

impl OfRuns {
    /// Returns what no run shows.
    #[must_use]
    pub fn new(specification: Specification) -> Self {
        let (transactions, violated, joint, left_out) = (0, 0, 0, 0);
        Self { specification, transactions, violated, joint, left_out, groups: Groups::default(), seen: Vec::new() }
    }

    /// Adds what a run shows. Runs are added in their order.
    pub fn add(&mut self, run: usize, found: Atomicity) {
        self.transactions += found.transactions;
        self.violated += found.violated;
        self.joint += found.joint;
        self.left_out += found.left_out;
        for finding in found.findings {
            for cycle in finding.cycles {
                let at = self.groups.add(&finding.declared, &finding.blame, cycle);
                if at == self.seen.len() {
                    self.seen.push((0, run, usize::MAX));
                }
                let (runs, _, last) = &mut self.seen[at];
                if *last != run {
                    (*runs, *last) = (*runs + 1, run);
                }
            }
        }
    }

    /// Returns the findings of all runs, most suspicious first.
    pub fn finish(&mut self) -> Vec<SeenFinding> {
        let groups = std::mem::take(&mut self.groups);
        let seen = groups.findings.into_iter().zip(&self.seen);
        let mut all: Vec<SeenFinding> =
            seen.map(|(finding, (runs, first, _))| SeenFinding { finding, runs: *runs, first: *first }).collect();
        all.iter_mut().for_each(|seen| sort_cycles(&mut seen.finding));
        all.sort_by_key(|seen| rank(&seen.finding));
        all
    }
}
