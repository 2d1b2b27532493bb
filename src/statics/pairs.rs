//! Pairs of accesses: what is claimed of two sites, from all of their occurrences.

use super::facts::Known;
use super::graph::{AccessData, ContextKind, Ctx, Node, Place};
use super::locksets::LockSets;
use super::program_facts::excludes;
use super::{SitesClaim, Statics};
use crate::event::SiteId;
use std::collections::BTreeMap;

/// How two occurrences are related. The later ones decide the claim before the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Relation {
    /// No run has both.
    Never,
    /// The first one is past before the second one.
    Before,
    /// The second one is past before the first one.
    After,
    /// Not ordered, and a common lock protects both.
    Locked,
    /// Not ordered, and never side by side.
    OneThread,
    /// Nothing is known.
    Free,
}

/// What is claimed of two sites, and two occurrences that show why it is not more.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairClaim {
    pub(super) claim: SitesClaim,
    /// The first occurrences with the relation that decides the claim.
    pub(super) example: Option<(Node, Node)>,
    /// That relation.
    pub(super) relation: Option<Relation>,
}

/// Whether two places may be one location.
fn overlap(a: &Place, b: &Place) -> bool {
    let apart = |a: &Option<i64>, b: &Option<i64>| a.is_some() && b.is_some() && a != b;
    let fits = |a: u32, b: u32| a == b || a == 0 || b == 0;
    match (a, b) {
        (Place::Global { id: a, cell: x }, Place::Global { id: b, cell: y }) => a == b && !apart(x, y),
        (
            Place::Field { class: a, field: f, cell: x, object: o },
            Place::Field { class: b, field: g, cell: y, object: p },
        ) => a == b && f == g && !apart(x, y) && !apart(o, p),
        (Place::Object { class: a, object: o }, Place::Object { class: b, object: p })
        | (Place::Object { class: a, object: o }, Place::Field { class: b, object: p, .. })
        | (Place::Field { class: a, object: o, .. }, Place::Object { class: b, object: p }) => {
            fits(a.0, b.0) && !apart(o, p)
        }
        (Place::Global { .. }, _) | (_, Place::Global { .. }) => false,
    }
}

/// Whether two accesses may race: they may touch one location, one of them writes, and not both are atomic.
pub(super) fn conflict(a: &AccessData, b: &AccessData) -> bool {
    // Of an object as a whole only the free is in conflict with accesses to its fields.
    let whole = |object: &AccessData, other: &AccessData| {
        !matches!(object.place, Place::Object { .. }) || object.writes || matches!(other.place, Place::Object { .. })
    };
    a.races
        && b.races
        && (a.writes || b.writes)
        && !(a.atomic && b.atomic)
        && whole(a, b)
        && whole(b, a)
        && overlap(&a.place, &b.place)
}

/// Returns how two occurrences that conflict are related.
pub(super) fn relation(known: &Known, locks: &LockSets, x: Node, y: Node) -> Relation {
    // Most pairs are decided by two bits.
    if !known.may_exclude(x, y) {
        let over = |first: Node, then: Node| known.at(then).over.has(known.graph.node(first).ctx.0 as usize);
        match (over(x, y), over(y, x)) {
            (true, true) => return Relation::Never,
            (true, false) => return Relation::Before,
            (false, true) => return Relation::After,
            (false, false) => {}
        }
    }
    match (known.is_past_before(x, y), known.is_past_before(y, x)) {
        (true, true) => Relation::Never,
        (true, false) => Relation::Before,
        (false, true) => Relation::After,
        (false, false) if runner(known, x).is_some_and(|thread| runner(known, y) == Some(thread)) => {
            Relation::OneThread
        }
        (false, false) => {
            let graph = &known.graph;
            let mut mine = locks.at(graph, x);
            if mine.any(|a| locks.at(graph, y).any(|b| excludes(a, b))) { Relation::Locked } else { Relation::Free }
        }
    }
}

/// The thread that runs a node, if it is one thread in every run.
fn runner(known: &Known, node: Node) -> Option<Ctx> {
    let ctx = known.graph.node(node).ctx;
    let context = known.graph.context(ctx);
    match context.kind {
        ContextKind::Thread | ContextKind::App => context.unique.then_some(ctx),
        ContextKind::Task | ContextKind::Firing(_) | ContextKind::Job | ContextKind::Row => context.looper,
    }
}

impl Statics {
    /// Compares all occurrences of two sites. Without `locks`, lock sets are left out.
    pub(super) fn compare(&self, a: SiteId, b: SiteId, locks: &LockSets) -> PairClaim {
        let graph = &self.known.graph;
        let mut found: BTreeMap<Relation, (Node, Node)> = BTreeMap::new();
        let (firsts, seconds) = (self.occurrences(a), self.occurrences(b));
        'all: for (i, x) in firsts.iter().enumerate() {
            let Some(mine) = graph.access(*x) else { continue };
            let at = graph.node(*x).ctx;
            let mut next = if a == b { i } else { 0 };
            while let Some(y) = seconds.get(next) {
                next += 1;
                if graph.are_one(at, graph.node(*y).ctx) {
                    // Occurrences are in the order of contexts, and one context may have very many.
                    let here = graph.node(*y).ctx;
                    next = seconds.partition_point(|node| graph.node(*node).ctx <= here);
                    continue;
                }
                if graph.access(*y).is_some_and(|theirs| conflict(mine, theirs)) {
                    let relation = relation(&self.known, locks, *x, *y);
                    found.entry(relation).or_insert((*x, *y));
                    if relation == Relation::Free {
                        break 'all;
                    }
                }
            }
        }
        let has = |relation| found.contains_key(&relation);
        let claim = if has(Relation::Free) {
            SitesClaim::MayRace
        } else if has(Relation::OneThread) {
            SitesClaim::OrderOnly
        } else if has(Relation::Locked) {
            SitesClaim::Locked
        } else {
            match (has(Relation::Before), has(Relation::After)) {
                (true, true) => SitesClaim::BothOrders,
                // Both orders of a site with itself are one.
                (true, false) | (false, true) if a == b => SitesClaim::BothOrders,
                (true, false) => SitesClaim::Ordered { first: a },
                (false, true) => SitesClaim::Ordered { first: b },
                (false, false) => SitesClaim::NeverBoth,
            }
        };
        let (relation, example) = found.into_iter().next_back().unzip();
        PairClaim { claim, example, relation }
    }
}
