//! Determines the states of the columns: enabled, blocked, or idle.

use super::ColumnState;
use crate::event::{Op, ThreadId};
use crate::world::{ThreadStage, World};

/// Returns the state of a thread after a step.
pub(super) fn state(world: &World, id: ThreadId) -> ColumnState {
    let t = world.thread(id);
    let in_task = t.context != t.home;
    match t.status {
        ThreadStage::Finished => ColumnState::Absent,
        // A failed thread is not enabled either, but is pending at an operation that does not block. It does not wait.
        ThreadStage::Alive if !world.enabled().contains(id) && t.pending.may_block() => match in_task {
            true => ColumnState::TaskBlocked,
            false if matches!(t.pending, Op::Begin) => ColumnState::Idle,
            false => ColumnState::Blocked,
        },
        _ if in_task => ColumnState::Task,
        _ => ColumnState::Ready,
    }
}

/// Returns whether it is worth a row that a thread is blocked at this operation. It is not if the thread's own last
/// step says so already (`own`), if the thread sleeps, or if it is a looper without a task.
pub(super) fn is_news(pending: &Op, own: bool) -> bool {
    match pending {
        Op::Wake | Op::Begin => false,
        half if half.is_second_half() => !own,
        _ => true,
    }
}
