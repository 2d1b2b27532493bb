//! Finds and ranks the races of a trace in DroidRacer's relation.

use super::accesses::Accesses;
use super::classes::Classes;
use super::coverage;
use super::locksets::Locksets;
use super::order::{TraceEdges, TraceOrder};
use super::race::{Race, RaceClass};
use super::source::TooLarge;
use crate::detect::Rank;
use crate::detect::traces::causality::External;
use crate::detect::traces::detector::{Detector, run};
use crate::trace::{Action, LocationNo, OpNo, Operation, SiteNo, TaskNo, ThreadNo, Trace};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether the accesses of a context between two synchronizations are one node (DroidRacer, section 6): faster,
    /// and no race is lost.
    pub merging: bool,
    /// Whether a second pass finds the pairs that only locks and signals order (rank B).
    pub forced: bool,
    /// Whether another pass finds which races cover which.
    pub coverage: bool,
    /// Whether the events of the outside world have an order, for rules that ask for it; `None` if the origin of the
    /// trace decides ([`External::of`]).
    pub external: Option<External>,
}

impl Default for Options {
    fn default() -> Self {
        Self { merging: true, forced: true, coverage: true, external: None }
    }
}

/// Result of an analysis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Analysis {
    /// The races: those of the relation first, then those of rank B, each kind in the order of the trace.
    pub races: Vec<Race>,
    /// Examples of tasks that began before others that their posts put in front of them, each with one that it has
    /// overtaken. They were posted to the front of the queue, and the trace does not record that.
    pub overtaken: Vec<(TaskNo, TaskNo)>,
    /// Whether some location had more unordered accesses than are kept. If so, there may be more pairs of statements.
    pub lost: bool,
    /// Whether it was computed which races cover which. It is not if there are too many.
    pub covered: bool,
    /// The classes that the detector knows.
    pub classes: &'static [RaceClass],
    /// Whether the races are use-free races: the read is a use, and the write a free.
    pub is_use_free: bool,
    /// A remark about what was looked for, for reports.
    pub note: Option<&'static str>,
}

impl Analysis {
    /// Returns the result of a detector that finds nothing but races.
    pub(in crate::detect) fn of(races: Vec<Race>) -> Self {
        Self {
            races,
            overtaken: Vec::new(),
            lost: false,
            covered: false,
            classes: &RaceClass::ALL,
            is_use_free: false,
            note: None,
        }
    }
}

/// Returns the races of a trace in DroidRacer's relation (figures 6 and 7). `None` if `stop` was set.
///
/// # Examples
///
/// ```
/// use raceflip::detect::happens_before::{Options, RaceClass, analyze};
/// use raceflip::trace::{Action, Builder, SiteNo};
/// # use std::sync::atomic::AtomicBool;
/// # let stop = AtomicBool::new(false);
///
/// let mut builder = Builder::new();
/// let (main, worker) = (builder.thread("main"), builder.thread("worker"));
/// let x = builder.location("x", "x");
/// for (thread, action) in [(main, Action::Fork(worker)), (worker, Action::Write(x)), (main, Action::Read(x))] {
///     builder.push(thread, action, SiteNo::NONE, 0)?;
/// }
/// let found = analyze(&builder.finish(), Options::default(), &stop).expect("nobody stops it");
/// assert_eq!(found.races[0].class, RaceClass::MultiThreaded);
/// # Ok::<(), raceflip::trace::TraceError>(())
/// ```
#[must_use]
pub fn analyze(trace: &Trace, options: Options, stop: &AtomicBool) -> Option<Analysis> {
    run(trace, Box::new(HappensBefore::new(trace, options)), stop).ok().flatten()
}

/// The analysis as a detector.
pub(in crate::detect) struct HappensBefore<'t> {
    trace: &'t Trace,
    options: Options,
    classes: Classes<'t>,
    full: Pass<'t>,
}

impl<'t> HappensBefore<'t> {
    pub(in crate::detect) fn new(trace: &'t Trace, options: Options) -> Self {
        Self { trace, options, classes: Classes::new(trace), full: Pass::new(trace, TraceEdges::Full, options.merging) }
    }
}

impl Detector for HappensBefore<'_> {
    fn step(&mut self, at: OpNo, operation: &Operation) {
        self.full.step(&self.classes, at, operation);
    }

    fn finish(self: Box<Self>, stop: &AtomicBool) -> Result<Option<Analysis>, TooLarge> {
        let Self { trace, options, classes, full } = *self;
        let Analysis { mut races, overtaken, mut lost, .. } = full.finish(&classes);
        let covered = options.coverage && coverage::cover(trace, &mut races, stop);
        if options.forced && has_signals(trace) {
            let known: BTreeSet<_> = races.iter().map(|race| pair(trace, race)).collect();
            let Some(forced) = forced(trace, &classes, options.merging, stop) else { return Ok(None) };
            lost |= forced.lost;
            let more = forced.races.into_iter().filter(|race| !known.contains(&pair(trace, race)));
            races.extend(more.map(|race| Race { rank: Rank::ByLocks, ..race }));
        }
        Ok((!stop.load(Ordering::Relaxed)).then(|| Analysis { overtaken, lost, covered, ..Analysis::of(races) }))
    }
}

// One pass over the trace, up to the current operation.
struct Pass<'t> {
    order: TraceOrder<'t>,
    accesses: Accesses<'t>,
    // Without the edges of locks, accesses under a common lock have to be excluded by lock sets.
    locksets: Option<Locksets>,
}

impl<'t> Pass<'t> {
    fn new(trace: &'t Trace, edges: TraceEdges, merging: bool) -> Self {
        let locksets = (edges == TraceEdges::Forced).then(|| Locksets::new(trace));
        Self { order: TraceOrder::new(trace, edges), accesses: Accesses::new(trace, merging), locksets }
    }

    fn step(&mut self, classes: &Classes<'_>, op: OpNo, operation: &Operation) {
        let Self { order, accesses, locksets } = self;
        let access = operation.action.access();
        // An access changes the order only if it is the first operation of its context.
        if access.is_none() || order.context(operation.thread).is_none() {
            order.step(op);
        }
        if let Some(access) = access {
            if let Some(now) = order.context(operation.thread) {
                let locks = locksets.as_ref().map(|sets| (sets, sets.of(operation.thread)));
                accesses.compare(order, classes, (now, locks), op, access);
            }
        } else if let Some(locksets) = locksets {
            locksets.step(operation.thread, operation.action);
        }
    }

    fn finish(self, classes: &Classes<'_>) -> Analysis {
        let Self { order, accesses, .. } = self;
        let overtaken = order.overtaken().to_vec();
        drop(order);
        let (races, lost) = accesses.finish(classes);
        Analysis { overtaken, lost, ..Analysis::of(races) }
    }
}

// The races without the edges of locks and signals. `None` if `stop` was set.
fn forced(trace: &Trace, classes: &Classes<'_>, merging: bool, stop: &AtomicBool) -> Option<Analysis> {
    let mut pass = Pass::new(trace, TraceEdges::Forced, merging);
    for (op, operation) in trace.ops.enumerate() {
        if op.0 % 1024 == 0 && stop.load(Ordering::Relaxed) {
            return None;
        }
        pass.step(classes, op, operation);
    }
    Some(pass.finish(classes))
}

fn has_signals(trace: &Trace) -> bool {
    trace.ops.iter().any(|op| matches!(op.action, Action::Acquire(_) | Action::Receive(_)))
}

// Identifies a race without its class: by location and statements, or contexts where statements are not known.
fn pair(trace: &Trace, race: &Race) -> (LocationNo, [(SiteNo, ThreadNo, Option<TaskNo>); 2]) {
    let end = |op: OpNo, task| match trace.ops[op] {
        Operation { site: SiteNo::NONE, thread, .. } => (SiteNo::NONE, thread, task),
        Operation { site, .. } => (site, ThreadNo(0), None),
    };
    let mut ends = [end(race.first, race.tasks.0), end(race.second, race.tasks.1)];
    ends.sort_unstable();
    (race.location, ends)
}
