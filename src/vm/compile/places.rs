//! Compiles places in memory and elements of local arrays.

use super::super::blame::Blame;
use super::super::instr::{Address, Instr, ListGet, ListPut, LockRef, Reg, Regs, TargetRef, Visible};
use super::{Compiler, kind};
use crate::event::SiteId;
use crate::lang::ast::Span;
use crate::lang::program::{Dimension, Expr, ExprKind, LocalId, MemoryPlace, Root, Type};
use crate::world::WordKind;

// Maximum number of constants with registers of their own. Each one costs a copy whenever the body is entered.
pub(super) const MOST_CONSTANTS: usize = 64;

impl<'p> Compiler<'p> {
    /// Evaluates a place: first the object, which must not be null, then each index.
    pub(super) fn address(&mut self, place: &'p MemoryPlace) -> Address {
        match &place.root {
            Root::Global(global) => {
                let base = self.program.globals[*global].offset;
                match constant_offset(&place.index) {
                    Some(offset) => Address::Cell(base + offset),
                    None => {
                        let start = self.constant(WordKind::Place, i64::from(base));
                        Address::Reg(self.steps(start, &place.index))
                    }
                }
            }
            Root::Field { object, class, field, site } => {
                let object = self.expr(object);
                let offset = self.program.classes[*class].fields[*field as usize].offset;
                let dst = self.regs.temp(WordKind::Place);
                self.emit(Instr::Field { dst, object, offset, site: *site });
                self.blame(owner(place));
                Address::Reg(self.steps(dst, &place.index))
            }
        }
    }

    fn steps(&mut self, start: Reg, index: &'p [Dimension]) -> Reg {
        let mut at = start;
        for d in index {
            let index = self.bound(d);
            let dst = self.regs.temp(WordKind::Place);
            self.emit(Instr::Step { dst, base: at, index, stride: d.stride });
            at = dst;
        }
        at
    }

    fn bound(&mut self, d: &'p Dimension) -> Reg {
        let of_index = self.kind_of(&d.index);
        let index = self.expr(&d.index);
        let dst = self.regs.temp(of_index);
        self.emit(Instr::Bound { dst, index, len: d.len, site: d.site });
        self.blame(Blame { index: d.index.at, of: d.array, ..Blame::default() });
        dst
    }

    /// Evaluates an element of a local array. Returns the registers of the array and a register with the element's
    /// offset.
    pub(super) fn element(&mut self, local: LocalId, index: &'p [Dimension]) -> (Regs, Reg) {
        let (first, count) = self.locals[local];
        let mut at = self.constant(WordKind::Word, 0);
        for d in index {
            let index = self.bound(d);
            let dst = self.regs.temp(WordKind::Word);
            self.emit(Instr::Step { dst, base: at, index, stride: d.stride });
            at = dst;
        }
        (Regs { first, count }, at)
    }

    /// Returns a register that holds the constant. It must not be written: the constants of a body have registers of
    /// their own, which are filled when the body is entered.
    pub(super) fn constant(&mut self, kind: WordKind, value: i64) -> Reg {
        let kind = self.regs.kind(kind);
        // No frame is entered for a condition, so no constants are filled in for it.
        if !self.pure {
            if let Some(reg) = self.constants.get(&(kind, value)) {
                return *reg;
            }
            if self.constants.len() < MOST_CONSTANTS {
                let reg = self.regs.fixed(&[kind]);
                self.constants.insert((kind, value), reg);
                return reg;
            }
        }
        let dst = self.regs.temp(kind);
        self.emit(Instr::Const { dst, value });
        dst
    }

    /// Reads a place. Inside a condition the read is not a step.
    pub(super) fn read(&mut self, at: Address, kind: WordKind, atomic: bool, site: SiteId) -> Reg {
        if self.pure {
            let dst = self.regs.temp(kind);
            self.emit(Instr::Peek { dst, at });
            return dst;
        }
        self.visible(if atomic { Visible::AtomicRead(at) } else { Visible::Read(at) }, kind, site)
    }

    pub(super) fn write(&mut self, at: Address, value: Reg, atomic: bool, site: SiteId) {
        self.visible(
            if atomic { Visible::AtomicWrite(at, value) } else { Visible::Write(at, value) },
            WordKind::Word,
            site,
        );
    }

    pub(super) fn list_get(&mut self, at: Address, what: ListGet, ty: &Type, site: SiteId) -> Reg {
        if self.pure {
            let dst = self.regs.temp(kind(ty));
            let index = if let ListGet::Get(index) = what { Some(index) } else { None };
            self.emit(Instr::PeekList { dst, at, index });
            return dst;
        }
        self.visible(Visible::ListRead(at, what), kind(ty), site)
    }

    pub(super) fn list_put(&mut self, at: Address, what: ListPut, ty: &Type, site: SiteId) -> Reg {
        self.visible(Visible::ListWrite(at, what), kind(ty), site)
    }

    /// Evaluates the operand of `sync`, `acquire`, `wait` and so on: a lock by value, or an object.
    pub(super) fn lock_ref(&mut self, e: &'p Expr) -> LockRef {
        let reg = self.expr(e);
        lock_in(reg, &e.ty)
    }

    /// Evaluates the operand of a block that needs it until its end. A local is copied to a register of its own,
    /// because the block may assign to the local.
    pub(super) fn keep(&mut self, e: &'p Expr) -> Reg {
        let src = self.expr(e);
        if !matches!(e.kind, ExprKind::Local(_)) {
            return src;
        }
        let dst = self.regs.temp(self.kind_of(e));
        self.emit(Instr::Move { dst, src });
        dst
    }

    /// Evaluates the operand of `post` and `cancel`.
    pub(super) fn target_ref(&mut self, e: &'p Expr) -> TargetRef {
        let reg = self.expr(e);
        if e.ty == Type::Handler { TargetRef::Handler(reg) } else { TargetRef::Thread(reg) }
    }
}

/// Returns the blame of an access to a place: its object, which may be null or deleted.
pub(super) fn owner(place: &MemoryPlace) -> Blame {
    match &place.root {
        Root::Global(_) => Blame::default(),
        Root::Field { object, .. } => Blame::of(object.at),
    }
}

/// Returns the blame of an operation on a list: the object that it belongs to, the list, and an index of it.
pub(super) fn of_list(list: &MemoryPlace, index: Option<&Expr>) -> Blame {
    Blame { index: index.map_or_else(Span::default, |index| index.at), of: list.at, ..owner(list) }
}

/// Returns the lock in a register, or the monitor of the object in it.
pub(super) fn lock_in(reg: Reg, ty: &Type) -> LockRef {
    if matches!(ty, Type::Object(_) | Type::Null) { LockRef::Monitor(reg) } else { LockRef::Lock(reg) }
}

// The offset of an element, if all indices are constants in bounds.
fn constant_offset(index: &[Dimension]) -> Option<u32> {
    index.iter().try_fold(0u32, |sum, d| match d.index.kind {
        ExprKind::Word(i) if (0..i64::from(d.len)).contains(&i) => Some(sum + i as u32 * d.stride),
        _ => None,
    })
}
