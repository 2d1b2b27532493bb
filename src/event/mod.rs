//! Plain data that every other part speaks: operations, sites, locations, choices, events of a trace. No logic beyond what a value says of itself.
//!
//! An [`Event`] is what an observer sees, an [`Outcome`] how a run ends, a [`Site`] where something stands in the model, a [`Choice`] what a strategy decides.

mod access;
mod choice;
mod op;
mod site;
mod trace;
mod words;

pub use access::{Access, AccessPlace};
pub use choice::{Actor, Choice};
pub use op::{Args, ListRead, ListWrite, Location, NULL, Op, PostTime, Target, Value, WaitSet};
pub use site::{AccessKind, Site, SiteKind, labelled};
pub use trace::{
    BlockedThread, ContextId, DeadlockReport, Event, Failure, FailureKind, Happening, LimitKind, Operand, Outcome,
};

crate::define_id! {
    /// A thread or looper of the running app, in order of creation.
    ThreadId,
    /// A statement's access or operation in the source.
    SiteId,
    /// A task body, thread body or event handler of the program.
    BodyId,
    /// An event of the environment.
    EventId,
    /// A lock, mutex or monitor.
    LockId,
    /// A condition variable.
    ConditionId,
    /// A reader-writer lock.
    RwLockId,
    /// A semaphore.
    SemaphoreId,
    /// A barrier.
    BarrierId,
    /// A handler of a looper.
    HandlerId,
    /// A listener.
    ListenerId,
    /// A heap object, in order of allocation.
    ObjectId,
    /// A list, in order of allocation.
    ListId,
}
