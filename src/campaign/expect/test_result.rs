//! Defines the plan of a test of one variant, and its result.

use super::saved::{SavedSeed, SeedResult};
use super::truth::Truth;
use crate::campaign::CampaignPlan;
use crate::event::{LimitKind, Outcome};
use crate::shrink::Size;
use crate::vm::Model;
use std::collections::BTreeMap;

/// Plan of a test of one variant.
pub struct TestPlan<'p> {
    /// Variant under test.
    pub model: &'p Model,
    /// Plan of the campaign. The test also takes its code, `-D` values, limits, seed and number of workers from it. Its
    /// detection runs and trials count only if the test needs a campaign.
    pub campaign: CampaignPlan,
    /// Number of random walks, if the states of the variant cannot all be searched.
    pub walks: u32,
    /// Maximum number of states that a search visits; 0 for no search.
    pub states: u64,
    /// Saved runs of this variant.
    pub saved: &'p [SavedSeed],
    /// Whether the test shrinks runs before it shows them.
    pub shrinks: bool,
}

impl TestPlan<'_> {
    /// Default maximum number of states of a search.
    pub const STATES: u64 = 30_000;
}

/// Result of a test of one variant.
#[derive(Clone, Debug)]
pub struct TestResult {
    /// Number of states that a search of the variant visited, if it came to all ends. Lines about ends and orders are
    /// judged by these states then, and no walks are performed.
    pub states: Option<u64>,
    /// Whether the search has left out states that lead to no other ends; see
    /// [`Stubbornness`](crate::explore::Stubbornness).
    pub reduced: bool,
    /// Number of random walks.
    pub walks: u32,
    /// Number of runs of campaigns: those of detection, trials, and those that learn from each other; `None` without a
    /// campaign.
    pub trials: Option<u32>,
    /// Lines that count for this variant, in the order of the model.
    pub lines: Vec<LineResult>,
    /// Limits that cut walks short, each with the number of walks.
    pub limits: BTreeMap<(LimitKind, u64), u32>,
    /// Results of the saved runs, in the order of [`TestPlan::saved`].
    pub saved: Vec<SeedResult>,
    /// Whether all planned runs were performed.
    pub complete: bool,
}

/// An `expect` line with its verdict.
#[derive(Clone, Debug)]
pub struct LineResult {
    /// Line number in the model, from 1; 0 for an implied line.
    pub line: u32,
    /// Text of the line, as the model has it.
    pub text: String,
    /// Verdict of the line.
    pub verdict: LineVerdict,
    /// Correction that would make the line hold; `None` if it holds.
    pub truth: Option<Truth>,
    /// Reason why the line holds in every run, if static analysis proves it and no search has judged it.
    pub proof: Option<Vec<String>>,
}

/// Verdict of an `expect` line.
#[derive(Clone, Debug)]
pub enum LineVerdict {
    /// The line holds, as far as the runs show.
    Met,
    /// The line does not hold: the reasons, the runs that contradict it, and the number of further ends that contradict
    /// it.
    Unmet(Vec<String>, Vec<ShownEnds>, usize),
    /// The line cannot be judged, for this reason.
    Unchecked(&'static str),
    /// The line forbids something, but every run hit a limit, so that it cannot be judged.
    Cut,
}

/// Runs with an end that a line forbids.
#[derive(Clone, Debug)]
pub struct ShownEnds {
    /// Text of the end, with the values that the line names.
    pub text: String,
    /// Outcome of the run that is shown.
    pub outcome: Outcome,
    /// Signature of the end. Ends with equal signatures are the same.
    pub signature: String,
    /// Number of runs with this end.
    pub runs: u32,
    /// Origin of the first of these runs.
    pub origin: Origin,
    /// Token of the first of these runs; of the smaller run, if it was shrunk.
    pub token: String,
    /// Sizes before and after shrinking; `None` if the run was not shrunk.
    pub shrunk: Option<(Size, Size)>,
}

/// Origin of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A strategy performed the run from a seed.
    Drawn {
        /// Name of the strategy.
        strategy: String,
        /// Seed of the run.
        seed: u64,
    },
    /// A search found the run.
    Searched,
    /// The run is the replay of the saved run with this index in [`TestPlan::saved`].
    Saved(usize),
}

impl TestResult {
    /// Returns true unless some line is unmet, or could not be judged because every run hit a limit.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.lines.iter().all(|l| !matches!(l.verdict, LineVerdict::Unmet(..) | LineVerdict::Cut))
    }
}
