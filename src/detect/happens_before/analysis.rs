//! The races of a trace in DroidRacer's relation, ranked.

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

/// How a trace is analysed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Accesses between two synchronizations of a context are one node (DroidRacer, section 6): faster, and no race is lost.
    pub merging: bool,
    /// Also what only locks and signals order (rank B), by a second pass.
    pub forced: bool,
    /// Which races cover which, by another pass.
    pub coverage: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { merging: true, forced: true, coverage: true }
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Analysis {
    /// The races, those of the relation first, each kind in the order of the trace.
    pub races: Vec<Race>,
    /// Messages that began before others that their posts put in front of them, each with one that it has overtaken: examples. Somebody posted them to the front of the queue, and the
    /// trace does not say so.
    pub overtaken: Vec<(TaskNo, TaskNo)>,
    /// Some location had more unordered accesses than are kept: there may be more pairs of statements.
    pub lost: bool,
    /// Whether it is known which races cover which: not if there are too many.
    pub covered: bool,
}

/// The races of a trace in DroidRacer's relation (figures 6 and 7). `None` if it was interrupted.
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
    // Without the edges of locks, those who hold a lock together are kept apart by it.
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

// What makes two races one, whatever their class: location and statements, or contexts.
fn pair(trace: &Trace, race: &Race) -> (LocationNo, [(SiteNo, ThreadNo, Option<TaskNo>); 2]) {
    let end = |op: OpNo, task| match trace.ops[op] {
        Operation { site: SiteNo::NONE, thread, .. } => (SiteNo::NONE, thread, task),
        Operation { site, .. } => (site, ThreadNo(0), None),
    };
    let mut ends = [end(race.first, race.tasks.0), end(race.second, race.tasks.1)];
    ends.sort_unstable();
    (race.location, ends)
}
