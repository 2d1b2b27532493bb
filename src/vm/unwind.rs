//! Exceptions: from the instruction that throws to the handler, or else to the end of the run or the thread.

use super::blame::BlameId;
use super::fiber::FrameKind;
use super::guest::Vm;
use crate::base::Id;
use crate::event::{EventKind, FailureKind, Outcome, SiteId, ThreadId, Value};
use crate::lang::program::{ExceptionId, TextId};
use crate::world::{JobEnd, Next, REFERENCE_EXCEPTIONS, ThrownException, World};

/// An exception in flight: its name, its cause and the site that threw it. It can be packed into one word, so that a
/// register can hold it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exception {
    pub(super) name: ExceptionId,
    pub(super) says: ExceptionDetail,
    pub(super) site: Option<SiteId>,
}

/// The additional information of an exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExceptionDetail {
    Nothing,
    /// The message of a `throw` statement.
    Message(TextId),
    /// The expression because of which an operation threw.
    Blame(BlameId),
}

impl ExceptionDetail {
    // The number space is split in half between messages and blames. A source is too small to have 2^23 of either.
    const HALF: u32 = 1 << 23;

    fn pack(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Message(text) => text.0 + 1,
            Self::Blame(id) => Self::HALF + id,
        }
    }

    fn unpack(word: u32) -> Self {
        match word.checked_sub(1) {
            None => Self::Nothing,
            Some(text) if word < Self::HALF => Self::Message(TextId(text)),
            Some(_) => Self::Blame(word - Self::HALF),
        }
    }
}

impl Exception {
    pub(super) fn pack(self) -> Value {
        let part = |n: Option<u32>| i64::from(n.map_or(0, |n| n + 1));
        i64::from(self.name.0) << 48 | i64::from(self.says.pack()) << 24 | part(self.site.map(|s| s.0))
    }

    pub(super) fn unpack(word: Value) -> Self {
        let part = |n: i64| n as u32 & 0xff_ffff;
        Self {
            name: ExceptionId((word as u64 >> 48) as u32),
            says: ExceptionDetail::unpack(part(word >> 24)),
            site: part(word).checked_sub(1).map(SiteId),
        }
    }
}

impl super::fiber::Fiber {
    // Returns whether the top frame is at the loop of a looper.
    fn at_begin(&self, code: &super::code::Code) -> bool {
        matches!(
            code.instrs.get(self.pc as usize),
            Some(super::instr::Instr::Visible { op: super::instr::Visible::Begin, .. })
        )
    }
}

impl Vm {
    pub(super) fn built_in(&self, thrown: ThrownException, site: Option<SiteId>, blame: Option<BlameId>) -> Exception {
        // The program's table of exceptions begins with the built-in ones.
        let name = self.code.exceptions.iter().position(|e| e == thrown.name()).unwrap_or(0);
        Exception {
            name: ExceptionId::new(name),
            says: blame.map_or(ExceptionDetail::Nothing, ExceptionDetail::Blame),
            site,
        }
    }

    /// Abandons the task that the thread runs, past all of its handlers. The looper continues with its loop. A thread
    /// that runs no task ends.
    pub(super) fn leave_task(&mut self, world: &mut World, thread: ThreadId) -> Next {
        while let Some(frame) = self.fibers[thread].pop() {
            match frame.kind {
                FrameKind::Task => {
                    let task = world.thread(thread).context;
                    if world.end_row(task, true) {
                        self.settle(world, (Some(thread), task));
                    }
                    world.end_task(thread);
                    return self.run(world, thread, None);
                }
                FrameKind::Job(job) => {
                    world.end_job(thread, job, JobEnd::Cancelled);
                    if !world.thread(thread).in_task() && self.fibers[thread].at_begin(&self.code) {
                        return self.run(world, thread, None);
                    }
                }
                _ => {}
            }
        }
        world.abandon_queue(thread);
        Next::Finished
    }

    /// Finds the handler of an exception and continues there (`None`). If there is no handler, ends the run or the
    /// thread and returns how (`Some`).
    pub(super) fn throw(&mut self, world: &mut World, thread: ThreadId, exception: Exception) -> Option<Next> {
        let context = world.thread(thread).context;
        let code = self.code.clone();
        let name = || code.exceptions[exception.name].clone();
        world.record(Some(thread), Some(context), exception.site, || EventKind::Thrown(name()));
        let fiber = &mut self.fibers[thread];
        while let Some(frame) = fiber.top_frame() {
            // During a call the program counter of a caller is at the call instruction and that of a looper at its
            // loop. But the counter of a body that performs callbacks is already past the `perform`.
            let found = code.bodies[frame.body]
                .handlers
                .iter()
                .find(|h| (h.from..h.to).contains(&frame.pc) && h.catch.is_none_or(|name| name == exception.name));
            if found.is_some_and(|handler| handler.catches) && world.setup().caught_fails && is_of_reference(&name()) {
                return Some(self.fail(world, thread, exception, "caught"));
            }
            if let Some(handler) = found {
                fiber.regs[fiber.base as usize + usize::from(handler.save)] = exception.pack();
                fiber.pc = handler.target;
                return None;
            }
            if frame.kind == FrameKind::Callback {
                fiber.pop();
                // Callbacks that have not begun are dropped. Then the counter is set back to the `perform`, so that a
                // handler around it is found.
                while fiber.top_frame().is_some_and(|f| f.waits()) {
                    fiber.pop();
                }
                fiber.pc -= 1;
                continue;
            }
            if frame.kind == FrameKind::Task {
                break;
            }
            if let FrameKind::Job(job) = frame.kind {
                fiber.pop();
                self.job_failed(world, thread, job, exception);
                return None;
            }
            fiber.pop();
        }
        if world.setup().uncaught_ends_thread {
            // A pool replaces a worker that an exception has ended.
            if world.pool(thread).is_some() {
                return Some(self.leave_task(world, thread));
            }
            fiber.clear();
            world.abandon_queue(thread);
            return Some(Next::Finished);
        }
        let message = match exception.says {
            ExceptionDetail::Message(message) => code.texts[message].clone(),
            _ if code.exceptions[exception.name] == "StackOverflow" => {
                format!("more than {} calls deep (--depth raises the limit)", world.limits().depth)
            }
            _ => String::new(),
        };
        Some(self.fail(world, thread, exception, &message))
    }

    // Ends the run by an exception.
    #[inline(never)]
    fn fail(&self, world: &mut World, thread: ThreadId, exception: Exception, message: &str) -> Next {
        let name = &self.code.exceptions[exception.name];
        let mut failure = world.failure(FailureKind::Exception, thread, name, message, exception.site);
        if let ExceptionDetail::Blame(id) = exception.says {
            failure.operand = self.code.blames.operand(name, id);
        }
        world.end(Outcome::Failure(failure));
        Next::Ended
    }
}

fn is_of_reference(exception: &str) -> bool {
    REFERENCE_EXCEPTIONS.contains(&exception)
}
