//! The classes of races (DroidRacer, section 4.3): from the posts that led to each task.

use super::order::Order;
use super::race::RaceClass;
use crate::base::IndexVec;
use crate::trace::{Action, TaskNo, ThreadNo, Trace};

/// The chain of posts of each task, as far as classes ask for it.
pub(super) struct Classes<'t> {
    trace: &'t Trace,
    lines: IndexVec<TaskNo, Line>,
}

/// The most recent posts of three kinds in the chain of posts that leads to a task, named by the tasks that they post.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Line {
    // Of an event.
    event: Option<TaskNo>,
    // With a delay.
    delayed: Option<TaskNo>,
    // From another thread than the one that the task runs on.
    cross: Option<TaskNo>,
}

impl<'t> Classes<'t> {
    pub(super) fn new(trace: &'t Trace) -> Self {
        let mut lines: IndexVec<TaskNo, Line> = trace.tasks.iter().map(|_| Line::default()).collect();
        let mut running: IndexVec<ThreadNo, Option<TaskNo>> = trace.threads.iter().map(|_| None).collect();
        for operation in trace.ops.iter() {
            match operation.action {
                Action::Begin(task) => running[operation.thread] = Some(task),
                Action::End(_) => running[operation.thread] = None,
                Action::Post(task) => {
                    let from = running[operation.thread].map_or_else(Line::default, |parent| lines[parent]);
                    let about = &trace.tasks[task];
                    let own = |holds: bool| holds.then_some(task);
                    let is_cross = operation.thread != about.looper;
                    lines[task] = Line {
                        event: own(trace.is_event(task)).or(from.event),
                        delayed: own(about.is_delayed()).or(from.delayed),
                        // If it is none itself its parent runs on the same thread.
                        cross: own(is_cross).or(from.cross),
                    };
                }
                _ => {}
            }
        }
        Self { trace, lines }
    }

    /// A context's thread, and its task.
    pub(super) fn task_of(&self, number: u32) -> (ThreadNo, Option<TaskNo>) {
        let threads = self.trace.threads.len() as u32;
        match number.checked_sub(threads) {
            None => (ThreadNo(number), None),
            Some(task) => (self.trace.tasks[TaskNo(task)].looper, Some(TaskNo(task))),
        }
    }

    /// The class of a race between an access of one context and a later one of another.
    pub(super) fn of(&self, order: &Order<'_>, first: u32, second: u32) -> RaceClass {
        let ((first_thread, first), (second_thread, second)) = (self.task_of(first), self.task_of(second));
        if first_thread != second_thread {
            return RaceClass::MultiThreaded;
        }
        let line = |task: Option<TaskNo>| task.map_or_else(Line::default, |task| self.lines[task]);
        let (a, b) = (line(first), line(second));
        if a.event.zip(b.event).is_some_and(|(a, b)| !order.is_post_before(a, b)) {
            RaceClass::CoEnabled
        } else if a.delayed != b.delayed {
            RaceClass::Delayed
        } else if a.cross != b.cross {
            RaceClass::CrossPosted
        } else {
            RaceClass::Unknown
        }
    }

    /// Whether only the queue has kept the order of two tasks: one looper, and the first was posted before in a way that lets it begin before; but not of two events.
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
