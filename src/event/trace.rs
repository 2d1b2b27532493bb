//! What is recorded of a run, and how a run ends.

use super::{EventId, Op, SiteId, ThreadId, Value};

crate::define_id! {
    /// A context: a thread, a task or the firing of an event, named by its pedigree (`world::Contexts`).
    ContextId
}

/// One recorded event.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The step it belongs to, counted from 0.
    pub step: u64,
    /// The thread that it happens on; for [`Happening::Fire`] and [`Happening::Tick`] the environment acts and this is `None`.
    pub thread: Option<ThreadId>,
    /// The context that it happens in: the running task, else the thread.
    pub context: Option<ContextId>,
    /// The site, where the program has one.
    pub site: Option<SiteId>,
    /// The virtual clock after it, in milliseconds.
    pub now: u64,
    /// What happened.
    pub what: Happening,
}

/// What happened. Operations in DroidRacer's and CAFA's vocabulary.
#[derive(Clone, PartialEq, Debug)]
pub enum Happening {
    /// A thread starts (by `fork`, or with the app).
    ThreadInit,
    /// A thread ends.
    ThreadExit,
    /// An operation was performed with this result (0 if it has none).
    Performed {
        /// The operation.
        op: Op,
        /// Its value.
        value: Value,
        /// The context that it made (post, fork) or began (begin).
        made: Option<ContextId>,
    },
    /// A task ends.
    End,
    /// An event fired and its handler was queued as the context.
    Fire(EventId, ContextId),
    /// The clock moved.
    Tick,
    /// A post was refused because the looper has quit.
    Refused,
    /// An exception of this name was thrown in this thread.
    Thrown(String),
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everything that matters has finished.
    Ok,
    /// It rests with messages that can never run.
    Stuck {
        /// How many.
        messages: u32,
    },
    /// The app failed.
    Failure(Failure),
    /// Threads that matter can never go on.
    Deadlock(DeadlockReport),
    /// A limit of this tool was reached.
    Limit(LimitKind, u64),
}

/// A failure of the app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What failed.
    pub kind: FailureKind,
    /// The exception's or property's name, or empty.
    pub name: String,
    /// The message, or empty.
    pub message: String,
    /// The name of the thread that failed; empty for a property.
    pub thread: String,
    /// Where it stands; `None` for a property.
    pub site: Option<SiteId>,
    /// Which expression there, and what is wrong with it, where that is one of several. It says no more than kind, name and site do of whether two failures are the same.
    pub operand: Option<Operand>,
}

/// The expression that a failure is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// What is wrong with it: `o.next is null`, `i is no index of a`, `y is 0`; as the model writes it.
    pub text: String,
    /// Its line in the model, from 1.
    pub line: u32,
    /// The column of its last part, in characters from 1: of `o.next` that of `next`.
    pub column: u32,
}

/// The kinds of failures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FailureKind {
    /// `assert`
    Assert,
    /// `fail`
    Fail,
    /// An exception that nobody caught.
    Exception,
    /// A property.
    Property,
}

/// A deadlock: who waits for what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockReport {
    /// Each blocked thread that matters, in order of creation.
    pub blocked: Vec<BlockedThread>,
    /// The names of threads that wait for each other in a ring, each for something that the next one holds; empty if there is no ring.
    pub cycle: Vec<String>,
}

/// A thread that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockedThread {
    /// Its name.
    pub thread: String,
    /// Where it stands.
    pub site: Option<SiteId>,
    /// What it waits for: "lock m", "thread worker to finish".
    pub waits_for: String,
    /// Who holds that, if somebody does.
    pub held_by: Option<String>,
    /// Whether the holder has already ended.
    pub holder_ended: bool,
}

/// The limits of a run; each is an outcome of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LimitKind {
    /// Steps.
    Steps,
    /// Virtual milliseconds.
    VirtualTime,
    /// Heap objects.
    Objects,
    /// Threads.
    Threads,
    /// Messages in one queue.
    QueueLength,
    /// Elements in one list.
    ListLength,
    /// Instructions between two visible operations.
    LocalSteps,
    /// Cells of objects and of stacks.
    Cells,
}

impl LimitKind {
    /// The option that raises it: `steps`, `time` ...
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

    /// What there is too much of, after a number: "100000 steps".
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
