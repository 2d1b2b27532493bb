//! Counts the runs of `raceflip confirm` until a failure shows first.
//!
//! The count includes the detection runs, and then for each pair in turn (races before order pairs) its trials and, if
//! it is confirmed, the continuations of both orders. For each pair, the detection runs are inspected once more; they
//! are the same runs and do not count again. Searches are off (`--explore off`), because states are no runs. A campaign
//! without a failure is followed by another one with another seed, up to the cap.

use crate::runs::{Budget, by_seed};
use crate::tally::Tally;
use raceflip::base::mix;
use raceflip::campaign::{
    CampaignContext, CampaignPlan, Explore, NoProgress, PairReport, Phase1, StatePlan, TrialPlan, confirm, detect,
};
use raceflip::vm::Model;
use std::sync::atomic::AtomicBool;

/// Returns for each seed the number of the first run that fails.
pub(crate) fn first_failures(model: &Model, budget: Budget) -> Tally {
    by_seed(budget, || (), |(), seed| first_failure(model, seed, budget.cap))
}

fn first_failure(model: &Model, seed: u64, cap: u64) -> Option<u64> {
    let mut before = 0;
    let mut round = 0;
    while before < cap {
        let plan = CampaignPlan {
            seed: mix(seed, round),
            trials: TrialPlan { orders: true, ..TrialPlan::default() },
            search: StatePlan { explore: Explore::Off, ..StatePlan::default() },
            ..CampaignPlan::new(model)
        };
        match one(&plan) {
            Ok(number) => return Some(before + number).filter(|n| *n <= cap),
            Err(runs) => before += runs.max(1),
        }
        round += 1;
    }
    None
}

// Returns the number of the first run that fails, or the number of runs as an error.
fn one(plan: &CampaignPlan) -> Result<u64, u64> {
    let never = AtomicBool::new(false);
    let context = CampaignContext { stop: &never, progress: &NoProgress };
    let phase1 = detect(plan, context);
    if let Some(number) = in_detection(plan, &phase1) {
        return Ok(number);
    }
    let found = confirm(plan, context);
    let mut runs = u64::from(phase1.runs);
    for pair in found.pairs.iter().chain(&found.orders) {
        if let Some(first) = pair.trials.first_failure {
            return Ok(runs + u64::from(first));
        }
        runs += u64::from(pair.trials.count) + continuations(pair);
        // The report does not say which continuation failed, so count all of them.
        if pair.proof.confirmed() && pair.comparison.orders.iter().any(|o| o.failed() > 0) {
            return Ok(runs);
        }
    }
    Err(runs)
}

fn continuations(pair: &PairReport) -> u64 {
    let runs =
        pair.comparison.orders.iter().map(|o| u64::from(o.runs)).sum::<u64>() + u64::from(pair.comparison.undecided);
    if pair.proof.confirmed() { runs } else { 0 }
}

// Returns the number of the first detection run that fails. Detection names its runs by their seeds.
fn in_detection(plan: &CampaignPlan, phase1: &Phase1) -> Option<u64> {
    let failed = |seed: u64| phase1.failures.iter().any(|f| f.evidence.seed == seed);
    let seed = |i: u64| if i == 0 { 0 } else { mix(plan.seed, i).max(1) };
    (0..u64::from(phase1.runs)).find(|i| failed(seed(*i))).map(|i| i + 1)
}
