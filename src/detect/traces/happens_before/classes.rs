//! Classes of races (DroidRacer, section 4.3), computed from the posts that led to each task.

use super::race::RaceClass;
use crate::base::IndexVec;
use crate::trace::{Action, TaskNo, ThreadNo, Trace};

/// The chain of posts of each task, reduced to what classes depend on.
pub(in crate::detect) struct Classes<'t> {
    trace: &'t Trace,
    lines: IndexVec<TaskNo, PostLine>,
}

/// The most recent posts of three kinds in the chain of posts that leads to a task, named by the tasks that they post.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct PostLine {
    /// The last post of an event's handler.
    pub(super) event: Option<TaskNo>,
    /// The last post with a delay.
    pub(super) delayed: Option<TaskNo>,
    /// The last post from another thread than the one on which the task runs.
    pub(super) cross: Option<TaskNo>,
}

impl PostLine {
    /// Returns the class of a race between two tasks of one looper. `co_enabled` decides whether two events are
    /// co-enabled in the relation.
    pub(super) fn class(self, other: PostLine, co_enabled: impl FnOnce(TaskNo, TaskNo) -> bool) -> RaceClass {
        if self.event.zip(other.event).is_some_and(|(a, b)| co_enabled(a, b)) {
            RaceClass::CoEnabled
        } else if self.delayed != other.delayed {
            RaceClass::Delayed
        } else if self.cross != other.cross {
            RaceClass::CrossPosted
        } else {
            RaceClass::Unknown
        }
    }
}

impl<'t> Classes<'t> {
    pub(in crate::detect) fn new(trace: &'t Trace) -> Self {
        let mut lines: IndexVec<TaskNo, PostLine> = trace.tasks.iter().map(|_| PostLine::default()).collect();
        let parents = trace.parents();
        for operation in trace.ops.iter() {
            let Action::Post(task) = operation.action else { continue };
            let from = parents[task].map_or_else(PostLine::default, |parent| lines[parent]);
            let about = &trace.tasks[task];
            let own = |holds: bool| holds.then_some(task);
            lines[task] = PostLine {
                event: own(trace.is_event(task)).or(from.event),
                delayed: own(about.is_delayed()).or(from.delayed),
                // Without such a post of its own, the task runs on the same thread as its parent.
                cross: own(operation.thread != about.looper).or(from.cross),
            };
        }
        Self { trace, lines }
    }

    /// Returns a context's thread and, if it is one, its task.
    pub(in crate::detect) fn task_of(&self, number: u32) -> (ThreadNo, Option<TaskNo>) {
        let threads = self.trace.threads.len() as u32;
        match number.checked_sub(threads) {
            None => (ThreadNo(number), None),
            Some(task) => (self.trace.tasks[TaskNo(task)].looper, Some(TaskNo(task))),
        }
    }

    /// Returns the class of a race between an access of one context and a later access of another one.
    /// `is_post_before` says whether the post of a task is before that of another one, which handles an event.
    pub(in crate::detect) fn of(
        &self,
        first: u32,
        second: u32,
        is_post_before: impl Fn(TaskNo, TaskNo) -> bool,
    ) -> RaceClass {
        let ((first_thread, first), (second_thread, second)) = (self.task_of(first), self.task_of(second));
        if first_thread != second_thread {
            return RaceClass::MultiThreaded;
        }
        let line = |task: Option<TaskNo>| task.map_or_else(PostLine::default, |task| self.lines[task]);
        line(first).class(line(second), |a, b| !is_post_before(a, b))
    }

    /// Whether only the queue keeps the order of two tasks: they run on one looper, and the first one was posted
    /// before and in a way that lets it begin before. False for two events.
    pub(super) fn by_queue(&self, first: u32, second: u32) -> bool {
        let ((first_looper, Some(first)), (second_looper, Some(second))) = (self.task_of(first), self.task_of(second))
        else {
            return false;
        };
        let (a, b) = (&self.trace.tasks[first], &self.trace.tasks[second]);
        // The environment may fire its events in any order.
        let posted = |task: TaskNo| self.trace.tasks[task].post.filter(|_| !self.trace.is_event(task));
        let in_order = posted(first).zip(posted(second)).is_some_and(|(a, b)| a < b);
        first_looper == second_looper && in_order && a.class().precedes(b.class())
    }
}
