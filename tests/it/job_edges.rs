//! The happens-before edges of jobs, computed a second way: all pairs of events, by the rules as `docs/semantics.md`
//! and the documentation of `detect` print them. The pairs that they leave unordered must be those that the hybrid
//! detector reports, on random runs of generated programs with async tasks.
//!
//! The rules of jobs:
//!
//! - The events of a job are in order, also across its suspensions.
//! - A launch comes before the job. A launch with `now` runs the job inside, up to its first suspension or its end,
//!   which comes before what the launching code does next.
//! - A resumption is a message of the environment: it comes after the job's suspension, and not after what fulfilled
//!   the wait. It is due at once and passes fences. FIFO puts it after other messages, and none after it, because no
//!   code posts it.
//! - A job ends after its task and its children. A join comes after that end.
//!
//! The precise relation, which ranks the pairs, also has these:
//!
//! - What a job does after its wait comes after the step that fulfilled the wait, and after each `up` of the semaphore
//!   whose permit it took. If it is not known which step made the condition of an `await` hold, it comes after all
//!   earlier writes.

use crate::small_jobs;
use raceflip::base::mix;
use raceflip::detect::{ContextKind, Hybrid, Pair, Rank};
use raceflip::event::{ContextId, Event, EventKind, LaunchPlace, Op, PostTime, Suspension, ThreadId};
use raceflip::exec::{Observer, run};
use raceflip::sched::RandomWalk;
use raceflip::vm::Model;
use raceflip::world::{Limits, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// All events of a run, with what the rules need of the world.
#[derive(Default)]
struct Recorded {
    hybrid: Hybrid,
    events: Vec<Event>,
    /// Context of the own code of each thread and job.
    homes: BTreeMap<ThreadId, ContextId>,
    parents: BTreeMap<ThreadId, ThreadId>,
    /// Loopers of the posts and launches, by the context that they made.
    loopers: BTreeMap<ContextId, ThreadId>,
}

impl Observer for Recorded {
    fn event(&mut self, world: &World, event: &Event) {
        self.hybrid.observe(world, event);
        self.events.push(event.clone());
        for (id, thread) in world.threads().enumerate() {
            self.homes.insert(id, thread.home);
            self.parents.extend(world.job(id).and_then(|job| job.parent()).map(|parent| (id, parent)));
        }
        if let EventKind::Performed { op, made: Some(made), .. } = &event.what {
            let to = match op {
                Op::Post { target, .. } | Op::Launch { place: LaunchPlace::Posted(target), .. } => {
                    Some(world.thread_of(*target))
                }
                Op::Launch { .. } => event.thread,
                _ => None,
            };
            self.loopers.extend(to.map(|to| (*made, to)));
        }
    }
}

/// A part of a task or job that a looper ran, from a begin to its end or suspension.
struct Part {
    looper: ThreadId,
    cause: usize,
    begin: usize,
    end: Option<usize>,
}

/// What FIFO knows about a message.
#[derive(Clone, Copy)]
struct Class {
    delay: i64,
    is_async: bool,
    /// Whether some code posted it.
    is_posted: bool,
}

fn op(event: &Event) -> Option<&Op> {
    match &event.what {
        EventKind::Performed { op, refused: false, .. } => Some(op),
        _ => None,
    }
}

fn made(event: &Event) -> Option<ContextId> {
    match &event.what {
        EventKind::Performed { made, refused: false, .. } => *made,
        _ => None,
    }
}

/// The context in whose order an event is. The environment queues resumptions, and ends of jobs are known to joins
/// alone.
fn context(event: &Event) -> Option<ContextId> {
    match event.what {
        EventKind::Resumed { .. } | EventKind::JobExit(_) => None,
        _ => event.context,
    }
}

struct Rules<'r> {
    run: &'r Recorded,
    is_precise: bool,
    /// before[j] has i if event i comes before event j.
    before: Vec<BTreeSet<usize>>,
    /// Edges, each as its later event and its earlier one.
    direct: BTreeSet<(usize, usize)>,
}

impl<'r> Rules<'r> {
    fn new(run: &'r Recorded, is_precise: bool) -> Self {
        let mut rules = Self { run, is_precise, before: Vec::new(), direct: BTreeSet::new() };
        for j in 0..run.events.len() {
            let edges: Vec<(usize, usize)> =
                (0..j).filter(|i| rules.has_edge(*i, j) || rules.carries(*i, j)).map(|i| (j, i)).collect();
            rules.direct.extend(edges);
        }
        rules.close();
        let parts = rules.parts();
        while rules.queue(&parts) {
            rules.close();
        }
        rules
    }

    fn has_edge(&self, i: usize, j: usize) -> bool {
        let (x, y) = (&self.run.events[i], &self.run.events[j]);
        let home = |thread: ThreadId| self.run.homes.get(&thread).copied();
        let begins = |event: &Event| matches!(op(event), Some(Op::Begin)) && made(event).is_some();
        let same_context = context(x).is_some() && context(x) == context(y);
        // A message: its post or launch, or its resumption, before its begin. The latest one is that of this begin.
        let is_cause = |k: usize| self.makes(k).is_some() && self.makes(k) == made(y);
        let posts = begins(y) && (0..j).rfind(|k| is_cause(*k)) == Some(i);
        let launches_now = matches!(op(x), Some(Op::Launch { place: LaunchPlace::Now, .. }))
            && made(x).is_some()
            && made(x) == context(y);
        let gives_back = self.launcher(i).is_some_and(|of| context(y) == Some(of));
        let suspends = matches!(y.what, EventKind::Resumed { context: of, .. } if context(x) == Some(of));
        let own_code = x.thread.is_some() && x.thread == y.thread && context(x) == x.thread.and_then(home);
        let ends = match y.what {
            EventKind::JobExit(job) => {
                let is_child = |other: &ThreadId| self.run.parents.get(other) == Some(&job);
                context(x) == home(job) || matches!(&x.what, EventKind::JobExit(other) if is_child(other))
            }
            _ => false,
        };
        let joined = match op(y) {
            Some(Op::Join(other) | Op::Resume(Suspension::Join(other))) => Some(*other),
            _ => None,
        };
        let joins = joined.is_some() && matches!(x.what, EventKind::JobExit(job) if Some(job) == joined);
        same_context || posts || launches_now || gives_back || suspends || own_code && begins(y) || ends || joins
    }

    /// Whether a wait or a semaphore carries order from one event to another one.
    fn carries(&self, i: usize, j: usize) -> bool {
        let (x, y) = (&self.run.events[i], &self.run.events[j]);
        let (EventKind::Performed { value, .. }, Some(after)) = (&y.what, op(y).filter(|_| self.is_precise)) else {
            return false;
        };
        let resumes = matches!(after, Op::Resume(_));
        let queued = (0..j).rev().filter(|_| resumes).find(|k| {
            let other = &self.run.events[*k];
            self.makes(*k) == y.context || other.context == y.context && matches!(op(other), Some(Op::Resume(_)))
        });
        let by = queued.map(|k| (k, &self.run.events[k])).filter(|(_, e)| matches!(e.what, EventKind::Resumed { .. }));
        let by = by.filter(|(_, e)| e.thread.is_some());
        if by.is_some_and(|(k, e)| i < k && context(x) == e.context) {
            return true;
        }
        let took = match after {
            Op::Down(semaphore) => Some(*semaphore),
            Op::DownFor { semaphore, .. } => Some(*semaphore).filter(|_| *value == 1),
            Op::Resume(on) => on.semaphore().filter(|_| *value == 1),
            _ => None,
        };
        let awaited = matches!(after, Op::Resume(Suspension::Await { .. })) && by.is_none() && *value != 0;
        match op(x) {
            Some(Op::Up(semaphore)) => took == Some(*semaphore),
            Some(Op::Write(..) | Op::ListWrite { .. }) => awaited,
            _ => false,
        }
    }

    /// The context that the message of an event runs.
    fn makes(&self, i: usize) -> Option<ContextId> {
        let event = &self.run.events[i];
        match (&event.what, op(event)) {
            (EventKind::Resumed { context, .. }, _) => Some(*context),
            (_, Some(Op::Post { .. } | Op::Launch { .. })) => made(event),
            _ => None,
        }
    }

    /// If an event ends the part of a job that ran inside its launch: the context that launched it.
    fn launcher(&self, end: usize) -> Option<ContextId> {
        let event = &self.run.events[end];
        let of = context(event).filter(|_| matches!(event.what, EventKind::Suspended | EventKind::End))?;
        let is_launch = |i: &usize| made(&self.run.events[*i]) == Some(of);
        let launch = (0..end).rfind(is_launch)?;
        let is_now = matches!(op(&self.run.events[launch]), Some(Op::Launch { place: LaunchPlace::Now, .. }));
        let gave_up = |i: usize| {
            let other = &self.run.events[i];
            context(other) == Some(of) && matches!(other.what, EventKind::Suspended)
        };
        (is_now && !(launch..end).any(gave_up)).then(|| self.run.events[launch].context)?
    }

    // Every edge leads forward, so that one sweep is enough.
    fn close(&mut self) {
        self.before = vec![BTreeSet::new(); self.run.events.len()];
        for (j, i) in &self.direct {
            let known = self.before[*i].clone();
            self.before[*j].extend(known);
            self.before[*j].insert(*i);
        }
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for (begin, event) in self.run.events.iter().enumerate() {
            let (Some(Op::Begin), Some(of), Some(looper)) = (op(event), made(event), event.thread) else { continue };
            let Some(cause) = (0..begin).rfind(|i| self.makes(*i) == Some(of)) else { continue };
            let is_end = |i: &usize| {
                let other = &self.run.events[*i];
                context(other) == Some(of) && matches!(other.what, EventKind::Suspended | EventKind::End)
            };
            parts.push(Part { looper, cause, begin, end: (begin..self.run.events.len()).find(is_end) });
        }
        parts
    }

    fn class(&self, cause: usize) -> Class {
        let event = &self.run.events[cause];
        match op(event) {
            Some(Op::Post { time: PostTime::After(delay), is_async, .. }) => {
                Class { delay: *delay, is_async: *is_async, is_posted: true }
            }
            Some(Op::Post { is_async, .. }) => Class { delay: 0, is_async: *is_async, is_posted: true },
            Some(_) => Class { delay: 0, is_async: true, is_posted: true },
            None => Class { delay: 0, is_async: true, is_posted: false },
        }
    }

    /// Adds the edges that FIFO and NOPRE give now. Returns whether there is a new one.
    fn queue(&mut self, parts: &[Part]) -> bool {
        let known = self.direct.len();
        for second in parts {
            for first in parts.iter().filter(|first| first.looper == second.looper && first.begin != second.begin) {
                let (a, b) = (self.class(first.cause), self.class(second.cause));
                let keeps = a.is_posted && a.delay <= b.delay && (a.is_async || !b.is_async);
                let fifo = keeps && self.before[second.cause].contains(&first.cause);
                let nopre = self.before[second.cause].contains(&first.begin);
                if let Some(end) = first.end.filter(|_| fifo || nopre) {
                    assert!(end < second.begin, "{:?} {:?}", self.run.events[end], self.run.events[second.begin]);
                    self.direct.insert((second.begin, end));
                }
            }
        }
        self.direct.len() > known
    }

    /// Returns the conflicting accesses that are not in order, each with the pair that it is.
    fn found(&self) -> BTreeMap<(usize, usize), (Pair, ContextKind)> {
        let mut found = BTreeMap::new();
        let is_task = |event: &Event| event.thread.and_then(|t| self.run.homes.get(&t)) != event.context.as_ref();
        for (j, y) in self.run.events.iter().enumerate() {
            for (i, x) in self.run.events[..j].iter().enumerate() {
                let accesses = op(x).and_then(Op::access).zip(op(y).and_then(Op::access));
                let conflict = accesses.is_some_and(|(a, b)| a.conflicts(&b)) && x.context != y.context;
                if !conflict || self.before[j].contains(&i) {
                    continue;
                }
                let kind = match (is_task(x), is_task(y)) {
                    _ if x.thread == y.thread => ContextKind::SameLooper,
                    (true, true) => ContextKind::TaskTask,
                    (false, false) => ContextKind::ThreadThread,
                    _ => ContextKind::ThreadTask,
                };
                found.extend(x.site.zip(y.site).map(|(x, y)| ((i, j), (Pair::new(x, y), kind))));
            }
        }
        found
    }
}

/// The detector reports what the rules leave unordered, and ranks it by the precise relation.
#[test]
fn pairs_of_programs_with_jobs_are_those_of_the_rules() {
    let (mut pairs, mut resumed, mut ordered) = (BTreeMap::new(), 0, 0);
    for number in 0..60_000 {
        let text = small_jobs::model(mix(0x0ed9e5, number));
        // The rules above know neither blocks of jobs nor microtasks and channels, which `detect` compares for
        // scripts.
        if [" micro ", "channel c", " scope {", "supervise {", "uncancellable {"].iter().any(|w| text.contains(w)) {
            continue;
        }
        let model = Model::from_text("jobs", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut recorded = Recorded::default();
        let mut machine = model.machine(Limits { steps: 300, ..Limits::default() });
        run(&mut machine, &mut RandomWalk::new(), number, &mut recorded, &AtomicBool::new(false));
        let candidates = std::mem::take(&mut recorded.hybrid).finish();
        let found: BTreeSet<_> = candidates.iter().flat_map(|c| c.kinds.iter().map(|k| (c.pair, *k))).collect();
        let [hybrid, precise] = [false, true].map(|is_precise| Rules::new(&recorded, is_precise).found());
        let expected: BTreeSet<_> = hybrid.values().copied().collect();
        assert_eq!(found, expected, "{number}\n{text}");
        // Of the accesses of one pair some may be in order and others not; the rank is that of one of them.
        for candidate in &candidates {
            let of_pair = |key: &&(usize, usize)| hybrid[*key].0 == candidate.pair;
            let is_unordered = matches!(candidate.rank, Rank::Unordered | Rank::ByQueue);
            let all: BTreeSet<bool> = hybrid.keys().filter(of_pair).map(|key| precise.contains_key(key)).collect();
            assert!(all.contains(&is_unordered), "{number}: {candidate:?}\n{text}");
            ordered += u32::from(!is_unordered);
        }
        resumed += recorded.events.iter().filter(|e| matches!(e.what, EventKind::Resumed { .. })).count();
        expected.iter().for_each(|(_, kind)| *pairs.entry(*kind).or_insert(0) += 1);
    }
    println!("{pairs:?}, {ordered} in order by locks and waits, {resumed} resumptions");
    assert!(pairs.len() == 4 && pairs.values().sum::<u64>() > 1_000, "{pairs:?}");
    assert!(ordered > 5 && resumed > 2_000, "{ordered} {resumed}");
}
