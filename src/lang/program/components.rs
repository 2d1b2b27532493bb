//! What a checked program says about components: their kinds, their rows, and the statements of kind text.
//!
//! A *component* is an object that the platform drives by callbacks. Its *instances* are objects of the component's
//! class. The text of its kind has been written out for it: its callbacks and tasks are bodies whose first parameter is
//! the instance (`this`), its verbs are bodies that are called, and its rows are events.
//!
//! **Platform memory** is the `state` of the app, and for each instance its stage, its `state` fields, the number of
//! firings of each row and the requests. It is no shared memory of the app: reading and writing it is no step and no
//! access, and nothing races on it. It changes as part of the step before, as all local work of a thread does.
//!
//! **Instances.** [`PlatformExpr::Make`] makes an instance: an object of the class with its first values, in the first
//! stage of the kind, with the values of the component's parameters. These values never change, so they are platform
//! memory too ([`PlatformExpr::Parameter`]).
//!
//! **Rows.** The event of a row has [`EventDef::row`](super::EventDef). Its body has the instance as its first
//! parameter and then the parameters of the row. A row of an instance is *open* if
//!
//! - the stage of the instance is one of `from`;
//! - `when` holds, with the instance as local 0;
//! - the row of this instance has been fired fewer than `at_most` times;
//! - no row of this instance that changes the stage is under way;
//! - a row that neither changes the stage nor is `by_request` is not under way itself for this instance;
//! - if the row is `by_request`, a request of it waits.
//!
//! The environment may fire an open row: it posts the body to `EventDef::looper` as a message. A row is *under way*
//! from then to the end of its message. A row with `to` changes the stage at the end of its message, to `to` or to the
//! last stage that was assigned to this instance since the firing ([`PlatformStmt::SetStage`]). In the meantime the
//! instance counts as in both stages. An assignment to the stage of an instance of which no row with `to` is under way
//! takes effect at once.
//!
//! **Requests.** [`PlatformExpr::Ask`] adds a request to a row of an instance. Requests of one row of one instance are
//! served in order. [`PlatformStmt::Withdraw`] removes one that waits; if it has been fired and its message has not
//! begun, the message does nothing when it begins; if the message has begun, nothing happens. A second withdrawal of
//! one request throws.
//!
//! **Verbs.** [`PlatformExpr::Verb`] evaluates its arguments, performs a step of its own and calls the body, so that
//! the changes of the body ride on a step of the verb. The compiler leaves that step out if the body begins with
//! another step ([`PlatformExpr::Verb`] says when). The body of a verb that `makes` begins with a
//! [`PlatformExpr::Make`], and that of a verb of a `single` component with a [`PlatformExpr::Single`]; the result of
//! both is that instance unless the kind says otherwise. A callback that the component lacks is no statement at all.

use super::{ClassId, ExceptionId, Expr, Init, LocalId, Stmt, Type};
use crate::base::IndexVec;
use crate::event::{BodyId, ComponentId, EventId, SiteId};

crate::define_id! {
    /// A kind of components.
    KindId,
    /// A `state` of the app.
    StateId,
}

/// A set of stages of one kind: bit i is the i-th stage.
pub type StageSet = u64;

/// Maximum number of stages of a kind.
pub const MOST_STAGES: usize = 64;

/// The kinds and components of a program. All are empty if the program declares no component.
#[derive(Clone, Debug, Default)]
pub struct Components {
    /// Kinds of the components.
    pub kinds: IndexVec<KindId, KindDef>,
    /// Components, in source order.
    pub all: IndexVec<ComponentId, ComponentDef>,
    /// Platform memory of the app itself.
    pub states: IndexVec<StateId, StateDef>,
    /// Settings of libraries that bound what the rows of this program may do (`rounds`), with their values. A complete
    /// search names them as its bounds.
    pub bounds: Vec<(String, i64)>,
}

impl Components {
    /// Returns whether the program has no component.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// A kind of components.
#[derive(Clone, Debug)]
pub struct KindDef {
    /// The name of the kind.
    pub name: String,
    /// The names of its stages, at least 1 and at most [`MOST_STAGES`]. A new instance is in the first one. The value
    /// of a stage is its index.
    pub stages: Vec<String>,
}

/// A component: a class of objects with a kind.
#[derive(Clone, Debug)]
pub struct ComponentDef {
    /// The name of the component.
    pub name: String,
    /// The kind of the component.
    pub kind: KindId,
    /// The class of its instances, with the `var` and `atomic` fields of the kind and of the component. It has no other
    /// component.
    pub class: ClassId,
    /// The parameters of the component. Their values are fixed when an instance is made.
    pub params: Vec<(String, Type)>,
    /// The `state` fields of the kind.
    pub fields: Vec<StateDef>,
    /// Whether there is one instance at a time.
    pub single: Option<Single>,
}

/// How long the single instance of a component is the one that verbs mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Single {
    /// The stages after which a verb makes another instance (`single until s`); 0 if there is one instance forever.
    pub until: StageSet,
}

/// A variable of platform memory.
#[derive(Clone, Debug)]
pub struct StateDef {
    /// The name of the variable.
    pub name: String,
    /// The type of its value, which is one word.
    pub ty: Type,
    /// The initial value. It is an [`Init::Word`].
    pub init: Init,
}

/// A row of a component: what the platform may do next with an instance.
#[derive(Clone, Debug)]
pub struct Row {
    /// The component whose instances have the row.
    pub component: ComponentId,
    /// The stages in which the row may be fired.
    pub from: StageSet,
    /// The stage at the end of the row (`a -> b`). `None` for a row that does not change the stage (`during a`).
    pub to: Option<u32>,
    /// Whether each firing needs a request.
    pub by_request: bool,
    /// The condition over platform memory, with the instance as local 0. It has no steps.
    pub when: Option<Expr>,
    /// Maximum number of firings of the row for one instance.
    pub at_most: Option<u32>,
}

/// An expression that only kind text and verbs have. None of them is a step, except [`PlatformExpr::Verb`].
///
/// An `instance` that is null throws NullPointer at `site`; for `this`, which is never null, `site` is
/// [`NO_SITE`](super::NO_SITE).
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum PlatformExpr {
    /// A `state` of the app.
    State(StateId),
    /// A `state` field of an instance, by its index in [`ComponentDef::fields`].
    Field { instance: Box<Expr>, field: u32, site: SiteId },
    /// The stage of an instance: the index of the stage in its kind.
    Stage { instance: Box<Expr>, site: SiteId },
    /// A parameter of the component of an instance, by its index in [`ComponentDef::params`].
    Parameter { instance: Box<Expr>, index: u32, site: SiteId },
    /// `some s`: whether another instance of this kind than `than` is in one of the stages, or on the way to one: Bool.
    Some { kind: KindId, stages: StageSet, than: Box<Expr> },
    /// `asked row`: whether a request of that row of the instance waits: Bool.
    Asked { instance: Box<Expr>, row: EventId, site: SiteId },
    /// `ask row(args)`: adds a request: Request. `args` are the arguments of the row without the instance.
    Ask { instance: Box<Expr>, row: EventId, args: Vec<Expr>, site: SiteId },
    /// Makes an instance of the component with these values of its parameters.
    Make { component: ComponentId, args: Vec<Expr> },
    /// `again(i)`: makes an instance of the same component with the same values of its parameters.
    Again { instance: Box<Expr>, site: SiteId },
    /// The instance of a `single` component that a verb means: the last one that was made, or a new one if there is
    /// none or the last one is in, or on the way to, a stage of [`Single::until`]. The component has no parameters.
    Single { component: ComponentId },
    /// A verb: evaluates the arguments, throws NullPointer at `site` if `receiver` and the first one is null, performs
    /// the step [`Op::Request`](crate::event::Op::Request) at `site`, calls the body. The site is that of the user's
    /// statement, of kind `request`. The step is left out if the body performs another step before it can touch
    /// platform memory.
    Verb { body: BodyId, args: Vec<Expr>, receiver: bool, site: SiteId },
}

/// A statement that only kind text has. None of them is a step.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant's line names its fields")]
pub enum PlatformStmt {
    /// `x = e` for a `state` of the app.
    SetState { state: StateId, value: Expr },
    /// `i.x = e` for a `state` field.
    SetField { instance: Expr, field: u32, value: Expr, site: SiteId },
    /// `i.stage = s`
    SetStage { instance: Expr, stage: u32, site: SiteId },
    /// `withdraw r`. Null throws NullPointer at the site, a request that has been withdrawn throws `exception`
    /// (`IllegalArgument`).
    Withdraw { request: Expr, exception: ExceptionId, site: SiteId },
    /// The body of a verb with `all`: runs `body` for each instance of the component that exists when the statement
    /// begins, in the order in which they were made.
    ForInstances { local: LocalId, component: ComponentId, body: Vec<Stmt> },
}
