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
        ThreadStage::Alive if !world.enabled().contains(id) && can_wait(&t.pending) => match in_task {
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
        Op::Reacquire { .. }
        | Op::Pass { .. }
        | Op::GroupPass { .. }
        | Op::Sent { .. }
        | Op::Received { .. }
        | Op::Selected { .. } => !own,
        _ => true,
    }
}

// A failed thread is not enabled either, but is pending at an operation that does not block. It does not wait.
fn can_wait(pending: &Op) -> bool {
    let lock = matches!(pending, Op::Acquire(_) | Op::Reacquire { .. } | Op::ReadLock(_) | Op::WriteLock(_));
    let other = matches!(
        pending,
        Op::Down(_) | Op::DownFor { .. } | Op::Pass { .. } | Op::Await { .. } | Op::Join(_) | Op::Wake
    );
    let channel = matches!(
        pending,
        Op::AcquireFor { .. }
            | Op::GroupPass { .. }
            | Op::Send { .. }
            | Op::Sent { .. }
            | Op::Receive { .. }
            | Op::Received { .. }
            | Op::Select { .. }
            | Op::Selected { .. }
    );
    lock || other || channel || matches!(pending, Op::Begin | Op::Post { .. })
}
