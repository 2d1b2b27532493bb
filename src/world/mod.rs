//! The state of a running app, and the steps that change it.
//!
//! The model of execution is DroidRacer's (figure 5), made executable, with Java's monitors, Android's queues, a heap,
//! a virtual clock and an environment.
//!
//! A [`World`] knows operations, not programs. A [`Guest`] says which operation each thread performs next, and a
//! [`Machine`] combines a world with a guest. The world contains no randomness: each step is a
//! [`Choice`](crate::event::Choice) of the caller.
//!
//! - To inspect a run: [`World`] (threads, clock, queues, outcome), [`Memory`], [`Contexts`] (the names of threads and
//!   tasks).
//! - To perform a run step by step: [`Machine`].
//! - To compare states: [`Snapshot`].
//! - To test a program of another kind: [`Program`] and its [`Guest`].
//! - To bound a run: [`Limits`].
//!
//! The other items serve strategies and guests.

mod acts;
mod afterwards;
mod canonical;
mod canonical_jobs;
mod canonical_sync;
mod channels;
mod class;
mod clock;
mod contexts;
mod effects;
mod enabled;
mod ending;
mod environment;
mod exchange;
mod footprint;
mod future;
mod idle;
mod in_place;
mod independent;
mod inspect;
mod job_blocks;
mod job_ends;
mod job_waits;
mod jobs;
mod kind;
mod machine;
mod made;
mod memory;
mod messages;
mod mixed;
mod pending;
mod perform;
mod platform;
mod platform_state;
mod pools;
mod program;
mod question;
mod queue;
mod queue_form;
mod rename;
mod renew;
mod rows;
mod setup;
mod signature;
mod slot_content;
mod slots;
mod snapshot;
mod symmetry;
mod sync;
mod threads;
mod touch;
mod waiting;

pub use acts::{Act, Manner};
pub use canonical::{Canonical, Canonicalizer, DeclaredCounts};
pub use channels::{Capacity, ChannelSetup, Exchanged, Handover, SelectCase};
pub(crate) use class::{PostClass, Time};
pub use clock::Scale;
pub(crate) use clock::divisor;
pub use contexts::{Contexts, CreationKind};
pub use effects::{Change, Effects, How, LockHold, Signal, Thing, ThingEffect};
pub use enabled::Openings;
pub use footprint::{Facts, Keeps, Meets};
pub use future::{ActSet, Futures, SharedFutures};
pub use in_place::Alone;
pub(crate) use independent::{StepMark, independent, is_quiet};
pub use inspect::SyncObjectState;
pub use jobs::{Job, JobEnd, JobStage};
pub use kind::WordKind;
pub use machine::{Guest, Machine, Next};
pub use made::MadeName;
pub use memory::{ListMemory, Memory, Object};
pub use mixed::MixedAtomics;
pub(crate) use perform::REFERENCE_EXCEPTIONS;
pub use perform::{Reply, ThrownException};
pub use platform::{ComponentSetup, Instance, Platform, PlatformSetup, RowSetup};
pub use pools::PoolSetup;
pub use program::{EndValues, Program, Search};
pub use question::Question;
pub use queue::{Message, MessageKind, Queue, TaskMessage};
pub use setup::{EventSetup, FirstValue, Limits, Prefer, Setup, ThreadSetup};
pub use signature::{alike, signature};
pub use slot_content::SlotContent;
pub use slots::Slots;
pub use snapshot::{CanonicalWriter, Snapshot};
pub use symmetry::{CellArray, CellDimension, ElementRange, Lens, Renaming, Symmetry, ThingArray};
pub use threads::{ThreadRecord, ThreadStage};
pub use touch::{SitePart, Statement, StatementKind, Touch, TouchContext, TouchMap, TouchedPlace};

use crate::base::{IdSet, IndexVec, Pool};
use crate::event::{
    Args, BarrierId, ChannelId, ConditionId, ContextId, Event, EventId, EventKind, GroupId, HandlerId, LimitKind,
    ListenerId, LockId, Outcome, RwLockId, SemaphoreId, SiteId, ThreadId, Value,
};
use channels::Channel;
use environment::EventState;
use memory::ANYTHING;
use std::sync::Arc;
use sync::{Barrier, Group, LockRecord, RwLock, Semaphore};

/// State of a running app.
pub struct World {
    pub(crate) setup: Arc<Setup>,
    limits: Limits,
    contexts: Contexts,
    threads: Pool<ThreadId, ThreadRecord>,
    memory: Memory,
    locks: Pool<LockId, LockRecord>,
    conditions: IndexVec<ConditionId, Vec<ThreadId>>,
    rwlocks: IndexVec<RwLockId, RwLock>,
    semaphores: IndexVec<SemaphoreId, Semaphore>,
    barriers: IndexVec<BarrierId, Barrier>,
    groups: IndexVec<GroupId, Group>,
    channels: IndexVec<ChannelId, Channel>,
    // Decisions for parked threads that have not gone on yet.
    handovers: Vec<Handover>,
    // How the send, receive or case of the last step on a channel ended. Not part of the state.
    exchanged: Exchanged,
    handlers: IndexVec<HandlerId, ThreadId>,
    listeners: IndexVec<ListenerId, Vec<crate::event::BodyId>>,
    events: IndexVec<EventId, EventState>,
    // Platform memory, if the program has components.
    platform: Option<Box<Platform>>,
    now: u64,
    scale: Scale,
    // Upper bound of all deadlines. If it is not after `now`, no deadline lies ahead, so the frequent question whether
    // the clock may move costs one comparison. It is infinite once a daemon message was posted, so that the frequent
    // question whether the run rests costs nothing else.
    horizon: u64,
    stall: u64,
    // Delays that this run has used and that are not constants of the program (`Setup::delays`), ascending.
    delays: Vec<u64>,
    // Arguments of the operations of this run; an `Args` is a range of it.
    args: Vec<Value>,
    steps: u64,
    // Threads whose pending operation can be performed now.
    enabled: IdSet<ThreadId>,
    fireable: IdSet<EventId>,
    daemons: IdSet<ThreadId>,
    // Threads that are pending at an `await`.
    awaiting: IdSet<ThreadId>,
    // Threads that are pending at a `select`.
    selecting: IdSet<ThreadId>,
    // Threads that are pending at an operation with a deadline.
    timed: IdSet<ThreadId>,
    // Threads with a message queue. A run may have many threads and few queues, and the clock asks all of them.
    loopers: IdSet<ThreadId>,
    // Threads that are no daemons and have not ended: the app rests when all of them are idle.
    workers: IdSet<ThreadId>,
    jobs: jobs::Jobs,
    // The pools of the program.
    pools: Vec<pools::PoolState>,
    // What a guest has made during the run, besides objects.
    made: Option<Box<made::MadeNames>>,
    // Threads that were forked or spawned in this step and have not run to their first operation yet.
    newborn: Vec<ThreadId>,
    memory_changed: bool,
    // The only cell that the last step with a write has changed, or `ANYTHING` if it may have changed more.
    changed: u32,
    refused_posts: u32,
    // Number of cells of objects and stacks that the run has taken so far, including those of freed objects and ended
    // threads.
    cells: u64,
    outcome: Option<Outcome>,
    recording: bool,
    recorded: Vec<Event>,
}

crate::clone_in_place!(World {
    setup,
    limits,
    contexts,
    threads,
    memory,
    locks,
    exchanged,
    now,
    scale,
    horizon,
    stall,
    args,
    steps,
    enabled,
    fireable,
    daemons,
    awaiting,
    selecting,
    timed,
    loopers,
    workers,
    memory_changed,
    changed,
    refused_posts,
    cells,
    outcome,
    recording,
} rare {
    conditions,
    rwlocks,
    semaphores,
    barriers,
    groups,
    channels,
    handovers,
    handlers,
    listeners,
    events,
    platform,
    delays,
    jobs,
    pools,
    newborn,
    made,
    recorded,
});

impl World {
    /// Creates an empty world with this setup. [`Machine::start`] fills it.
    pub(crate) fn new(setup: Arc<Setup>, limits: Limits) -> Self {
        fn count<I: crate::base::Id, T: Default>(n: usize) -> IndexVec<I, T> {
            (0..n).map(|_| T::default()).collect()
        }
        Self {
            limits,
            contexts: Contexts::default(),
            threads: Pool::new(),
            memory: Memory::default(),
            locks: Pool::new(),
            conditions: count(setup.conditions.len()),
            rwlocks: setup.rwlocks.iter().map(|(_, prefer)| RwLock::new(*prefer)).collect(),
            semaphores: count(setup.semaphores.len()),
            barriers: count(setup.barriers.len()),
            groups: count(setup.groups.len()),
            channels: count(setup.channels.len()),
            handovers: Vec::new(),
            exchanged: Exchanged::Sent,
            handlers: IndexVec::new(),
            listeners: count(setup.listeners.len()),
            events: count(setup.events.len()),
            platform: (!setup.platform.is_empty()).then(Box::default),
            now: 1,
            scale: Scale::default(),
            horizon: 0,
            stall: 0,
            delays: Vec::new(),
            args: Vec::new(),
            steps: 0,
            enabled: IdSet::new(),
            fireable: IdSet::new(),
            daemons: IdSet::new(),
            awaiting: IdSet::new(),
            selecting: IdSet::new(),
            timed: IdSet::new(),
            loopers: IdSet::new(),
            workers: IdSet::new(),
            jobs: jobs::Jobs::default(),
            pools: vec![pools::PoolState::default(); setup.pools.len()],
            newborn: Vec::new(),
            made: None,
            memory_changed: false,
            changed: ANYTHING,
            refused_posts: 0,
            cells: 0,
            outcome: None,
            recording: false,
            recorded: Vec::new(),
            setup,
        }
    }

    /// Fills the memory with its first values. `maker` counts as the creator of the objects.
    pub(crate) fn fill_memory(&mut self, maker: ContextId) {
        let setup = self.setup.clone();
        self.memory.cells.resize(setup.cells.len(), 0);
        self.allocate_declared(maker);
        for (i, value) in setup.cells.iter().enumerate() {
            self.memory.cells[i] = self.first_value(value, maker);
        }
    }

    /// Returns the names and counts that this world was created with.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the limits of this run.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the pedigrees of all threads and tasks of this run.
    #[must_use]
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Returns all threads of this run, including threads that have ended.
    #[must_use]
    pub fn threads(&self) -> &Pool<ThreadId, ThreadRecord> {
        &self.threads
    }

    /// Returns a thread.
    #[inline]
    #[must_use]
    pub fn thread(&self, thread: ThreadId) -> &ThreadRecord {
        &self.threads[thread]
    }

    /// Returns the name of a thread, which is its pedigree.
    #[must_use]
    pub fn thread_name(&self, thread: ThreadId) -> String {
        self.contexts.name(&self.setup, self.threads[thread].home)
    }

    /// Returns the thread with this [`name`](Self::thread_name). `None` if there is none in this run so far.
    #[must_use]
    pub fn thread_named(&self, name: &str) -> Option<ThreadId> {
        self.threads.ids().find(|id| self.contexts.is_named(&self.setup, self.threads[*id].home, name))
    }

    /// Returns the memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the instant of the virtual clock in units of its [`scale`](Self::scale) (milliseconds unless a search
    /// has set another one). The clock starts at 1.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the stall of the run so far: the virtual time that has passed while a thread was enabled, in the units
    /// of [`now`](Self::now).
    #[must_use]
    pub fn stall(&self) -> u64 {
        self.stall
    }

    /// Returns the number of steps performed.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the argument values of an operation of this run.
    #[must_use]
    pub fn args(&self, args: Args) -> &[Value] {
        &self.args[args.first as usize..][..args.count as usize]
    }

    /// Stores the argument values of an operation, for [`args`](Self::args).
    pub fn keep_args(&mut self, values: &[Value]) -> Args {
        if values.is_empty() {
            return Args::default();
        }
        let first = u32::try_from(self.args.len()).expect("a run has fewer steps than that");
        self.args.extend_from_slice(values);
        Args { first, count: values.len() as u32 }
    }

    /// Returns the number of posts and fired events that were refused because their looper had quit or ended.
    #[must_use]
    pub fn refused_posts(&self) -> u32 {
        self.refused_posts
    }

    /// Returns the outcome of the run. `None` while it has not ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Ends the run with this outcome. If it has already ended, the first outcome stays.
    pub fn end(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    /// Adds to the number of cells that the run has taken. Beyond the limit, ends the run with that limit and returns
    /// false.
    pub(crate) fn take_cells(&mut self, cells: usize) -> bool {
        self.cells += cells as u64;
        let limit = u64::from(self.limits.cells);
        if self.cells > limit {
            self.end(Outcome::Limit(LimitKind::Cells, limit));
        }
        self.cells <= limit
    }

    /// Returns the events of the last step. Empty if the run is not recorded.
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
        what: impl FnOnce() -> EventKind,
    ) {
        if self.recording {
            let event = Event { step: self.steps, thread, context, site, now: self.now, what: what() };
            self.recorded.push(event);
        }
    }
}
