//! Facts about the graph of each context alone: dominators, cycles, and what may come after what.

use super::bits::Bits;
use super::graph::{Ctx, Graph, Node};
use crate::base::mutant::{self, Mutant};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The flow of all contexts. Tables are indexed by node.
#[derive(Debug)]
pub(super) struct Flow {
    /// The nearest node that is on every way to this one; itself for an entry, and for a node to which no way leads.
    idom: Vec<u32>,
    /// The strongly connected component: ways lead from higher numbers to lower ones, within a context.
    component: Vec<u32>,
    /// Whether the node is on a cycle.
    cyclic: Vec<bool>,
    /// The nodes of each context in an order in which dominators come first.
    order: Vec<u32>,
    /// Nodes that come after a node, for nodes that were asked about.
    after: Mutex<BTreeMap<u32, Arc<Bits>>>,
}

impl Flow {
    /// Computes the flow of a graph.
    pub(super) fn of(graph: &Graph) -> Self {
        let count = graph.nodes.len();
        let mut flow = Self {
            idom: (0..count as u32).collect(),
            component: vec![0; count],
            cyclic: vec![false; count],
            order: Vec::with_capacity(count),
            after: Mutex::default(),
        };
        let mut scratch = Scratch { number: vec![u32::MAX; count], low: vec![0; count], ..Scratch::default() };
        for ctx in graph.ids() {
            let begin = flow.order.len();
            scratch.postorder.clear();
            flow.components(graph, ctx, &mut scratch);
            flow.order.extend(scratch.postorder.iter().rev());
            flow.dominators(graph, begin, &mut scratch);
        }
        flow
    }

    /// Decides which contexts are unique, and forgets loopers that are not.
    pub(super) fn settle(graph: &mut Graph) {
        let flow = Self::of(graph);
        for i in 1..graph.contexts.len() {
            let context = &graph.contexts[i];
            let unique = match context.makers[..] {
                [maker] => {
                    let above = graph.context(graph.node(maker).ctx).unique;
                    let looped = flow.cyclic(maker) && !mutant::is(Mutant::StaticLoopsIgnored);
                    above && !looped && !context.folded && !context.returns
                }
                _ => false,
            };
            graph.contexts[i].unique = unique;
        }
        for i in 1..graph.contexts.len() {
            let looper = graph.contexts[i].looper.filter(|looper| graph.context(*looper).unique);
            graph.contexts[i].looper = looper;
        }
    }

    /// Whether the node can come after itself.
    pub(super) fn cyclic(&self, node: Node) -> bool {
        self.cyclic[node.0 as usize]
    }

    /// Returns the immediate dominator; `None` for an entry.
    pub(super) fn idom(&self, node: Node) -> Option<Node> {
        let idom = self.idom[node.0 as usize];
        (idom != node.0).then_some(Node(idom))
    }

    /// Returns the number of the strongly connected component in its context. Ways lead from higher numbers to lower
    /// ones.
    pub(super) fn component(&self, node: Node) -> usize {
        self.component[node.0 as usize] as usize
    }

    /// Returns the nearest common dominators of the nodes of a context, in pairs.
    pub(super) fn meeting_points(&self, graph: &Graph, ctx: Ctx, nodes: &[Node]) -> Vec<Node> {
        if nodes.len() < 2 {
            return Vec::new();
        }
        // The preorder of the tree of dominators, with the depth of each node. Of neighbours in it, all common
        // dominators are found.
        let order: Vec<Node> = self.order(graph, ctx).collect();
        let start = graph.context(ctx).nodes.start;
        let at = |node: Node| (node.0 - start) as usize;
        let size = graph.context(ctx).nodes.len();
        let (mut depth, mut below) = (vec![0_u32; size], vec![Vec::new(); size]);
        for node in &order {
            if let Some(up) = self.idom(*node) {
                depth[at(*node)] = depth[at(up)] + 1;
                below[at(up)].push(*node);
            }
        }
        let (mut preorder, mut count) = (vec![0_u32; size], 0);
        let mut open: Vec<Node> = order.first().copied().into_iter().collect();
        while let Some(node) = open.pop() {
            preorder[at(node)] = count;
            count += 1;
            open.extend(below[at(node)].iter().rev());
        }
        let mut sorted = nodes.to_vec();
        sorted.sort_by_key(|node| preorder[at(*node)]);
        let mut found = Vec::new();
        for (mut a, mut b) in sorted.iter().copied().zip(sorted.iter().copied().skip(1)) {
            while a != b {
                let deeper = if depth[at(a)] >= depth[at(b)] { &mut a } else { &mut b };
                match self.idom(*deeper) {
                    Some(up) => *deeper = up,
                    None => break,
                }
            }
            if a == b {
                found.push(a);
            }
        }
        found
    }

    /// Iterates over the nodes of a context that control can come to, dominators first.
    pub(super) fn order(&self, graph: &Graph, ctx: Ctx) -> impl Iterator<Item = Node> + '_ {
        let nodes = graph.context(ctx).nodes.clone();
        // The order has the contexts one after another, but may lack nodes.
        let from = self.order.partition_point(|n| graph.nodes[*n as usize].ctx < ctx);
        self.order[from..].iter().take_while(move |n| nodes.contains(n)).map(|n| Node(*n))
    }

    /// Returns for the nodes of a context to which several ways lead their last nodes before it, without the ways that
    /// lead back: of these all come through the node itself.
    pub(super) fn forward_ends(&self, graph: &Graph, ctx: Ctx) -> BTreeMap<Node, Vec<Node>> {
        let mut ends: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        for node in self.order(graph, ctx) {
            graph.successors(node).for_each(|next| ends.entry(next).or_default().push(node));
        }
        // A node of very long loops is left out when too many dominators have been looked at.
        let mut left = MOST_LOOKS + 8 * graph.context(ctx).nodes.len();
        ends.retain(|node, ends| {
            if ends.len() > 1 && self.cyclic(*node) {
                ends.retain(|end| {
                    let above = std::iter::successors(Some(*end), |node| self.idom(*node)).take(left);
                    let mut looked = 0;
                    let leads_back = above.inspect(|_| looked += 1).any(|above| above == *node);
                    left -= looked;
                    !leads_back
                });
            }
            ends.len() > 1 && left > 0
        });
        ends
    }

    /// Whether `then` can be performed after `first`, by a way of at least one edge. Both are of one context.
    pub(super) fn may_follow(&self, graph: &Graph, first: Node, then: Node) -> bool {
        let (a, b) = (self.component[first.0 as usize], self.component[then.0 as usize]);
        if a < b {
            return false;
        }
        if a == b {
            return self.cyclic(first);
        }
        let start = graph.context(graph.node(first).ctx).nodes.start;
        let mut cache = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = cache.get(&first.0) {
            return known.has((then.0 - start) as usize);
        }
        let mut after = Bits::default();
        let mut open = vec![first];
        while let Some(node) = open.pop() {
            for next in graph.successors(node) {
                if !after.has((next.0 - start) as usize) {
                    after.add((next.0 - start) as usize);
                    open.push(next);
                }
            }
        }
        let found = after.has((then.0 - start) as usize);
        cache.insert(first.0, Arc::new(after));
        found
    }

    // Finds the strongly connected components of a context by Tarjan's algorithm, without recursion, and the postorder
    // of its nodes.
    fn components(&mut self, graph: &Graph, ctx: Ctx, scratch: &mut Scratch) {
        let entry = graph.context(ctx).entry().0;
        let (mut next, mut found) = (0, 0);
        let Scratch { number, low, stack, calls, postorder, .. } = scratch;
        calls.push((entry, 0));
        while let Some((node, edge)) = calls.pop() {
            let at = node as usize;
            if edge == 0 {
                (number[at], low[at]) = (next, next);
                next += 1;
                stack.push(node);
            }
            let succ = &graph.succ[at];
            if let Some(&to) = succ.get(edge) {
                calls.push((node, edge + 1));
                match number[to as usize] {
                    u32::MAX => calls.push((to, 0)),
                    // A number above all others marks a node whose component is complete.
                    DONE => {}
                    other => low[at] = low[at].min(other),
                }
                continue;
            }
            postorder.push(node);
            if low[at] == number[at] {
                let mut size = 0;
                while let Some(member) = stack.pop() {
                    size += 1;
                    self.component[member as usize] = found;
                    number[member as usize] = DONE;
                    if member == node {
                        break;
                    }
                }
                found += 1;
                if size > 1 {
                    self.cyclic[at] = true;
                }
                if succ.contains(&node) {
                    self.cyclic[at] = true;
                }
            }
            if let Some(&(parent, _)) = calls.last() {
                let low_here = low[at];
                let parent = parent as usize;
                if number[at] != DONE {
                    low[parent] = low[parent].min(low_here);
                }
            }
        }
        // Every node of a component with more than one is on a cycle.
        let mut sizes = vec![0_u32; found as usize];
        postorder.iter().for_each(|n| sizes[self.component[*n as usize] as usize] += 1);
        for node in postorder.iter() {
            if sizes[self.component[*node as usize] as usize] > 1 {
                self.cyclic[*node as usize] = true;
            }
        }
    }

    // Finds the immediate dominators of a context: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm".
    fn dominators(&mut self, graph: &Graph, begin: usize, scratch: &mut Scratch) {
        let order = &self.order[begin..];
        let Scratch { rank, preds, starts, .. } = scratch;
        let Some(&entry) = order.first() else { return };
        let least = order.iter().min().copied().unwrap_or(entry);
        let most = order.iter().max().copied().unwrap_or(entry);
        rank.clear();
        rank.resize((most - least + 1) as usize, u32::MAX);
        order.iter().enumerate().for_each(|(i, n)| rank[(n - least) as usize] = i as u32);
        starts.clear();
        starts.resize(order.len() + 1, 0);
        let edges = |node: u32| graph.succ[node as usize].iter().copied();
        order.iter().for_each(|n| edges(*n).for_each(|to| starts[rank[(to - least) as usize] as usize + 1] += 1));
        (0..order.len()).for_each(|i| starts[i + 1] += starts[i]);
        preds.clear();
        preds.resize(starts[order.len()] as usize, 0);
        let mut fill = starts.clone();
        for (i, node) in order.iter().enumerate() {
            for to in edges(*node) {
                let at = &mut fill[rank[(to - least) as usize] as usize];
                preds[*at as usize] = i as u32;
                *at += 1;
            }
        }
        let mut idom = vec![u32::MAX; order.len()];
        idom[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for i in 1..order.len() {
                let mut new = u32::MAX;
                for &pred in &preds[starts[i] as usize..starts[i + 1] as usize] {
                    if idom[pred as usize] == u32::MAX {
                        continue;
                    }
                    new = if new == u32::MAX { pred } else { common(&idom, new, pred) };
                }
                if idom[i] != new {
                    idom[i] = new;
                    changed = true;
                }
            }
        }
        let found: Vec<(u32, u32)> =
            order.iter().zip(&idom).map(|(node, idom)| (*node, order[*idom as usize])).collect();
        found.into_iter().for_each(|(node, idom)| self.idom[node as usize] = idom);
    }
}

/// Number of dominators that are looked at for the ways of a context, besides those that its size allows.
const MOST_LOOKS: usize = 10_000;

/// Marks a node whose component is known.
const DONE: u32 = u32::MAX - 1;

fn common(idom: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while a > b {
            a = idom[a as usize];
        }
        while b > a {
            b = idom[b as usize];
        }
    }
    a
}

#[derive(Default)]
struct Scratch {
    number: Vec<u32>,
    low: Vec<u32>,
    stack: Vec<u32>,
    calls: Vec<(u32, usize)>,
    postorder: Vec<u32>,
    rank: Vec<u32>,
    preds: Vec<u32>,
    starts: Vec<u32>,
}
