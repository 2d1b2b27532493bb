//! Determines the column that an operation affects, besides the one that performs it.

use super::{Arrow, ArrowKind, ENVIRONMENT, column_of};
use crate::event::{ContextId, LaunchPlace, Op, PostTime};
use crate::world::World;

/// Returns the arrow of an operation that returned `value` and created `made`.
pub(super) fn arrow(world: &World, op: &Op, value: i64, made: Option<ContextId>) -> Option<Arrow> {
    let to = |thread, kind| Some(Arrow { to: column_of(thread), kind });
    match op {
        Op::Post { target, time, .. } => {
            let kind = match time {
                _ if value == 0 => ArrowKind::Refused,
                PostTime::Front | PostTime::Micro => ArrowKind::Front,
                PostTime::After(d) if *d > 0 => ArrowKind::Delayed,
                PostTime::At(t) if *t > world.now() as i64 => ArrowKind::Delayed,
                PostTime::Idle { .. } => ArrowKind::Delayed,
                PostTime::Now | PostTime::After(_) | PostTime::At(_) => ArrowKind::Plain,
            };
            to(world.thread_of(*target), kind)
        }
        Op::Launch { place: LaunchPlace::Posted(target), .. } => to(world.thread_of(*target), ArrowKind::Plain),
        Op::Fork { .. } | Op::SpawnLooper => {
            let thread = world.threads().enumerate().rev().find(|(_, t)| Some(t.home) == made);
            thread.and_then(|(id, _)| to(id, ArrowKind::Plain))
        }
        Op::Join(thread) if world.job(*thread).is_none() => to(*thread, ArrowKind::Back),
        Op::Interrupt(thread) | Op::Fence(thread) => to(*thread, ArrowKind::Plain),
        Op::Quit { looper, .. } => to(*looper, ArrowKind::Plain),
        Op::CancelMessage(message) => {
            World::looper_of_message(*message).and_then(|looper| to(looper, ArrowKind::Plain))
        }
        Op::Cancel { target, .. } => to(world.thread_of(*target), ArrowKind::Plain),
        Op::Enable { .. } | Op::Disable(_) => Some(Arrow { to: ENVIRONMENT, kind: ArrowKind::Plain }),
        _ => None,
    }
}
