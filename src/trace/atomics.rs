//! Operations on atomics. Two of them are no race, so they are no operations of the trace, but data flows through an
//! atomic as through any other location. The analysis of atomicity reads them.

use super::{LocationNo, OpNo, SiteNo, ThreadNo};

/// An operation on an atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicAccess {
    /// The next operation of the trace; the number of operations if none follows.
    pub before: OpNo,
    /// Number of [transaction marks](super::TransactionMark) that precede the operation.
    pub marks: u32,
    /// The thread that performs the operation.
    pub thread: ThreadNo,
    /// The statement, or [`SiteNo::NONE`].
    pub site: SiteNo,
    /// The atomic, by its number in [`Trace::atomic_names`](super::Trace::atomic_names).
    pub at: LocationNo,
    /// Whether the operation writes.
    pub writes: bool,
}
