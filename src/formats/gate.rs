//! Defines the judgment of a gate (`--fail-on`) as data: the part of a result that says why a build fails.
//! `docs/formats.md` describes the fields.

use serde::{Deserialize, Serialize};

/// The judgment of a gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct GateReport {
    /// The words of `--fail-on`, or those of the default gate.
    pub fail_on: Vec<String>,
    /// Whether this is the default gate, because none was given.
    pub default: bool,
    /// Whether each violation of atomicity counts as real (`--strict`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    pub passed: bool,
    /// The conditions that were met.
    pub failed: Vec<GateFailure>,
}

/// A condition of a gate that was met.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GateFailure {
    /// The condition of the gate: `limits`, for example.
    pub on: String,
    /// Number of occurrences of the condition.
    pub count: u64,
    /// An explanation of the condition: `later steps are unknown`.
    pub why: String,
}

/// The condition of a gate on harmful pairs.
pub(crate) const HARMFUL: &str = "harmful";
/// The condition of a gate on any failing run.
pub(crate) const ANY_FAILURE: &str = "any-failure";
/// The condition that every test has: a line that fails.
pub(crate) const UNMET: &str = "unmet";

impl GateReport {
    /// Creates the judgment of a gate that fails on these words, of which those in `failed` were met.
    #[must_use]
    pub fn new(fail_on: Vec<String>, default: bool, failed: Vec<GateFailure>) -> Self {
        Self { fail_on, default, strict: false, passed: failed.is_empty(), failed }
    }

    /// Returns the failures for reports that list the findings: those of a gate that was given, without the conditions
    /// whose occurrences are findings themselves.
    #[must_use]
    pub fn besides_findings(&self) -> Vec<GateFailure> {
        let is_listed = |failure: &&GateFailure| [HARMFUL, ANY_FAILURE, UNMET].contains(&failure.on.as_str());
        self.failed.iter().filter(|failure| !self.default && !is_listed(failure)).cloned().collect()
    }

    /// Formats the judgment: `passed`, or `failed on limits (3), real (1)`.
    #[must_use]
    pub fn words(&self) -> String {
        let words: Vec<String> = self.failed.iter().map(|f| format!("{} ({})", f.on, f.count)).collect();
        if self.passed { "passed".to_owned() } else { format!("failed on {}", words.join(", ")) }
    }
}

impl GateFailure {
    /// Formats the failure: `the gate failed on limits (3): later steps are unknown`.
    #[must_use]
    pub fn text(&self) -> String {
        format!("the gate failed on {} ({}): {}", self.on, self.count, self.why)
    }
}
