//! Happens-before over traces.

mod race;

pub use race::{Race, RaceClass};
