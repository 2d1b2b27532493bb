//! Happens-before over traces.

mod accesses;
mod analysis;
mod carriers;
mod classes;
mod coverage;
mod locksets;
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
pub use source::{SourceOrder, TooLarge, races as source_races};
