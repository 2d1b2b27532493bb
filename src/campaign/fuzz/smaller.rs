//! Looks for smaller inputs with the same failure. A failing run is shrunk input first: a run of a smaller program is
//! easier to read than a shorter run of a large one.

use super::inputs::{Input, InputSpace};
use super::{FuzzFailure, FuzzPlan, fuzz};
use crate::campaign::plan::{CampaignContext, CampaignPlan, NoProgress};
use crate::campaign::report::FailureReport;
use crate::world::{Program, alike};
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of runs with one input.
const RUNS: u64 = 100;

/// Maximum number of values of a constant that are tried.
const TRIES: u32 = 8;

/// Returns the failure with the smallest input that was found to fail in the same way. A value is smaller if it is
/// nearer to the start of its range. Each constant is tried in turn: first the start of its range, then by bisection.
pub fn with_smaller_input<P: Program>(
    plan: &CampaignPlan<P>,
    space: &dyn InputSpace<P>,
    mut failure: FuzzFailure,
    stop: &AtomicBool,
) -> FuzzFailure {
    let mut values: Input = failure.input.clone();
    for (k, (_, range)) in space.ranges().iter().enumerate() {
        // With `low` no run is known to fail; below it nothing is tried.
        let (mut low, mut candidate) = (range.start, range.start);
        for _ in 0..TRIES {
            if candidate >= values[k] || stop.load(Ordering::Relaxed) {
                break;
            }
            let mut smaller = values.clone();
            smaller[k] = candidate;
            match failing(plan, space, &smaller, &failure.report.signature, stop) {
                Some(found) => {
                    // How often the campaign has seen the failure stays.
                    failure.report = FailureReport { runs: failure.report.runs, ..found.report };
                    failure.smaller_input = Some(smaller.clone());
                    values = smaller;
                }
                None => low = candidate,
            }
            // The middle, rounded up, so that it is above `low`.
            candidate = low.wrapping_add((values[k].abs_diff(low)).div_ceil(2) as i64);
        }
    }
    failure
}

// Returns a failure like this one of a run with this input.
fn failing<P: Program>(
    plan: &CampaignPlan<P>,
    space: &dyn InputSpace<P>,
    input: &[i64],
    signature: &str,
    stop: &AtomicBool,
) -> Option<FuzzFailure> {
    let plan = CampaignPlan { program: space.program(input).ok()?, ..plan.clone() };
    let context = CampaignContext { stop, progress: &NoProgress };
    // Most programs have one failure, which ends the search at once.
    [false, true].into_iter().find_map(|keeps_going| {
        let found = fuzz(&plan, &FuzzPlan { runs: RUNS, keeps_going }, context);
        found.failures.into_iter().find(|found| alike(&found.report.signature, signature))
    })
}
