//! Proofs about atomicity: a search of all states for a run that violates a transaction.

use crate::campaign::runs::states::{PRODUCT, search};
use crate::campaign::runs::trial::remake;
use crate::campaign::{CampaignContext, CampaignPlan};
use crate::detect::atomicity::Specification;
use crate::explore::{self, NoSearchProgress, Unknown, Violations, violations};
use crate::token::Token;
use crate::world::{Program, Search, Snapshot};

/// What a search shows about a transaction.
#[derive(Clone, Debug)]
pub(in crate::campaign) enum Searched {
    /// A run violates it.
    Violated(Box<Token>),
    /// No run does: the number of states of the search.
    Never(u64),
    /// The search could not decide.
    Unknown(Unknown),
}

/// Searches for a run that violates a transaction of this name, or of any name. `most` is the maximum number of states
/// of the program; the search may visit some times as many of the product. `None` if the states of the program cannot
/// be searched.
#[must_use]
pub(in crate::campaign) fn search_violation<P: Program>(
    plan: &CampaignPlan<P>,
    most: u64,
    of: (Specification, Option<&str>),
    context: CampaignContext<'_>,
) -> Option<Searched> {
    plan.program.search(ViolationSearch { plan, most: most.saturating_mul(PRODUCT), of, context })
}

struct ViolationSearch<'c, P> {
    plan: &'c CampaignPlan<P>,
    most: u64,
    of: (Specification, Option<&'c str>),
    context: CampaignContext<'c>,
}

impl<P: Program> Search<P> for ViolationSearch<'_, P> {
    type Answer = Searched;

    fn perform(self, program: &P) -> Searched
    where
        P::Guest: Snapshot,
    {
        let context = explore::SearchContext { stop: self.context.stop, progress: &NoSearchProgress };
        let (found, states) = violations(&search(self.plan, self.most), self.of, context);
        match found {
            Violations::Happens(way) => Searched::Violated(Box::new(remake(program, &self.plan.limits, &way).token)),
            Violations::Never => Searched::Never(states),
            Violations::Unknown(why) => Searched::Unknown(why),
        }
    }
}
