//! The errors found so far: each once, the first ones only.

use crate::lang::Diagnostic;
use std::collections::BTreeSet;

/// More errors than these help nobody.
const MAX_PROBLEMS: usize = 20;

/// Errors in the order in which they stand in the source.
#[derive(Default)]
pub(super) struct Problems {
    list: Vec<Diagnostic>,
    // A quantified property is lowered once for each of its values: the same error again is no news.
    seen: BTreeSet<(u32, u32, String)>,
}

impl Problems {
    /// Adds one, unless it was said already.
    pub(super) fn add(&mut self, problem: Diagnostic) {
        if self.seen.insert((problem.span.start, problem.span.end, problem.message.clone())) {
            self.list.push(problem);
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// The first ones, sorted by place.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|p| (p.span.start, p.span.end));
        self.list.truncate(MAX_PROBLEMS);
        self.list
    }
}
