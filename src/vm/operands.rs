//! Resolves the operands of a visible instruction: from its registers to the pending operation.

use super::instr::{ListGet, ListPut, LockRef, PostMore, Reg, Regs, TargetRef, Time, Visible, WaitRef};
use super::jobs::{launched, suspension};
use super::pure::location;
use crate::event::{
    Acquisition, Args, BarrierId, ChannelId, ConditionId, GroupId, ListRead, ListWrite, Location, LockId, NULL, Op,
    PostOptions, PostTime, RwLockId, SemaphoreId, SiteId, Target, ThreadId, Value, WaitSet,
};
use crate::world::{Next, ThrownException, World};
use smallvec::SmallVec;

/// The arguments of a new frame.
pub(super) type Values = SmallVec<[Value; 4]>;

pub(super) fn range(regs: &[Value], range: Regs) -> &[Value] {
    &regs[usize::from(range.first)..][..usize::from(range.count)]
}

fn lock_of(value: Value) -> Result<LockId, ThrownException> {
    u32::try_from(value).map(LockId).map_err(|_| ThrownException::NullPointer)
}

/// Returns the operation, if it is one of the most frequent ones and its operands cannot throw.
#[inline(always)]
pub(super) fn in_place(op: &Visible, regs: &[Value]) -> Option<Op> {
    Some(match *op {
        Visible::Read(a) => Op::Read(location(a, regs)),
        Visible::Write(a, v) => Op::Write(location(a, regs), regs[usize::from(v)]),
        Visible::Acquire(LockRef::Lock(r)) => Op::Acquire(lock_of(regs[usize::from(r)]).ok()?),
        Visible::Release(LockRef::Lock(r)) => Op::Release(lock_of(regs[usize::from(r)]).ok()?),
        Visible::Skip => Op::Skip,
        _ => return None,
    })
}

/// Sets the thread's pending operation in the world. The most frequent operations are resolved inline.
#[inline(always)]
pub(super) fn pend(
    op: &Visible,
    site: Option<SiteId>,
    regs: &[Value],
    world: &mut World,
    thread: ThreadId,
) -> Result<Next, ThrownException> {
    match *op {
        Visible::Read(a) => world.pend(thread, Op::Read(location(a, regs)), site),
        Visible::Write(a, v) => world.pend(thread, Op::Write(location(a, regs), regs[usize::from(v)]), site),
        Visible::Acquire(LockRef::Lock(r)) => {
            let lock = lock_of(regs[usize::from(r)])?;
            world.pend(thread, Op::Acquire(lock), site);
            world.mark_pending_at_lock(thread, lock);
        }
        Visible::Release(LockRef::Lock(r)) => world.pend(thread, Op::Release(lock_of(regs[usize::from(r)])?), site),
        Visible::Skip => world.pend(thread, Op::Skip, site),
        _ => return pend_any(op, site, regs, world, thread),
    }
    Ok(Next::Ready)
}

#[inline(never)]
fn pend_any(
    op: &Visible,
    site: Option<SiteId>,
    regs: &[Value],
    world: &mut World,
    thread: ThreadId,
) -> Result<Next, ThrownException> {
    let op = pending(*op, regs, world, thread)?;
    world.pend(thread, op, site);
    Ok(Next::Pending)
}

fn post_time(time: Time, regs: &[Value]) -> PostTime {
    let get = |r: Reg| regs[usize::from(r)];
    match time {
        Time::Now => PostTime::Now,
        Time::After(d) => PostTime::After(get(d)),
        Time::Front => PostTime::Front,
        Time::At(t) => PostTime::At(get(t)),
        Time::Micro => PostTime::Micro,
        Time::Idle { keep } => PostTime::Idle { keep },
    }
}

// Keeps the arguments of a post, followed by the values of its options. A null token is no token.
fn keep_more(args: &[Value], more: PostMore, regs: &[Value], world: &mut World) -> (Args, PostOptions) {
    let get = |r: Reg| regs[usize::from(r)];
    let token = more.with.map(get).filter(|token| *token != NULL);
    let every = more.every.map(get);
    let mut options = PostOptions::default();
    let given = [
        (token.is_some(), PostOptions::TOKEN),
        (every.is_some(), PostOptions::EVERY),
        (more.daemon, PostOptions::DAEMON),
        (more.handle, PostOptions::HANDLE),
    ];
    for (_, option) in given.into_iter().filter(|(is_given, _)| *is_given) {
        options = options.and(option);
    }
    let values: Values = args.iter().copied().chain(token).chain(every).collect();
    (world.keep_args(&values).truncated(args.len()), options)
}

// Resolves the operands of a visible operation of thread `by`. Fails if an operand throws, such as a null reference.
fn pending(op: Visible, regs: &[Value], world: &mut World, by: ThreadId) -> Result<Op, ThrownException> {
    let get = |r: Reg| regs[usize::from(r)];
    let at = |a| location(a, regs);
    let index = |r: Reg| u32::try_from(get(r)).map_err(|_| ThrownException::NullPointer);
    let object = |r: Reg| index(r).map(crate::event::ObjectId);
    let thread = |r: Reg| World::thread_value(get(r));
    let lock = |l: LockRef| match l {
        LockRef::Lock(r) => lock_of(get(r)),
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
        Visible::DownFor { semaphore, timeout } => {
            Op::DownFor { semaphore: SemaphoreId(index(semaphore)?), timeout: get(timeout) }
        }
        Visible::Up(r) => Op::Up(SemaphoreId(index(r)?)),
        Visible::Arrive(r) => Op::Arrive(BarrierId(index(r)?)),
        Visible::Await { timeout, .. } => Op::Await { timeout: timeout.map(get) },
        Visible::Join(r) => Op::Join(thread(r)?),
        Visible::Fork { body, args } => Op::Fork { body, args: world.keep_args(range(regs, args)) },
        Visible::SpawnLooper => Op::SpawnLooper,
        Visible::Post { target: t, body, args, time, is_async, instance } => Op::Post {
            target: target(t)?,
            body,
            args: world.keep_args(range(regs, args)),
            time: post_time(time, regs),
            is_async,
            options: PostOptions::default(),
            instance: instance.map(|t| t.0),
        },
        Visible::PostMore { target: t, body, args, time, is_async, more, instance } => {
            let target = target(t)?;
            let (args, options) = keep_more(range(regs, args), more, regs, world);
            let time = post_time(time, regs);
            Op::Post { target, body, args, time, is_async, options, instance: instance.map(|t| t.0) }
        }
        Visible::Begin => Op::Begin,
        Visible::AttachQueue => Op::AttachQueue,
        Visible::Fence(r) => Op::Fence(thread(r)?),
        // A null token throws like every null reference: when the operand is resolved, before the step.
        Visible::Lift(r) if get(r) == NULL => return Err(ThrownException::NullPointer),
        Visible::Lift(r) => Op::Lift(get(r)),
        Visible::Cancel { target: t, body } => Op::Cancel { target: target(t)?, body, token: NULL },
        Visible::CancelWith { target: t, body, token } => Op::Cancel { target: target(t)?, body, token: get(token) },
        Visible::CancelMessage(message) => Op::CancelMessage(get(message)),
        Visible::Quit { looper, safely } => Op::Quit { looper: thread(looper)?, safely },
        Visible::NewHandler(r) => Op::NewHandler(thread(r)?),
        Visible::Enable { event, args, instance } => {
            Op::Enable { event, args: world.keep_args(range(regs, args)), instance: instance.map(|t| t.0) }
        }
        Visible::Disable(event) => Op::Disable(event),
        Visible::Request => Op::Request,
        Visible::Unregister { listener, body } => Op::Unregister { listener, body },
        Visible::Register { listener, body } => Op::Register { listener, body },
        Visible::Perform { listener, .. } => Op::Perform(listener),
        Visible::Interrupt(r) => Op::Interrupt(thread(r)?),
        Visible::Sleep(r) => Op::Sleep(get(r)),
        Visible::AcquireFor { lock: l, timeout } => {
            Op::AcquireFor { of: Acquisition::Lock(lock(l)?), timeout: get(timeout) }
        }
        Visible::SideFor { lock: r, write, timeout } => {
            let id = RwLockId(index(r)?);
            let of = if write { Acquisition::Write(id) } else { Acquisition::Read(id) };
            Op::AcquireFor { of, timeout: get(timeout) }
        }
        Visible::GroupAdd { group, delta } => Op::GroupAdd { group: GroupId(index(group)?), delta: get(delta) },
        Visible::GroupWait(r) => Op::GroupWait(GroupId(index(r)?)),
        Visible::ReadInterrupt(r) => Op::ReadInterrupt(thread(r)?),
        Visible::Now => Op::Now,
        Visible::Send { channel, value } => Op::Send { channel: index(channel).ok().map(ChannelId), value: get(value) },
        Visible::Receive { channel, exit } => {
            Op::Receive { channel: index(channel).ok().map(ChannelId), iterates: exit.is_some() }
        }
        Visible::Close(r) => Op::Close(ChannelId(index(r)?)),
        Visible::ChannelRead { channel, what } => Op::ChannelRead { channel: ChannelId(index(channel)?), what },
        Visible::Select { cases, timeout, otherwise, .. } => {
            Op::Select { cases: world.keep_args(range(regs, cases)), timeout: timeout.map(get), otherwise }
        }
        Visible::Branch => Op::Branch,
        Visible::Choose { from, values } => Op::Choose { from: get(from), values },
        Visible::Skip => Op::Skip,
        Visible::Yield => Op::Yield,
        Visible::Launch { body, args, place, parent, kind } => {
            let (place, parent) = launched((place, parent), regs, target)?;
            Op::Launch { body, args: world.keep_args(range(regs, args)), place, parent, kind }
        }
        Visible::Suspend(at) => suspension(at, regs, world, by)?,
        Visible::CancelJob(r) => Op::CancelJob(thread(r)?),
        Visible::AskJob { job, what } => Op::AskJob { job: thread(job)?, what },
        Visible::SpawnScope => Op::SpawnScope,
        Visible::OpenBlock(kind) => Op::OpenBlock(kind),
    })
}
