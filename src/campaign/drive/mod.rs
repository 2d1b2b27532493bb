//! Phase 2: drives each pair to both orders, and each deadlock ring to its deadlock.

pub(super) mod causes;
mod coming;
pub(super) mod cuts;
pub(super) mod held_trials;
mod holds;
pub(super) mod pair_trials;
pub(super) mod portfolio;
pub(super) mod ring_trials;
mod ring_ways;
pub(super) mod ways;
