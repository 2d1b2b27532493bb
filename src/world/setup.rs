//! What exists when a run starts, as the guest declares it: names, counts, first values. Shared by all runs of one program.

use crate::base::IndexVec;
use crate::event::{BodyId, EventId, HandlerId, ListenerId, Outcome, Site, SiteId, ThreadId, Value};

/// The static side of a world.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Threads and loopers that start with the app.
    pub threads: IndexVec<ThreadId, ThreadSetup>,
    /// Names of the bodies that can be posted, forked or called.
    pub bodies: IndexVec<BodyId, String>,
    /// The sites of the program, in source order.
    pub sites: IndexVec<SiteId, Site>,
    /// Names of the global cells: `x`, `a[2]`, for reports.
    pub cell_names: Vec<String>,
    /// Names of the cells of each class: `head`, `table[3]`.
    pub field_names: Vec<Vec<String>>,
    /// Locks and mutexes: name, and whether it is reentrant.
    pub locks: Vec<(String, bool)>,
    /// Conditions.
    pub conditions: Vec<String>,
    /// Reader-writer locks.
    pub rwlocks: Vec<(String, Prefer)>,
    /// Semaphores with their first count.
    pub semaphores: Vec<(String, i64)>,
    /// Barriers with their number of parties.
    pub barriers: Vec<(String, i64)>,
    /// Handlers with their looper.
    pub handlers: IndexVec<HandlerId, (String, ThreadId)>,
    /// Listeners.
    pub listeners: IndexVec<ListenerId, String>,
    /// Events of the environment.
    pub events: IndexVec<EventId, EventSetup>,
    /// The first value of each global cell.
    pub cells: Vec<FirstValue>,
    /// Classes: name, and the first value of each cell of an object.
    pub classes: Vec<(String, Vec<FirstValue>)>,
    /// Classes of the objects that exist from the start, before those of `cells`.
    pub objects: Vec<u32>,
    /// Delays that the program names as constants, ascending.
    pub delays: Vec<u64>,
    /// Instants that the program posts `at`, ascending.
    pub instants: Vec<u64>,
    /// The largest instant that the program may post `at`; `u64::MAX` if it computes one.
    pub absolute_until: u64,
    /// An uncaught exception ends its thread only.
    pub uncaught_ends_thread: bool,
}

/// A thread that starts with the app.
#[derive(Clone, Debug)]
pub struct ThreadSetup {
    /// Its name.
    pub name: String,
    /// It does not keep the run alive.
    pub daemon: bool,
    /// It has a queue from the start.
    pub looper: bool,
}

/// An event of the environment.
#[derive(Clone, Debug)]
pub struct EventSetup {
    /// Its name.
    pub name: String,
    /// Its handler.
    pub body: BodyId,
    /// The looper that runs it.
    pub looper: ThreadId,
    /// How many enables it starts with.
    pub initially: u32,
}

/// The first value of a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum FirstValue {
    /// A word.
    Word(Value),
    /// A new object of the class.
    New(u32),
    /// A new list.
    List(Vec<Value>),
}

/// Whom a reader-writer lock prefers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefer {
    /// Nobody.
    None,
    /// Readers.
    Readers,
    /// Writers.
    Writers,
}

/// The limits of a run. Reaching one is an outcome of its own, never a silent cut.
///
/// # Examples
///
/// ```
/// use raceflip::event::{LimitKind, Outcome};
/// use raceflip::{exec::{Unobserved, run}, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("spin.race", "var x = 0; thread a { loop { x += 1 } }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let limits = Limits { steps: 500, ..Limits::default() };
/// let summary = run(&mut model.machine(limits), &mut RoundRobin::default(), 0, &mut Unobserved, &stop);
/// assert_eq!(summary.outcome(), Some(&Outcome::Limit(LimitKind::Steps, 500)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Steps of a run.
    pub steps: u64,
    /// Virtual milliseconds.
    pub time: u64,
    /// Heap objects of a run, dead ones as well.
    pub objects: u32,
    /// Threads of a run, finished ones as well.
    pub threads: u32,
    /// Messages in one queue.
    pub queue: u32,
    /// Elements of one list.
    pub list: u32,
    /// Instructions from one visible operation to the next.
    pub local: u64,
    /// Frames of one thread; deeper is the failure `StackOverflow`.
    pub depth: u32,
    /// Cells of all objects of a run, and of its threads' stacks at their deepest.
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
    /// All of them: the option that sets it, and its value.
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

    /// Those that are not the usual ones.
    pub fn unusual(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let pairs = self.options().into_iter().zip(Limits::default().options());
        pairs.filter(|(own, usual)| own != usual).map(|(own, _)| own)
    }

    /// Those that are higher than `allowed`.
    pub fn beyond(&self, allowed: &Limits) -> impl Iterator<Item = (&'static str, u64)> {
        let pairs = self.options().into_iter().zip(allowed.options());
        pairs.filter(|((_, own), (_, allowed))| own > allowed).map(|(own, _)| own)
    }

    /// Of each the lower one.
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

    /// What a run under the lower of these limits and of those that are `allowed` has not got to do: the limit that it ended at, if these are higher there, or
    /// that of frames, which ends no run but makes it another one. The option, and the value that these limits ask for.
    #[must_use]
    pub fn kept_from(&self, allowed: &Limits, outcome: Option<&Outcome>) -> Option<(&'static str, u64)> {
        let ended = |option| matches!(outcome, Some(Outcome::Limit(kind, _)) if kind.option() == option);
        self.beyond(allowed).find(|(option, _)| *option == "depth" || ended(*option))
    }
}
