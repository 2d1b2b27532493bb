//! Defines the result of `static` as a JSON object, `raceflip-static` version 1 (`docs/formats.md`). Its pairs have the
//! form of a list of pairs, so that `--pairs-from` reads it.

use super::campaign::context;
use crate::base::Id;
use crate::detect::Rank;
use crate::event::{BodyId, SiteId};
use crate::sched::site_text;
use crate::statics::{SettledBy, SitesClaim, StaticPair, Statics};
use crate::vm::Model;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The name of the format.
pub(super) const FORMAT: &str = "raceflip-static";

/// The output of `raceflip static --format json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct StaticReport {
    pub format: String,
    pub version: u32,
    pub file: String,
    pub program: String,
    pub defines: BTreeMap<String, i64>,
    pub contexts: usize,
    pub operations: usize,
    pub folded: usize,
    pub complete: bool,
    /// Pairs that nothing orders.
    pub pairs: Vec<OpenPair>,
    /// Pairs that are in order, or of which no run has both.
    pub refuted: Vec<OrderedPair>,
    /// Pairs whose instances are in order, some one way and some the other way.
    pub both_orders: Vec<OrderedPair>,
    /// Number of pairs that only locks protect.
    pub locked: usize,
    pub orders: Vec<BodyOrder>,
    pub locks: Vec<Lock>,
}

/// A pair that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct OpenPair {
    pub a: String,
    pub b: String,
    pub rank: char,
    pub location: String,
    pub contexts: Vec<String>,
    /// The reason of a settled order: `guarded`, `cut off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<String>,
    pub why: Vec<String>,
    #[serde(skip)]
    pub pair: (u32, u32),
}

/// A pair that is in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct OrderedPair {
    pub a: String,
    pub b: String,
    /// The one that comes first; null if no run has both, or for both orders.
    pub first: Option<String>,
    pub then: Option<String>,
    pub why: Vec<String>,
}

/// Two bodies in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct BodyOrder {
    pub before: String,
    pub after: String,
    pub why: Vec<String>,
}

/// A `sync` block that protects nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Lock {
    pub line: u32,
    pub column: u32,
    pub label: Option<String>,
    pub why: Vec<String>,
}

impl StaticReport {
    /// Builds the report of an analysis.
    #[must_use]
    pub fn new(file: &str, model: &Model, statics: &Statics) -> Self {
        let counts = statics.counts();
        let pairs = statics.pairs();
        let of = |claim: fn(&StaticPair) -> bool| pairs.iter().filter(move |pair| claim(pair));
        let is_refuted = |pair: &StaticPair| matches!(pair.claim, SitesClaim::Ordered { .. } | SitesClaim::NeverBoth);
        let ordered = |pair: &StaticPair| ordered(model, statics, pair);
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            file: file.to_owned(),
            program: format!("{:016x}", model.digest()),
            defines: model.defines.iter().cloned().collect(),
            contexts: counts.contexts,
            operations: counts.operations,
            folded: counts.folded,
            complete: statics.complete(),
            pairs: of(StaticPair::is_open).map(|pair| open(model, statics, pair)).collect(),
            refuted: of(is_refuted).map(ordered).collect(),
            both_orders: of(|pair| pair.claim == SitesClaim::BothOrders).map(ordered).collect(),
            locked: of(|pair| pair.claim == SitesClaim::Locked).count(),
            orders: statics.nearest_bodies().into_iter().map(|bodies| body_order(model, statics, bodies)).collect(),
            locks: statics.locks().iter().map(|lock| redundant(model, statics, lock)).collect(),
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}

fn text(model: &Model, site: SiteId) -> String {
    site_text(&model.program.sites, site)
}

/// Returns the word for a settled order.
#[must_use]
pub fn settled_word(by: SettledBy) -> &'static str {
    match by {
        SettledBy::Guard => "guarded",
        SettledBy::Quit => "cut off",
    }
}

fn open(model: &Model, statics: &Statics, found: &StaticPair) -> OpenPair {
    let pair = found.pair;
    let rank = if found.settled.is_some() { Rank::Filtered } else { Rank::Unordered };
    OpenPair {
        a: text(model, pair.a),
        b: text(model, pair.b),
        rank: rank.letter(),
        location: model.program.sites[pair.a].place.clone(),
        contexts: found.context.iter().map(context).collect(),
        settled: found.settled.map(|settled| settled_word(settled.by).to_owned()),
        why: statics.why(pair.a, pair.b),
        pair: (pair.a.0, pair.b.0),
    }
}

fn ordered(model: &Model, statics: &Statics, found: &StaticPair) -> OrderedPair {
    let pair = found.pair;
    let first = if let SitesClaim::Ordered { first } = found.claim { Some(first) } else { None };
    let then = first.map(|first| if first == pair.a { pair.b } else { pair.a });
    OrderedPair {
        a: text(model, pair.a),
        b: text(model, pair.b),
        first: first.map(|site| text(model, site)),
        then: then.map(|site| text(model, site)),
        why: statics.why(pair.a, pair.b),
    }
}

fn body_order(model: &Model, statics: &Statics, (first, then): (BodyId, BodyId)) -> BodyOrder {
    let name = |body: BodyId| model.program.bodies.get(body.index()).map_or_else(String::new, |body| body.name.clone());
    BodyOrder { before: name(first), after: name(then), why: statics.why_bodies(first, then) }
}

fn redundant(model: &Model, statics: &Statics, lock: &crate::statics::RedundantLock) -> Lock {
    let site = &model.program.sites[lock.acquire];
    let why = match lock.ordered.first() {
        None => vec!["nothing else accesses what it guards, or all that does is in the same task".to_owned()],
        Some((a, b)) => {
            let count = lock.ordered.len();
            let all = if count == 1 { "the pair".to_owned() } else { format!("all {count} pairs") };
            let head = format!(
                "{all} of accesses that it could protect are in order without it, as {} and {}",
                text(model, *a),
                text(model, *b)
            );
            std::iter::once(head).chain(statics.why(*a, *b)).collect()
        }
    };
    Lock { line: site.line, column: site.column, label: site.label.clone(), why }
}
