//! raceflip: a controlled-scheduling race fuzzer for modeled apps.

pub mod base;
pub mod campaign;
pub mod cli;
pub mod detect;
pub mod event;
pub mod exec;
pub mod formats;
pub mod lang;
pub mod sched;
pub mod token;
pub mod vm;
pub mod world;
