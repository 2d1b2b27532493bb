//! Why a sequence of operations is no execution trace.

/// What the semantics of DroidRacer's figure 5 do not allow.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Illformed {
    /// ThreadInit of a thread that has started, or has been seen before.
    #[error("thread {0} starts a second time, or after it has done something")]
    StartsAgain(String),
    /// Anything of a thread after its ThreadExit.
    #[error("thread {0} does something after its end")]
    Ended(String),
    /// A fork of a thread that runs.
    #[error("thread {0} is forked although it runs already")]
    ForkedAgain(String),
    /// A second queue.
    #[error("thread {0} has a queue already")]
    QueueAgain(String),
    /// A loop without a queue.
    #[error("thread {0} starts to loop without a queue")]
    NoQueue(String),
    /// A loop in a loop.
    #[error("thread {0} is in its loop already")]
    LoopsAgain(String),
    /// Begin, end or leave by a thread that is not in its loop.
    #[error("thread {0} is not in its loop")]
    NotLooping(String),
    /// A second post of one task.
    #[error("task {0} is posted a second time")]
    PostedAgain(String),
    /// A begin of a task that nobody has posted.
    #[error("task {0} begins, but nobody has posted it")]
    NotPosted(String),
    /// A second begin.
    #[error("task {0} begins a second time")]
    BeginsAgain(String),
    /// A begin on another thread than the message went to.
    #[error("task {0} begins on thread {1}, but was posted to {2}")]
    WrongLooper(String, String, String),
    /// A begin in the middle of another task: tasks run to their end.
    #[error("task {0} begins in the middle of task {1}")]
    Preempts(String, String),
    /// An end of a task that does not run.
    #[error("task {0} ends, but does not run")]
    NotRunning(String),
    /// More than there are numbers for.
    #[error("the trace has more than {0} operations")]
    TooLong(u32),
}
