//! Defines the result of `raceflip shrink` as a JSON object, `raceflip-shrink` version 1.

use super::result::RunReport;
use crate::shrink::{DescribedDeviation, ShrinkResult, Size};
use serde::{Deserialize, Serialize};

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The result of `raceflip shrink`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShrinkReport {
    /// The name of the format, `raceflip-shrink`.
    pub format: String,
    /// The version of the format, [`VERSION`].
    pub version: u32,
    /// Sizes of the run before and after shrinking.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// Number of runs that were tried.
    pub tried: u64,
    /// Whether all runs with fewer deviations were tried.
    pub fewest: bool,
    /// Whether the shrinking ended without an interruption.
    pub complete: bool,
    /// The deviations of the shrunk run.
    pub departures: Vec<LeftDeviation>,
    /// The report of the shrunk run.
    pub run: RunReport,
}

/// Sizes of a run before and after shrinking.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Sizes {
    pub steps: u64,
    pub deviations: u64,
    pub steps_before: u64,
    pub deviations_before: u64,
}

/// A smaller run that ends in the same way as the reported one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SmallerRun {
    /// The token of the smaller run.
    pub token: String,
    /// Sizes of the two runs.
    #[serde(flatten)]
    pub sizes: Sizes,
}

/// A deviation of the shrunk run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct LeftDeviation {
    pub step: u64,
    pub took: String,
    pub instead_of: String,
}

impl Sizes {
    /// Returns the sizes of a run before and after shrinking.
    #[must_use]
    pub fn new(before: Size, after: Size) -> Self {
        let Size { deviations, steps } = after;
        Self { steps, deviations, steps_before: before.steps, deviations_before: before.deviations }
    }
}

impl SmallerRun {
    /// Returns the token and the sizes of a shrunk run.
    #[must_use]
    pub fn new(shrunk: &ShrinkResult) -> Self {
        Self { token: shrunk.token.to_string(), sizes: Sizes::new(shrunk.before, shrunk.after) }
    }
}

impl ShrinkReport {
    /// Builds the report of a shrunk run; `run` is the report of that run alone.
    #[must_use]
    pub fn new(shrunk: &ShrinkResult, run: RunReport) -> Self {
        let left = |d: &DescribedDeviation| LeftDeviation {
            step: d.step + 1,
            took: d.took.clone(),
            instead_of: d.instead_of.clone(),
        };
        Self {
            format: "raceflip-shrink".to_owned(),
            version: VERSION,
            sizes: Sizes::new(shrunk.before, shrunk.after),
            tried: shrunk.runs,
            fewest: shrunk.fewest,
            complete: !shrunk.interrupted,
            departures: shrunk.departures.iter().map(left).collect(),
            run,
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}
