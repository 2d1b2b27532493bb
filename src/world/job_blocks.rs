//! Blocks of async tasks: `scope`, `supervise` and `uncancellable`.
//!
//! A block is a job without a task. The job whose task contains the block runs its statements. While the block is open,
//! new jobs belong to it, and suspension points check its cancellation and not that of the job. At the end of the block
//! the job waits for the children of the block, and goes on as the block has ended. The model is that of
//! `coroutineScope`, `supervisorScope` and `withContext(NonCancellable)` in kotlinx.coroutines.

use super::World;
use super::contexts::CreationKind;
use super::jobs::{JobEnd, JobStage};
use super::perform::{Reply, ThrownException};
use crate::event::{BlockEnd, BlockKind, ContextId, LaunchKind, NULL, ThreadId};

impl World {
    /// Returns the innermost open block of a job, or else the job itself.
    pub(super) fn innermost_block(&self, job: ThreadId) -> ThreadId {
        self.job(job).and_then(|own| own.blocks.last().copied()).unwrap_or(job)
    }

    /// Returns whether a suspension point that the job reaches now throws `Cancelled`.
    pub(super) fn is_cancelled(&self, job: ThreadId) -> bool {
        self.job(self.innermost_block(job)).is_some_and(|own| own.cancelled)
    }

    /// Opens a block of the job that a thread runs.
    pub(super) fn open_block(
        &mut self,
        thread: ThreadId,
        kind: BlockKind,
        made: &mut Option<ContextId>,
    ) -> Result<Reply, ThrownException> {
        let job = self.threads[thread].running.ok_or(ThrownException::IllegalState)?;
        let outer = self.innermost_block(job);
        let as_job = LaunchKind { daemon: true, keeps_failure: true, micro: false };
        let Some(block) = self.add_job(thread, CreationKind::Scope, thread, as_job) else {
            return Ok(Reply::Value(NULL));
        };
        *made = Some(self.threads[block].home);
        // A job that is cancelled enters a block, which is cancelled from the start.
        let cancelled = kind != BlockKind::Uncancellable && self.is_cancelled(job);
        let own = self.job_mut(block);
        (own.stage, own.block, own.cancelled) = (JobStage::Completing, Some(kind), cancelled);
        own.is_scope = kind == BlockKind::Supervise;
        if kind != BlockKind::Uncancellable {
            own.parent = Some(outer);
            self.job_mut(outer).children.push(block);
        }
        self.job_mut(job).blocks.push(block);
        Ok(Reply::Value(i64::from(block.0)))
    }

    /// Ends a block, whose children may go on. Returns whether all of them have ended.
    pub(super) fn close_block(&mut self, block: ThreadId, end: BlockEnd) -> bool {
        if self.job(block).is_some_and(|own| own.end.is_none()) {
            match end {
                BlockEnd::Normal => {}
                BlockEnd::Cancelled => self.request_cancel(block, None),
                BlockEnd::Failed(exception) => self.fail(block, exception),
            }
            self.job_mut(block).end = Some(JobEnd::Returned(0));
            self.complete(block);
        }
        self.finished(block)
    }

    /// Returns the reply to the end of a block that has ended, with which its job goes on.
    pub(super) fn end_of_block(&mut self, job: ThreadId, block: ThreadId) -> Result<Reply, ThrownException> {
        self.job_mut(job).blocks.retain(|open| *open != block);
        let Some(own) = self.job(block) else { return Ok(Reply::Value(0)) };
        match own.end {
            Some(JobEnd::Failed(exception)) => Ok(Reply::Rethrow(exception)),
            Some(JobEnd::Cancelled) => Err(ThrownException::Cancelled),
            // A cancellation after the end of the last child.
            _ if own.block != Some(BlockKind::Uncancellable) && self.is_cancelled(job) => {
                Err(ThrownException::Cancelled)
            }
            _ => Ok(Reply::Value(0)),
        }
    }

    /// Ends the blocks that a job has left open, because its looper has dropped it.
    pub(super) fn abandon_blocks(&mut self, job: ThreadId) {
        while let Some(block) = self.job(job).and_then(|own| own.blocks.last().copied()) {
            self.job_mut(job).blocks.pop();
            self.close_block(block, BlockEnd::Cancelled);
        }
    }
}
