//! The instructions. A [`Instr::Visible`] one stops its thread; all others ride on the step before.

use crate::event::{BodyId, EventId, ListenerId, SiteId};
use crate::lang::ast::{BinaryOp, UnaryOp};
use crate::lang::program::{ExceptionId, TextId};

/// A register of a frame.
pub(super) type Reg = u16;

/// A condition or property: code without steps.
pub(super) type FragmentId = u32;

/// A place in memory: a fixed cell, or a register with the cell and its object packed ([`Kind::Place`](crate::world::Kind::Place)).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Address {
    Cell(u32),
    Reg(Reg),
}

/// `count` registers from `first` on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Regs {
    pub(super) first: Reg,
    pub(super) count: u16,
}

/// A lock by value, or an object whose monitor is meant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum LockRef {
    Lock(Reg),
    Monitor(Reg),
}

/// What is waited on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum WaitRef {
    Lock(LockRef),
    Condition(Reg),
}

/// Whom a post addresses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TargetRef {
    Thread(Reg),
    Handler(Reg),
}

/// When a post is due.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Time {
    Now,
    After(Reg),
    Front,
    At(Reg),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ListGet {
    Len,
    Get(Reg),
    Iterate,
    /// Jumps to `exit` at the end.
    Next {
        index: Reg,
        version: Reg,
        exit: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ListPut {
    Push(Reg),
    Pop,
    Remove(Reg),
    Clear,
    Set(Reg, Reg),
}

/// A visible operation with its operands in registers: the same set as [`Op`](crate::event::Op), where each is explained.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u8)]
pub(super) enum Visible {
    Read(Address),
    Write(Address, Reg),
    AtomicRead(Address),
    AtomicWrite(Address, Reg),
    ListRead(Address, ListGet),
    ListWrite(Address, ListPut),
    Cas { at: Address, old: Reg, new: Reg },
    FetchAdd(Address, Reg),
    Exchange(Address, Reg),
    Use(Reg),
    Free(Reg),
    Acquire(LockRef),
    Release(LockRef),
    Wait { on: WaitRef, lock: LockRef, timeout: Option<Reg> },
    Notify { on: WaitRef, all: bool },
    ReadLock(Reg),
    Announce(Reg),
    WriteLock(Reg),
    ReadUnlock(Reg),
    WriteUnlock(Reg),
    Down(Reg),
    DownFor { semaphore: Reg, timeout: Reg },
    Up(Reg),
    Arrive(Reg),
    Await { condition: FragmentId, timeout: Option<Reg> },
    Join(Reg),
    Fork { body: BodyId, args: Regs },
    SpawnLooper,
    Post { target: TargetRef, body: BodyId, args: Regs, time: Time, is_async: bool, instance: Option<TextId> },
    Begin,
    AttachQueue,
    Fence(Reg),
    Lift(Reg),
    Cancel { target: TargetRef, body: Option<BodyId> },
    Quit { looper: Reg, safely: bool },
    NewHandler(Reg),
    Enable { event: EventId, args: Regs, instance: Option<TextId> },
    Disable(EventId),
    Register { listener: ListenerId, body: BodyId },
    Perform { listener: ListenerId, args: Regs },
    Interrupt(Reg),
    Sleep(Reg),
    Branch,
    Skip,
    Yield,
}

/// One instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Instr {
    Const {
        dst: Reg,
        value: i64,
    },
    Move {
        dst: Reg,
        src: Reg,
    },
    SelfThread {
        dst: Reg,
    },
    Unary {
        op: UnaryOp,
        dst: Reg,
        src: Reg,
    },
    /// Division by zero throws Arithmetic at the site.
    Binary {
        op: BinaryOp,
        dst: Reg,
        left: Reg,
        right: Reg,
        site: SiteId,
    },
    /// `dst = index`, checked against `0..len`: IndexOutOfBounds at the site.
    Bound {
        dst: Reg,
        index: Reg,
        len: u32,
        site: SiteId,
    },
    /// `dst = base + index * stride`, where the index is checked already; a place or an offset.
    Step {
        dst: Reg,
        base: Reg,
        index: Reg,
        stride: u32,
    },
    /// The place of an object's field: NullPointer at the site.
    Field {
        dst: Reg,
        object: Reg,
        offset: u32,
        site: SiteId,
    },
    /// An element of a local array.
    LoadElement {
        dst: Reg,
        array: Regs,
        index: Reg,
    },
    StoreElement {
        first: Reg,
        index: Reg,
        src: Reg,
    },
    Fill {
        regs: Regs,
        value: i64,
    },
    New {
        dst: Reg,
        class: u32,
    },
    Jump(u32),
    /// The head of a counted loop, which stands at its end: while `counter < end`, `local = counter`, `counter += 1`, and the body again.
    ForNext {
        counter: Reg,
        end: Reg,
        local: Reg,
        body: u32,
    },
    JumpIf {
        cond: Reg,
        to: u32,
    },
    JumpUnless {
        cond: Reg,
        to: u32,
    },
    Call {
        body: BodyId,
        args: Regs,
        dst: Reg,
        site: SiteId,
    },
    Return(Option<Reg>),
    /// A failed assert (or, without `assert`, a `fail`).
    Fail {
        assert: bool,
        message: Option<TextId>,
        site: SiteId,
    },
    Throw {
        exception: ExceptionId,
        message: Option<TextId>,
        site: SiteId,
    },
    Rethrow(Reg),
    /// Only in fragments: a read without a step.
    Peek {
        dst: Reg,
        at: Address,
    },
    /// Only in fragments: a length (`index` is none) or element of a list.
    PeekList {
        dst: Reg,
        at: Address,
        index: Option<Reg>,
    },
    Visible {
        op: Visible,
        dst: Reg,
        site: Option<SiteId>,
    },
}

impl Instr {
    /// The same where its body begins at `entry`.
    pub(super) fn moved(mut self, entry: u32) -> Self {
        match &mut self {
            Instr::Jump(to) | Instr::JumpIf { to, .. } | Instr::JumpUnless { to, .. } => *to += entry,
            Instr::ForNext { body, .. } => *body += entry,
            Instr::Visible { op: Visible::ListRead(_, ListGet::Next { exit, .. }), .. } => *exit += entry,
            _ => {}
        }
        self
    }
}
