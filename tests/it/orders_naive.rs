//! The classes of a trace by brute force: all runs with its operations are performed, step by step, and the orders of
//! their conflicts are collected. Nothing of the product decides here what may happen.

use raceflip::event::PostTime;
use raceflip::trace::{Action, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A set of up to 128 operations.
type Ops = u128;

/// The conflicts of a trace, and each way in which runs order them: whether the second operation comes first.
pub(crate) struct Orders {
    pub(crate) conflicts: Vec<(OpNo, OpNo)>,
    pub(crate) classes: BTreeSet<Vec<bool>>,
}

/// Returns the orders of all runs with the operations of a trace; `None` if there are more than `most` states.
pub(crate) fn orders(trace: &Trace, known: &[(OpNo, OpNo)], most: usize) -> Option<Orders> {
    assert!(trace.ops.len() <= 128, "{}", trace.ops.len());
    let runs = Runs::new(trace, known);
    let first = State { done: 0, queues: BTreeMap::new(), turned: vec![false; runs.conflicts.len()] };
    let mut seen = HashSet::from([first.clone()]);
    let (mut open, mut classes) = (vec![first], BTreeSet::new());
    while let Some(state) = open.pop() {
        if state.done.count_ones() as usize == trace.ops.len() {
            classes.insert(state.turned);
            continue;
        }
        for next in runs.contexts.values().filter_map(|ops| ops.iter().find(|op| state.done >> op.0 & 1 == 0)) {
            if runs.is_possible(&state, *next) {
                let after = runs.perform(&state, *next);
                if seen.insert(after.clone()) {
                    open.push(after);
                }
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some(Orders { conflicts: runs.conflicts, classes })
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    done: Ops,
    // By looper the messages that were posted and whose tasks have not begun, in the order of their posts.
    queues: BTreeMap<u32, Vec<TaskNo>>,
    turned: Vec<bool>,
}

// What can be asked about the operations of a trace.
struct Runs<'t> {
    trace: &'t Trace,
    // The operations of each context: a thread's own code, a task, or one act of the environment.
    contexts: BTreeMap<(ThreadNo, Option<TaskNo>, Option<OpNo>), Vec<OpNo>>,
    // The operations that must be over before each operation.
    before: Vec<Ops>,
    conflicts: Vec<(OpNo, OpNo)>,
    // For each operation that is in a task: all operations of this task.
    task: Vec<Option<Ops>>,
}

impl<'t> Runs<'t> {
    fn new(trace: &'t Trace, known: &[(OpNo, OpNo)]) -> Self {
        let mut running = BTreeMap::new();
        let mut of = Vec::new();
        let mut contexts: BTreeMap<_, Vec<OpNo>> = BTreeMap::new();
        for (op, operation) in trace.ops.enumerate() {
            if let Action::Begin(task) = operation.action {
                running.insert(operation.thread, task);
            }
            let act = trace.threads[operation.thread].environment.then_some(op);
            let context = (operation.thread, running.get(&operation.thread).copied(), act);
            contexts.entry(context).or_default().push(op);
            of.push(context);
            if matches!(operation.action, Action::End(_)) {
                running.remove(&operation.thread);
            }
        }
        let all = |wanted: &dyn Fn(OpNo) -> bool| -> Ops {
            trace.ops.ids().filter(|op| wanted(*op)).fold(0, |all, op| all | 1 << op.0)
        };
        let is = |op: OpNo, thread: ThreadNo, action: Action| {
            trace.ops[op].thread == thread && trace.ops[op].action == action
        };
        let mut before = Vec::new();
        for (op, operation) in trace.ops.enumerate() {
            let thread = operation.thread;
            let mut needed =
                all(&|other| known.contains(&(other, op)) || trace.ops[other].action == Action::Fork(thread));
            needed |= match operation.action {
                Action::Join(child) => all(&|other| other < op && is(other, child, Action::ThreadExit)),
                Action::Begin(_) => all(&|other| other < op && is(other, thread, Action::Loop)),
                Action::Leave => all(&|other| {
                    other < op && trace.ops[other].thread == thread && matches!(trace.ops[other].action, Action::End(_))
                }),
                Action::Receive(channel) => {
                    all(&|other| other < op && trace.ops[other].action == Action::Send(channel))
                }
                Action::Post(task) => {
                    let about = &trace.tasks[task];
                    all(&|other| {
                        let enables = |event| trace.ops[other].action == Action::Enable(event);
                        other < op
                            && (is(other, about.looper, Action::AttachQueue)
                                || about.events.iter().any(|event| enables(*event)))
                    })
                }
                _ => 0,
            };
            before.push(needed);
        }
        let mut conflicts = Vec::new();
        for j in trace.ops.ids() {
            for i in trace.ops.ids().take_while(|i| *i < j) {
                let (a, b) = (&trace.ops[i], &trace.ops[j]);
                let accesses = a.action.access().zip(b.action.access());
                let races = accesses.is_some_and(|((x, writes), (y, writes_too))| x == y && (writes || writes_too));
                let sections = matches!((a.action, b.action), (Action::Acquire(x), Action::Acquire(y)) if x == y);
                if races && of[i.0 as usize] != of[j.0 as usize] || sections && a.thread != b.thread {
                    conflicts.push((i, j));
                }
            }
        }
        conflicts.sort_unstable();
        let task =
            of.iter().map(|context| context.1.map(|_| contexts[context].iter().fold(0, |all, op| all | 1 << op.0)));
        Self { trace, before, conflicts, task: task.collect(), contexts }
    }

    fn is_possible(&self, state: &State, op: OpNo) -> bool {
        let operation = &self.trace.ops[op];
        if self.before[op.0 as usize] & !state.done != 0 {
            return false;
        }
        let mut others = self.trace.ops.enumerate().filter(|(other, _)| state.done >> other.0 & 1 == 1);
        match operation.action {
            Action::Begin(task) => {
                // No task of the thread has begun and is not over.
                let mut tasks = self
                    .task
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| self.trace.ops[OpNo(*i as u32)].thread == operation.thread);
                let is_busy = tasks.any(|(i, ops)| {
                    state.done >> i & 1 == 1 && ops.is_some_and(|ops| ops & !state.done != 0 || !self.ends(ops))
                });
                let is_posted = self.trace.tasks[task].post.is_some();
                !is_busy && (!is_posted || self.is_next(state.queues.get(&operation.thread.0), task))
            }
            Action::Acquire(lock) => {
                let count = |thread: ThreadNo, done: &mut dyn Iterator<Item = Action>| {
                    done.fold(0, |held, action| match action {
                        Action::Acquire(of) if of == lock => held + 1,
                        Action::Release(of) if of == lock => held - 1,
                        _ => held,
                    }) * i32::from(thread != operation.thread)
                };
                let mut by_thread: BTreeMap<ThreadNo, Vec<Action>> = BTreeMap::new();
                others.by_ref().for_each(|(_, other)| by_thread.entry(other.thread).or_default().push(other.action));
                by_thread.into_iter().all(|(thread, done)| count(thread, &mut done.into_iter()) <= 0)
            }
            _ => true,
        }
    }

    // Whether a task has an end.
    fn ends(&self, ops: Ops) -> bool {
        let mut all = self.trace.ops.enumerate().filter(|(op, _)| ops >> op.0 & 1 == 1);
        all.any(|(_, operation)| matches!(operation.action, Action::End(_)))
    }

    // Whether the queue may give this message next, if the clock may do anything.
    fn is_next(&self, queue: Option<&Vec<TaskNo>>, task: TaskNo) -> bool {
        let queue = queue.map_or(&[][..], |queue| queue);
        let Some(at) = queue.iter().position(|queued| *queued == task) else { return false };
        let time = |task: TaskNo| self.trace.tasks[task].time;
        let delay = |time| if let PostTime::After(delay) = time { delay.max(0) } else { 0 };
        !queue.iter().enumerate().any(|(i, other)| match (time(*other), time(task)) {
            (PostTime::Micro, PostTime::Micro) => i < at,
            (PostTime::Micro, _) => true,
            (_, PostTime::Micro) => false,
            (PostTime::Front, PostTime::Front) => i > at,
            (PostTime::Front, _) => true,
            (_, PostTime::Front) => false,
            (other, mine) => i < at && delay(other) <= delay(mine),
        })
    }

    fn perform(&self, state: &State, op: OpNo) -> State {
        let mut next = state.clone();
        let operation = &self.trace.ops[op];
        match operation.action {
            Action::Post(task) if self.trace.tasks[task].begin.is_some() => {
                next.queues.entry(self.trace.tasks[task].looper.0).or_default().push(task);
            }
            Action::Begin(task) => {
                next.queues.entry(operation.thread.0).or_default().retain(|queued| *queued != task);
            }
            _ => {}
        }
        for (turned, (first, second)) in next.turned.iter_mut().zip(&self.conflicts) {
            *turned |= *second == op && state.done >> first.0 & 1 == 0;
        }
        next.done |= 1 << op.0;
        next
    }
}

/// Whether the messages of a trace are all of kinds that this module knows.
pub(crate) fn is_known(trace: &Trace) -> bool {
    let known = |time| matches!(time, PostTime::Now | PostTime::After(_) | PostTime::Front | PostTime::Micro);
    trace.tasks.iter().all(|task| known(task.time) && !task.is_async)
}

/// Whether a log is one of the traces by hand of EM-Explorer that do not deadlock.
pub(crate) fn is_by_hand(name: &str) -> bool {
    name.contains("benchmark-traces") && !name.contains("deadlocks")
}
