//! Runs a thread alone, up to its next visible operation.
//!
//! This module and `world::perform` are the hot path. The work of nearly every step is inlined into the loop of a run,
//! and everything else is kept out of it.

use super::blame::blamed;
use super::code::Code;
use super::fiber::{Fiber, FrameKind};
use super::guest::Vm;
use super::instr::{Instr, Reg, Visible};
use super::operands::{Values, in_place, pend, range};
use super::pure::{Stop, evaluate, local};
use super::unwind::{Exception, ExceptionDetail};
use crate::event::{EventKind, FailureKind, LimitKind, Outcome, SiteId, ThreadId, Value};
use crate::world::{Alone, JobEnd, Next, Reply, ThrownException, World};

/// The reason why a frame stopped.
enum StopReason {
    /// A visible operation is pending.
    Visible(Next),
    /// The limit of local instructions is reached.
    Limit,
    /// The instruction or one of its operands threw.
    Thrown(ThrownException),
    /// The instruction touches more than registers.
    Other,
}

/// The budget of a burst: visible operations that a thread may perform one after another while no other actor is open.
struct Burst {
    left: u64,
    performed: u64,
}

impl Burst {
    fn none() -> Self {
        Self { left: 0, performed: 0 }
    }
}

impl Vm {
    /// Continues a thread after its pending operation, with a reply that is not a plain value.
    pub(super) fn deliver(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        if let Reply::Task(body, args) = reply {
            let args = Values::from_slice(world.args(args));
            if !self.enter(world, thread, body, &args, FrameKind::Task) {
                return Next::Ended;
            }
            return self.run(world, thread, None);
        }
        match self.deliver_job(world, thread, reply) {
            Ok(next) => next,
            Err(reply) => self.deliver_rare(world, thread, reply),
        }
    }

    #[inline(never)]
    pub(super) fn deliver_rare(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        let code = self.code.clone();
        let fiber = &mut self.fibers[thread];
        // An exception in the condition of an `await` ends the wait, and is thrown in the thread.
        let here = blamed(&code.blamed, fiber.pc);
        let thrown = fiber.awaited(&code).and_then(|condition| {
            evaluate(code.fragment(condition), fiber.top(), world, Some(thread))
                .err()
                .map(|(thrown, at)| (thrown, blamed(&code.fragments_blamed[condition as usize], at)))
        });
        let too_deep = matches!(reply, Reply::Callbacks(_)) && fiber.depth() >= world.limits().depth as usize;
        let (thrown, blame) = match thrown {
            Some((thrown, blame)) => (Some(thrown), blame),
            None => (too_deep.then_some(ThrownException::StackOverflow), here),
        };
        let reply = thrown.map_or(reply, Reply::Throw);
        let Instr::Visible { op, dst, site } = code.instrs[fiber.pc as usize] else {
            debug_assert!(false, "a thread waits at a visible operation");
            return Next::Finished;
        };
        match reply {
            Reply::Value(value) | Reply::Awaited(value) => {
                fiber.regs[fiber.base as usize + usize::from(dst)] = value;
                fiber.pc += 1;
            }
            Reply::Selected { case, value, received } => {
                let base = fiber.base as usize;
                fiber.regs[base + usize::from(dst)] = Value::from(case);
                if let Some((values, flag)) = op.select_results() {
                    if case < u32::from(values.count) {
                        fiber.regs[base + usize::from(values.first) + case as usize] = value;
                    }
                    fiber.regs[base + usize::from(flag)] = Value::from(received);
                }
                fiber.pc += 1;
            }
            Reply::LeaveLoop => fiber.pc += 1,
            Reply::Exhausted => {
                if let Some(exit) = op.exit() {
                    fiber.pc = exit;
                }
            }
            Reply::Throw(thrown) => {
                let exception = self.built_in(thrown, site, blame);
                if let Some(next) = self.throw(world, thread, exception) {
                    return next;
                }
            }
            Reply::Callbacks(listener) => {
                fiber.pc += 1;
                if let Visible::Perform { args, .. } = op {
                    let args = Values::from_slice(range(fiber.top(), args));
                    for i in (0..world.callbacks(listener).len()).rev() {
                        let body = world.callbacks(listener)[i];
                        if !self.enter(world, thread, body, &args, FrameKind::Callback) {
                            return Next::Ended;
                        }
                    }
                }
            }
            _ => debug_assert!(false, "taken care of before"),
        }
        self.run(world, thread, None)
    }

    /// Runs the thread up to its next visible operation. `value` is the result of the pending operation, if there is
    /// one.
    #[inline(always)]
    pub(super) fn run(&mut self, world: &mut World, thread: ThreadId, value: Option<Value>) -> Next {
        let mut left = world.limits().local;
        // The frequent case, in which the top frame reaches a visible operation, is inlined. The others are in
        // `run_frames`.
        match self.run_frame(world, thread, &mut left, value, &mut Burst::none()) {
            StopReason::Visible(next) => next,
            at => self.run_frames(world, thread, left, at),
        }
    }

    /// Runs the thread as [`run`](Self::run) does, but in a burst: passes through up to `most` visible operations while
    /// no other actor is open. Also returns the number of operations that it performed this way.
    #[inline(always)]
    pub(super) fn run_alone(&mut self, world: &mut World, thread: ThreadId, value: Value, most: u64) -> (Next, u64) {
        let mut left = world.limits().local;
        let mut burst = Burst { left: most, performed: 0 };
        let next = match self.run_frame(world, thread, &mut left, Some(value), &mut burst) {
            StopReason::Visible(next) => next,
            at => self.run_frames(world, thread, left, at),
        };
        (next, burst.performed)
    }

    #[inline(never)]
    fn run_frames(&mut self, world: &mut World, thread: ThreadId, mut left: u64, mut at: StopReason) -> Next {
        loop {
            if let Some(next) = self.leave_frame(world, thread, at) {
                return next;
            }
            at = self.run_frame(world, thread, &mut left, None, &mut Burst::none());
        }
    }

    // Runs the top frame until it stops, and passes through as many visible operations as the burst allows.
    #[inline(always)]
    fn run_frame(
        &mut self,
        world: &mut World,
        thread: ThreadId,
        left: &mut u64,
        value: Option<Value>,
        burst: &mut Burst,
    ) -> StopReason {
        let fiber = &mut self.fibers[thread];
        let code = &self.code.instrs[..];
        let regs = &mut fiber.regs[fiber.base as usize..];
        let mut pc = fiber.pc as usize;
        if let Some(value) = value {
            if let Instr::Visible { dst, .. } = code[pc] {
                regs[usize::from(dst)] = value;
            }
            pc += 1;
        }
        loop {
            let instr = &code[pc];
            if let Instr::Visible { op, site, dst } = instr {
                // In a burst the operation is performed without being made pending first.
                if burst.left > 0
                    && let Some((value, still)) = in_place(op, regs).and_then(|op| world.perform_alone(thread, op))
                {
                    regs[usize::from(*dst)] = value;
                    pc += 1;
                    *left = world.limits().local;
                    burst.performed += 1;
                    burst.left = if still == Alone::Yes { burst.left - 1 } else { 0 };
                    continue;
                }
                fiber.pc = pc as u32;
                return pend(op, *site, regs, world, thread).map_or_else(StopReason::Thrown, StopReason::Visible);
            }
            // The limit counts the instructions between two visible operations.
            if *left == 0 {
                fiber.pc = pc as u32;
                return StopReason::Limit;
            }
            *left -= 1;
            match local(instr, pc, regs, world, Some(thread)) {
                Ok(next) => pc = next,
                Err(stop) => {
                    fiber.pc = pc as u32;
                    return match stop {
                        Stop::Other => StopReason::Other,
                        Stop::Thrown(thrown) => StopReason::Thrown(thrown),
                    };
                }
            }
        }
    }

    fn leave_frame(&mut self, world: &mut World, thread: ThreadId, at: StopReason) -> Option<Next> {
        match at {
            StopReason::Visible(next) => Some(next),
            StopReason::Limit => {
                world.end(Outcome::Limit(LimitKind::LocalSteps, world.limits().local));
                Some(Next::Ended)
            }
            StopReason::Thrown(thrown) => {
                let pc = self.fibers[thread].pc;
                let site = site_of(&self.code.instrs[pc as usize]);
                let exception = self.built_in(thrown, site, blamed(&self.code.blamed, pc));
                self.throw(world, thread, exception)
            }
            StopReason::Other => {
                let instr = self.code.instrs[self.fibers[thread].pc as usize];
                self.other(world, thread, instr)
            }
        }
    }

    // Performs an instruction that touches more than registers.
    fn other(&mut self, world: &mut World, thread: ThreadId, instr: Instr) -> Option<Next> {
        let fiber = &mut self.fibers[thread];
        match instr {
            Instr::New { dst, class } => {
                let maker = world.thread(thread).context;
                let object = world.allocate(class, maker);
                if world.outcome().is_some() {
                    return Some(Next::Ended);
                }
                self.set(thread, dst, object);
            }
            Instr::Call { body, args, site, .. } => {
                let most = world.limits().depth as usize;
                if fiber.len() >= most && fiber.depth() >= most {
                    let exception = self.built_in(ThrownException::StackOverflow, Some(site), None);
                    return self.throw(world, thread, exception);
                }
                let args = Values::from_slice(range(fiber.top(), args));
                let Instr::Call { dst, .. } = instr else { return None };
                if !self.enter(world, thread, body, &args, FrameKind::Call(dst)) {
                    return Some(Next::Ended);
                }
            }
            Instr::Return(src) => {
                let value = src.map_or(0, |src| fiber.top()[usize::from(src)]);
                return self.return_from(world, thread, value);
            }
            Instr::Fail { assert, message, site } => {
                let kind = if assert { FailureKind::Assert } else { FailureKind::Fail };
                let message = message.map_or("", |m| &self.code.texts[m]);
                let mut failure = world.failure(kind, thread, "", message, Some(site));
                let at = &world.setup().sites[site];
                failure.operand = blamed(&self.code.blamed, fiber.pc)
                    .and_then(|id| self.code.blames.condition(id, (at.line, at.column)));
                world.end(Outcome::Failure(failure));
                return Some(Next::Ended);
            }
            Instr::Throw { exception, message, site } => {
                return self.throw(
                    world,
                    thread,
                    Exception {
                        name: exception,
                        says: message.map_or(ExceptionDetail::Nothing, ExceptionDetail::Message),
                        site: Some(site),
                    },
                );
            }
            Instr::Rethrow(src) => {
                let exception = Exception::unpack(fiber.top()[usize::from(src)]);
                return self.throw(world, thread, exception);
            }
            Instr::Transaction { begins, name } => {
                let (code, context) = (&self.code, world.thread(thread).context);
                world.record(Some(thread), Some(context), None, || EventKind::Transaction {
                    begins,
                    name: name.map_or_else(String::new, |name| code.texts[name].clone()),
                });
                fiber.pc += 1;
            }
            Instr::Platform { what, dst, site } => return self.use_platform(world, thread, (what, dst, site)),
            other => {
                debug_assert!(false, "{other:?} is local");
                return Some(Next::Finished);
            }
        }
        None
    }

    pub(super) fn set(&mut self, thread: ThreadId, dst: Reg, value: Value) {
        let fiber = &mut self.fibers[thread];
        fiber.regs[fiber.base as usize + usize::from(dst)] = value;
        fiber.pc += 1;
    }

    fn return_from(&mut self, world: &mut World, thread: ThreadId, value: Value) -> Option<Next> {
        let frame = self.fibers[thread].pop()?;
        match frame.kind {
            FrameKind::Call(dst) => self.set(thread, dst, value),
            FrameKind::Callback => {}
            // The program counter of the looper is at its loop again.
            FrameKind::Task => world.end_task(thread),
            FrameKind::Job(job) => world.end_job(thread, job, JobEnd::Returned(value)),
            FrameKind::Root => return Some(Next::Finished),
        }
        None
    }
}

fn site_of(instr: &Instr) -> Option<SiteId> {
    match *instr {
        Instr::Binary { site, .. }
        | Instr::Bound { site, .. }
        | Instr::Field { site, .. }
        | Instr::IsLooper { site, .. } => Some(site),
        Instr::Platform { site, .. } => Some(site),
        Instr::Visible { site, .. } => site,
        _ => None,
    }
}

impl Fiber {
    /// Returns the condition of the `await` that is pending, if one is.
    pub(super) fn awaited(&self, code: &Code) -> Option<super::instr::FragmentId> {
        match code.instrs.get(self.pc as usize) {
            Some(Instr::Visible { op, .. }) => op.condition(),
            _ => None,
        }
    }
}
