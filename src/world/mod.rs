//! The world: the state of a running app and the steps that change it (DroidRacer, figure 5, made executable, with Java's monitors, Android's queues, a heap, a virtual clock and an environment).
//!
//! The world knows operations, not programs: a [`Guest`] says what each thread is about to do, a [`Machine`] puts the two together.
//! It draws nothing: every step is a [`Choice`](crate::event::Choice) that somebody else made.

mod clock;
mod contexts;
mod enabled;
mod ending;
mod environment;
mod inspect;
mod machine;
mod memory;
mod perform;
mod queue;
mod setup;
mod signature;
mod snapshot;
mod sync;
mod threads;
mod waiting;

pub use contexts::{Contexts, Made};
pub use enabled::{Openings, Question};
pub use inspect::Standing;
pub use machine::{Guest, Machine, Next};
pub use memory::{List, Memory, Object};
pub use perform::{Reply, Thrown};
pub use queue::{Message, MessageKind, Queue, TaskMessage};
pub use setup::{EventSetup, FirstValue, Limits, Prefer, Setup, ThreadSetup};
pub use signature::{alike, signature};
pub use snapshot::{Canonical, CanonicalWriter, Kind, Snapshot};
pub use threads::{Status, Thread};

use crate::base::{IdSet, IndexVec};
use crate::event::{
    BarrierId, ConditionId, ContextId, Event, EventId, HandlerId, Happening, LimitKind, ListenerId, LockId, Outcome,
    RwLockId, SemaphoreId, SiteId, ThreadId,
};
use environment::EventState;
use std::sync::Arc;
use sync::{Barrier, Lock, RwLock, Semaphore};

/// The state of a running app.
#[derive(Clone)]
pub struct World {
    pub(crate) setup: Arc<Setup>,
    limits: Limits,
    contexts: Contexts,
    threads: IndexVec<ThreadId, Thread>,
    memory: Memory,
    locks: IndexVec<LockId, Lock>,
    conditions: IndexVec<ConditionId, Vec<ThreadId>>,
    rwlocks: IndexVec<RwLockId, RwLock>,
    semaphores: IndexVec<SemaphoreId, Semaphore>,
    barriers: IndexVec<BarrierId, Barrier>,
    handlers: IndexVec<HandlerId, ThreadId>,
    listeners: IndexVec<ListenerId, Vec<crate::event::BodyId>>,
    events: IndexVec<EventId, EventState>,
    now: u64,
    // No deadline lies after this instant; a bound, so that the usual question "does time matter?" costs a comparison.
    horizon: u64,
    stall: u64,
    // Delays that this run has used, besides those that the program names.
    delays: Vec<u64>,
    steps: u64,
    // Threads whose pending operation could be performed now.
    enabled: IdSet<ThreadId>,
    fireable: IdSet<EventId>,
    daemons: IdSet<ThreadId>,
    // Threads at an `await`; those that stand at anything with a deadline.
    awaiting: IdSet<ThreadId>,
    timed: IdSet<ThreadId>,
    // Threads forked in this step, which have yet to reach their first operation.
    newborn: Vec<ThreadId>,
    memory_changed: bool,
    refused_posts: u32,
    // Of objects and stacks, those of the dead as well.
    cells: u64,
    outcome: Option<Outcome>,
    recording: bool,
    recorded: Vec<Event>,
}

impl World {
    /// An empty world of this setup; [`Machine`] starts it.
    pub(crate) fn new(setup: Arc<Setup>, limits: Limits) -> Self {
        Self {
            setup,
            limits,
            contexts: Contexts::default(),
            threads: IndexVec::new(),
            memory: Memory::default(),
            locks: IndexVec::new(),
            conditions: IndexVec::new(),
            rwlocks: IndexVec::new(),
            semaphores: IndexVec::new(),
            barriers: IndexVec::new(),
            handlers: IndexVec::new(),
            listeners: IndexVec::new(),
            events: IndexVec::new(),
            now: 1,
            horizon: 0,
            stall: 0,
            delays: Vec::new(),
            steps: 0,
            enabled: IdSet::new(),
            fireable: IdSet::new(),
            daemons: IdSet::new(),
            awaiting: IdSet::new(),
            timed: IdSet::new(),
            newborn: Vec::new(),
            memory_changed: false,
            refused_posts: 0,
            cells: 0,
            outcome: None,
            recording: false,
            recorded: Vec::new(),
        }
    }

    /// Back to the start of the app: everything that is declared exists, nothing has run.
    pub(crate) fn reset(&mut self) {
        let setup = self.setup.clone();
        self.contexts.clear();
        self.threads.clear();
        self.enabled.clear();
        self.fireable.clear();
        self.daemons.clear();
        self.awaiting.clear();
        self.timed.clear();
        self.newborn.clear();
        self.recorded.clear();
        self.delays.clear();
        (self.now, self.horizon, self.stall, self.steps, self.refused_posts) = (1, 0, 0, 0, 0);
        (self.memory_changed, self.cells, self.outcome) = (false, 0, None);
        for (id, thread) in setup.threads.enumerate() {
            let home = self.contexts.root(Made::Declared(id));
            self.threads.push(Thread::new(home, thread.daemon, thread.looper));
            self.daemons.set(id, thread.daemon);
        }
        self.locks.clear();
        self.locks.extend(setup.locks.iter().map(|(_, reentrant)| Lock::new(*reentrant, None)));
        self.conditions.clear();
        self.conditions.resize(setup.conditions.len(), Vec::new());
        self.rwlocks.clear();
        self.rwlocks.extend(setup.rwlocks.iter().map(|(_, prefer)| RwLock {
            prefer: *prefer,
            writer: None,
            readers: Vec::new(),
            announced: Vec::new(),
            standing: Default::default(),
        }));
        self.semaphores.clear();
        self.semaphores.extend(
            setup.semaphores.iter().map(|(_, count)| Semaphore { count: *count, standing: Default::default() }),
        );
        self.barriers.clear();
        self.barriers.extend(setup.barriers.iter().map(|(_, parties)| Barrier {
            parties: *parties,
            arrived: 0,
            generation: 0,
            standing: Default::default(),
        }));
        self.handlers.clear();
        self.handlers.extend(setup.handlers.iter().map(|(_, looper)| *looper));
        self.listeners.clear();
        self.listeners.resize(setup.listeners.len(), Vec::new());
        self.events.clear();
        self.events.extend(setup.events.iter().map(|e| EventState::new(e.initially)));
        for (id, event) in setup.events.enumerate() {
            self.fireable.set(id, event.initially > 0);
        }
        self.memory.cells.clear();
        self.memory.objects.clear();
        self.memory.lists.clear();
    }

    /// Fills the memory with its first values, made in the name of `maker`.
    pub(crate) fn fill_memory(&mut self, maker: ContextId) {
        let setup = self.setup.clone();
        self.memory.cells.resize(setup.cells.len(), 0);
        for class in &setup.objects {
            self.allocate(*class, maker);
        }
        for (i, value) in setup.cells.iter().enumerate() {
            self.memory.cells[i] = self.first_value(value, maker);
        }
    }

    /// The names and counts that this world started with.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The limits of its run.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Pedigrees.
    #[must_use]
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Its threads.
    #[must_use]
    pub fn threads(&self) -> &IndexVec<ThreadId, Thread> {
        &self.threads
    }

    /// A thread.
    #[inline]
    #[must_use]
    pub fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread]
    }

    /// The name of a thread: its pedigree.
    #[must_use]
    pub fn thread_name(&self, thread: ThreadId) -> String {
        self.contexts.name(&self.setup, self.threads[thread].home)
    }

    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The virtual clock in milliseconds; it starts at 1.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Milliseconds that passed while some thread could have run.
    #[must_use]
    pub fn stall(&self) -> u64 {
        self.stall
    }

    /// Steps performed.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Posts that were refused because their looper had quit.
    #[must_use]
    pub fn refused_posts(&self) -> u32 {
        self.refused_posts
    }

    /// How the run ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Ends the run; the first end counts.
    pub fn end(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    /// Counts cells that the run needs from now on; beyond the limit its outcome is set, and it is false.
    pub(crate) fn take_cells(&mut self, cells: usize) -> bool {
        self.cells += cells as u64;
        let limit = u64::from(self.limits.cells);
        if self.cells > limit {
            self.end(Outcome::Limit(LimitKind::Cells, limit));
        }
        self.cells <= limit
    }

    /// The events of the last step, if it is recorded.
    #[must_use]
    pub fn recorded(&self) -> &[Event] {
        &self.recorded
    }

    #[inline]
    pub(crate) fn record(
        &mut self,
        thread: Option<ThreadId>,
        context: Option<ContextId>,
        site: Option<SiteId>,
        what: impl FnOnce() -> Happening,
    ) {
        if self.recording {
            let event = Event { step: self.steps, thread, context, site, now: self.now, what: what() };
            self.recorded.push(event);
        }
    }
}
