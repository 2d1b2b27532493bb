//! A checked program: names are resolved, types known, constants folded, and accesses numbered.
//!
//! `check` makes it from a syntax tree, and the virtual machine compiles it. A value is an untyped word (an `i64`) at
//! run time; the types of the program say what each word means.

mod components;

pub use components::{
    ComponentDef, Components, KindDef, KindId, MOST_STAGES, PlatformExpr, PlatformStmt, Row, Single, StageSet,
    StateDef, StateId,
};

use super::ast::{AccessSelector, BinaryOp, Span, SyncMode, TaskMode, UnaryOp, When};
use crate::base::IndexVec;
use crate::event::{BlockKind, BodyId, ChannelRead, EventId, JobQuestion, ListenerId, Site, SiteId, Uses};
pub use crate::event::{ComponentId, EndValue, GlobalId};
pub use crate::world::Capacity;
use crate::world::Prefer;
use std::sync::Arc;

crate::define_id! {
    /// A class. Class 0 is `Object`.
    ClassId,
    /// A local variable of a body.
    LocalId,
    /// A text in [`Program::texts`].
    TextId,
    /// An exception name in [`Program::exceptions`].
    ExceptionId,
}

/// The absent site, for an expression that is not a step and cannot fail alone: a read in a property, an operator other
/// than a division by a value that can be zero. It is not an index of [`Program::sites`].
pub const NO_SITE: SiteId = SiteId(u32::MAX);

/// A checked program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The source text of the program. Spans are positions in it.
    pub source: Arc<str>,
    /// The title in `app "title"`; empty if there is none.
    pub title: String,
    /// The scope that an uncaught exception ends.
    pub uncaught: ExceptionScope,
    /// Whether an exception of a reference ends the run although a handler catches it ([`CAUGHT`]).
    pub caught_fails: bool,
    /// The constants with their values after `-D`, in source order.
    pub consts: Vec<(String, i64)>,
    /// The ranges of the constants that are declared with one, in source order. The value of such a constant is in its
    /// range.
    pub ranges: Vec<(String, std::ops::Range<i64>)>,
    /// The classes; the first one is `Object`.
    pub classes: IndexVec<ClassId, ClassDef>,
    /// Globals (`var` and `atomic`). A `let` is not among them: it is folded into its uses. The cells of memory are
    /// assigned in order: global 0 has cells `0..len` and so on.
    pub globals: IndexVec<GlobalId, Global>,
    /// Threads that start with the app, in source order. A parametrized thread has one entry for each value of its
    /// parameter. The index of a thread is its thread value.
    pub threads: Vec<ThreadDef>,
    /// Pools. Their workers are among `threads`.
    pub pools: Vec<PoolDef>,
    /// Whether some expression uses the running thread (`self`) as more than the queue of its messages.
    pub thread_values: bool,
    /// Locks and mutexes. An array of locks has one entry for each element (`x[0]`). The index of a lock is its lock
    /// value.
    pub locks: Vec<LockDef>,
    /// Names of the conditions. An array of conditions has one entry for each element.
    pub conditions: Vec<String>,
    /// Reader-writer locks of the program.
    pub rwlocks: Vec<RwLock>,
    /// Semaphores: name and initial count.
    pub semaphores: Vec<(String, i64)>,
    /// Whether the values of posts are handles of messages, because some statement removes one message.
    pub handles: bool,
    /// Barriers: name and number of parties.
    pub barriers: Vec<(String, i64)>,
    /// Names of the wait groups.
    pub groups: Vec<String>,
    /// Channels. An array of channels has one entry for each element. The index of a channel is its channel value.
    pub channels: Vec<ChannelDef>,
    /// Handlers: name and the index of their looper in `threads`.
    pub handlers: Vec<(String, usize)>,
    /// Names of the listeners.
    pub listeners: IndexVec<ListenerId, String>,
    /// Events of the environment.
    pub events: IndexVec<EventId, EventDef>,
    /// Kinds, components and platform memory. The rows of components are among `events`.
    pub components: Components,
    /// Bodies: tasks, threads, looper blocks, event handlers, `init`.
    pub bodies: IndexVec<BodyId, Body>,
    /// The body of `init`, if there is one.
    pub init: Option<BodyId>,
    /// Objects that exist from the start, from a top-level `let o = new C`. Object `i` of the run has the class
    /// `objects[i]`. A use of the `let` is the constant `i`.
    pub objects: Vec<ClassId>,
    /// Properties of the program.
    pub properties: Vec<Property>,
    /// Sites, ordered by body and ordinal.
    pub sites: IndexVec<SiteId, Site>,
    /// Reads of references whose values are dereferenced or tested.
    pub uses: Uses,
    /// Labels in live code, in source order. [`labelled`](crate::event::labelled) returns the sites that a label
    /// selects.
    pub labels: Vec<LabelDef>,
    /// Expectations whose condition holds for the values of the constants.
    pub expectations: Vec<Expectation>,
    /// Whether something is declared to happen in one piece: by a component, an `as` or a `transaction` block.
    pub declares_transactions: bool,
    /// Names of the components with a `unit`: their units are meant to happen in one piece, and their instances are
    /// not.
    pub with_units: Vec<String>,
    /// Texts of the program: messages and instance names.
    pub texts: IndexVec<TextId, String>,
    /// Exception names. The built-in ones come first, in the order of [`BUILT_IN_EXCEPTIONS`]; in a program with
    /// channels, [`CLOSED`] follows.
    pub exceptions: IndexVec<ExceptionId, String>,
}

impl Program {
    /// Returns the row of a component that has this body, if it is the body of one.
    #[must_use]
    pub fn row_of(&self, body: BodyId) -> Option<&Row> {
        self.events.iter().find(|event| event.body == body && event.row.is_some())?.row.as_ref()
    }
}

/// The exceptions that operations can throw without a `throw` statement.
pub const BUILT_IN_EXCEPTIONS: [&str; 10] = [
    "NullPointer",
    "IndexOutOfBounds",
    "Arithmetic",
    "IllegalMonitorState",
    "IllegalState",
    "Interrupted",
    "UseAfterFree",
    "DoubleFree",
    "ConcurrentModification",
    "StackOverflow",
];

/// The exception of operations on closed channels. It is built in where a program has channels, so that the table of
/// exceptions of other programs stays as it was.
pub const CLOSED: &str = "Closed";

/// The exceptions of wait groups, built in where a program has one: a counter below 0, and an add before a wait that
/// was already over has returned.
pub const GROUP_EXCEPTIONS: [&str; 2] = ["NegativeCounter", "GroupReused"];

/// The name of the constant that makes a caught exception of a reference a failure: `-D app.caught=1`, or `--caught`.
/// Models have no such constant, because names of constants have no dot.
pub const CAUGHT: &str = "app.caught";

/// The scope that an uncaught exception ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExceptionScope {
    /// The exception ends the run, as a failure.
    App,
    /// The exception ends its thread.
    Thread,
}

/// A type. A value of any type except `List` and `Array` is one word at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// A 64-bit integer. It wraps around as in Java.
    Int,
    /// A truth value: 0 or 1.
    Bool,
    /// A reference to an object of this class, or null.
    Object(ClassId),
    /// A thread, or null. A looper is a thread.
    Thread,
    /// A looper, or null.
    Looper,
    /// A pool of workers.
    Pool,
    /// A handler, or null.
    Handler,
    /// A lock or mutex, or null.
    Lock,
    /// A condition.
    Condition,
    /// A reader-writer lock.
    RwLock,
    /// A semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// The token of a fence, or null.
    Fence,
    /// A request to the platform, or null.
    Request,
    /// The result of `post`: true if the message was accepted. It can be used as a bool, and compared with null
    /// (refused).
    Message,
    /// A wait group.
    Group,
    /// A channel of values of this type, or null.
    Channel(Arc<Type>),
    /// A job whose task returns a value of this type, or null. A scope and a job without a value have `Void`.
    Job(Arc<Type>),
    /// The type of the literal `null`.
    Null,
    /// The type of a call without a value.
    Void,
    /// `list[T]`. T is one word.
    List(Arc<Type>),
    /// `T[n]`; nested for several dimensions, outermost first. T is one word or a list.
    Array(Arc<Type>, u32),
}

/// A channel.
#[derive(Clone, Debug)]
pub struct ChannelDef {
    /// The name of the channel.
    pub name: String,
    /// The type of its values.
    pub of: Type,
    /// The size of its buffer.
    pub capacity: Capacity,
    /// The value of a receive from the channel when it is closed and empty.
    pub zero: i64,
}

/// A block that holds a lock if it could be acquired in time, and another block if not.
#[derive(Clone, Debug)]
pub struct SyncForStmt {
    /// What is acquired.
    pub mode: SyncMode,
    /// The lock.
    pub object: Expr,
    /// The longest time to wait, in milliseconds.
    pub timeout: Expr,
    /// The block that holds the lock.
    pub body: Vec<Stmt>,
    /// The block that runs if the time has passed.
    pub other: Vec<Stmt>,
    /// The site of the acquisition.
    pub acquire: SiteId,
    /// The site of the release.
    pub release: SiteId,
}

/// A `select` statement. It has at least one case, a deadline or an `else`, and not both of the last two.
#[derive(Clone, Debug)]
pub struct SelectStmt {
    /// The sends and receives.
    pub cases: Vec<SelectArm>,
    /// `after d { }`
    pub after: Option<(Expr, Vec<Stmt>)>,
    /// `else { }`
    pub otherwise: Option<Vec<Stmt>>,
}

impl SelectStmt {
    /// Returns the blocks of all cases.
    pub(in crate::lang) fn blocks(&self) -> impl Iterator<Item = &[Stmt]> {
        let cases = self.cases.iter().map(|case| case.body.as_slice());
        let after = self.after.iter().map(|(_, body)| body.as_slice());
        cases.chain(after).chain(self.otherwise.iter().map(Vec::as_slice))
    }
}

/// `recv c as value, received { }` or `send c v { }`
#[derive(Clone, Debug)]
pub struct SelectArm {
    /// The channel.
    pub channel: Expr,
    /// The value of a send; `None` for a receive.
    pub sends: Option<Expr>,
    /// The local that gets the received value.
    pub value: Option<LocalId>,
    /// The local that gets whether a value was received.
    pub received: Option<LocalId>,
    /// The block of the case.
    pub body: Vec<Stmt>,
}

/// A class of objects.
#[derive(Clone, Debug)]
pub struct ClassDef {
    /// The name of the class.
    pub name: String,
    /// The fields of the class. Their cells are consecutive, starting at the base of the object.
    pub fields: Vec<Global>,
}

/// A global variable, or a field of a class.
#[derive(Clone, Debug)]
pub struct Global {
    /// The name of the variable.
    pub name: String,
    /// The type of the variable.
    pub ty: Type,
    /// Whether the variable is atomic, so that its accesses synchronize.
    pub atomic: bool,
    /// Whether the variable is an atomic that some statement accesses plainly.
    pub mixed: bool,
    /// The first cell: an address in memory for a global, an offset from the base of the object for a field.
    pub offset: u32,
    /// Number of cells: the product of the array lengths; 1 for any other type, including a list.
    pub cells: u32,
    /// The initial value of each cell (`cells` entries).
    pub init: Vec<Init>,
}

/// The initial value of a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Init {
    /// A word: a number, a truth value, null, or the index of a thread, lock ...
    Word(i64),
    /// A new object.
    New(ClassId),
    /// A new list with these elements.
    List(Vec<i64>),
}

/// A thread that starts with the app.
#[derive(Clone, Debug)]
pub struct ThreadDef {
    /// The name: `worker`, or `worker[2]` for one of a parametrized thread.
    pub name: String,
    /// Whether the thread is a daemon, which does not keep the run alive.
    pub daemon: bool,
    /// Whether the thread has a queue, and loops over it after its body.
    pub looper: bool,
    /// The body that the thread runs; `None` for a looper without a block.
    pub body: Option<BodyId>,
    /// The argument of a parametrized thread.
    pub arg: Option<i64>,
}

/// A pool of workers, which are threads that start with the app.
#[derive(Clone, Debug)]
pub struct PoolDef {
    /// The name of the pool.
    pub name: String,
    /// The index in `threads` of the first worker.
    pub first: usize,
    /// Number of workers.
    pub workers: u32,
}

/// A lock or a mutex.
#[derive(Clone, Debug)]
pub struct LockDef {
    /// The name of the lock: `m`, `x[1]`.
    pub name: String,
    /// True for a `lock`, false for a `mutex`.
    pub reentrant: bool,
}

/// A reader-writer lock.
#[derive(Clone, Debug)]
pub struct RwLock {
    /// The name of the lock.
    pub name: String,
    /// The side that the lock prefers.
    pub prefer: Prefer,
}

/// An event of the environment.
#[derive(Clone, Debug)]
pub struct EventDef {
    /// The name of the event.
    pub name: String,
    /// The body of the handler of the event.
    pub body: BodyId,
    /// The index in `threads` of the looper that runs the handler.
    pub looper: usize,
    /// Number of times that the event is enabled at the start. 0 for a row.
    pub initially: u32,
    /// The row of a component that the event is. `None` for an event that threads enable.
    pub row: Option<Row>,
}

/// A body: its parameters, locals and statements.
#[derive(Clone, Debug)]
pub struct Body {
    /// The name of the task, thread or event; `init` for the init block.
    pub name: String,
    /// Number of parameters. They are the first locals.
    pub params: u32,
    /// The locals with their names and types. A local array is one local.
    pub locals: IndexVec<LocalId, (String, Type)>,
    /// The type of the value that a call of the body returns.
    pub result: Type,
    /// Whether the body is that of an async task.
    pub mode: TaskMode,
    /// The statements of the body.
    pub block: Vec<Stmt>,
    /// The span of the declaration in the source.
    pub span: Span,
}

impl Body {
    /// Returns whether the body is that of an async task.
    #[must_use]
    pub fn is_async(&self) -> bool {
        self.mode != TaskMode::Plain
    }
}

/// A statement.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Stmt {
    /// `let x = e` or `x = e`
    SetLocal(LocalId, Expr),
    /// Sets a local to its default value: all elements of an array 0 or null. Stands for the declaration of a local
    /// array or of a local without a value; runs each time.
    ClearLocal(LocalId),
    /// `t[i] = e` on a local array, with a bounds check.
    SetLocalElement { local: LocalId, index: ElementIndex, value: Expr },
    /// `place = value`: a write (an atomic write if the place is atomic). Evaluation order: the object and the index of
    /// the place, the value, the write.
    Write { place: MemoryPlace, value: Expr, site: SiteId },
    /// `place op= value`: a read and a write. The place is evaluated once.
    Update { place: MemoryPlace, op: BinaryOp, value: Expr, read: SiteId, write: SiteId },
    /// `list[i] = value`
    ListSet { list: MemoryPlace, index: Expr, value: Expr, site: SiteId },
    /// `list[i] op= value`
    ListUpdate { list: MemoryPlace, index: Expr, op: BinaryOp, value: Expr, read: SiteId, write: SiteId },
    /// An expression that is evaluated only for its effect.
    Expr(Expr),
    /// `if`. A constant condition is folded away: only the taken branch remains.
    If { cond: Expr, then: Vec<Stmt>, other: Vec<Stmt> },
    /// `while`
    While { cond: Expr, body: Vec<Stmt> },
    /// `loop`
    Loop { body: Vec<Stmt> },
    /// `for x in a..b`: both ends are evaluated once.
    ForRange { local: LocalId, from: Expr, to: Expr, body: Vec<Stmt> },
    /// `for x in list`: a read when the iterator is made, and a read for each step. A step throws
    /// ConcurrentModification if the list has changed in between.
    ForList { local: LocalId, list: MemoryPlace, body: Vec<Stmt>, site: SiteId },
    /// `for v in c`: a receive before each round; the loop ends when the channel is closed and empty.
    ForChannel { local: LocalId, channel: Expr, body: Vec<Stmt>, site: SiteId },
    /// `sync e for d { } else { }`; `read` and `write` as well
    SyncFor(Box<SyncForStmt>),
    /// `select { }`
    Select(Box<SelectStmt>, SiteId),
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return`
    Return(Option<Expr>),
    /// `assert`
    Assert { cond: Expr, message: Option<TextId>, site: SiteId },
    /// `fail`
    Fail { message: TextId, site: SiteId },
    /// `throw`
    Throw { exception: ExceptionId, message: Option<TextId>, site: SiteId },
    /// `try`. The catch clauses are tried in order; a clause with `None` catches any exception.
    Try { body: Vec<Stmt>, catch: Vec<(Option<ExceptionId>, Vec<Stmt>)>, finally: Option<Vec<Stmt>> },
    /// `sync e { }`. The operand is a lock or an object and is evaluated once.
    Sync { object: Expr, body: Vec<Stmt>, acquire: SiteId, release: SiteId },
    /// `read rw { }` or `write rw { }`. `announce` is present for a `write` if the lock prefers writers, or may prefer
    /// them if it is known only at run time.
    Rw { object: Expr, write: bool, body: Vec<Stmt>, announce: Option<SiteId>, acquire: SiteId, release: SiteId },
    /// `transaction "name" { }`, or (`unit`) the body of a member of a unit of a component
    Transaction { name: Option<TextId>, body: Vec<Stmt>, unit: bool },
    /// `scope { }`, `supervise { }`, `uncancellable { }`
    JobBlock { kind: BlockKind, body: Vec<Stmt>, open: SiteId, close: SiteId },
    /// An operation whose operands are only expressions.
    Do { op: Simple, site: SiteId },
    /// A block that remains of a folded `if`.
    Block(Vec<Stmt>),
    /// A statement of kind text about platform memory.
    Platform(PlatformStmt),
}

/// Operations that are statements and have no value.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Simple {
    /// `use e` (an object)
    Use(Expr),
    /// `delete e`
    Delete(Expr),
    /// `lift e` (a fence)
    Lift(Expr),
    /// `join e` (a thread)
    Join(Expr),
    /// `interrupt e` (a thread)
    Interrupt(Expr),
    /// `acquire e` (a lock or object)
    Acquire(Expr),
    /// `release e`
    Release(Expr),
    /// `notify e`, `notify_all e` (a lock or object)
    Notify { object: Expr, all: bool },
    /// `signal e`, `signal_all e` (a condition)
    Signal { condition: Expr, all: bool },
    /// `arrive e` (a barrier)
    Arrive(Expr),
    /// `down e` (a semaphore)
    Down(Expr),
    /// `up e`
    Up(Expr),
    /// `acquire read e`, `release write e` (a reader-writer lock)
    Side { acquire: bool, write: bool, lock: Expr },
    /// The announcement of a writer, before it acquires the lock by hand
    Announce(Expr),
    /// `send e v`
    Send { channel: Expr, value: Expr },
    /// `close e`
    Close(Expr),
    /// `sleep e` (milliseconds)
    Sleep(Expr),
    /// `skip`
    Skip,
    /// `yield`
    Yield,
    /// `switch to e` (a looper or thread)
    Switch(Expr),
    /// `cancel e` (a job)
    CancelJob(Expr),
    /// `attach queue`
    AttachQueue,
    /// `loop queue`: begins messages until the looper has quit. Its site is the site of each `begin`.
    LoopQueue,
    /// `quit e safely` (a looper or thread)
    Quit { looper: Expr, safely: bool },
    /// `cancel task with token on e` (a looper, thread or handler); `None` for `all`
    Cancel { body: Option<BodyId>, token: Option<Expr>, target: Expr },
    /// `enable event(args) as e`
    Enable { event: EventId, args: Vec<Expr>, instance: Option<TextId> },
    /// `disable event`
    Disable(EventId),
    /// `register task to listener`
    Register { body: BodyId, listener: ListenerId },
    /// `unregister task from listener`
    Unregister { body: BodyId, listener: ListenerId },
    /// `perform listener(args)`
    Perform { listener: ListenerId, args: Vec<Expr> },
}

impl Simple {
    /// Returns the expression that the operation acts on, if that value can be null, not held, or without a queue.
    #[must_use]
    pub fn operand(&self) -> Option<&Expr> {
        match self {
            Self::Use(e)
            | Self::Delete(e)
            | Self::Lift(e)
            | Self::Join(e)
            | Self::Interrupt(e)
            | Self::Acquire(e)
            | Self::Release(e)
            | Self::Notify { object: e, .. }
            | Self::Signal { condition: e, .. }
            | Self::Arrive(e)
            | Self::Down(e)
            | Self::Up(e)
            | Self::Send { channel: e, .. }
            | Self::Close(e)
            | Self::Side { lock: e, .. }
            | Self::Announce(e)
            | Self::Quit { looper: e, .. }
            | Self::Switch(e)
            | Self::CancelJob(e)
            | Self::Cancel { target: e, .. } => Some(e),
            Self::Sleep(_)
            | Self::Skip
            | Self::Yield
            | Self::AttachQueue
            | Self::LoopQueue
            | Self::Enable { .. }
            | Self::Disable(_)
            | Self::Register { .. }
            | Self::Unregister { .. }
            | Self::Perform { .. } => None,
        }
    }
}

/// An expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The kind of the expression.
    pub kind: ExprKind,
    /// The type of the expression.
    pub ty: Type,
    /// The span of the expression in the source; a failure quotes its text. Empty for an expression that is not in the
    /// source.
    pub at: Span,
}

impl Expr {
    /// Returns an expression that is not in the source.
    #[must_use]
    pub fn new(kind: ExprKind, ty: Type) -> Self {
        Self { kind, ty, at: Span::default() }
    }
}

/// The kinds of expressions. Evaluation is from left to right, and each site is a step.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ExprKind {
    /// A word: a number, a truth value, null ([`NULL`](crate::event::NULL)), or the index of a thread, handler, lock,
    /// object ... in the program.
    Word(i64),
    /// The value of a local.
    Local(LocalId),
    /// An element of a local array, with a bounds check.
    LocalElement { local: LocalId, index: ElementIndex },
    /// `self`
    SelfThread,
    /// An element of an array of locks or conditions, or one of a parametrized thread: the word `first + index`, with a
    /// bounds check. `of` is the span of the array in the source.
    Indexed { first: i64, len: u32, index: Box<Expr>, site: SiteId, of: Span },
    /// A read of shared memory (an atomic read if the place is atomic).
    Read { place: MemoryPlace, site: SiteId },
    /// `!`, `-`
    Unary(UnaryOp, Box<Expr>),
    /// A binary operator other than `&&` and `||`. `==` and `!=` compare words.
    Binary { op: BinaryOp, left: Box<Expr>, right: Box<Expr>, site: SiteId },
    /// `a && b`. The right side is evaluated only if the left side is true.
    And(Box<Expr>, Box<Expr>),
    /// `a || b`. The right side is evaluated only if the left side is false.
    Or(Box<Expr>, Box<Expr>),
    /// `new C`
    New(ClassId),
    /// A call of a task.
    Call { body: BodyId, args: Vec<Expr>, site: SiteId },
    /// `list.len`
    ListLen { list: MemoryPlace, site: SiteId },
    /// `list[i]`
    ListGet { list: MemoryPlace, index: Box<Expr>, site: SiteId },
    /// `list.push(e)`: Void
    ListPush { list: MemoryPlace, value: Box<Expr>, site: SiteId },
    /// `list.pop()`
    ListPop { list: MemoryPlace, site: SiteId },
    /// `list.remove(i)`
    ListRemove { list: MemoryPlace, index: Box<Expr>, site: SiteId },
    /// `list.clear()`: Void
    ListClear { list: MemoryPlace, site: SiteId },
    /// `cas(place, old, new)`: Bool
    Cas { place: MemoryPlace, old: Box<Expr>, new: Box<Expr>, site: SiteId },
    /// `fetch_add(place, d)`: the old value
    FetchAdd { place: MemoryPlace, delta: Box<Expr>, site: SiteId },
    /// `exchange(place, v)`: the old value
    Exchange { place: MemoryPlace, value: Box<Expr>, site: SiteId },
    /// `*`: Bool, a choice of the schedule
    Star { site: SiteId },
    /// `choose`: Int, a choice of the schedule among `values` values, the first of which is `from`
    Choose { from: i64, values: u32, site: SiteId },
    /// `post`: Message
    Post {
        body: BodyId,
        args: Vec<Expr>,
        target: Box<Expr>,
        time: PostTimeExpr,
        is_async: bool,
        options: Box<PostOptionsExpr>,
        instance: Option<TextId>,
        site: SiteId,
    },
    /// `cancel m`: Bool, whether the message was removed.
    CancelMessage { message: Box<Expr>, site: SiteId },
    /// Whether a Message was accepted: Bool. Only where messages have handles.
    Accepted(Box<Expr>),
    /// `fork`: Thread
    Fork { body: BodyId, args: Vec<Expr>, site: SiteId },
    /// `spawn looper`: Looper
    SpawnLooper { site: SiteId },
    /// `launch`: Job
    Launch { body: BodyId, args: Vec<Expr>, place: LaunchPlaceExpr, parent: LaunchParentExpr, site: SiteId },
    /// `spawn scope`: Job
    SpawnScope { site: SiteId },
    /// `job.done`, `job.cancelled`, `job.result`
    AskJob { job: Box<Expr>, what: JobQuestion, site: SiteId },
    /// `fence l`: Fence
    Fence { looper: Box<Expr>, site: SiteId },
    /// `handler on l`: Handler
    NewHandler { looper: Box<Expr>, site: SiteId },
    /// `wait o for d`, `wait c with m for d`: Bool, false on timeout. Without `with`, the operand `object` is a lock or
    /// an object and is both waited on and released. With it, `object` is a condition and `with` is a lock.
    Wait { object: Box<Expr>, with: Option<Box<Expr>>, timeout: Option<Box<Expr>>, site: SiteId },
    /// `down s for d`: Bool, whether the count was taken within the timeout.
    DownFor { semaphore: Box<Expr>, timeout: Box<Expr>, site: SiteId },
    /// `acquire l for d`: Bool. With a side it is one of a reader-writer lock.
    AcquireFor { mode: SyncMode, lock: Box<Expr>, timeout: Box<Expr>, site: SiteId },
    /// `w.add(n)`, `w.done()`: Void
    GroupAdd { group: Box<Expr>, delta: Box<Expr>, site: SiteId },
    /// `w.wait()`: Void
    GroupWait { group: Box<Expr>, site: SiteId },
    /// `t.interrupted`: Bool
    ReadInterrupt { thread: Box<Expr>, site: SiteId },
    /// `now`: Int
    Now { site: SiteId },
    /// `recv c`
    Receive { channel: Box<Expr>, site: SiteId },
    /// `c.closed`: Bool; `c.len`: Int
    ChannelRead { channel: Box<Expr>, what: ChannelRead, site: SiteId },
    /// `await cond for d`: Bool. The condition is evaluated without steps: the reads in it ([`ExprKind::Read`] etc.)
    /// have sites, but are no steps. It contains only reads, locals, operators and words.
    Await { cond: Box<Expr>, timeout: Option<Box<Expr>>, site: SiteId },
    /// An expression of kind text about platform memory, or a verb.
    Platform(PlatformExpr),
}

/// The options of a post that few posts have.
#[derive(Clone, Default, Debug)]
pub struct PostOptionsExpr {
    /// The token of the message, an object.
    pub with: Option<Expr>,
    /// The delay with which the message returns to its queue when its task begins.
    pub every: Option<Expr>,
    /// Whether the message does not keep the run going.
    pub daemon: bool,
    /// Whether the value of the post is a handle of the message.
    pub handle: bool,
}

/// Where a launched job starts.
#[derive(Clone, Debug)]
pub enum LaunchPlaceExpr {
    /// `on place`
    On(Box<Expr>),
    /// On the present looper, with a message.
    Here,
    /// `now`
    Now,
}

/// The job that a launched job belongs to.
#[derive(Clone, Debug)]
pub enum LaunchParentExpr {
    /// The job that launches it, if a job does.
    Caller,
    /// `detached`
    NoParent,
    /// `in job`
    In(Box<Expr>),
}

/// The time at which a posted message is due.
#[derive(Clone, Debug)]
pub enum PostTimeExpr {
    /// The time of the post.
    Now,
    /// `after d`
    After(Box<Expr>),
    /// `at front`
    Front,
    /// `at t`
    At(Box<Expr>),
    /// `micro`
    Micro,
    /// `idle`, `idle keep`
    Idle {
        /// Whether the handler stays registered when it runs.
        keep: bool,
    },
    /// `or now`: a call, if the poster is the looper itself. The site is the one at which the call fails.
    OrNow(SiteId),
}

/// A place in shared memory.
#[derive(Clone, Debug)]
pub struct MemoryPlace {
    /// The global or field at which the place starts.
    pub root: Root,
    /// The indices into an array; empty if the place is not an element of an array.
    pub index: ElementIndex,
    /// The type of the value at the place.
    pub ty: Type,
    /// Whether the place is atomic, so that its accesses synchronize.
    pub atomic: bool,
    /// The span of the place in the source.
    pub at: Span,
}

/// Indices of an array element, outermost first. Each has an expression, the length of its dimension (a bounds check
/// throws IndexOutOfBounds at the site) and the number of cells per step.
pub type ElementIndex = Vec<Dimension>;

/// One index of an array element.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// The value of the index.
    pub index: Expr,
    /// The length of the dimension. Valid indices are `0..len`.
    pub len: u32,
    /// Number of cells between consecutive indices.
    pub stride: u32,
    /// The site at which the bounds check fails.
    pub site: SiteId,
    /// The span in the source of the array that is indexed.
    pub array: Span,
}

/// The start of a place.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Root {
    /// The first cell of a global.
    Global(GlobalId),
    /// A field of an object, given by its class and its index in the class. NullPointer is thrown at the site if the
    /// object is null.
    Field { object: Box<Expr>, class: ClassId, field: u32, site: SiteId },
}

/// A property. Its expressions read memory without steps, as in [`ExprKind::Await`]. Its quantifiers are expanded.
#[derive(Clone, Debug)]
pub struct Property {
    /// The name of the property.
    pub name: String,
    /// The states in which the property must hold.
    pub when: When,
    /// The condition. An exception in it is a failure of the property.
    pub expr: Expr,
}

/// A label in live code.
#[derive(Clone, Debug)]
pub struct LabelDef {
    /// The name of the label, without `@`.
    pub name: String,
    /// The source line of the real app that the label stands for.
    pub from: Option<String>,
}

/// A resolved reference of an expectation to operations of a labeled statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteRef {
    /// The reference as written: `@a.read of x`.
    pub text: String,
    /// The sites that the reference selects; never empty.
    pub sites: Vec<SiteId>,
    /// The kind of access that the reference selects, if it names one.
    pub access: Option<AccessSelector>,
}

/// An expectation with its names resolved, and its line.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The line of the expectation, counted from 1.
    pub line: u32,
    /// The text of the expectation, on one line.
    pub text: String,
    /// The statement of the expectation.
    pub kind: ExpectationKind,
}

/// The statement of an expectation.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ExpectationKind {
    /// `race a ~ b: real, harmful, false`; `no race a ~ b`; with `order` instead of `race` for an order pair
    Race { no: bool, order: bool, left: SiteRef, right: SiteRef, real: bool, harmful: bool, false_: bool },
    /// `order a, b: real | never | harmful`
    Order { refs: Vec<SiteRef>, word: OrderWord },
    /// `failure`
    Failure { no: bool, what: Option<FailureRef>, site: Option<SiteRef> },
    /// `deadlock`
    Deadlock { no: bool },
    /// `stuck`
    Stuck { no: bool },
    /// `livelock`
    Livelock { no: bool },
    /// `atomicity violation "name": real, harmful, joint`
    Atomicity { no: bool, of: TransactionRef, real: bool, harmful: bool, joint: bool },
    /// `executes_before a, b`
    ExecutesBefore(BodyId, BodyId),
    /// `races n real m`
    Races { potential: i64, real: Option<i64> },
    /// `outcomes of ...`
    Outcomes { of: Vec<GlobalId>, outcomes: Vec<OutcomeRef> },
}

/// The word of an `order` line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the words of the language")]
pub enum OrderWord {
    Real,
    Never,
    Harmful,
}

/// The declared transactions that an `atomicity violation` line is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionRef {
    /// All of them.
    Any,
    /// Blocks and instances with this text.
    Text(String),
    /// Trees of tasks whose root is the task or the handler of this name.
    Task(String),
}

/// A failure by message, or by the name of an exception or property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailureRef {
    /// The message of an assert, fail or throw.
    Message(String),
    /// The name of an exception or property.
    Name(String),
}

/// One expected outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct OutcomeRef {
    /// The kind of the outcome.
    pub kind: OutcomeRefKind,
    /// The end values of the globals of `of`, one for each; `None` if the line gives none.
    pub values: Option<Vec<EndValue>>,
}

/// The kinds of expected outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the words of the language")]
pub enum OutcomeRefKind {
    Ok,
    Deadlock,
    Stuck,
    Failure(FailureRef),
}
