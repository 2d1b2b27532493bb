//! Instructions that touch only registers, and conditions, which read memory without a step.

use super::code::{Code, Fragment};
use super::instr::{Address, Instr, Reg, TargetRef};
use crate::event::{Location, ObjectId, ThreadId, Value};
use crate::lang::ast::{BinaryOp, UnaryOp};
use crate::world::{Memory, ThrownException, World};
use smallvec::SmallVec;

/// Packs a place into a value: [`WordKind::Place`](crate::world::WordKind::Place).
pub(super) fn pack(object: ObjectId, cell: u32) -> Value {
    (i64::from(object.0) + 1) << 32 | i64::from(cell)
}

/// Returns the location of an address.
#[inline]
pub(super) fn location(at: Address, regs: &[Value]) -> Location {
    match at {
        Address::Cell(cell) => Location { cell, object: None },
        Address::Reg(reg) => {
            let packed = regs[usize::from(reg)];
            let object = ((packed >> 32) as u32).checked_sub(1).map(ObjectId);
            Location { cell: packed as u32, object }
        }
    }
}

/// Applies an operator to two values. A division by zero throws Arithmetic.
#[inline]
pub(super) fn binary(op: BinaryOp, a: Value, b: Value) -> Result<Value, ThrownException> {
    op.value(a, b).ok_or(ThrownException::Arithmetic)
}

/// The reason why [`local`] did not perform an instruction.
pub(super) enum Stop {
    /// The instruction is not a local one. The caller has to perform it.
    Other,
    /// The instruction threw an exception.
    Thrown(ThrownException),
}

impl From<ThrownException> for Stop {
    fn from(thrown: ThrownException) -> Self {
        Self::Thrown(thrown)
    }
}

#[inline(always)]
fn get(regs: &[Value], r: Reg) -> Value {
    regs[usize::from(r)]
}

/// Performs an instruction that touches only registers or reads memory without a step. Returns the next program
/// counter.
#[inline(always)]
pub(super) fn local(
    instr: &Instr,
    pc: usize,
    regs: &mut [Value],
    world: &World,
    thread: Option<ThreadId>,
) -> Result<usize, Stop> {
    let (dst, value) = match *instr {
        Instr::Const { dst, value } => (dst, value),
        Instr::Move { dst, src } => (dst, get(regs, src)),
        Instr::Binary { op, dst, left, right, .. } => (dst, binary(op, get(regs, left), get(regs, right))?),
        Instr::Unary { op: UnaryOp::Not, dst, src } => (dst, i64::from(get(regs, src) == 0)),
        Instr::Unary { op: UnaryOp::Neg, dst, src } => (dst, get(regs, src).wrapping_neg()),
        Instr::Jump(to) => return Ok(to as usize),
        Instr::ForNext { counter, end, local, body } => {
            let i = get(regs, counter);
            if i >= get(regs, end) {
                return Ok(pc + 1);
            }
            regs[usize::from(local)] = i;
            regs[usize::from(counter)] = i + 1;
            return Ok(body as usize);
        }
        Instr::JumpIf { cond, to } => return Ok(if get(regs, cond) != 0 { to as usize } else { pc + 1 }),
        Instr::JumpUnless { cond, to } => return Ok(if get(regs, cond) == 0 { to as usize } else { pc + 1 }),
        Instr::Bound { dst, index, len, .. } => {
            let index = get(regs, index);
            if !(0..i64::from(len)).contains(&index) {
                return Err(Stop::Thrown(ThrownException::IndexOutOfBounds));
            }
            (dst, index)
        }
        Instr::Step { dst, base, index, stride } => (dst, get(regs, base) + get(regs, index) * i64::from(stride)),
        Instr::LoadElement { dst, array, index } => (dst, regs[usize::from(array.first) + get(regs, index) as usize]),
        Instr::StoreElement { first, index, src } => {
            regs[usize::from(first) + get(regs, index) as usize] = get(regs, src);
            return Ok(pc + 1);
        }
        Instr::SelfThread { dst } => (dst, thread.map_or(crate::event::NULL, |t| i64::from(t.0))),
        Instr::IsLooper { dst, target, .. } => (dst, is_looper(target, regs, world, thread)?),
        Instr::Field { dst, .. } | Instr::Peek { dst, .. } | Instr::PeekList { dst, .. } => {
            (dst, peek(instr, regs, world)?)
        }
        Instr::Fill { regs: range, value } => {
            fill(&mut regs[usize::from(range.first)..][..usize::from(range.count)], value);
            return Ok(pc + 1);
        }
        _ => return Err(Stop::Other),
    };
    regs[usize::from(dst)] = value;
    Ok(pc + 1)
}

// Not inlined: otherwise the loop would load, before each run of it, values that only these instructions need.
#[inline(never)]
fn peek(instr: &Instr, regs: &[Value], world: &World) -> Result<Value, ThrownException> {
    let memory = world.memory();
    match *instr {
        Instr::Field { object, offset, .. } => {
            let object = Memory::object_of(get(regs, object)).ok_or(ThrownException::NullPointer)?;
            Ok(pack(object, memory.object(object).base + offset))
        }
        Instr::Peek { at, .. } => {
            let at = location(at, regs);
            memory.check_live(at)?;
            Ok(memory.cell(at.cell))
        }
        Instr::PeekList { at, index, .. } => {
            let at = location(at, regs);
            memory.check_live(at)?;
            let list = memory.list_in(at.cell);
            match index {
                Some(index) => memory.element(list, get(regs, index)),
                None => Ok(memory.list(list).items.len() as i64),
            }
        }
        _ => {
            debug_assert!(false, "{instr:?} reads no memory");
            Ok(0)
        }
    }
}

#[inline(never)]
fn is_looper(
    target: TargetRef,
    regs: &[Value],
    world: &World,
    thread: Option<ThreadId>,
) -> Result<Value, ThrownException> {
    let looper = match target {
        TargetRef::Thread(reg) => World::thread_value(get(regs, reg))?,
        TargetRef::Handler(reg) => world.thread_of(World::target_handler(get(regs, reg))?),
    };
    Ok(i64::from(thread == Some(looper)))
}

#[inline(never)]
fn fill(regs: &mut [Value], value: Value) {
    regs.fill(value);
}

/// Evaluates a condition over a copy of `regs`. An exception is returned with the index of the instruction that threw
/// it.
pub(super) fn evaluate(
    fragment: &Fragment,
    regs: &[Value],
    world: &World,
    thread: Option<ThreadId>,
) -> Result<Value, (ThrownException, u32)> {
    // The vector is inline to avoid an allocation: properties are evaluated at every step.
    let mut regs: SmallVec<[Value; 64]> = SmallVec::from_slice(regs);
    regs.resize(usize::from(fragment.regs).max(regs.len()), 0);
    let mut pc = 0;
    // The loop ends because a condition has no loops: all of its jumps go forward.
    while let Some(instr) = fragment.code.get(pc) {
        pc = match local(instr, pc, &mut regs, world, thread) {
            Ok(next) => next,
            Err(Stop::Other) => pc + 1,
            Err(Stop::Thrown(thrown)) => return Err((thrown, pc as u32)),
        };
    }
    Ok(regs[usize::from(fragment.result)])
}

impl Code {
    pub(super) fn fragment(&self, id: super::instr::FragmentId) -> &Fragment {
        &self.fragments[id as usize]
    }
}
