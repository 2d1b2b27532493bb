//! Compares the closure with a naive implementation of the rules, over operations instead of nodes, on small random
//! traces.

use super::SourceOrder;
use crate::base::Id;
use crate::event::PostTime;
use crate::trace::{Action, Builder, LockNo, OpNo, Operation, SiteNo, TaskNo, ThreadNo, Trace};
use proptest::prelude::*;

// A relation over operations, and the queries of the rules.
struct NaiveClosure<'t> {
    trace: &'t Trace,
    // Number of the context of each operation, and the task if the context is one.
    context: Vec<usize>,
    task: Vec<Option<TaskNo>>,
    before: Vec<Vec<bool>>,
}

impl<'t> NaiveClosure<'t> {
    fn new(trace: &'t Trace) -> Self {
        let n = trace.ops.len();
        let mut of = Self { trace, context: vec![0; n], task: vec![None; n], before: vec![vec![false; n]; n] };
        of.contexts();
        of.base();
        while of.rules() {}
        of
    }

    fn op(&self, at: usize) -> Operation {
        self.trace.ops[OpNo::new(at)]
    }

    fn contexts(&mut self) {
        let mut open: Vec<Option<usize>> = vec![None; self.trace.threads.len()];
        let mut task: Vec<Option<TaskNo>> = vec![None; self.trace.threads.len()];
        for at in 0..self.trace.ops.len() {
            let op = self.op(at);
            let thread = op.thread.index();
            if let Action::Begin(no) = op.action {
                (open[thread], task[thread]) = (None, Some(no).filter(|no| self.trace.tasks[*no].post.is_some()));
            }
            if op.action == Action::Leave {
                open[thread] = None;
            }
            self.context[at] = *open[thread].get_or_insert(at);
            self.task[at] = task[thread];
            if matches!(op.action, Action::End(_) | Action::Loop | Action::ThreadExit) {
                (open[thread], task[thread]) = (None, None);
            }
            if self.trace.threads[op.thread].environment {
                open[thread] = None;
            }
        }
    }

    fn find(&self, what: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.trace.ops.len()).find(|at| what(*at))
    }

    fn begin(&self, task: TaskNo) -> Option<usize> {
        self.find(|at| self.op(at).action == Action::Begin(task))
    }

    fn end(&self, task: TaskNo) -> Option<usize> {
        self.find(|at| self.op(at).action == Action::End(task))
    }

    // Returns the last releases of a thread before an operation.
    fn releases(&self, lock: LockNo, thread: ThreadNo, at: usize) -> Vec<usize> {
        let all: Vec<usize> =
            (0..at).filter(|r| self.op(*r).action == Action::Release(lock) && self.op(*r).thread == thread).collect();
        let outside = all.iter().rposition(|r| self.task[*r].is_none());
        match outside {
            Some(last) if last + 1 == all.len() => vec![all[last]],
            _ => {
                let since = &all[outside.map_or(0, |o| o + 1)..];
                let last = |r: &&usize| !since.iter().any(|s| s > *r && self.context[*s] == self.context[**r]);
                since.iter().filter(last).copied().collect()
            }
        }
    }

    fn released(&self, lock: LockNo, at: usize) -> Option<ThreadNo> {
        (0..at).rev().find(|r| self.op(*r).action == Action::Release(lock)).map(|r| self.op(r).thread)
    }

    fn acquired(&self, lock: LockNo, at: usize) -> Vec<usize> {
        let Some(last) = self.released(lock, at) else { return Vec::new() };
        if last != self.op(at).thread {
            return self.releases(lock, last, at);
        }
        if self.task[at].is_none() {
            return Vec::new();
        }
        let other = |a: &usize| {
            self.op(*a).action == Action::Acquire(lock)
                && self.released(lock, *a).is_some_and(|thread| thread != self.op(*a).thread)
        };
        match (0..at).rev().find(other) {
            Some(a) if self.task[a].is_some() => self.acquired(lock, a),
            _ => Vec::new(),
        }
    }

    fn base(&mut self) {
        let n = self.trace.ops.len();
        let mut edges = Vec::new();
        let of = &*self;
        for at in 0..n {
            let op = of.op(at);
            edges.extend((at + 1..n).filter(|b| self.context[*b] == self.context[at]).map(|b| (at, b)));
            let earlier = |action: Action| (0..at).filter(move |a| of.op(*a).action == action);
            match op.action {
                Action::Fork(child) => {
                    let first = self.find(|a| self.op(a).thread == child);
                    edges.extend(first.filter(|first| *first > at).map(|first| (at, first)));
                }
                Action::Join(child) => {
                    edges.extend(earlier(Action::ThreadExit).filter(|a| self.op(*a).thread == child).map(|a| (a, at)));
                }
                Action::Loop => {
                    edges.extend(
                        earlier(Action::AttachQueue).filter(|a| self.op(*a).thread == op.thread).map(|a| (a, at)),
                    );
                }
                Action::Post(_) if self.task[at].is_none() => {
                    edges.extend(
                        earlier(Action::AttachQueue).filter(|a| self.op(*a).thread == op.thread).map(|a| (a, at)),
                    );
                }
                Action::Leave => {
                    let ends = (0..at).filter(|a| matches!(of.op(*a).action, Action::End(_)));
                    edges.extend(ends.filter(|a| of.op(*a).thread == op.thread).map(|a| (a, at)));
                }
                Action::Begin(task) => edges.extend(self.before_begin(task, at)),
                Action::Acquire(lock) => edges.extend(self.acquired(lock, at).into_iter().map(|a| (a, at))),
                Action::Receive(channel) => edges.extend(earlier(Action::Send(channel)).map(|a| (a, at))),
                _ => {}
            }
        }
        for (a, b) in edges {
            self.before[a][b] = true;
        }
    }

    fn before_begin(&self, no: TaskNo, at: usize) -> Vec<(usize, usize)> {
        let task = &self.trace.tasks[no];
        let post = task.post.map(Id::index);
        let mut edges = Vec::new();
        if let Some(post) = post {
            edges.push((post, at));
            let last = (0..at).rev().find(|a| (self.op(*a).thread, self.op(*a).action) == (task.looper, Action::Loop));
            edges.extend(last.map(|a| (a, at)));
            let parent = self.task[post].filter(|parent| self.trace.tasks[*parent].looper == task.looper);
            edges.extend(parent.and_then(|parent| self.end(parent)).map(|end| (end, at)));
        }
        for event in &task.events {
            let last = (0..at).rev().find(|a| self.op(*a).action == Action::Enable(*event));
            edges.extend(last.map(|a| (a, post.unwrap_or(at))));
        }
        edges
    }

    // Whether two tasks of one looper that ran are in this order.
    fn ordered(&self, first: TaskNo, second: TaskNo) -> bool {
        match (self.end(first), self.begin(second)) {
            (Some(end), Some(begin)) => self.before[end][begin],
            _ => false,
        }
    }

    fn allowed(&self, a: usize, b: usize) -> bool {
        let same = self.op(a).thread == self.op(b).thread;
        match (self.task[a], self.task[b]) {
            (Some(one), Some(two)) if same && one != two => self.ordered(one, two),
            _ => true,
        }
    }

    fn rules(&mut self) -> bool {
        let n = self.trace.ops.len();
        let mut new = Vec::new();
        for (a, k, b) in (0..n).flat_map(|a| (0..n).flat_map(move |k| (0..n).map(move |b| (a, k, b)))) {
            if self.before[a][k] && self.before[k][b] {
                let into = match (self.op(k).action, self.op(b).action) {
                    (Action::Post(one), Action::Begin(two)) => one == two,
                    _ => false,
                };
                if into || self.allowed(a, b) {
                    new.push((a, b));
                }
            }
        }
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| self.before[*a][*b]) {
            if let (Action::Post(one), Action::Post(two)) = (self.op(a).action, self.op(b).action) {
                new.extend(self.fifo(one, two));
            }
            if let (Some(one), Action::Begin(two)) = (self.task[a], self.op(b).action)
                && one != two
                && self.op(a).thread == self.op(b).thread
                && self.task[b].is_some()
            {
                new.extend(self.end(one).filter(|end| *end < b).map(|end| (end, b)));
            }
            new.extend(self.intents(a, b));
        }
        let old = self.before.clone();
        for (a, b) in new {
            self.before[a][b] = true;
        }
        old != self.before
    }

    fn fifo(&self, one: TaskNo, two: TaskNo) -> Option<(usize, usize)> {
        let (first, second) = (&self.trace.tasks[one], &self.trace.tasks[two]);
        let (end, begin) = (self.end(one)?, self.begin(two)?);
        let delay = |time: PostTime| match time {
            PostTime::After(d) => d.max(0),
            _ => 0,
        };
        let (d, e) = (delay(first.time), delay(second.time));
        let in_time = second.time != PostTime::Front && (d == 0 || e > 0 && d <= e);
        let parent = second.post.and_then(|post| self.task[post.index()]);
        let later = parent.and_then(|parent| self.begin(parent)).is_some_and(|begin| self.before[end][begin]);
        (one != two && first.looper == second.looper && end < begin && (in_time || later)).then_some((end, begin))
    }

    // Returns the edges between posts that two intents cause, if they were sent at these operations.
    fn intents(&self, a: usize, b: usize) -> Vec<(usize, usize)> {
        let sent = |at: usize| -> Vec<usize> {
            let Action::Enable(event) = self.op(at).action else { return Vec::new() };
            let last =
                |begin: usize| (0..begin).rev().find(|e| self.op(*e).action == Action::Enable(event)) == Some(at);
            let tasks = self.trace.tasks.enumerate().filter(|(_, task)| task.events.contains(&event));
            let tasks = tasks.filter(|(no, _)| self.begin(*no).is_some_and(last));
            let named = self.trace.events[event].starts_with("broadcast intent ");
            tasks.filter(|_| named).filter_map(|(_, task)| task.post.map(Id::index)).collect()
        };
        let second = sent(b);
        sent(a).into_iter().flat_map(|p| second.iter().map(move |q| (p, *q))).filter(|_| a != b).collect()
    }
}

// Returns a trace of two loopers, a worker, a binder thread and the environment.
fn trace(steps: &[(u8, u8, u8)]) -> Trace {
    let mut b = Builder::new();
    let threads =
        [b.thread("main"), b.thread("looper"), b.thread("worker"), b.thread("binder"), b.environment("world")];
    let locks = [b.lock("l"), b.lock("m")];
    let events = ["event a", "broadcast intent 1", "broadcast intent 2", "idle b"].map(|name| b.event(name));
    let (x, y, channel) = (b.location("x", "x"), b.location("y", "y"), b.channel());
    let mut pending: [Vec<TaskNo>; 2] = Default::default();
    for looper in &threads[..2] {
        let _ = b.push(*looper, Action::AttachQueue, SiteNo::NONE, 0);
    }
    for (who, what, arg) in steps.iter().copied() {
        let thread = threads[usize::from(who) % 5];
        let looper = usize::from(who) % 5;
        let action = match what % 15 {
            0..=3 => {
                let to = usize::from(arg / 2 % 2);
                let time =
                    [PostTime::Now, PostTime::After(5), PostTime::After(9), PostTime::Front][usize::from(arg / 4 % 4)];
                let task = b.task("t", threads[to], time, false);
                if arg >= 128 {
                    b.handles(task, events[usize::from(arg / 16 % 4)]);
                }
                pending[to].push(task);
                Action::Post(task)
            }
            4..=6 if looper < 2 => match b.running(thread) {
                Some(task) => Action::End(task),
                None if b.push(thread, Action::Loop, SiteNo::NONE, 0).is_ok() || pending[looper].is_empty() => continue,
                None => Action::Begin(pending[looper].remove(usize::from(arg) % pending[looper].len())),
            },
            4..=6 if looper == 3 => {
                let _ = if arg % 2 == 0 { b.begin_section(thread, 0) } else { b.end_section(thread, 0) };
                continue;
            }
            7 => Action::Acquire(locks[usize::from(arg % 2)]),
            8 => Action::Release(locks[usize::from(arg % 2)]),
            9 => Action::Enable(events[usize::from(arg % 4)]),
            10 => Action::Send(channel),
            11 => Action::Receive(channel),
            12 => Action::Fork(threads[2]),
            13 if arg % 8 == 0 => {
                [Action::ThreadExit, Action::Leave, Action::Join(threads[2])][usize::from(arg / 8 % 3)]
            }
            _ if arg % 2 == 0 => Action::Write(if arg % 4 == 0 { x } else { y }),
            _ => Action::Read(if arg % 4 == 1 { x } else { y }),
        };
        let _ = b.push(thread, action, SiteNo::NONE, 0);
    }
    b.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_closure_is_what_the_rules_say(steps in prop::collection::vec(any::<(u8, u8, u8)>(), 0..70)) {
        let trace = trace(&steps);
        let (order, naive) = (SourceOrder::new(&trace).unwrap(), NaiveClosure::new(&trace));
        for (a, b) in trace.ops.ids().flat_map(|a| trace.ops.ids().map(move |b| (a, b))).filter(|(a, b)| a != b) {
            // A cycle through a node (an enable comes before a post that came before it) orders the node's accesses
            // both ways. Callers never ask for that.
            if order.nodes.of[a] == order.nodes.of[b] && a > b {
                continue;
            }
            let answer = naive.before[a.index()][b.index()];
            prop_assert_eq!(order.is_before(a, b), answer, "{:?} {:?} of {:#?}", a, b, &trace.ops);
        }
    }
}

#[test]
fn an_edge_between_two_tasks_without_an_order_orders_nothing_else() {
    let mut b = Builder::new();
    let (looper, channel) = (b.thread("looper"), b.channel());
    let [one, two] = ["one", "two"].map(|name| b.task(name, looper, PostTime::Now, false));
    let worlds = ["world", "other world"].map(|name| b.thread(name));
    let actions = [
        (looper, Action::AttachQueue),
        (looper, Action::Loop),
        (worlds[0], Action::Post(one)),
        (worlds[1], Action::Post(two)),
        (looper, Action::Begin(one)),
        (looper, Action::Send(channel)),
        (looper, Action::End(one)),
        (looper, Action::Begin(two)),
        (looper, Action::Receive(channel)),
    ];
    for (thread, action) in actions {
        b.push(thread, action, SiteNo::NONE, 0).unwrap();
    }
    let trace = b.finish();
    let order = SourceOrder::new(&trace).unwrap();
    assert!(order.is_before(OpNo(5), OpNo(8)));
    assert!(!order.is_before(OpNo(4), OpNo(8)) && !order.is_before(OpNo(6), OpNo(7)));
}

#[test]
fn a_trace_that_is_too_large_is_refused() {
    let mut b = Builder::new();
    let (thread, lock) = (b.thread("main"), b.lock("l"));
    for _ in 0..=SourceOrder::MOST / 2 {
        b.push(thread, Action::Acquire(lock), SiteNo::NONE, 0).unwrap();
        b.push(thread, Action::Release(lock), SiteNo::NONE, 0).unwrap();
    }
    let trace = b.finish();
    let answer = SourceOrder::new(&trace).unwrap_err().to_string();
    assert!(answer.contains("40002 nodes") && answer.contains("use the printed rules"), "{answer}");
}
