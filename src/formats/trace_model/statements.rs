//! The statements of a model.

use super::keep::Kept;
use super::names::LOCAL;
use crate::base::Id;
use crate::trace::{LocationNo, Mark, OpNo, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// An object that is never freed: what an allocation writes.
pub(super) const OBJECT: &str = "some_object";

/// A statement.
pub(super) enum Statement {
    /// An operation of the trace without a label.
    Plain(String),
    /// An access, with its label.
    Access(Access),
}

/// An access of a location.
pub(super) struct Access {
    op: OpNo,
    line: u32,
    place: String,
    writes: bool,
    // Whether the location holds references.
    is_reference: bool,
    mark: Mark,
    // Whether a later use in its context is guarded by this read.
    guards: bool,
}

/// The guards of a model: reads whose test keeps null from a use in their context.
pub(super) struct Guards {
    // By the use.
    of: BTreeMap<OpNo, OpNo>,
    all: BTreeSet<OpNo>,
}

impl Guards {
    pub(super) fn new(kept: &Kept<'_>) -> Self {
        let trace = kept.trace;
        let location = |op: OpNo| trace.ops.get(op.index()).and_then(|operation| operation.action.access());
        // A file can name any operation as a guard.
        let is_guard = |guard: OpNo, used: OpNo| {
            let same = location(guard).zip(location(used)).is_some_and(|(a, b)| a == b && !a.1);
            same && guard < used && kept.alive[guard] && kept.contexts.of[guard] == kept.contexts.of[used]
        };
        let marks = trace.marks.iter().filter_map(|(op, mark)| Some((op, mark.guard?)));
        let of: BTreeMap<OpNo, OpNo> = marks.filter(|(used, guard)| is_guard(*guard, *used)).collect();
        Self { all: of.values().copied().collect(), of }
    }

    /// Returns the statement of an access of a place.
    pub(super) fn access(&self, kept: &Kept<'_>, op: OpNo, place: String) -> Statement {
        let trace = kept.trace;
        let (line, mark) = (trace.lines[op.index()], trace.marks.of(op));
        let access = trace.ops[op].action.access();
        Statement::Access(Access {
            op,
            line,
            place,
            writes: access.is_some_and(|(_, writes)| writes),
            is_reference: access.is_some_and(|(at, _)| kept.references.contains_key(&at)),
            mark: Mark { guard: self.of.get(&op).copied(), ..mark },
            guards: self.all.contains(&op),
        })
    }
}

impl Statement {
    /// Whether the statement needs the local variable of its body.
    pub(super) fn needs_local(&self) -> bool {
        matches!(self, Self::Access(access) if !access.writes && !access.is_reference)
    }

    /// Returns the local variable of the statement's own, which keeps a reference: that of a read without a use, and so
    /// also of a guard.
    pub(super) fn own_local(&self) -> Option<String> {
        match self {
            Self::Access(access) if access.is_reference && !access.writes => access.local(),
            _ => None,
        }
    }

    /// Appends the statement to the text of a body.
    pub(super) fn push(&self, to: &mut String) {
        // Writing to a text cannot fail.
        let _ = match self {
            Self::Plain(text) => writeln!(to, "    {text}"),
            Self::Access(access) => writeln!(to, "    {}", access.text()),
        };
    }
}

impl Access {
    fn local(&self) -> Option<String> {
        (self.guards || !self.mark.uses).then(|| kept(self.op))
    }

    // Use, free and guard as the language writes them. A guarded use is performed only if the guard has come out as
    // not null, as in the app.
    fn text(&self) -> String {
        let Self { op, line, place, mark, .. } = self;
        let from = if *line > 0 { format!(" from \"trace:{line}\"") } else { String::new() };
        let label = format!("@a{}{from}:", op.0);
        if !self.is_reference {
            return if self.writes { format!("{label} {place} = 0") } else { format!("{label} {LOCAL} = {place}") };
        }
        let text = match (self.writes, self.local()) {
            (true, _) if mark.frees => format!("{label} {place} = null"),
            (true, _) => format!("{label} {place} = {OBJECT}"),
            (false, Some(local)) if mark.uses => format!("{label} {local} = {place}\n    use {local}"),
            (false, Some(local)) => format!("{label} {local} = {place}"),
            (false, None) => format!("{label} use {place}"),
        };
        match mark.guard {
            Some(guard) => format!("if {} != null {{\n    {text}\n    }}", kept(guard)),
            None => text,
        }
    }
}

// The local variable of a read that keeps its value.
fn kept(op: OpNo) -> String {
    format!("r{}", op.0)
}

/// The value that a location of references has at the start of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InitialReference {
    /// The trace writes an object to it before anything else.
    Null,
    /// It may have had an object before the trace.
    Object,
}

/// Returns the locations that hold references: the trace marks an access of them.
pub(super) fn references(trace: &Trace) -> BTreeMap<LocationNo, InitialReference> {
    let location = |op: OpNo| trace.ops[op].action.access().map(|(at, _)| at);
    let marked: BTreeSet<LocationNo> = trace.marks.iter().filter_map(|(op, _)| location(op)).collect();
    let mut found = BTreeMap::new();
    for (op, operation) in trace.ops.enumerate() {
        if let Some((at, writes)) = operation.action.access()
            && marked.contains(&at)
        {
            let allocates = writes && !trace.marks.of(op).frees;
            found.entry(at).or_insert(if allocates { InitialReference::Null } else { InitialReference::Object });
        }
    }
    found
}
