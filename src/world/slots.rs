//! Divides a state into slots, so that a search can store it as a vector of numbers: one number for the content of
//! each slot, which many states share.
//!
//! The slots of a program are fixed: its declared threads, queues, cells, locks and so on. A state fits into them as
//! long as nothing exists that is not declared, and no value refers to the inside of another slot (the handle of a
//! message, a list). A search keeps all other states as whole machines.
//!
//! `slot_content` saves and loads what is in a slot.

use super::canonical::{Canonicalizer, Part};
use super::snapshot::CanonicalWriter;
use super::threads::{ThreadRecord, ThreadStage};
use super::{Machine, Snapshot, World};
use crate::base::{Id, IndexVec};
use crate::event::{
    BarrierId, ConditionId, ContextId, GroupId, Location, LockId, ObjectId, RwLockId, SemaphoreId, ThreadId,
};

/// A part of a state that is stored by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A declared thread, without its queue.
    Thread(ThreadId),
    /// The queue of a declared looper.
    Queue(ThreadId),
    /// A group of global cells, by its number.
    Cells(usize),
    Lock(LockId),
    RwLock(RwLockId),
    Semaphore(SemaphoreId),
    Condition(ConditionId),
    Barrier(BarrierId),
    Group(GroupId),
    /// A declared object with its monitor and its fields.
    Object(ObjectId),
    /// Listeners and events.
    Environment,
    /// The instant of the clock. It is no part of the canonical state.
    Clock,
}

/// The slots of a program.
#[derive(Debug)]
pub struct Slots {
    pub(super) all: Vec<Slot>,
    /// Number of declared threads. Their slots are the first ones, in order of declaration.
    pub threads: usize,
    // Slot of the queue of each declared thread, if it has one.
    queues: IndexVec<ThreadId, Option<u32>>,
    // First slot of each kind.
    cells: u32,
    locks: u32,
    rwlocks: u32,
    semaphores: u32,
    objects: u32,
    // Number of threads, including that of `init`.
    all_threads: usize,
    // Number of contexts that exist in every state.
    pub(super) contexts: usize,
    // The context of all tasks.
    pub(super) task: ContextId,
    // Cells that the run has taken before its threads took any.
    pub(super) taken: u64,
}

impl Slots {
    /// Returns the number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether there are no slots. There is always one, that of the clock.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the slot of the clock.
    #[must_use]
    pub fn clock(&self) -> usize {
        self.all.len() - 1
    }

    /// Returns the slots of queues.
    #[must_use]
    pub fn queues(&self) -> std::ops::Range<usize> {
        self.threads..self.cells as usize
    }

    /// Returns the slot of the environment, if the program has events or listeners.
    #[must_use]
    pub fn environment(&self) -> Option<usize> {
        let last = self.all.len().checked_sub(2)?;
        (self.all[last] == Slot::Environment).then_some(last)
    }

    pub(super) fn of_queue(&self, looper: ThreadId) -> Option<u32> {
        self.queues.get(looper.index()).copied().flatten()
    }

    pub(super) fn of_location(&self, world: &World, at: Location) -> u32 {
        match at.object {
            Some(object) => self.of_object(object),
            None => self.cells + at.cell / world.cells_in_part() as u32,
        }
    }

    pub(super) fn of_object(&self, object: ObjectId) -> u32 {
        self.objects + object.0
    }

    pub(super) fn of_lock(&self, world: &World, lock: LockId) -> u32 {
        world.locks[lock].object.map_or(self.locks + lock.0, |object| self.of_object(object))
    }

    pub(super) fn of_rwlock(&self, lock: RwLockId) -> u32 {
        self.rwlocks + lock.0
    }

    pub(super) fn of_semaphore(&self, semaphore: SemaphoreId) -> u32 {
        self.semaphores + semaphore.0
    }

    /// Returns what these slots are, for a message about a mistake.
    #[must_use]
    pub fn names(&self, slots: &[usize]) -> String {
        format!("{:?}", slots.iter().map(|slot| self.all[*slot]).collect::<Vec<_>>())
    }

    pub(super) fn slot(&self, slot: usize) -> Slot {
        self.all[slot]
    }
}

impl World {
    /// Returns the number of global cells in one part of the canonical state. Few cells have a part each.
    pub(super) fn cells_in_part(&self) -> usize {
        if self.setup.cells.len() <= 32 { 1 } else { 8 }
    }

    // Whether nothing exists that has no slot.
    pub(super) fn has_only_slots(&self, slots: &Slots) -> bool {
        let declared = self.declared();
        self.threads.len() == slots.all_threads
            && self.memory.objects.len() == declared.objects
            && self.handlers.len() == self.setup.handlers.len()
            && self.memory.lists.is_empty()
            && self.threads.iter().zip(slots.queues.iter()).all(|(t, queue)| t.queue.is_some() == queue.is_some())
    }

    fn fits(&self, slots: &Slots) -> bool {
        let is_new = |t: &ThreadRecord| t.status == ThreadStage::New;
        self.outcome.is_none() && self.has_only_slots(slots) && !self.threads.iter().take(slots.threads).any(is_new)
    }

    // The part of the canonical state in this slot. The clock has none.
    fn part(slot: Slot) -> Option<Part> {
        Some(match slot {
            Slot::Thread(id) => Part::Thread(id.index()),
            Slot::Queue(id) => Part::Queue(id.index()),
            Slot::Cells(n) => Part::Cells(n),
            Slot::Lock(id) => Part::Lock(id.index()),
            Slot::RwLock(id) => Part::RwLock(id.index()),
            Slot::Semaphore(id) => Part::Semaphore(id.index()),
            Slot::Condition(id) => Part::Condition(id.index()),
            Slot::Barrier(id) => Part::Barrier(id.index()),
            Slot::Group(id) => Part::Group(id.index()),
            Slot::Object(id) => Part::Object(id.index()),
            Slot::Environment => Part::Environment,
            Slot::Clock => return None,
        })
    }

    pub(super) fn object_cells(&self, object: ObjectId) -> std::ops::Range<usize> {
        let o = &self.memory.objects[object];
        let base = o.base as usize;
        base..base + self.setup.classes[o.class as usize].1.len()
    }

    pub(super) fn global_cells(&self, part: usize) -> std::ops::Range<usize> {
        let size = self.cells_in_part();
        part * size..(part * size + size).min(self.setup.cells.len())
    }
}

impl<G: Snapshot> Machine<G> {
    /// Divides the states of this program into slots. `None` if this state does not fit into them. Adds a context to
    /// this machine, so that only copies of it may load the content of slots.
    #[must_use]
    pub fn slots(&mut self) -> Option<Slots> {
        let world = &mut self.world;
        let setup = world.setup.clone();
        let is_simple = world.platform.is_none() && world.pools.is_empty() && setup.channels.is_empty();
        if !is_simple || world.jobs.any() || setup.absolute_until != 0 {
            return None;
        }
        let threads = setup.threads.len();
        // A search may start in the middle of a run, where threads exist that are not declared.
        if world.threads.iter().skip(threads).any(|t| t.status != ThreadStage::Finished) {
            return None;
        }
        let mut all: Vec<Slot> = (0..threads).map(|t| Slot::Thread(ThreadId::new(t))).collect();
        let mut queues = IndexVec::new();
        for id in setup.threads.ids() {
            queues.push(world.threads[id].queue.as_ref().map(|_| all.len() as u32));
            all.extend(world.threads[id].queue.as_ref().map(|_| Slot::Queue(id)));
        }
        let cells = all.len() as u32;
        all.extend((0..setup.cells.len().div_ceil(world.cells_in_part())).map(Slot::Cells));
        let locks = all.len() as u32;
        all.extend((0..setup.locks.len()).map(|i| Slot::Lock(LockId::new(i))));
        let rwlocks = all.len() as u32;
        all.extend(world.rwlocks.ids().map(Slot::RwLock));
        let semaphores = all.len() as u32;
        all.extend(world.semaphores.ids().map(Slot::Semaphore));
        all.extend(world.conditions.ids().map(Slot::Condition));
        all.extend(world.barriers.ids().map(Slot::Barrier));
        all.extend(world.groups.ids().map(Slot::Group));
        let objects = all.len() as u32;
        all.extend(world.memory.objects.ids().map(Slot::Object));
        if !world.events.is_empty() || !world.listeners.is_empty() {
            all.push(Slot::Environment);
        }
        all.push(Slot::Clock);
        let task = world.contexts.root(super::CreationKind::Init);
        let by_threads: u64 = setup.threads.ids().map(|id| self.guest.cells(id)).sum();
        let slots = Slots {
            all,
            threads,
            queues,
            cells,
            locks,
            rwlocks,
            semaphores,
            objects,
            all_threads: world.threads.len(),
            contexts: world.contexts.len(),
            task,
            taken: world.cells.saturating_sub(by_threads),
        };
        let mut room = Canonicalizer::new();
        let fits =
            self.fits(&slots) && (0..slots.len()).all(|slot| self.slot_digest(&slots, slot, &mut room).is_some());
        fits.then_some(slots)
    }

    /// Returns whether nothing exists in this state that has no slot. A value may still refer to the inside of a slot
    /// ([`slot_digest`](Self::slot_digest)).
    #[must_use]
    pub fn fits(&self, slots: &Slots) -> bool {
        self.world.fits(slots)
    }

    /// Returns the digest of the content of a slot: that of its part in the canonical state, 0 for the clock. `None`
    /// if a value refers to the inside of another slot, so that the content says nothing by itself.
    #[must_use]
    pub fn slot_digest(&self, slots: &Slots, slot: usize, room: &mut Canonicalizer) -> Option<u128> {
        let Some(part) = World::part(slots.all[slot]) else { return Some(0) };
        let (world, declared) = (&self.world, self.world.declared());
        room.clear_parts(declared);
        let slot = slots.all[slot];
        if let Slot::Queue(id) = slot {
            world.threads[id].queue.as_ref()?;
        }
        let mut w = CanonicalWriter { world, room, lens: None };
        self.write_slot(slot, &mut w);
        w.room.part(part);
        w.room.is_local(declared).then(|| room.digest())
    }

    /// Writes the content of a slot. That of the clock is empty.
    pub(super) fn write_slot(&self, slot: Slot, w: &mut CanonicalWriter<'_>) {
        let world = &self.world;
        match slot {
            Slot::Thread(id) => w.stand(&self.guest, id),
            Slot::Queue(id) => {
                if let Some(queue) = &world.threads[id].queue {
                    w.queue(&self.guest, queue);
                }
            }
            Slot::Cells(part) => w.cells(&self.guest, part),
            Slot::Lock(id) => w.lock(id),
            Slot::RwLock(id) => w.rwlock(&world.rwlocks[id]),
            Slot::Semaphore(id) => w.word(world.semaphores[id].count as u64),
            Slot::Condition(id) => w.threads_in_order(&world.conditions[id]),
            Slot::Barrier(id) => w.word(world.barriers[id].arrived as u64),
            Slot::Group(id) => w.word(world.groups[id].count as u64),
            Slot::Object(id) => w.object_state(&self.guest, id),
            Slot::Environment => w.listeners_and_events(&self.guest),
            Slot::Clock => {}
        }
    }
}
