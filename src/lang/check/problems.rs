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
    // The names that nothing declares, by where they begin.
    unknown: BTreeSet<u32>,
}

impl Problems {
    /// Adds one, unless it was said already.
    pub(super) fn add(&mut self, problem: Diagnostic) {
        if self.seen.insert((problem.span.start, problem.span.end, problem.message.clone())) {
            self.list.push(problem);
        }
    }

    /// Adds one that is a name which nothing declares.
    pub(super) fn add_unknown(&mut self, problem: Diagnostic) {
        self.unknown.insert(problem.span.start);
        self.add(problem);
    }

    /// Those that are names which nothing declares, in the order of the source.
    pub(super) fn finish_unknown(mut self) -> Vec<Diagnostic> {
        let unknown = std::mem::take(&mut self.unknown);
        self.list.retain(|problem| unknown.contains(&problem.span.start));
        self.finish()
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
