//! FastTrack (Flanagan, Freund, PLDI 2009) over a trace: races between threads, by epochs.
//!
//! The order is that of threads ([`super::thread_order`]), with locks. Therefore no race between two tasks of one
//! looper is ever found, and many races between a task and a thread are missed.
//!
//! Each location keeps its last write, and its last read, or the last read of each thread if reads are not ordered.
//! FastTrack finds a race on a location if there is one, but not all of them: after a race of a and b only b may be
//! kept, so that a race of a with an access that is ordered after b goes unseen. It never reports two accesses that
//! this happens-before orders.

use super::happens_before::{Analysis, Race, RaceClass, TooLarge};
use super::thread_order::{LockEdges, ThreadOrder};
use crate::base::IndexVec;
use crate::detect::Rank;
use crate::detect::relation::clock::Point;
use crate::detect::traces::detector::{Detector, run};
use crate::trace::{Action, LocationNo, OpNo, Operation, TaskNo, ThreadNo, Trace};
use indexmap::IndexMap;
use std::sync::atomic::AtomicBool;
use xxhash_rust::xxh3::Xxh3Builder;

/// Returns the races that FastTrack finds, in the order of the trace. All are [`RaceClass::MultiThreaded`]. `None` if
/// `stop` was set.
///
/// # Examples
///
/// ```
/// use raceflip::detect::fasttrack;
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
/// let races = fasttrack(&builder.finish(), &stop).expect("nobody stops it");
/// assert_eq!((races.len(), races[0].first.0, races[0].second.0), (1, 1, 2));
/// # Ok::<(), raceflip::trace::TraceError>(())
/// ```
#[must_use]
pub fn fasttrack(trace: &Trace, stop: &AtomicBool) -> Option<Vec<Race>> {
    let found = run(trace, Box::new(FastTrack::new(trace)), stop).ok().flatten();
    found.map(|found| found.races)
}

#[derive(Clone, Copy)]
struct LastAccess {
    at: Point,
    op: OpNo,
    task: Option<TaskNo>,
}

// The last accesses of a location.
#[derive(Clone, Default)]
struct Variable {
    write: Option<LastAccess>,
    // The last read; the last reads of several threads if none of them is after all others.
    reads: Vec<LastAccess>,
}

/// The detector, up to the current operation.
pub(in crate::detect) struct FastTrack<'t> {
    trace: &'t Trace,
    order: ThreadOrder<'t>,
    running: IndexVec<ThreadNo, Option<TaskNo>>,
    variables: IndexVec<LocationNo, Variable>,
    found: IndexMap<(LocationNo, u64, u64), Race, Xxh3Builder>,
}

impl<'t> FastTrack<'t> {
    pub(in crate::detect) fn new(trace: &'t Trace) -> Self {
        Self {
            trace,
            order: ThreadOrder::new(trace, LockEdges::Ordered),
            running: trace.threads.iter().map(|_| None).collect(),
            variables: trace.places.iter().map(|_| Variable::default()).collect(),
            found: IndexMap::with_hasher(Xxh3Builder::new()),
        }
    }

    fn read(&mut self, op: OpNo, thread: ThreadNo, place: LocationNo) {
        let now = LastAccess { at: self.order.at(thread), op, task: self.running[thread] };
        let variable = &self.variables[place];
        // FT READ SAME EPOCH
        if variable.reads.iter().any(|read| read.at == now.at) {
            return;
        }
        let raced = variable.write.filter(|write| !self.order.knows(thread, write.at));
        raced.into_iter().for_each(|write| self.race(place, write, now));
        // FT READ EXCLUSIVE: all earlier reads are before this one. Otherwise FT READ SHARE, SHARED.
        let ordered = self.variables[place].reads.iter().all(|read| self.order.knows(thread, read.at));
        let reads = &mut self.variables[place].reads;
        if ordered {
            reads.clear();
        } else {
            reads.retain(|read| read.at.chain != now.at.chain);
        }
        reads.push(now);
    }

    fn write(&mut self, op: OpNo, thread: ThreadNo, place: LocationNo) {
        let now = LastAccess { at: self.order.at(thread), op, task: self.running[thread] };
        let variable = &self.variables[place];
        // FT WRITE SAME EPOCH
        if variable.write.is_some_and(|write| write.at == now.at) {
            return;
        }
        let before = variable.write.iter().chain(&variable.reads);
        let raced: Vec<LastAccess> = before.filter(|old| !self.order.knows(thread, old.at)).copied().collect();
        raced.into_iter().for_each(|old| self.race(place, old, now));
        // FT WRITE EXCLUSIVE, SHARED
        self.variables[place] = Variable { write: Some(now), reads: Vec::new() };
    }

    fn race(&mut self, location: LocationNo, old: LastAccess, new: LastAccess) {
        let end = |access: &LastAccess| match self.trace.ops[access.op].site {
            crate::trace::SiteNo::NONE => 1 << 32 | u64::from(access.at.chain.0),
            site => u64::from(site.0),
        };
        let (x, y) = (end(&old), end(&new));
        let fresh = || Race {
            location,
            first: old.op,
            second: new.op,
            tasks: (old.task, new.task),
            class: RaceClass::MultiThreaded,
            rank: Rank::Unordered,
            count: 0,
            covered_by: None,
            filter: None,
        };
        self.found.entry((location, x.min(y), x.max(y))).or_insert_with(fresh).count += 1;
    }
}

impl Detector for FastTrack<'_> {
    fn step(&mut self, at: OpNo, operation: &Operation) {
        let Operation { thread, action, .. } = *operation;
        self.order.step(operation);
        if self.trace.threads[thread].environment {
            return;
        }
        match action {
            Action::Begin(task) => self.running[thread] = Some(task),
            Action::End(_) => self.running[thread] = None,
            _ => {}
        }
        match action.access() {
            Some((place, false)) => self.read(at, thread, place),
            Some((place, true)) => self.write(at, thread, place),
            None => {}
        }
    }

    fn finish(self: Box<Self>, _: &AtomicBool) -> Result<Option<Analysis>, TooLarge> {
        let mut races: Vec<Race> = self.found.into_values().collect();
        races.sort_by_key(|race| (race.second, race.first));
        Ok(Some(Analysis::of(races)))
    }
}

#[cfg(test)]
mod tests {
    use super::fasttrack;
    use crate::base::Rng;
    use crate::detect::happens_before::tests::{generate, listing};
    use crate::trace::{Action, LocationNo, OpNo, Trace};
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    // The order of threads by definition: the edges, and their closure. before[j][i]: i is before j.
    fn closure(trace: &Trace) -> Vec<Vec<bool>> {
        let n = trace.ops.len();
        let op = |i: usize| trace.ops[OpNo(i as u32)];
        let fleeting = |i: usize| trace.threads[op(i).thread].environment;
        let edge = |i: usize, j: usize| match (op(i).action, op(j).action) {
            _ if op(i).thread == op(j).thread && !fleeting(i) => true,
            (Action::Fork(child), _) => child == op(j).thread,
            (Action::ThreadExit, Action::Join(other)) => other == op(i).thread,
            (Action::AttachQueue, Action::Post(task)) if !fleeting(j) => trace.tasks[task].looper == op(i).thread,
            (Action::Post(p), Action::Begin(q)) => p == q,
            (Action::Enable(event), Action::Post(task)) => trace.tasks[task].events.contains(&event),
            (Action::Release(l), Action::Acquire(m)) => l == m,
            (Action::Send(c), Action::Receive(d)) => c == d,
            _ => false,
        };
        let mut before = vec![vec![false; n]; n];
        for j in 0..n {
            for i in (0..j).filter(|i| edge(*i, j)) {
                before[j][i] = true;
                let of_i = before[i].clone();
                before[j].iter_mut().zip(of_i).for_each(|(to, from)| *to |= from);
            }
        }
        before
    }

    #[test]
    fn it_finds_a_race_on_a_location_if_there_is_one_and_nothing_that_is_ordered() {
        let (mut with, mut without) = (0, 0);
        for seed in 0..1500 {
            let trace = generate::trace(&mut Rng::seeded(seed), 60);
            let before = closure(&trace);
            let is_race = |i: OpNo, j: OpNo| {
                let (x, y) = (trace.ops[i], trace.ops[j]);
                let Some(((a, writes), (b, also))) = x.action.access().zip(y.action.access()) else { return false };
                a == b && (writes || also) && x.thread != y.thread && !before[j.0 as usize][i.0 as usize]
            };
            let ops = || trace.ops.ids();
            let on = |j: OpNo| trace.ops[j].action.access().map(|(at, _)| at);
            let racy: BTreeSet<LocationNo> =
                ops().filter(|j| (0..j.0).any(|i| is_race(OpNo(i), *j))).filter_map(on).collect();
            let found = fasttrack(&trace, &AtomicBool::new(false)).unwrap();
            assert!(found.iter().all(|race| is_race(race.first, race.second)), "{seed} {:#?}", listing(&trace));
            assert_eq!(found.iter().map(|race| race.location).collect::<BTreeSet<_>>(), racy, "{seed}");
            with += racy.len();
            without += trace.places.len() - racy.len();
        }
        assert!(with > 300 && without > 300, "{with} {without}");
    }
}
