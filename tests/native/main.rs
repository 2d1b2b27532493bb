//! Tests of real Rust code under the scheduler.

mod asynchronous;
mod channels;
mod compat;
mod crates;
mod ends;
mod every;
mod finds;
mod programs;
mod replays;
mod sets;
mod support;
mod threads;
mod twins;
