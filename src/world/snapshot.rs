//! Computes the canonical state: two states have the same canonical state only if nothing that can happen later differs
//! (`docs/semantics.md`, *The canonical state*).
//!
//! A fixed walk writes every value, from the globals through threads, frames and queues. Objects, forked threads and
//! handlers are numbered in the order in which the walk meets them, so unreachable ones are dropped.
//!
//! - Times are written as distances from now, and overdue ones as 0. Absolute times occur only up to the largest
//!   instant that the app posts `at`.
//! - The order of a queue is written by rank.
//! - Not written: now, stall, steps, names, counters.

use super::canonical::{Canonical, Canonicalizer, DeclaredCounts, Part};
use super::kind::WordKind;
use super::queue::Queue;
use super::symmetry::{Lens, Renaming};
use super::threads::ThreadStage;
use super::{Guest, Machine, World};
use crate::base::Id;
use crate::base::mutant::{self, Mutant};
use crate::event::{HandlerId, ListId, LockId, NULL, ObjectId, RequestId, ThreadId, Value};
use smallvec::SmallVec;

/// A guest whose whole state can be cloned, passed to another worker, and written to a canonical state.
///
/// # Examples
///
/// ```
/// use raceflip::{event::{Actor, Choice, ThreadId}, vm::Model, world::Limits};
///
/// // Two threads write two variables: in either order the same state comes out.
/// let model = Model::from_text("two.race", "var x = 0; var y = 0; thread a { x = 1 }; thread b { y = 1 }", &[])?;
/// let mut machine = model.machine(Limits::default());
/// let mut state_after = |order: [u32; 2]| {
///     machine.start(false);
///     for thread in order {
///         machine.step(Choice { actor: Actor::Thread(ThreadId(thread)), argument: 0 });
///     }
///     machine.canonical().digest()
/// };
/// assert_eq!(state_after([0, 1]), state_after([1, 0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Snapshot: Guest + Clone + Send {
    /// Returns the kind of each global cell.
    fn global_kinds(&self) -> &[WordKind];
    /// Returns the kind of each cell of a class.
    fn class_kinds(&self, class: u32) -> &[WordKind];
    /// Returns the kind of each parameter of a body.
    fn parameter_kinds(&self, body: crate::event::BodyId) -> &[WordKind];
    /// Returns the kind of the value that a body returns. By default a plain word.
    fn result_kind(&self, body: crate::event::BodyId) -> WordKind {
        let _ = body;
        WordKind::Word
    }
    /// Writes the guest's state of a thread: program counters, and the live values of its frames.
    fn write_thread(&self, thread: ThreadId, to: &mut CanonicalWriter<'_>);
    /// Returns the guest's state of a thread without references. It is the key by which threads are sorted that nothing
    /// refers to.
    fn thread_key(&self, thread: ThreadId) -> Vec<u64>;
    /// Returns the approximate size of a clone of the guest in bytes.
    fn bytes(&self) -> u64;
    /// The guest's state of one thread. A guest has no other state than that of its threads.
    type Stand: Send + Sync;
    /// Returns a copy of the guest's state of a thread.
    fn stand(&self, thread: ThreadId) -> Self::Stand;
    /// Sets the guest's state of a thread.
    fn set_stand(&mut self, thread: ThreadId, stand: &Self::Stand);
    /// Renames the guest's state of all threads, and gives it to the new threads. By default no program has threads
    /// that are alike.
    fn rename(&mut self, by: &Renaming) {
        let _ = by;
    }
    /// Returns the number of cells of the thread's stack that count for the limit of cells: after
    /// [`set_stand`](Self::set_stand) those that it takes now. By default none.
    fn cells(&self, thread: ThreadId) -> u64 {
        let _ = thread;
        0
    }
    /// Returns what the guest knows of the futures of its threads. `world` is that of a machine at the start. By
    /// default nothing is known.
    fn futures(&self, world: &World) -> Option<super::SharedFutures<Self>> {
        let _ = world;
        None
    }
}

/// Writer of a canonical state.
pub struct CanonicalWriter<'w> {
    pub(super) world: &'w World,
    pub(super) room: &'w mut Canonicalizer,
    /// The element that looks at the state, if it is not written as it is.
    pub(super) lens: Option<&'w Lens>,
}

impl<'w> CanonicalWriter<'w> {
    /// Writes a plain word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.room.word(word);
    }

    /// Writes a value of this kind.
    pub fn value(&mut self, kind: WordKind, value: Value) {
        match kind {
            WordKind::Word => self.word(value as u64),
            WordKind::Lock | WordKind::Condition | WordKind::Element(_) => self.word(self.plain_word(kind, value)),
            // A message that is gone, or a post without a handle, is a word.
            WordKind::Message => self.message(value),
            _ if value == NULL && kind != WordKind::Place => self.word(u64::MAX),
            WordKind::Iterator => {
                self.room.refers();
                let list = &self.world.memory.lists[ListId((value >> 32) as u32)];
                self.word(u64::from(list.version == value as u32));
            }
            WordKind::Object => self.object(ObjectId(value as u32)),
            WordKind::Thread => self.thread(ThreadId(value as u32)),
            WordKind::Handler => self.handler(HandlerId(value as u32)),
            WordKind::Fence => self.fence(value),
            WordKind::Place => {
                let (object, cell) = ((value >> 32) as u32, value as u32);
                match object.checked_sub(1) {
                    Some(object) => {
                        let object = ObjectId(object);
                        self.object(object);
                        self.word(u64::from(cell.wrapping_sub(self.world.memory.objects[object].base)));
                    }
                    None => self.word(self.plain_word(kind, Value::from(cell))),
                }
            }
            WordKind::Request => {
                self.room.refers();
                self.request(RequestId(value as u32));
            }
            WordKind::ListOfWords => self.list(WordKind::Word, value),
            WordKind::ListOfObjects => self.list(WordKind::Object, value),
            WordKind::ListOfThreads => self.list(WordKind::Thread, value),
            WordKind::ListOfHandlers => self.list(WordKind::Handler, value),
            WordKind::ListOfFences => self.list(WordKind::Fence, value),
            WordKind::ListOfMessages => self.list(WordKind::Message, value),
        }
    }

    fn list(&mut self, kind: WordKind, value: Value) {
        self.room.refers();
        let world = self.world;
        let items = &world.memory.lists[ListId(value as u32)].items;
        self.word(items.len() as u64);
        for item in items {
            self.value(kind, *item);
        }
    }

    pub(super) fn object(&mut self, object: ObjectId) {
        let number = self.room.objects.of(object);
        self.word(if mutant::is(Mutant::ObjectsByAllocation) { u64::from(object.0) } else { number });
    }

    pub(super) fn thread(&mut self, thread: ThreadId) {
        let number = self.room.threads.of(thread);
        self.word(self.thread_word(number));
    }

    /// Writes the thread or pool that has a queue.
    pub(super) fn looper(&mut self, looper: ThreadId) {
        match self.world.setup.pools.iter().position(|pool| pool.workers().any(|worker| worker == looper)) {
            Some(pool) => {
                self.word(u64::MAX - 2);
                self.word(pool as u64);
            }
            None => self.thread(looper),
        }
    }

    // Writes the queues of pools. The workers are written like other threads.
    fn pools<G: Snapshot>(&mut self, guest: &G) {
        let world = self.world;
        for (number, pool) in world.setup.pools.iter().enumerate() {
            if let Some(queue) = &world.threads[pool.first].queue {
                self.queue(guest, queue);
            }
            self.room.part(Part::Pool(number));
        }
    }

    pub(super) fn optional_thread(&mut self, thread: Option<ThreadId>) {
        match thread {
            Some(thread) => self.thread(thread),
            None => self.word(u64::MAX),
        }
    }

    pub(super) fn handler(&mut self, handler: HandlerId) {
        let declared = self.world.setup.handlers.len() as u64;
        if (handler.index() as u64) < declared {
            self.word(handler.index() as u64);
        } else {
            let number = declared + self.room.handlers.of(handler);
            self.word(number);
            self.looper(self.world.handlers[handler]);
        }
    }

    pub(super) fn lock(&mut self, lock: LockId) {
        let world = self.world;
        let l = &world.locks[lock];
        self.optional_thread(l.owner);
        self.word(u64::from(l.depth));
        self.threads_in_order(&l.waiters);
    }

    pub(super) fn threads_in_order(&mut self, threads: &[ThreadId]) {
        if mutant::is(Mutant::WaitersNotInForm) {
            return;
        }
        self.word(threads.len() as u64);
        for thread in threads {
            self.thread(*thread);
        }
    }

    // Writes a set of threads, whose order cannot matter later, as sorted numbers. The walk has already numbered all
    // live threads. A holder that has ended may get its number here.
    pub(super) fn threads_as_set(&mut self, threads: &[ThreadId]) {
        let mut numbers: SmallVec<[u64; 8]> = Default::default();
        for thread in threads {
            let number = self.room.threads.of(*thread);
            numbers.push(self.thread_word(number));
        }
        numbers.sort_unstable();
        self.word(numbers.len() as u64);
        numbers.into_iter().for_each(|n| self.word(n));
    }

    // Writes the state of a thread without its queue. A thread that has none, or a worker of a pool, says so.
    pub(super) fn stand<G: Snapshot>(&mut self, guest: &G, thread: ThreadId) {
        let t = &self.world.threads[thread];
        self.word(t.status as u64);
        // A new thread is pending nowhere: the run ended in the step that created it.
        if t.status == ThreadStage::Alive {
            self.mark_pending(guest, thread);
        }
        if let Some(job) = &t.job {
            self.job(guest, thread, job);
        }
        if self.own_queue(thread).is_none() {
            self.word(0);
        }
    }

    fn own_queue(&self, thread: ThreadId) -> Option<&'w Queue> {
        let world = self.world;
        world.threads[thread].queue.as_deref().filter(|_| world.pool(thread).is_none())
    }

    // Writes the state of a live thread: the world's part of it, then the guest's.
    pub(super) fn mark_pending<G: Snapshot>(&mut self, guest: &G, thread: ThreadId) {
        self.world.pending_words(thread).into_iter().for_each(|w| self.word(w));
        if !self.world.channels.is_empty() {
            self.handover(thread);
        }
        guest.write_thread(thread, self);
    }

    pub(super) fn values(&mut self, kinds: &[WordKind], values: &[Value]) {
        for (kind, value) in kinds.iter().zip(values) {
            self.value(*kind, *value);
        }
    }

    pub(super) fn object_state<G: Snapshot>(&mut self, guest: &G, object: ObjectId) {
        let world = self.world;
        let o = &world.memory.objects[object];
        self.word(u64::from(o.class) << 1 | u64::from(o.freed && !mutant::is(Mutant::FreedNotInForm)));
        self.lock(o.lock);
        for (i, kind) in guest.class_kinds(o.class).iter().enumerate() {
            self.value(*kind, world.memory.cells[o.base as usize + i]);
        }
    }

    // Writes all threads and objects that have been numbered but not written, until no new ones are met. `done` counts
    // the threads and objects that have been written.
    fn expand<G: Snapshot>(&mut self, guest: &G, done: &mut (usize, usize)) {
        while done.0 < self.room.threads.visited.len() || done.1 < self.room.objects.visited.len() {
            if done.0 < self.room.threads.visited.len() {
                let thread = self.room.threads.visited[done.0];
                self.stand(guest, thread);
                self.room.part(Part::Thread(done.0));
                if let Some(queue) = self.own_queue(thread) {
                    self.queue(guest, queue);
                    self.room.part(Part::Queue(done.0));
                }
                done.0 += 1;
            } else {
                self.object_state(guest, self.room.objects.visited[done.1]);
                self.room.part(Part::Object(done.1));
                done.1 += 1;
            }
        }
    }

    // Writes the threads that nothing refers to, but that are live or leave messages (`stuck`). They are sorted by
    // their own state, so their order does not depend on the order of their creation, as far as that state
    // distinguishes them.
    fn strangers<G: Snapshot>(&mut self, guest: &G, done: &mut (usize, usize)) {
        let world = self.world;
        if world.threads.len() == self.room.threads.visited.len() {
            return;
        }
        let mut alone: Vec<_> = world
            .threads
            .enumerate()
            .filter(|(_, t)| t.status == ThreadStage::Alive || t.queue.as_ref().is_some_and(|q| q.tasks() > 0))
            .filter(|(id, _)| self.room.threads.known(*id).is_none())
            .map(|(id, _)| (world.pending_words(id), guest.thread_key(id), id))
            .collect();
        alone.sort();
        for (_, _, thread) in alone {
            self.room.threads.of(thread);
            self.expand(guest, done);
        }
    }

    /// Writes one part of the global cells, by its number.
    pub(super) fn cells<G: Snapshot>(&mut self, guest: &G, part: usize) {
        let at = self.world.global_cells(part);
        for (kind, value) in guest.global_kinds()[at.clone()].iter().zip(&self.world.memory.cells[at]) {
            self.value(*kind, *value);
        }
    }

    pub(super) fn listeners_and_events<G: Snapshot>(&mut self, guest: &G) {
        let world = self.world;
        for bodies in world.listeners.iter() {
            self.word(bodies.len() as u64);
            bodies.iter().for_each(|b| self.word(u64::from(b.0)));
        }
        for (id, event) in world.events.enumerate() {
            let kinds = guest.parameter_kinds(world.setup.events[id].body);
            self.word(event.enables.len() as u64);
            for (args, _) in &event.enables {
                self.values(kinds, world.args(*args));
            }
        }
    }
}

impl World {
    /// Gives the declared threads and objects their numbers, which are those of every state that has nothing else.
    pub fn number_declared(&self, room: &mut Canonicalizer) {
        room.clear_parts(self.declared());
    }

    /// Returns the number of threads and objects that are numbered by declaration: the declared threads, and the
    /// objects that immutable names of the program stand for.
    pub(crate) fn declared(&self) -> DeclaredCounts {
        DeclaredCounts { threads: self.setup.threads.len(), objects: self.setup.objects.len() }
    }
}

impl<G: Snapshot> Machine<G> {
    /// Returns the canonical form of this state.
    #[must_use]
    pub fn canonical(&self) -> Canonical {
        let mut room = Canonicalizer::new();
        self.canonical_in(&mut room);
        room.into_canonical()
    }

    /// Returns the approximate size of a clone of the machine in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.world.bytes() + self.guest.bytes()
    }

    /// Computes the [`canonical`](Self::canonical) form into a buffer that can be reused.
    pub fn canonical_in(&self, room: &mut Canonicalizer) {
        let (world, guest) = (&self.world, &self.guest);
        room.clear();
        let declared = world.declared();
        match world.setup.pools.is_empty() {
            true => room.start((0..declared.threads).map(ThreadId::new), declared),
            false => room.start(world.declared_threads(), declared),
        }
        let mut w = CanonicalWriter { world, room, lens: None };
        w.word(if world.now <= world.absolute_until() { world.now } else { 0 });
        w.word(u64::from(world.outcome.is_some()));
        w.room.part(Part::Head);
        for part in 0..world.setup.cells.len().div_ceil(world.cells_in_part()) {
            w.cells(guest, part);
            w.room.part(Part::Cells(part));
        }
        let mut done = (0, 0);
        w.expand(guest, &mut done);
        w.pools(guest);
        w.expand(guest, &mut done);
        // Strangers come after all threads that globals, frames and queues refer to.
        w.strangers(guest, &mut done);
        w.synchronization();
        w.listeners_and_events(guest);
        w.room.part(Part::Environment);
        w.platform(guest);
        w.waiting_jobs();
        // Locks, conditions and enables may refer to threads and objects that the walk has not met before.
        w.expand(guest, &mut done);
    }
}
