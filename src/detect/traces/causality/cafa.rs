//! Finds use-free races in CAFA's order; in a trace that marks no uses and frees, all races in it.
//!
//! A use-free race is a use and a free of one location, in contexts without an order, and on different threads without
//! a common lock. Locks order nothing, and keep no two tasks of one looper apart. A pair that a filter excludes
//! ([`Filters`]) has rank D.
//!
//! The classes are those of table 1. The conventional detector in them is the same relation with all tasks of a looper
//! in program order ([`ThreadOrder`]).

use super::external::External;
use super::filters::Filters;
use super::order::{CausalOrder, CausalityRules, Notes, RunningContext};
use crate::base::{Id, IndexVec};
use crate::detect::happens_before::{RaceClass, TooLarge};
use crate::detect::relation::clock::{ChainId, Point};
use crate::detect::traces::detector::Detector;
use crate::detect::traces::happens_before::{AccessQuery, Accesses, Analysis, Classes, Locksets, Place};
use crate::detect::traces::thread_order::{LockEdges, ThreadOrder};
use crate::detect::{Rank, UseFreeClass};
use crate::trace::{OpNo, Operation, ThreadNo, Trace};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a trace without marks lacks.
const UNMARKED: &str = "the trace does not say which reads use a reference and which writes free it, so these are all \
                        conflicting accesses without an order, not use-free races";

/// The detector, in its first pass.
pub(in crate::detect) struct Cafa<'t> {
    trace: &'t Trace,
    rules: CausalityRules,
    classes: Classes<'t>,
    // `None` if the trace has no marks.
    filters: Option<Filters>,
    pass: Pass<'t>,
}

impl<'t> Cafa<'t> {
    /// `printed`: whether only the rules of the paper hold.
    pub(in crate::detect) fn new(trace: &'t Trace, printed: bool, external: Option<External>) -> Self {
        let rules = CausalityRules { printed, external: external.unwrap_or_else(|| External::of(trace)) };
        let filters = (!trace.marks.is_empty()).then(|| Filters::new(trace));
        let pass = Pass::new(trace, rules, Notes::default());
        Self { trace, rules, classes: Classes::new(trace), filters, pass }
    }
}

impl Detector for Cafa<'_> {
    fn step(&mut self, at: OpNo, operation: &Operation) {
        self.pass.step(&self.classes, self.filters.as_ref(), at, operation);
    }

    fn finish(self: Box<Self>, stop: &AtomicBool) -> Result<Option<Analysis>, TooLarge> {
        let Self { trace, rules, classes, filters, mut pass } = *self;
        while pass.order.is_to_repeat() {
            pass = Pass::new(trace, rules, pass.order.into_notes());
            for (at, operation) in trace.ops.enumerate() {
                if at.0 % 1024 == 0 && stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                pass.step(&classes, filters.as_ref(), at, operation);
            }
        }
        let Pass { order, accesses, epochs, .. } = pass;
        let overtaken = order.overtaken().to_vec();
        drop((order, epochs));
        let (mut races, lost) = accesses.finish(&classes);
        if let Some(filters) = &filters {
            for race in races.iter_mut().filter(|race| race.rank == Rank::Filtered) {
                race.filter = filters.of(race.first).or_else(|| filters.of(race.second));
            }
        }
        let is_use_free = filters.is_some();
        let note = (!is_use_free).then_some(UNMARKED);
        Ok(Some(Analysis { overtaken, lost, classes: &RaceClass::CAUSAL, is_use_free, note, ..Analysis::of(races) }))
    }
}

// One pass over the trace, up to the current operation.
struct Pass<'t> {
    trace: &'t Trace,
    order: CausalOrder<'t>,
    threads: ThreadOrder<'t>,
    epochs: ThreadEpochs,
    accesses: Accesses<'t>,
    locksets: Locksets,
    // The number of marked operations so far.
    marked: usize,
}

impl<'t> Pass<'t> {
    fn new(trace: &'t Trace, rules: CausalityRules, notes: Notes) -> Self {
        let of_uses = !trace.marks.is_empty();
        Self {
            trace,
            order: CausalOrder::new(trace, rules, Arc::new(notes)),
            threads: ThreadOrder::new(trace, LockEdges::None),
            epochs: ThreadEpochs::new(trace.threads.len()),
            accesses: if of_uses { Accesses::of_uses(trace) } else { Accesses::new(trace, true) },
            locksets: Locksets::new(trace),
            marked: 0,
        }
    }

    fn step(&mut self, classes: &Classes<'_>, filters: Option<&Filters>, at: OpNo, operation: &Operation) {
        let Operation { thread, action, .. } = *operation;
        self.order.step(at);
        self.epochs.add(thread, at, self.threads.at(thread).epoch);
        let Some(access) = action.access() else {
            self.threads.step(operation);
            if !self.trace.threads[thread].environment {
                self.locksets.step(thread, action);
            }
            return;
        };
        // What a pass finds that is not the last one, does not count.
        if self.order.is_to_repeat() || filters.is_some() && !self.is_use_or_free(at) {
            return;
        }
        let Self { order, threads, epochs, accesses, locksets, .. } = self;
        let Some(context) = order.context(thread) else { return };
        let orders = Orders { order, threads, epochs, filters };
        let now = Now { op: at, thread, context };
        accesses.compare(&orders, classes, (&now, Some((locksets, locksets.of(thread)))), at, access);
    }

    // Whether the operation, which is later than all that were asked for, is a use or a free.
    fn is_use_or_free(&mut self, at: OpNo) -> bool {
        let mark = self.trace.marks.next(&mut self.marked, at);
        mark.uses || mark.frees
    }
}

// The epochs of each thread in `threads`, each with its first operation.
struct ThreadEpochs {
    of: IndexVec<ThreadNo, Vec<(OpNo, u32)>>,
}

impl ThreadEpochs {
    fn new(threads: usize) -> Self {
        Self { of: (0..threads).map(|_| Vec::new()).collect() }
    }

    fn add(&mut self, thread: ThreadNo, at: OpNo, epoch: u32) {
        let epochs = &mut self.of[thread];
        if epochs.last().is_none_or(|(_, last)| *last != epoch) {
            epochs.push((at, epoch));
        }
    }

    // Returns the epoch of a thread at one of its operations.
    fn at(&self, thread: ThreadNo, op: OpNo) -> u32 {
        let epochs = &self.of[thread];
        epochs[..epochs.partition_point(|(first, _)| *first <= op)].last().map_or(0, |(_, epoch)| *epoch)
    }
}

// The order so far.
struct Orders<'p, 't> {
    order: &'p CausalOrder<'t>,
    threads: &'p ThreadOrder<'t>,
    epochs: &'p ThreadEpochs,
    filters: Option<&'p Filters>,
}

// The current access.
struct Now<'p> {
    op: OpNo,
    thread: ThreadNo,
    context: &'p RunningContext,
}

impl Orders<'_, '_> {
    fn is_filtered(&self, op: OpNo) -> bool {
        self.filters.is_some_and(|filters| filters.of(op).is_some())
    }

    // Whether two contexts are tasks of one looper, so that they run one after another.
    fn share_looper(&self, classes: &Classes<'_>, old: u32, now: u32) -> bool {
        let ((of, first), (by, second)) = (classes.task_of(old), classes.task_of(now));
        first.is_some() && second.is_some() && of == by && self.order.is_looper(of)
    }
}

impl AccessQuery<Now<'_>> for Orders<'_, '_> {
    fn place(&self, now: &Now<'_>) -> Place {
        let RunningContext { since, number, clock } = now.context;
        Place { since: *since, number: *number, at: clock.at(), is_filtered: self.is_filtered(now.op) }
    }

    fn is_before(&self, point: Point, now: &Now<'_>) -> bool {
        now.context.clock.has(point)
    }

    fn is_st_before(&self, (point, thread): (Point, ThreadNo), now: &Now<'_>) -> bool {
        thread == now.thread && now.context.clock.has(point)
    }

    fn class(&self, classes: &Classes<'_>, (op, old): (OpNo, u32), now: &Now<'_>) -> RaceClass {
        let (thread, _) = classes.task_of(old);
        let point = Point { chain: ChainId::new(thread.index()), epoch: self.epochs.at(thread, op) };
        RaceClass::Causal(if self.share_looper(classes, old, now.context.number) {
            UseFreeClass::IntraThread
        } else if self.threads.knows(now.thread, point) {
            UseFreeClass::InterThread
        } else {
            UseFreeClass::Conventional
        })
    }

    fn rank(&self, classes: &Classes<'_>, (op, old): (OpNo, u32), now: &Now<'_>) -> Rank {
        let is_filtered = self.is_filtered(op) || self.is_filtered(now.op);
        if is_filtered && self.share_looper(classes, old, now.context.number) {
            Rank::Filtered
        } else {
            Rank::Unordered
        }
    }
}
