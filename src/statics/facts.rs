//! What is known at a place: rows of contexts and points.

use super::bits::Bits;
use super::flow::Flow;
use super::graph::{Ctx, Graph, Node, NodeKind};
use super::points::Points;
use super::program_facts::ProgramFacts;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The facts when a node is pending. Rows of contexts, except `must`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Facts {
    /// All instances of these contexts are past.
    pub(super) over: Arc<Bits>,
    /// All makers of these contexts are past.
    pub(super) posts: Arc<Bits>,
    /// Some instance of these contexts has begun.
    pub(super) begun: Arc<Bits>,
    /// Some instance of these contexts has come to its end.
    pub(super) ended: Arc<Bits>,
    /// These points are behind.
    pub(super) must: Arc<Bits>,
}

impl Facts {
    fn rows(&self) -> [&Arc<Bits>; 5] {
        [&self.over, &self.posts, &self.begun, &self.ended, &self.must]
    }

    fn rows_mut(&mut self) -> [&mut Arc<Bits>; 5] {
        [&mut self.over, &mut self.posts, &mut self.begun, &mut self.ended, &mut self.must]
    }

    /// Adds what is known elsewhere, if that place is behind this one.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (mine, theirs) in self.rows_mut().into_iter().zip(other.rows()) {
            if !Arc::ptr_eq(mine, theirs) {
                Arc::make_mut(mine).add_all(theirs);
            }
        }
    }

    /// Keeps what is known in both places, if one of them is behind this one.
    fn keep(&mut self, other: &Self) {
        for (mine, theirs) in self.rows_mut().into_iter().zip(other.rows()) {
            if !Arc::ptr_eq(mine, theirs) {
                Arc::make_mut(mine).keep(theirs);
            }
        }
    }

    /// Returns what is known here and not there.
    pub(super) fn without(&self, other: &Self) -> Self {
        let mut more = self.clone();
        for (mine, theirs) in more.rows_mut().into_iter().zip(other.rows()) {
            *mine = if Arc::ptr_eq(mine, theirs) { Arc::default() } else { Arc::new(mine.without(theirs)) };
        }
        more
    }

    /// Uses the rows of another place where they are equal.
    fn share(&mut self, other: &Self) {
        for (mine, theirs) in self.rows_mut().into_iter().zip(other.rows()) {
            if mine == theirs {
                *mine = theirs.clone();
            }
        }
    }
}

/// The graph with everything that is known of it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) graph: Graph,
    pub(super) flow: Flow,
    pub(super) points: Points,
    pub(super) program: ProgramFacts,
    /// For each node the number of its nearest dominating place at which the facts grow.
    nearest: Vec<u32>,
    /// The facts at these places.
    facts: Vec<Facts>,
    /// Contexts below a place where ways part, or with one.
    parted: Bits,
    /// The nodes where ways come together at which the facts grow, each with the ends of these ways.
    ways: BTreeMap<Node, Vec<Node>>,
}

impl Known {
    pub(super) fn new(graph: Graph, flow: Flow, points: Points, program: ProgramFacts) -> Self {
        let mut nearest = vec![0; graph.nodes.len()];
        let mut ways = BTreeMap::new();
        let mut places = 0;
        for ctx in graph.ids() {
            let entry = graph.context(ctx).entry();
            let first = places;
            graph.nodes_of(ctx).for_each(|node| nearest[node.0 as usize] = first);
            places += 1;
            let mut ends = flow.forward_ends(&graph, ctx);
            for node in flow.order(&graph, ctx).filter(|node| *node != entry) {
                let up = flow.idom(node).map_or(first, |up| nearest[up.0 as usize]);
                // Where all ways come from one place, they know the same.
                let ends = ends.remove(&node).filter(|ends| ends.iter().any(|end| nearest[end.0 as usize] != up));
                let is_sync = matches!(graph.node(node).kind, NodeKind::Sync(_));
                nearest[node.0 as usize] = if is_sync || ends.is_some() { places } else { up };
                places += u32::from(is_sync || ends.is_some());
                ways.extend(ends.filter(|_| !is_sync).map(|ends| (node, ends)));
            }
        }
        let facts = vec![Facts::default(); places as usize];
        let mut parted = Bits::default();
        for ctx in graph.ids() {
            let mut makers = graph.context(ctx).makers.iter().map(|maker| graph.node(*maker).ctx);
            let parts = graph.nodes_of(ctx).any(|node| graph.succ[node.0 as usize].len() > 1);
            if parts || makers.any(|maker| parted.has(maker.0 as usize)) {
                parted.add(ctx.0 as usize);
            }
        }
        Self { graph, flow, points, program, nearest, facts, parted, ways }
    }

    /// Returns the ends of the ways that come together at a node, if they know different things.
    pub(super) fn ways(&self, node: Node) -> Option<&[Node]> {
        self.ways.get(&node).map(Vec::as_slice)
    }

    /// Replaces all facts: by everything, whether it is true or not, or by those of another time. Returns the former
    /// ones.
    pub(super) fn exchange(&mut self, facts: Option<Vec<Facts>>) -> Vec<Facts> {
        let facts = facts.unwrap_or_else(|| {
            let contexts = Arc::new((0..self.graph.contexts.len()).collect());
            let [over, posts, begun, ended] = std::array::from_fn(|_| Arc::clone(&contexts));
            vec![Facts { over, posts, begun, ended, must: Arc::new(self.points.all()) }; self.facts.len()]
        });
        std::mem::replace(&mut self.facts, facts)
    }

    /// Returns the facts at a node of this list for all places.
    pub(super) fn among<'f>(&self, facts: &'f [Facts], node: Node) -> &'f Facts {
        &facts[self.nearest[node.0 as usize] as usize]
    }

    /// Returns the number of places at which the facts grow.
    pub(super) fn size(&self) -> usize {
        self.facts.len()
    }

    /// Returns the node at which the facts of this one were last seen to grow: it, or one that dominates it.
    pub(super) fn place_of(&self, node: Node) -> Node {
        let place = self.nearest[node.0 as usize];
        let above = std::iter::successors(Some(node), |node| self.flow.idom(*node));
        above.take_while(|node| self.nearest[node.0 as usize] == place).last().unwrap_or(node)
    }

    /// Returns the facts when a node is pending, except those that the graph of its own context tells.
    pub(super) fn at(&self, node: Node) -> &Facts {
        &self.facts[self.nearest[node.0 as usize] as usize]
    }

    /// Replaces the facts at a place at which they grow. Returns whether they are different.
    pub(super) fn set(&mut self, node: Node, mut facts: Facts, like: Option<&Facts>) -> bool {
        let place = self.nearest[node.0 as usize] as usize;
        facts.share(&self.facts[place]);
        like.into_iter().for_each(|like| facts.share(like));
        let grown = self.facts[place] != facts;
        self.facts[place] = facts;
        grown
    }

    /// Returns what is known where this node is behind.
    pub(super) fn behind(&self, node: Node) -> Facts {
        let mut facts = self.at(node).clone();
        let ctx = self.graph.node(node).ctx;
        let context = self.graph.context(ctx);
        Arc::make_mut(&mut facts.begun).add(ctx.0 as usize);
        let above = self.points.above(&self.graph, &self.flow, node);
        if !above.is_empty() {
            Arc::make_mut(&mut facts.must).add_sparse(&above);
        }
        if context.unique && !self.points.children(ctx).is_empty() {
            let made = self.points.made_before(&self.graph, &self.flow, node);
            Arc::make_mut(&mut facts.posts).add_sparse(&made);
        }
        if context.exit == Some(node) {
            Arc::make_mut(&mut facts.ended).add(ctx.0 as usize);
            if context.unique {
                Arc::make_mut(&mut facts.over).add(ctx.0 as usize);
            }
        }
        facts
    }

    /// Returns what is known where one of these nodes is behind; nothing for no node.
    pub(super) fn behind_one(&self, nodes: &[Node]) -> Facts {
        let mut nodes = nodes.iter();
        let Some(first) = nodes.next() else { return Facts::default() };
        let mut facts = self.behind(*first);
        for node in nodes {
            if facts == Facts::default() {
                break;
            }
            facts.keep(&self.behind(*node));
        }
        facts
    }

    /// Whether W holds: all instances of `x` are past before an instance of `y` is pending.
    pub(super) fn is_past_before(&self, x: Node, y: Node) -> bool {
        let (a, b) = (self.graph.node(x).ctx, self.graph.node(y).ctx);
        let unique = self.graph.context(a).unique;
        if a == b {
            return unique && !self.flow.may_follow(&self.graph, y, x);
        }
        let facts = self.at(y);
        facts.over.has(a.0 as usize)
            || (unique && self.points.is_past(&self.graph, &self.flow, x, &facts.must))
            || self.excludes(x, y)
    }

    /// Whether ways part above both, so that it is worth asking whether they exclude each other.
    pub(super) fn may_exclude(&self, x: Node, y: Node) -> bool {
        let parted = |node: Node| self.parted.has(self.graph.node(node).ctx.0 as usize);
        parted(x) && parted(y)
    }

    /// Whether no run has both: the ways to their makers part.
    pub(super) fn excludes(&self, x: Node, y: Node) -> bool {
        let (mut x, mut y) = (x, y);
        if !self.may_exclude(x, y) {
            return false;
        }
        loop {
            let (a, b) = (self.graph.node(x).ctx, self.graph.node(y).ctx);
            if a == b {
                let follows = |first, then| self.flow.may_follow(&self.graph, first, then);
                // All instances of both descend from this one instance.
                return self.graph.context(a).unique && x != y && !follows(x, y) && !follows(y, x);
            }
            // Makers have smaller numbers than what they make, as these contexts have one maker.
            let later = if a > b { &mut x } else { &mut y };
            match self.graph.context(a.max(b)).makers[..] {
                [maker] => *later = maker,
                _ => return false,
            }
        }
    }

    /// Iterates over the nodes of a context at which its facts grow, in the order in which they depend on each other.
    pub(super) fn places(&self, ctx: Ctx) -> Vec<Node> {
        let entry = self.graph.context(ctx).entry();
        let grows = |node: &Node| {
            *node == entry || matches!(self.graph.node(*node).kind, NodeKind::Sync(_)) || self.ways.contains_key(node)
        };
        self.flow.order(&self.graph, ctx).filter(grows).collect()
    }

    /// Returns the facts at the place that dominates this one.
    pub(super) fn before(&self, node: Node) -> Facts {
        self.flow.idom(node).map_or_else(Facts::default, |up| self.at(up).clone())
    }
}
