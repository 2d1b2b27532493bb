//! A checked program: every name resolved, every type known, every constant folded, every access numbered.
//!
//! This is what `check` makes of a syntax tree and what the virtual machine compiles. Values are untyped words at run time (an `i64`); the types here say what each word means.

use super::ast::{Access, BinaryOp, Span, UnaryOp, When};
use crate::base::IndexVec;
use crate::event::{BodyId, EventId, ListenerId, Site, SiteId};
use std::sync::Arc;

crate::define_id! {
    /// A class; 0 is `Object`.
    ClassId,
    /// A global variable.
    GlobalId,
    /// A local of a body.
    LocalId,
    /// A text in [`Program::texts`].
    TextId,
    /// An exception name in [`Program::exceptions`].
    ExceptionId,
}

/// The site of what is no step and cannot fail by itself: reads in a property, operators other than a division by what may be zero. Not an index of
/// [`Program::sites`].
pub const NO_SITE: SiteId = SiteId(u32::MAX);

/// A checked program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The text that it was made of: spans are places in it.
    pub source: Arc<str>,
    /// `app "title"`; empty without one.
    pub title: String,
    /// What an uncaught exception ends.
    pub uncaught: Uncaught,
    /// The constants with their values after `-D`, in source order.
    pub consts: Vec<(String, i64)>,
    /// Classes.
    pub classes: IndexVec<ClassId, Class>,
    /// Globals (`var`, `atomic`; not `let`, which is folded into its uses). Cells of memory are theirs in order: global 0 has cells `0..len` and so on.
    pub globals: IndexVec<GlobalId, Global>,
    /// Threads that start with the app, in source order; a parametrized thread stands here once for each value. Their index is their thread value.
    pub threads: Vec<Thread>,
    /// Locks and mutexes; an array stands here once for each element (`x[0]`). Their index is their lock value.
    pub locks: Vec<Lock>,
    /// Conditions, expanded likewise.
    pub conditions: Vec<String>,
    /// Reader-writer locks.
    pub rwlocks: Vec<RwLock>,
    /// Semaphores: name and first count.
    pub semaphores: Vec<(String, i64)>,
    /// Barriers: name and number of parties.
    pub barriers: Vec<(String, i64)>,
    /// Handlers: name and index of their looper in `threads`.
    pub handlers: Vec<(String, usize)>,
    /// Listeners: names.
    pub listeners: IndexVec<ListenerId, String>,
    /// Events.
    pub events: IndexVec<EventId, EventDef>,
    /// Bodies: tasks, threads, looper blocks, event handlers, `init`.
    pub bodies: IndexVec<BodyId, Body>,
    /// The body of `init`, if there is one.
    pub init: Option<BodyId>,
    /// Objects that exist from the start: top-level `let o = new C`. Object `i` of the run is of class `objects[i]`; a use of the `let` is the constant `i`.
    pub objects: Vec<ClassId>,
    /// Properties.
    pub properties: Vec<Property>,
    /// Sites, ordered by body and ordinal.
    pub sites: IndexVec<SiteId, Site>,
    /// Labels that are live, in source order; [`labelled`](crate::event::labelled) says what they select.
    pub labels: Vec<LabelDef>,
    /// Expectations whose condition holds.
    pub expectations: Vec<Expectation>,
    /// Messages and instance names.
    pub texts: IndexVec<TextId, String>,
    /// Exception names; the built-in ones first, in the order of [`BUILT_IN_EXCEPTIONS`].
    pub exceptions: IndexVec<ExceptionId, String>,
}

/// The exceptions that operations throw by themselves.
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

/// What an uncaught exception ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncaught {
    /// The run, as a failure.
    App,
    /// Its thread.
    Thread,
}

/// A type. Every one but `List` and `Array` is one word at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// 64-bit integer, wrapping as in Java.
    Int,
    /// 0 or 1.
    Bool,
    /// A reference to an object of this class (or null).
    Object(ClassId),
    /// A thread (a looper is one), or null.
    Thread,
    /// A looper, or null.
    Looper,
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
    /// What `post` gives: true if accepted. May stand where a bool may, and be compared with null (refused).
    Message,
    /// The type of `null` alone.
    Null,
    /// No value.
    Void,
    /// `list[T]`, T one word.
    List(Arc<Type>),
    /// `T[n]`; nested for more dimensions, outermost first. T is one word or a list.
    Array(Arc<Type>, u32),
}

/// A class.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its fields. Their cells follow each other from the object's base.
    pub fields: Vec<Global>,
}

/// A global or a field.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it synchronizes.
    pub atomic: bool,
    /// First cell: in the memory for a global, from the object's base for a field.
    pub offset: u32,
    /// Number of cells (the product of the array lengths; 1 for anything else, a list as well).
    pub cells: u32,
    /// The first value of each cell (as many as `cells`).
    pub init: Vec<Init>,
}

/// A first value.
#[derive(Clone, PartialEq, Debug)]
pub enum Init {
    /// A word (a number, a truth value, null, the index of a thread, lock ...).
    Word(i64),
    /// A new object.
    New(ClassId),
    /// A new list with these elements.
    List(Vec<i64>),
}

/// A thread that starts with the app.
#[derive(Clone, Debug)]
pub struct Thread {
    /// `worker`, or `worker[2]` for the instance of a parametrized one.
    pub name: String,
    /// Whether it keeps the run alive.
    pub daemon: bool,
    /// Whether it has a queue, and loops after its body.
    pub looper: bool,
    /// What it runs; `None` for a looper without block.
    pub body: Option<BodyId>,
    /// The argument, of a parametrized thread.
    pub arg: Option<i64>,
}

/// A lock or mutex.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Its name: `m`, `x[1]`.
    pub name: String,
    /// A `lock`; else a `mutex`.
    pub reentrant: bool,
}

/// A reader-writer lock.
#[derive(Clone, Debug)]
pub struct RwLock {
    /// Its name.
    pub name: String,
    /// Who goes first.
    pub prefer: Prefer,
}

/// Whom a reader-writer lock prefers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefer {
    /// Nobody.
    None,
    /// Readers.
    Readers,
    /// Writers.
    Writers,
}

/// An event of the environment.
#[derive(Clone, Debug)]
pub struct EventDef {
    /// Its name.
    pub name: String,
    /// The handler.
    pub body: BodyId,
    /// The looper's index in `threads`.
    pub looper: usize,
    /// How many enables it starts with.
    pub initially: u32,
}

/// A body: parameters and block.
#[derive(Clone, Debug)]
pub struct Body {
    /// The task's, thread's or event's name; `init` for the init block.
    pub name: String,
    /// Its parameters are its first locals.
    pub params: u32,
    /// Its locals, by name and type; a local array is one local.
    pub locals: IndexVec<LocalId, (String, Type)>,
    /// What a call gives.
    pub result: Type,
    /// The statements.
    pub block: Vec<Stmt>,
    /// The declaration.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Stmt {
    /// `let x = e` or `x = e`
    SetLocal(LocalId, Expr),
    /// Declares a local array (all zero or null) or a local without value; runs each time.
    ClearLocal(LocalId),
    /// `t[i] = e` on a local array; bounds are checked.
    SetLocalElement { local: LocalId, index: ElementIndex, value: Expr },
    /// `place = value`: a write (of an atomic: an atomic write). Order: the place's object and index, the value, then the write.
    Write { place: Place, value: Expr, site: SiteId },
    /// `place op= value`: a read and a write; the place is evaluated once.
    Update { place: Place, op: BinaryOp, value: Expr, read: SiteId, write: SiteId },
    /// `list[i] = value`
    ListSet { list: Place, index: Expr, value: Expr, site: SiteId },
    /// `list[i] op= value`
    ListUpdate { list: Place, index: Expr, op: BinaryOp, value: Expr, read: SiteId, write: SiteId },
    /// Evaluated for its effect.
    Expr(Expr),
    /// `if`; a constant condition was folded away, unless a label or site stands in it.
    If { cond: Expr, then: Vec<Stmt>, other: Vec<Stmt> },
    /// `while`
    While { cond: Expr, body: Vec<Stmt> },
    /// `loop`
    Loop { body: Vec<Stmt> },
    /// `for x in a..b`: both ends are evaluated once.
    ForRange { local: LocalId, from: Expr, to: Expr, body: Vec<Stmt> },
    /// `for x in list`: a read when the iterator is made and a read for each step, ConcurrentModification when the list changed between.
    ForList { local: LocalId, list: Place, body: Vec<Stmt>, site: SiteId },
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
    /// `try`; catches are tried in order, `None` takes any.
    Try { body: Vec<Stmt>, catch: Vec<(Option<ExceptionId>, Vec<Stmt>)>, finally: Option<Vec<Stmt>> },
    /// `sync e { }`; the operand is a lock or an object, evaluated once.
    Sync { object: Expr, body: Vec<Stmt>, acquire: SiteId, release: SiteId },
    /// `read rw { }` or `write rw { }`. `announce` is there if the lock prefers writers and this writes.
    Rw { object: Expr, write: bool, body: Vec<Stmt>, announce: Option<SiteId>, acquire: SiteId, release: SiteId },
    /// `transaction "name" { }`
    Transaction { name: Option<TextId>, body: Vec<Stmt> },
    /// An operation without operands beyond expressions.
    Do { op: Simple, site: SiteId },
    /// A block, of a folded `if`.
    Block(Vec<Stmt>),
}

/// Operations that are statements.
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
    /// `sleep e` (milliseconds)
    Sleep(Expr),
    /// `skip`
    Skip,
    /// `yield`
    Yield,
    /// `attach queue`
    AttachQueue,
    /// `loop queue`: begins messages until the looper has quit; its site is that of each `begin`.
    LoopQueue,
    /// `quit e safely` (a looper or thread)
    Quit { looper: Expr, safely: bool },
    /// `cancel task on e` (a looper, thread or handler); `None` for `all`
    Cancel { body: Option<BodyId>, target: Expr },
    /// `enable event(args) as e`
    Enable { event: EventId, args: Vec<Expr>, instance: Option<TextId> },
    /// `disable event`
    Disable(EventId),
    /// `register task to listener`
    Register { body: BodyId, listener: ListenerId },
    /// `perform listener(args)`
    Perform { listener: ListenerId, args: Vec<Expr> },
}

impl Simple {
    /// The expression that it acts on, if that is one that may be null, not held, or without a queue.
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
            | Self::Quit { looper: e, .. }
            | Self::Cancel { target: e, .. } => Some(e),
            Self::Sleep(_)
            | Self::Skip
            | Self::Yield
            | Self::AttachQueue
            | Self::LoopQueue
            | Self::Enable { .. }
            | Self::Disable(_)
            | Self::Register { .. }
            | Self::Perform { .. } => None,
        }
    }
}

/// An expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Where it stands in the source: what fails is named by its text. Empty of what is written nowhere.
    pub at: Span,
}

impl Expr {
    /// An expression that is written nowhere.
    #[must_use]
    pub fn new(kind: ExprKind, ty: Type) -> Self {
        Self { kind, ty, at: Span::default() }
    }
}

/// The kinds of expressions. Evaluation is left to right; each site is a step.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ExprKind {
    /// A word: a number, a truth value, null ([`NULL`](crate::event::NULL)), or the index of a thread, handler, lock, object ... of the program.
    Word(i64),
    /// A local.
    Local(LocalId),
    /// An element of a local array; bounds are checked.
    LocalElement { local: LocalId, index: ElementIndex },
    /// `self`
    SelfThread,
    /// A lock, condition ... out of an array of them, which stands at `of`: `first + index`, bounds are checked.
    Indexed { first: i64, len: u32, index: Box<Expr>, site: SiteId, of: Span },
    /// A read of shared memory (an atomic one if the place is).
    Read { place: Place, site: SiteId },
    /// `!`, `-`
    Unary(UnaryOp, Box<Expr>),
    /// Everything but `&&` and `||`. Equality compares words.
    Binary { op: BinaryOp, left: Box<Expr>, right: Box<Expr>, site: SiteId },
    /// `a && b`, `a || b`: the right side only if it gets there.
    And(Box<Expr>, Box<Expr>),
    /// `a || b`
    Or(Box<Expr>, Box<Expr>),
    /// `new C`
    New(ClassId),
    /// A call.
    Call { body: BodyId, args: Vec<Expr>, site: SiteId },
    /// `list.len`
    ListLen { list: Place, site: SiteId },
    /// `list[i]`
    ListGet { list: Place, index: Box<Expr>, site: SiteId },
    /// `list.push(e)` (Void)
    ListPush { list: Place, value: Box<Expr>, site: SiteId },
    /// `list.pop()`
    ListPop { list: Place, site: SiteId },
    /// `list.remove(i)`
    ListRemove { list: Place, index: Box<Expr>, site: SiteId },
    /// `list.clear()` (Void)
    ListClear { list: Place, site: SiteId },
    /// `cas(place, old, new)`: Bool
    Cas { place: Place, old: Box<Expr>, new: Box<Expr>, site: SiteId },
    /// `fetch_add(place, d)`: the old value
    FetchAdd { place: Place, delta: Box<Expr>, site: SiteId },
    /// `exchange(place, v)`: the old value
    Exchange { place: Place, value: Box<Expr>, site: SiteId },
    /// `*`: Bool, a choice
    Star { site: SiteId },
    /// `post`: Message
    Post {
        body: BodyId,
        args: Vec<Expr>,
        target: Box<Expr>,
        time: PostTime,
        is_async: bool,
        instance: Option<TextId>,
        site: SiteId,
    },
    /// `fork`: Thread
    Fork { body: BodyId, args: Vec<Expr>, site: SiteId },
    /// `spawn looper`: Looper
    SpawnLooper { site: SiteId },
    /// `fence l`: Fence
    Fence { looper: Box<Expr>, site: SiteId },
    /// `handler on l`: Handler
    NewHandler { looper: Box<Expr>, site: SiteId },
    /// `wait o for d`, `wait c with m for d`: Bool, false on timeout. Without `with`, the object is a lock or object and waited on with itself; with it, the object is a condition and `with` a lock.
    Wait { object: Box<Expr>, with: Option<Box<Expr>>, timeout: Option<Box<Expr>>, site: SiteId },
    /// `down s for d`: Bool, whether one was taken.
    DownFor { semaphore: Box<Expr>, timeout: Box<Expr>, site: SiteId },
    /// `await cond for d`: Bool. The condition is evaluated without steps ([`ExprKind::Read`] etc. in it have sites, but are no steps); only reads, locals, operators and words occur in it.
    Await { cond: Box<Expr>, timeout: Option<Box<Expr>>, site: SiteId },
}

/// When a post is due.
#[derive(Clone, Debug)]
pub enum PostTime {
    /// Now.
    Now,
    /// `after d`
    After(Box<Expr>),
    /// `at front`
    Front,
    /// `at t`
    At(Box<Expr>),
}

/// A place in shared memory.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where it starts.
    pub root: Root,
    /// Indices into its array, if it is one.
    pub index: ElementIndex,
    /// The type of what lies there.
    pub ty: Type,
    /// Whether it synchronizes.
    pub atomic: bool,
    /// Where it stands in the source.
    pub at: Span,
}

/// Indices, outermost first: each an expression, the length of its dimension (bounds are checked: IndexOutOfBounds at the site), and the number of cells it steps over.
pub type ElementIndex = Vec<Dimension>;

/// One index.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// The index.
    pub index: Expr,
    /// Valid are `0..len`.
    pub len: u32,
    /// Cells for each step.
    pub stride: u32,
    /// Where it fails.
    pub site: SiteId,
    /// Where the array stands in the source that this is an index of.
    pub array: Span,
}

/// Where a place starts.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Root {
    /// A global's first cell.
    Global(GlobalId),
    /// A field of an object (NullPointer at the site if null): the class and the index of the field in it.
    Field { object: Box<Expr>, class: ClassId, field: u32, site: SiteId },
}

/// A property. Its expressions read without steps, as in [`ExprKind::Await`]; quantifiers are expanded.
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// When.
    pub when: When,
    /// What. An exception in it is a failure of the property.
    pub expr: Expr,
}

/// A label.
#[derive(Clone, Debug)]
pub struct LabelDef {
    /// Without `@`.
    pub name: String,
    /// The line of the real app.
    pub from: Option<String>,
}

/// A reference of an expectation, resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteRef {
    /// As written: `@a.read of x`.
    pub text: String,
    /// What it selects; not empty.
    pub sites: Vec<SiteId>,
    /// The access selected, if one is.
    pub access: Option<Access>,
}

/// An expectation: what it says, as resolved as names go, and its line.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// 1-based.
    pub line: u32,
    /// As written (printed from the tree).
    pub text: String,
    /// What it says.
    pub kind: ExpectationKind,
}

/// What an expectation says.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ExpectationKind {
    /// `race a ~ b: real, harmful, false`; `no race`; and the same with `order`, of an order pair
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
    /// `atomicity violation`
    Atomicity { no: bool, name: Option<String> },
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

/// A failure by message, or by the name of an exception or property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailureRef {
    /// The message of an assert, fail or throw.
    Message(String),
    /// The name of an exception or property.
    Name(String),
}

/// One outcome that may be.
#[derive(Clone, PartialEq, Debug)]
pub struct OutcomeRef {
    /// Which kind.
    pub kind: OutcomeRefKind,
    /// End values of the globals of `of`, one each.
    pub values: Option<Vec<EndValue>>,
}

/// The kind of an expected outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the words of the language")]
pub enum OutcomeRefKind {
    Ok,
    Deadlock,
    Stuck,
    Failure(FailureRef),
}

/// The value of a variable at the end of a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EndValue {
    /// A number.
    Word(i64),
    /// A truth value.
    Truth(bool),
    /// A reference: of it only whether it is null ([`NULL`](crate::event::NULL)) means something in another run.
    Reference(i64),
    /// A list or array.
    List(Vec<EndValue>),
}

impl EndValue {
    /// The word of a variable, or of an element, of this type.
    #[must_use]
    pub fn of(ty: &Type, word: i64) -> Self {
        match ty {
            Type::Int => Self::Word(word),
            Type::Bool | Type::Message => Self::Truth(word != 0),
            Type::List(of) | Type::Array(of, _) => Self::of(of, word),
            _ => Self::Reference(word),
        }
    }
}
