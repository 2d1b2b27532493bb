//! Phase 2: drives each pair to both orders.

pub(super) mod causes;
pub(super) mod cuts;
mod held_trials;
mod holds;
pub(super) mod pair_trials;
pub(super) mod portfolio;
pub(super) mod ways;
