//! The times of posts in a model.

use crate::base::IndexVec;
use crate::event::PostTime;
use crate::trace::{Action, Task, TaskNo, ThreadNo, Trace};
use crate::world::PostClass;
use std::collections::{BTreeMap, BTreeSet};

// Delays and instants from here on are replaced by small ones of the same order: about 25 days, which is less than the
// virtual time of a run. EM-Explorer's traces have no delays, and the reader assumes very large ones.
const LARGE: i64 = 1 << 31;

// The milliseconds between two large times.
const STEP: i64 = 10;

/// The times of a trace as a model has them.
pub(super) struct Times {
    large: BTreeMap<i64, i64>,
    /// Tasks that have overtaken another one that no queue lets them overtake. So their messages went to the front,
    /// which the trace does not say.
    pub(super) overtaking: BTreeSet<TaskNo>,
}

impl Times {
    pub(super) fn new(trace: &Trace) -> Self {
        let time = |task: &Task| match task.time {
            PostTime::After(time) | PostTime::At(time) => time,
            _ => 0,
        };
        let longest = trace.tasks.iter().map(time).filter(|time| *time < LARGE).max().unwrap_or_default().max(0);
        let mut large: BTreeMap<i64, i64> =
            trace.tasks.iter().map(time).filter(|time| *time >= LARGE).map(|time| (time, 0)).collect();
        for (short, n) in large.values_mut().zip(1..) {
            *short = longest + n * STEP;
        }
        Self { large, overtaking: overtaking(trace) }
    }

    fn short(&self, time: i64) -> i64 {
        self.large.get(&time).copied().unwrap_or(time)
    }

    /// Whether the message is like that of an event: due at once, behind those that are due, and not asynchronous.
    pub(super) fn is_plain(&self, trace: &Trace, task: TaskNo) -> bool {
        let about = &trace.tasks[task];
        about.time == PostTime::Now && !about.is_async && !self.overtaking.contains(&task)
    }

    /// Returns the options of a post. Only the looper itself can post a microtask.
    pub(super) fn of(&self, trace: &Trace, task: TaskNo, by_looper: bool) -> String {
        match trace.tasks[task].time {
            _ if self.overtaking.contains(&task) => " at front".to_owned(),
            PostTime::Now | PostTime::After(..=0) => String::new(),
            PostTime::After(delay) => format!(" after {}", self.short(delay)),
            PostTime::Front | PostTime::At(..=0) => " at front".to_owned(),
            PostTime::At(time) => format!(" at {}", self.short(time)),
            PostTime::Micro if by_looper => " micro".to_owned(),
            PostTime::Micro => String::new(),
            PostTime::Idle { keep } => if keep { " idle keep" } else { " idle" }.to_owned(),
        }
    }
}

// Returns the tasks whose messages must have gone to the front. A log does not say so of any message; the trace of a
// run does not say so of the resumption of a job, which the environment posts. (What passes another message because of
// a fence is left as it is: it passes no message of its own kind.)
fn overtaking(trace: &Trace) -> BTreeSet<TaskNo> {
    let is_log = trace.sites.is_empty();
    let mut queues: IndexVec<ThreadNo, Vec<TaskNo>> = trace.threads.iter().map(|_| Vec::new()).collect();
    let mut found = BTreeSet::new();
    let class = |task: TaskNo| PostClass { is_async: false, ..trace.tasks[task].class() };
    let is_timed =
        |task: TaskNo| matches!(trace.tasks[task].time, PostTime::Now | PostTime::After(_) | PostTime::At(_));
    for operation in trace.ops.iter() {
        match operation.action {
            Action::Post(task) if trace.tasks[task].begin.is_some() => queues[trace.tasks[task].looper].push(task),
            Action::Begin(task) => {
                let queue = &mut queues[operation.thread];
                let Some(at) = queue.iter().position(|queued| *queued == task) else { continue };
                queue.remove(at);
                let by_environment = || {
                    let post = trace.tasks[task].post;
                    post.is_some_and(|post| trace.threads[trace.ops[post].thread].environment)
                };
                let passes = |other: &TaskNo| is_timed(*other) && class(*other).precedes(class(task));
                if is_timed(task) && (is_log || by_environment()) && queue[..at].iter().any(passes) {
                    found.insert(task);
                }
            }
            _ => {}
        }
    }
    found
}
