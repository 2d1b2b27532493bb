//! The rules implemented literally: a matrix over all events, a fixpoint for FIFO and NOPRE, all pairs of accesses.

use super::{EventRecord, Pair, PairKinds, RecordedRun, naive_edges};
use crate::detect::relation::RelationEdges;
use crate::detect::{ContextKind, Rank};
use crate::event::{ContextId, Event, EventId, EventKind, LockId, Op, PostTime, RwLockId, ThreadId};
use crate::world::{CreationKind, World};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

// Pseudo-thread of `init`.
const INIT: ThreadId = ThreadId(u32::MAX);

pub(super) struct Relation<'a> {
    world: &'a World,
    edges: RelationEdges,
    pub(super) all: Vec<EventRecord>,
    // direct[j][i]: an edge from i to j.
    direct: Vec<Vec<bool>>,
    // before[j][i]: i happens before j.
    pub(super) before: Vec<Vec<bool>>,
}

// A task that has begun.
struct Task {
    looper: ThreadId,
    begin: usize,
    // Last event of the task, if it has ended.
    end: Option<usize>,
    // Post or firing of the task.
    cause: usize,
    // The begin from which NOPRE counts: that of the task. Of a microtask it is the begin of the message before it, or
    // `None` if there is none: such a microtask comes before all messages of its looper.
    counts_from: Option<usize>,
}

/// Returns the candidates of the run of this hybrid relation, each with the ranks of all its occurrences.
pub(super) fn candidates(run: &RecordedRun, relation: &Relation<'_>) -> (PairKinds, BTreeMap<Pair, BTreeSet<Rank>>) {
    let (precise, queued) = (Relation::new(run, RelationEdges::Precise), Relation::new(run, RelationEdges::Queued));
    let all = &relation.all;
    let (mut found, mut ranks) = (PairKinds::new(), BTreeMap::<_, BTreeSet<_>>::new());
    for j in 0..all.len() {
        for i in 0..j {
            let (x, y) = (&all[i].event, &all[j].event);
            let Some((a, b)) = access(x).zip(access(y)) else { continue };
            if !a.conflicts(&b) || x.context == y.context || relation.before[j][i] {
                continue;
            }
            let kind = kind(run, x, y);
            if kind != ContextKind::SameLooper && guarded(all, i, j) {
                continue;
            }
            if let Some((s, t)) = x.site.zip(y.site) {
                found.insert((Pair::new(s, t), kind));
                let rank = match (precise.before[j][i], queued.before[j][i]) {
                    (true, _) => Rank::ByLocks,
                    (false, true) => Rank::ByQueue,
                    (false, false) => Rank::Unordered,
                };
                ranks.entry(Pair::new(s, t)).or_default().insert(rank);
            }
        }
    }
    (found, ranks)
}

pub(super) fn kind(run: &RecordedRun, x: &Event, y: &Event) -> ContextKind {
    let task = |e: &Event| e.thread.is_some_and(|t| Some(run.machine.world.thread(t).home) != e.context);
    match (task(x), task(y)) {
        _ if x.thread == y.thread => ContextKind::SameLooper,
        (true, true) => ContextKind::TaskTask,
        (false, false) => ContextKind::ThreadThread,
        _ => ContextKind::ThreadTask,
    }
}

fn access(event: &Event) -> Option<crate::event::Access> {
    op(event).and_then(Op::access)
}

pub(super) fn op(event: &Event) -> Option<&Op> {
    match &event.what {
        EventKind::Performed { op, .. } => Some(op),
        _ => None,
    }
}

pub(super) fn made(event: &Event) -> Option<ContextId> {
    match &event.what {
        EventKind::Performed { made, .. } => *made,
        EventKind::Fire(_, context) => Some(*context),
        EventKind::Repeated { task, .. } => Some(*task),
        _ => None,
    }
}

// Locks, read sides and write sides that the thread of event `at` holds at that event. They are counted from its
// operations without those that threw.
pub(super) type HeldLocks = (BTreeMap<LockId, i64>, BTreeMap<RwLockId, i64>, BTreeMap<RwLockId, i64>);

pub(super) fn holds(all: &[EventRecord], at: usize) -> HeldLocks {
    let (mut locks, mut reads, mut writes) = HeldLocks::default();
    let mut put_aside = BTreeMap::new();
    for seen in all[..at].iter().filter(|s| s.event.thread == all[at].event.thread) {
        match op(&seen.event) {
            Some(Op::Reacquire { lock, .. }) => {
                locks.insert(*lock, put_aside.remove(lock).unwrap_or(0));
            }
            _ if seen.threw => {}
            Some(Op::Acquire(lock)) => *locks.entry(*lock).or_default() += 1,
            Some(Op::Release(lock)) => *locks.entry(*lock).or_default() -= 1,
            Some(Op::Wait { lock, .. }) => {
                put_aside.insert(*lock, locks.remove(lock).unwrap_or(0));
            }
            Some(Op::ReadLock(lock)) => *reads.entry(*lock).or_default() += 1,
            Some(Op::ReadUnlock(lock)) => *reads.entry(*lock).or_default() -= 1,
            Some(Op::WriteLock(lock)) => *writes.entry(*lock).or_default() += 1,
            Some(Op::WriteUnlock(lock)) => *writes.entry(*lock).or_default() -= 1,
            _ => {}
        }
    }
    locks.retain(|_, n| *n > 0);
    reads.retain(|_, n| *n > 0);
    writes.retain(|_, n| *n > 0);
    (locks, reads, writes)
}

pub(super) fn guarded(all: &[EventRecord], i: usize, j: usize) -> bool {
    let ((l1, r1, w1), (l2, r2, w2)) = (holds(all, i), holds(all, j));
    l1.keys().any(|l| l2.contains_key(l))
        || w1.keys().any(|l| w2.contains_key(l) || r2.contains_key(l))
        || w2.keys().any(|l| r1.contains_key(l))
}

impl<'a> Relation<'a> {
    pub(super) fn new(run: &'a RecordedRun, edges: RelationEdges) -> Self {
        let world = &run.machine.world;
        let mut all = init_events(run);
        let init = all.len();
        all.extend(run.events.iter().cloned());
        let n = all.len();
        let direct = vec![vec![false; n]; n];
        let mut relation = Self { world, edges, all, direct, before: Vec::new() };
        relation.basic(init);
        if edges != RelationEdges::Hybrid {
            for (i, j) in naive_edges::channel_edges(&relation.all) {
                relation.edge(i, j);
            }
        }
        relation.close();
        let tasks = relation.tasks();
        while relation.queue_rules(&tasks) {
            relation.close();
        }
        relation
    }

    fn edge(&mut self, i: usize, j: usize) {
        assert!(i < j, "an effect before its cause: {:?} {:?}", self.all[i].event, self.all[j].event);
        self.direct[j][i] = true;
    }

    // Closes the relation. Every edge leads forward, so that one sweep is enough.
    fn close(&mut self) {
        let n = self.all.len();
        self.before = vec![vec![false; n]; n];
        for j in 0..n {
            for i in 0..j {
                if self.direct[j][i] {
                    let (earlier, later) = self.before.split_at_mut(j);
                    later[0][i] = true;
                    later[0].iter_mut().zip(&earlier[i]).for_each(|(x, y)| *x |= *y);
                }
            }
        }
    }

    fn basic(&mut self, init: usize) {
        let n = self.all.len();
        let home = |t: ThreadId| (t != INIT).then(|| self.world.thread(t).home);
        let mut edges = Vec::new();
        for j in 0..n {
            let y = &self.all[j].event;
            // `init` is before everything.
            if j >= init {
                edges.extend((0..init).map(|i| (i, j)));
            }
            for i in 0..j {
                let x = &self.all[i].event;
                let same_context = x.context.is_some() && x.context == y.context;
                let forks = matches!(y.what, EventKind::ThreadInit) && made(x).is_some() && made(x) == y.context;
                let posts = matches!(op(y), Some(Op::Begin)) && made(x).is_some() && made(x) == made(y);
                let joins = matches!(x.what, EventKind::ThreadExit)
                    && matches!(op(y), Some(Op::Join(t)) if Some(*t) == x.thread);
                let attaches = matches!(op(x), Some(Op::AttachQueue))
                    && !self.all[i].threw
                    && self.all[j].looper.is_some()
                    && self.all[j].looper == x.thread;
                let same_thread = x.thread.is_some() && x.thread == y.thread;
                let enters = same_thread && x.context == x.thread.and_then(home) && matches!(op(y), Some(Op::Begin));
                let leaves = same_thread
                    && (matches!(op(y), Some(Op::Begin)) && made(y).is_none()
                        || matches!(y.what, EventKind::ThreadExit));
                if same_context || forks || posts || joins || attaches || enters || leaves {
                    edges.push((i, j));
                }
            }
        }
        edges.extend(self.barriers());
        edges.extend(self.firings());
        for (i, j) in edges {
            self.edge(i, j);
        }
    }

    fn barriers(&self) -> Vec<(usize, usize)> {
        let mut edges = Vec::new();
        let mut arrivals = BTreeMap::<_, Vec<usize>>::new();
        for (j, seen) in self.all.iter().enumerate() {
            match op(&seen.event) {
                Some(Op::Arrive(barrier)) => {
                    let parties = self.world.setup().barriers[barrier.0 as usize].1 as usize;
                    let of = arrivals.entry(*barrier).or_default();
                    of.push(j);
                    if of.len().is_multiple_of(parties) {
                        edges.extend(of[of.len() - parties..of.len() - 1].iter().map(|i| (*i, j)));
                    }
                }
                Some(Op::Pass { barrier, generation }) => {
                    let parties = self.world.setup().barriers[barrier.0 as usize].1 as usize;
                    let first = *generation as usize * parties;
                    edges.extend(arrivals[barrier][first..first + parties].iter().map(|i| (*i, j)));
                }
                _ => {}
            }
        }
        edges
    }

    fn firings(&self) -> Vec<(usize, usize)> {
        let mut edges = Vec::new();
        let mut left: BTreeMap<EventId, VecDeque<Option<usize>>> = BTreeMap::new();
        for (id, event) in self.world.setup().events.enumerate() {
            left.insert(id, vec![None; event.initially as usize].into());
        }
        for (j, seen) in self.all.iter().enumerate() {
            match (&seen.event.what, op(&seen.event)) {
                (_, Some(Op::Enable { event, .. })) => left.entry(*event).or_default().push_back(Some(j)),
                (_, Some(Op::Disable(event))) => left.entry(*event).or_default().clear(),
                (EventKind::Fire(event, _), _) => {
                    let enable = left.entry(*event).or_default().pop_front().expect("an enable");
                    edges.extend(enable.map(|i| (i, j)));
                }
                _ => {}
            }
        }
        edges
    }

    fn tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for (begin, seen) in self.all.iter().enumerate() {
            let (Some(Op::Begin), Some(context)) = (op(&seen.event), made(&seen.event)) else { continue };
            let cause = (0..begin).find(|i| made(&self.all[*i].event) == Some(context)).expect("a post");
            let end = (begin..self.all.len()).find(|i| {
                let e = &self.all[*i].event;
                matches!(e.what, EventKind::End) && e.context == Some(context)
            });
            let looper = seen.event.thread.expect("a looper");
            let counts_from = if self.is_micro(cause) { self.message_before(looper, begin) } else { Some(begin) };
            tasks.push(Task { looper, begin, end, cause, counts_from });
        }
        tasks
    }

    fn is_micro(&self, cause: usize) -> bool {
        matches!(op(&self.all[cause].event), Some(Op::Post { time: PostTime::Micro, .. }))
    }

    fn is_idle(&self, cause: usize) -> bool {
        match &self.all[cause].event.what {
            EventKind::Performed { op: Op::Post { time, .. }, .. } | EventKind::Repeated { time, .. } => {
                matches!(time, PostTime::Idle { .. })
            }
            _ => false,
        }
    }

    // The last begin of a message on the looper before this event, since the looper entered its loop.
    fn message_before(&self, looper: ThreadId, at: usize) -> Option<usize> {
        for i in (0..at).rev().filter(|i| self.all[*i].event.thread == Some(looper)) {
            let event = &self.all[i].event;
            if matches!(op(event), Some(Op::Begin)) {
                let context = made(event)?;
                let cause = (0..i).find(|c| made(&self.all[*c].event) == Some(context)).expect("a post");
                if !self.is_micro(cause) {
                    return Some(i);
                }
            }
        }
        None
    }

    // Adds the edges that FIFO and NOPRE give now. Returns whether any is new.
    fn queue_rules(&mut self, tasks: &[Task]) -> bool {
        let mut more = false;
        for e2 in tasks {
            for e1 in tasks.iter().filter(|e1| e1.looper == e2.looper && e1.begin != e2.begin) {
                let ordered = self.before[e2.cause][e1.cause] || self.ordered_by_queue(e1, e2);
                let fifo = ordered && self.keeps_order(e1.cause, e2.cause);
                let nopre = match e1.counts_from {
                    // The microtasks of one message have the order of their posts, and come after the message.
                    from if self.is_micro(e2.cause) && from == e2.counts_from => e1.begin < e2.begin,
                    Some(begin) => self.before[e2.cause][begin],
                    None => e1.begin < e2.begin,
                };
                if fifo || nopre {
                    // This also tests the rules: the world must not have begun the tasks the other way round.
                    assert!(e1.begin < e2.begin, "{:?} {:?}", self.all[e1.cause].event, self.all[e2.cause].event);
                    let end = e1.end.expect("a task that ended");
                    if !self.direct[e2.begin][end] {
                        self.edge(end, e2.begin);
                        more = true;
                    }
                }
            }
        }
        more
    }

    // Whether the queue orders the causes of two tasks: some post to this looper, from the first cause on, is the
    // second cause or before it.
    fn ordered_by_queue(&self, e1: &Task, e2: &Task) -> bool {
        let posts = |i: usize| self.all[i].looper == Some(e1.looper) && made(&self.all[i].event).is_some();
        let known = |i: usize| i == e2.cause || self.before[e2.cause][i];
        self.edges == RelationEdges::Queued && posts(e1.cause) && (e1.cause..=e2.cause).any(|i| posts(i) && known(i))
    }

    // Whether the first message is before the second one at whatever instants they are posted, and no fence lets the
    // second pass.
    fn keeps_order(&self, first: usize, second: usize) -> bool {
        const LAST: i64 = 40;
        // NOPRE orders microtasks.
        if self.is_micro(first) || self.is_micro(second) || self.is_idle(first) {
            return false;
        }
        // An idle handler comes after the messages that are due when it is registered.
        let idle = self.is_idle(second);
        let at = |i: usize| if self.all[i].event.thread == Some(INIT) { 1..=1 } else { 1..=LAST };
        let when = |i: usize, now: i64| match op(&self.all[i].event) {
            Some(Op::Post { time, .. }) => match time {
                PostTime::Now => now,
                PostTime::After(d) => now + d.max(&0),
                PostTime::Front => 0,
                PostTime::At(t) => *t.max(&0),
                PostTime::Micro | PostTime::Idle { .. } => now,
            },
            _ => now,
        };
        let is_async = |i: usize| matches!(op(&self.all[i].event), Some(Op::Post { is_async: true, .. }));
        at(first).all(|n1| {
            at(second).filter(|n2| n1 <= *n2).all(|n2| {
                let (w1, w2) = (when(first, n1), when(second, n2));
                if idle {
                    return w1 <= n2;
                }
                w2 > 0 && w1 <= w2 && (w1 == 0 || is_async(first) || !is_async(second))
            })
        })
    }
}

// Returns the operations of `init`, which are not recorded, with the contexts that they created, in order.
fn init_events(run: &RecordedRun) -> Vec<EventRecord> {
    let (world, script) = (&run.machine.world, &run.machine.guest);
    let contexts = world.contexts();
    let all = (0..contexts.len() as u32).map(ContextId);
    let Some(init) = all.clone().find(|c| contexts.made(*c) == CreationKind::Init) else { return Vec::new() };
    let mut children = all.filter(|c| contexts.parent(*c) == Some(init));
    let event = |op: &Op| {
        let made = match op {
            Op::Post { .. } | Op::Fork { .. } => children.next(),
            _ => None,
        };
        let what = EventKind::Performed { op: *op, value: 0, made };
        Event { step: 0, thread: Some(INIT), context: Some(init), site: None, now: 1, what }
    };
    let seen =
        |event| EventRecord { event, looper: None, threw: false, awaits: BTreeMap::new(), waiting: BTreeSet::new() };
    script.init.iter().map(event).map(seen).collect()
}
