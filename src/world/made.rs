//! Synchronization objects and variables by name, declared ones and those that a guest makes during a run.
//!
//! A program in the modeled language declares all of them ([`Setup`]). Other guests meet them one after the other. What
//! they make comes after what is declared, and is gone when the next run starts.

use super::channels::Channel;
use super::sync::{Barrier, RwLock, Semaphore};
use super::{Capacity, Prefer, Setup, World};
use crate::base::Id;
use crate::event::{BarrierId, ChannelId, ConditionId, LockId, RwLockId, SemaphoreId, ThreadId, Value};

/// Name of what a guest has made: a class of the [`Setup`] and the ordinal among what this run has made of that class,
/// from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MadeName {
    /// Index into [`Setup::classes`].
    pub class: u32,
    /// Ordinal, from 1.
    pub nth: u32,
}

impl MadeName {
    // Formats the name: `Mutex<Pool> at src/pool.rs:12`, and for the second one `Mutex<Pool> at src/pool.rs:12 (2)`.
    fn text(self, setup: &Setup) -> String {
        let class = setup.classes.get(self.class as usize).map_or("", |(name, _)| name.as_str());
        if self.nth > 1 { format!("{class} ({})", self.nth) } else { class.to_owned() }
    }
}

/// Names of what this run has made, by kind, in the order of their ids.
#[derive(Default)]
pub(super) struct MadeNames {
    cells: Vec<MadeName>,
    locks: Vec<MadeName>,
    conditions: Vec<MadeName>,
    rwlocks: Vec<MadeName>,
    semaphores: Vec<MadeName>,
    barriers: Vec<MadeName>,
    channels: Vec<MadeName>,
    // Sizes of the buffers of the channels.
    capacities: Vec<Capacity>,
}

crate::clone_in_place!(MadeNames { cells, locks, conditions, rwlocks, semaphores, barriers, channels, capacities });

impl MadeNames {
    pub(super) fn clear(&mut self) {
        let Self { cells, locks, conditions, rwlocks, semaphores, barriers, channels, capacities } = self;
        [cells, locks, conditions, rwlocks, semaphores, barriers, channels].into_iter().for_each(Vec::clear);
        capacities.clear();
    }
}

// The name of the thing with this id, if the run has made it. The setup declares as many of its kind as `declared`.
fn made(all: &[MadeName], declared: usize, id: usize, setup: &Setup) -> String {
    let made = id.checked_sub(declared).and_then(|i| all.get(i));
    made.map_or_else(|| format!("#{id}"), |name| name.text(setup))
}

impl World {
    fn made_names(&mut self) -> &mut MadeNames {
        self.made.get_or_insert_default()
    }

    fn names_of(&self, kind: fn(&MadeNames) -> &Vec<MadeName>) -> &[MadeName] {
        self.made.as_deref().map_or(&[], |made| kind(made).as_slice())
    }

    /// Adds a variable with its first value.
    pub fn make_cell(&mut self, name: MadeName, value: Value) -> u32 {
        self.memory.cells.push(value);
        self.made_names().cells.push(name);
        (self.memory.cells.len() - 1) as u32
    }

    /// Adds a lock.
    pub fn make_lock(&mut self, name: MadeName, reentrant: bool) -> LockId {
        self.made_names().locks.push(name);
        self.locks.add(|lock| lock.renew(reentrant, None))
    }

    /// Adds a condition.
    pub fn make_condition(&mut self, name: MadeName) -> ConditionId {
        self.made_names().conditions.push(name);
        self.conditions.add(Vec::new())
    }

    /// Adds a reader-writer lock.
    pub fn make_rwlock(&mut self, name: MadeName, prefer: Prefer) -> RwLockId {
        self.made_names().rwlocks.push(name);
        self.rwlocks.add(RwLock::new(prefer))
    }

    /// Adds a semaphore with this many permits.
    pub fn make_semaphore(&mut self, name: MadeName, count: i64) -> SemaphoreId {
        self.made_names().semaphores.push(name);
        let id = self.semaphores.add(Semaphore::default());
        self.semaphores[id].renew(count);
        id
    }

    /// Makes a thread a daemon, which does not keep the run going.
    pub fn make_daemon(&mut self, thread: ThreadId) {
        self.threads[thread].daemon = true;
        self.daemons.set(thread, true);
        self.workers.set(thread, false);
    }

    /// Takes permits of a semaphore away, in the step that is being performed: at most `most` are left.
    pub fn limit_permits(&mut self, id: SemaphoreId, most: i64) {
        let count = &mut self.semaphores[id].count;
        *count = most.min(*count);
    }

    /// Adds a barrier for this many parties.
    pub fn make_barrier(&mut self, name: MadeName, parties: i64) -> BarrierId {
        self.made_names().barriers.push(name);
        let id = self.barriers.add(Barrier::default());
        self.barriers[id].renew(parties);
        id
    }

    /// Adds a channel.
    pub fn make_channel(&mut self, name: MadeName, capacity: Capacity) -> ChannelId {
        let made = self.made_names();
        made.channels.push(name);
        made.capacities.push(capacity);
        self.channels.add(Channel::default())
    }

    /// Returns the size of the buffer of a channel that the run has made.
    pub(super) fn made_capacity(&self, channel: ChannelId) -> Capacity {
        let made = self.made.as_deref().expect("the channel is declared or was made");
        made.capacities[channel.index() - self.setup.channels.len()]
    }

    /// Writes a cell in the step that is being performed, after its operation: the guest has computed the value.
    #[inline]
    pub fn ride(&mut self, cell: u32, value: Value) {
        self.store(cell, value);
    }

    /// Removes what the last run has made.
    pub(super) fn forget_made(&mut self) {
        if let Some(made) = &mut self.made {
            made.clear();
        }
        self.conditions.truncate(self.setup.conditions.len());
        self.rwlocks.truncate(self.setup.rwlocks.len());
        self.semaphores.truncate(self.setup.semaphores.len());
        self.barriers.truncate(self.setup.barriers.len());
        self.channels.truncate(self.setup.channels.len());
    }

    // Returns the name of a thing: that of its declaration, or that with which the run has made it.
    fn name_of<T>(
        &self,
        id: usize,
        declared: &[T],
        name: fn(&T) -> &str,
        kind: fn(&MadeNames) -> &Vec<MadeName>,
    ) -> String {
        match declared.get(id) {
            Some(declared) => name(declared).to_owned(),
            None => made(self.names_of(kind), declared.len(), id, &self.setup),
        }
    }

    /// Returns the name of a cell that belongs to no object: `x`, `a[2]`.
    #[must_use]
    pub fn cell_name(&self, cell: u32) -> String {
        self.name_of(cell as usize, &self.setup.cell_names, String::as_str, |made| &made.cells)
    }

    /// Returns the name of a lock: `lock m`, `mutex m`, or `the monitor of main/onCreate#1/Node#1`.
    #[must_use]
    pub fn lock_name(&self, lock: LockId) -> String {
        if let Some(object) = self.locks[lock].object {
            return format!("the monitor of {}", self.object_name(object));
        }
        let name = self.name_of(lock.index(), &self.setup.locks, |(name, _)| name, |made| &made.locks);
        // No model has both locks that are made and objects with monitors.
        match self.setup.locks.get(lock.index()) {
            Some((_, true)) => format!("lock {name}"),
            Some((_, false)) => format!("mutex {name}"),
            None => name,
        }
    }

    /// Returns the name of a condition, without the word for it.
    #[must_use]
    pub fn condition_name(&self, id: ConditionId) -> String {
        self.name_of(id.index(), &self.setup.conditions, String::as_str, |made| &made.conditions)
    }

    /// Returns the name of a reader-writer lock, without the word for it.
    #[must_use]
    pub fn rwlock_name(&self, id: RwLockId) -> String {
        self.name_of(id.index(), &self.setup.rwlocks, |(name, _)| name, |made| &made.rwlocks)
    }

    /// Returns the name of a semaphore, without the word for it.
    #[must_use]
    pub fn semaphore_name(&self, id: SemaphoreId) -> String {
        self.name_of(id.index(), &self.setup.semaphores, |(name, _)| name, |made| &made.semaphores)
    }

    /// Returns the name of a channel, without the word for it.
    pub(super) fn name_of_channel(&self, id: ChannelId) -> String {
        self.name_of(id.index(), &self.setup.channels, |channel| &channel.name, |made| &made.channels)
    }

    /// Returns the name of a barrier, without the word for it.
    #[must_use]
    pub fn barrier_name(&self, id: BarrierId) -> String {
        self.name_of(id.index(), &self.setup.barriers, |(name, _)| name, |made| &made.barriers)
    }
}
