//! The events that are recorded of a run, and the ways a run can end.

use super::{EventId, InstanceId, Op, PostTime, RequestId, SiteId, ThreadId, Value};

crate::define_id! {
    /// A context: a thread, a task or the firing of an event. Its pedigree names it (`world::Contexts`).
    ContextId
}

/// One recorded event of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The step that the event belongs to, from 0.
    pub step: u64,
    /// The thread on which the event happens. `None` for [`EventKind::Fire`] and [`EventKind::Tick`], which the
    /// environment performs.
    pub thread: Option<ThreadId>,
    /// The context in which the event happens: the running task, or else the thread.
    pub context: Option<ContextId>,
    /// The site of the event, if the program has one for it.
    pub site: Option<SiteId>,
    /// The virtual clock after the event, in milliseconds.
    pub now: u64,
    /// The content of the event.
    pub what: EventKind,
}

/// The content of an event. Operations have the names that DroidRacer and CAFA use.
#[derive(Clone, PartialEq, Debug)]
pub enum EventKind {
    /// A thread starts, by `fork` or together with the app.
    ThreadInit,
    /// A thread ends.
    ThreadExit,
    /// A thread performs an operation.
    Performed {
        /// The operation.
        op: Op,
        /// The value of the operation, 0 if it has none.
        value: Value,
        /// The context that the operation created (post, fork) or began (begin).
        made: Option<ContextId>,
        /// Whether the operation was refused: it threw an exception and changed nothing. An operation that an interrupt
        /// ended is not refused: it has used up the interrupt.
        refused: bool,
    },
    /// The message of the task that begins stays in its queue, or returns to it, for another run as this task.
    Repeated {
        /// The context of the next run.
        task: ContextId,
        /// When the next run is due.
        time: PostTime,
        /// Whether the message may pass fences.
        is_async: bool,
    },
    /// A task ends.
    End,
    /// An async task gives up its looper at a suspension point. The event's context is that of the task.
    Suspended,
    /// What an async task waited for has happened: its resumption is queued at a looper. The event's thread is the one
    /// whose step has caused it, if a thread has.
    Resumed {
        /// The job.
        job: ThreadId,
        /// The context of the job.
        context: ContextId,
        /// The looper.
        looper: ThreadId,
    },
    /// A job ends: its task and all its children have ended.
    JobExit(ThreadId),
    /// An event fires. Its handler is queued as the given context.
    Fire(EventId, ContextId),
    /// The step lets the environment fire a row of a component's instance.
    Lets(Cause),
    /// The clock advances.
    Tick,
    /// A post is refused because the looper has quit.
    Refused,
    /// An exception of this name is thrown in the thread.
    Thrown(String),
    /// A `transaction` block, or a callback that is in a unit of a component, begins or ends in the thread. This is no
    /// step of its own.
    Transaction {
        /// Whether it begins.
        begins: bool,
        /// Whether it is in a unit. The name is then that of the component and the unit: `Player.loading`.
        unit: bool,
        /// The name of the block; empty if it has none.
        name: String,
    },
}

/// Something that lets the environment fire a row of an instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// The instance came to a stage in which the row may be fired, and no row that changes its stage is under way.
    Stage(EventId, InstanceId),
    /// The condition of the row came to hold.
    Condition(EventId, InstanceId),
    /// A thread asked for the row.
    Request(RequestId),
}

/// The outcome of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The run ended at rest and no task is left in the queue of a looper that matters.
    Ok,
    /// The run ended at rest, but messages are left that can never run.
    Stuck {
        /// Number of these messages.
        messages: u32,
    },
    /// The app failed.
    Failure(Failure),
    /// Threads that matter are blocked forever.
    Deadlock(DeadlockReport),
    /// The run reached this limit of the tool, which has the given value.
    Limit(LimitKind, u64),
}

/// A failure of the app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The name of the exception or the property. Empty if there is none.
    pub name: String,
    /// The message of the failure. Empty if there is none.
    pub message: String,
    /// The name of the thread that failed. Empty for a property.
    pub thread: String,
    /// The site of the failure. `None` for a property.
    pub site: Option<SiteId>,
    /// The expression that the failure is about, if its statement has several that could fail. Two failures that differ
    /// only here count as the same failure: kind, name and site decide.
    pub operand: Option<Operand>,
}

/// The expression that a failure is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The defect of the expression, in the words of the model: `o.next is null`, `i is no index of a`, `y is 0`.
    pub text: String,
    /// Line of the expression in the model, from 1.
    pub line: u32,
    /// Column of the last part of the expression, in characters from 1: for `o.next` the column of `next`.
    pub column: u32,
}

/// The kinds of failures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FailureKind {
    /// A false `assert`.
    Assert,
    /// A `fail` statement.
    Fail,
    /// An exception that no handler caught.
    Exception,
    /// An exception of a promise that no job or thread has handled.
    Rejection,
    /// A property that does not hold.
    Property,
}

/// A report of a deadlock: the blocked threads and what each of them waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockReport {
    /// The blocked threads that matter, in order of creation.
    pub blocked: Vec<BlockedThread>,
    /// Names of the threads of a cycle: each of them waits for something that the next one holds, and the last one
    /// waits for the first. Empty if there is no cycle.
    pub cycle: Vec<String>,
}

/// A blocked thread in a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockedThread {
    /// Name of the thread.
    pub thread: String,
    /// Site of its pending operation.
    pub site: Option<SiteId>,
    /// The resource or event that it waits for: "lock m", "thread worker to finish".
    pub waits_for: String,
    /// Name of the blocker, the thread that holds the resource. `None` if no thread holds it.
    pub held_by: Option<String>,
    /// Whether the blocker has already ended.
    pub holder_ended: bool,
}

/// The limits of a run. A run that reaches one of them ends with it as its outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LimitKind {
    /// Number of steps.
    Steps,
    /// Virtual time, in milliseconds.
    VirtualTime,
    /// Number of heap objects.
    Objects,
    /// Number of threads.
    Threads,
    /// Number of messages in one queue.
    QueueLength,
    /// Number of elements in one list.
    ListLength,
    /// Number of instructions between two visible operations.
    LocalSteps,
    /// Number of memory cells of objects and stacks.
    Cells,
}

impl LimitKind {
    /// All limits.
    pub const ALL: [Self; 8] = [
        Self::Steps,
        Self::VirtualTime,
        Self::Objects,
        Self::Threads,
        Self::QueueLength,
        Self::ListLength,
        Self::LocalSteps,
        Self::Cells,
    ];

    /// Returns the name of the option that raises the limit: `steps`, `virtual-time` and so on.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            LimitKind::Steps => "steps",
            LimitKind::VirtualTime => "virtual-time",
            LimitKind::Objects => "objects",
            LimitKind::Threads => "threads",
            LimitKind::QueueLength => "queue",
            LimitKind::ListLength => "list",
            LimitKind::LocalSteps => "local",
            LimitKind::Cells => "cells",
        }
    }

    /// Returns the counted noun of the limit, to follow a number: "100000 steps".
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            LimitKind::Steps => "steps",
            LimitKind::VirtualTime => "virtual milliseconds",
            LimitKind::Objects => "objects",
            LimitKind::Threads => "threads",
            LimitKind::QueueLength => "messages in one queue",
            LimitKind::ListLength => "elements in one list",
            LimitKind::LocalSteps => "instructions without a visible operation",
            LimitKind::Cells => "cells of objects and stacks",
        }
    }
}
