//! Runs a thread by itself up to its next visible operation.

use super::code::Code;
use super::fiber::{Fiber, FrameKind};
use super::guest::Vm;
use super::instr::{Instr, ListGet, ListPut, LockRef, Reg, Regs, TargetRef, Time, Visible, WaitRef};
use super::pure::{Local, evaluate, local, location};
use crate::base::Id;
use crate::event::{
    Args, BarrierId, ConditionId, FailureKind, Happening, LimitKind, ListRead, ListWrite, Location, LockId, Op,
    Outcome, PostTime, RwLockId, SemaphoreId, SiteId, Target, ThreadId, Value, WaitSet,
};
use crate::lang::program::{ExceptionId, TextId};
use crate::world::{Next, Reply, Thrown, World};

/// An exception in flight: its name, message and where it was thrown, packed into one word so that a register can keep it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exception {
    pub(super) name: ExceptionId,
    pub(super) message: Option<TextId>,
    pub(super) site: Option<SiteId>,
}

impl Exception {
    fn pack(self) -> Value {
        let part = |n: Option<u32>| i64::from(n.map_or(0, |n| n + 1));
        i64::from(self.name.0) << 48 | part(self.message.map(|m| m.0)) << 24 | part(self.site.map(|s| s.0))
    }

    fn unpack(word: Value) -> Self {
        let part = |n: i64| (n as u32 & 0xff_ffff).checked_sub(1);
        Self {
            name: ExceptionId((word as u64 >> 48) as u32),
            message: part(word >> 24).map(TextId),
            site: part(word).map(SiteId),
        }
    }
}

impl Vm {
    fn built_in(&self, thrown: Thrown, site: Option<SiteId>) -> Exception {
        // The program's table starts with the built-in ones.
        let name = self.code.exceptions.iter().position(|e| e == thrown.name()).unwrap_or(0);
        Exception { name: ExceptionId::new(name), message: None, site }
    }

    /// The thread has the reply to its pending operation.
    pub(super) fn deliver(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        let code = self.code.clone();
        let fiber = &mut self.fibers[thread];
        // What a condition throws lets its thread go on, and is thrown there.
        let thrown = fiber
            .awaited(&code)
            .and_then(|condition| evaluate(code.fragment(condition), fiber.top(), world, Some(thread)).err());
        let too_deep = matches!(reply, Reply::Callbacks(_)) && fiber.depth() >= world.limits().depth as usize;
        let thrown = thrown.or(too_deep.then_some(Thrown::StackOverflow));
        let reply = thrown.map_or(reply, Reply::Throw);
        let Some(frame) = fiber.frames.last_mut() else { return Next::Finished };
        let Instr::Visible { op, dst, site } = code.bodies[frame.body].code[frame.pc as usize] else {
            debug_assert!(false, "a thread waits at a visible operation");
            return Next::Finished;
        };
        let slot = frame.base as usize + usize::from(dst);
        match reply {
            Reply::Value(value) => {
                fiber.regs[slot] = value;
                frame.pc += 1;
            }
            Reply::LeaveLoop => frame.pc += 1,
            Reply::Exhausted => {
                if let Visible::ListRead(_, ListGet::Next { exit, .. }) = op {
                    frame.pc = exit;
                }
            }
            Reply::Throw(thrown) => {
                let exception = self.built_in(thrown, site);
                if let Some(next) = self.throw(world, thread, exception) {
                    return next;
                }
            }
            Reply::Task(body, args) => {
                self.enter(world, thread, body, &args, FrameKind::Task);
            }
            Reply::Callbacks(bodies) => {
                frame.pc += 1;
                if let Visible::Perform { args, .. } = op {
                    let args = values(fiber.top(), args);
                    for body in bodies.iter().rev() {
                        self.enter(world, thread, *body, &args, FrameKind::Callback);
                    }
                }
            }
            Reply::Again(_) => debug_assert!(false, "the machine keeps these"),
        }
        self.run(world, thread)
    }

    /// Runs on to the next visible operation.
    pub(super) fn run(&mut self, world: &mut World, thread: ThreadId) -> Next {
        // Its first frames may need more cells than there are.
        if world.outcome().is_some() {
            return Next::Ended;
        }
        let code = self.code.clone();
        let mut left = world.limits().local;
        loop {
            if left == 0 {
                world.end(Outcome::Limit(LimitKind::LocalSteps, world.limits().local));
                return Next::Ended;
            }
            left -= 1;
            let fiber = &mut self.fibers[thread];
            let Some(frame) = fiber.frames.last_mut() else { return Next::Finished };
            let instr = &code.bodies[frame.body].code[frame.pc as usize];
            let base = frame.base as usize;
            match local(instr, &mut fiber.regs[base..], world.memory(), Some(thread)) {
                Ok(Local::Done) => frame.pc += 1,
                Ok(Local::Jump(to)) => frame.pc = to,
                Err(thrown) => {
                    let exception = self.built_in(thrown, site_of(instr));
                    if let Some(next) = self.throw(world, thread, exception) {
                        return next;
                    }
                }
                Ok(Local::Other) => {
                    let instr = *instr;
                    if let Some(next) = self.other(world, thread, &code, instr) {
                        return next;
                    }
                }
            }
        }
    }

    // Everything that touches more than registers.
    fn other(&mut self, world: &mut World, thread: ThreadId, code: &Code, instr: Instr) -> Option<Next> {
        let fiber = &mut self.fibers[thread];
        match instr {
            Instr::Visible { op, site, .. } => match pending(op, fiber.top(), world) {
                Ok(op) => return Some(Next::At(op, site)),
                Err(thrown) => {
                    let exception = self.built_in(thrown, site);
                    return self.throw(world, thread, exception);
                }
            },
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
                if fiber.frames.len() >= most && fiber.depth() >= most {
                    let exception = self.built_in(Thrown::StackOverflow, Some(site));
                    return self.throw(world, thread, exception);
                }
                let args = values(fiber.top(), args);
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
                let message = message.map_or("", |m| &code.texts[m]);
                let failure = world.failure(kind, thread, "", message, Some(site));
                world.end(Outcome::Failure(failure));
                return Some(Next::Ended);
            }
            Instr::Throw { exception, message, site } => {
                return self.throw(world, thread, Exception { name: exception, message, site: Some(site) });
            }
            Instr::Rethrow(src) => {
                let exception = Exception::unpack(fiber.top()[usize::from(src)]);
                return self.throw(world, thread, exception);
            }
            other => {
                debug_assert!(false, "{other:?} is local");
                return Some(Next::Finished);
            }
        }
        None
    }

    fn set(&mut self, thread: ThreadId, dst: Reg, value: Value) {
        let fiber = &mut self.fibers[thread];
        if let Some(frame) = fiber.frames.last_mut() {
            fiber.regs[frame.base as usize + usize::from(dst)] = value;
            frame.pc += 1;
        }
    }

    fn return_from(&mut self, world: &mut World, thread: ThreadId, value: Value) -> Option<Next> {
        let frame = self.fibers[thread].pop()?;
        match frame.kind {
            FrameKind::Call(dst) => self.set(thread, dst, value),
            FrameKind::Callback => {}
            // The looper is at its loop again.
            FrameKind::Task => world.end_task(thread),
            FrameKind::Root => return Some(Next::Finished),
        }
        None
    }

    /// Finds the handler of an exception; without one it ends the run or the thread (`Some`).
    fn throw(&mut self, world: &mut World, thread: ThreadId, exception: Exception) -> Option<Next> {
        let context = world.thread(thread).context;
        let code = self.code.clone();
        let name = || code.exceptions[exception.name].clone();
        world.record(Some(thread), Some(context), exception.site, || Happening::Thrown(name()));
        let fiber = &mut self.fibers[thread];
        while let Some(frame) = fiber.frames.last_mut() {
            // A caller stands at its call, a looper at its loop; one that performs callbacks is past it.
            let found = code.bodies[frame.body]
                .handlers
                .iter()
                .find(|h| (h.from..h.to).contains(&frame.pc) && h.catch.is_none_or(|name| name == exception.name));
            if let Some(handler) = found {
                fiber.regs[frame.base as usize + usize::from(handler.save)] = exception.pack();
                frame.pc = handler.target;
                return None;
            }
            if frame.kind == FrameKind::Callback {
                fiber.pop();
                // Callbacks that have not begun are dropped; then back to the perform, so that what protects it is found.
                while fiber.frames.last().is_some_and(|f| f.kind == FrameKind::Callback && f.pc == 0) {
                    fiber.pop();
                }
                if let Some(caller) = fiber.frames.last_mut() {
                    caller.pc -= 1;
                }
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
        let message = match exception.message {
            Some(message) => code.texts[message].clone(),
            None if code.exceptions[exception.name] == "StackOverflow" => {
                format!("more than {} calls deep (--depth raises the limit)", world.limits().depth)
            }
            None => String::new(),
        };
        let name = &code.exceptions[exception.name];
        let failure = world.failure(FailureKind::Exception, thread, name, &message, exception.site);
        world.end(Outcome::Failure(failure));
        Some(Next::Ended)
    }
}

fn site_of(instr: &Instr) -> Option<SiteId> {
    match *instr {
        Instr::Binary { site, .. } | Instr::Bound { site, .. } | Instr::Field { site, .. } => Some(site),
        _ => None,
    }
}

fn values(regs: &[Value], range: Regs) -> Args {
    Args::from_slice(&regs[usize::from(range.first)..usize::from(range.first) + usize::from(range.count)])
}

// The visible operation with its operands, out of the registers.
fn pending(op: Visible, regs: &[Value], world: &World) -> Result<Op, Thrown> {
    let get = |r: Reg| regs[usize::from(r)];
    let at = |a| location(a, regs);
    let index = |r: Reg| u32::try_from(get(r)).map_err(|_| Thrown::NullPointer);
    let object = |r: Reg| index(r).map(crate::event::ObjectId);
    let thread = |r: Reg| World::thread_value(get(r));
    let lock = |l: LockRef| match l {
        LockRef::Lock(r) => index(r).map(LockId),
        LockRef::Monitor(r) => world.monitor_of(get(r)),
    };
    let wait_set = |w: WaitRef| match w {
        WaitRef::Lock(l) => lock(l).map(WaitSet::Lock),
        WaitRef::Condition(r) => index(r).map(|c| WaitSet::Condition(ConditionId(c))),
    };
    let target = |t: TargetRef| match t {
        TargetRef::Thread(r) => thread(r).map(Target::Thread),
        TargetRef::Handler(r) => World::target_handler(get(r)),
    };
    let list = |a: Location| world.memory().list_in(a.cell);
    Ok(match op {
        Visible::Read(a) => Op::Read(at(a)),
        Visible::Write(a, v) => Op::Write(at(a), get(v)),
        Visible::AtomicRead(a) => Op::AtomicRead(at(a)),
        Visible::AtomicWrite(a, v) => Op::AtomicWrite(at(a), get(v)),
        Visible::ListRead(a, what) => {
            let a = at(a);
            let what = match what {
                ListGet::Len => ListRead::Len,
                ListGet::Get(i) => ListRead::Get(get(i)),
                ListGet::Iterate => ListRead::Iterate,
                ListGet::Next { index, version, .. } => ListRead::Next { index: get(index), version: get(version) },
            };
            Op::ListRead { at: a, list: list(a), what }
        }
        Visible::ListWrite(a, what) => {
            let a = at(a);
            let what = match what {
                ListPut::Push(v) => ListWrite::Push(get(v)),
                ListPut::Pop => ListWrite::Pop,
                ListPut::Remove(i) => ListWrite::Remove(get(i)),
                ListPut::Clear => ListWrite::Clear,
                ListPut::Set(i, v) => ListWrite::Set(get(i), get(v)),
            };
            Op::ListWrite { at: a, list: list(a), what }
        }
        Visible::Cas { at: a, old, new } => Op::Cas { at: at(a), old: get(old), new: get(new) },
        Visible::FetchAdd(a, v) => Op::FetchAdd(at(a), get(v)),
        Visible::Exchange(a, v) => Op::Exchange(at(a), get(v)),
        Visible::Use(r) => Op::Use(object(r)?),
        Visible::Free(r) => Op::Free(object(r)?),
        Visible::Acquire(l) => Op::Acquire(lock(l)?),
        Visible::Release(l) => Op::Release(lock(l)?),
        Visible::Wait { on, lock: l, timeout } => {
            Op::Wait { on: wait_set(on)?, lock: lock(l)?, timeout: timeout.map(get) }
        }
        Visible::Notify { on, all } => Op::Notify { on: wait_set(on)?, all },
        Visible::ReadLock(r) => Op::ReadLock(RwLockId(index(r)?)),
        Visible::Announce(r) => Op::Announce(RwLockId(index(r)?)),
        Visible::WriteLock(r) => Op::WriteLock(RwLockId(index(r)?)),
        Visible::ReadUnlock(r) => Op::ReadUnlock(RwLockId(index(r)?)),
        Visible::WriteUnlock(r) => Op::WriteUnlock(RwLockId(index(r)?)),
        Visible::Down(r) => Op::Down(SemaphoreId(index(r)?)),
        Visible::Up(r) => Op::Up(SemaphoreId(index(r)?)),
        Visible::Arrive(r) => Op::Arrive(BarrierId(index(r)?)),
        Visible::Await { timeout, .. } => Op::Await { timeout: timeout.map(get) },
        Visible::Join(r) => Op::Join(thread(r)?),
        Visible::Fork { body, args } => Op::Fork { body, args: values(regs, args) },
        Visible::SpawnLooper => Op::SpawnLooper,
        Visible::Post { target: t, body, args, time, is_async, instance } => Op::Post {
            target: target(t)?,
            body,
            args: values(regs, args),
            time: match time {
                Time::Now => PostTime::Now,
                Time::After(d) => PostTime::After(get(d)),
                Time::Front => PostTime::Front,
                Time::At(t) => PostTime::At(get(t)),
            },
            is_async,
            instance: instance.map(|t| t.0),
        },
        Visible::Begin => Op::Begin,
        Visible::AttachQueue => Op::AttachQueue,
        Visible::Fence(r) => Op::Fence(thread(r)?),
        Visible::Lift(r) => Op::Lift(get(r)),
        Visible::Cancel { target: t, body } => Op::Cancel { target: target(t)?, body },
        Visible::Quit { looper, safely } => Op::Quit { looper: thread(looper)?, safely },
        Visible::NewHandler(r) => Op::NewHandler(thread(r)?),
        Visible::Enable { event, args, instance } => {
            Op::Enable { event, args: values(regs, args), instance: instance.map(|t| t.0) }
        }
        Visible::Disable(event) => Op::Disable(event),
        Visible::Register { listener, body } => Op::Register { listener, body },
        Visible::Perform { listener, .. } => Op::Perform(listener),
        Visible::Interrupt(r) => Op::Interrupt(thread(r)?),
        Visible::Sleep(r) => Op::Sleep(get(r)),
        Visible::Branch => Op::Branch,
        Visible::Skip => Op::Skip,
        Visible::Yield => Op::Yield,
    })
}

impl Fiber {
    /// The condition that the thread awaits.
    pub(super) fn awaited(&self, code: &Code) -> Option<super::instr::FragmentId> {
        let frame = self.frames.last()?;
        match code.bodies[frame.body].code.get(frame.pc as usize) {
            Some(Instr::Visible { op: Visible::Await { condition, .. }, .. }) => Some(*condition),
            _ => None,
        }
    }
}
