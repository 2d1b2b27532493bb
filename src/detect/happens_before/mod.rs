//! Happens-before over traces.

mod race;
mod source;

pub use race::{Race, RaceClass};
pub use source::{SourceOrder, TooLarge, races as source_races};
