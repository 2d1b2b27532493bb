//! The reasons why a sequence of operations is not an execution trace.

/// An operation that the semantics of DroidRacer's figure 5 does not allow at its place in the trace.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TraceError {
    /// A `ThreadInit` of a thread that has started, or has performed another operation before.
    #[error("thread {0} starts a second time, or after it has done something")]
    StartsAgain(String),
    /// An operation of a thread after its `ThreadExit`.
    #[error("thread {0} does something after its end")]
    Ended(String),
    /// A fork of a thread that is running or has been forked already.
    #[error("thread {0} is forked although it runs already")]
    ForkedAgain(String),
    /// A second queue for one thread.
    #[error("thread {0} has a queue already")]
    QueueAgain(String),
    /// A loop of a thread without a queue.
    #[error("thread {0} starts to loop without a queue")]
    NoQueue(String),
    /// A second loop of a thread that is in its loop.
    #[error("thread {0} is in its loop already")]
    LoopsAgain(String),
    /// A begin, end or leave by a thread that is not in its loop.
    #[error("thread {0} is not in its loop")]
    NotLooping(String),
    /// A second post of one task.
    #[error("task {0} is posted a second time")]
    PostedAgain(String),
    /// A begin of a task without a post.
    #[error("task {0} begins, but no operation has posted it")]
    NotPosted(String),
    /// A second begin of one task.
    #[error("task {0} begins a second time")]
    BeginsAgain(String),
    /// A begin on a thread to which the task was not posted.
    #[error("task {0} begins on thread {1}, but was posted to {2}")]
    WrongLooper(String, String, String),
    /// A begin in the middle of another task. Tasks run to their end.
    #[error("task {0} begins in the middle of task {1}")]
    Preempts(String, String),
    /// An end of a task that is not running.
    #[error("task {0} ends, but does not run")]
    NotRunning(String),
    /// More operations than there are numbers for.
    #[error("the trace has more than {0} operations")]
    TooLong(u32),
}
