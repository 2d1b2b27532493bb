//! Reads the rows of pools with several workers. Each task of such a pool is a thread of the trace, which its post
//! forks, because the rules for tasks of one thread do not hold (`detect::record` does the same).

use super::{Action, Actions, Reason, Row, Rows, need};
use crate::trace::ThreadNo;
use smallvec::smallvec;
use std::collections::BTreeMap;

/// The tasks of pools.
#[derive(Default)]
pub(super) struct PoolRows {
    // Threads of tasks that have not begun.
    queued: BTreeMap<String, ThreadNo>,
    // The threads of the tasks that workers run.
    running: BTreeMap<ThreadNo, ThreadNo>,
}

impl Rows {
    /// Returns the thread of the trace that acts in a row of `worker`, and the operations of the row if it is about a
    /// task of a pool.
    pub(super) fn pool(
        &mut self,
        row: &Row,
        worker: ThreadNo,
        line: u32,
    ) -> Result<(ThreadNo, Option<Actions>), Reason> {
        let thread = self.pools.running.get(&worker).copied().unwrap_or(worker);
        let actions = match row.kind.as_str() {
            "begin" if row.pool => {
                let Some(made) = &row.made else { return Ok((thread, Some(Actions::new()))) };
                let Some(task) = self.pools.queued.remove(made) else { return Ok((thread, None)) };
                self.pools.running.insert(worker, task);
                return Ok((task, Some(smallvec![Action::ThreadInit])));
            }
            "post" | "launch" | "resumed" if row.pool => {
                if row.kind == "launch" {
                    self.known_job(row);
                }
                // A post without `made` was refused.
                let made = row.made.as_ref();
                made.and_then(|made| self.fork_task(made)).map(Action::Fork).into_iter().collect()
            }
            "suspended" if row.pool => {
                let next = self.fork_task(need(&row.context, "context")?);
                let next = next.map(Action::Fork).into_iter();
                let end = self.end_of_part(need(&row.context, "context")?, thread);
                next.chain(end).collect()
            }
            "end" if thread != worker => match self.end_of_job(row, thread, line)? {
                Some(actions) => actions,
                None => self.end_in_pool(thread).into_iter().collect(),
            },
            _ => return Ok((thread, None)),
        };
        Ok((thread, Some(actions)))
    }

    // Returns the thread of the next task of this name. `None` if its thread is forked already.
    fn fork_task(&mut self, name: &str) -> Option<ThreadNo> {
        if self.pools.queued.contains_key(name) {
            return None;
        }
        let thread = self.builder.thread(name);
        self.loopers.push(super::Looper::default());
        self.pools.queued.insert(name.to_owned(), thread);
        Some(thread)
    }

    /// Ends the task of a pool that is this thread of the trace. `None` if the thread is no such task.
    pub(super) fn end_in_pool(&mut self, thread: ThreadNo) -> Option<Action> {
        let worker = self.pools.running.iter().find(|(_, task)| **task == thread).map(|(worker, _)| *worker)?;
        self.pools.running.remove(&worker);
        Some(Action::ThreadExit)
    }
}
