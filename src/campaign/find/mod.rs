//! Phase 1: finds potential pairs.

pub(super) mod atomicity;
pub(super) mod detection;
pub(super) mod flips;
mod learned;
