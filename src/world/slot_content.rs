//! The contents of slots: saves those of a machine, and loads them into another one.
//!
//! A content is portable: it can be loaded into any machine of the same program that started in the same state.
//! Argument values are kept with the operation or message that has them. All tasks have one context, because names are
//! no part of a state. Times count from the instant at which the content was saved.

use super::clock::due;
use super::environment::EventState;
use super::queue::Queue;
use super::slots::{Slot, Slots};
use super::sync::{Barrier, Group, LockRecord, RwLock};
use super::threads::{ThreadRecord, ThreadStage};
use super::{Machine, Snapshot, World};
use crate::base::Id;
use crate::event::{Acquisition, Args, BodyId, EventId, LockId, Op, PostOptions, ThreadId, Value};

/// The content of a slot, with the instant at which it was saved.
pub struct SlotContent<S> {
    now: u64,
    what: Content<S>,
}

enum Content<S> {
    Thread(Box<(ThreadRecord, S, Box<[Value]>)>),
    Queue(Box<(Queue, Box<[Value]>)>),
    Cells(Box<[Value]>),
    Lock(LockRecord),
    RwLock(RwLock),
    Semaphore(i64),
    Condition(Vec<ThreadId>),
    Barrier(Barrier),
    Group(Group),
    Object(Box<(bool, LockRecord, Box<[Value]>)>),
    Environment(Box<SavedEnvironment>),
    Clock,
}

// The bodies that each listener runs, the state of each event, and argument values.
type SavedEnvironment = (Vec<Vec<BodyId>>, Vec<EventState>, Box<[Value]>);

impl<S> SlotContent<S> {
    /// Returns the bytes that the content takes, approximately.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let more = match &self.what {
            Content::Thread(saved) => size_of_val(&**saved) + size_of_val(&*saved.2) + OF_A_STAND,
            Content::Queue(saved) => saved.0.bytes() + size_of_val(&*saved.1),
            Content::Cells(cells) => size_of_val(&**cells),
            Content::Object(saved) => size_of_val(&**saved) + size_of_val(&*saved.2),
            Content::Environment(saved) => size_of_val(&**saved) + size_of_val(&*saved.2),
            _ => 0,
        };
        (size_of::<Self>() + more) as u64
    }
}

// Bytes of what a guest allocates for a thread, approximately.
const OF_A_STAND: usize = 256;

// Argument values that a machine keeps before it is filled anew.
const MOST_ARGS: usize = 256;

// A generation that no barrier or group has in a state that was loaded: they start at 0, and a step ends few of them.
const PASSED: u32 = u32::MAX / 2;

impl World {
    fn relative(of: u32, now: u32) -> u32 {
        if of == now { 0 } else { PASSED }
    }

    // Moves argument values to `values`.
    fn take_args(&self, args: &mut Args, more: usize, values: &mut Vec<Value>) {
        let first = values.len();
        values.extend_from_slice(&self.args[args.first as usize..][..args.count as usize + more]);
        args.first = if args.count as usize + more == 0 { 0 } else { first as u32 };
    }

    fn thread_content<S>(&self, thread: ThreadId, slots: &Slots, stand: S) -> Content<S> {
        let mut record = ThreadRecord::default();
        let t = &self.threads[thread];
        record.clone_stand(t);
        if record.in_task() {
            record.context = slots.task;
        }
        let mut values = Vec::new();
        match &mut record.pending {
            Op::Pass { barrier, generation } => {
                *generation = Self::relative(*generation, self.barriers[*barrier].generation);
            }
            Op::GroupPass { group, generation } => {
                *generation = Self::relative(*generation, self.groups[*group].generation);
            }
            pending => {
                if let Some((args, more)) = args_of(pending) {
                    self.take_args(args, more, &mut values);
                }
            }
        }
        Content::Thread(Box::new((record, stand, values.into())))
    }

    fn queue_content<S>(&self, queue: &Queue, slots: &Slots) -> Content<S> {
        let (mut queue, mut values) = (queue.clone(), Vec::new());
        for task in queue.tasks_mut() {
            (task.context, task.first) = (slots.task, slots.task);
            self.take_args(&mut task.args, values_of(task.options), &mut values);
        }
        Content::Queue(Box::new((queue, values.into())))
    }

    fn environment_content<S>(&self) -> Content<S> {
        let (mut events, mut values) = (self.events.to_vec(), Vec::new());
        for (args, _) in events.iter_mut().flat_map(|event| &mut event.enables) {
            self.take_args(args, 0, &mut values);
        }
        Content::Environment(Box::new((self.listeners.to_vec(), events, values.into())))
    }
}

// The values of the options of a post, which follow its arguments.
fn values_of(options: PostOptions) -> usize {
    usize::from(options.has(PostOptions::TOKEN)) + usize::from(options.has(PostOptions::EVERY))
}

// The arguments of an operation, and the number of values that follow them.
fn args_of(op: &mut Op) -> Option<(&mut Args, usize)> {
    match op {
        Op::Post { args, options, .. } => Some((args, values_of(*options))),
        Op::Fork { args, .. } | Op::Enable { args, .. } | Op::Launch { args, .. } => Some((args, 0)),
        Op::Select { cases, .. } | Op::Selected { cases } => Some((cases, 0)),
        _ => None,
    }
}

fn shifted(when: u64, from: u64, to: u64) -> u64 {
    match when {
        // The front of a queue.
        0 => 0,
        _ if to >= from => when.saturating_add(to - from),
        _ => when.saturating_sub(from - to).max(1),
    }
}

impl<G: Snapshot> Machine<G> {
    /// Returns the content of a slot.
    #[must_use]
    pub fn save_slot(&self, slots: &Slots, slot: usize) -> SlotContent<G::Stand> {
        let world = &self.world;
        let lock = |id: LockId| {
            let mut lock = world.locks[id].clone();
            lock.pending_set.0.clear();
            lock
        };
        let what = match slots.all[slot] {
            Slot::Thread(id) => world.thread_content(id, slots, self.guest.stand(id)),
            Slot::Queue(id) => match &world.threads[id].queue {
                Some(queue) => world.queue_content(queue, slots),
                None => unreachable!("a state that fits has all queues"),
            },
            Slot::Cells(part) => Content::Cells(world.memory.cells[world.global_cells(part)].into()),
            Slot::Lock(id) => Content::Lock(lock(id)),
            Slot::RwLock(id) => Content::RwLock(world.rwlocks[id].clone()),
            Slot::Semaphore(id) => Content::Semaphore(world.semaphores[id].count),
            Slot::Condition(id) => Content::Condition(world.conditions[id].clone()),
            Slot::Barrier(id) => Content::Barrier(Barrier { generation: 0, ..world.barriers[id].clone() }),
            Slot::Group(id) => Content::Group(Group { generation: 0, ..world.groups[id].clone() }),
            Slot::Object(id) => {
                let o = &world.memory.objects[id];
                let cells = world.memory.cells[world.object_cells(id)].into();
                Content::Object(Box::new((o.freed, lock(o.lock), cells)))
            }
            Slot::Environment => world.environment_content(),
            Slot::Clock => Content::Clock,
        };
        SlotContent { now: world.now, what }
    }

    /// Starts to load a state: forgets what no state has. Returns whether the contents of all slots must be loaded.
    /// `first` is this machine as it was when it was divided into slots.
    pub fn begin_load(&mut self, slots: &Slots, first: &Self) -> bool {
        if !self.world.has_only_slots(slots) {
            let scale = self.world.scale;
            self.clone_from(first);
            self.world.scale = scale;
            return true;
        }
        self.world.contexts.keep(slots.contexts);
        let full = self.world.args.len() > MOST_ARGS;
        if full {
            self.world.args.clear();
        }
        full
    }

    /// Loads the content of a slot. That of the clock must be loaded before all others.
    pub fn load_slot(&mut self, slots: &Slots, slot: usize, content: &SlotContent<G::Stand>) {
        let world = &mut self.world;
        let (from, to) = (content.now, world.now);
        let first = world.args.len() as u32;
        match (slots.all[slot], &content.what) {
            (Slot::Thread(id), Content::Thread(saved)) => {
                let (record, stand, values) = &**saved;
                let t = &mut world.threads[id];
                t.clone_stand(record);
                t.deadline = t.deadline.map(|when| shifted(when, from, to));
                if let Some((args, _)) = args_of(&mut t.pending) {
                    args.first += first;
                }
                world.args.extend_from_slice(values);
                self.guest.set_stand(id, stand);
            }
            (Slot::Queue(id), Content::Queue(saved)) => {
                let (queue, values) = &**saved;
                if let Some(loaded) = &mut world.threads[id].queue {
                    (**loaded).clone_from(queue);
                    if from != to {
                        loaded.shift(|when| shifted(when, from, to));
                    }
                    loaded.tasks_mut().for_each(|task| task.args.first += first);
                }
                world.args.extend_from_slice(values);
            }
            (Slot::Cells(part), Content::Cells(cells)) => {
                let at = world.global_cells(part);
                world.memory.cells[at].copy_from_slice(cells);
            }
            (Slot::Lock(id), Content::Lock(lock)) => world.locks[id].clone_from(lock),
            (Slot::RwLock(id), Content::RwLock(lock)) => world.rwlocks[id].clone_from(lock),
            (Slot::Semaphore(id), Content::Semaphore(count)) => world.semaphores[id].count = *count,
            (Slot::Condition(id), Content::Condition(waiters)) => world.conditions[id].clone_from(waiters),
            (Slot::Barrier(id), Content::Barrier(barrier)) => world.barriers[id].clone_from(barrier),
            (Slot::Group(id), Content::Group(group)) => world.groups[id].clone_from(group),
            (Slot::Object(id), Content::Object(saved)) => {
                let (freed, lock, cells) = &**saved;
                let at = world.object_cells(id);
                world.memory.cells[at].copy_from_slice(cells);
                let o = &mut world.memory.objects[id];
                o.freed = *freed;
                world.locks[o.lock].clone_from(lock);
            }
            (Slot::Environment, Content::Environment(saved)) => {
                let (listeners, events, values) = &**saved;
                world.listeners.iter_mut().zip(listeners).for_each(|(to, from)| to.clone_from(from));
                world.events.iter_mut().zip(events).for_each(|(to, from)| to.clone_from(from));
                for (args, _) in world.events.iter_mut().flat_map(|event| &mut event.enables) {
                    args.first += first;
                }
                world.args.extend_from_slice(values);
            }
            (Slot::Clock, Content::Clock) => world.now = from,
            (slot, _) => unreachable!("the content of another slot than {slot:?}"),
        }
    }

    /// Ends the loading of a state: computes everything that follows from the contents of the slots.
    pub fn end_load(&mut self, slots: &Slots) {
        let world = &mut self.world;
        world.outcome = None;
        // The horizon is only an upper bound of the deadlines.
        (world.horizon, world.memory_changed) = (u64::MAX, false);
        world.newborn.clear();
        world.recorded.clear();
        for set in [&mut world.enabled, &mut world.awaiting, &mut world.timed, &mut world.workers] {
            set.clear();
        }
        world.locks.iter_mut().for_each(|l| l.pending_set.0.clear());
        world.rwlocks.iter_mut().for_each(|l| l.pending_set.0.clear());
        world.semaphores.iter_mut().for_each(|s| s.pending_set.0.clear());
        world.barriers.iter_mut().for_each(|b| b.pending_set.0.clear());
        world.groups.iter_mut().for_each(|g| g.pending_set.0.clear());
        world.threads.iter_mut().for_each(|t| t.pending_set.0.clear());
        for event in (0..world.events.len()).map(EventId::new) {
            world.fireable.set(event, !world.events[event].enables.is_empty());
        }
        world.cells = slots.taken;
        for thread in (0..slots.threads).map(ThreadId::new) {
            self.world.cells += self.guest.cells(thread);
            if self.world.threads[thread].status == ThreadStage::Alive {
                if matches!(self.world.threads[thread].pending, Op::Await { .. }) {
                    self.world.threads[thread].condition = self.guest.condition(&self.world, thread);
                }
                self.world.enter_pending_set(thread);
            }
        }
        let world = &mut self.world;
        for thread in (0..slots.threads).map(ThreadId::new) {
            let t = &world.threads[thread];
            let (alive, daemon) = (t.status == ThreadStage::Alive, t.daemon);
            world.workers.set(thread, alive && !daemon);
            let enabled = world.is_enabled(thread);
            world.enabled.set(thread, enabled);
        }
    }
}

impl World {
    // Adds a thread to the set of the thing that it is pending at, as `mark_pending` and `refresh` do.
    fn enter_pending_set(&mut self, thread: ThreadId) {
        let op = self.threads[thread].pending;
        if !op.may_block() {
            return;
        }
        self.timed.set(thread, self.threads[thread].deadline.is_some());
        let waits = match op {
            Op::Reacquire { .. } => self.woken(thread),
            // After its deadline the thread no longer needs the lock.
            Op::AcquireFor { of: Acquisition::Lock(_), .. } => !due(self.threads[thread].deadline, self.now),
            _ => true,
        };
        let at = self.pending_at(thread, &op);
        if let Some(set) = self.pending_set_mut(&at).filter(|_| waits) {
            set.set(thread, true);
        }
    }
}
