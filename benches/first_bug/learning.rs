//! Counts the runs of `raceflip fuzz` until one fails.

use crate::runs::{Budget, by_seed};
use crate::tally::Tally;
use raceflip::campaign::{CampaignContext, CampaignPlan, FuzzPlan, NoProgress, fuzz};
use raceflip::vm::Model;
use std::sync::atomic::AtomicBool;

/// Explanation of the column of `fuzz`, for the pages.
pub(crate) const FUZZ: &str = "`fuzz` is a campaign that learns from run to run ([how](../fuzzing.md)); the number is that of its first run that fails.";

/// Returns for each seed the number of the first run that fails.
pub(crate) fn first_failures(model: &Model, budget: Budget) -> Tally {
    by_seed(budget, || (), |(), seed| first_failure(model, seed, budget.cap))
}

/// Returns the number of the first run that fails with one seed.
pub(crate) fn first_failure(model: &Model, seed: u64, cap: u64) -> Option<u64> {
    let never = AtomicBool::new(false);
    let plan = CampaignPlan { seed, ..CampaignPlan::new(model) };
    let fuzzed = FuzzPlan { runs: cap, ..FuzzPlan::default() };
    let found = fuzz(&plan, &fuzzed, CampaignContext { stop: &never, progress: &NoProgress });
    found.failures.first().map(|failure| failure.run)
}
