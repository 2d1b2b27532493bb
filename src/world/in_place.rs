//! The operations of nearly every step, in place: plain memory, locks that are no monitors, skips. Inlined into the loop of a run; all others are in `perform`.

use super::World;
use super::memory::ANYTHING;
use super::perform::Thrown;
use crate::event::{Location, LockId, Op, ThreadId, Value};

/// Whether a thread is still the only one that can act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alone {
    /// It is.
    Yes,
    /// Others can now.
    No,
}

impl World {
    /// [`perform`](Self::perform) for the most frequent operations as they most often go; `None`, and nothing done, for everything else.
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

    /// Performs an operation that the thread has not been seen to stand at, because it is the only one that could act and still is afterwards,
    /// or was the last of them (`Alone::No`). `None`, and nothing done, if that is not so.
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
    pub(super) fn read(&self, at: Location) -> Result<Value, Thrown> {
        self.memory.check_live(at)?;
        Ok(self.memory.cell(at.cell))
    }

    #[inline(always)]
    pub(super) fn write(&mut self, at: Location, value: Value) -> Result<Value, Thrown> {
        self.memory.check_live(at)?;
        self.store(at.cell, value);
        Ok(0)
    }

    #[inline(always)]
    pub(super) fn store(&mut self, cell: u32, value: Value) {
        self.memory.cells[cell as usize] = value;
        // Of two cells in one step it is not known which.
        self.changed = if self.memory_changed && self.changed != cell { ANYTHING } else { cell };
        self.memory_changed = true;
    }

    /// More has changed than one cell.
    pub(super) fn anything_changed(&mut self) {
        (self.memory_changed, self.changed) = (true, ANYTHING);
    }

    /// The only cell that the last step which wrote memory has written; `None` if it has changed more.
    #[must_use]
    pub fn changed_cell(&self) -> Option<u32> {
        (self.changed != ANYTHING).then_some(self.changed)
    }

    #[inline(always)]
    pub(super) fn acquire(&mut self, thread: ThreadId, lock: LockId) -> Result<Value, Thrown> {
        self.check_monitor(lock)?;
        let l = &mut self.locks[lock];
        l.standing.0.set(thread, false);
        l.owner = Some(thread);
        l.depth += 1;
        self.lock_is_taken(lock);
        Ok(0)
    }

    #[inline(always)]
    pub(super) fn release(&mut self, thread: ThreadId, lock: LockId) -> Result<Value, Thrown> {
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
