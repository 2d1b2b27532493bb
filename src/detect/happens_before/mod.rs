//! Happens-before over traces, for threads and loopers (DroidRacer: Maiya, Kanade, Majumdar, PLDI 2014).
//!
//! [`analyze`] finds the races of a trace in the relation of figures 6 and 7, in one pass; [`SourceOrder`] in the one that DroidRacer's program computes, by a closure. [`Ordered`] tells the order of any operations.
//!
//! # Where it departs from the paper
//!
//! Posts to the front, at an instant, and asynchronous ones have their place in FIFO (`crate::world::Class`); signals are edges between threads, as locks are; a looper that leaves its loop does so after all its tasks; each act
//! of the environment is a thread of its own; sections of binder threads, and what a looper does between two tasks, are tasks that nobody has posted. `docs/detectors.md` says why.
//!
//! # What it may miss
//!
//! What the trace orders by locks, signals and FIFO of ordered posts, and another run does not; pairs that only locks and signals order are found as well, and ranked B. Of a location that more than 4,096 unordered
//! contexts have read, or written, some pairs of statements; then [`Analysis::lost`] is true.
//!
//! # What it must never report
//!
//! Two accesses of one context; two reads; two accesses that the rules order. Rank B: two accesses on different threads under one lock.
//!
//! # Cost
//!
//! Time for an operation that synchronizes grows with the chains that its context knows, in blocks of 32; an access costs one look at each unordered entry of its location. `docs/results/analyze.md` has figures.

mod accesses;
mod analysis;
mod carriers;
mod chains;
mod classes;
mod coverage;
mod follow;
mod locksets;
mod loopers;
mod order;
mod ordered;
mod queue;
mod race;
mod source;
mod state;
#[cfg(test)]
pub(super) mod tests;

pub use analysis::{Analysis, Options, analyze};
pub use order::Edges;
pub use ordered::Ordered;
pub use race::{Race, RaceClass};
pub use source::{SourceOrder, TooLarge};
