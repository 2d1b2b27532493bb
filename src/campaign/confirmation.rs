//! The result of a whole campaign.

use crate::campaign::finding::{Finding, Results};
use crate::campaign::report::{Coverage, FailureReport, LivelockCycle, PairReport, Phase1, Risk, SearchSize};
use crate::campaign::ring::RingReport;
use std::collections::{BTreeMap, BTreeSet};

/// Result of a whole campaign.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// Result of detection.
    pub phase1: Phase1,
    /// Report of each potential pair, in the order of `phase1.candidates`.
    pub pairs: Vec<PairReport>,
    /// Report of each order pair, in the order of `phase1.orders`; empty if order pairs were not driven.
    pub orders: Vec<PairReport>,
    /// Report of each deadlock ring, in the order of `phase1.rings`.
    pub rings: Vec<RingReport>,
    /// Failures of trials that no order of any pair has, and no detection run either. Of order pairs only the harmful
    /// ones explain a failure.
    pub unexplained: Vec<FailureReport>,
    /// Search of all states; `None` if there was none.
    pub searched: Option<SearchSize>,
    /// Possible livelocks; `None` if they were not looked for, or if there are too many states.
    pub livelocks: Option<Vec<LivelockCycle>>,
    /// Whether the stop flag was set before the campaign ended. The pair in progress may have a weaker result than it
    /// would have had.
    pub interrupted: bool,
}

impl Confirmation {
    /// Returns the result of a campaign that looked for no pairs.
    #[must_use]
    pub fn empty() -> Self {
        let coverage = Coverage {
            risk: Risk { once: 0, walks: 0 },
            limits: BTreeMap::new(),
            left_out: BTreeSet::new(),
            searched: None,
            complete: true,
        };
        let phase1 = Phase1 {
            runs: 0,
            candidates: Vec::new(),
            filtered: Vec::new(),
            orders: Vec::new(),
            rings: Vec::new(),
            failures: Vec::new(),
            longest: 0,
            coverage,
        };
        Self {
            phase1,
            pairs: Vec::new(),
            orders: Vec::new(),
            rings: Vec::new(),
            unexplained: Vec::new(),
            searched: None,
            livelocks: None,
            interrupted: false,
        }
    }

    /// Returns whether the campaign is complete: nothing was interrupted or left out.
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.interrupted
            && self.phase1.coverage.complete
            && self.pairs.len() == self.phase1.candidates.len()
            && self.rings.len() == self.phase1.rings.len()
            && self.pairs.iter().chain(&self.orders).all(|p| p.trials.complete)
            && self.rings.iter().all(|ring| ring.complete)
    }
}

impl Confirmation {
    /// Returns the findings of the campaign. See [`Results::findings`].
    #[must_use]
    pub fn findings(&self) -> Vec<Finding<'_, PairReport>> {
        let Self { pairs, orders, rings, .. } = self;
        let (detection, trials) = (&self.phase1.failures, &self.unexplained);
        Results { pairs, orders, rings, violations: &[], detection, trials }.findings()
    }
}
