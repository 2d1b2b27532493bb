//! The result of shrinking a run as a JSON object, `raceflip-shrink` version 1.

use super::result::RunReport;
use crate::shrink::{Departure, Shrunk, Size};
use serde::{Deserialize, Serialize};

/// Raised when a field changes its meaning or goes away; new fields do not raise it.
pub const VERSION: u32 = 1;

/// The result of `raceflip shrink`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShrinkReport {
    /// `raceflip-shrink`.
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// How much smaller the run is.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// Runs that were tried.
    pub tried: u64,
    /// Whether all runs with fewer deviations were tried.
    pub fewest: bool,
    /// Whether it was not interrupted.
    pub complete: bool,
    /// The deviations that are left.
    pub departures: Vec<Left>,
    /// The run that is left.
    pub run: RunReport,
}

/// Sizes of a run before and after.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Sizes {
    pub steps: u64,
    pub deviations: u64,
    pub steps_before: u64,
    pub deviations_before: u64,
}

/// A run that ends in the same way, and is smaller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Smaller {
    /// Its token.
    pub token: String,
    /// How much smaller it is.
    #[serde(flatten)]
    pub sizes: Sizes,
}

/// A deviation that is left.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Left {
    pub step: u64,
    pub took: String,
    pub instead_of: String,
}

impl Sizes {
    /// Of a run before and after it was shrunk.
    #[must_use]
    pub fn new(before: Size, after: Size) -> Self {
        let Size { deviations, steps } = after;
        Self { steps, deviations, steps_before: before.steps, deviations_before: before.deviations }
    }
}

impl Smaller {
    /// The run that is left.
    #[must_use]
    pub fn new(shrunk: &Shrunk) -> Self {
        Self { token: shrunk.token.to_string(), sizes: Sizes::new(shrunk.before, shrunk.after) }
    }
}

impl ShrinkReport {
    /// The report; `run` is that of the run that is left.
    #[must_use]
    pub fn new(shrunk: &Shrunk, run: RunReport) -> Self {
        let left = |d: &Departure| Left { step: d.step + 1, took: d.took.clone(), instead_of: d.instead_of.clone() };
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

    /// As it is printed.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}
