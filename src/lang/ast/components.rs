//! The trees of kinds and components, and of what [`expand`](crate::lang::expand()) makes of them.

use super::{At, Block, Expr, Field, Name, Param, Storage, TaskMode, Type};

/// The parameters of a part of a kind. With `rest` they end with `..`, which stands for the further parameters that a
/// component gives its callback.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Params {
    /// The named parameters.
    pub list: Vec<Param>,
    /// The position of the `..`, if there is one.
    pub rest: Option<At>,
}

/// `kind name { parts }`
#[derive(Clone, PartialEq, Debug)]
pub struct Kind {
    /// The name of the kind.
    pub name: Name,
    /// The parts of the kind, in source order.
    pub parts: Vec<KindPart>,
}

/// One part of a kind.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum KindPart {
    /// `callback name(params), name(params)`
    Callbacks(Vec<(Name, Params)>),
    /// `stage name, name`; an instance begins in the first one.
    Stages(Vec<Name>),
    /// `var field`, `atomic field`: shared memory of each instance
    Field(Storage, Field),
    /// `state field`: platform memory of each instance
    State(Field),
    /// `state kind.field`: platform memory of each instance of a kind that this one follows
    Kept { of: Name, field: Field },
    /// `single until stage`
    Single { at: At, until: Option<Name> },
    /// `events during stages`: the stages in which the events of a component can happen
    Events { stages: Vec<Name> },
    /// `follows kind: callback -> callback, before callback -> callback`
    Follows { host: Name, pairs: Vec<Following> },
    /// What the platform may do next.
    Row(Box<Row>),
    /// `verb name(params) makes { }`
    Verb { name: Name, params: Params, mode: VerbMode, body: Block },
    /// `task name(params): type { }`
    Task { name: Name, params: Params, result: Option<Type>, body: Block },
}

/// What happens with a callback of a kind that another one follows: `before pause -> pause`, `start -> level = 2`
#[derive(Clone, PartialEq, Debug)]
pub struct Following {
    /// Whether it happens before the callback. Otherwise it happens after it.
    pub before: bool,
    /// The callback.
    pub host: Name,
    /// The callback or task of the kind that follows, or the state that it keeps in the instance.
    pub own: Name,
    /// The value that the state is assigned.
    pub value: Option<Expr>,
}

/// What a verb acts on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerbMode {
    /// An instance; for a `single` kind also the component.
    One,
    /// `makes`: the verb makes an instance of the component, and gives it as its value.
    Makes,
    /// `all`: the verb acts on every instance of the component.
    All,
}

/// A row: `name(params): a | b -> c by request when cond at most n { }`
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The name of the row.
    pub name: Name,
    /// The parameters, which requests give values.
    pub params: Params,
    /// The stages in which the row is open.
    pub from: Vec<Name>,
    /// The stage that follows; `None` for a row `during` its stages.
    pub to: Option<Name>,
    /// The position of `by request`, if the row needs a request.
    pub by_request: Option<At>,
    /// The condition after `when`.
    pub when: Option<Expr>,
    /// The number after `at most`.
    pub at_most: Option<Expr>,
    /// What the message does.
    pub body: Block,
}

/// `kind name(params) of source in host on looper { parts }`
#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    /// The kind of the component.
    pub kind: Name,
    /// The name of the component, which is also the type of its instances.
    pub name: Name,
    /// The parameters of an instance, which are its immutable fields.
    pub params: Vec<Param>,
    /// The component with one instance whose callbacks this one follows.
    pub source: Option<Name>,
    /// The component that each instance is in, and whose callbacks it follows.
    pub host: Option<Name>,
    /// The looper of the callbacks.
    pub looper: Option<Name>,
    /// The parts of the component, in source order.
    pub parts: Vec<ComponentPart>,
}

/// A part of a component.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum ComponentPart {
    /// `var field`, `atomic field`
    Field(Storage, Field),
    /// `on name(params) as expr { }`
    On { name: Name, params: Vec<Param>, instance: Option<Expr>, body: Block },
    /// `event name at most n { }`
    Event { name: Name, at_most: Option<Expr>, body: Block },
    /// `task name(params): type { }`, also `async task` and `daemon async task`
    Task { mode: TaskMode, name: Name, params: Vec<Param>, result: Option<Type>, body: Block },
    /// `unit name: member, member`
    Unit { name: Name, members: Vec<Name> },
}

/// A component that is written out: the class of its instances, and the platform memory of each.
#[derive(Clone, PartialEq, Debug)]
pub struct Instances {
    /// The name of the component.
    pub name: Name,
    /// The name of its kind.
    pub kind: Name,
    /// The component that it is in.
    pub host: Option<Name>,
    /// The component with one instance that it is of.
    pub source: Option<Name>,
    /// The immutable fields. First come the host and the source, if it has them.
    pub params: Vec<Param>,
    /// The fields of the kind, then those of the component.
    pub fields: Vec<(Storage, Field)>,
    /// The platform memory of each instance.
    pub state: Vec<Field>,
    /// The stages; an instance begins in the first one.
    pub stages: Vec<Name>,
    /// Whether there is one instance at a time: until the stage, or forever.
    pub single: Option<Option<Name>>,
}

/// A task of a component that is written out. Its first parameter is `this`.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// The component.
    pub component: Name,
    /// The full name, such as `Player.create`; of a verb `start Player`.
    pub name: Name,
    /// What the task is.
    pub role: Role,
    /// Whether it is an async task.
    pub mode: TaskMode,
    /// The looper of the component.
    pub looper: Name,
    /// Whether the text is that of the kind, so that it may change platform memory and must not touch shared memory.
    pub of_kind: bool,
    /// Whether the last parameter is a `..` for a callback that the component lacks, so that further arguments have no
    /// effect.
    pub open: bool,
    /// The parameters without `this`.
    pub params: Vec<Param>,
    /// The type of the result.
    pub result: Option<Type>,
    /// The body, in which all names are full names.
    pub body: Block,
}

/// What a task of a component is.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
#[allow(clippy::large_enum_variant, reason = "a tree has few of them")]
pub enum Role {
    /// A callback of the component, or a task of the component or of its kind.
    Task,
    /// A verb of the kind.
    Verb(VerbMode),
    /// A row of the kind, or an event of the component.
    Row { from: Vec<Name>, to: Option<Name>, by_request: bool, when: Option<Expr>, at_most: Option<Expr> },
}
