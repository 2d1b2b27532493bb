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
    /// Returns the limits of a learning campaign.
    pub(super) fn of_fuzz(limits: &BTreeMap<(LimitKind, u64), u64>) -> Vec<Self> {
        let limit = |(&(kind, limit), &runs): (&(LimitKind, u64), &u64)| Self {
            option: kind.option().to_owned(),
            limit,
            runs: u32::try_from(runs).unwrap_or(u32::MAX),
        };
        limits.iter().map(limit).collect()
    }
}

pub(super) fn cuts(found: &Phase1) -> Vec<LimitedRuns> {
    let cut = |(&(kind, limit), &runs): (&(LimitKind, u64), &u32)| {
        let option = kind.option().to_owned();
        LimitedRuns { option, limit, runs }
    };
    found.coverage.limits.iter().map(cut).collect()
}
