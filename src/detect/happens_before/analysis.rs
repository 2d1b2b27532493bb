//! Finds and ranks the races of a trace in DroidRacer's relation.

use super::accesses::Accesses;
use super::classes::Classes;
use super::coverage;
use super::locksets::Locksets;
use super::order::{Edges, Order};
use super::race::Race;
use crate::detect::Rank;
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
}

impl Default for Options {
    fn default() -> Self {
        Self { merging: true, forced: true, coverage: true }
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
/// # Ok::<(), raceflip::trace::Illformed>(())
/// ```
#[must_use]
pub fn analyze(trace: &Trace, options: Options, stop: &AtomicBool) -> Option<Analysis> {
    let classes = Classes::new(trace);
    let full = pass(trace, &classes, (Edges::Full, options.merging), stop)?;
    let Pass { mut races, overtaken, mut lost } = full;
    let covered = options.coverage && coverage::cover(trace, &mut races, stop);
    if options.forced && has_signals(trace) {
        let known: BTreeSet<_> = races.iter().map(|race| pair(trace, race)).collect();
        let forced = pass(trace, &classes, (Edges::Forced, options.merging), stop)?;
        lost |= forced.lost;
        let more = forced.races.into_iter().filter(|race| !known.contains(&pair(trace, race)));
        races.extend(more.map(|race| Race { rank: Rank::ByLocks, ..race }));
    }
    (!stop.load(Ordering::Relaxed)).then_some(Analysis { races, overtaken, lost, covered })
}

struct Pass {
    races: Vec<Race>,
    overtaken: Vec<(TaskNo, TaskNo)>,
    lost: bool,
}

fn pass(trace: &Trace, classes: &Classes<'_>, (edges, merging): (Edges, bool), stop: &AtomicBool) -> Option<Pass> {
    let mut order = Order::new(trace, edges);
    let mut accesses = Accesses::new(trace, merging);
    // Without the edges of locks, accesses under a common lock have to be excluded by lock sets.
    let mut locksets = (edges == Edges::Forced).then(|| Locksets::new(trace));
    for (op, operation) in trace.ops.enumerate() {
        if op.0 % 1024 == 0 && stop.load(Ordering::Relaxed) {
            return None;
        }
        order.step(op);
        if let Some(access) = operation.action.access() {
            if let Some(now) = order.context(operation.thread) {
                let locks = locksets.as_ref().map(|sets| (sets, sets.of(operation.thread)));
                accesses.meet(&order, classes, (now, locks), op, access);
            }
        } else if let Some(locksets) = &mut locksets {
            locksets.step(operation.thread, operation.action);
        }
    }
    let overtaken = order.overtaken().to_vec();
    let (races, lost) = accesses.finish();
    Some(Pass { races, overtaken, lost })
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
