//! The state of locks, conditions, reader-writer locks, semaphores and barriers.

use super::setup::Prefer;
use crate::base::IdSet;
use crate::event::{ObjectId, ThreadId};

/// A lock, a mutex, or the monitor of an object.
#[derive(Default, Debug)]
pub(super) struct LockRecord {
    pub(super) reentrant: bool,
    pub(super) object: Option<ObjectId>,
    pub(super) owner: Option<ThreadId>,
    // Invariant: 0 exactly if there is no owner.
    pub(super) depth: u32,
    // Threads in the wait set, in the order in which they began to wait.
    pub(super) waiters: Vec<ThreadId>,
    // Threads that only need this lock to continue: those pending at its acquisition, and waiters that have been woken.
    pub(super) pending_set: ThreadSet,
}

crate::clone_in_place!(LockRecord { reentrant, object, owner, depth, waiters, pending_set });

/// A set of threads that implements `Debug`.
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

impl LockRecord {
    /// Makes this a new lock, whatever it was before.
    pub(super) fn renew(&mut self, reentrant: bool, object: Option<ObjectId>) {
        (self.reentrant, self.object, self.owner, self.depth) = (reentrant, object, None, 0);
        self.waiters.clear();
        self.pending_set.0.clear();
    }

    #[inline]
    pub(super) fn free_for(&self, thread: ThreadId) -> bool {
        match self.owner {
            None => true,
            Some(owner) => self.reentrant && owner == thread,
        }
    }
}

/// A reader-writer lock. A thread that holds the write side cannot acquire either side again. A thread that holds the
/// read side may acquire it again.
#[derive(Debug)]
pub(super) struct RwLock {
    pub(super) prefer: Prefer,
    pub(super) writer: Option<ThreadId>,
    // One entry for each hold, in order of acquisition.
    pub(super) readers: Vec<ThreadId>,
    // Writers that have announced themselves and do not hold the lock yet. Only locks that prefer writers have them.
    pub(super) announced: Vec<ThreadId>,
    pub(super) pending_set: ThreadSet,
}

crate::clone_in_place!(RwLock { prefer, writer, readers, announced, pending_set });

impl RwLock {
    pub(super) fn new(prefer: Prefer) -> Self {
        Self { prefer, writer: None, readers: Vec::new(), announced: Vec::new(), pending_set: ThreadSet::default() }
    }

    /// Resets the lock: no thread holds it or is pending at it.
    pub(super) fn renew(&mut self) {
        self.writer = None;
        self.readers.clear();
        self.announced.clear();
        self.pending_set.0.clear();
    }
}

/// A semaphore.
#[derive(Default, Debug)]
pub(super) struct Semaphore {
    pub(super) count: i64,
    pub(super) pending_set: ThreadSet,
}

crate::clone_in_place!(Semaphore { count, pending_set });

impl Semaphore {
    /// Resets the semaphore to its initial count.
    pub(super) fn renew(&mut self, count: i64) {
        self.count = count;
        self.pending_set.0.clear();
    }
}

/// A wait group.
#[derive(Default, Debug)]
pub(super) struct Group {
    pub(super) count: i64,
    // Number of times that the counter has become 0. It frees the threads that wait since before.
    pub(super) generation: u32,
    pub(super) pending_set: ThreadSet,
}

crate::clone_in_place!(Group { count, generation, pending_set });

impl Group {
    /// Resets the counter.
    pub(super) fn renew(&mut self) {
        (self.count, self.generation) = (0, 0);
        self.pending_set.0.clear();
    }
}

/// A cyclic barrier.
#[derive(Default, Debug)]
pub(super) struct Barrier {
    pub(super) parties: i64,
    pub(super) arrived: i64,
    pub(super) generation: u32,
    pub(super) pending_set: ThreadSet,
}

crate::clone_in_place!(Barrier { parties, arrived, generation, pending_set });

impl Barrier {
    /// Resets the barrier: no thread has arrived.
    pub(super) fn renew(&mut self, parties: i64) {
        (self.parties, self.arrived, self.generation) = (parties, 0, 0);
        self.pending_set.0.clear();
    }
}
