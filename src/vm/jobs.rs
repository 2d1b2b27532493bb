//! Jobs in the virtual machine: the frames of an async task are set aside when its looper gives it up, and go back on
//! the looper's stack when it continues.

use super::blame::blamed;
use super::fiber::{Fiber, FrameKind};
use super::guest::Vm;
use super::instr::{Instr, ListGet, Reg, Regs, Visible};
use super::operands::{Values, range};
use super::pure::evaluate;
use super::unwind::{Exception, ExceptionDetail};
use crate::event::{
    BlockEnd, CANCELLED, ChannelId, Failure, FailureKind, LaunchParent, LaunchPlace, Op, Outcome, SemaphoreId,
    Suspension, ThreadId, Transfer, Value,
};
use crate::world::{Job, JobEnd, Next, Reply, ThrownException, World};

/// What a suspension waits for, with its operands in registers. [`Suspension`] has the same with resolved operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum SuspendAt {
    Sleep(Reg),
    Await {
        condition: super::instr::FragmentId,
        timeout: Option<Reg>,
    },
    Join(Reg),
    Down(Reg),
    DownFor {
        semaphore: Reg,
        timeout: Reg,
    },
    Yield,
    Switch(Reg),
    CloseBlock {
        block: Reg,
        end: CloseAt,
    },
    Send {
        channel: Reg,
        value: Reg,
    },
    /// Like the receive of a thread ([`Visible::Receive`]).
    Receive {
        channel: Reg,
        exit: Option<u32>,
    },
    /// Like the select of a thread ([`Visible::Select`]).
    Select {
        cases: Regs,
        timeout: Option<Reg>,
        otherwise: bool,
        values: Regs,
        received: Reg,
    },
}

/// How control has reached the end of a block, with an exception in a register.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum CloseAt {
    Normal,
    Cancelled,
    Failed(Reg),
}

/// Where a job starts, with its operand in a register.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum LaunchAt {
    Posted(super::instr::TargetRef),
    Here,
    Now,
}

/// The job that a new job belongs to, with its operand in a register.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ParentRef {
    Caller,
    NoParent,
    Job(Reg),
}

impl SuspendAt {
    /// Returns the suspension with resolved operands.
    pub(super) fn resolve(self, regs: &[Value], world: &mut World) -> Result<Suspension, ThrownException> {
        let get = |r: Reg| regs[usize::from(r)];
        let channel = |r: Reg| u32::try_from(get(r)).ok().map(ChannelId);
        let thread = |r: Reg| World::thread_value(get(r));
        let semaphore = |r: Reg| u32::try_from(get(r)).map(SemaphoreId).map_err(|_| ThrownException::NullPointer);
        Ok(match self {
            SuspendAt::Sleep(delay) => Suspension::Sleep(get(delay)),
            SuspendAt::Await { timeout, .. } => Suspension::Await { timeout: timeout.map(get) },
            SuspendAt::Join(other) => Suspension::Join(thread(other)?),
            SuspendAt::Down(of) => Suspension::Down(semaphore(of)?),
            SuspendAt::DownFor { semaphore: of, timeout } => {
                Suspension::DownFor { semaphore: semaphore(of)?, timeout: get(timeout) }
            }
            SuspendAt::Yield => Suspension::Yield,
            SuspendAt::Switch(to) => Suspension::Switch(thread(to)?),
            SuspendAt::CloseBlock { block, end } => {
                let end = match end {
                    CloseAt::Normal => BlockEnd::Normal,
                    CloseAt::Cancelled => BlockEnd::Cancelled,
                    CloseAt::Failed(exception) => BlockEnd::Failed(get(exception)),
                };
                Suspension::CloseBlock { block: thread(block)?, end }
            }
            SuspendAt::Send { channel: to, value } => {
                Suspension::Transfer(Transfer::Send { channel: channel(to), value: get(value) })
            }
            SuspendAt::Receive { channel: from, exit } => {
                Suspension::Transfer(Transfer::Receive { channel: channel(from), iterates: exit.is_some() })
            }
            SuspendAt::Select { cases, timeout, otherwise, .. } => {
                let cases = world.keep_args(range(regs, cases));
                Suspension::Transfer(Transfer::Select { cases, timeout: timeout.map(get), otherwise })
            }
        })
    }

    /// Calls `f` with each register that is read, except those of a condition.
    pub(super) fn registers(self, f: &mut dyn FnMut(Reg)) {
        match self {
            SuspendAt::Sleep(r) | SuspendAt::Join(r) | SuspendAt::Down(r) | SuspendAt::Switch(r) => f(r),
            SuspendAt::DownFor { semaphore, timeout } => {
                f(semaphore);
                f(timeout);
            }
            SuspendAt::Send { channel, value } => {
                f(channel);
                f(value);
            }
            SuspendAt::CloseBlock { block, end } => {
                f(block);
                if let CloseAt::Failed(exception) = end {
                    f(exception);
                }
            }
            SuspendAt::Receive { channel, .. } => f(channel),
            SuspendAt::Select { cases, timeout, .. } => {
                timeout.into_iter().for_each(&mut *f);
                (cases.first..cases.first + cases.count).for_each(f);
            }
            SuspendAt::Await { timeout, .. } => timeout.into_iter().for_each(f),
            SuspendAt::Yield => {}
        }
    }
}

/// Resolves the place and the parent of a launch.
pub(super) fn launched(
    (place, parent): (LaunchAt, ParentRef),
    regs: &[Value],
    target: impl Fn(super::instr::TargetRef) -> Result<crate::event::Target, ThrownException>,
) -> Result<(LaunchPlace, LaunchParent), ThrownException> {
    let place = match place {
        LaunchAt::Posted(to) => LaunchPlace::Posted(target(to)?),
        LaunchAt::Here => LaunchPlace::Here,
        LaunchAt::Now => LaunchPlace::Now,
    };
    let parent = match parent {
        ParentRef::Caller => LaunchParent::Caller,
        ParentRef::NoParent => LaunchParent::NoParent,
        ParentRef::Job(r) => LaunchParent::Job(World::thread_value(regs[usize::from(r)])?),
    };
    Ok((place, parent))
}

impl Vm {
    /// Continues a thread after an operation on jobs. Any other reply comes back.
    pub(super) fn deliver_job(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Result<Next, Reply> {
        match reply {
            Reply::Start { job, body, args, launched } => {
                let args = Values::from_slice(world.args(args));
                if launched {
                    self.set_value(thread, i64::from(job.0));
                }
                self.fiber(job).clear();
                if !self.enter(world, thread, body, &args, FrameKind::Job(job)) {
                    return Ok(Next::Ended);
                }
            }
            Reply::Suspended(job) => {
                self.fiber(job).clear();
                let (from, to) = self.two(thread, job);
                from.move_job(to, job);
            }
            Reply::Continue { job, value } => {
                let (from, to) = self.two(job, thread);
                if !world.take_cells(to.append(from)) {
                    return Ok(Next::Ended);
                }
                if value != CANCELLED
                    && let Some(reply) = world.reply_after(job)
                {
                    return match self.deliver_job(world, thread, reply) {
                        Ok(next) => Ok(next),
                        Err(reply) => Ok(self.deliver_rare(world, thread, reply)),
                    };
                }
                if let Some(next) = self.after_suspension(world, thread, value) {
                    return Ok(next);
                }
            }
            Reply::Skipped => {}
            Reply::Rethrow(exception) => {
                if let Some(next) = self.throw(world, thread, Exception::unpack(exception)) {
                    return Ok(next);
                }
            }
            other => return Err(other),
        }
        Ok(self.run(world, thread, None))
    }

    // Gives the pending instruction its value, or throws at it. An exception in the condition of an `await` is thrown.
    fn after_suspension(&mut self, world: &mut World, thread: ThreadId, value: Value) -> Option<Next> {
        let code = self.code.clone();
        let fiber = &self.fibers[thread];
        let pc = fiber.pc;
        let Instr::Visible { site, .. } = code.instrs[pc as usize] else { return None };
        if value == CANCELLED {
            let exception = self.built_in(ThrownException::Cancelled, site, None);
            return self.throw(world, thread, exception);
        }
        let thrown = fiber.awaited(&code).and_then(|condition| {
            let result = evaluate(code.fragment(condition), fiber.top(), world, Some(thread));
            result.err().map(|(thrown, at)| (thrown, blamed(&code.fragments_blamed[condition as usize], at)))
        });
        if let Some((thrown, blame)) = thrown {
            let exception = self.built_in(thrown, site, blame);
            return self.throw(world, thread, exception);
        }
        self.set_value(thread, value);
        None
    }

    // Completes the pending visible instruction of a thread with this value.
    fn set_value(&mut self, thread: ThreadId, value: Value) {
        let code = self.code.clone();
        let fiber = &mut self.fibers[thread];
        if let Instr::Visible { dst, .. } = code.instrs[fiber.pc as usize] {
            fiber.regs[fiber.base as usize + usize::from(dst)] = value;
        }
        fiber.pc += 1;
    }

    fn two(&mut self, a: ThreadId, b: ThreadId) -> (&mut Fiber, &mut Fiber) {
        let [a, b] = self.fibers.as_mut_slice().get_disjoint_mut([a.0 as usize, b.0 as usize]).expect("two fibers");
        (a, b)
    }

    /// Ends the job whose last frame an exception has left. A cancellation ends the job as cancelled.
    pub(super) fn job_failed(&self, world: &mut World, thread: ThreadId, job: ThreadId, exception: Exception) {
        let is_cancelled = self.code.exceptions[exception.name] == ThrownException::Cancelled.name();
        let end = if is_cancelled { JobEnd::Cancelled } else { JobEnd::Failed(exception.pack()) };
        world.end_job(thread, job, end);
    }

    /// Reports the failure of a job that no other job keeps, or of a promise that nobody has handled.
    pub(super) fn report(&self, world: &mut World, job: ThreadId, exception: Exception) {
        if world.setup().uncaught_ends_thread {
            return;
        }
        let message = match exception.says {
            ExceptionDetail::Message(message) => self.code.texts[message].clone(),
            _ => String::new(),
        };
        let name = &self.code.exceptions[exception.name];
        let kind = match world.job(job).is_some_and(Job::is_promise) {
            true => FailureKind::Rejection,
            false => FailureKind::Exception,
        };
        let failure = world.failure(kind, job, name, &message, exception.site);
        let operand = match exception.says {
            ExceptionDetail::Blame(id) => self.code.blames.operand(name, id),
            _ => None,
        };
        world.end(Outcome::Failure(Failure { operand, ..failure }));
    }
}

impl Visible {
    /// Returns where an iteration goes on at the end of its list or channel. `None` for every other instruction.
    pub(super) fn exit(&self) -> Option<u32> {
        match *self {
            Visible::ListRead(_, ListGet::Next { exit, .. })
            | Visible::Receive { exit: Some(exit), .. }
            | Visible::Suspend(SuspendAt::Receive { exit: Some(exit), .. }) => Some(exit),
            _ => None,
        }
    }

    /// Returns the same as [`exit`](Self::exit), to change it.
    pub(super) fn exit_mut(&mut self) -> Option<&mut u32> {
        match self {
            Visible::ListRead(_, ListGet::Next { exit, .. })
            | Visible::Receive { exit: Some(exit), .. }
            | Visible::Suspend(SuspendAt::Receive { exit: Some(exit), .. }) => Some(exit),
            _ => None,
        }
    }

    /// Returns the registers of a select for the received values, and for whether one was sent. `None` for every other
    /// instruction.
    pub(super) fn select_results(&self) -> Option<(Regs, Reg)> {
        match *self {
            Visible::Select { values, received, .. } | Visible::Suspend(SuspendAt::Select { values, received, .. }) => {
                Some((values, received))
            }
            _ => None,
        }
    }

    /// Returns the condition that the instruction waits for.
    pub(super) fn condition(&self) -> Option<super::instr::FragmentId> {
        match *self {
            Visible::Await { condition, .. } | Visible::Suspend(SuspendAt::Await { condition, .. }) => Some(condition),
            _ => None,
        }
    }
}

/// Returns the operation of a suspension of the job that a thread runs.
pub(super) fn suspension(
    at: SuspendAt,
    regs: &[Value],
    world: &mut World,
    thread: ThreadId,
) -> Result<Op, ThrownException> {
    let job = world.running_job(thread).ok_or(ThrownException::IllegalState)?;
    at.resolve(regs, world).map(|on| Op::Suspend { job, on })
}
