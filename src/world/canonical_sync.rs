//! The part of locks, conditions, semaphores and barriers in the canonical state.

use super::canonical::Part;
use super::snapshot::CanonicalWriter;
use super::sync::RwLock;
use crate::base::Id;
use crate::event::{ChannelId, LockId};

impl CanonicalWriter<'_> {
    pub(super) fn rwlock(&mut self, lock: &RwLock) {
        self.optional_thread(lock.writer);
        self.threads_as_set(&lock.readers);
        self.threads_as_set(&lock.announced);
    }

    pub(super) fn synchronization(&mut self) {
        let world = self.world;
        for id in 0..world.setup.locks.len() {
            self.lock(LockId::new(id));
            self.room.part(Part::Lock(id));
        }
        for (i, waiters) in world.conditions.iter().enumerate() {
            self.threads_in_order(waiters);
            self.room.part(Part::Condition(i));
        }
        for (i, lock) in world.rwlocks.iter().enumerate() {
            self.rwlock(lock);
            self.room.part(Part::RwLock(i));
        }
        for (i, semaphore) in world.semaphores.iter().enumerate() {
            self.word(semaphore.count as u64);
            self.room.part(Part::Semaphore(i));
        }
        for (i, barrier) in world.barriers.iter().enumerate() {
            self.word(barrier.arrived as u64);
            self.room.part(Part::Barrier(i));
        }
        for (i, group) in world.groups.iter().enumerate() {
            self.word(group.count as u64);
            self.room.part(Part::Group(i));
        }
        for id in 0..world.channels.len() {
            self.channel(ChannelId::new(id));
            self.room.part(Part::Channel(id));
        }
    }
}
