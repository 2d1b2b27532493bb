//! What the recorder knows after a prefix of a run, for a search that keeps it with each state.

use super::TraceRecorder;
use crate::base::Id;
use crate::event::{Cause, ContextId, EventId, ThreadId};
use crate::trace::{EventNo, TaskNo, ThreadNo, Trace};

impl TraceRecorder {
    /// Returns the trace of what was recorded so far.
    #[must_use]
    pub fn so_far(&self) -> &Trace {
        self.builder.so_far()
    }

    /// Returns the task of a context; `None` if the context is no task that was posted.
    #[must_use]
    pub fn task_of(&self, context: ContextId) -> Option<TaskNo> {
        self.tasks.get(&context).copied()
    }

    /// Returns the thread of the trace that stands for a declared thread of any run.
    #[must_use]
    pub fn number_of(declared: ThreadId) -> ThreadNo {
        // The environment and `init` come first.
        ThreadNo(declared.0 + 2)
    }

    /// Returns the thread of the trace that stands for a thread of the run.
    #[must_use]
    pub fn thread_of(&self, thread: ThreadId) -> Option<ThreadNo> {
        (thread.index() < self.threads.len()).then(|| self.threads[thread])
    }

    /// Returns the enables that no firing has used up, oldest first for each event of the program.
    pub fn open_enables(&self) -> impl Iterator<Item = (EventId, EventNo)> {
        self.enables.iter().flat_map(|(event, all)| all.iter().map(|enable| (*event, *enable)))
    }

    /// Returns what has last let the environment fire each row of each instance, and each request.
    pub fn open_lets(&self) -> impl Iterator<Item = (Cause, EventNo)> {
        self.lets.iter().map(|(cause, event)| (*cause, *event))
    }

    /// Describes everything else that decides which operations later events make, with the numbers of this run. Empty
    /// if there is nothing, as in a run with only threads, loopers, events, components, locks and memory.
    #[must_use]
    pub fn rest(&self) -> String {
        let Self { signals, suspended, resumed, nested, ended, pools, channels, .. } = self;
        let is_plain = suspended.is_empty()
            && resumed.is_empty()
            && nested.is_empty()
            && ended.is_empty()
            && pools.is_empty()
            && *channels == 0;
        if is_plain {
            return String::new();
        }
        format!("{signals:?} {suspended:?} {resumed:?} {nested:?} {ended:?} {pools:?}")
    }
}
