//! Exceptions: from where they are thrown to the handler that takes them, or to the end of the run or thread.

use super::blame::BlameId;
use super::fiber::FrameKind;
use super::guest::Vm;
use crate::base::Id;
use crate::event::{FailureKind, Happening, Outcome, SiteId, ThreadId, Value};
use crate::lang::program::{ExceptionId, TextId};
use crate::world::{Next, Thrown, World};

/// An exception in flight: its name, what it says and where it was thrown, packed into one word so that a register can keep it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exception {
    pub(super) name: ExceptionId,
    pub(super) says: Says,
    pub(super) site: Option<SiteId>,
}

/// What an exception says besides its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Says {
    Nothing,
    /// The message of a `throw`.
    Message(TextId),
    /// What an operation throws for.
    Blame(BlameId),
}

impl Says {
    // A source is too small for half of as many texts, or expressions.
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
            says: Says::unpack(part(word >> 24)),
            site: part(word).checked_sub(1).map(SiteId),
        }
    }
}

impl Vm {
    pub(super) fn built_in(&self, thrown: Thrown, site: Option<SiteId>, blame: Option<BlameId>) -> Exception {
        // The program's table starts with the built-in ones.
        let name = self.code.exceptions.iter().position(|e| e == thrown.name()).unwrap_or(0);
        Exception { name: ExceptionId::new(name), says: blame.map_or(Says::Nothing, Says::Blame), site }
    }

    /// Gives up the task that the thread runs, whatever would catch an exception there; a thread that runs none ends.
    pub(super) fn leave_task(&mut self, world: &mut World, thread: ThreadId) -> Next {
        while let Some(frame) = self.fibers[thread].pop() {
            if frame.kind == FrameKind::Task {
                world.end_task(thread);
                return self.run(world, thread, None);
            }
        }
        world.abandon_queue(thread);
        Next::Finished
    }

    /// Finds the handler of an exception; without one it ends the run or the thread (`Some`).
    pub(super) fn throw(&mut self, world: &mut World, thread: ThreadId, exception: Exception) -> Option<Next> {
        let context = world.thread(thread).context;
        let code = self.code.clone();
        let name = || code.exceptions[exception.name].clone();
        world.record(Some(thread), Some(context), exception.site, || Happening::Thrown(name()));
        let fiber = &mut self.fibers[thread];
        while let Some(frame) = fiber.top_frame() {
            // A caller stands at its call, a looper at its loop; one that performs callbacks is past it.
            let found = code.bodies[frame.body]
                .handlers
                .iter()
                .find(|h| (h.from..h.to).contains(&frame.pc) && h.catch.is_none_or(|name| name == exception.name));
            if let Some(handler) = found {
                fiber.regs[fiber.base as usize + usize::from(handler.save)] = exception.pack();
                fiber.pc = handler.target;
                return None;
            }
            if frame.kind == FrameKind::Callback {
                fiber.pop();
                // Callbacks that have not begun are dropped; then back to the perform, so that what protects it is found.
                while fiber.top_frame().is_some_and(|f| f.waits()) {
                    fiber.pop();
                }
                fiber.pc -= 1;
                continue;
            }
            if frame.kind == FrameKind::Task {
                break;
            }
            fiber.pop();
        }
        if world.setup().uncaught_ends_thread {
            fiber.clear();
            world.abandon_queue(thread);
            return Some(Next::Finished);
        }
        let message = match exception.says {
            Says::Message(message) => code.texts[message].clone(),
            _ if code.exceptions[exception.name] == "StackOverflow" => {
                format!("more than {} calls deep (--depth raises the limit)", world.limits().depth)
            }
            _ => String::new(),
        };
        let name = &code.exceptions[exception.name];
        let mut failure = world.failure(FailureKind::Exception, thread, name, &message, exception.site);
        if let Says::Blame(id) = exception.says {
            failure.operand = code.blames.operand(name, id);
        }
        world.end(Outcome::Failure(failure));
        Some(Next::Ended)
    }
}
