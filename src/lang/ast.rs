//! The syntax tree of a `.race` file, as in the grammar of `docs/language_more.md`. Names are not resolved and
//! constants are not folded.
//!
//! Comparison of trees ignores positions: [`At`] is equal to every other [`At`], so `parse(print(tree)) == tree`.

mod components;

use crate::event::BlockKind;

pub use components::{
    Component, ComponentPart, Following, Instances, Kind, KindPart, Member, Params, Role, Row, VerbMode,
};

/// A range of bytes in a source file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

/// The position of a node. All positions compare equal.
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
    /// The text of the name.
    pub text: String,
    /// The position of the name.
    pub at: At,
}

/// A string literal, with its escapes resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextLiteral {
    /// The value of the literal.
    pub text: String,
    /// The position of the literal, quotes included.
    pub at: At,
}

/// A whole file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct File {
    /// The items of the file, in source order.
    pub items: Vec<Item>,
}

/// One top-level item.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// The kind of the item.
    pub kind: ItemKind,
    /// The position of the whole item.
    pub at: At,
}

/// The kinds of top-level items.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ItemKind {
    /// `app "title" { name = expr }`
    App { title: TextLiteral, settings: Vec<(Name, Expr)> },
    /// `const NAME in range = expr`
    Const { name: Name, range: Option<Range>, value: Expr },
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
    /// `channel name[count]: type[size]`; `conflated` as a size
    Channel { name: Name, count: Option<Expr>, of: Type },
    /// `waitgroup name`
    WaitGroup { name: Name },
    /// `barrier name = expr`
    Barrier { name: Name, value: Expr },
    /// `looper name { block }`
    Looper { name: Name, body: Option<Block> },
    /// `pool name = expr`
    Pool { name: Name, value: Expr },
    /// `handler name on looper`
    Handler { name: Name, looper: Name },
    /// `listener name(params)` (CAFA's register and perform)
    Listener { name: Name, params: Vec<Param> },
    /// `daemon thread name(i in a..b) { }`
    Thread { daemon: bool, name: Name, each: Option<(Name, Range)>, body: Block },
    /// `task name(params): type { }`, also `async task` and `daemon async task`
    Task { mode: TaskMode, name: Name, params: Vec<Param>, result: Option<Type>, body: Block },
    /// `event name(params) on looper initially expr { }`
    Event { name: Name, params: Vec<Param>, looper: Name, initially: Option<Expr>, body: Block },
    /// `init { }`
    Init { body: Block },
    /// `property name always|at end { prop }`
    Property { name: Name, when: When, prop: Prop },
    /// `use library { name = expr }`
    Use { library: Name, settings: Vec<(Name, Expr)> },
    /// `kind name { parts }`
    Kind(Box<Kind>),
    /// `state field`: platform memory of the app
    State(Field),
    /// A component.
    Component(Box<Component>),
    /// The instances of a component that is written out.
    Instances(Box<Instances>),
    /// A task of a component that is written out.
    Member(Box<Member>),
    /// `expect exp if expr`
    Expect { expect: Expect, condition: Option<Expr> },
}

/// The kinds of tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskMode {
    /// A task that runs to its end once it has begun.
    Plain,
    /// An async task, which can wait without blocking its looper.
    Async,
    /// An async task whose jobs do not keep the run alive.
    AsyncDaemon,
    /// An async function of JavaScript: its jobs are promises.
    AsyncMicro,
}

impl TaskMode {
    /// Returns the words before `task`.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Async | Self::AsyncMicro => "async ",
            Self::AsyncDaemon => "daemon async ",
        }
    }
}

/// The kinds of storage of a variable.
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
    /// The name of the field.
    pub name: Name,
    /// The type annotation, if there is one.
    pub ty: Option<Type>,
    /// The initial value, if there is one.
    pub value: Option<Value>,
}

/// The right side of a field or an assignment.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// One expression.
    Expr(Expr),
    /// `[a, b]`
    List(Vec<Expr>, At),
}

/// A type as written: its base and its array lengths.
#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    /// The base of the type.
    pub base: BaseType,
    /// The array lengths, outermost first.
    pub lengths: Vec<Expr>,
    /// The position of the whole type.
    pub at: At,
}

/// The base of a type.
#[derive(Clone, PartialEq, Debug)]
pub enum BaseType {
    /// `int`, `Object`, a class ...
    Name(Name),
    /// `list[T]`
    List(Box<Type>),
    /// `channel[T]`
    Channel(Box<Type>),
    /// `job[T]`
    Job(Box<Type>),
}

/// `lock`, `mutex`, `condition`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// A reentrant lock with a wait set.
    Lock,
    /// A lock that is not reentrant.
    Mutex,
    /// A condition variable. A thread waits on it with a lock.
    Condition,
}

/// A range `a..b`, without its end.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// The first value.
    pub from: Expr,
    /// One past the last value.
    pub to: Expr,
}

impl Range {
    /// Returns the position of the whole range.
    #[must_use]
    pub fn at(&self) -> At {
        At(Span { start: self.from.at.0.start, end: self.to.at.0.end })
    }
}

/// A parameter of a task, event or listener.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// The name of the parameter.
    pub name: Name,
    /// The type annotation. A parameter without one is an `int`.
    pub ty: Option<Type>,
}

/// The states in which a property must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// In every state.
    Always,
    /// At the end of the run, when it rests.
    AtEnd,
}

/// The condition of a property.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Prop {
    /// `all i in a..b: p` or `any i in a..b: p`
    Quantified { all: bool, name: Name, range: Range, prop: Box<Prop> },
    /// An expression.
    Expr(Expr),
}

/// A block `{ statements }`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// The statements of the block.
    pub stmts: Vec<Stmt>,
    /// The position of the block, braces included.
    pub at: At,
}

/// A statement with its label.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// `@label from "File.java:41":`
    pub label: Option<Label>,
    /// The kind of the statement.
    pub kind: StmtKind,
    /// The position of the statement without its label. For a compound statement it covers only the head, for example
    /// up to the end of the condition.
    pub at: At,
}

/// A label of a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    /// The name without the `@`. Its position includes the `@`.
    pub name: Name,
    /// The source line of the real app that the label stands for.
    pub from: Option<TextLiteral>,
}

/// The kinds of statements.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum StmtKind {
    /// `let x: type = value`
    Let(Field),
    /// `place op= value`; `op` is `None` for `=`
    Assign { place: Expr, op: Option<BinaryOp>, value: Value },
    /// A call or an operation (`post`, `fork` ...) whose value is not used.
    Expr(Expr),
    /// `if cond { } else ...`; [`Else`] has the forms of the second branch.
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
    Assert { cond: Expr, message: Option<TextLiteral> },
    /// `fail "message"`
    Fail { message: TextLiteral },
    /// `throw Name, "message"`
    Throw { name: Name, message: Option<TextLiteral> },
    /// `try { } catch Name { } finally { }`
    Try { body: Block, catch: Vec<Catch>, finally: Option<Block> },
    /// `sync e for d { } else { }`; `read` and `write` for the sides of a `rwlock`
    Sync { mode: SyncMode, object: Expr, timeout: Option<Expr>, body: Block, other: Option<Block> },
    /// `acquire read e`, `release write e`: one side of a `rwlock`
    Side { acquire: bool, mode: SyncMode, object: Expr },
    /// `transaction "name" { }`
    Transaction { name: Option<TextLiteral>, body: Block },
    /// The body of a callback, task or event that is in a `unit` of its component. Only components that are written out
    /// have it.
    Unit { name: TextLiteral, body: Block },
    /// `scope { }`, `supervise { }`, `uncancellable { }`
    JobBlock { kind: BlockKind, body: Block },
    /// `verb e`, a statement of a verb with one operand
    Verb { verb: Verb, operand: Expr },
    /// `send channel value`
    Send { channel: Expr, value: Expr },
    /// `select { cases }`
    Select { cases: Vec<SelectCase> },
    /// `skip`
    Skip,
    /// `yield`
    Yield,
    /// `switch to place`
    Switch(Expr),
    /// `cancel place`: one message, or one job
    CancelOne(Expr),
    /// `attach queue`
    AttachQueue,
    /// `quit place safely`
    Quit { target: Expr, safely: bool },
    /// `cancel task with token on place`; `None` for `all`
    Cancel { task: Option<Name>, with: Option<Expr>, target: Expr },
    /// `enable name(args) as e`
    Enable { event: Name, args: Vec<Expr>, instance: Option<InstanceName> },
    /// `disable name`
    Disable { event: Name },
    /// `register task to listener`
    Register { task: Name, listener: Name },
    /// `unregister task from listener`
    Unregister { task: Name, listener: Name },
    /// `perform listener(args)`
    Perform { listener: Name, args: Vec<Expr> },
    /// `withdraw e`
    Withdraw { request: Expr },
    /// The statements for every instance of a component, in the order in which they were made. Only `expand` makes it.
    ForInstances { name: Name, component: Name, body: Block },
}

/// A case of a `select`.
#[derive(Clone, PartialEq, Debug)]
pub struct SelectCase {
    /// The condition of the case.
    pub kind: SelectKind,
    /// The block that runs if the case goes.
    pub body: Block,
    /// The position of the case without its block.
    pub at: At,
}

/// The kinds of cases of a `select`.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum SelectKind {
    /// `recv channel as value, received`
    Receive { channel: Expr, value: Option<Name>, received: Option<Name> },
    /// `send channel value`
    Send { channel: Expr, value: Expr },
    /// `after delay`
    After(Expr),
    /// `else`
    Else,
}

/// The branch after `else`.
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
    /// `*`: a choice of the schedule between both branches
    Star(At),
    /// An expression.
    Expr(Expr),
}

/// The values that a `for` iterates over.
#[derive(Clone, PartialEq, Debug)]
pub enum Over {
    /// `a..b`
    Range(Range),
    /// The elements of a list, or the values that a channel gives.
    List(Expr),
}

/// A `catch Name { }` clause.
#[derive(Clone, PartialEq, Debug)]
pub struct Catch {
    /// The name of the exceptions that the clause catches; `None` catches any exception.
    pub name: Option<Name>,
    /// The block that handles the exception.
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

/// Verbs with one operand.
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
    Close,
    Sleep,
}

/// The name of an instance, after `as`.
#[derive(Clone, PartialEq, Debug)]
pub enum InstanceName {
    /// A name in quotes.
    Name(TextLiteral),
    /// An expression.
    Expr(Box<Expr>),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// The kind of the expression.
    pub kind: ExprKind,
    /// The position of the expression.
    pub at: At,
}

/// The kinds of expressions. Parentheses leave no node.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ExprKind {
    /// An integer literal.
    Int(i64),
    /// A string literal. The checker rejects it; messages and names of instances are nodes of their own
    /// ([`TextLiteral`]).
    Str(String),
    /// `true`, `false`
    Bool(bool),
    /// `null`
    Null,
    /// `plain place`: an access of an atomic that does not synchronize
    Plain(Box<Expr>),
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
    /// An operation with a value, such as `post`
    Op(Box<Op>),
    /// `..` as the last argument
    Rest,
    /// `none stage`, `some stage`: whether no other instance of the kind is in the stage, or some is
    Other { some: bool, kind: Option<Name>, stage: Name },
    /// `asked row`: whether a request of the row waits
    Asked(Name),
    /// A stage of a kind, as a value. Only `expand` makes it.
    Stage { kind: Name, stage: Name },
    /// `again(i)`: another instance with the arguments of `i`. Only `expand` makes it.
    Again(Box<Expr>),
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
    /// Returns the value of `a op b`, for constants and at run time alike. Arithmetic wraps around as in Java, and
    /// shifts use the low six bits of `b`. Returns `None` for a division by zero.
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
    /// `post object.name(args) to place`, with `after d`, `at front`, `at t`, `micro`, `idle keep` or `or now`, and
    /// with `async`, `with o`, `every d`, `daemon`, `as e`
    Post {
        object: Option<Expr>,
        task: Name,
        args: Vec<Expr>,
        target: Expr,
        time: PostTimeAst,
        is_async: bool,
        options: Box<PostOptionsAst>,
        instance: Option<InstanceName>,
    },
    /// `cancel place`, of a message
    Cancel { message: Expr },
    /// `fork name(args)`
    Fork { task: Name, args: Vec<Expr> },
    /// `launch name(args) on place`, with other words: [`LaunchWords`]
    Launch { task: Name, args: Vec<Expr>, words: LaunchWords },
    /// `spawn looper`
    SpawnLooper,
    /// `spawn scope`
    SpawnScope,
    /// `fence place`
    Fence { target: Expr },
    /// `handler on place`
    HandlerOn { target: Expr },
    /// `wait place with lock for d`
    Wait { object: Expr, with: Option<Expr>, timeout: Option<Expr> },
    /// `down place for d`; without a timeout it is a [`Verb`].
    Down { semaphore: Expr, timeout: Expr },
    /// `acquire place for d`, `acquire read place for d`; without a timeout it is a [`Verb`] or a statement.
    Acquire { mode: SyncMode, object: Expr, timeout: Expr },
    /// `recv place`
    Receive { channel: Expr },
    /// `choose a..b`
    Choose(Range),
    /// `await cond for d`
    Await { cond: Expr, timeout: Option<Expr> },
    /// `verb target(args)`: a verb of a kind, for a component or for an instance
    Component { verb: Name, target: Expr, args: Vec<Expr> },
    /// `ask row(args)`
    Ask { row: Name, args: Vec<Expr> },
}

/// The options of a post that few posts have.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct PostOptionsAst {
    /// `with place`: the token of the message.
    pub with: Option<Expr>,
    /// `every d`: the message returns to its queue when its task begins.
    pub every: Option<Expr>,
    /// `daemon`: the message does not keep the run going.
    pub daemon: bool,
}

/// The words after the arguments of a `launch`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaunchWords {
    /// `on place`
    pub on: Option<Expr>,
    /// `now`
    pub now: bool,
    /// `in job`
    pub within: Option<Expr>,
    /// `detached`
    pub detached: bool,
}

/// The time at which a posted message is due.
#[derive(Clone, PartialEq, Debug)]
pub enum PostTimeAst {
    /// The time of the post.
    Now,
    /// `after d`
    After(Expr),
    /// `at front`
    Front,
    /// `at t`
    At(Expr),
    /// `micro`
    Micro,
    /// `idle`, `idle keep`
    Idle {
        /// Whether the handler stays registered when it runs.
        keep: bool,
    },
    /// `or now`: a call, if the poster is the looper itself.
    OrNow,
}

/// The statement of an `expect` line.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum Expect {
    /// `[no] race a ~ b: words`, or `[no] order a ~ b: words` for an order pair: operations that are not plain
    /// accesses.
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
    /// `[no] atomicity violation ["name"|task] [: words]`
    Atomicity { no: bool, name: Option<TransactionName>, words: Vec<Name> },
    /// `executes_before a, b`
    ExecutesBefore { first: Name, second: Name },
    /// `races n real m`
    Races { potential: Expr, real: Option<Expr> },
    /// `outcomes of a, b: ok 1, deadlock`
    Outcomes { of: Vec<Name>, outcomes: Vec<OutcomeSpec> },
}

/// The declared transactions that an `expect` line names.
#[derive(Clone, PartialEq, Debug)]
pub enum TransactionName {
    /// The text of a `transaction`, of an `as`, or the name of a component.
    Text(TextLiteral),
    /// The task or event at the root of a tree of tasks.
    Task(Name),
}

/// The failure that an `expect` line names.
#[derive(Clone, PartialEq, Debug)]
pub enum FailureName {
    /// The message of the failure.
    Message(TextLiteral),
    /// The name of an exception or property.
    Name(Name),
}

/// One outcome of an `outcomes` line.
#[derive(Clone, PartialEq, Debug)]
pub struct OutcomeSpec {
    /// The kind of the outcome.
    pub kind: OutcomeSpecKind,
    /// The end values of the named variables, if they are given: `ok 0` or `ok [1, 2]` for one variable,
    /// `ok [0, [1, 2]]` for several.
    pub value: Option<OutcomeValue>,
    /// The position of the outcome.
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
    /// `[a, b]`, nested if one of the variables is itself a list or array.
    List(Vec<OutcomeValue>),
}

/// A reference to operations of a labeled statement: `@label.read of x`
#[derive(Clone, PartialEq, Debug)]
pub struct Ref {
    /// The label of the statement.
    pub label: Name,
    /// `.read` or `.write`, if it is given.
    pub access: Option<AccessSelector>,
    /// The name after `of`, if it is given.
    pub of: Option<Name>,
    /// The position of the whole reference.
    pub at: At,
}

/// The accesses that a reference selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the words of the language")]
pub enum AccessSelector {
    Read,
    Write,
}
