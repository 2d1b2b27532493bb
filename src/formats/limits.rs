//! Limits that cut runs of a campaign short, in its results.

use crate::campaign::Phase1;
use crate::event::LimitKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Runs that ended at one limit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct LimitedRuns {
    pub option: String,
    pub limit: u64,
    pub runs: u32,
}

impl LimitedRuns {
    /// Returns the limits of a campaign, each with the number of runs that ended at it.
    pub(super) fn all<N: Copy + TryInto<u32>>(limits: &BTreeMap<(LimitKind, u64), N>) -> Vec<Self> {
        let limit = |(&(kind, limit), &runs): (&(LimitKind, u64), &N)| Self {
            option: kind.option().to_owned(),
            limit,
            runs: runs.try_into().unwrap_or(u32::MAX),
        };
        limits.iter().map(limit).collect()
    }
}

pub(super) fn cuts(found: &Phase1) -> Vec<LimitedRuns> {
    LimitedRuns::all(&found.coverage.limits)
}
