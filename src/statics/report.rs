//! All pairs of a program, and how large it is.

use super::graph::{ContextKind, NodeKind, Place};
use super::pairs::Relation;
use super::{Settled, SitesClaim, Statics};
use crate::base::Id;
use crate::detect::{self, Pair};
use crate::event::{GlobalId, SiteId};
use std::collections::BTreeMap;

/// Two sites of accesses that may touch one location, with what is claimed of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticPair {
    /// The two sites.
    pub pair: Pair,
    /// What is claimed of them.
    pub claim: SitesClaim,
    /// An order that every run has, although the tasks are not in order.
    pub settled: Option<Settled>,
    /// Where the two are that decide the claim; `None` if no run has both.
    pub context: Option<detect::ContextKind>,
}

impl StaticPair {
    /// Returns whether nothing orders the two, so that they are reported.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.claim, SitesClaim::OrderOnly | SitesClaim::MayRace)
    }
}

/// The size of an unfolded program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticCounts {
    /// Number of contexts: threads, tasks, firings, parts of async tasks.
    pub contexts: usize,
    /// Number of operations in all of them.
    pub operations: usize,
    /// Number of contexts that stand for several.
    pub folded: usize,
}

impl Statics {
    /// Returns all pairs of sites that may conflict, by site. Sites that no context has are left out.
    #[must_use]
    pub fn pairs(&self) -> Vec<StaticPair> {
        // A global is only compared with itself.
        let mut groups: BTreeMap<Option<GlobalId>, Vec<SiteId>> = BTreeMap::new();
        for (id, nodes) in self.occurrences.enumerate() {
            let access = nodes.first().and_then(|node| self.known.graph.access(*node)).filter(|access| access.races);
            if let Some(access) = access {
                let global = if let Place::Global { id, .. } = access.place { Some(id) } else { None };
                groups.entry(global).or_default().push(id);
            }
        }
        let of = |group: &Vec<SiteId>| -> Vec<StaticPair> {
            let pairs = group.iter().enumerate().flat_map(|(i, a)| group[i..].iter().map(move |b| (*a, *b)));
            pairs.filter_map(|(a, b)| self.pair(a, b)).collect()
        };
        let mut found: Vec<StaticPair> = groups.values().flat_map(of).collect();
        found.sort_unstable_by_key(|pair| pair.pair);
        found
    }

    /// Returns what is claimed of two sites; `None` if they cannot conflict.
    #[must_use]
    pub fn pair(&self, a: SiteId, b: SiteId) -> Option<StaticPair> {
        let (a, b) = (a.min(b), a.max(b));
        if !self.sites.get(a.index())?.can_conflict(self.sites.get(b.index())?) {
            return None;
        }
        let found = self.compare(a, b, &self.locks);
        let settled = if found.claim == SitesClaim::OrderOnly { self.settled(a, b) } else { None };
        let graph = &self.known.graph;
        let context = found.example.filter(|_| found.relation != Some(Relation::Never)).map(|(x, y)| {
            let contexts = [x, y].map(|node| graph.context(graph.node(node).ctx));
            match contexts.map(|context| context.kind == ContextKind::Thread) {
                [true, true] => detect::ContextKind::ThreadThread,
                [false, false] if contexts[0].looper.is_some() && contexts[0].looper == contexts[1].looper => {
                    detect::ContextKind::SameLooper
                }
                [false, false] => detect::ContextKind::TaskTask,
                _ => detect::ContextKind::ThreadTask,
            }
        });
        Some(StaticPair { pair: Pair::new(a, b), claim: found.claim, settled, context })
    }

    /// Returns the size of the unfolded program.
    #[must_use]
    pub fn counts(&self) -> StaticCounts {
        let graph = &self.known.graph;
        let operations = graph.nodes.iter().filter(|node| node.site.index() < self.sites.len());
        let real = operations.filter(|node| !matches!(node.kind, NodeKind::Sync(_)));
        StaticCounts {
            contexts: graph.contexts.len() - 1,
            operations: real.count(),
            folded: graph.contexts.iter().filter(|context| context.folded).count(),
        }
    }

    /// Returns the graph of posts, one line for each maker: who makes what, on which looper, how often.
    #[must_use]
    pub fn graph_lines(&self) -> Vec<String> {
        let graph = &self.known.graph;
        let mut lines = Vec::new();
        for ctx in graph.ids() {
            for node in self.known.flow.order(graph, ctx) {
                let NodeKind::Make(child) = graph.node(node).kind else { continue };
                let context = graph.context(child);
                let arrow = match (context.kind, context.looper) {
                    (ContextKind::App | ContextKind::Thread, _) => "fork".to_owned(),
                    (ContextKind::Job, _) if context.whole != child => "resume".to_owned(),
                    (ContextKind::Job, _) => "launch".to_owned(),
                    (ContextKind::Row, _) => "row".to_owned(),
                    (_, Some(looper)) => self.names.context(looper).to_owned(),
                    (_, None) => "?".to_owned(),
                };
                let often = if self.known.flow.cyclic(node) || context.returns { "many" } else { "once" };
                let (from, to) = (self.names.context(ctx), self.names.context(child));
                lines.push(format!("{from} -{arrow}-> {to}, {often}"));
            }
        }
        lines
    }
}
