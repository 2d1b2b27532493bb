//! The proof of the verdict on a pair, as a part of `raceflip-confirm`.

use super::campaign::access;
use super::harms::side;
use crate::campaign::{self, CampaignPlan, NeverClaim, Refutation};
use serde::{Deserialize, Serialize};

/// The proof of the verdict on a pair.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub enum Proof {
    Adjacent,
    Flipped {
        a: String,
        b: String,
        cut: Option<String>,
    },
    Refuted {
        /// 0 if no search was needed.
        #[serde(default, skip_serializing_if = "is_none")]
        states: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        never_first: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        never_then: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        never_direct: bool,
        /// `order` if the accesses are in order in every run, by static analysis.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The reason of that order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        why: Vec<String>,
    },
    Unconfirmed,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(n: &u64) -> bool {
    *n == 0
}

/// Returns the proof of a pair.
pub(super) fn proof(plan: &CampaignPlan, proof: &campaign::Proof) -> Proof {
    match proof {
        campaign::Proof::Adjacent => Proof::Adjacent,
        campaign::Proof::Flipped(flip) => Proof::Flipped {
            a: format!("{} visit {}", flip.instances.a.context, flip.instances.a.visit),
            b: format!("{} visit {}", flip.instances.b.context, flip.instances.b.visit),
            cut: flip.cut.map(side),
        },
        campaign::Proof::Refuted(Refutation { states, never }) => {
            let (first, then) = match *never {
                NeverClaim::Order { first, then, .. } => (Some(first), Some(then)),
                NeverClaim::Turned => (None, None),
            };
            let never_direct = matches!(never, NeverClaim::Order { direct: true, .. });
            let [never_first, never_then] = [first, then].map(|site| Some(access(plan, site?).site));
            let (by, why) = (None, Vec::new());
            Proof::Refuted { states: *states, never_first, never_then, never_direct, by, why }
        }
        campaign::Proof::Ordered(order) => Proof::Refuted {
            states: 0,
            // The order that never happens is the other one.
            never_first: order.order.map(|(_, then)| access(plan, then).site),
            never_then: order.order.map(|(first, _)| access(plan, first).site),
            never_direct: false,
            by: Some("order".to_owned()),
            why: order.why.clone(),
        },
        campaign::Proof::Unconfirmed => Proof::Unconfirmed,
    }
}
