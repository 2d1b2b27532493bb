//! The tasks of pools in a recorded trace.
//!
//! The rules for traces order two tasks of one thread as a looper runs them: one after the other, and in the order of
//! their posts. Neither holds for tasks of a pool with several workers. So each such task is a thread of the trace,
//! which its post forks. A job that such a pool runs is one thread for each part between two suspensions: the part
//! before a suspension forks the part after it.

use super::TraceRecorder;
use crate::event::{ContextId, ThreadId};
use crate::trace::{Action, SiteNo, ThreadNo};
use crate::world::World;
use std::collections::BTreeMap;

/// The threads of the trace that are tasks of pools.
#[derive(Clone, Default, Debug)]
pub(super) struct PoolTasks {
    // Tasks that have not begun.
    queued: BTreeMap<ContextId, ThreadNo>,
    // The tasks that workers run.
    running: BTreeMap<ThreadId, ThreadNo>,
}

impl PoolTasks {
    /// Whether no task of a pool is queued or runs.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty() && self.running.is_empty()
    }
}

impl TraceRecorder {
    /// Returns the number of a thread in the trace.
    pub(super) fn number(&self, thread: ThreadId) -> ThreadNo {
        self.threads[thread]
    }

    /// Returns the thread of the trace in which a thread acts now.
    pub(super) fn acting(&self, thread: ThreadId) -> ThreadNo {
        self.pools.running.get(&thread).copied().unwrap_or_else(|| self.number(thread))
    }

    /// Records the post of a task to a pool. Has no effect if its thread is forked already.
    pub(super) fn post_to_pool(&mut self, world: &World, poster: ThreadNo, task: ContextId, site: SiteNo) {
        if self.pools.queued.contains_key(&task) {
            return;
        }
        let name = if self.named { world.contexts().name(world.setup(), task) } else { String::new() };
        let thread = self.builder.thread(&name);
        self.pools.queued.insert(task, thread);
        self.push(poster, Action::Fork(thread), site);
    }

    /// Records that a worker begins a task.
    pub(super) fn begin_in_pool(&mut self, worker: ThreadId, task: ContextId, site: SiteNo) {
        self.resumed.remove(&task);
        if let Some(thread) = self.pools.queued.remove(&task) {
            self.pools.running.insert(worker, thread);
            self.push(thread, Action::ThreadInit, site);
        }
    }

    /// Records that a worker ends the task that it runs. Returns false if the thread runs no task of a pool.
    pub(super) fn end_in_pool(&mut self, worker: Option<ThreadId>) -> bool {
        let Some(thread) = worker.and_then(|worker| self.pools.running.remove(&worker)) else { return false };
        self.push(thread, Action::ThreadExit, SiteNo::NONE);
        true
    }
}
