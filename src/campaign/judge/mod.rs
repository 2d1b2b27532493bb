//! Judges the pairs: compares both orders from one state, and searches all states.

pub(super) mod atomicity;
pub(super) mod claims;
pub(super) mod compare;
pub(super) mod continuations;
mod harm_tally;
pub(super) mod instances;
pub(super) mod livelocks;
pub(super) mod refute;
mod rounds;
pub(super) mod violations;
