//! Possible livelocks in the report of a campaign.

use super::campaign::{Evidence, run_evidence};
use crate::campaign;
use serde::{Deserialize, Serialize};

/// A possible livelock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Endless {
    /// The threads that never end.
    pub threads: Vec<String>,
    /// Number of states that such a run can visit again and again.
    pub states: usize,
    /// A run that reaches one of these states, goes through a cycle twice, and is then cut off by its limit of steps.
    pub again: Evidence,
}

/// Returns a possible livelock as data.
pub(super) fn endless(found: &campaign::LivelockCycle) -> Endless {
    Endless { threads: found.threads.clone(), states: found.states, again: run_evidence(&found.evidence) }
}
