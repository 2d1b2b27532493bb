//! Collects the errors of a check, without duplicates.

use crate::lang::Diagnostic;
use crate::lang::ast::Span;
use std::collections::BTreeSet;

/// Limit of the errors that are reported. More would not help.
const MAX_PROBLEMS: usize = 20;

/// The errors found so far.
#[derive(Default)]
pub(super) struct Problems {
    list: Vec<Diagnostic>,
    // The errors by span and message. A quantified property is lowered once for each value, so the same error can occur
    // several times.
    seen: BTreeSet<(u32, u32, String)>,
    // The start offsets of undeclared names.
    unknown: BTreeSet<u32>,
}

impl Problems {
    /// Adds an error, unless it was added before.
    pub(super) fn add(&mut self, problem: Diagnostic) {
        if self.seen.insert((problem.span.start, problem.span.end, problem.message.clone())) {
            self.list.push(problem);
        }
    }

    /// Adds an error about an undeclared name.
    pub(super) fn add_unknown(&mut self, problem: Diagnostic) {
        self.unknown.insert(problem.span.start);
        self.add(problem);
    }

    /// Returns the errors about undeclared names, in source order; at most twenty.
    pub(super) fn finish_unknown(mut self) -> Vec<Diagnostic> {
        let unknown = std::mem::take(&mut self.unknown);
        self.list.retain(|problem| unknown.contains(&problem.span.start));
        self.finish()
    }

    /// Adds a note to every error after the first `before` ones.
    pub(super) fn note_since(&mut self, before: usize, span: Span, text: &str) {
        for problem in self.list.iter_mut().skip(before) {
            problem.notes.push((span, text.to_owned()));
        }
    }

    /// Number of errors so far.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the errors in source order; at most twenty.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|p| (p.span.start, p.span.end));
        self.list.truncate(MAX_PROBLEMS);
        self.list
    }
}
