//! Exceptions that the app has caught, as entries of a report.

use super::campaign::{Access, access};
use crate::campaign::CampaignPlan;
use crate::event::SiteId;
use serde::{Deserialize, Serialize};

/// An exception that the app has caught.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Caught {
    pub exception: String,
    pub site: String,
    pub line: u32,
    pub column: u32,
    /// Number of runs of one order in which it was caught.
    pub runs: u32,
}

impl Caught {
    pub(super) fn new(plan: &CampaignPlan, (exception, site, runs): &(String, SiteId, u32)) -> Self {
        let Access { site, line, column, .. } = access(plan, *site);
        Self { exception: exception.clone(), site, line, column, runs: *runs }
    }
}
