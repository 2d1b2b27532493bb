//! Renames the elements of a state ([`Renaming`]), and tells how an element sees a part of a state ([`Lens`]).
//!
//! A renaming is applied to a whole machine: to where each thread stands, to what it is pending at, to all owners,
//! waiters and values. Whatever follows from these is computed anew, as after the loading of a state.

use super::canonical::Canonicalizer;
use super::kind::WordKind;
use super::slots::{Slot, Slots};
use super::snapshot::CanonicalWriter;
use super::symmetry::{Lens, Renaming, Symmetry, ThingCounts, seen};
use super::threads::ThreadRecord;
use super::{Machine, Snapshot, World};
use crate::base::Id;
use crate::base::mutant::{self, Mutant};
use crate::event::{
    Acquisition, Args, BodyId, ConditionId, Location, LockId, ObjectId, Op, Target, ThreadId, Value, WaitSet,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

impl World {
    fn counts(&self) -> ThingCounts {
        ThingCounts {
            threads: self.setup.threads.len(),
            cells: self.setup.cells.len(),
            locks: self.setup.locks.len(),
            conditions: self.conditions.len(),
        }
    }

    /// Returns the renaming that gives each element a new one, by class.
    #[must_use]
    pub fn renaming(&self, symmetry: &Symmetry, elements: &[Vec<i64>]) -> Renaming {
        symmetry.renaming(elements, self.counts())
    }

    /// Returns the lens of each element, class by class.
    #[must_use]
    pub fn lenses(&self, symmetry: &Symmetry) -> Vec<Lens> {
        let all = symmetry.classes.iter().enumerate();
        all.flat_map(|(class, range)| {
            (range.from..range.to).map(move |element| symmetry.lens(class as u16, element, self.counts()))
        })
        .collect()
    }
}

// The things of a state under a renaming.
struct Renamer<'r> {
    by: &'r Renaming,
}

impl Renamer<'_> {
    fn thread(&self, thread: ThreadId) -> ThreadId {
        ThreadId::new(self.by.thread(thread.index()))
    }

    fn lock(&self, lock: LockId) -> LockId {
        self.by.locks.get(lock.index()).map_or(lock, |new| LockId(*new))
    }

    fn condition(&self, condition: ConditionId) -> ConditionId {
        self.by.conditions.get(condition.index()).map_or(condition, |new| ConditionId(*new))
    }

    fn location(&self, at: Location) -> Location {
        match (at.object, self.by.cells.get(at.cell as usize)) {
            (None, Some(cell)) => Location { cell: *cell, ..at },
            _ => at,
        }
    }

    fn set(&self, on: WaitSet) -> WaitSet {
        match on {
            WaitSet::Lock(lock) => WaitSet::Lock(self.lock(lock)),
            WaitSet::Condition(condition) => WaitSet::Condition(self.condition(condition)),
        }
    }

    fn target(&self, target: Target) -> Target {
        match target {
            Target::Thread(thread) => Target::Thread(self.thread(thread)),
            // A declared handler belongs to a looper, and no looper is one of several threads that are alike.
            Target::Handler(_) => target,
        }
    }

    fn threads(&self, threads: &mut [ThreadId]) {
        threads.iter_mut().for_each(|thread| *thread = self.thread(*thread));
    }

    fn owner(&self, owner: Option<ThreadId>) -> Option<ThreadId> {
        if mutant::is(Mutant::OwnersNotRenamed) { owner } else { owner.map(|thread| self.thread(thread)) }
    }
}

impl<G: Snapshot> Machine<G> {
    /// Renames the elements of the state. The state must fit into the slots, and have no message with a job.
    pub fn rename(&mut self, slots: &Slots, by: &Renaming) {
        let to = Renamer { by };
        self.rename_memory(by);
        self.rename_threads(slots, &to);
        self.guest.rename(by);
        self.rename_synchronization(&to);
        self.rename_messages(&to);
        self.end_load(slots);
    }

    /// Returns the slot whose content after a renaming follows from that of this slot before it. `None` if there is
    /// none: a slot of several cells.
    #[must_use]
    pub fn renamed_slot(&self, slots: &Slots, slot: usize, by: &Renaming) -> Option<usize> {
        let first = |of: fn(&Slot) -> bool| slots.all.iter().position(of).unwrap_or(slot);
        Some(match slots.slot(slot) {
            Slot::Thread(thread) => by.thread(thread.index()),
            Slot::Cells(_) if self.world.cells_in_part() > 1 => return None,
            Slot::Cells(cell) => first(|slot| matches!(slot, Slot::Cells(_))) + by.cells[cell] as usize,
            Slot::Lock(lock) => first(|slot| matches!(slot, Slot::Lock(_))) + by.locks[lock.index()] as usize,
            Slot::Condition(condition) => {
                first(|slot| matches!(slot, Slot::Condition(_))) + by.conditions[condition.index()] as usize
            }
            _ => slot,
        })
    }

    fn rename_memory(&mut self, by: &Renaming) {
        let (world, kinds) = (&mut self.world, self.guest.global_kinds());
        let old = world.memory.cells.clone();
        for (cell, kind) in kinds.iter().enumerate() {
            let new = if mutant::is(Mutant::OwnCellsNotRenamed) { cell } else { by.cells[cell] as usize };
            world.memory.cells[new] = by.value(*kind, old[cell]);
        }
        for object in (0..world.setup.objects.len()).map(ObjectId::new) {
            let of = world.memory.objects[object];
            for (at, kind) in self.guest.class_kinds(of.class).iter().enumerate() {
                let cell = &mut world.memory.cells[of.base as usize + at];
                *cell = by.value(*kind, *cell);
            }
        }
    }

    fn rename_threads(&mut self, slots: &Slots, to: &Renamer<'_>) {
        let old: Vec<ThreadRecord> = (0..slots.threads)
            .map(|thread| {
                let mut record = ThreadRecord::default();
                record.clone_stand(&self.world.threads[ThreadId::new(thread)]);
                record
            })
            .collect();
        for (thread, mut record) in old.into_iter().enumerate() {
            let new = to.thread(ThreadId::new(thread));
            record.pending = self.renamed(record.pending, to);
            let home = self.world.threads[new].home;
            if !record.in_task() {
                record.context = home;
            }
            record.home = home;
            self.world.threads[new].clone_stand(&record);
        }
    }

    // Returns a pending operation under the renaming.
    fn renamed(&mut self, op: Op, to: &Renamer<'_>) -> Op {
        let value = |at: Location, value: Value| match at.object {
            None => to.by.value(self.guest.global_kinds()[at.cell as usize], value),
            Some(object) => {
                let of = self.world.memory.objects[object];
                to.by.value(self.guest.class_kinds(of.class)[(at.cell - of.base) as usize], value)
            }
        };
        match op {
            Op::Read(at) => Op::Read(to.location(at)),
            Op::Write(at, new) => Op::Write(to.location(at), value(at, new)),
            Op::AtomicRead(at) => Op::AtomicRead(to.location(at)),
            Op::AtomicWrite(at, new) => Op::AtomicWrite(to.location(at), value(at, new)),
            Op::Cas { at, old, new } => Op::Cas { at: to.location(at), old: value(at, old), new: value(at, new) },
            Op::FetchAdd(at, delta) => Op::FetchAdd(to.location(at), delta),
            Op::Exchange(at, new) => Op::Exchange(to.location(at), value(at, new)),
            Op::Acquire(lock) => Op::Acquire(to.lock(lock)),
            Op::AcquireFor { of: Acquisition::Lock(lock), timeout } => {
                Op::AcquireFor { of: Acquisition::Lock(to.lock(lock)), timeout }
            }
            Op::Release(lock) => Op::Release(to.lock(lock)),
            Op::Wait { on, lock, timeout } => Op::Wait { on: to.set(on), lock: to.lock(lock), timeout },
            Op::Reacquire { on, lock } => Op::Reacquire { on: to.set(on), lock: to.lock(lock) },
            Op::Notify { on, all } => Op::Notify { on: to.set(on), all },
            Op::Join(thread) => Op::Join(to.thread(thread)),
            Op::Interrupt(thread) => Op::Interrupt(to.thread(thread)),
            Op::ReadInterrupt(thread) => Op::ReadInterrupt(to.thread(thread)),
            Op::Fence(looper) => Op::Fence(to.thread(looper)),
            Op::Quit { looper, safely } => Op::Quit { looper: to.thread(looper), safely },
            Op::Cancel { target, body, token } => Op::Cancel { target: to.target(target), body, token },
            Op::Post { target, body, args, time, is_async, options, instance } => {
                let args = self.renamed_args(body, args, to);
                Op::Post { target: to.target(target), body, args, time, is_async, options, instance }
            }
            Op::Enable { event, args, instance } => {
                let body = self.world.setup.events[event].body;
                Op::Enable { event, args: self.renamed_args(body, args, to), instance }
            }
            // Nothing of these operations is an element or refers to a thing with one.
            _ => op,
        }
    }

    // Keeps renamed copies of the arguments of a body, followed by the values of options (an object and a delay).
    fn renamed_args(&mut self, body: BodyId, args: Args, to: &Renamer<'_>) -> Args {
        let world = &mut self.world;
        let (first, count) = (args.first as usize, args.count as usize);
        // Values of options follow the arguments, two at most.
        let end = world.args.len().min(first + count + 2);
        let mut values = world.args[first..end].to_vec();
        for (value, kind) in values.iter_mut().zip(self.guest.parameter_kinds(body)).take(count) {
            *value = to.by.value(*kind, *value);
        }
        let first = world.args.len() as u32;
        world.args.extend_from_slice(&values);
        if count == 0 && values.is_empty() { args } else { Args { first, ..args } }
    }

    fn rename_synchronization(&mut self, to: &Renamer<'_>) {
        let world = &mut self.world;
        let old: Vec<_> = world.locks.iter().cloned().collect();
        for (lock, mut record) in old.into_iter().enumerate() {
            record.owner = to.owner(record.owner);
            to.threads(&mut record.waiters);
            let new = to.lock(LockId::new(lock));
            world.locks[new] = record;
        }
        let old: Vec<_> = world.conditions.iter().cloned().collect();
        for (condition, mut waiters) in old.into_iter().enumerate() {
            to.threads(&mut waiters);
            let new = to.condition(ConditionId::new(condition));
            world.conditions[new] = waiters;
        }
        for lock in world.rwlocks.iter_mut() {
            lock.writer = to.owner(lock.writer);
            to.threads(&mut lock.readers);
            to.threads(&mut lock.announced);
        }
    }

    fn rename_messages(&mut self, to: &Renamer<'_>) {
        let loopers: Vec<ThreadId> = self.world.loopers.iter().collect();
        for looper in loopers {
            let Some(mut queue) = self.world.threads[looper].queue.take() else { continue };
            for task in queue.tasks_mut() {
                task.args = self.renamed_args(task.body, task.args, to);
                task.target = to.target(task.target);
            }
            self.world.threads[looper].queue = Some(queue);
        }
        for event in (0..self.world.events.len()).map(crate::event::EventId::new) {
            let body = self.world.setup.events[event].body;
            let mut enables = std::mem::take(&mut self.world.events[event].enables);
            for (args, _) in &mut enables {
                *args = self.renamed_args(body, *args, to);
            }
            self.world.events[event].enables = enables;
        }
    }

    /// Returns a digest of how an element sees the content of a slot, and the slot itself. The sum over all slots is
    /// the same after a renaming, for the new element.
    #[must_use]
    pub fn seen(&self, slots: &Slots, slot: usize, lens: &Lens, room: &mut Canonicalizer) -> u64 {
        let (world, slot_of) = (&self.world, slots.slot(slot));
        if let Slot::Cells(part) = slot_of {
            let cells = world.global_cells(part).map(|cell| {
                let digest = self.seen_digest(lens, room, |w, machine| {
                    w.value(machine.guest.global_kinds()[cell], world.memory.cells[cell]);
                });
                mixed(0, lens.cells[cell], digest)
            });
            return cells.fold(0, u64::wrapping_add);
        }
        let (kind, code) = match slot_of {
            Slot::Thread(thread) => (1, lens.threads[thread.index()]),
            Slot::Lock(lock) => (2, lens.locks[lock.index()]),
            Slot::Condition(condition) => (3, lens.conditions[condition.index()]),
            Slot::Clock => return 0,
            _ => (4, slot as u64),
        };
        let digest = self.seen_digest(lens, room, |w, machine| machine.write_slot(slot_of, w));
        mixed(kind, code, digest)
    }

    fn seen_digest(
        &self,
        lens: &Lens,
        room: &mut Canonicalizer,
        write: impl FnOnce(&mut CanonicalWriter<'_>, &Self),
    ) -> u64 {
        room.clear_parts(self.world.declared());
        write(&mut CanonicalWriter { world: &self.world, room, lens: Some(lens) }, self);
        xxh3_64_with_seed(room.bytes(), 0)
    }
}

fn mixed(kind: u64, code: u64, digest: u64) -> u64 {
    let words = [kind, code, digest].map(u64::to_le_bytes);
    xxh3_64_with_seed(words.as_flattened(), 1)
}

impl CanonicalWriter<'_> {
    /// Returns the word of a thread with this canonical number.
    #[inline]
    pub(super) fn thread_word(&self, number: u64) -> u64 {
        self.lens.map_or(number, |lens| seen(&lens.threads, number))
    }

    /// Returns the word of a value that a renaming may change, or of a plain one.
    #[inline]
    pub(super) fn plain_word(&self, kind: WordKind, value: Value) -> u64 {
        let Some(lens) = self.lens else { return value as u64 };
        match kind {
            WordKind::Lock => seen(&lens.locks, value as u64),
            WordKind::Condition => seen(&lens.conditions, value as u64),
            WordKind::Element(class) => lens.element(class, value),
            WordKind::Place => seen(&lens.cells, value as u64),
            _ => value as u64,
        }
    }
}
