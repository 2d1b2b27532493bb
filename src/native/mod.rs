//! Real Rust code under the same scheduler as models.
//!
//! A test replaces `std::sync` and `std::thread` by [`sync`] and [`thread`], and hands a closure to [`check`]. The
//! closure runs again and again. Each of its threads is a coroutine, which gives way at each operation, and the
//! scheduler chooses who goes on.
//!
//! - [`Checker`]: how many runs, with which seed and strategy, and what becomes of a failure.
//! - [`sync`], [`thread`], [`time`], [`looper`]: what a test uses instead of the standard library.
//! - [`Shared`], [`cell`]: plain memory, whose accesses race. [`rand`]: choices that belong to the run.
//! - [`future`]: async code. [`compat`]: the names that users of other tools know.
//!
//! The manual's page on it:
//!
#![doc = include_str!("../../docs/rust.md")]
//!
//! Inside:
//!
//! - `run`: what a coroutine reaches of its run; the one way in which it performs an operation.
//! - `fiber`: coroutines and their stacks.
//! - `guest`: the [`Guest`](crate::world::Guest) that runs them.
//! - `known`, `program`: the statements that runs have met, and the [`Program`](crate::world::Program).
//! - `handle`: what a lock or an atomic is called in a run. `hold`: who uses its value.
//! - `panics`: panics as failures. `park`, `local`: handles and variables of threads.
//! - `checker`, `work`: a check and its phases. `same`: whether runs can be repeated. `checked`, `report`: its result.

pub mod cell;
mod checked;
mod checker;
pub mod compat;
mod fiber;
pub mod future;
mod guest;
mod handle;
pub mod hint;
mod hold;
mod known;
mod local;
pub mod looper;
mod memory;
mod panics;
mod park;
mod program;
pub mod rand;
mod report;
mod run;
mod same;
mod shared;
pub mod sync;
pub mod thread;
pub mod time;
mod work;

pub use checked::{CheckFailure, CheckReport, CheckedPair};
pub use checker::{Checker, check, replay};
pub use guest::Native;
pub use program::NativeProgram;
pub use shared::Shared;
