//! Adds the implied `expect` lines of a model that has none: no run fails, deadlocks or is stuck.

use crate::lang::ast::{File, ItemKind};
use crate::lang::program::{Expectation, ExpectationKind};
use crate::vm::Model;

/// Returns the model with its implied lines. `None` if it has `expect` lines, even if they are for other constants than
/// the given ones.
pub(super) fn expecting_no_failure(model: &Model) -> Option<Model> {
    if !model.program.expectations.is_empty() || says_something(model) {
        return None;
    }
    let lines = [
        ("no failure", ExpectationKind::Failure { no: true, what: None, site: None }),
        ("no deadlock", ExpectationKind::Deadlock { no: true }),
        ("no stuck", ExpectationKind::Stuck { no: true }),
    ];
    let mut model = model.clone();
    // Line 0 marks a line that is not in the model.
    let implied = lines.map(|(text, kind)| Expectation { line: 0, text: text.to_owned(), kind });
    model.program.expectations.extend(implied);
    Some(model)
}

fn says_something(model: &Model) -> bool {
    let file: Option<File> = crate::lang::parse(&model.source).ok();
    file.is_some_and(|file| file.items.iter().any(|item| matches!(item.kind, ItemKind::Expect { .. })))
}
