//! Declarations of a program: names, counts and first values of what exists when a run starts. All runs of one program
//! share them.

use super::channels::ChannelSetup;
use super::kind::WordKind;
use super::{MixedAtomics, PlatformSetup, PoolSetup};
use crate::base::{Id, IndexVec};
use crate::event::{BodyId, ChannelId, EventId, HandlerId, ListenerId, Outcome, Site, SiteId, ThreadId, Uses, Value};

/// Declarations of a program, as its guest provides them.
#[derive(Clone, Default)]
pub struct Setup {
    /// Threads and loopers that start with the app.
    pub threads: IndexVec<ThreadId, ThreadSetup>,
    /// Names of the bodies that can be posted, forked or called.
    pub bodies: IndexVec<BodyId, String>,
    /// Sites of the program, in source order.
    pub sites: IndexVec<SiteId, Site>,
    /// Reads whose values are dereferenced or tested.
    pub uses: Uses,
    /// Names of the global cells for reports: `x`, `a[2]`.
    pub cell_names: Vec<String>,
    /// Names of the cells of each class: `head`, `table[3]`.
    pub field_names: Vec<Vec<String>>,
    /// Locks and mutexes: name, and whether the lock is reentrant.
    pub locks: Vec<(String, bool)>,
    /// Names of the conditions.
    pub conditions: Vec<String>,
    /// Reader-writer locks: name, and the preferred side.
    pub rwlocks: Vec<(String, Prefer)>,
    /// Semaphores: name, and initial count.
    pub semaphores: Vec<(String, i64)>,
    /// Barriers: name, and number of parties.
    pub barriers: Vec<(String, i64)>,
    /// Names of the wait groups.
    pub groups: Vec<String>,
    /// Channels.
    pub channels: IndexVec<ChannelId, ChannelSetup>,
    /// Whether every thread that has to wait at a channel parks there, because async tasks wait at channels.
    pub waits_park: bool,
    /// Handlers: name, and looper.
    pub handlers: IndexVec<HandlerId, (String, ThreadId)>,
    /// Names of the listeners.
    pub listeners: IndexVec<ListenerId, String>,
    /// Events of the environment.
    pub events: IndexVec<EventId, EventSetup>,
    /// First value of each global cell.
    pub cells: Vec<FirstValue>,
    /// Classes: name, and first value of each cell of an object.
    pub classes: Vec<(String, Vec<FirstValue>)>,
    /// Classes of the objects that immutable names stand for. These objects are created at the start, before those of
    /// `cells`.
    pub objects: Vec<u32>,
    /// Delays that occur as constants in the program, in milliseconds, ascending.
    pub delays: Vec<u64>,
    /// Instants that occur as constants of an `at` in the program, in milliseconds, ascending.
    pub instants: Vec<u64>,
    /// Largest instant that the program may post `at`, in milliseconds: 0 if there is no `at`, `u64::MAX` if the
    /// program computes one.
    pub absolute_until: u64,
    /// Whether an uncaught exception ends only its thread and not the run.
    pub uncaught_ends_thread: bool,
    /// Whether a handler catches exceptions of references. It is not in the text of a setup, since it follows from the
    /// instructions.
    pub catches_references: bool,
    /// Whether such an exception ends the run although a handler catches it.
    pub caught_fails: bool,
    /// Pools. Their workers are among the threads.
    pub pools: Vec<PoolSetup>,
    /// Atomics that some statement accesses plainly.
    pub mixed: MixedAtomics,
    /// Components, and platform memory.
    pub platform: PlatformSetup,
    /// The texts of the program. The instance of a post or enable is the number of one. They are not in the text of a
    /// setup, because the digest of a program contains them anyway.
    pub texts: Vec<String>,
    /// Names of the components with units. They are not in the text of a setup, because the instructions show the
    /// units.
    pub with_units: Vec<String>,
}

// The digest of a program contains this text, and tokens contain the digest. So the text of a program that uses only
// what the language had at first must not change: later fields are written only if they are used. Uses are left out:
// they follow from the instructions, and no run depends on them.
impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct("Setup");
        text.field("threads", &self.threads)
            .field("bodies", &self.bodies)
            .field("sites", &self.sites)
            .field("cell_names", &self.cell_names)
            .field("field_names", &self.field_names)
            .field("locks", &self.locks)
            .field("conditions", &self.conditions)
            .field("rwlocks", &self.rwlocks)
            .field("semaphores", &self.semaphores)
            .field("barriers", &self.barriers)
            .field("handlers", &self.handlers)
            .field("listeners", &self.listeners)
            .field("events", &self.events)
            .field("cells", &self.cells)
            .field("classes", &self.classes)
            .field("objects", &self.objects)
            .field("delays", &self.delays)
            .field("instants", &self.instants)
            .field("absolute_until", &self.absolute_until)
            .field("uncaught_ends_thread", &self.uncaught_ends_thread);
        if self.caught_fails {
            text.field("caught_fails", &true);
        }
        if !self.platform.is_empty() {
            text.field("platform", &self.platform);
        }
        if !self.groups.is_empty() {
            text.field("groups", &self.groups);
        }
        if !self.channels.is_empty() {
            text.field("channels", &self.channels);
        }
        if self.waits_park {
            text.field("waits_park", &true);
        }
        if !self.mixed.is_empty() {
            text.field("mixed", &self.mixed);
        }
        if !self.pools.is_empty() {
            text.field("pools", &self.pools);
        }
        text.finish()
    }
}

impl Setup {
    /// Returns the kind of the values of a channel. Those of a channel that a guest has made are words.
    pub(super) fn channel_kind(&self, channel: ChannelId) -> WordKind {
        self.channels.get(channel.index()).map_or(WordKind::Word, |declared| declared.kind)
    }

    /// Returns the value of a receive from a closed channel without values.
    pub(super) fn channel_zero(&self, channel: ChannelId) -> Value {
        self.channels.get(channel.index()).map_or(0, |declared| declared.zero)
    }
}

/// Declaration of a thread that starts with the app.
#[derive(Clone, Debug)]
pub struct ThreadSetup {
    /// Name of the thread.
    pub name: String,
    /// Whether the thread is a daemon, which does not keep the run going.
    pub daemon: bool,
    /// Whether the thread has a queue from the start.
    pub looper: bool,
}

/// Declaration of an event of the environment.
#[derive(Clone, Debug)]
pub struct EventSetup {
    /// Name of the event.
    pub name: String,
    /// Procedure that handles the event.
    pub body: BodyId,
    /// Looper that runs the handler.
    pub looper: ThreadId,
    /// Number of times that the event is enabled at the start.
    pub initially: u32,
}

/// First value of a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum FirstValue {
    /// This word.
    Word(Value),
    /// A new object of the class.
    New(u32),
    /// A new list with these elements.
    List(Vec<Value>),
}

/// Side that a reader-writer lock prefers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefer {
    /// Neither side.
    None,
    /// The readers.
    Readers,
    /// The writers.
    Writers,
}

/// Limits of a run. Reaching a limit is an outcome of its own, never a silent cut.
///
/// # Examples
///
/// ```
/// use raceflip::event::{LimitKind, Outcome};
/// use raceflip::{exec::{NoObserver, run}, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("spin.race", "var x = 0; thread a { loop { x += 1 } }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let limits = Limits { steps: 500, ..Limits::default() };
/// let summary = run(&mut model.machine(limits), &mut RoundRobin::default(), 0, &mut NoObserver, &stop);
/// assert_eq!(summary.outcome(), Some(&Outcome::Limit(LimitKind::Steps, 500)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of steps of a run.
    pub steps: u64,
    /// Largest instant of the virtual clock, in milliseconds.
    pub time: u64,
    /// Maximum number of heap objects of a run, including freed ones.
    pub objects: u32,
    /// Maximum number of threads of a run, including ended ones.
    pub threads: u32,
    /// Maximum number of messages in one queue.
    pub queue: u32,
    /// Maximum number of elements of one list.
    pub list: u32,
    /// Maximum number of instructions from one visible operation to the next.
    pub local: u64,
    /// Maximum number of frames of one thread. A deeper call throws `StackOverflow`.
    pub depth: u32,
    /// Maximum number of cells of all objects of a run and of its threads' stacks, each at its deepest.
    pub cells: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100_000,
            time: 30 * 24 * 3600 * 1000,
            objects: 100_000,
            threads: 4_096,
            queue: 100_000,
            list: 1_000_000,
            local: 1_000_000,
            depth: 256,
            cells: 10_000_000,
        }
    }
}

impl Limits {
    /// Returns all limits: the option that sets each one, and its value.
    #[must_use]
    pub fn options(&self) -> [(&'static str, u64); 9] {
        let n = u64::from;
        [
            ("steps", self.steps),
            ("virtual-time", self.time),
            ("objects", n(self.objects)),
            ("threads", n(self.threads)),
            ("queue", n(self.queue)),
            ("list", n(self.list)),
            ("local", self.local),
            ("depth", n(self.depth)),
            ("cells", n(self.cells)),
        ]
    }

    /// Returns the limits that differ from the defaults, with their options.
    pub fn unusual(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let pairs = self.options().into_iter().zip(Limits::default().options());
        pairs.filter(|(own, usual)| own != usual).map(|(own, _)| own)
    }

    /// Returns the limits that are higher than those of `allowed`, with their options.
    pub fn beyond(&self, allowed: &Limits) -> impl Iterator<Item = (&'static str, u64)> {
        let pairs = self.options().into_iter().zip(allowed.options());
        pairs.filter(|((_, own), (_, allowed))| own > allowed).map(|(own, _)| own)
    }

    /// Returns the lower one of each limit in `self` and `allowed`.
    #[must_use]
    pub fn within(&self, allowed: &Limits) -> Limits {
        Limits {
            steps: self.steps.min(allowed.steps),
            time: self.time.min(allowed.time),
            objects: self.objects.min(allowed.objects),
            threads: self.threads.min(allowed.threads),
            queue: self.queue.min(allowed.queue),
            list: self.list.min(allowed.list),
            local: self.local.min(allowed.local),
            depth: self.depth.min(allowed.depth),
            cells: self.cells.min(allowed.cells),
        }
    }

    /// Returns a limit that makes a run different if these limits are lowered to `allowed`: its option, and the value
    /// that these limits ask for. That is the limit at which the run ended, if `allowed` has a lower one, or the limit
    /// of frames, which ends no run but makes deep calls throw. `None` if there is no such limit. `outcome` is that of
    /// the run under the lower limits.
    #[must_use]
    pub fn kept_from(&self, allowed: &Limits, outcome: Option<&Outcome>) -> Option<(&'static str, u64)> {
        let ended = |option| matches!(outcome, Some(Outcome::Limit(kind, _)) if kind.option() == option);
        self.beyond(allowed).find(|(option, _)| *option == "depth" || ended(*option))
    }
}
