//! Pairs of operations that may conflict: what a pair is and how candidates of many runs are collected (`candidate`),
//! how an execution is compared with the earlier ones of its run (`watch`, `executions`, `findings`), and the pairs
//! that are no accesses (`order_pairs`, with `partners` and `section`). `rings` finds deadlocks in the `lock_order`.
//! `use_free` says what CAFA knows about a pair.

pub(super) mod candidate;
pub(super) mod executions;
pub(super) mod findings;
pub(super) mod lock_order;
pub(super) mod order_pairs;
pub(super) mod partners;
pub(super) mod rings;
mod section;
pub(super) mod use_free;
pub(super) mod watch;
