//! Places in memory and elements of local arrays.

use super::super::blame::Blame;
use super::super::instr::{Address, Instr, ListGet, ListPut, LockRef, Reg, Regs, TargetRef, Visible};
use super::{Compiler, kind};
use crate::event::SiteId;
use crate::lang::ast::Span;
use crate::lang::program::{Dimension, Expr, ExprKind, LocalId, Place, Root, Type};
use crate::world::Kind;

// Each costs a copy whenever the body is entered.
const MOST_CONSTANTS: usize = 64;

impl<'p> Compiler<'p> {
    /// Evaluates a place: the object (null is caught here), then each index.
    pub(super) fn address(&mut self, place: &'p Place) -> Address {
        match &place.root {
            Root::Global(global) => {
                let base = self.program.globals[*global].offset;
                match constant_offset(&place.index) {
                    Some(offset) => Address::Cell(base + offset),
                    None => {
                        let start = self.constant(Kind::Place, i64::from(base));
                        Address::Reg(self.steps(start, &place.index))
                    }
                }
            }
            Root::Field { object, class, field, site } => {
                let object = self.expr(object);
                let offset = self.program.classes[*class].fields[*field as usize].offset;
                let dst = self.regs.temp(Kind::Place);
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
            let dst = self.regs.temp(Kind::Place);
            self.emit(Instr::Step { dst, base: at, index, stride: d.stride });
            at = dst;
        }
        at
    }

    fn bound(&mut self, d: &'p Dimension) -> Reg {
        let index = self.expr(&d.index);
        let dst = self.regs.temp(Kind::Word);
        self.emit(Instr::Bound { dst, index, len: d.len, site: d.site });
        self.blame(Blame { index: d.index.at, of: d.array, ..Blame::default() });
        dst
    }

    /// A local array, and the offset of an element of it in a register.
    pub(super) fn element(&mut self, local: LocalId, index: &'p [Dimension]) -> (Regs, Reg) {
        let (first, count) = self.locals[local];
        let mut at = self.constant(Kind::Word, 0);
        for d in index {
            let index = self.bound(d);
            let dst = self.regs.temp(Kind::Word);
            self.emit(Instr::Step { dst, base: at, index, stride: d.stride });
            at = dst;
        }
        (Regs { first, count }, at)
    }

    /// A register that holds the value. Nothing may be written to it: a body's constants have registers of their own, filled when it is entered.
    pub(super) fn constant(&mut self, kind: Kind, value: i64) -> Reg {
        // A condition has no frame of its own to be entered.
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

    /// Reads a place; inside a condition without a step.
    pub(super) fn read(&mut self, at: Address, ty: &Type, atomic: bool, site: SiteId) -> Reg {
        if self.pure {
            let dst = self.regs.temp(kind(ty));
            self.emit(Instr::Peek { dst, at });
            return dst;
        }
        self.visible(if atomic { Visible::AtomicRead(at) } else { Visible::Read(at) }, kind(ty), site)
    }

    pub(super) fn write(&mut self, at: Address, value: Reg, atomic: bool, site: SiteId) {
        self.visible(
            if atomic { Visible::AtomicWrite(at, value) } else { Visible::Write(at, value) },
            Kind::Word,
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

    /// The operand of `sync`, `acquire`, `wait` ...: a lock by value or an object.
    pub(super) fn lock_ref(&mut self, e: &'p Expr) -> LockRef {
        let reg = self.expr(e);
        lock_in(reg, &e.ty)
    }

    /// The operand of a block, which holds it to its end: a register of its own, since the block may assign to the local that named it.
    pub(super) fn keep(&mut self, e: &'p Expr) -> Reg {
        let src = self.expr(e);
        if !matches!(e.kind, ExprKind::Local(_)) {
            return src;
        }
        let dst = self.regs.temp(kind(&e.ty));
        self.emit(Instr::Move { dst, src });
        dst
    }

    /// The operand of `post` and `cancel`.
    pub(super) fn target_ref(&mut self, e: &'p Expr) -> TargetRef {
        let reg = self.expr(e);
        if e.ty == Type::Handler { TargetRef::Handler(reg) } else { TargetRef::Thread(reg) }
    }
}

/// The object that a place lies in: it may be null, or deleted.
pub(super) fn owner(place: &Place) -> Blame {
    match &place.root {
        Root::Global(_) => Blame::default(),
        Root::Field { object, .. } => Blame::of(object.at),
    }
}

/// What an operation on a list may throw for: the object that it lies in, and an index of it.
pub(super) fn of_list(list: &Place, index: Option<&Expr>) -> Blame {
    Blame { index: index.map_or_else(Span::default, |index| index.at), of: list.at, ..owner(list) }
}

/// The lock in a register, or the monitor of the object there.
pub(super) fn lock_in(reg: Reg, ty: &Type) -> LockRef {
    if matches!(ty, Type::Object(_) | Type::Null) { LockRef::Monitor(reg) } else { LockRef::Lock(reg) }
}

// The offset of constant indices that are in bounds.
fn constant_offset(index: &[Dimension]) -> Option<u32> {
    index.iter().try_fold(0u32, |sum, d| match d.index.kind {
        ExprKind::Word(i) if (0..i64::from(d.len)).contains(&i) => Some(sum + i as u32 * d.stride),
        _ => None,
    })
}
