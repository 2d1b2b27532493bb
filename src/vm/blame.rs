//! Finds the expression that a failure is about: the one that is null, zero or not a valid index, in the words of the
//! model.
//!
//! Only the compiler knows it: a statement may dereference several expressions at one site, and an operation does not
//! know its expressions. So the compiler records, for each instruction that can throw, the expressions that it may
//! throw for. The digest of the program does not include them: they only describe an end of a run.

use super::instr::Instr;
use crate::event::Operand;
use crate::lang::ast::Span;
use crate::world::ThrownException;
use indexmap::IndexSet;
use std::sync::Arc;

/// The expressions that an instruction may throw for. A span is empty if the instruction has no such expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Blame {
    /// The expression that is dereferenced, held, divided by, or needs a queue.
    pub(super) value: Span,
    /// The expression of an index.
    pub(super) index: Span,
    /// The array or list that is indexed.
    pub(super) of: Span,
    /// What an IllegalState says about `value`.
    pub(super) illegal: IllegalValue,
}

/// The reason why an operand throws IllegalState.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) enum IllegalValue {
    /// The operand is a thread without a queue.
    #[default]
    HasNoQueue,
    /// The operand is the token of a fence that is in no queue.
    InNoQueue,
    /// The operand is not the running looper, which alone can post a microtask to itself.
    IsNotTheRunningLooper,
}

/// The number of a [`Blame`], which an exception in flight stores.
pub(super) type BlameId = u32;

/// The blames of a sequence of instructions: pairs of an instruction's index and a blame, by ascending index.
pub(super) type BlameList = Vec<(u32, BlameId)>;

/// All blames of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Blames {
    source: Arc<str>,
    /// The offset at which each line of the source begins.
    lines: Vec<u32>,
    known: IndexSet<Blame>,
}

// Maximum length of an expression in a message, in characters. Longer ones are cut.
const LONGEST: usize = 60;

impl Blame {
    /// Creates a blame with only `value`.
    pub(super) fn of(value: Span) -> Self {
        Self { value, ..Self::default() }
    }
}

impl Blames {
    pub(super) fn new(source: &Arc<str>) -> Self {
        let after = source.match_indices('\n').map(|(i, _)| i as u32 + 1);
        Self { source: source.clone(), lines: std::iter::once(0).chain(after).collect(), known: IndexSet::new() }
    }

    pub(super) fn add(&mut self, blame: Blame) -> BlameId {
        self.known.insert_full(blame).0 as BlameId
    }

    /// Returns the expression that an exception is about, or `None` if there is none.
    pub(super) fn operand(&self, exception: &str, id: BlameId) -> Option<Operand> {
        let blame = self.known.get_index(id as usize)?;
        let (value, index, of) = (self.text(blame.value), self.text(blame.index), self.text(blame.of));
        let is = |name: ThrownException| exception == name.name();
        let (about, text) = if is(ThrownException::NullPointer) {
            (blame.value, format!("{value} is null"))
        } else if is(ThrownException::UseAfterFree) || is(ThrownException::DoubleFree) {
            (blame.value, format!("{value} is deleted"))
        } else if is(ThrownException::Arithmetic) {
            (blame.value, format!("{value} is 0"))
        } else if is(ThrownException::IllegalMonitorState) {
            (blame.value, format!("{value} is not held"))
        } else if is(ThrownException::IllegalState) {
            let reason = match blame.illegal {
                IllegalValue::HasNoQueue => "has no queue",
                IllegalValue::InNoQueue => "is in no queue",
                IllegalValue::IsNotTheRunningLooper => "is not the running looper",
            };
            (blame.value, format!("{value} {reason}"))
        } else if is(ThrownException::ConcurrentModification) {
            (blame.of, format!("{of} was changed"))
        } else if is(ThrownException::IndexOutOfBounds) && blame.index == Span::default() {
            (blame.of, format!("{of} is empty"))
        } else if is(ThrownException::IndexOutOfBounds) {
            (blame.index, format!("{index} is no index of {of}"))
        } else {
            return None;
        };
        (about != Span::default()).then(|| self.at(text, about))
    }

    /// Returns the condition of a failed `assert`. `line` and `column` are those of its statement.
    pub(super) fn condition(&self, id: BlameId, (line, column): (u32, u32)) -> Option<Operand> {
        let blame = self.known.get_index(id as usize)?;
        Some(Operand { text: format!("{} is false", self.text(blame.value)), line, column })
    }

    // The position of an expression. For a path it is that of the last part, which evaluated to null or 0: for `o.next`
    // the name `next`.
    fn at(&self, text: String, about: Span) -> Operand {
        let written = self.written(about);
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let last = written.rfind('.').map(|dot| dot + 1).filter(|&from| is_name(&written[from..])).unwrap_or(0);
        let offset = about.start + last as u32;
        let line = self.lines.partition_point(|&start| start <= offset).max(1);
        let before = self.source.get(self.lines[line - 1] as usize..offset as usize).unwrap_or_default();
        Operand { text, line: line as u32, column: before.chars().count() as u32 + 1 }
    }

    fn written(&self, span: Span) -> &str {
        self.source.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    // The text of an expression on one line, cut to the maximum length.
    fn text(&self, span: Span) -> String {
        let text = self.written(span).split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(LONGEST) {
            Some((cut, _)) => format!("{} ...", &text[..cut]),
            None => text,
        }
    }
}

/// Returns the blame of the instruction at this index, if it has one.
pub(super) fn blamed(all: &[(u32, BlameId)], at: u32) -> Option<BlameId> {
    all.binary_search_by_key(&at, |(place, _)| *place).ok().map(|found| all[found].1)
}

/// Returns the blames with their indices moved by `entry`, for instructions that are appended to others.
pub(super) fn moved(all: BlameList, entry: u32) -> impl Iterator<Item = (u32, BlameId)> {
    all.into_iter().map(move |(place, id)| (place + entry, id))
}

impl Instr {
    /// Returns whether the instruction can throw, itself or because of an operand.
    pub(super) fn may_throw(&self) -> bool {
        matches!(
            self,
            Instr::Binary { .. }
                | Instr::Bound { .. }
                | Instr::Field { .. }
                | Instr::IsLooper { .. }
                | Instr::Visible { .. }
                | Instr::Peek { .. }
                | Instr::PeekList { .. }
                | Instr::Fail { .. }
        )
    }
}
