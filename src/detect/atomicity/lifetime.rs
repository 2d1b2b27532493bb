//! For each declared transaction the part of the trace in which something can learn of it, and the slot (bit) that
//! stands for it there. Transactions whose parts do not overlap share slots.
//!
//! A transaction is known from its first step on. But what counts as one node, such as a task that A cannot interrupt,
//! knows at its begin what it learns at its end. So the part reaches to both sides over all such units that overlap it.

use super::spec::{TransactionNo, Transactions};
use super::steps::{StepNo, Steps};
use crate::base::mutant::{self, Mutant};
use crate::base::{Id, IndexVec};
use crate::trace::ThreadNo;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// The part of a trace in which something can learn of a transaction, and its slot there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lifetime {
    pub(super) from: StepNo,
    /// The first step after the part.
    pub(super) to: StepNo,
    pub(super) slot: u32,
}

/// The lifetimes of all transactions, and the number of slots.
#[derive(Debug)]
pub(super) struct Lifetimes {
    pub(super) of: IndexVec<TransactionNo, Lifetime>,
    pub(super) slots: u32,
}

// The spans of the units that are on a looper, or of all transactions: disjoint, ascending; the end is not included.
type Spans = Vec<(u32, u32)>;

impl Lifetimes {
    /// `joint`: every declared transaction counts as one node.
    pub(super) fn of(steps: &Steps<'_>, transactions: &Transactions, joint: bool) -> Self {
        let mut loopers: IndexVec<ThreadNo, Spans> = steps.trace.threads.iter().map(|_| Vec::new()).collect();
        for (task, span) in steps.spans.enumerate() {
            let looper = steps.trace.tasks[task].looper;
            loopers[looper].extend(span.map(|(from, to)| (from.0, to.0)));
        }
        loopers.iter_mut().for_each(|spans| spans.sort_unstable());
        let open = if joint { merged(transactions) } else { Vec::new() };
        let mut parts: Vec<(u32, u32, TransactionNo)> = Vec::with_capacity(transactions.all.len());
        for (number, own) in transactions.all.enumerate() {
            let around = || own.loopers.iter().map(|looper| &loopers[*looper]).chain([&open]);
            let (mut from, mut to) = (own.first.0, own.last.0 + 1);
            loop {
                let before = (from, to);
                for spans in around() {
                    if let Some((start, _)) = span_at(spans, from) {
                        from = from.min(start);
                    }
                    // The span that contains the last step, which `to` does not include.
                    if let Some((_, end)) = span_at(spans, to - 1) {
                        to = to.max(end);
                    }
                }
                if (from, to) == before || mutant::is(Mutant::SlotFreedEarly) {
                    break;
                }
            }
            if mutant::is(Mutant::SlotFreedEarly) {
                (from, to) = (own.first.0, own.last.0 + 1);
            }
            parts.push((from, to, number));
        }
        Self::share(parts)
    }

    // Gives each part a slot: the lowest one that is free.
    fn share(mut parts: Vec<(u32, u32, TransactionNo)>) -> Self {
        let none = Lifetime { from: StepNo(0), to: StepNo(0), slot: 0 };
        let mut of: IndexVec<TransactionNo, Lifetime> = parts.iter().map(|_| none).collect();
        parts.sort_unstable();
        let mut free: BTreeSet<u32> = BTreeSet::new();
        let mut used: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
        let mut slots = 0;
        for (from, to, number) in parts {
            while let Some(Reverse((_, slot))) = used.peek().copied().filter(|Reverse((end, _))| *end <= from) {
                used.pop();
                free.insert(slot);
            }
            let slot = free.pop_first().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            used.push(Reverse((to, slot)));
            of[number] = Lifetime { from: StepNo(from), to: StepNo(to), slot };
        }
        Self { of, slots }
    }
}

// Returns the span that contains a step.
fn span_at(spans: &Spans, step: u32) -> Option<(u32, u32)> {
    let at = spans.partition_point(|(from, _)| *from <= step).checked_sub(1)?;
    Some(spans[at]).filter(|(_, to)| step < *to)
}

// The parts of the trace in which some transaction is open.
fn merged(transactions: &Transactions) -> Spans {
    let mut merged: Spans = Vec::new();
    let mut all: Spans = transactions.all.iter().map(|own| (own.first.0, own.last.0 + 1)).collect();
    all.sort_unstable();
    for (from, to) in all {
        match merged.last_mut() {
            Some((_, end)) if from < *end => *end = to.max(*end),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The begins and ends of lifetimes in the order of steps: at each step first the ends, then the begins.
pub(super) fn changes(lifetimes: &Lifetimes) -> Vec<(StepNo, bool, TransactionNo)> {
    let mut all: Vec<(StepNo, bool, TransactionNo)> = Vec::with_capacity(2 * lifetimes.of.len());
    for (number, life) in lifetimes.of.enumerate() {
        all.push((life.from, true, number));
        all.push((life.to, false, number));
    }
    all.sort_unstable_by_key(|(step, begins, number)| (*step, *begins, number.index()));
    all
}
