//! Instructions that touch registers only, and conditions, which read memory without steps.

use super::code::{Code, Fragment};
use super::instr::{Address, Instr, Reg};
use crate::event::{Location, ObjectId, ThreadId, Value};
use crate::lang::ast::{BinaryOp, UnaryOp};
use crate::world::{Memory, Thrown, World};
use smallvec::SmallVec;

/// Packs a place: [`Kind::Place`](crate::world::Kind::Place).
pub(super) fn pack(object: ObjectId, cell: u32) -> Value {
    (i64::from(object.0) + 1) << 32 | i64::from(cell)
}

/// The location that an address means.
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

/// Arithmetic wraps as in Java; shifts take the low six bits.
#[inline]
pub(super) fn binary(op: BinaryOp, a: Value, b: Value) -> Result<Value, Thrown> {
    Ok(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Rem if b == 0 => return Err(Thrown::Arithmetic),
        BinaryOp::Div => a.wrapping_div(b),
        BinaryOp::Rem => a.wrapping_rem(b),
        BinaryOp::Eq => i64::from(a == b),
        BinaryOp::Ne => i64::from(a != b),
        BinaryOp::Lt => i64::from(a < b),
        BinaryOp::Le => i64::from(a <= b),
        BinaryOp::Gt => i64::from(a > b),
        BinaryOp::Ge => i64::from(a >= b),
        BinaryOp::BitOr | BinaryOp::Or => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::BitAnd | BinaryOp::And => a & b,
        BinaryOp::Shl => a.wrapping_shl(b as u32),
        BinaryOp::Shr => a.wrapping_shr(b as u32),
    })
}

/// What a local instruction did.
pub(super) enum Local {
    Done,
    Jump(u32),
    /// It is none: the caller knows it.
    Other,
}

/// Performs an instruction that touches registers only.
#[inline]
pub(super) fn local(
    instr: &Instr,
    regs: &mut [Value],
    memory: &Memory,
    thread: Option<ThreadId>,
) -> Result<Local, Thrown> {
    fn get(regs: &[Value], r: Reg) -> Value {
        regs[usize::from(r)]
    }
    let (dst, value) = match *instr {
        Instr::Const { dst, value } => (dst, value),
        Instr::Move { dst, src } => (dst, get(regs, src)),
        Instr::Binary { op, dst, left, right, .. } => (dst, binary(op, get(regs, left), get(regs, right))?),
        Instr::Unary { op: UnaryOp::Not, dst, src } => (dst, i64::from(get(regs, src) == 0)),
        Instr::Unary { op: UnaryOp::Neg, dst, src } => (dst, get(regs, src).wrapping_neg()),
        Instr::Jump(to) => return Ok(Local::Jump(to)),
        Instr::JumpIf { cond, to } => return Ok(if get(regs, cond) != 0 { Local::Jump(to) } else { Local::Done }),
        Instr::JumpUnless { cond, to } => return Ok(if get(regs, cond) == 0 { Local::Jump(to) } else { Local::Done }),
        Instr::Bound { dst, index, len, .. } => {
            let index = get(regs, index);
            if !(0..i64::from(len)).contains(&index) {
                return Err(Thrown::IndexOutOfBounds);
            }
            (dst, index)
        }
        Instr::Step { dst, base, index, stride } => (dst, get(regs, base) + get(regs, index) * i64::from(stride)),
        Instr::Field { dst, object, offset, .. } => {
            let object = Memory::object_of(get(regs, object)).ok_or(Thrown::NullPointer)?;
            (dst, pack(object, memory.object(object).base + offset))
        }
        Instr::LoadElement { dst, array, index } => (dst, regs[usize::from(array.first) + get(regs, index) as usize]),
        Instr::StoreElement { first, index, src } => {
            regs[usize::from(first) + get(regs, index) as usize] = get(regs, src);
            return Ok(Local::Done);
        }
        Instr::Fill { regs: range, value } => {
            regs[usize::from(range.first)..usize::from(range.first) + usize::from(range.count)].fill(value);
            return Ok(Local::Done);
        }
        Instr::SelfThread { dst } => (dst, thread.map_or(crate::event::NULL, |t| i64::from(t.0))),
        Instr::Peek { dst, at } => {
            let at = location(at, regs);
            memory.check_live(at)?;
            (dst, memory.cell(at.cell))
        }
        Instr::PeekList { dst, at, index } => {
            let at = location(at, regs);
            memory.check_live(at)?;
            let list = memory.list_in(at.cell);
            match index {
                Some(index) => (dst, memory.element(list, get(regs, index))?),
                None => (dst, memory.list(list).items.len() as i64),
            }
        }
        _ => return Ok(Local::Other),
    };
    regs[usize::from(dst)] = value;
    Ok(Local::Done)
}

/// Evaluates a condition over a copy of `regs`.
pub(super) fn evaluate(
    fragment: &Fragment,
    regs: &[Value],
    world: &World,
    thread: Option<ThreadId>,
) -> Result<Value, Thrown> {
    // Inline: properties are asked at every step.
    let mut regs: SmallVec<[Value; 64]> = SmallVec::from_slice(regs);
    regs.resize(usize::from(fragment.regs).max(regs.len()), 0);
    let mut pc = 0;
    // Conditions have no loops: jumps go forward, so this ends.
    while let Some(instr) = fragment.code.get(pc) {
        pc = match local(instr, &mut regs, world.memory(), thread)? {
            Local::Jump(to) => to as usize,
            Local::Done | Local::Other => pc + 1,
        };
    }
    Ok(regs[usize::from(fragment.result)])
}

impl Code {
    pub(super) fn fragment(&self, id: super::instr::FragmentId) -> &Fragment {
        &self.fragments[id as usize]
    }
}
