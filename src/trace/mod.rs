//! Execution traces: what threads and loopers did, in the vocabulary of DroidRacer (section 3, table 1), as compact plain data.
//!
//! A trace is what the detectors of happens-before read, wherever it comes from: a run of a model, a file of ours, a log of a real app. It has one operation of 16
//! bytes for each thing that was done, in the order of the run, and tables of names. [`Builder`] makes one and refuses what the semantics of figure 5 do not allow.
//!
//! Beyond the paper:
//!
//! - a post says how it takes its place in the queue ([`PostTime`], asynchronous or not), also at the front or at an instant;
//! - [`Action::Send`] and [`Action::Receive`] stand for all that lets a thread go on besides locks: notify and wait, semaphores, interrupts, atomics;
//! - [`Action::Leave`] ends the loop of a looper that has quit;
//! - the environment is a thread whose posts have no order among themselves: it fires events;
//! - what a looper does between two tasks is a task that nobody has posted.

mod builder;
mod illformed;
mod names;

pub use builder::Builder;
pub use illformed::Illformed;
pub use names::Names;

use crate::base::IndexVec;
use crate::event::PostTime;
use crate::world::{Class, Time};
use smallvec::SmallVec;

crate::define_id! {
    /// A thread of a trace.
    ThreadNo,
    /// A task: one message and what it runs.
    TaskNo,
    /// A lock.
    LockNo,
    /// A memory location.
    LocationNo,
    /// What a location is besides the object it lies in: a class and a field. Locations of several objects have the same.
    FieldNo,
    /// An event of the environment, or anything else that `enable` speaks of.
    EventNo,
    /// What carries a signal from those who send on it to those who receive.
    ChannelNo,
    /// A statement.
    SiteNo,
    /// An operation, by its place in the trace.
    OpNo,
}

impl SiteNo {
    /// No statement is known.
    pub const NONE: SiteNo = SiteNo(u32::MAX);
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Who does it.
    pub thread: ThreadNo,
    /// Where, or [`SiteNo::NONE`].
    pub site: SiteNo,
    /// What.
    pub action: Action,
}

/// What an operation does (DroidRacer, table 1, and the module's head).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The thread starts.
    ThreadInit,
    /// The thread ends.
    ThreadExit,
    /// Makes a thread.
    Fork(ThreadNo),
    /// Waits for the end of a thread.
    Join(ThreadNo),
    /// Makes the queue of the thread.
    AttachQueue,
    /// Starts to run the messages of the queue.
    Loop,
    /// Ends that.
    Leave,
    /// Posts a task.
    Post(TaskNo),
    /// A task begins.
    Begin(TaskNo),
    /// A task ends.
    End(TaskNo),
    /// Takes a lock that the thread did not hold.
    Acquire(LockNo),
    /// Gives up the last hold of a lock.
    Release(LockNo),
    /// Reads.
    Read(LocationNo),
    /// Writes.
    Write(LocationNo),
    /// Allows the environment to post the handler of an event.
    Enable(EventNo),
    /// Lets those go on that receive on the channel later.
    Send(ChannelNo),
    /// Goes on because of all that was sent on the channel before.
    Receive(ChannelNo),
}

impl Action {
    /// The location of an access, and whether it writes.
    #[must_use]
    pub fn access(self) -> Option<(LocationNo, bool)> {
        match self {
            Action::Read(at) => Some((at, false)),
            Action::Write(at) => Some((at, true)),
            _ => None,
        }
    }
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// It is the environment: what it does has no order.
    pub environment: bool,
}

/// A task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// The looper that runs it.
    pub looper: ThreadNo,
    /// When its message is due.
    pub time: PostTime,
    /// Whether it passes fences.
    pub is_async: bool,
    /// The events whose handler it is; of those that are enabled its post comes after the enable.
    pub events: SmallVec<[EventNo; 1]>,
    /// Its post; none if nobody has posted it.
    pub post: Option<OpNo>,
    /// Its begin; none if it was cancelled, or if the trace ends before.
    pub begin: Option<OpNo>,
}

impl Task {
    /// How its message stands to others of the queue.
    pub(crate) fn class(&self) -> Class {
        Class { time: Time::of(self.time), is_async: self.is_async }
    }

    /// Whether its post is delayed, or bound to an instant.
    #[must_use]
    pub fn is_delayed(&self) -> bool {
        matches!(self.time, PostTime::After(1..) | PostTime::At(1..))
    }
}

/// A memory location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// What it is besides its object.
    pub field: FieldNo,
}

/// A trace. The fields are for reading; [`Builder`] makes them.
///
/// # Examples
///
/// ```
/// use raceflip::event::PostTime;
/// use raceflip::trace::{Action, Builder, SiteNo};
///
/// let mut builder = Builder::new();
/// let (main, worker) = (builder.thread("main"), builder.thread("worker"));
/// let x = builder.location("x", "x");
/// for (thread, action) in [(main, Action::Fork(worker)), (worker, Action::Write(x)), (main, Action::Read(x))] {
///     builder.push(thread, action, SiteNo::NONE, 0)?;
/// }
/// let trace = builder.finish();
/// assert_eq!((trace.ops.len(), trace.places[x].name.as_str()), (3, "x"));
/// # Ok::<(), raceflip::trace::Illformed>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Trace {
    /// What was done, in the order of the run.
    pub ops: IndexVec<OpNo, Operation>,
    /// For each operation the line of the file that it comes from, counted from 1, or 0.
    pub lines: Vec<u32>,
    /// The threads.
    pub threads: IndexVec<ThreadNo, Thread>,
    /// The tasks.
    pub tasks: IndexVec<TaskNo, Task>,
    /// The locks' names.
    pub locks: Names<LockNo>,
    /// The locations.
    pub places: IndexVec<LocationNo, Place>,
    /// The fields' names.
    pub fields: Names<FieldNo>,
    /// The events' names.
    pub events: Names<EventNo>,
    /// How many channels there are.
    pub channels: u32,
    /// The statements, as they are told.
    pub sites: Names<SiteNo>,
    /// What is odd in the file, for people: one line each.
    pub notes: Vec<String>,
}

impl Trace {
    /// The task in which each task was posted; none if own code, the environment or nobody has posted it.
    #[must_use]
    pub fn parents(&self) -> IndexVec<TaskNo, Option<TaskNo>> {
        let mut running: IndexVec<ThreadNo, Option<TaskNo>> = self.threads.iter().map(|_| None).collect();
        let mut parents: IndexVec<TaskNo, Option<TaskNo>> = self.tasks.iter().map(|_| None).collect();
        for operation in self.ops.iter() {
            match operation.action {
                Action::Begin(task) => running[operation.thread] = Some(task),
                Action::End(_) => running[operation.thread] = None,
                Action::Post(task) => parents[task] = running[operation.thread],
                _ => {}
            }
        }
        parents
    }

    /// Whether a task handles an event of the environment.
    #[must_use]
    pub fn is_event(&self, task: TaskNo) -> bool {
        let Task { events, post, .. } = &self.tasks[task];
        !events.is_empty() || post.is_some_and(|post| self.threads[self.ops[post].thread].environment)
    }
}
