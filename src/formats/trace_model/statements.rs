//! The statements of a model.

use super::names::LOCAL;
use crate::trace::{Action, LocationNo, Mark, OpNo, Operation, Trace};
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

/// What marks say about a trace.
pub(super) struct References {
    guards: BTreeSet<OpNo>,
}

impl References {
    pub(super) fn new(trace: &Trace) -> Self {
        Self { guards: trace.marks.iter().filter_map(|(_, mark)| mark.guard).collect() }
    }

    /// Returns the statement of an access. `is_reference` says whether its location holds references.
    pub(super) fn access(&self, trace: &Trace, op: OpNo, place: String, is_reference: bool) -> Statement {
        let Operation { action, .. } = trace.ops[op];
        let (line, mark) = (trace.lines[op.0 as usize], trace.marks.of(op));
        let writes = matches!(action, Action::Write(_));
        Statement::Access(Access { op, line, place, writes, is_reference, mark, guards: self.guards.contains(&op) })
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
