//! The sets of threads that are pending at one thing: a thread is evaluated again only when that thing changes.

use super::World;
use super::effects::Thing;
use crate::base::IdSet;
use crate::event::{BarrierId, ChannelId, GroupId, LockId, Op, RwLockId, SemaphoreId, ThreadId};

// The thing that a pending operation may have to wait for. It keeps the set of threads that are pending there.
pub(super) enum PendingAt {
    Nothing,
    Lock(LockId),
    RwLock(RwLockId),
    Semaphore(SemaphoreId),
    Barrier(BarrierId),
    Thread(ThreadId),
    Memory,
    Group(GroupId),
    Channel(ChannelId),
    Select,
}

impl World {
    #[inline]
    pub(super) fn pending_at(&self, thread: ThreadId, op: &Op) -> PendingAt {
        let waits = self.effects(thread, op).touches().find(|(_, how)| how.may_wait());
        match waits {
            None => PendingAt::Nothing,
            Some((Thing::Lock(lock), _)) => PendingAt::Lock(lock),
            Some((Thing::RwLock(lock), _)) => PendingAt::RwLock(lock),
            Some((Thing::Semaphore(semaphore), _)) => PendingAt::Semaphore(semaphore),
            Some((Thing::Barrier(barrier), _)) => PendingAt::Barrier(barrier),
            Some((Thing::End(thread) | Thing::Queue(thread), _)) => PendingAt::Thread(thread),
            Some((Thing::AllMemory, _)) => PendingAt::Memory,
            Some((Thing::Group(group), _)) => PendingAt::Group(group),
            Some((Thing::Channel(channel), _)) => PendingAt::Channel(channel),
            Some((Thing::ChannelsOfSelect, _)) => PendingAt::Select,
            Some((
                Thing::Memory(_)
                | Thing::Atomic(_)
                | Thing::WaitSet(_)
                | Thing::Event(_)
                | Thing::Interrupts(_)
                | Thing::Listener(_)
                | Thing::Fence(_)
                | Thing::Platform
                | Thing::Job(_)
                | Thing::Token(_)
                | Thing::Numbers,
                _,
            )) => unreachable!("no operation waits there until another thread's step"),
        }
    }

    pub(super) fn pending_set_mut(&mut self, object: &PendingAt) -> Option<&mut IdSet<ThreadId>> {
        match object {
            PendingAt::Nothing => None,
            PendingAt::Lock(id) => Some(&mut self.locks[*id].pending_set.0),
            PendingAt::RwLock(id) => Some(&mut self.rwlocks[*id].pending_set.0),
            PendingAt::Semaphore(id) => Some(&mut self.semaphores[*id].pending_set.0),
            PendingAt::Barrier(id) => Some(&mut self.barriers[*id].pending_set.0),
            PendingAt::Thread(id) => Some(&mut self.threads[*id].pending_set.0),
            PendingAt::Memory => Some(&mut self.awaiting),
            PendingAt::Group(id) => Some(&mut self.groups[*id].pending_set.0),
            PendingAt::Channel(id) => Some(&mut self.channels[*id].pending_set.0),
            PendingAt::Select => Some(&mut self.selecting),
        }
    }
}
