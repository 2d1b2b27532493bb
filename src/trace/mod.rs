//! Execution traces: the operations of threads and loopers in the vocabulary of DroidRacer (section 3, table 1), as
//! compact plain data.
//!
//! The detectors of happens-before read a trace, wherever it comes from: a run of a model, a file in one of raceflip's
//! formats, a log of a real app. A trace has the operations of the run in their order, with 16 bytes for each, and
//! tables of names. [`Builder`] builds a trace and rejects what the semantics of figure 5 does not allow.
//!
//! Additions to the vocabulary of the paper:
//!
//! - A post has a place in the queue ([`PostTime`], asynchronous or not), also at the front or at an instant.
//! - [`Action::Send`] and [`Action::Receive`] stand for all synchronization besides locks: notify and wait, semaphores,
//!   interrupts, atomics.
//! - [`Action::Leave`] ends the loop of a looper that has quit.
//! - The environment is a thread whose posts have no order among themselves. It fires events.
//! - The operations of a looper between two tasks are a task without a post.
//! - An access can have a [`Mark`]: it uses, tests or frees a reference.

mod atomics;
mod builder;
mod illformed;
mod marks;
mod names;

pub use atomics::AtomicAccess;
pub use builder::Builder;
pub use illformed::TraceError;
pub use marks::{Mark, Marks};
pub use names::NameTable;

use crate::base::IndexVec;
use crate::event::PostTime;
use crate::world::{PostClass, Time};
use smallvec::SmallVec;

/// Name of the thread that stands for the environment in recorded runs.
pub const ENVIRONMENT_NAME: &str = "environment";

crate::define_id! {
    /// A thread of a trace.
    ThreadNo,
    /// A task: one message and the procedure that it runs.
    TaskNo,
    /// A lock.
    LockNo,
    /// A memory location.
    LocationNo,
    /// A field of a class: the part of a location that does not depend on the object. The locations of one field in
    /// several objects share it.
    FieldNo,
    /// An event of the environment, or another subject of an `enable` operation.
    EventNo,
    /// A channel: every receive on it is ordered after the earlier sends on it.
    ChannelNo,
    /// A statement.
    SiteNo,
    /// An operation: its index in the trace.
    OpNo,
    /// An instance: what tasks belong to that are meant to be atomic together.
    InstanceNo,
}

impl SiteNo {
    /// Stands for an unknown statement.
    pub const NONE: SiteNo = SiteNo(u32::MAX);
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The thread that performs the operation.
    pub thread: ThreadNo,
    /// The statement, or [`SiteNo::NONE`].
    pub site: SiteNo,
    /// The kind of operation and its operands.
    pub action: Action,
}

/// The kind of an operation, with its operands (DroidRacer, table 1, and the extensions listed in [the module](self)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The thread starts.
    ThreadInit,
    /// The thread ends.
    ThreadExit,
    /// The thread forks another thread.
    Fork(ThreadNo),
    /// The thread waits for the end of another thread.
    Join(ThreadNo),
    /// The thread creates its queue.
    AttachQueue,
    /// The thread starts to run the messages of its queue.
    Loop,
    /// The thread ends the loop over its queue.
    Leave,
    /// The thread posts a task.
    Post(TaskNo),
    /// The thread begins a task.
    Begin(TaskNo),
    /// The thread ends a task.
    End(TaskNo),
    /// The thread acquires a lock that it did not hold.
    Acquire(LockNo),
    /// The thread releases a lock: its last hold of a reentrant one.
    Release(LockNo),
    /// The thread reads a location.
    Read(LocationNo),
    /// The thread writes a location.
    Write(LocationNo),
    /// Allows the environment to post the handler of an event.
    Enable(EventNo),
    /// The thread sends on a channel. This happens before every later receive on the channel.
    Send(ChannelNo),
    /// The thread receives on a channel. Every earlier send on the channel happens before this.
    Receive(ChannelNo),
}

impl Action {
    /// Returns the location of an access and whether it is a write; `None` for any other operation.
    #[must_use]
    pub fn access(self) -> Option<(LocationNo, bool)> {
        match self {
            Action::Read(at) => Some((at, false)),
            Action::Write(at) => Some((at, true)),
            _ => None,
        }
    }
}

/// A thread of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceThread {
    /// The name of the thread.
    pub name: String,
    /// Whether the thread is the environment, whose operations have no order.
    pub environment: bool,
}

/// A task of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// The name of the task.
    pub name: String,
    /// The looper that runs the task.
    pub looper: ThreadNo,
    /// The time at which the message of the task is due.
    pub time: PostTime,
    /// Whether the message is asynchronous, so that it passes fences.
    pub is_async: bool,
    /// The events whose handler the task is. The post of the task comes after the enable of each of them that has an
    /// enable.
    pub events: SmallVec<[EventNo; 1]>,
    /// The post of the task; `None` for a task without a post.
    pub post: Option<OpNo>,
    /// The begin of the task; `None` if it was canceled, or if the trace ends before it.
    pub begin: Option<OpNo>,
    /// The instance that the task is declared to belong to: that of a component, or the text of `as`.
    pub instance: Option<InstanceNo>,
}

impl Task {
    /// The class of the task's message, which decides its order relative to other messages in the queue.
    pub(crate) fn class(&self) -> PostClass {
        PostClass { time: Time::of(self.time), is_async: self.is_async }
    }

    /// Whether the post of the task has a delay or an absolute time.
    #[must_use]
    pub fn is_delayed(&self) -> bool {
        matches!(self.time, PostTime::After(1..) | PostTime::At(1..))
    }
}

/// A memory location of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceLocation {
    /// The name of the location.
    pub name: String,
    /// The field: the part of the location that does not depend on the object.
    pub field: FieldNo,
}

/// A trace. Its fields are for reading; [`Builder`] fills them.
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
/// # Ok::<(), raceflip::trace::TraceError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Trace {
    /// The operations, in the order of the run.
    pub ops: IndexVec<OpNo, Operation>,
    /// For each operation the line of the input file that it comes from, counted from 1, or 0 if there is none.
    pub lines: Vec<u32>,
    /// Lines of the input file that are no operations, with the threads that they name, for files that refer to lines;
    /// ascending.
    pub silent: Vec<(u32, ThreadNo)>,
    /// What accesses have to do with references, where the trace says so.
    pub marks: Marks,
    /// The threads of the trace.
    pub threads: IndexVec<ThreadNo, TraceThread>,
    /// The tasks of the trace.
    pub tasks: IndexVec<TaskNo, Task>,
    /// The names of the locks.
    pub locks: NameTable<LockNo>,
    /// The memory locations of the trace.
    pub places: IndexVec<LocationNo, TraceLocation>,
    /// The names of the fields.
    pub fields: NameTable<FieldNo>,
    /// The names of the events.
    pub events: NameTable<EventNo>,
    /// Number of channels.
    pub channels: u32,
    /// Whether the environment may fire its events in any order that their enables allow, as in a run of a model. What
    /// the outside world of a real app can do, its log does not say.
    pub free_events: bool,
    /// The statements, as text for reports.
    pub sites: NameTable<SiteNo>,
    /// Begins and ends of transactions, in the order of the run. Only the analysis of atomicity reads them.
    pub transactions: Vec<TransactionMark>,
    /// The names of the instances that tasks belong to: `Player#1`, `MainActivity`.
    pub instances: NameTable<InstanceNo>,
    /// The instances whose units are transactions, so that they are none as wholes; ascending.
    pub with_units: Vec<InstanceNo>,
    /// Operations on atomics, in the order of the run. They are beside the operations because they cannot race.
    pub atomics: Vec<AtomicAccess>,
    /// The names of the atomics of [`atomics`](Self::atomics).
    pub atomic_names: NameTable<LocationNo>,
    /// The channels that stand for a side of a reader-writer lock, ascending.
    pub lock_channels: Vec<ChannelNo>,
    /// The writes that wrote the value that was there, as far as the trace shows values; ascending.
    pub unchanged: Vec<OpNo>,
    /// Remarks about oddities of the input file, for a reader: one line each.
    pub notes: Vec<String>,
}

/// The begin or the end of a transaction: a part of a thread that is meant to be atomic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionMark {
    /// The next operation of the trace; the number of operations if none follows.
    pub before: OpNo,
    /// The thread of the transaction.
    pub thread: ThreadNo,
    /// The statement, or [`SiteNo::NONE`].
    pub site: SiteNo,
    /// Whether the transaction begins here. Otherwise it ends.
    pub begins: bool,
    /// Whether this is a part of a unit of a component, and no transaction by itself: all parts of one unit of one
    /// instance are a transaction.
    pub unit: bool,
    /// The name of the transaction, if it has one.
    pub name: Option<Box<str>>,
}

impl Trace {
    /// Returns for each task the task in which it was posted. `None` if a thread outside tasks or the environment has
    /// posted it, or if it has no post.
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

    /// Returns whether a task handles an event of the environment.
    #[must_use]
    pub fn is_event(&self, task: TaskNo) -> bool {
        let Task { events, post, .. } = &self.tasks[task];
        !events.is_empty() || post.is_some_and(|post| self.threads[self.ops[post].thread].environment)
    }
}
