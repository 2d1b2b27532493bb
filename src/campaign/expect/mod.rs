//! Judges the `expect` lines of a model.

mod atomicity;
mod campaigns;
pub(super) mod ends;
mod examples;
pub(super) mod implied;
pub(super) mod order;
mod proved;
pub(super) mod race;
pub(super) mod saved;
pub(super) mod search;
pub(super) mod smaller;
pub(super) mod test_result;
pub(super) mod truth;
pub(super) mod variant;
