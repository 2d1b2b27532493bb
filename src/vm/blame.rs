//! What a failure is about: the expression that was null, zero or no index, by the text of the model.
//!
//! Only its own code knows: a statement may dereference several things at one site, and an operation is told of none of them. So the compiler notes for each instruction
//! that can throw which expressions it may throw for. Nothing of this reaches a digest of the program: it is words about an end, not part of it.

use super::instr::Instr;
use crate::event::Operand;
use crate::lang::ast::Span;
use crate::world::Thrown;
use indexmap::IndexSet;
use std::sync::Arc;

/// The expressions that an instruction may throw for; empty where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Blame {
    /// What is dereferenced, held, divided by, or is to have a queue.
    pub(super) value: Span,
    /// An index,
    pub(super) index: Span,
    /// and the array or list that it is one of.
    pub(super) of: Span,
    /// Whether the value is the token of a fence.
    pub(super) fence: bool,
}

/// A number of a [`Blame`], which an exception in flight keeps.
pub(super) type BlameId = u32;

/// Those of a list of instructions, by their place in it; in order.
pub(super) type Blamed = Vec<(u32, BlameId)>;

/// All of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Blames {
    source: Arc<str>,
    /// Where its lines begin.
    lines: Vec<u32>,
    known: IndexSet<Blame>,
}

// Longer expressions are cut.
const LONGEST: usize = 60;

impl Blame {
    /// One that is about a value.
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

    /// What an exception is about, if that is an expression.
    pub(super) fn operand(&self, exception: &str, id: BlameId) -> Option<Operand> {
        let blame = self.known.get_index(id as usize)?;
        let (value, index, of) = (self.text(blame.value), self.text(blame.index), self.text(blame.of));
        let is = |name: Thrown| exception == name.name();
        let (about, text) = if is(Thrown::NullPointer) {
            (blame.value, format!("{value} is null"))
        } else if is(Thrown::UseAfterFree) || is(Thrown::DoubleFree) {
            (blame.value, format!("{value} is deleted"))
        } else if is(Thrown::Arithmetic) {
            (blame.value, format!("{value} is 0"))
        } else if is(Thrown::IllegalMonitorState) {
            (blame.value, format!("{value} is not held"))
        } else if is(Thrown::IllegalState) && blame.fence {
            (blame.value, format!("{value} is in no queue"))
        } else if is(Thrown::IllegalState) {
            (blame.value, format!("{value} has no queue"))
        } else if is(Thrown::ConcurrentModification) {
            (blame.of, format!("{of} was changed"))
        } else if is(Thrown::IndexOutOfBounds) && blame.index == Span::default() {
            (blame.of, format!("{of} is empty"))
        } else if is(Thrown::IndexOutOfBounds) {
            (blame.index, format!("{index} is no index of {of}"))
        } else {
            return None;
        };
        (about != Span::default()).then(|| self.at(text, about))
    }

    /// A condition that does not hold; its statement stands at this line and column.
    pub(super) fn condition(&self, id: BlameId, (line, column): (u32, u32)) -> Option<Operand> {
        let blame = self.known.get_index(id as usize)?;
        Some(Operand { text: format!("{} is false", self.text(blame.value)), line, column })
    }

    // The last part of a path is what came to nothing: of `o.next` the name `next`.
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

    // An expression on one line, and not too long.
    fn text(&self, span: Span) -> String {
        let text = self.written(span).split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(LONGEST) {
            Some((cut, _)) => format!("{} ...", &text[..cut]),
            None => text,
        }
    }
}

/// What the instruction at this place may throw for.
pub(super) fn blamed(all: &[(u32, BlameId)], at: u32) -> Option<BlameId> {
    all.binary_search_by_key(&at, |(place, _)| *place).ok().map(|found| all[found].1)
}

/// Moves them behind the instructions that are there already.
pub(super) fn moved(all: Blamed, entry: u32) -> impl Iterator<Item = (u32, BlameId)> {
    all.into_iter().map(move |(place, id)| (place + entry, id))
}

impl Instr {
    /// Whether it can throw by itself, or for one of its operands.
    pub(super) fn may_throw(&self) -> bool {
        matches!(
            self,
            Instr::Binary { .. }
                | Instr::Bound { .. }
                | Instr::Field { .. }
                | Instr::Visible { .. }
                | Instr::Peek { .. }
                | Instr::PeekList { .. }
                | Instr::Fail { .. }
        )
    }
}
