//! Names the runs of a campaign, so that each can be performed again.

use crate::sched::{RawChoices, StrategySpec};
use std::sync::Arc;

/// Name of a run: its strategy and its seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunId {
    /// Strategy that makes the choices.
    pub strategy: StrategySpec,
    /// Seed of the run.
    pub seed: u64,
}

/// Run that can be performed again in the same program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunSource {
    /// A run that a strategy draws from a seed.
    Drawn(RunId),
    /// A run that is known by its choices, since no seed draws it: [`SEARCHED`], [`CONTINUED`] or [`FUZZED`].
    Made {
        /// Choices of the run.
        choices: Arc<RawChoices>,
        /// Origin of the choices: the strategy name in the token of the run.
        by: &'static str,
    },
}

/// Strategy name in tokens of runs that a search has found. They have no seed.
pub const SEARCHED: &str = "explore";

/// Strategy name in tokens of continuations: runs that a campaign resumed at a decision point in a forced order. They
/// have no seed.
pub const CONTINUED: &str = "confirm";

/// Strategy name in tokens of runs of a learning campaign. What they are asked for and where they begin depends on the
/// runs before, so no seed draws them alone.
pub const FUZZED: &str = "fuzz";
