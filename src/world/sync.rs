//! The state of locks, conditions, reader-writer locks, semaphores and barriers.

use super::setup::Prefer;
use crate::base::IdSet;
use crate::event::{ObjectId, ThreadId};

/// A lock, a mutex, or the monitor of an object.
#[derive(Default, Debug)]
pub(super) struct Lock {
    pub(super) reentrant: bool,
    pub(super) object: Option<ObjectId>,
    pub(super) owner: Option<ThreadId>,
    // invariant: 0 exactly if there is no owner
    pub(super) depth: u32,
    // In the order in which they began to wait.
    pub(super) waiters: Vec<ThreadId>,
    // Threads that could go on if only it were free: those that are about to acquire it, and woken waiters.
    pub(super) standing: ThreadSet,
}

crate::clone_in_place!(Lock { reentrant, object, owner, depth, waiters, standing });

/// A set of threads that can be printed.
#[derive(Default)]
pub(super) struct ThreadSet(pub(super) IdSet<ThreadId>);

impl Clone for ThreadSet {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl std::fmt::Debug for ThreadSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.iter()).finish()
    }
}

impl Lock {
    /// Makes it a new lock, whatever it was before.
    pub(super) fn renew(&mut self, reentrant: bool, object: Option<ObjectId>) {
        (self.reentrant, self.object, self.owner, self.depth) = (reentrant, object, None, 0);
        self.waiters.clear();
        self.standing.0.clear();
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
#[derive(Debug)]
pub(super) struct RwLock {
    pub(super) prefer: Prefer,
    pub(super) writer: Option<ThreadId>,
    // One entry for each hold, in order of acquisition.
    pub(super) readers: Vec<ThreadId>,
    // Preferred writers that have announced themselves and do not hold it yet.
    pub(super) announced: Vec<ThreadId>,
    pub(super) standing: ThreadSet,
}

crate::clone_in_place!(RwLock { prefer, writer, readers, announced, standing });

impl RwLock {
    pub(super) fn new(prefer: Prefer) -> Self {
        Self { prefer, writer: None, readers: Vec::new(), announced: Vec::new(), standing: ThreadSet::default() }
    }

    /// Back to nobody holding it.
    pub(super) fn renew(&mut self) {
        self.writer = None;
        self.readers.clear();
        self.announced.clear();
        self.standing.0.clear();
    }
}

/// A semaphore.
#[derive(Default, Debug)]
pub(super) struct Semaphore {
    pub(super) count: i64,
    pub(super) standing: ThreadSet,
}

crate::clone_in_place!(Semaphore { count, standing });

impl Semaphore {
    /// Back to its first count.
    pub(super) fn renew(&mut self, count: i64) {
        self.count = count;
        self.standing.0.clear();
    }
}

/// A cyclic barrier.
#[derive(Default, Debug)]
pub(super) struct Barrier {
    pub(super) parties: i64,
    pub(super) arrived: i64,
    pub(super) generation: u32,
    pub(super) standing: ThreadSet,
}

crate::clone_in_place!(Barrier { parties, arrived, generation, standing });

impl Barrier {
    /// Back to nobody having arrived.
    pub(super) fn renew(&mut self, parties: i64) {
        (self.parties, self.arrived, self.generation) = (parties, 0, 0);
        self.standing.0.clear();
    }
}
