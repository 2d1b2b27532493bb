//! raceflip: a controlled-scheduling race fuzzer for modeled apps.

pub mod base;
pub mod event;
pub mod lang;
pub mod vm;
pub mod world;
