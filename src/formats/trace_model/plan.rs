//! Decides the form of each thread and task of the trace in the model.

use super::contexts::{ContextNo, Runner};
use super::keep::Kept;
use crate::base::IndexVec;
use crate::trace::{Action, OpNo, TaskNo, ThreadNo};
use std::collections::BTreeSet;

/// The form of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThreadForm {
    /// The thread has no body of its own.
    Absent,
    /// A `looper`, which has its queue from the start. Its block waits for its fork if `go`.
    Looper { go: bool },
    /// A `thread`, which attaches its queue at once if `born`.
    Thread { go: bool, born: bool },
    /// A `task` that a `fork` starts.
    Forked,
    /// The thread only posts this task, whose `event` its fork enables.
    Event(TaskNo),
}

/// The form of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TaskForm {
    Absent,
    /// A `task` that a statement posts.
    Posted,
    /// An `event`, which may happen from the start if `initially`.
    Event {
        initially: bool,
    },
    /// A `task` that a thread of its own posts.
    Poster,
    /// A `thread`.
    Section,
}

/// The forms of threads and tasks.
pub(super) struct Plan {
    pub(super) threads: IndexVec<ThreadNo, ThreadForm>,
    pub(super) tasks: IndexVec<TaskNo, TaskForm>,
    /// Threads that start with the app.
    pub(super) with_app: IndexVec<ThreadNo, bool>,
    /// Loopers whose loop must end.
    pub(super) leaves: IndexVec<ThreadNo, bool>,
    // Forks and enables that come behind nothing.
    front: BTreeSet<OpNo>,
}

impl Plan {
    /// Decides the forms. Removes from `kept` the edges that hold from the start.
    pub(super) fn new(kept: &mut Kept<'_>) -> Self {
        let (with_app, front) = with_app(kept);
        kept.needs.retain(|(from, _)| !front.contains(from));
        let trace = kept.trace;
        let mut plan = Self {
            threads: trace.threads.iter().map(|_| ThreadForm::Absent).collect(),
            tasks: trace.tasks.iter().map(|_| TaskForm::Absent).collect(),
            leaves: trace.threads.iter().map(|_| false).collect(),
            with_app,
            front,
        };
        for thread in trace.threads.ids().filter(|thread| !trace.threads[*thread].environment) {
            plan.leaves[thread] = kept.ops(kept.contexts.home[thread]).any(|op| kept.action(op) == Action::Leave);
            plan.threads[thread] = plan.thread(kept, thread);
        }
        for task in trace.tasks.ids().filter(|task| kept.is_left(*task)) {
            plan.tasks[task] = plan.task(kept, task);
        }
        plan.posters(kept);
        plan
    }

    fn thread(&self, kept: &Kept<'_>, thread: ThreadNo) -> ThreadForm {
        let home = kept.contexts.home[thread];
        let runs_tasks = kept.contexts.is_looper[thread] && kept.tasks(thread).next().is_some();
        let fork = kept.contexts.forks[thread];
        let forked = !self.with_app[thread];
        if !runs_tasks {
            let here = |join: OpNo| fork.is_some_and(|fork| kept.contexts.of[fork] == kept.contexts.of[join]);
            return match () {
                () if !kept.has_ops(home) => ThreadForm::Absent,
                () if forked && kept.joins(thread).all(here) => ThreadForm::Forked,
                () => ThreadForm::Thread { go: forked, born: false },
            };
        }
        let is_queue = |op: &OpNo| {
            let is_queue = matches!(kept.action(*op), Action::AttachQueue | Action::Loop | Action::Leave);
            is_queue || self.front.contains(op)
        };
        let attach = kept.ops(home).find(|op| kept.action(*op) == Action::AttachQueue);
        let posts = || kept.tasks(thread).filter_map(|task| kept.trace.tasks[task].post);
        let born = attach.is_none_or(|attach| posts().any(|post| post < attach));
        let attaches_first = attach.is_some_and(|attach| kept.ops(home).all(|op| op >= attach || is_queue(&op)));
        let after_fork = || {
            let fork = fork.filter(|_| kept.tasks(thread).all(|task| kept.trace.tasks[task].post.is_some()));
            fork.is_some_and(|fork| posts().all(|post| kept.must.is_before(&kept.contexts, fork, post)))
        };
        let has_code = kept.ops(home).any(|op| !is_queue(&op));
        let go = forked && (has_code || !after_fork());
        if !self.leaves[thread] && (born || attaches_first && (!forked || after_fork())) {
            ThreadForm::Looper { go }
        } else {
            ThreadForm::Thread { go: forked, born }
        }
    }

    fn task(&self, kept: &Kept<'_>, task: TaskNo) -> TaskForm {
        let about = &kept.trace.tasks[task];
        let is_event =
            matches!(self.threads[about.looper], ThreadForm::Looper { .. }) && kept.times.is_plain(kept.trace, task);
        let Some(post) = about.post else {
            let context = kept.contexts.tasks[task];
            let causes = about.begin.map_or(0, |begin| needs(kept, begin).count());
            let is_section = context.is_some_and(|c| matches!(kept.contexts.runner(c), Runner::Section(_)));
            return match () {
                () if is_section || self.threads[about.looper] == ThreadForm::Absent => TaskForm::Section,
                () if is_event && causes < 2 => TaskForm::Event { initially: causes == 0 },
                () => TaskForm::Poster,
            };
        };
        if !kept.trace.threads[kept.trace.ops[post].thread].environment {
            return TaskForm::Posted;
        }
        match needs(kept, post).count() {
            n @ ..=1 if is_event => TaskForm::Event { initially: n == 0 },
            _ => TaskForm::Poster,
        }
    }

    // A thread that posts one message and does nothing else is an event, which has fewer states.
    fn posters(&mut self, kept: &mut Kept<'_>) {
        for thread in kept.trace.threads.ids() {
            let is_plain = match self.threads[thread] {
                ThreadForm::Thread { .. } => kept.joins(thread).next().is_none(),
                ThreadForm::Forked => kept.joins(thread).next().is_none(),
                _ => false,
            };
            let mut ops = kept.ops(kept.contexts.home[thread]);
            let (Some(op), None, true) = (ops.next(), ops.next(), is_plain) else { continue };
            let Action::Post(task) = kept.action(op) else { continue };
            let about = &kept.trace.tasks[task];
            let is_event = matches!(self.threads[about.looper], ThreadForm::Looper { .. })
                && kept.times.is_plain(kept.trace, task);
            if !is_event {
                continue;
            }
            drop(ops);
            let fork = kept.contexts.forks[thread].filter(|_| !self.with_app[thread]);
            let mut causes: Vec<OpNo> = needs(kept, op).collect();
            // An enable behind the fork implies it.
            let before = |a: OpNo, b: OpNo| kept.must.is_before(&kept.contexts, a, b);
            let fork = fork.filter(|fork| !causes.iter().any(|cause| before(*fork, *cause)));
            if let Some(fork) = fork {
                causes.retain(|cause| !before(*cause, fork));
            }
            if causes.len() + usize::from(fork.is_some()) > 1 {
                continue;
            }
            let implied: Vec<OpNo> = needs(kept, op).filter(|need| !causes.contains(need)).collect();
            for need in implied {
                kept.needs.remove(&(need, op));
            }
            self.tasks[task] = TaskForm::Event { initially: causes.is_empty() && fork.is_none() };
            self.threads[thread] = if fork.is_some() { ThreadForm::Event(task) } else { ThreadForm::Absent };
        }
    }
}

/// Returns the operations that the model lets an operation come after by statements of its own.
pub(super) fn needs(kept: &Kept<'_>, to: OpNo) -> impl Iterator<Item = OpNo> {
    kept.needs.iter().filter(move |need| need.1 == to).map(|need| need.0)
}

// Returns the threads that start with the app: those that nothing has forked, and those whose fork comes behind
// nothing. Returns also the forks and enables that come behind nothing.
fn with_app(kept: &Kept<'_>) -> (IndexVec<ThreadNo, bool>, BTreeSet<OpNo>) {
    let mut with_app: IndexVec<ThreadNo, bool> = kept.contexts.forks.iter().map(Option::is_none).collect();
    let mut front = BTreeSet::new();
    let mut open: Vec<ThreadNo> = with_app.ids().filter(|thread| with_app[*thread]).collect();
    while let Some(thread) = open.pop() {
        let home: ContextNo = kept.contexts.home[thread];
        for op in kept.ops(home) {
            match kept.action(op) {
                Action::Fork(child) => {
                    with_app[child] = true;
                    open.push(child);
                    front.insert(op);
                }
                Action::Enable(_) => drop(front.insert(op)),
                // Nothing comes before it that another thread could wait for.
                Action::AttachQueue => {}
                _ => break,
            }
        }
    }
    (with_app, front)
}
