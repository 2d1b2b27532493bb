//! What is ordered in one run, and under which locks: vector clocks over chains of contexts (`clock`, and `tree` for
//! very many chains), the happens-before relation of threads, tasks and posts (`contexts`, with `queues` and `delayed`
//! for the tasks of a looper), and what feeds it from the events of a run (`order`). `held` and `sets` keep lock sets;
//! `signals`, `awaits` and `hybrid_channels` say what other synchronization orders, and `references` what accesses do
//! to references. This room does not know what a pair is.

pub(super) mod awaits;
pub(super) mod clock;
pub(super) mod contexts;
pub(super) mod delayed;
mod exchanges;
pub(super) mod held;
pub(super) mod hybrid_channels;
pub(super) mod lanes;
pub(super) mod order;
pub(super) mod queues;
pub(super) mod references;
pub(super) mod sets;
pub(super) mod signals;
pub(super) mod tree;
