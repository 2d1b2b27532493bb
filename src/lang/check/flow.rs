//! Decides whether control can reach the end of a block. In a task with a result it must not.

use crate::lang::program::Stmt;

/// Returns whether control can reach the end of the statements.
pub(super) fn falls_through(stmts: &[Stmt]) -> bool {
    stmts.iter().all(passes)
}

// Whether control can pass the statement. A `while` can always end, because one with a constant condition has become a
// `Loop` or nothing.
fn passes(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Return(_) | Stmt::Throw { .. } | Stmt::Fail { .. } | Stmt::Break | Stmt::Continue => false,
        Stmt::If { then, other, .. } => falls_through(then) || falls_through(other),
        Stmt::Loop { body } => breaks(body),
        Stmt::Select(select, _) => select.blocks().any(falls_through),
        Stmt::SyncFor(sync) => falls_through(&sync.body) || falls_through(&sync.other),
        Stmt::Try { body, catch, finally } => {
            finally.as_ref().is_none_or(|f| falls_through(f))
                && (falls_through(body) || catch.iter().any(|(_, block)| falls_through(block)))
        }
        Stmt::Sync { body, .. }
        | Stmt::Rw { body, .. }
        | Stmt::Transaction { body, .. }
        | Stmt::JobBlock { body, .. }
        | Stmt::Block(body) => falls_through(body),
        _ => true,
    }
}

/// Returns whether a `break` in the body of a loop ends that loop.
fn breaks(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Break => true,
        Stmt::If { then, other, .. } => breaks(then) || breaks(other),
        Stmt::Select(select, _) => select.blocks().any(breaks),
        Stmt::SyncFor(sync) => breaks(&sync.body) || breaks(&sync.other),
        Stmt::Try { body, catch, finally } => {
            breaks(body) || catch.iter().any(|(_, block)| breaks(block)) || finally.as_ref().is_some_and(|f| breaks(f))
        }
        Stmt::Sync { body, .. }
        | Stmt::Rw { body, .. }
        | Stmt::Transaction { body, .. }
        | Stmt::JobBlock { body, .. }
        | Stmt::Block(body) => breaks(body),
        _ => false,
    })
}
