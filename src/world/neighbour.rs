//! Recognizes steps that change little. A search can undo such a step, and compute the digest of the next state,
//! without a look at the whole state.

use super::threads::ThreadStage;
use super::{Machine, Snapshot, World};
use crate::base::Id;
use crate::event::{Actor, Choice, LockId, Op, SemaphoreId, ThreadId};

/// What a step changes apart from the state of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChangedThing {
    Nothing,
    /// A global cell.
    Cell(u32),
    /// A declared lock.
    Lock(LockId),
    Semaphore(SemaphoreId),
}

/// Everything that a step changes: the state of its thread, and at most one thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepChange {
    pub(super) thread: ThreadId,
    pub(super) what: ChangedThing,
}

impl World {
    // Whether the program has neither components nor pools: then the numbers of declared threads are fixed, and no step
    // of a thread changes the state of the platform.
    fn is_simple(&self) -> bool {
        self.platform.is_none() && self.pools.is_empty()
    }

    /// Returns everything that a choice is going to change, if that is little. `None` for all but the most frequent
    /// operations of declared threads on globals, declared locks and semaphores.
    #[inline]
    #[must_use]
    pub fn touches(&self, choice: Choice) -> Option<StepChange> {
        let Actor::Thread(thread) = choice.actor else { return None };
        if thread.index() >= self.setup.threads.len() || !self.awaiting.is_empty() || !self.is_simple() {
            return None;
        }
        let what = match self.threads[thread].pending {
            Op::Read(at) | Op::AtomicRead(at) if at.object.is_none() => ChangedThing::Nothing,
            Op::Skip | Op::Yield | Op::Branch => ChangedThing::Nothing,
            Op::Write(at, _)
            | Op::AtomicWrite(at, _)
            | Op::Cas { at, .. }
            | Op::FetchAdd(at, _)
            | Op::Exchange(at, _)
                if at.object.is_none() =>
            {
                ChangedThing::Cell(at.cell)
            }
            Op::Acquire(lock) | Op::Release(lock) if self.locks[lock].object.is_none() => ChangedThing::Lock(lock),
            Op::Down(semaphore) | Op::Up(semaphore) => ChangedThing::Semaphore(semaphore),
            _ => return None,
        };
        Some(StepChange { thread, what })
    }

    // Returns whether a step changed nothing except `touched`: the thread is pending at its next operation, and has
    // created nothing on the way.
    fn kept_to(&self, before: &World, touched: StepChange) -> bool {
        self.outcome.is_none()
            && self.threads[touched.thread].status == ThreadStage::Alive
            && self.jobs.changes() == before.jobs.changes()
            && self.contexts.len() == before.contexts.len()
            && self.memory.objects.len() == before.memory.objects.len()
            && self.args.len() == before.args.len()
            && self.horizon == before.horizon
            && self.awaiting.is_empty()
            // A timed operation has started a deadline, which changes more than the thread (`World::after`).
            && !matches!(
                self.threads[touched.thread].pending,
                Op::DownFor { .. } | Op::AcquireFor { .. } | Op::Select { timeout: Some(_), .. }
            )
    }

    // Undoes a step that changed only `touched`. `before` is the state before the step.
    fn take_back(&mut self, before: &World, touched: StepChange) {
        let thread = touched.thread;
        let pending_at = self.pending_at(thread, &self.threads[thread].pending);
        self.copy_pending_set(before, &pending_at);
        self.threads[thread].clone_from(&before.threads[thread]);
        match touched.what {
            ChangedThing::Nothing => {}
            ChangedThing::Cell(cell) => self.memory.cells[cell as usize] = before.memory.cells[cell as usize],
            ChangedThing::Lock(lock) => self.locks[lock].clone_from(&before.locks[lock]),
            ChangedThing::Semaphore(id) => self.semaphores[id].clone_from(&before.semaphores[id]),
        }
        self.enabled.clone_from(&before.enabled);
        self.timed.clone_from(&before.timed);
        (self.steps, self.cells) = (before.steps, before.cells);
    }
}

impl<G: Snapshot> Machine<G> {
    /// Returns everything that a step has changed: `touches`, if the step changed nothing else. `before` is the state
    /// before the step.
    #[inline]
    #[must_use]
    pub fn changed(&self, before: &Self, touches: Option<StepChange>) -> Option<StepChange> {
        touches.filter(|touched| self.world.kept_to(&before.world, *touched))
    }

    /// Restores the state before a step for which [`changed`](Self::changed) returned `touched`.
    pub fn take_back(&mut self, before: &Self, touched: StepChange) {
        self.world.take_back(&before.world, touched);
        self.guest.copy_thread(&before.guest, touched.thread);
        debug_assert_eq!(self.canonical(), before.canonical());
        debug_assert!(self.world.enabled.iter().eq(before.world.enabled.iter()));
    }
}
