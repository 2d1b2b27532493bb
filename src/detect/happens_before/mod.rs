//! Happens-before over traces.

mod carriers;
mod order;
mod queue;
mod race;
mod state;
#[cfg(test)]
mod tests;

pub use order::Edges;
pub use race::{Race, RaceClass};
