//! Plain data that all other modules share: operations, sites, locations, choices and the events of a trace. The types
//! have no logic beyond questions about their own value.
//!
//! An [`Event`] is one entry of a trace, an [`Outcome`] is the way a run ended, a [`Site`] is a place in the model's
//! text, and a [`Choice`] is one decision of a strategy.

mod access;
mod choice;
mod end_value;
mod job;
mod op;
mod run_event;
mod site;
mod uses;
mod words;

pub use access::{Access, AccessPlace};
pub use choice::{Actor, Choice};
pub use end_value::EndValue;
pub use job::{
    BlockEnd, BlockKind, CANCELLED, JobQuestion, LaunchKind, LaunchParent, LaunchPlace, Suspension, Transfer,
};
pub use op::{
    Acquisition, Args, ChannelRead, ListRead, ListWrite, Location, NULL, Op, PostOptions, PostTime, Target, Value,
    WaitSet,
};
pub use run_event::{
    BlockedThread, Cause, ContextId, DeadlockReport, Event, EventKind, Failure, FailureKind, LimitKind, Operand,
    Outcome,
};
pub use site::{AccessKind, Site, SiteKind, by_trace_name, labelled};
pub use uses::{ReadUse, Uses};

crate::define_id! {
    /// A thread or looper of the running app. Numbers follow the order of creation.
    ThreadId,
    /// A site: one access or operation of a statement in the source.
    SiteId,
    /// The body of a task, a thread or an event handler of the program.
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
    /// A wait group.
    GroupId,
    /// A channel.
    ChannelId,
    /// A handler of a looper.
    HandlerId,
    /// A listener.
    ListenerId,
    /// A heap object, in order of allocation.
    ObjectId,
    /// A list, in order of allocation.
    ListId,
    /// A global variable.
    GlobalId,
    /// A component of the program.
    ComponentId,
    /// An instance of a component, in order of creation.
    InstanceId,
    /// A request to the platform, in the order in which they were asked.
    RequestId,
}
