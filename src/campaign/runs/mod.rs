//! Runs of a campaign: performs them in parallel, and notes what each of them shows.

pub(super) mod alike;
pub(super) mod caught;
pub(super) mod copies;
pub(super) mod endless;
pub(super) mod failures;
pub(super) mod names;
pub(super) mod observations;
pub(super) mod orders;
pub(super) mod parallel;
pub(super) mod side;
pub(super) mod states;
pub(super) mod stream;
pub(super) mod tally;
pub(super) mod trial;
