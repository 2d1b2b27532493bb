//! The syntax tree of a `.race` file, as the grammar of `docs/language.md` has it: nothing resolved, nothing folded.
//!
//! Trees are compared by what they say, not where: [`At`] is equal to every other [`At`], so `parse(print(tree)) == tree`.

/// A range of bytes in a source file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Where a node stands. All positions compare equal.
#[derive(Clone, Copy, Eq, Debug, Default)]
pub struct At(pub Span);

impl PartialEq for At {
    fn eq(&self, _: &At) -> bool {
        true
    }
}

/// A name as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// Its text.
    pub text: String,
    /// Where.
    pub at: At,
}

/// A string literal, unescaped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// Its value.
    pub text: String,
    /// Where, quotes included.
    pub at: At,
}

/// A whole file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct File {
    /// Its items in source order.
    pub items: Vec<Item>,
}

/// One top-level item.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// The whole item.
    pub at: At,
}

/// The kinds of items.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ItemKind {
    /// `app "title" { name = expr }`
    App { title: Text, settings: Vec<(Name, Expr)> },
    /// `const NAME = expr`
    Const { name: Name, value: Expr },
    /// `var`, `atomic` or top-level `let`
    Field { storage: Storage, field: Field },
    /// `class Name { var f: int }`
    Class { name: Name, fields: Vec<(Storage, Field)> },
    /// `lock`, `mutex`, `condition`, with an array length if there is one
    Lock { kind: LockKind, name: Name, count: Option<Expr> },
    /// `rwlock name prefer readers|writers`
    RwLock { name: Name, prefer: Option<Name> },
    /// `semaphore name = expr`
    Semaphore { name: Name, value: Expr },
    /// `barrier name = expr`
    Barrier { name: Name, value: Expr },
    /// `looper name { block }`
    Looper { name: Name, body: Option<Block> },
    /// `handler name on looper`
    Handler { name: Name, looper: Name },
    /// `listener name(params)` (CAFA's register and perform)
    Listener { name: Name, params: Vec<Param> },
    /// `daemon thread name(i in a..b) { }`
    Thread { daemon: bool, name: Name, each: Option<(Name, Range)>, body: Block },
    /// `task name(params): type { }`
    Task { name: Name, params: Vec<Param>, result: Option<Type>, body: Block },
    /// `event name(params) on looper initially expr { }`
    Event { name: Name, params: Vec<Param>, looper: Name, initially: Option<Expr>, body: Block },
    /// `init { }`
    Init { body: Block },
    /// `property name always|at end { prop }`
    Property { name: Name, when: When, prop: Prop },
    /// `activity`, `service`, `receiver`, `async_task`
    Component { kind: ComponentKind, name: Name, params: Vec<Param>, looper: Name, parts: Vec<ComponentPart> },
    /// `expect exp if expr`
    Expect { expect: Expect, condition: Option<Expr> },
}

/// How a variable is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// Plain shared memory.
    Var,
    /// Synchronizing shared memory.
    Atomic,
    /// An immutable top-level name.
    Let,
}

/// `name: type = value`
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// The name.
    pub name: Name,
    /// The annotation.
    pub ty: Option<Type>,
    /// The initial value.
    pub value: Option<Value>,
}

/// The right side of a field.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// One expression.
    Expr(Expr),
    /// `[a, b]`
    List(Vec<Expr>, At),
}

/// A type as written: base and array lengths.
#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    /// The base.
    pub base: BaseType,
    /// Lengths, outermost first.
    pub lengths: Vec<Expr>,
    /// The whole type.
    pub at: At,
}

/// The base of a type.
#[derive(Clone, PartialEq, Debug)]
pub enum BaseType {
    /// `int`, `Object`, a class ...
    Name(Name),
    /// `list[T]`
    List(Box<Type>),
}

/// `lock`, `mutex`, `condition`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// Reentrant, with a wait set.
    Lock,
    /// Not reentrant.
    Mutex,
    /// Waited on with a lock.
    Condition,
}

/// `a..b`, exclusive.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// First value.
    pub from: Expr,
    /// One past the last.
    pub to: Expr,
}

/// A parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// The name.
    pub name: Name,
    /// The annotation; `int` without one.
    pub ty: Option<Type>,
}

/// When a property must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// In every state.
    Always,
    /// When the run rests.
    AtEnd,
}

/// A property.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Prop {
    /// `all i in a..b: p` or `any i in a..b: p`
    Quantified { all: bool, name: Name, range: Range, prop: Box<Prop> },
    /// An expression.
    Expr(Expr),
}

/// The kinds of components (parsed only, for now).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComponentKind {
    /// `activity`
    Activity,
    /// `service`
    Service,
    /// `receiver`
    Receiver,
    /// `async_task`
    AsyncTask,
}

/// A part of a component.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ComponentPart {
    /// `var field`
    Var(Field),
    /// `on name(params) { }`
    On { name: Name, params: Vec<Param>, body: Block },
}

/// `{ statements }`
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// Braces included.
    pub at: At,
}

/// A statement with its label.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// `@label from "File.java:41":`
    pub label: Option<Label>,
    /// The statement.
    pub kind: StmtKind,
    /// Without the label; a compound statement's up to the end of its condition.
    pub at: At,
}

/// A label.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    /// Without the `@`; its position includes it.
    pub name: Name,
    /// The line of the real app.
    pub from: Option<Text>,
}

/// The kinds of statements.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum StmtKind {
    /// `let x: type = value`
    Let(Field),
    /// `place op= value`; `op` is `None` for `=`
    Assign { place: Expr, op: Option<BinaryOp>, value: Value },
    /// A call for its effect, an operation (`post`, `fork` ...) for its effect.
    Expr(Expr),
    /// `if cond { } else ...`; an `else if` is a block of one statement without braces (`else_if`).
    If { cond: Cond, then: Block, other: Option<Else> },
    /// `while cond { }`
    While { cond: Cond, body: Block },
    /// `loop { }`
    Loop { body: Block },
    /// `loop queue`
    LoopQueue,
    /// `for x in range { }`
    For { name: Name, over: Over, body: Block },
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return expr`
    Return(Option<Expr>),
    /// `assert expr, "message"`
    Assert { cond: Expr, message: Option<Text> },
    /// `fail "message"`
    Fail { message: Text },
    /// `throw Name, "message"`
    Throw { name: Name, message: Option<Text> },
    /// `try { } catch Name { } finally { }`
    Try { body: Block, catch: Vec<Catch>, finally: Option<Block> },
    /// `sync e { }`, `read e { }`, `write e { }`
    Sync { mode: SyncMode, object: Expr, body: Block },
    /// `transaction "name" { }`
    Transaction { name: Option<Text>, body: Block },
    /// `verb e`
    Verb { verb: Verb, operand: Expr },
    /// `skip`
    Skip,
    /// `yield`
    Yield,
    /// `attach queue`
    AttachQueue,
    /// `quit place safely`
    Quit { target: Expr, safely: bool },
    /// `cancel task on place`; `None` for `all`
    Cancel { task: Option<Name>, target: Expr },
    /// `enable name(args) as e`
    Enable { event: Name, args: Vec<Expr>, instance: Option<Instance> },
    /// `disable name`
    Disable { event: Name },
    /// `register task to listener`
    Register { task: Name, listener: Name },
    /// `perform listener(args)`
    Perform { listener: Name, args: Vec<Expr> },
    /// `start A(args)` and the like (components; parsed only, for now)
    Component { verb: ComponentVerb, name: Name, args: Vec<Expr> },
}

/// What follows `else`.
#[derive(Clone, PartialEq, Debug)]
pub enum Else {
    /// `else { }`
    Block(Block),
    /// `else if`: the statement is an `If`.
    If(Box<Stmt>),
}

/// A condition of `if` or `while`.
#[derive(Clone, PartialEq, Debug)]
pub enum Cond {
    /// `*`: either way, a choice
    Star(At),
    /// An expression.
    Expr(Expr),
}

/// What a `for` runs over.
#[derive(Clone, PartialEq, Debug)]
pub enum Over {
    /// `a..b`
    Range(Range),
    /// A list.
    List(Expr),
}

/// `catch Name { }`
#[derive(Clone, PartialEq, Debug)]
pub struct Catch {
    /// Which exception; any without one.
    pub name: Option<Name>,
    /// What then.
    pub body: Block,
}

/// `sync`, `read`, `write`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncMode {
    /// A lock, mutex or monitor.
    Sync,
    /// The read side of a `rwlock`.
    Read,
    /// The write side of a `rwlock`.
    Write,
}

/// Verbs of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the word of the language")]
pub enum Verb {
    Use,
    Delete,
    Lift,
    Join,
    Interrupt,
    Acquire,
    Release,
    Notify,
    NotifyAll,
    Signal,
    SignalAll,
    Arrive,
    Down,
    Up,
    Sleep,
}

/// Verbs of components.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the word of the language")]
pub enum ComponentVerb {
    Start,
    Finish,
    Bind,
    Unbind,
    Broadcast,
    Execute,
}

/// What follows `as`.
#[derive(Clone, PartialEq, Debug)]
pub enum Instance {
    /// A name in quotes.
    Name(Text),
    /// An expression.
    Expr(Box<Expr>),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub at: At,
}

/// The kinds of expressions. Parentheses leave no node.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ExprKind {
    /// An integer literal.
    Int(i64),
    /// A string literal (only where an instance or message may stand; the checker says so).
    Str(String),
    /// `true`, `false`
    Bool(bool),
    /// `null`
    Null,
    /// `self`
    SelfThread,
    /// `this`
    This,
    /// `new Name`
    New(Name),
    /// A name.
    Name(String),
    /// `name(args)`
    Call { name: Name, args: Vec<Expr> },
    /// `e.name`
    Field { object: Box<Expr>, name: Name },
    /// `e.name(args)`
    Method { object: Box<Expr>, name: Name, args: Vec<Expr> },
    /// `e[i]`
    Index { object: Box<Expr>, index: Box<Expr> },
    /// `!e`, `-e`
    Unary { op: UnaryOp, operand: Box<Expr> },
    /// `a + b`, `a && b` ...
    Binary { op: BinaryOp, left: Box<Expr>, right: Box<Expr> },
    /// `post` and the like
    Op(Box<Op>),
}

/// `!`, `-`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the operators")]
pub enum UnaryOp {
    Not,
    Neg,
}

/// Binary operators, with Rust's precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the operators")]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitOr,
    BitXor,
    BitAnd,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl BinaryOp {
    /// The value, of constants and at run time alike: it wraps around as in Java, and shifts take the low six bits. `None`: a division by zero.
    #[inline]
    #[must_use]
    pub fn value(self, a: i64, b: i64) -> Option<i64> {
        Some(match self {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::Div | BinaryOp::Rem if b == 0 => return None,
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
}

/// Operations that have a value.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Op {
    /// `post name(args) to place after d | at front | at t  async  as e`
    Post { task: Name, args: Vec<Expr>, target: Expr, time: PostTime, is_async: bool, instance: Option<Instance> },
    /// `fork name(args)`
    Fork { task: Name, args: Vec<Expr> },
    /// `spawn looper`
    SpawnLooper,
    /// `fence place`
    Fence { target: Expr },
    /// `handler on place`
    HandlerOn { target: Expr },
    /// `wait place with lock for d`
    Wait { object: Expr, with: Option<Expr>, timeout: Option<Expr> },
    /// `down place for d`; without a limit of time it is a [`Verb`].
    Down { semaphore: Expr, timeout: Expr },
    /// `await cond for d`
    Await { cond: Expr, timeout: Option<Expr> },
}

/// When a post is due.
#[derive(Clone, PartialEq, Debug)]
pub enum PostTime {
    /// Now.
    Now,
    /// `after d`
    After(Expr),
    /// `at front`
    Front,
    /// `at t`
    At(Expr),
}

/// What an `expect` line says.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Expect {
    /// `[no] race a ~ b: words`; with `order` in place of `race` of operations that are no plain accesses.
    Race { no: bool, order: bool, left: Ref, right: Ref, words: Vec<Name> },
    /// `order a, b: word`
    Order { refs: Vec<Ref>, word: Name },
    /// `[no] failure ["message"|name] [at ref]`
    Failure { no: bool, what: Option<FailureName>, site: Option<Ref> },
    /// `[no] deadlock`
    Deadlock { no: bool },
    /// `[no] stuck`
    Stuck { no: bool },
    /// `[no] livelock`
    Livelock { no: bool },
    /// `[no] atomicity violation "name"`
    Atomicity { no: bool, name: Option<Text> },
    /// `executes_before a, b`
    ExecutesBefore { first: Name, second: Name },
    /// `races n real m`
    Races { potential: Expr, real: Option<Expr> },
    /// `outcomes of a, b: ok 1, deadlock`
    Outcomes { of: Vec<Name>, outcomes: Vec<OutcomeSpec> },
}

/// Which failure.
#[derive(Clone, PartialEq, Debug)]
pub enum FailureName {
    /// By message.
    Message(Text),
    /// By the name of an exception or property.
    Name(Name),
}

/// One outcome of an `outcomes` line.
#[derive(Clone, PartialEq, Debug)]
pub struct OutcomeSpec {
    /// Which kind.
    pub kind: OutcomeSpecKind,
    /// End values of the variables named; `ok 0`, `ok [1, 2]`, for several variables `ok [0, [1, 2]]`.
    pub value: Option<OutcomeValue>,
    /// Where.
    pub at: At,
}

/// The kinds of outcomes that can be expected.
#[derive(Clone, PartialEq, Debug)]
pub enum OutcomeSpecKind {
    /// `ok`
    Ok,
    /// `deadlock`
    Deadlock,
    /// `stuck`
    Stuck,
    /// `failure name`
    Failure(FailureName),
}

/// A value in an `outcomes` line.
#[derive(Clone, PartialEq, Debug)]
pub enum OutcomeValue {
    /// One expression over constants.
    Expr(Expr),
    /// `[a, b]`, nested where a variable is a list itself.
    List(Vec<OutcomeValue>),
}

/// `@label.read of x`
#[derive(Clone, PartialEq, Debug)]
pub struct Ref {
    /// The label.
    pub label: Name,
    /// `.read` or `.write`
    pub access: Option<Access>,
    /// `of x`
    pub of: Option<Name>,
    /// The whole.
    pub at: At,
}

/// Which accesses a reference selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the words of the language")]
pub enum Access {
    Read,
    Write,
}
