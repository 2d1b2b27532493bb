//! Enumerates the classes: each way to order the open conflicts that the rules allow, once.

use super::rows::Rows;
use super::rules::Rules;

/// What the search has found.
#[derive(Default, Debug)]
pub(super) struct Found {
    /// For each class and each conflict whether the second node comes first.
    pub(super) classes: Vec<Vec<bool>>,
    /// Whether these are all classes.
    pub(super) complete: bool,
}

// An order that the search has chosen.
struct Choice {
    // The number of the conflict; `None` if two tasks or posts are to be put in a row.
    conflict: Option<usize>,
    other: Option<(usize, usize)>,
    // State of the relation before the choice.
    mark: usize,
}

/// Enumerates the classes of a relation that is closed under the rules. Each conflict is two nodes, in the order of
/// the trace. The search ends when it has found more than `most` classes, or when `stop` says so.
pub(super) fn classes(
    rows: &mut Rows,
    rules: &Rules,
    conflicts: &[(usize, usize)],
    most: usize,
    mut stop: impl FnMut() -> bool,
) -> Found {
    let mut found = Found::default();
    let mut choices: Vec<Choice> = Vec::new();
    loop {
        if stop() {
            return found;
        }
        let from = choices.iter().rev().find_map(|choice| choice.conflict).map_or(0, |k| k + 1);
        let is_row = choices.last().is_some_and(|choice| choice.conflict.is_none());
        let open = (from..conflicts.len()).filter(|_| !is_row).find(|k| {
            let (a, b) = conflicts[*k];
            !rows.has_any(a, b)
        });
        // Conflicts come first; then a row of all tasks shows that there is such a run.
        let next = match open {
            Some(k) => Some((Some(k), [conflicts[k], (conflicts[k].1, conflicts[k].0)])),
            None => rules.open(rows).map(|orders| (None, orders)),
        };
        match next {
            Some((conflict, [first, other])) => {
                choices.push(Choice { conflict, other: Some(other), mark: rows.mark() });
                if put(rows, rules, first) {
                    continue;
                }
            }
            None => {
                if found.classes.len() == most {
                    return found;
                }
                found.classes.push(conflicts.iter().map(|(a, b)| rows.has(*b, *a)).collect());
                // One row is enough.
                while let Some(choice) = choices.pop_if(|choice| choice.conflict.is_none()) {
                    rows.undo(choice.mark);
                }
            }
        }
        loop {
            let Some(choice) = choices.last_mut() else {
                found.complete = true;
                return found;
            };
            rows.undo(choice.mark);
            match choice.other.take() {
                Some(other) if put(rows, rules, other) => break,
                Some(_) => {}
                None => drop(choices.pop()),
            }
        }
    }
}

// Adds an order and all that follows. Returns whether that is possible; if not, something may have been added.
fn put(rows: &mut Rows, rules: &Rules, (a, b): (usize, usize)) -> bool {
    rows.add(a, b).is_ok() && rules.saturate(rows).is_ok()
}
