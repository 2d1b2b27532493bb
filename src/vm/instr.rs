//! The instructions of compiled bodies. An [`Instr::Visible`] stops its thread; all other instructions belong to the
//! preceding step.

use super::jobs::{LaunchAt, ParentRef, SuspendAt};
use crate::event::{BlockKind, BodyId, ChannelRead, ComponentId, EventId, JobQuestion, LaunchKind, ListenerId, SiteId};
use crate::lang::ast::{BinaryOp, UnaryOp};
use crate::lang::program::{ExceptionId, KindId, StageSet, StateId, TextId};

/// The index of a register in its frame.
pub(super) type Reg = u16;

/// The index of a fragment: the code of a condition or property, which takes no steps.
pub(super) type FragmentId = u32;

/// A place in memory: a fixed cell, or a register that holds a cell and its object, packed
/// ([`WordKind::Place`](crate::world::WordKind::Place)).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Address {
    Cell(u32),
    Reg(Reg),
}

/// A range of registers: `count` registers from `first` on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Regs {
    pub(super) first: Reg,
    pub(super) count: u16,
}

/// A reference to a lock: a register with a lock, or with an object whose monitor is the lock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum LockRef {
    Lock(Reg),
    Monitor(Reg),
}

/// The object of a wait or notify: the wait set of a lock, or a condition variable.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum WaitRef {
    Lock(LockRef),
    Condition(Reg),
}

/// The addressee of a post.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TargetRef {
    Thread(Reg),
    Handler(Reg),
}

impl TargetRef {
    /// Returns the register of the target.
    pub(super) fn reg(self) -> Reg {
        match self {
            TargetRef::Thread(reg) | TargetRef::Handler(reg) => reg,
        }
    }
}

/// The due time of a post.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Time {
    Now,
    After(Reg),
    Front,
    At(Reg),
    Micro,
    Idle { keep: bool },
}

/// The options of a post, with the registers of their values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct PostMore {
    pub(super) with: Option<Reg>,
    pub(super) every: Option<Reg>,
    pub(super) daemon: bool,
    pub(super) handle: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ListGet {
    Len,
    Get(Reg),
    Iterate,
    /// The next element of an iteration. At the end of the list it jumps to `exit`.
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

/// A visible operation with its operands in registers. [`Op`](crate::event::Op) has the same operations with resolved
/// operands and documents them.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u8)]
pub(super) enum Visible {
    Read(Address),
    Write(Address, Reg),
    AtomicRead(Address),
    AtomicWrite(Address, Reg),
    ListRead(Address, ListGet),
    ListWrite(Address, ListPut),
    Cas {
        at: Address,
        old: Reg,
        new: Reg,
    },
    FetchAdd(Address, Reg),
    Exchange(Address, Reg),
    Use(Reg),
    Free(Reg),
    Acquire(LockRef),
    Release(LockRef),
    Wait {
        on: WaitRef,
        lock: LockRef,
        timeout: Option<Reg>,
    },
    Notify {
        on: WaitRef,
        all: bool,
    },
    ReadLock(Reg),
    Announce(Reg),
    WriteLock(Reg),
    ReadUnlock(Reg),
    WriteUnlock(Reg),
    Down(Reg),
    DownFor {
        semaphore: Reg,
        timeout: Reg,
    },
    Up(Reg),
    Arrive(Reg),
    Await {
        condition: FragmentId,
        timeout: Option<Reg>,
    },
    Join(Reg),
    Fork {
        body: BodyId,
        args: Regs,
    },
    SpawnLooper,
    Post {
        target: TargetRef,
        body: BodyId,
        args: Regs,
        time: Time,
        is_async: bool,
        instance: Option<TextId>,
    },
    /// A post with options that few posts have.
    PostMore {
        target: TargetRef,
        body: BodyId,
        args: Regs,
        time: Time,
        is_async: bool,
        more: PostMore,
        instance: Option<TextId>,
    },
    Begin,
    AttachQueue,
    Fence(Reg),
    Lift(Reg),
    Cancel {
        target: TargetRef,
        body: Option<BodyId>,
    },
    CancelWith {
        target: TargetRef,
        body: Option<BodyId>,
        token: Reg,
    },
    CancelMessage(Reg),
    Quit {
        looper: Reg,
        safely: bool,
    },
    NewHandler(Reg),
    Enable {
        event: EventId,
        args: Regs,
        instance: Option<TextId>,
    },
    Disable(EventId),
    Request,
    Register {
        listener: ListenerId,
        body: BodyId,
    },
    Unregister {
        listener: ListenerId,
        body: BodyId,
    },
    Perform {
        listener: ListenerId,
        args: Regs,
    },
    Interrupt(Reg),
    Sleep(Reg),
    Branch,
    /// `from` has the first value.
    Choose {
        from: Reg,
        values: u32,
    },
    Skip,
    Yield,
    AcquireFor {
        lock: LockRef,
        timeout: Reg,
    },
    /// Acquires one side of a reader-writer lock before a deadline.
    SideFor {
        lock: Reg,
        write: bool,
        timeout: Reg,
    },
    GroupAdd {
        group: Reg,
        delta: Reg,
    },
    GroupWait(Reg),
    ReadInterrupt(Reg),
    Now,
    Send {
        channel: Reg,
        value: Reg,
    },
    /// A receive. With `exit` it is the head of an iteration over the channel, which jumps there at its end.
    Receive {
        channel: Reg,
        exit: Option<u32>,
    },
    Close(Reg),
    ChannelRead {
        channel: Reg,
        what: ChannelRead,
    },
    /// A select. `cases` are three registers for each case: its channel, whether it sends, and its value. The value
    /// that case `i` receives goes to the `i`-th register of `values`, and whether one was sent to `received`.
    Select {
        cases: Regs,
        timeout: Option<Reg>,
        otherwise: bool,
        values: Regs,
        received: Reg,
    },
    Launch {
        body: BodyId,
        args: Regs,
        place: LaunchAt,
        parent: ParentRef,
        kind: LaunchKind,
    },
    Suspend(SuspendAt),
    CancelJob(Reg),
    AskJob {
        job: Reg,
        what: JobQuestion,
    },
    SpawnScope,
    OpenBlock(BlockKind),
}

/// What an instruction does with platform memory. The registers of instances hold their objects; null throws
/// NullPointer. [`PlatformExpr`](crate::lang::program::PlatformExpr) documents most of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum PlatformInstr {
    State(StateId),
    SetState(StateId, Reg),
    Field {
        instance: Reg,
        field: u32,
    },
    SetField {
        instance: Reg,
        field: u32,
        src: Reg,
    },
    Stage(Reg),
    SetStage {
        instance: Reg,
        stage: u32,
    },
    Parameter {
        instance: Reg,
        index: u32,
    },
    Some {
        kind: KindId,
        stages: StageSet,
        than: Reg,
    },
    Asked {
        instance: Reg,
        row: EventId,
    },
    /// The arguments begin with the instance.
    Ask {
        row: EventId,
        args: Regs,
    },
    Make {
        component: ComponentId,
        args: Regs,
    },
    Again(Reg),
    Single(ComponentId),
    Withdraw {
        request: Reg,
        exception: ExceptionId,
    },
    /// The number of instances of a component.
    Count(ComponentId),
    /// The instance of a component with this index, in the order of creation.
    Nth {
        component: ComponentId,
        index: Reg,
    },
    /// Throws NullPointer if there is no instance, and does nothing else.
    Check(Reg),
    /// Begins the message of a row. Its value: 0 if its request has been withdrawn, else 1.
    BeginRow,
    /// Ends the message of a row. Without `done` its request had been withdrawn.
    EndRow {
        done: bool,
    },
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
    /// Whether the running thread is the looper that a post reaches: 1 or 0. Null throws NullPointer at the site.
    IsLooper {
        dst: Reg,
        target: TargetRef,
        site: SiteId,
    },
    Unary {
        op: UnaryOp,
        dst: Reg,
        src: Reg,
    },
    /// Applies a binary operator. Division by zero throws Arithmetic at the site.
    Binary {
        op: BinaryOp,
        dst: Reg,
        left: Reg,
        right: Reg,
        site: SiteId,
    },
    /// Checks an index: `dst = index` if it is in `0..len`, else throws IndexOutOfBounds at the site.
    Bound {
        dst: Reg,
        index: Reg,
        len: u32,
        site: SiteId,
    },
    /// Adds a checked index to a place or an offset: `dst = base + index * stride`.
    Step {
        dst: Reg,
        base: Reg,
        index: Reg,
        stride: u32,
    },
    /// Computes the place of an object's field. Null throws NullPointer at the site.
    Field {
        dst: Reg,
        object: Reg,
        offset: u32,
        site: SiteId,
    },
    /// Loads an element of a local array. The index is checked already.
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
    /// The head of a counted loop, which is compiled behind the loop's body: if `counter` is less than `end`, it copies
    /// `counter` to `local`, adds 1 to `counter` and jumps to the body.
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
    /// Ends the run with a failed `assert` or, if `assert` is false, with a `fail`.
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
    /// Throws the exception again behind the mark of a `transaction` block, which is no event of its own.
    PassOn(Reg),
    /// The begin or the end of a `transaction` block. It has no effect, but is an event.
    Transaction {
        begins: bool,
        name: Option<TextId>,
        unit: bool,
    },
    /// Reads a cell without a step. Only in fragments.
    Peek {
        dst: Reg,
        at: Address,
    },
    /// Reads the length (without `index`) or an element of a list without a step. Only in fragments.
    PeekList {
        dst: Reg,
        at: Address,
        index: Option<Reg>,
    },
    /// Reads or changes platform memory, without a step. `site` is that of its exceptions.
    Platform {
        what: PlatformInstr,
        dst: Reg,
        site: SiteId,
    },
    Visible {
        op: Visible,
        dst: Reg,
        site: Option<SiteId>,
    },
}

impl Instr {
    /// Returns whether an async task waits at a channel here.
    pub(super) fn suspends_at_channel(&self) -> bool {
        use SuspendAt::{Receive, Select, Send};
        matches!(self, Instr::Visible { op: Visible::Suspend(Send { .. } | Receive { .. } | Select { .. }), .. })
    }

    /// Returns the instruction with its jump targets moved by `entry`, the index of its body's first instruction.
    pub(super) fn moved(mut self, entry: u32) -> Self {
        match &mut self {
            Instr::Jump(to) | Instr::JumpIf { to, .. } | Instr::JumpUnless { to, .. } => *to += entry,
            Instr::ForNext { body, .. } => *body += entry,
            Instr::Visible { op, .. } => op.exit_mut().into_iter().for_each(|exit| *exit += entry),
            _ => {}
        }
        self
    }
}
