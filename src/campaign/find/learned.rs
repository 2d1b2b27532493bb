//! Runs of detection that learn from each other.
//!
//! The seeded runs of detection know nothing of each other. A statement that most of them do not come to, or an order
//! that they rarely have, may hide a pair. So a campaign follows that asks for what no run has shown
//! ([`fuzz`](fn@crate::campaign::fuzz)), and the detectors look at those of its runs that show something new.

use crate::campaign::run::{FUZZED, RunSource};
use crate::campaign::{CampaignContext, CampaignPlan, FuzzPlan, NoProgress, fuzz};
use crate::world::Program;

/// Returns the runs that together show all reads-from pairs which a learning campaign has seen, of as many runs as
/// detection has at least. `None` if it was interrupted.
pub(super) fn runs<P: Program>(plan: &CampaignPlan<P>, context: CampaignContext<'_>) -> Option<Vec<RunSource>> {
    let learning = FuzzPlan { runs: u64::from(plan.detection.runs), keeps_going: true };
    let found = fuzz(plan, &learning, CampaignContext { progress: &NoProgress, ..context });
    let source = |choices| RunSource::Made { choices, by: FUZZED };
    found.complete.then(|| found.covering.into_iter().map(|run| source(run.choices)).collect())
}
