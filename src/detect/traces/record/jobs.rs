//! The jobs of async tasks in a recorded trace: each part between two suspensions is a task, which the suspension
//! enables. A job whose task has ended is a thread.

use super::{ENVIRONMENT, TraceRecorder};
use crate::event::{ContextId, Event, PostTime, ThreadId};
use crate::trace::{Action, EventNo, SiteNo, ThreadNo};
use crate::world::World;

impl TraceRecorder {
    /// A job gives up its looper: its task of the trace ends, and enables the next one.
    pub(super) fn suspend(&mut self, world: &World, event: &Event, thread: ThreadNo) {
        let Some(context) = event.context else { return };
        let job = world.job_of(context).and_then(|job| world.job(job));
        if job.is_some_and(|job| world.shares_queue(job.looper())) {
            self.post_to_pool(world, thread, context, SiteNo::NONE);
        } else if !self.resumed.contains(&context) {
            // The resumption is recorded first if the same step queues it.
            let cause = self.enable_next(world, context, thread);
            self.suspended.insert(context, cause);
        }
        self.end(context, (event.thread, thread));
    }

    // A job enables its next task of the trace.
    fn enable_next(&mut self, world: &World, context: ContextId, thread: ThreadNo) -> EventNo {
        let name = if self.named { world.contexts().name(world.setup(), context) } else { String::new() };
        let cause = self.builder.new_event(&name);
        self.push(thread, Action::Enable(cause), SiteNo::NONE);
        cause
    }

    /// The environment posts the resumption of a job. Channels order it after what has caused it.
    pub(super) fn resume(
        &mut self,
        world: &World,
        event: &Event,
        thread: ThreadNo,
        (context, looper): (ContextId, ThreadId),
    ) {
        self.resumed.insert(context);
        if world.shares_queue(looper) {
            return self.post_to_pool(world, thread, context, SiteNo::NONE);
        }
        let cause = match event.context == Some(context) {
            true => Some(self.enable_next(world, context, thread)),
            false => self.suspended.remove(&context),
        };
        let task = self.task(world, context, looper, (PostTime::Now, true));
        cause.into_iter().for_each(|cause| self.builder.handles(task, cause));
        self.push(ENVIRONMENT, Action::Post(task), SiteNo::NONE);
    }

    // Ends the task of the trace that a job runs in. A job that runs inside another task leaves that one open.
    fn end(&mut self, context: ContextId, (live, thread): (Option<ThreadId>, ThreadNo)) {
        if !self.nested.remove(&context)
            && !self.end_in_pool(live)
            && let Some(task) = self.builder.running(thread)
        {
            self.push(thread, Action::End(task), SiteNo::NONE);
        }
    }

    /// The task of a job ends. From then on the job is a thread of the trace, so that others can join it.
    pub(super) fn end_of_job(&mut self, world: &World, event: &Event, thread: ThreadNo) {
        let Some((context, job)) = event.context.and_then(|c| Some((c, world.job_of(c)?))) else { return };
        self.push(thread, Action::Fork(self.number(job)), SiteNo::NONE);
        self.push(self.number(job), Action::ThreadInit, SiteNo::NONE);
        self.ended.entry(job).or_default();
        self.end(context, (event.thread, thread));
    }

    /// A job ends after its task and after its children.
    pub(super) fn exit_of_job(&mut self, world: &World, job: ThreadId) {
        // The end of a block joins its children.
        if world.job(job).is_some_and(|job| job.is_block()) {
            return;
        }
        let Some(children) = self.ended.get(&job).cloned() else { return };
        for child in children {
            self.push(self.number(job), Action::Join(self.number(child)), SiteNo::NONE);
        }
        self.push(self.number(job), Action::ThreadExit, SiteNo::NONE);
        if let Some(parent) = world.job(job).and_then(|job| job.parent()) {
            self.ended.entry(parent).or_default().push(job);
        }
    }

    /// The end of a block joins the children of the block.
    pub(super) fn join_children(&mut self, thread: ThreadNo, block: ThreadId, site: SiteNo) {
        for child in self.ended.remove(&block).into_iter().flatten() {
            self.push(thread, Action::Join(self.number(child)), site);
        }
    }
}
