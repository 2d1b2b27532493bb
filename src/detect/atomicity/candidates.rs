//! Orders that would violate a transaction, from a run that has it in one piece.
//!
//! A candidate is a list of conflicts (x, y), each of which is to come in this order: the first one leaves the
//! transaction, the last one comes back, and between two of them the same thread or task goes on. A conflict whose
//! order every run has the other way round makes no candidate. Otherwise nothing says that the order is possible; a
//! directed run decides that.

use super::spec::{TransactionNo, Transactions};
use super::steps::{ContextNo, StepKind, StepNo, Steps};
use crate::trace::SiteNo;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of other threads and tasks of a candidate.
const MOST_OTHERS: usize = 3;

/// Maximum number of candidates that are compared.
const MOST_COMPARED: usize = 4096;

/// Returns the candidates of a transaction, nearest in the run first, at most `most`. Two that differ only in instances
/// of statements count as one. `is_before` says whether every run has the first step before the second one.
#[must_use]
pub fn candidates(
    steps: &Steps<'_>,
    transactions: &Transactions,
    of: TransactionNo,
    most: usize,
    is_before: &dyn Fn(StepNo, StepNo) -> bool,
) -> Vec<Vec<(StepNo, StepNo)>> {
    let (accesses, last) = (BTreeMap::new(), BTreeMap::new());
    let mut search = Search { steps, accesses, own: Vec::new(), last, is_before, found: Vec::new() };
    let mut seen = BTreeMap::new();
    for (at, step) in steps.all.enumerate() {
        let Some((place, writes)) = access(step.kind) else { continue };
        let is_own = transactions.of_step(at) == Some(of);
        // The first execution of a statement in a context stands for the others.
        if steps.site_of(at) == SiteNo::NONE {
            continue;
        }
        let first = *seen.entry((step.context, steps.site_of(at), place, is_own)).or_insert(at);
        search.last.insert(first, at);
        if first != at {
            continue;
        }
        if is_own {
            search.own.push((at, place, writes));
        } else {
            search.accesses.entry(step.context).or_default().push((at, place, writes));
        }
    }
    for first in search.own.clone() {
        search.extend(first, &mut Vec::new(), &mut Vec::new());
    }
    let spread =
        |edges: &Vec<(StepNo, StepNo)>| -> u64 { edges.iter().map(|(x, y)| u64::from(x.0.abs_diff(y.0))).sum() };
    search.found.sort_by_key(|edges| (edges.len(), spread(edges)));
    let mut known = BTreeSet::new();
    let sites = |edges: &[(StepNo, StepNo)]| -> Vec<(SiteNo, SiteNo)> {
        edges.iter().map(|(x, y)| (steps.site_of(*x), steps.site_of(*y))).collect()
    };
    search.found.retain(|edges| known.insert(sites(edges)));
    search.found.truncate(most);
    search.found
}

fn access(kind: StepKind) -> Option<(u32, bool)> {
    match kind {
        StepKind::Read(place) => Some((place, false)),
        StepKind::Write(place) => Some((place, true)),
        _ => None,
    }
}

// A step, its location, and whether it writes.
type Accessed = (StepNo, u32, bool);

struct Search<'a> {
    steps: &'a Steps<'a>,
    // Accesses of others, by context.
    accesses: BTreeMap<ContextNo, Vec<Accessed>>,
    own: Vec<Accessed>,
    // The last execution of each statement in its context, by the first one.
    last: BTreeMap<StepNo, StepNo>,
    is_before: &'a dyn Fn(StepNo, StepNo) -> bool,
    found: Vec<Vec<(StepNo, StepNo)>>,
}

impl Search<'_> {
    // Whether some execution of a statement may come after some execution of another one, given by their first ones.
    fn may_follow(&self, first: StepNo, then: StepNo) -> bool {
        !(self.is_before)(self.last[&then], first)
    }

    // Goes on from an access to a conflicting one of another context, and from there back or further.
    fn extend(&mut self, from: Accessed, path: &mut Vec<(StepNo, StepNo)>, visited: &mut Vec<ContextNo>) {
        let contexts: Vec<ContextNo> =
            self.accesses.keys().copied().filter(|context| !visited.contains(context)).collect();
        for context in contexts {
            let here = self.accesses[&context].clone();
            let is_task = self.steps.task_of(context).is_some();
            for entry in here.iter().filter(|other| conflict(from, **other)) {
                if !self.may_follow(from.0, entry.0) {
                    continue;
                }
                path.push((from.0, entry.0));
                visited.push(context);
                for leave in here.iter().filter(|leave| is_task || leave.0 >= entry.0) {
                    if self.found.len() >= MOST_COMPARED {
                        break;
                    }
                    let first = path[0].0;
                    let back: Vec<StepNo> = self
                        .own
                        .iter()
                        .filter(|own| own.0 > first && conflict(*leave, **own) && self.may_follow(leave.0, own.0))
                        .map(|own| own.0)
                        .collect();
                    for end in back {
                        self.found.push([path.as_slice(), &[(leave.0, end)]].concat());
                    }
                    if visited.len() < MOST_OTHERS {
                        self.extend(*leave, path, visited);
                    }
                }
                visited.pop();
                path.pop();
            }
        }
    }
}

fn conflict(x: Accessed, y: Accessed) -> bool {
    x.1 == y.1 && (x.2 || y.2)
}
