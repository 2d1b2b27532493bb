//! Tests of real Rust code under the scheduler.

mod ends;
mod finds;
mod programs;
mod replays;
mod sets;
mod support;
