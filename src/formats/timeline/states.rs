//! What the columns are doing: who can go on, who waits, who is idle.

use super::State;
use crate::event::{Op, ThreadId};
use crate::world::{Status, World};

/// What a thread is doing after a step.
pub(super) fn state(world: &World, id: ThreadId) -> State {
    let t = world.thread(id);
    let in_task = t.context != t.home;
    match t.status {
        Status::Finished => State::Absent,
        Status::Alive if !world.enabled().contains(id) && can_wait(&t.pending) => match in_task {
            true => State::TaskBlocked,
            false if matches!(t.pending, Op::Begin) => State::Idle,
            false => State::Blocked,
        },
        _ if in_task => State::Task,
        _ => State::Ready,
    }
}

/// Whether the thread may have been notified since it was last looked at.
pub(super) fn is_returning(world: &World, id: ThreadId) -> bool {
    matches!(world.thread(id).pending, Op::Reacquire { .. })
}

/// Whether it is worth a row that a thread waits there. What the thread has just done says it, or the clock will.
pub(super) fn is_news(pending: &Op, own: bool) -> bool {
    match pending {
        Op::Wake | Op::Begin => false,
        Op::Reacquire { .. } | Op::Pass { .. } => !own,
        _ => true,
    }
}

// A thread that has failed stands at something that it could do.
fn can_wait(pending: &Op) -> bool {
    let lock = matches!(pending, Op::Acquire(_) | Op::Reacquire { .. } | Op::ReadLock(_) | Op::WriteLock(_));
    let other = matches!(
        pending,
        Op::Down(_) | Op::DownFor { .. } | Op::Pass { .. } | Op::Await { .. } | Op::Join(_) | Op::Wake
    );
    lock || other || matches!(pending, Op::Begin | Op::Post { .. })
}
