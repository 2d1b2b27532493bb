//! The part of jobs in the canonical state.

use super::canonical::Part;
use super::jobs::{Job, JobEnd, JobStage};
use super::queue::TaskMessage;
use super::snapshot::{CanonicalWriter, Snapshot};
use crate::event::{LaunchKind, ThreadId};

impl CanonicalWriter<'_> {
    /// Writes the message with which a job starts or goes on.
    pub(super) fn job_message<G: Snapshot>(&mut self, guest: &G, task: &TaskMessage, is_micro: bool) {
        let world = self.world;
        self.word(u64::MAX - 3 - u64::from(is_micro));
        self.optional_thread(task.job);
        self.word(u64::from(task.body.0));
        self.values(guest.parameter_kinds(task.body), world.args(task.args));
    }

    // Writes the state of a job. Of a job that has ended only its end matters.
    pub(super) fn job<G: Snapshot>(&mut self, guest: &G, thread: ThreadId, job: &Job) {
        self.word(match job.stage {
            JobStage::Posted => 0,
            JobStage::Running => 1,
            JobStage::Waiting => 2,
            JobStage::Completing => 3,
            JobStage::Done => 4,
            JobStage::Ready(_) => 5,
        });
        if let JobStage::Ready(value) = job.stage {
            self.word(value as u64);
        }
        self.word(u64::from(job.cancelled));
        let kind = guest.result_kind(self.world.body_of(thread));
        match job.end {
            None => self.word(0),
            Some(JobEnd::Cancelled) => self.word(1),
            Some(JobEnd::Failed(exception)) => {
                self.word(2);
                self.word(exception as u64);
            }
            Some(JobEnd::Returned(value)) => {
                self.word(3);
                self.value(kind, value);
            }
        }
        if job.stage == JobStage::Done {
            return;
        }
        self.looper(job.looper);
        self.optional_thread(job.parent);
        self.word(job.failure.map_or(u64::MAX, |exception| exception as u64));
        let LaunchKind { daemon, keeps_failure, micro } = job.kind;
        let flags = [daemon, keeps_failure, micro, job.is_scope];
        let flags = flags.into_iter().fold(0, |word, flag| word << 1 | u64::from(flag));
        let block = job.block.map_or(0, |kind| kind as u64 + 1);
        self.word(flags | block << 4 | (job.blocks.len() as u64) << 8);
        self.threads_in_order(&job.children);
        if !job.blocks.is_empty() {
            self.threads_in_order(&job.blocks);
        }
        if matches!(job.stage, JobStage::Waiting | JobStage::Ready(_)) {
            self.mark_pending(guest, thread);
        }
    }

    // Writes the order in which the waiting jobs began to wait, which is the order in which one step resumes them, and
    // the promises that have failed without a handler.
    pub(super) fn waiting_jobs(&mut self) {
        let world = self.world;
        if !world.jobs.waiting.is_empty() {
            self.threads_in_order(&world.jobs.waiting);
        }
        if !world.jobs.uncaught.is_empty() {
            let rejected: Vec<ThreadId> = world.jobs.uncaught.iter().map(|(job, _)| *job).collect();
            self.word(u64::MAX);
            self.threads_in_order(&rejected);
        }
        if !world.jobs.waiting.is_empty() || !world.jobs.uncaught.is_empty() {
            self.room.part(Part::Jobs);
        }
    }
}
