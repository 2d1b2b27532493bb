//! Judges `expect race`, `expect order @a ~ @b` and `expect races` lines by the result of a campaign.

use crate::base::IndexVec;
use crate::campaign::{Confirmation, PairReport, Verdict};
use crate::event::{Site, SiteId, SiteKind};
use crate::lang::program::{ExpectationKind, SiteRef};

/// Whether a line is about pairs, so that a campaign is needed to judge it.
#[must_use]
pub(super) fn is_about_pairs(expectation: &ExpectationKind) -> bool {
    matches!(expectation, ExpectationKind::Race { .. } | ExpectationKind::Races { .. })
}

/// Whether a line is about order pairs, which a campaign drives only if its plan says so.
#[must_use]
pub(super) fn is_about_order_pairs(expectation: &ExpectationKind) -> bool {
    matches!(expectation, ExpectationKind::Race { order: true, .. })
}

/// Reason why a line about pairs does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaceMismatch {
    /// Text of the reason.
    pub why: String,
    /// Whether more runs may show what the line misses.
    pub more_may_help: bool,
}

/// Judges a line about pairs by a campaign over a program with these sites. Returns `None` if it holds, or if it is not
/// about pairs.
#[must_use]
pub fn judge_pairs(
    expectation: &ExpectationKind,
    sites: &IndexVec<SiteId, Site>,
    found: &Confirmation,
) -> Option<RaceMismatch> {
    let broken = |why: &str, more_may_help| Some(RaceMismatch { why: why.to_owned(), more_may_help });
    match expectation {
        ExpectationKind::Race { no, order, left, right, real, harmful, false_ } => {
            let word = if *order { "order" } else { "race" };
            let pairs = selected(if *order { &found.orders } else { &found.pairs }, left, right);
            let confirmed = pairs.iter().filter(|p| p.verdict().confirmed()).count();
            let hurts = pairs.iter().any(|p| p.verdict() == Verdict::Harmful);
            match (no, pairs.is_empty()) {
                (true, true) => None,
                (true, false) => {
                    let (left, right) = (&left.text, &right.text);
                    let meant =
                        format!("`{word} {left} ~ {right}: false` says that the pair is reported, and never confirmed");
                    broken(
                        &format!("the pair was reported, and `no {word}` says that no detector reports it; {meant}"),
                        false,
                    )
                }
                (false, true) if *order && are_acquisitions(sites, [left, right]) => broken(SECTIONS, true),
                (false, true) => broken("the pair was not reported", true),
                (false, false) if *false_ && confirmed > 0 => broken("the pair was confirmed", false),
                (false, false) if (*real || *harmful) && confirmed == 0 => {
                    broken("the pair was reported, and not confirmed", true)
                }
                (false, false) if *harmful && !hurts => broken(
                    "the pair was confirmed, and this campaign found no harm that one order does and the other does not",
                    true,
                ),
                (false, false) => None,
            }
        }
        ExpectationKind::Races { potential, real } => {
            let reported = found.pairs.len() as i64;
            let confirmed = found.pairs.iter().filter(|p| p.verdict().confirmed()).count() as i64;
            let holds = reported == *potential && real.is_none_or(|real| real == confirmed);
            let too_many = reported > *potential || real.is_some_and(|real| confirmed > real);
            let why = format!("{reported} pairs were reported, and {confirmed} of them are real");
            (!holds).then_some(RaceMismatch { why, more_may_help: !too_many })
        }
        _ => None,
    }
}

// Why two acquisitions are no order pair: their order alone changes nothing.
const SECTIONS: &str = "it was not reported: two acquisitions of one lock are an order pair only if their critical \
    sections touch something in common, and one of them changes it";

// Whether the operations that both references select are acquisitions of locks, and their releases.
fn are_acquisitions(sites: &IndexVec<SiteId, Site>, refs: [&SiteRef; 2]) -> bool {
    let takes = |kind| matches!(kind, SiteKind::Acquire | SiteKind::ReadLock | SiteKind::WriteLock);
    let gives = |kind| matches!(kind, SiteKind::Release | SiteKind::ReadUnlock | SiteKind::WriteUnlock);
    refs.into_iter().all(|of| {
        let kinds =
            || of.sites.iter().map(|site| &sites[*site]).filter(|site| site.is_operation()).map(|site| site.kind);
        kinds().any(takes) && kinds().all(|kind| takes(kind) || gives(kind) || kind == SiteKind::Announce)
    })
}

/// Returns the pairs whose statements the two references cover, in either order.
pub(super) fn selected<'c>(pairs: &'c [PairReport], left: &SiteRef, right: &SiteRef) -> Vec<&'c PairReport> {
    let is = |p: &PairReport, x: &SiteRef, y: &SiteRef| x.sites.contains(&p.pair.a) && y.sites.contains(&p.pair.b);
    pairs.iter().filter(|p| is(p, left, right) || is(p, right, left)).collect()
}
