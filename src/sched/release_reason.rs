//! Why a held actor was released: trials count it, and reports say it.

use std::fmt;

/// The reason why a held actor was released.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReleaseReason {
    /// The awaited operation (`Hold::until`) has been performed.
    Reached,
    /// No other actor could act, and the performer of the awaited operation is blocked at a lock.
    Lock,
    /// No other actor could act, and the performer of the awaited operation waits for a condition, a notify, a
    /// semaphore or a barrier.
    Await,
    /// No other actor could act, and the performer of the awaited operation is blocked at the join of another thread.
    Join,
    /// No other actor could act, and the performer of the awaited operation is a queued task (behind others, or never
    /// due) or an idle looper.
    Queue,
    /// No other actor could act, and the performer of the awaited operation does not exist, has ended, or is blocked in
    /// another way (a sleep, for example).
    NeverReached,
    /// The actor had been held for as many steps as the patience allows.
    Patience,
}

impl fmt::Display for ReleaseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReleaseReason::Reached => "reached",
            ReleaseReason::Lock => "lock",
            ReleaseReason::Await => "await",
            ReleaseReason::Join => "join",
            ReleaseReason::Queue => "queue",
            ReleaseReason::NeverReached => "never reached",
            ReleaseReason::Patience => "patience",
        })
    }
}
