//! Represents a run as a timeline: a column for each thread and looper, a row for each step, and arrows for the effect
//! of one column on another.
//!
//! The types of this module are the model of a timeline. [`TimelineRecorder`] builds it from the events of a run;
//! [`text`], [`mermaid`], [`svg`] and [`perfetto`] render it.
//!
//! Lincheck, Fray and Coyote print one table cell for each step. Here the columns are narrow lanes that also show the
//! state of each thread (it runs a task, waits, is idle), and the words are beside the lanes. So ten threads fit into
//! 80 columns.

mod arrows;
pub mod ascii;
mod beside;
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
pub mod svg;
pub mod text;
mod transaction;
mod window;
mod words;

pub use record::TimelineRecorder;
pub use transaction::TransactionMarks;
pub use window::Window;

use crate::base::{IndexVec, counted};
use crate::event::{ContextId, SiteId, ThreadId};
use std::collections::BTreeSet;

crate::define_id! {
    /// A column: the environment, then each thread in order of creation.
    ColumnId
}

/// The column of the environment, which fires events. It is shown only if a row refers to it.
pub const ENVIRONMENT: ColumnId = ColumnId(0);

/// Returns the column of a thread.
#[must_use]
pub fn column_of(thread: ThreadId) -> ColumnId {
    ColumnId(thread.0 + 1)
}

/// A run as a sequence of rows.
#[derive(Clone, Default, Debug)]
pub struct Timeline {
    /// The environment and all threads.
    pub columns: IndexVec<ColumnId, Column>,
    /// The rows and gaps, in order.
    pub items: Vec<Item>,
    /// Rows about the end: the failure, the places of blocked threads, and facts about the values involved.
    pub ending: Vec<TimelineRow>,
    /// The statements of the model, for the sites of rows.
    pub statements: IndexVec<SiteId, Statement>,
    /// The statements that were to be marked, also those that the run did not reach.
    pub marked: BTreeSet<SiteId>,
    /// The violated transaction that is shown.
    pub transaction: Option<TransactionMarks>,
    /// Number of steps of the whole run.
    pub steps: u64,
    /// The virtual clock at the end, in milliseconds.
    pub now: u64,
    /// Whether the run has an outcome. False for an interrupted or diverged run.
    pub ended: bool,
}

/// A thread, a looper, or the environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The name of the column: the pedigree of the thread.
    pub name: String,
    /// Whether the thread has a queue.
    pub looper: bool,
}

/// A row, or a gap in place of rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A row.
    Row(TimelineRow),
    /// A gap in place of rows that are left out.
    Gap(Gap),
}

/// An event of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimelineRow {
    /// The step that the event belongs to, from 1; 0 before the first one.
    pub step: u64,
    /// Whether the event is the step itself, not one of its consequences.
    pub counts: bool,
    /// The virtual clock after the event, in milliseconds.
    pub now: u64,
    /// The column that acts; `None` for the clock, and for a row about all columns.
    pub column: Option<ColumnId>,
    /// The task that the event happens in, if it happens in one.
    pub task: Option<ContextId>,
    /// The kind of the event.
    pub kind: RowKind,
    /// The event in words.
    pub what: String,
    /// The statement of the event.
    pub site: Option<SiteId>,
    /// An arrow to another column that the event affects.
    pub arrow: Option<Arrow>,
    /// The task or thread that the event creates (post, fork, fire) or begins (begin).
    pub made: Option<ContextId>,
    /// Whether the task, or the thread, ends with this event.
    pub ends: bool,
    /// The mark of the row, if it is marked.
    pub mark: Option<Mark>,
    /// Whether the step is one of the pair that races. It may fail as well, which is its mark then.
    pub races: bool,
    /// The columns whose state changes with this row, and their new states.
    pub states: Vec<(ColumnId, ColumnState)>,
}

/// The kinds of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKind {
    /// An operation that does not create or begin anything.
    Step,
    /// An operation that creates a task: a post.
    Post,
    /// An operation that creates a thread or looper.
    Fork,
    /// The start of a task by its looper.
    Begin,
    /// The end of a task or thread, or an exception, that is not an operation of its own.
    Aside,
    /// The firing of an event by the environment.
    Fire,
    /// An advance of the clock.
    Clock,
    /// A thread becomes pending at an operation that it has to wait for.
    Waits,
    /// The failure of the run.
    Fails,
    /// The place at which a thread is blocked at the end.
    Stands,
    /// A fact about a value or a queue at the end.
    Fact,
}

/// An arrow from the column that acts to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// The other column.
    pub to: ColumnId,
    /// The style of the arrow.
    pub kind: ArrowKind,
}

/// The kinds of arrows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrowKind {
    /// An effect on the other column.
    Plain,
    /// A message that is due later.
    Delayed,
    /// A message at the front of its queue.
    Front,
    /// A message that was refused.
    Refused,
    /// An arrow that points back to the column that acts: a join.
    Back,
}

/// The reason to mark a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// A statement of the pair that races.
    Racing,
    /// An operation of a violated transaction, on the cycle that shows the violation.
    Own,
    /// An operation that comes between those of a violated transaction, on the cycle that shows the violation.
    Between,
    /// The statement that fails.
    Failing,
}

/// The statements and steps to mark, besides the failure.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Marks {
    /// The statements to mark.
    pub sites: BTreeSet<SiteId>,
    /// The steps to mark, from 1.
    pub steps: BTreeSet<u64>,
    /// The violated transaction to show.
    pub transaction: Option<TransactionMarks>,
}

/// The state of a column between two rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ColumnState {
    /// The thread has not started, or has ended.
    #[default]
    Absent,
    /// The thread is enabled.
    Ready,
    /// The looper has no task that is due.
    Idle,
    /// The thread is blocked.
    Blocked,
    /// The thread runs a task and is enabled.
    Task,
    /// The thread runs a task and is blocked.
    TaskBlocked,
}

/// A gap in place of rows that are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The reason for the gap.
    pub why: GapReason,
    /// Number of steps in the gap.
    pub steps: u64,
    /// The columns whose states change in the gap, and their states after it.
    pub states: Vec<(ColumnId, ColumnState)>,
}

/// The reason why rows are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GapReason {
    /// The run is too long.
    Long,
    /// The rows are before or after the requested steps.
    Outside,
    /// The rows belong to columns that were not requested.
    Others,
    /// The rows repeat the steps before them, in groups of so many steps.
    Again(u64),
}

/// A statement of the model.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Statement {
    /// Line in the model, from 1.
    pub line: u32,
    /// The text of the statement, without its surroundings, and with its label.
    pub text: String,
    /// The label with its `@`; empty if there is none.
    pub label: String,
    /// Whether the words of the operation say everything that the text says. A post does; an access does not say what
    /// the value is used for.
    pub said: bool,
}

impl Gap {
    /// Describes the gap; `None` if nothing is left out that counts.
    pub(super) fn words(&self) -> Option<String> {
        Some(match self.why {
            GapReason::Long => {
                format!("{} more here: --all prints them, --around STEP some", counted(self.steps, "step"))
            }
            GapReason::Outside => format!("{} not shown", counted(self.steps, "step")),
            GapReason::Others if self.steps == 0 => return None,
            GapReason::Others => format!("{} of other columns", counted(self.steps, "step")),
            GapReason::Again(each) => {
                let times = self.steps / each.max(1);
                let times = if times == 1 { "once more".to_owned() } else { format!("{times} times more") };
                format!("the last {} {times}", if each == 1 { "step".to_owned() } else { counted(each, "step") })
            }
        })
    }
}

impl Timeline {
    /// Returns the place of a row in the model: the line, and the statement where it adds information.
    pub(super) fn place(&self, row: &TimelineRow) -> String {
        row.site.map_or(String::new(), |site| {
            let statement = &self.statements[site];
            let text = if statement.said { &statement.label } else { &statement.text };
            format!(":{} {text}", statement.line).trim_end().to_owned()
        })
    }

    /// Returns all rows, including those about the end.
    pub fn rows(&self) -> impl Iterator<Item = &TimelineRow> {
        let shown_rows = self.items.iter().filter_map(|i| match i {
            Item::Row(row) => Some(row),
            Item::Gap(_) => None,
        });
        shown_rows.chain(&self.ending)
    }

    /// Returns the columns of the violated transaction that is shown, without that of the environment.
    pub(super) fn columns_of_transaction(&self) -> BTreeSet<ColumnId> {
        let Some(of) = &self.transaction else { return BTreeSet::new() };
        let own = self.rows().filter(|row| row.counts && of.own.contains(&row.step));
        own.filter_map(|row| row.column).filter(|column| *column != ENVIRONMENT).collect()
    }

    /// Returns the columns that some row refers to.
    #[must_use]
    pub fn active(&self) -> BTreeSet<ColumnId> {
        self.rows().flat_map(|r| r.column.into_iter().chain(r.arrow.map(|a| a.to))).collect()
    }

    /// Returns the column of this name: a pedigree, or the last part of one, with or without its number.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<ColumnId> {
        let exact = self.columns.enumerate().find(|(_, c)| c.name == name);
        let end =
            |c: &Column| c.name.rsplit('/').next().is_some_and(|n| n == name || n.split('#').next() == Some(name));
        exact.or_else(|| self.columns.enumerate().find(|(_, c)| end(c))).map(|(id, _)| id)
    }
}
