//! `expect race` and `expect races` lines against what a campaign confirmed.

use super::{Confirmation, PairReport};
use crate::lang::program::{ExpectationKind, SiteRef};

/// Whether a line speaks of pairs, so that a campaign is needed to judge it.
#[must_use]
pub(super) fn is_about_pairs(expectation: &ExpectationKind) -> bool {
    matches!(expectation, ExpectationKind::Race { .. } | ExpectationKind::Races { .. })
}

/// Why a line about pairs does not hold; `None` if it does, or if it is about something else.
#[must_use]
pub fn judge_pairs(expectation: &ExpectationKind, found: &Confirmation) -> Option<String> {
    match expectation {
        ExpectationKind::Race { no, left, right, real, harmful, false_ } => {
            let pairs = selected(found, left, right);
            let confirmed = pairs.iter().filter(|p| p.verdict.confirmed()).count();
            let hurts = pairs.iter().any(|p| p.verdict.confirmed() && !p.hurts().is_empty());
            let why = match (no, pairs.is_empty()) {
                (true, true) => return None,
                (true, false) => "it was reported",
                (false, true) => "it was not reported",
                (false, false) if *false_ && confirmed > 0 => "it was confirmed",
                (false, false) if (*real || *harmful) && confirmed == 0 => "it was reported, and not confirmed",
                (false, false) if *harmful && !hurts => "it was confirmed, and no order hurts",
                (false, false) => return None,
            };
            Some(why.to_owned())
        }
        ExpectationKind::Races { potential, real } => {
            let reported = found.pairs.len() as i64;
            let confirmed = found.pairs.iter().filter(|p| p.verdict.confirmed()).count() as i64;
            let holds = reported == *potential && real.is_none_or(|real| real == confirmed);
            (!holds).then(|| format!("{reported} reported, {confirmed} of them real"))
        }
        _ => None,
    }
}

/// The pairs that two references select.
fn selected<'c>(found: &'c Confirmation, left: &SiteRef, right: &SiteRef) -> Vec<&'c PairReport> {
    let is = |p: &PairReport, x: &SiteRef, y: &SiteRef| x.sites.contains(&p.pair.a) && y.sites.contains(&p.pair.b);
    found.pairs.iter().filter(|p| is(p, left, right) || is(p, right, left)).collect()
}
