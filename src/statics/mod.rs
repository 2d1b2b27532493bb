//! Static executes-before: which operations of a program are in one order in every run, found without running it.
//!
//! The analysis unfolds a checked program into *contexts* (a thread, or one task, by who made it and where), and
//! derives two relations between operations x and y of two contexts:
//!
//! - **W(x, y)**, *x is past before y*: in no reachable state y is pending, or was performed, while an instance of x is
//!   pending or may still be performed.
//! - **S(p, y)**, *p is behind y*: in every state in which y is pending, some instance of p has been performed.
//!
//! W(x, p) and S(p, y) give W(x, y). Nothing else is composed: W says nothing of runs in which one of the two does not
//! come, so two W do not add up to a third one.
//!
//! The source is AndRacer ("Static Executes-Before Analysis for Event Driven Programs", 2021): its executes-before,
//! whose rules C1 to C3, I1 and I2 about tasks follow from the rules about operations here. Its closure I3 is left out,
//! because it is wrong for orders of tasks that may be missing. Every claim holds in every run for the given constants.
//! Where the analysis does not understand a construct it claims nothing.

mod bits;
mod bodies;
mod facts;
mod flow;
mod graph;
mod idle;
mod locksets;
mod log;
mod mistakes;
mod names;
mod pairs;
mod points;
mod program_facts;
mod protected;
mod redundant;
mod report;
mod rules;
mod sections;
mod settled;
mod unfold;
mod why;

use crate::base::{Id, IndexVec};
use crate::event::{BodyId, Site, SiteId};
use crate::lang::Program;
use crate::lang::ast::When;
use bodies::{Bodies, bodies_of};
use facts::Known;
use flow::Flow;
use graph::Node;
pub use idle::idle;
use locksets::LockSets;
use log::Log;
pub use mistakes::mistakes;
use names::Names;
use points::Points;
use program_facts::ProgramFacts;
pub use redundant::RedundantLock;
pub use report::{StaticCounts, StaticPair};
pub use settled::{Settled, SettledBy};
use std::collections::{BTreeMap, BTreeSet};

/// Limits of the analysis. Beyond them contexts are folded, which loses claims and never makes wrong ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticsOptions {
    /// Maximum number of contexts that are unfolded one by one.
    pub contexts: usize,
    /// Maximum number of operations in all contexts.
    pub operations: usize,
    /// Whether to keep what the reasons of claims need ([`Statics::why`]). It takes more time and memory.
    pub reasons: bool,
    /// Whether a condition that is read under a lock tells that the block of its writer is over, if that holds the lock
    /// too. Without it less is claimed: for measurements of how far that goes.
    pub locked_flags: bool,
}

impl StaticsOptions {
    /// Returns the usual options, with reasons.
    #[must_use]
    pub fn explained() -> Self {
        Self { reasons: true, ..Self::default() }
    }
}

impl Default for StaticsOptions {
    fn default() -> Self {
        Self { contexts: 16_000, operations: 1_000_000, reasons: false, locked_flags: true }
    }
}

/// What is claimed of two sites of accesses, about all of their instances that may touch one location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SitesClaim {
    /// All conflicting instances are in one order in every run: W, the same way.
    Ordered {
        /// The site whose instances come first.
        first: SiteId,
    },
    /// All conflicting instances are in order, some one way and some the other way.
    BothOrders,
    /// No run has conflicting instances of both.
    NeverBoth,
    /// Some instances are not ordered, but they are never side by side: they are tasks of one looper.
    OrderOnly,
    /// Some instances are not ordered, and a common lock protects all of these.
    Locked,
    /// Nothing is claimed.
    MayRace,
    /// The two sites never touch one location, or none of them writes.
    NoConflict,
}

/// The result of the analysis of a program.
#[derive(Debug)]
pub struct Statics {
    known: Known,
    locks: LockSets,
    /// The nodes of each site.
    occurrences: IndexVec<SiteId, Vec<Node>>,
    sites: IndexVec<SiteId, Site>,
    /// Whether a property looks at each state, those inside of blocks as well.
    watched: bool,
    names: Names,
    bodies: Bodies,
    /// The place of each body in `bodies`.
    places: BTreeMap<BodyId, usize>,
    /// What the rules have added, if reasons were asked for.
    log: Option<Log>,
}

/// Analyzes a program.
#[must_use]
pub fn analyze(program: &Program, options: &StaticsOptions) -> Statics {
    let graph = unfold::unfold(program, options);
    let flow = Flow::of(&graph);
    let facts = ProgramFacts::of(program, &graph, &flow, options.locked_flags);
    let named: BTreeSet<Node> = facts.one_of.values().chain(facts.all_of.values()).flatten().copied().collect();
    let points = Points::of(&graph, &flow, &named);
    let locks = LockSets::of(&graph, &flow);
    let mut occurrences: IndexVec<SiteId, Vec<Node>> = program.sites.iter().map(|_| Vec::new()).collect();
    for node in graph.ids().flat_map(|ctx| flow.order(&graph, ctx)) {
        let (site, kind) = (graph.node(node).site, graph.node(node).kind);
        if site.index() < occurrences.len() && !matches!(kind, graph::NodeKind::Sync(_)) {
            occurrences[site].push(node);
        }
    }
    let mut known = Known::new(graph, flow, points, facts);
    let log = rules::derive(&mut known, options.reasons);
    let names = Names::of(program, &known.graph);
    let bodies = bodies_of(&known.graph);
    let places = bodies.iter().enumerate().map(|(place, (body, _))| (*body, place)).collect();
    let watched = program.properties.iter().any(|property| property.when == When::Always);
    Statics { known, locks, occurrences, sites: program.sites.clone(), watched, names, bodies, places, log }
}

impl Statics {
    /// Returns what is claimed of two sites. The answer is the same for `(a, b)` and `(b, a)`.
    #[must_use]
    pub fn sites(&self, a: SiteId, b: SiteId) -> SitesClaim {
        let site = |id: SiteId| self.sites.get(id.index());
        match (site(a), site(b)) {
            (Some(x), Some(y)) if x.can_conflict(y) => {
                let (a, b) = (a.min(b), a.max(b));
                self.compare(a, b, &self.locks).claim
            }
            _ => SitesClaim::NoConflict,
        }
    }

    /// Returns whether W holds of all instances of two operations, whether or not they conflict: every instance of `a`
    /// is past before an instance of `b` is pending. True as well if one of the two is in no context.
    #[must_use]
    pub fn past_before(&self, a: SiteId, b: SiteId) -> bool {
        let pairs = self.occurrences(a).iter().flat_map(|x| self.occurrences(b).iter().map(move |y| (*x, *y)));
        pairs.into_iter().all(|(x, y)| self.known.is_past_before(x, y))
    }

    /// Returns whether nothing was folded because of the limits in [`StaticsOptions`].
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.known.graph.is_cut
    }

    /// Returns the sites that no run performs, in order: no thread or task comes to them.
    #[must_use]
    pub fn unreached(&self) -> Vec<SiteId> {
        let graph = &self.known.graph;
        let reached: BTreeSet<SiteId> = graph.nodes.iter().map(|node| node.site).collect();
        self.sites.ids().filter(|site| !reached.contains(site)).collect()
    }

    fn occurrences(&self, site: SiteId) -> &[Node] {
        self.occurrences.get(site.index()).map_or(&[], Vec::as_slice)
    }
}
