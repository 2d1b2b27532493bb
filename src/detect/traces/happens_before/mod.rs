//! Happens-before over traces, for threads and loopers (DroidRacer: Maiya, Kanade, Majumdar, PLDI 2014).
//!
//! [`analyze`] finds the races of a trace in the relation of figures 6 and 7, in one pass. [`SourceOrder`] computes
//! the relation of DroidRacer's program, as a closure. [`OrderQuery`] gives the order of any set of operations.
//!
//! # Where it departs from the paper
//!
//! - Posts to the front, posts at an instant and asynchronous posts have their place in FIFO
//!   (`crate::world::PostClass`).
//! - Signals are edges between threads, as locks are.
//! - A looper leaves its loop after all its tasks.
//! - Each act of the environment is a thread of its own.
//! - Sections of binder threads, and the code of a looper between two tasks, are tasks without a post.
//!
//! `docs/detectors.md` gives the reasons.
//!
//! # What it may miss
//!
//! - Pairs that the trace orders by locks, signals or FIFO of ordered posts, and another run does not. Of these, the
//!   pairs that only locks and signals order are found as well, and ranked B.
//! - Some pairs of statements at a location that more than 4,096 unordered contexts have read, or written; then
//!   [`Analysis::lost`] is true.
//!
//! # What it must never report
//!
//! Two accesses of one context; two reads; two accesses that the rules order. Rank B: two accesses on different
//! threads under one lock.
//!
//! # Cost
//!
//! The time for an operation that synchronizes grows with the number of chains in which its context and what arrives
//! differ, and with the logarithm of the number of all chains. An access looks once at each unordered entry of its
//! location. `docs/results/analyze.md` has figures.

mod accesses;
mod analysis;
mod arena;
mod carriers;
mod chains;
mod classes;
mod coverage;
mod follow;
mod found;
mod locksets;
mod loopers;
mod order;
mod ordered;
mod queue;
mod race;
mod source;
mod state;
#[cfg(test)]
pub(crate) mod tests;

pub(in crate::detect) use accesses::{AccessQuery, Accesses, Place};
pub(in crate::detect) use analysis::HappensBefore;
pub use analysis::{Analysis, Options, analyze};
pub(in crate::detect) use chains::Chains;
pub(in crate::detect) use classes::Classes;
pub(in crate::detect) use locksets::Locksets;
pub use order::TraceEdges;
pub use ordered::OrderQuery;
pub use race::{Filter, Race, RaceClass};
pub(in crate::detect) use source::SourceRules;
pub use source::{SourceOrder, TooLarge};
