//! The state of locks, conditions, reader-writer locks, semaphores and barriers.

use super::setup::Prefer;
use crate::base::IdSet;
use crate::event::{ObjectId, ThreadId};

/// A lock, a mutex, or the monitor of an object.
#[derive(Clone, Debug)]
pub(super) struct Lock {
    pub(super) reentrant: bool,
    pub(super) object: Option<ObjectId>,
    pub(super) owner: Option<ThreadId>,
    // invariant: 0 exactly if there is no owner
    pub(super) depth: u32,
    // In the order in which they began to wait.
    pub(super) waiters: Vec<ThreadId>,
    // Threads whose pending operation needs this lock.
    pub(super) standing: ThreadSet,
}

/// A set of threads that can be printed.
#[derive(Clone, Default)]
pub(super) struct ThreadSet(pub(super) IdSet<ThreadId>);

impl std::fmt::Debug for ThreadSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.iter()).finish()
    }
}

impl Lock {
    pub(super) fn new(reentrant: bool, object: Option<ObjectId>) -> Self {
        Self { reentrant, object, owner: None, depth: 0, waiters: Vec::new(), standing: ThreadSet::default() }
    }

    #[inline]
    pub(super) fn free_for(&self, thread: ThreadId) -> bool {
        match self.owner {
            None => true,
            Some(owner) => self.reentrant && owner == thread,
        }
    }
}

/// A reader-writer lock. Neither side is reentrant for a writer; a reader may read again.
#[derive(Clone, Debug)]
pub(super) struct RwLock {
    pub(super) prefer: Prefer,
    pub(super) writer: Option<ThreadId>,
    // One entry for each hold, in order of acquisition.
    pub(super) readers: Vec<ThreadId>,
    // Preferred writers that have announced themselves and do not hold it yet.
    pub(super) announced: Vec<ThreadId>,
    pub(super) standing: ThreadSet,
}

/// A semaphore.
#[derive(Clone, Debug)]
pub(super) struct Semaphore {
    pub(super) count: i64,
    pub(super) standing: ThreadSet,
}

/// A cyclic barrier.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    pub(super) parties: i64,
    pub(super) arrived: i64,
    pub(super) generation: u32,
    pub(super) standing: ThreadSet,
}
