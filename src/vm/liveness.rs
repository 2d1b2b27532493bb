//! Computes which registers are live at each instruction: the ones that may be read before they are written again. A
//! dead register is not part of the state.

use super::code::{Fragment, Handler};
use super::instr::{Address, Instr, ListGet, ListPut, LockRef, Reg, Regs, Time, Visible, WaitRef};
use super::jobs::{LaunchAt, ParentRef};

// Above this size a body's table would cost more than it saves.
const MOST_WORDS: usize = 4_000_000;

/// Returns for each instruction the set of registers that are live before it, as bits (backward data flow to a fixed
/// point). The result is empty for a huge body. Then all registers count as live, which can distinguish states that are
/// equal but never confuses different ones.
pub(super) fn live(code: &[Instr], handlers: &[Handler], regs: usize, fragments: &[Fragment]) -> Vec<Vec<u64>> {
    let words = regs.div_ceil(64);
    if code.len() * words > MOST_WORDS {
        return Vec::new();
    }
    // The extra set at the end is that of the place behind the code, where nothing is live.
    let mut live = vec![vec![0u64; words]; code.len() + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..code.len()).rev() {
            let mut out = vec![0u64; words];
            if let Instr::ForNext { local, body, .. } = code[at] {
                // The loop variable is written only on the way into the body, not at the exit.
                merge(&mut out, &live[body as usize]);
                out[usize::from(local) / 64] &= !(1 << (local % 64));
            }
            for next in successors(code, at) {
                merge(&mut out, &live[next]);
            }
            let mut write = |reg: Reg| out[usize::from(reg) / 64] &= !(1 << (reg % 64));
            written(&code[at]).into_iter().for_each(&mut write);
            if let Instr::Visible { op, .. } = code[at]
                && let Some((values, received)) = op.select_results()
            {
                // Only the value of the case that goes is written, but no other one is read after that.
                each(values, &mut write);
                write(received);
            }
            // An exception may leave from here before the instruction has written a register.
            for h in handlers.iter().filter(|h| protects(h, code, at)) {
                let mut there = live[h.target as usize].clone();
                there[usize::from(h.save) / 64] &= !(1 << (h.save % 64));
                merge(&mut out, &there);
            }
            read(&code[at], fragments, &mut |reg| out[usize::from(reg) / 64] |= 1 << (reg % 64));
            if out != live[at] {
                live[at] = out;
                changed = true;
            }
        }
    }
    live.pop();
    live
}

// Whether an exception may go from here to the handler. While callbacks run, the program counter of their `perform` is
// already past it, so an instruction behind a `perform` also has the `perform`'s handlers.
fn protects(handler: &Handler, code: &[Instr], at: usize) -> bool {
    let performs = |i: &usize| matches!(code[*i], Instr::Visible { op: Visible::Perform { .. }, .. });
    let before = at.checked_sub(1).filter(performs);
    [Some(at), before].into_iter().flatten().any(|i| (handler.from..handler.to).contains(&(i as u32)))
}

// The registers that are live before a condition is evaluated.
fn condition(fragment: &Fragment, fragments: &[Fragment]) -> Vec<Reg> {
    let regs = 0..fragment.regs;
    let code: Vec<Instr> = fragment.code.iter().copied().chain([Instr::Return(Some(fragment.result))]).collect();
    match live(&code, &[], regs.len(), fragments).first() {
        Some(live) => regs.filter(|reg| live[usize::from(*reg) / 64] >> (reg % 64) & 1 == 1).collect(),
        None => regs.collect(),
    }
}

fn merge(into: &mut [u64], from: &[u64]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a |= b;
    }
}

fn successors(code: &[Instr], at: usize) -> impl Iterator<Item = usize> {
    let next = (at + 1).min(code.len());
    let (a, b) = match code[at] {
        Instr::Jump(to) => (Some(to as usize), None),
        Instr::JumpIf { to, .. } | Instr::JumpUnless { to, .. } => (Some(next), Some(to as usize)),
        Instr::Return(_) | Instr::Fail { .. } | Instr::Throw { .. } | Instr::Rethrow(_) | Instr::PassOn(_) => {
            (None, None)
        }
        // A looper takes message after message at one instruction, so that instruction is its own successor.
        Instr::Visible { op: Visible::Begin, .. } => (Some(next), Some(at)),
        Instr::Visible { op, .. } => (Some(next), op.exit().map(|exit| exit as usize)),
        _ => (Some(next), None),
    };
    a.into_iter().chain(b)
}

/// Returns the register that an instruction writes.
pub(super) fn written(instr: &Instr) -> Option<Reg> {
    match *instr {
        Instr::Const { dst, .. }
        | Instr::Move { dst, .. }
        | Instr::SelfThread { dst }
        | Instr::IsLooper { dst, .. }
        | Instr::Unary { dst, .. }
        | Instr::Binary { dst, .. }
        | Instr::Bound { dst, .. }
        | Instr::Step { dst, .. }
        | Instr::Field { dst, .. }
        | Instr::LoadElement { dst, .. }
        | Instr::New { dst, .. }
        | Instr::Call { dst, .. }
        | Instr::Peek { dst, .. }
        | Instr::PeekList { dst, .. }
        | Instr::Platform { dst, .. } => Some(dst),
        // At the end of its list an iteration writes no element.
        Instr::Visible { op, dst, .. } => op.exit().is_none().then_some(dst),
        _ => None,
    }
}

/// Calls `f` with each register that the instruction reads. The index of an array element is not known here. Therefore
/// a load counts as a read of all elements, and a store as a write of none.
fn read(instr: &Instr, fragments: &[Fragment], f: &mut dyn FnMut(Reg)) {
    let address = |at: Address, f: &mut dyn FnMut(Reg)| {
        if let Address::Reg(reg) = at {
            f(reg);
        }
    };
    match *instr {
        Instr::Move { src, .. } | Instr::Unary { src, .. } | Instr::Rethrow(src) | Instr::PassOn(src) => f(src),
        Instr::Binary { left, right, .. } => {
            f(left);
            f(right);
        }
        Instr::ForNext { counter, end, .. } => {
            f(counter);
            f(end);
        }
        Instr::Bound { index, .. } => f(index),
        Instr::Step { base, index, .. } => {
            f(base);
            f(index);
        }
        Instr::Field { object, .. } => f(object),
        Instr::LoadElement { array, index, .. } => {
            each(array, f);
            f(index);
        }
        Instr::StoreElement { index, src, .. } => {
            f(index);
            f(src);
        }
        Instr::JumpIf { cond, .. } | Instr::JumpUnless { cond, .. } => f(cond),
        Instr::Call { args, .. } => each(args, f),
        Instr::IsLooper { target, .. } => f(target.reg()),
        Instr::Return(Some(src)) => f(src),
        Instr::Peek { at, .. } => address(at, f),
        Instr::PeekList { at, index, .. } => {
            address(at, f);
            index.into_iter().for_each(f);
        }
        Instr::Visible { op, .. } => operands(&op, fragments, f),
        Instr::Platform { what, .. } => what.operands(f),
        _ => {}
    }
}

fn each(regs: Regs, f: &mut dyn FnMut(Reg)) {
    (regs.first..regs.first + regs.count).for_each(f);
}

fn operands(op: &Visible, fragments: &[Fragment], f: &mut dyn FnMut(Reg)) {
    let address = |at: Address| if let Address::Reg(reg) = at { Some(reg) } else { None };
    let lock = |l: LockRef| match l {
        LockRef::Lock(reg) | LockRef::Monitor(reg) => reg,
    };
    let wait = |w: WaitRef| match w {
        WaitRef::Lock(l) => lock(l),
        WaitRef::Condition(reg) => reg,
    };
    match *op {
        Visible::Read(at) | Visible::AtomicRead(at) => address(at).into_iter().for_each(f),
        Visible::Write(at, value)
        | Visible::AtomicWrite(at, value)
        | Visible::FetchAdd(at, value)
        | Visible::Exchange(at, value) => {
            address(at).into_iter().for_each(&mut *f);
            f(value);
        }
        Visible::ListRead(at, what) => {
            address(at).into_iter().for_each(&mut *f);
            match what {
                ListGet::Get(index) => f(index),
                ListGet::Next { index, version, .. } => {
                    f(index);
                    f(version);
                }
                ListGet::Len | ListGet::Iterate => {}
            }
        }
        Visible::ListWrite(at, what) => {
            address(at).into_iter().for_each(&mut *f);
            match what {
                ListPut::Push(reg) | ListPut::Remove(reg) => f(reg),
                ListPut::Set(index, value) => {
                    f(index);
                    f(value);
                }
                ListPut::Pop | ListPut::Clear => {}
            }
        }
        Visible::Cas { at, old, new } => {
            address(at).into_iter().for_each(&mut *f);
            f(old);
            f(new);
        }
        Visible::Acquire(l) | Visible::Release(l) => f(lock(l)),
        Visible::Wait { on, lock: l, timeout } => {
            f(wait(on));
            f(lock(l));
            timeout.into_iter().for_each(f);
        }
        Visible::Notify { on, .. } => f(wait(on)),
        Visible::Use(reg)
        | Visible::Free(reg)
        | Visible::ReadLock(reg)
        | Visible::Announce(reg)
        | Visible::WriteLock(reg)
        | Visible::ReadUnlock(reg)
        | Visible::WriteUnlock(reg)
        | Visible::Down(reg)
        | Visible::Up(reg)
        | Visible::Arrive(reg)
        | Visible::Join(reg)
        | Visible::Fence(reg)
        | Visible::Lift(reg)
        | Visible::CancelMessage(reg)
        | Visible::Quit { looper: reg, .. }
        | Visible::NewHandler(reg)
        | Visible::Interrupt(reg)
        | Visible::Close(reg)
        | Visible::GroupWait(reg)
        | Visible::ReadInterrupt(reg)
        | Visible::Sleep(reg)
        | Visible::Choose { from: reg, .. } => f(reg),
        Visible::AcquireFor { lock: l, timeout } => {
            f(lock(l));
            f(timeout);
        }
        Visible::SideFor { lock: reg, timeout, .. } => {
            f(reg);
            f(timeout);
        }
        Visible::GroupAdd { group, delta } => {
            f(group);
            f(delta);
        }
        Visible::Send { channel, value } => {
            f(channel);
            f(value);
        }
        Visible::Receive { channel, .. } | Visible::ChannelRead { channel, .. } => f(channel),
        Visible::Select { cases, timeout, .. } => {
            timeout.into_iter().for_each(&mut *f);
            each(cases, f);
        }
        Visible::DownFor { semaphore, timeout } => {
            f(semaphore);
            f(timeout);
        }
        Visible::Await { condition, timeout } => {
            timeout.into_iter().for_each(&mut *f);
            self::condition(&fragments[condition as usize], fragments).into_iter().for_each(f);
        }
        Visible::Suspend(at) => {
            at.registers(f);
            if let Some(condition) = op.condition() {
                self::condition(&fragments[condition as usize], fragments).into_iter().for_each(f);
            }
        }
        Visible::Launch { args, place, parent, .. } => {
            each(args, f);
            if let LaunchAt::Posted(to) = place {
                f(to.reg());
            }
            if let ParentRef::Job(reg) = parent {
                f(reg);
            }
        }
        Visible::CancelJob(reg) | Visible::AskJob { job: reg, .. } => f(reg),
        Visible::Fork { args, .. } | Visible::Enable { args, .. } | Visible::Perform { args, .. } => each(args, f),
        Visible::Post { target: t, args, time, .. } => {
            f(t.reg());
            each(args, f);
            if let Time::After(reg) | Time::At(reg) = time {
                f(reg);
            }
        }
        Visible::PostMore { target: t, args, time, more, .. } => {
            f(t.reg());
            each(args, f);
            if let Time::After(reg) | Time::At(reg) = time {
                f(reg);
            }
            more.with.into_iter().chain(more.every).for_each(f);
        }
        Visible::Cancel { target: t, .. } => f(t.reg()),
        Visible::CancelWith { target: t, token, .. } => {
            f(t.reg());
            f(token);
        }
        Visible::SpawnLooper
        | Visible::Begin
        | Visible::AttachQueue
        | Visible::Disable(_)
        | Visible::Request
        | Visible::Register { .. }
        | Visible::Unregister { .. }
        | Visible::Branch
        | Visible::Now
        | Visible::Skip
        | Visible::Yield
        | Visible::SpawnScope
        | Visible::OpenBlock(_) => {}
    }
}
