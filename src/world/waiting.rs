//! Waits and wake-ups, and the checks of operations: who owns a lock, whether an object is live, what a value refers
//! to.

use super::World;
use super::memory::Memory;
use super::perform::{Reply, ThrownException};
use crate::event::{Acquisition, GroupId, LockId, ObjectId, Op, Target, ThreadId, Value, WaitSet};

impl World {
    /// Performs the first half of a wait: releases all holds of the lock and enters the wait set. The second half,
    /// [`Op::Reacquire`], is pending then.
    pub(super) fn wait(
        &mut self,
        thread: ThreadId,
        on: WaitSet,
        lock: LockId,
        timeout: Option<i64>,
    ) -> Result<Reply, ThrownException> {
        self.check_owner(thread, lock)?;
        if std::mem::take(&mut self.threads[thread].interrupted) {
            return Err(ThrownException::Interrupted);
        }
        let deadline = timeout.map(|d| self.after(d));
        let depth = std::mem::take(&mut self.locks[lock].depth);
        self.locks[lock].owner = None;
        self.waiters_mut(on).push(thread);
        let t = &mut self.threads[thread];
        (t.saved_depth, t.deadline, t.notified) = (depth, deadline, false);
        t.pending = Op::Reacquire { on, lock };
        self.lock_is_free(lock);
        Ok(Reply::Again)
    }

    /// Adds to the counter of a wait group, and frees the waiting threads if it becomes 0.
    pub(super) fn count(&mut self, id: GroupId, delta: i64) -> Result<Value, ThrownException> {
        let group = &mut self.groups[id];
        let count = group.count.saturating_add(delta);
        if count < 0 {
            return Err(ThrownException::NegativeCounter);
        }
        let ends = count == 0 && group.count > 0;
        group.count = count;
        if ends {
            group.generation = group.generation.wrapping_add(1);
            self.refresh_all(|w| &w.groups[id].pending_set);
        }
        Ok(0)
    }

    /// Waits for the counter of a wait group to be 0.
    pub(super) fn wait_for_group(&mut self, thread: ThreadId, group: GroupId) -> Reply {
        if self.groups[group].count == 0 {
            return Reply::Value(0);
        }
        let generation = self.groups[group].generation;
        self.threads[thread].pending = Op::GroupPass { group, generation };
        Reply::Again
    }

    /// Lets a thread go on for which the counter has become 0. It must not have been raised again since.
    pub(super) fn pass_group(&self, group: GroupId) -> Result<Value, ThrownException> {
        if self.groups[group].count == 0 { Ok(0) } else { Err(ThrownException::GroupReused) }
    }

    /// Ends the deadline of a timed acquisition. Returns whether the thread acquires: the acquisition without a
    /// deadline is pending then, and enabled.
    pub(super) fn gets(&mut self, thread: ThreadId, of: Acquisition) -> bool {
        self.threads[thread].deadline = None;
        if self.can_acquire(thread, of) {
            self.threads[thread].pending = of.plain();
            return true;
        }
        // A reader that has given up no longer holds back the writers of a lock that prefers readers.
        if let Acquisition::Read(id) | Acquisition::Write(id) = of {
            self.refresh_all(|w| &w.rwlocks[id].pending_set);
        }
        false
    }

    /// Whether the thread is in a wait: it has given up the lock, and the second half of the wait is pending.
    #[must_use]
    pub fn in_wait(&self, thread: ThreadId) -> bool {
        matches!(self.threads[thread].pending, Op::Reacquire { .. })
    }

    /// Wakes all threads in a wait set, or the one at index `which`.
    pub(super) fn wake(&mut self, on: WaitSet, all: bool, which: usize) {
        let mut left = if all { self.waiters(on).len() } else { self.waiters(on).len().min(1) };
        let mut at = if all { 0 } else { which.min(self.waiters(on).len().saturating_sub(1)) };
        while left > 0 {
            let waiter = self.waiters_mut(on).remove(at);
            self.threads[waiter].notified = true;
            self.refresh(waiter);
            self.check_cycle(waiter);
            (left, at) = (left - 1, 0);
        }
    }

    pub(super) fn waiters_mut(&mut self, on: WaitSet) -> &mut Vec<ThreadId> {
        match on {
            WaitSet::Lock(lock) => &mut self.locks[lock].waiters,
            WaitSet::Condition(condition) => &mut self.conditions[condition],
        }
    }

    #[inline]
    pub(super) fn check_owner(&self, thread: ThreadId, lock: LockId) -> Result<(), ThrownException> {
        self.check_monitor(lock)?;
        if self.locks[lock].owner == Some(thread) { Ok(()) } else { Err(ThrownException::IllegalMonitorState) }
    }

    #[inline]
    pub(super) fn check_monitor(&self, lock: LockId) -> Result<(), ThrownException> {
        self.locks[lock].object.map_or(Ok(()), |object| self.check_object(object, ThrownException::UseAfterFree))
    }

    pub(super) fn check_object(&self, object: ObjectId, dead: ThrownException) -> Result<(), ThrownException> {
        if self.memory.objects[object].freed { Err(dead) } else { Ok(()) }
    }

    /// Returns the monitor of the object that a reference points to. Fails with `NullPointer` for null.
    pub fn monitor_of(&self, reference: Value) -> Result<LockId, ThrownException> {
        Memory::object_of(reference).map(|object| self.memory.objects[object].lock).ok_or(ThrownException::NullPointer)
    }

    /// Returns the target of a post for the value of a handler. Fails with `NullPointer` for null.
    pub fn target_handler(value: Value) -> Result<Target, ThrownException> {
        u32::try_from(value)
            .map(|h| Target::Handler(crate::event::HandlerId(h)))
            .map_err(|_| ThrownException::NullPointer)
    }

    /// Returns the thread that a value refers to. Fails with `NullPointer` for null.
    pub fn thread_value(value: Value) -> Result<ThreadId, ThrownException> {
        u32::try_from(value).map(ThreadId).map_err(|_| ThrownException::NullPointer)
    }
}
