//! The contexts of a trace and its must-order.
//!
//! A context is the own code of a thread or one task. The must-order consists of the orders that every run has: program
//! order in a context, fork, join, post to begin, and the enables of an event to the post of its handler. The order of
//! queues, locks and signals is no part of it.

use crate::base::IndexVec;
use crate::trace::{Action, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::{BTreeMap, BTreeSet};

crate::define_id! {
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// A context of a trace.
    ContextNo,
}

/// The part of a trace that a context is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ContextKind {
    /// The own code of a thread: everything but its tasks.
    Home(ThreadNo),
    /// A task.
    Task(TaskNo),
}

/// A context with its operations, in their order.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) kind: ContextKind,
    pub(super) thread: ThreadNo,
    pub(super) ops: Vec<OpNo>,
}

/// That by which contexts exclude each other: only one context of a runner acts at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Runner {
    /// A thread with its tasks.
    Thread(ThreadNo),
    /// A task of a thread that runs no posted tasks, such as a call of a binder thread. It becomes a thread.
    Section(TaskNo),
}

/// The contexts of a trace.
pub(super) struct Contexts {
    pub(super) list: IndexVec<ContextNo, Context>,
    /// The context of each operation.
    pub(super) of: IndexVec<OpNo, ContextNo>,
    /// The own code of each thread.
    pub(super) home: IndexVec<ThreadNo, ContextNo>,
    /// The context of each task that has begun.
    pub(super) tasks: IndexVec<TaskNo, Option<ContextNo>>,
    /// Whether a task has been posted to the thread and has begun.
    pub(super) is_looper: IndexVec<ThreadNo, bool>,
    /// The operation that has forked each thread.
    pub(super) forks: IndexVec<ThreadNo, Option<OpNo>>,
    /// The operations that join each thread.
    pub(super) joins: IndexVec<ThreadNo, Vec<OpNo>>,
    /// The tasks of each thread.
    pub(super) of_looper: IndexVec<ThreadNo, Vec<TaskNo>>,
}

impl Contexts {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut list: IndexVec<ContextNo, Context> = IndexVec::new();
        let mut add = |kind, thread| list.add(Context { kind, thread, ops: Vec::new() });
        let home: IndexVec<ThreadNo, ContextNo> =
            trace.threads.ids().map(|thread| add(ContextKind::Home(thread), thread)).collect();
        let tasks: IndexVec<TaskNo, Option<ContextNo>> = trace
            .tasks
            .enumerate()
            .map(|(task, about)| about.begin.map(|_| add(ContextKind::Task(task), about.looper)))
            .collect();
        let mut is_looper: IndexVec<ThreadNo, bool> = trace.threads.iter().map(|_| false).collect();
        for task in trace.tasks.iter().filter(|task| task.begin.is_some() && task.post.is_some()) {
            is_looper[task.looper] = true;
        }
        let mut running: IndexVec<ThreadNo, Option<ContextNo>> = trace.threads.iter().map(|_| None).collect();
        let mut forks: IndexVec<ThreadNo, Option<OpNo>> = trace.threads.iter().map(|_| None).collect();
        let mut joins: IndexVec<ThreadNo, Vec<OpNo>> = trace.threads.iter().map(|_| Vec::new()).collect();
        let mut of_looper: IndexVec<ThreadNo, Vec<TaskNo>> = trace.threads.iter().map(|_| Vec::new()).collect();
        trace.tasks.enumerate().for_each(|(task, about)| of_looper[about.looper].push(task));
        let mut of = IndexVec::new();
        for (op, operation) in trace.ops.enumerate() {
            let thread = operation.thread;
            // The environment has no tasks of its own, and starts no threads.
            let environment = trace.threads[thread].environment;
            match operation.action {
                Action::Begin(task) if !environment => running[thread] = tasks[task],
                _ => {}
            }
            let context = running[thread].unwrap_or(home[thread]);
            of.add(context);
            list[context].ops.push(op);
            match operation.action {
                Action::End(_) => running[thread] = None,
                Action::Join(other) => joins[other].push(op),
                Action::Fork(child) if !environment => forks[child] = Some(op),
                _ => {}
            }
        }
        Self { list, of, home, tasks, is_looper, forks, joins, of_looper }
    }

    /// Returns the runner of a context.
    pub(super) fn runner(&self, context: ContextNo) -> Runner {
        match self.list[context] {
            Context { kind: ContextKind::Task(task), thread, .. } if !self.is_looper[thread] => Runner::Section(task),
            Context { thread, .. } => Runner::Thread(thread),
        }
    }
}

/// The must-order of a trace.
pub(super) struct MustOrder {
    // The operation that each context begins after: its post or fork.
    starts: IndexVec<ContextNo, Option<OpNo>>,
    // For each context the edges that arrive in the middle of it: (later operation, earlier operation), sorted.
    into: IndexVec<ContextNo, BTreeSet<(OpNo, OpNo)>>,
    // Whether the operations of the context have no order: those of the environment.
    is_loose: IndexVec<ContextNo, bool>,
}

impl MustOrder {
    /// Returns the order of program, forks, posts and joins.
    pub(super) fn new(trace: &Trace, contexts: &Contexts) -> Self {
        let is_loose = contexts.list.iter().map(|context| trace.threads[context.thread].environment).collect();
        let starts = contexts.list.iter().map(|context| match context.kind {
            ContextKind::Home(thread) => contexts.forks[thread],
            ContextKind::Task(task) => trace.tasks[task].post,
        });
        let into = contexts.list.iter().map(|_| BTreeSet::new()).collect();
        let mut order = Self { starts: starts.collect(), into, is_loose };
        for (op, operation) in trace.ops.enumerate() {
            if let Action::Join(other) = operation.action
                && let Some(last) = contexts.list[contexts.home[other]].ops.last().filter(|last| **last < op)
            {
                order.add(contexts, *last, op);
            }
        }
        order
    }

    /// Adds an edge from an operation to a later one.
    pub(super) fn add(&mut self, contexts: &Contexts, from: OpNo, to: OpNo) {
        self.into[contexts.of[to]].insert((to, from));
    }

    /// Removes an edge.
    pub(super) fn remove(&mut self, contexts: &Contexts, from: OpNo, to: OpNo) {
        self.into[contexts.of[to]].remove(&(to, from));
    }

    /// Whether the first operation is before the second one.
    pub(super) fn is_before(&self, contexts: &Contexts, first: OpNo, second: OpNo) -> bool {
        let target = contexts.of[first];
        // For each context the last operation that is known to be before the second one.
        let mut known: BTreeMap<ContextNo, OpNo> = BTreeMap::new();
        let mut open = vec![second];
        while let Some(op) = open.pop() {
            let context = contexts.of[op];
            if self.is_loose[context] {
                if op == first && op != second {
                    return true;
                }
                let edges = self.into[context].range((op, OpNo(0))..=(op, OpNo(u32::MAX)));
                open.extend(edges.map(|(_, from)| *from).filter(|from| *from >= first));
                continue;
            }
            if context == target && first < second && (op > first || op == first && op != second) {
                return true;
            }
            let before = known.get(&context).copied();
            if before.is_some_and(|before| before >= op) {
                continue;
            }
            known.insert(context, op);
            if before.is_none() {
                open.extend(self.starts[context].filter(|from| *from >= first));
            }
            let low = before.map_or(OpNo(0), |before| OpNo(before.0 + 1));
            let edges = self.into[context].range((low, OpNo(0))..=(op, OpNo(u32::MAX)));
            open.extend(edges.map(|(_, from)| *from).filter(|from| *from >= first));
        }
        false
    }
}
