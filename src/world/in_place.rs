//! Fast paths for the operations of nearly every step: plain memory, locks that are not monitors, skips. They are
//! inlined into the loop of a run. All other operations are in `perform`.

use super::World;
use super::memory::ANYTHING;
use super::perform::ThrownException;
use crate::event::{Location, LockId, Op, ThreadId, Value};

/// Whether a thread is still the only enabled actor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alone {
    /// The thread is still the only enabled actor.
    Yes,
    /// Other threads are enabled too.
    No,
}

impl World {
    /// Fast path of `perform` for the most frequent operations. Returns `None`, without any effect, for all other
    /// operations and if the run is recorded.
    #[inline(always)]
    pub(super) fn perform_in_place(&mut self, thread: ThreadId) -> Option<Value> {
        debug_assert!(self.enabled.contains(thread));
        if self.recording {
            return None;
        }
        match self.threads[thread].pending {
            Op::Read(at) if at.object.is_none() => Some(self.memory.cell(at.cell)),
            Op::Write(at, value) if at.object.is_none() => {
                self.store(at.cell, value);
                Some(0)
            }
            Op::Acquire(lock) if self.locks[lock].object.is_none() => self.acquire(thread, lock).ok(),
            Op::Release(lock) if self.locks[lock].object.is_none() => self.release(thread, lock).ok(),
            Op::Skip => Some(0),
            _ => None,
        }
    }

    /// Fast path of a burst: performs `op` without making it pending first. The caller must ensure that `thread` is the
    /// sole enabled actor. Returns the value of the operation, with `Alone::No` if `op` has enabled another thread.
    /// Returns `None`, without any effect, if `op` is not eligible.
    #[inline(always)]
    pub fn perform_alone(&mut self, thread: ThreadId, op: Op) -> Option<(Value, Alone)> {
        let value = match op {
            Op::Read(at) if at.object.is_none() => self.memory.cell(at.cell),
            Op::Write(at, value) if at.object.is_none() => {
                self.store(at.cell, value);
                0
            }
            Op::Skip => 0,
            Op::Acquire(lock) if self.locks[lock].object.is_none() && self.locks[lock].free_for(thread) => {
                self.acquire(thread, lock).ok()?
            }
            Op::Release(lock) if self.locks[lock].object.is_none() => {
                self.release(thread, lock).ok()?;
                let alone = if self.enabled.len() == 1 { Alone::Yes } else { Alone::No };
                return Some((0, alone));
            }
            _ => return None,
        };
        Some((value, Alone::Yes))
    }

    #[inline(always)]
    pub(super) fn read(&self, at: Location) -> Result<Value, ThrownException> {
        self.memory.check_live(at)?;
        Ok(self.memory.cell(at.cell))
    }

    #[inline(always)]
    pub(super) fn write(&mut self, at: Location, value: Value) -> Result<Value, ThrownException> {
        self.memory.check_live(at)?;
        self.store(at.cell, value);
        Ok(0)
    }

    #[inline(always)]
    pub(super) fn store(&mut self, cell: u32, value: Value) {
        self.memory.cells[cell as usize] = value;
        // A step that writes two different cells counts as a change of any memory.
        self.changed = if self.memory_changed && self.changed != cell { ANYTHING } else { cell };
        self.memory_changed = true;
    }

    /// Records that the step may have changed more than one cell.
    pub(super) fn anything_changed(&mut self) {
        (self.memory_changed, self.changed) = (true, ANYTHING);
    }

    /// Returns the only cell that the last step with a write has changed. `None` if that step may have changed more.
    #[must_use]
    pub fn changed_cell(&self) -> Option<u32> {
        (self.changed != ANYTHING).then_some(self.changed)
    }

    #[inline(always)]
    pub(super) fn acquire(&mut self, thread: ThreadId, lock: LockId) -> Result<Value, ThrownException> {
        self.check_monitor(lock)?;
        let l = &mut self.locks[lock];
        l.pending_set.0.set(thread, false);
        l.owner = Some(thread);
        l.depth += 1;
        self.lock_is_taken(lock);
        Ok(0)
    }

    #[inline(always)]
    pub(super) fn release(&mut self, thread: ThreadId, lock: LockId) -> Result<Value, ThrownException> {
        self.check_owner(thread, lock)?;
        let l = &mut self.locks[lock];
        l.depth -= 1;
        if l.depth == 0 {
            l.owner = None;
            self.lock_is_free(lock);
        }
        Ok(0)
    }
}
