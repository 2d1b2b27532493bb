//! Accesses of memory, and locks, in a recorded trace.

use super::TraceRecorder;
use crate::base::Id;
use crate::detect::relation::signals::atomic;
use crate::event::{AccessKind, AccessPlace, Location, LockId, Op};
use crate::trace::{Action, LocationNo, LockNo, SiteNo, ThreadNo};
use crate::world::World;

impl TraceRecorder {
    /// Returns the number of a lock in the trace.
    pub(super) fn lock(&mut self, world: &World, lock: LockId) -> LockNo {
        self.builder.lock(&world.lock_name(lock))
    }

    /// Records that a thread acquires a lock so many times.
    pub(super) fn hold(&mut self, world: &World, thread: ThreadNo, lock: LockId, times: u32, site: SiteNo) {
        let lock = self.lock(world, lock);
        (0..times).for_each(|_| self.push(thread, Action::Acquire(lock), site));
    }

    /// Records that a thread releases a lock so many times.
    pub(super) fn release(&mut self, world: &World, thread: ThreadNo, lock: LockId, times: u32, site: SiteNo) {
        let lock = self.lock(world, lock);
        (0..times).for_each(|_| self.push(thread, Action::Release(lock), site));
    }

    /// Records the access of an operation, if it can race. A common lock keeps two operations on an atomic apart, but
    /// not a plain access of it.
    pub(super) fn access(&mut self, world: &World, thread: ThreadNo, (op, value): (&Op, i64), site: SiteNo) {
        let Some(access) = world.performed_access(op, value) else {
            return self.atomic(world, thread, (op, value), site);
        };
        let name = world.place_name(access.place);
        let lock = access.atomic.then(|| self.builder.lock(&name));
        lock.into_iter().for_each(|lock| self.push(thread, Action::Acquire(lock), site));
        if let AccessPlace::Cell(Location { object: Some(object), .. }) = access.place {
            let life = self.builder.location(&world.object_name(object), "life");
            let mark = self.life_mark(world, AccessKind::Read);
            self.push_access(thread, Action::Read(life), mark, site);
        }
        let field = match access.place {
            AccessPlace::Life(_) => "life",
            AccessPlace::Cell(_) => name.rsplit('/').next().unwrap_or(&name),
        };
        let at = self.builder.location(&name, field);
        let writes = access.kind == AccessKind::Write;
        let action = if writes { Action::Write(at) } else { Action::Read(at) };
        let mark = match access.place {
            AccessPlace::Life(_) => self.life_mark(world, access.kind),
            AccessPlace::Cell(_) => self.mark(world, thread, (op, value), access.kind),
        };
        self.push_access(thread, action, mark, site);
        self.value(at, op, value);
        lock.into_iter().for_each(|lock| self.push(thread, Action::Release(lock), site));
    }

    // An operation on an atomic that cannot race.
    fn atomic(&mut self, world: &World, thread: ThreadNo, (op, value): (&Op, i64), site: SiteNo) {
        if let Some((at, writes)) = atomic(world, op, value) {
            let name = world.place_name(AccessPlace::Cell(at));
            self.builder.atomic(thread, &name, writes, site);
        }
    }

    // Keeps the value of a location, and records a write that has written the value that was there.
    fn value(&mut self, at: LocationNo, op: &Op, value: i64) {
        let now = match *op {
            Op::Read(_) => Some(value),
            Op::Write(_, new) => Some(new),
            _ => None,
        };
        while self.values.len() <= at.index() {
            self.values.push(None);
        }
        let before = std::mem::replace(&mut self.values[at], now);
        if now.is_some() && before == now && matches!(op, Op::Write(..)) {
            self.builder.changes_nothing();
        }
    }
}
