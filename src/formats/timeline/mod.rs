//! The timeline of a run: a column for each thread and looper, a row for each step, arrows for what one column does to another.
//!
//! This is the model, made from the events of a run by [`Recorder`]; what draws it are [`text`], [`mermaid`] and [`perfetto`].
//! Lincheck, Fray and Coyote print one table cell for each step; here the columns are narrow lanes that also say what each thread
//! is doing (runs a task, waits, is idle), and the words stand beside them, so that ten threads fit into 80 columns.

mod arrows;
pub mod ascii;
mod ending;
mod facts;
mod fold;
mod lanes;
mod layout;
pub mod mermaid;
mod names;
pub mod perfetto;
mod record;
mod source;
mod states;
pub mod text;
mod window;
mod words;

pub use record::Recorder;
pub use window::Window;

use crate::base::IndexVec;
use crate::event::{ContextId, SiteId, ThreadId};
use std::collections::BTreeSet;

crate::define_id! {
    /// A column: the environment, then each thread in order of creation.
    ColumnId
}

/// The column of the environment, which fires events. It is shown if something happens in it.
pub const ENVIRONMENT: ColumnId = ColumnId(0);

/// The column of a thread.
#[must_use]
pub fn column_of(thread: ThreadId) -> ColumnId {
    ColumnId(thread.0 + 1)
}

/// A run, told in rows.
#[derive(Clone, Default, Debug)]
pub struct Timeline {
    /// Who takes part.
    pub columns: IndexVec<ColumnId, Column>,
    /// What happened, in order.
    pub items: Vec<Item>,
    /// How it ended: the failure, where blocked threads stand, what is known of the values in it.
    pub ending: Vec<Row>,
    /// Statements, for the sites of rows.
    pub statements: IndexVec<SiteId, Statement>,
    /// Steps of the whole run.
    pub steps: u64,
    /// The clock at its end.
    pub now: u64,
    /// Whether the run came to an end of its own.
    pub ended: bool,
}

/// A thread, a looper or the environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its pedigree.
    pub name: String,
    /// Whether it has a queue.
    pub looper: bool,
}

/// A row, or something in place of rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A row.
    Row(Row),
    /// Rows that are not told.
    Gap(Gap),
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The step it belongs to, from 1; 0 before the first.
    pub step: u64,
    /// Whether it is the step itself, not one of its consequences.
    pub counts: bool,
    /// The clock after it.
    pub now: u64,
    /// Who acts; `None` for the clock, and for what is said of all.
    pub column: Option<ColumnId>,
    /// The task that it happens in, if in one.
    pub task: Option<ContextId>,
    /// What it is.
    pub kind: Kind,
    /// In words.
    pub what: String,
    /// Where it stands in the model.
    pub site: Option<SiteId>,
    /// Whom it concerns.
    pub arrow: Option<Arrow>,
    /// What it makes (post, fork, fire) or begins (begin).
    pub made: Option<ContextId>,
    /// Whether the task, or the thread, ends with it.
    pub ends: bool,
    /// Whether it is what the reader looks for.
    pub mark: Option<Mark>,
    /// The columns that are in another state from here on.
    pub states: Vec<(ColumnId, State)>,
}

/// The kinds of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An operation.
    Step,
    /// An operation that makes a task: a post.
    Post,
    /// An operation that makes a thread or looper.
    Fork,
    /// A looper begins a task.
    Begin,
    /// A task or thread ends, or throws, without an operation of its own.
    Aside,
    /// The environment fires an event.
    Fire,
    /// The clock moves.
    Clock,
    /// A thread comes to something that it has to wait for.
    Waits,
    /// The failure.
    Fails,
    /// Where a blocked thread stands at the end.
    Stands,
    /// What is known of a value at the end.
    Fact,
}

/// From the column that acts to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// The other column.
    pub to: ColumnId,
    /// How it is drawn.
    pub kind: ArrowKind,
}

/// The kinds of arrows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrowKind {
    /// To the other column.
    Plain,
    /// A message that is due later.
    Delayed,
    /// A message that goes to the front of its queue.
    Front,
    /// A message that was refused.
    Refused,
    /// From the other column: a join.
    Back,
}

/// What a reader looks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// A statement of the pair that races.
    Racing,
    /// The statement that fails.
    Failing,
}

/// What to mark, besides the failure.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Marks {
    /// Statements.
    pub sites: BTreeSet<SiteId>,
    /// Steps, from 1.
    pub steps: BTreeSet<u64>,
}

/// What a column is doing between two rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum State {
    /// It does not run yet, or no more.
    #[default]
    Absent,
    /// It can go on.
    Ready,
    /// A looper without a task that is due.
    Idle,
    /// It cannot go on now.
    Blocked,
    /// It runs a task.
    Task,
    /// It runs a task that cannot go on now.
    TaskBlocked,
}

/// Rows that are not told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Why.
    pub why: Why,
    /// How many steps they have.
    pub steps: u64,
    /// The columns that are in another state after them.
    pub states: Vec<(ColumnId, State)>,
}

/// Why rows are not told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The run is long.
    Long,
    /// They lie before or after the steps that were asked for.
    Outside,
    /// They are of columns that were not asked for.
    Others,
    /// They are what the steps before them did, so many steps at a time, once more or several times.
    Again(u64),
}

/// A statement of the model.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Statement {
    /// Its line.
    pub line: u32,
    /// Its text, without what stands around it, and with its label.
    pub text: String,
    /// Its label, with `@`; or nothing.
    pub label: String,
    /// Whether an operation in words says all of it: a post does, an access does not say what it is for.
    pub said: bool,
}

impl Timeline {
    /// All rows that are told, those of the end as well.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        let told = self.items.iter().filter_map(|i| match i {
            Item::Row(row) => Some(row),
            Item::Gap(_) => None,
        });
        told.chain(&self.ending)
    }

    /// The columns that something happens in.
    #[must_use]
    pub fn active(&self) -> BTreeSet<ColumnId> {
        self.rows().flat_map(|r| r.column.into_iter().chain(r.arrow.map(|a| a.to))).collect()
    }

    /// The column of that name: a pedigree, or its end after a `/`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<ColumnId> {
        let exact = self.columns.enumerate().find(|(_, c)| c.name == name);
        let end =
            |c: &Column| c.name.rsplit('/').next().is_some_and(|n| n == name || n.split('#').next() == Some(name));
        exact.or_else(|| self.columns.enumerate().find(|(_, c)| end(c))).map(|(id, _)| id)
    }
}
