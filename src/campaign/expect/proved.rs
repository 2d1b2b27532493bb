//! Proves `expect` lines by static executes-before, for programs with too many states for a search.

use super::order::is_about_order;
use super::test_result::LineVerdict;
use crate::event::{BodyId, SiteId};
use crate::lang::program::{Expectation, ExpectationKind, OrderWord, SiteRef};
use crate::statics::{SitesClaim, Statics};
use std::cell::OnceCell;
use std::sync::Arc;

/// Returns whether static analysis may prove such a line.
pub(super) fn is_provable(kind: &ExpectationKind) -> bool {
    match kind {
        ExpectationKind::ExecutesBefore(..) => true,
        ExpectationKind::Order { refs, word } => *word == OrderWord::Never && refs.len() == 2,
        ExpectationKind::Race { no, false_, order, .. } => (*no || *false_) && !order,
        _ => false,
    }
}

/// Proofs of the lines of one program.
pub(super) struct LineProofs {
    statics: Arc<Statics>,
    // The orders of bodies, once a line has asked.
    bodies: OnceCell<Vec<(BodyId, BodyId)>>,
}

impl LineProofs {
    pub(super) fn new(statics: Arc<Statics>) -> Self {
        Self { statics, bodies: OnceCell::new() }
    }

    /// Returns the reason why the line holds in every run, sentence by sentence; `None` if the analysis does not prove
    /// it.
    pub(super) fn of(&self, kind: &ExpectationKind) -> Option<Vec<String>> {
        let statics = &self.statics;
        match kind {
            ExpectationKind::ExecutesBefore(first, second) => {
                let bodies = self.bodies.get_or_init(|| statics.bodies());
                let is_ordered = bodies.binary_search(&(*first, *second)).is_ok();
                is_ordered.then(|| statics.why_bodies(*first, *second))
            }
            ExpectationKind::Order { refs, word: OrderWord::Never } => {
                let [first, then] = refs.as_slice() else { return None };
                // The second statement is always over before the first one comes.
                let all = || pairs(then, first);
                let is_never = all().all(|(x, y)| statics.past_before(x, y));
                is_never.then(|| all().map(|(x, y)| statics.why(x, y)).find(|why| !why.is_empty()).unwrap_or_default())
            }
            ExpectationKind::Race { no, false_, order: false, left, right, .. } if *no || *false_ => {
                let all = || pairs(left, right).filter(|(x, y)| statics.sites(*x, *y) != SitesClaim::NoConflict);
                let is_ordered = |(x, y)| match statics.sites(x, y) {
                    SitesClaim::Ordered { .. } | SitesClaim::NeverBoth => true,
                    // Both orders of the two statements happen, though never of the same instances.
                    SitesClaim::BothOrders => *no,
                    _ => false,
                };
                // A line about statements that never conflict says nothing that could be proved.
                let is_proved = all().next().is_some() && all().all(is_ordered);
                is_proved.then(|| all().flat_map(|(x, y)| statics.why(x, y)).collect())
            }
            _ => None,
        }
    }
}

/// Returns the verdict on a line of which static analysis may have a proof: without one, the verdict that runs have led
/// to.
///
/// # Panics
///
/// Panics if a run breaks the line although it is proved: one of the two is wrong.
pub(super) fn settle(line: &Expectation, proof: Option<&[String]>, verdict: LineVerdict) -> LineVerdict {
    let Some(proof) = proof else { return verdict };
    match verdict {
        LineVerdict::Cut => LineVerdict::Met,
        LineVerdict::Unmet(why, ..) if is_about_order(&line.kind) => {
            panic!("a run breaks `{}`, which static analysis proves: {why:?}; {proof:?}", line.text)
        }
        verdict => verdict,
    }
}

fn pairs<'r>(left: &'r SiteRef, right: &'r SiteRef) -> impl Iterator<Item = (SiteId, SiteId)> + 'r {
    left.sites.iter().flat_map(|x| right.sites.iter().map(|y| (*x, *y)))
}
