//! Points: the nodes of which the analysis knows whether they are behind an operation.
//!
//! The points of a context are the nodes that make others, the nodes that rules name, and the nearest common dominators
//! of these, so that what is common to several ways is a point too. The point at which a context with one maker is made
//! has the number of that context; other points follow.

use super::bits::{Bits, Sparse};
use super::flow::Flow;
use super::graph::{Ctx, Graph, Node, NodeKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The points of all contexts.
#[derive(Debug)]
pub(super) struct Points {
    locals: Vec<Local>,
    /// Contexts that make some with one maker.
    makers: Bits,
    /// The node of each point. `None` for the number of a context with several makers.
    nodes: Vec<Option<Node>>,
}

/// The points of one context. Rows are shared where they are equal.
#[derive(Debug)]
struct Local {
    /// For each component: the points that may come after it.
    ahead: Vec<Arc<Sparse>>,
    /// For each component: the points that it cannot follow.
    past: Vec<Arc<Sparse>>,
    /// For each point: it and the points that dominate it.
    above: BTreeMap<u32, Arc<Sparse>>,
    /// Contexts with one maker, which is in this context.
    children: Sparse,
}

impl Points {
    /// Finds the points of a graph. `named` are the nodes that rules name, besides those that their kind tells.
    pub(super) fn of(graph: &Graph, flow: &Flow, named: &BTreeSet<Node>) -> Self {
        let count = graph.contexts.len();
        let mut points = Self { locals: Vec::with_capacity(count), makers: Bits::default(), nodes: vec![None; count] };
        for ctx in graph.ids() {
            let mut numbers = BTreeMap::new();
            let mut children = Sparse::default();
            let mut others = BTreeSet::new();
            for node in flow.order(graph, ctx) {
                match graph.node(node).kind {
                    NodeKind::Make(child) if graph.context(child).makers.len() == 1 => {
                        numbers.insert(node, child.0);
                        points.nodes[child.0 as usize] = Some(node);
                        children.add(child.0 as usize);
                        points.makers.add(ctx.0 as usize);
                    }
                    NodeKind::Make(_)
                    | NodeKind::Up(_)
                    | NodeKind::Arrive(_)
                    | NodeKind::Notify(_)
                    | NodeKind::Register(..)
                    | NodeKind::LoopQueue => drop(others.insert(node)),
                    _ if named.contains(&node) => drop(others.insert(node)),
                    _ => {}
                }
            }
            let known: Vec<Node> = numbers.keys().copied().chain(others.iter().copied()).collect();
            others
                .extend(flow.meeting_points(graph, ctx, &known).into_iter().filter(|node| !numbers.contains_key(node)));
            for node in others {
                numbers.insert(node, points.nodes.len() as u32);
                points.nodes.push(Some(node));
            }
            points.locals.push(Local::of(graph, flow, ctx, &numbers, children));
        }
        points
    }

    /// The points that dominate a node, with itself.
    pub(super) fn above(&self, graph: &Graph, flow: &Flow, node: Node) -> Arc<Sparse> {
        let above = &self.locals[graph.node(node).ctx.0 as usize].above;
        let mut up = std::iter::successors(Some(node), |node| flow.idom(*node));
        up.find_map(|node| above.get(&node.0).cloned()).unwrap_or_default()
    }

    /// All points, and the numbers of contexts with several makers.
    pub(super) fn all(&self) -> Bits {
        (0..self.nodes.len()).collect()
    }

    /// The contexts that make some with one maker.
    pub(super) fn makers(&self) -> &Bits {
        &self.makers
    }

    /// The contexts with one maker that this context makes.
    pub(super) fn children(&self, ctx: Ctx) -> &Sparse {
        &self.locals[ctx.0 as usize].children
    }

    /// The contexts with one maker of which the maker is in this node's context and cannot come after the node.
    pub(super) fn made_before(&self, graph: &Graph, flow: &Flow, node: Node) -> Sparse {
        let local = &self.locals[graph.node(node).ctx.0 as usize];
        local.children.without(&local.ahead[flow.component(node)])
    }

    /// Whether one of the points in `must` cannot be followed by the node. They are points of the node's context.
    pub(super) fn is_past(&self, graph: &Graph, flow: &Flow, node: Node, must: &Bits) -> bool {
        self.locals[graph.node(node).ctx.0 as usize].past[flow.component(node)].meets(must)
    }

    /// Returns the number of a point.
    pub(super) fn number(&self, point: Node) -> Option<usize> {
        self.nodes.iter().position(|node| *node == Some(point))
    }

    /// Returns the points in `must` that the node cannot follow.
    pub(super) fn past(&self, graph: &Graph, flow: &Flow, node: Node, must: &Bits) -> Vec<Node> {
        let past = &self.locals[graph.node(node).ctx.0 as usize].past[flow.component(node)];
        past.iter().filter(|point| must.has(*point)).filter_map(|point| self.nodes[point]).collect()
    }
}

impl Local {
    fn of(graph: &Graph, flow: &Flow, ctx: Ctx, numbers: &BTreeMap<Node, u32>, children: Sparse) -> Self {
        let order: Vec<Node> = flow.order(graph, ctx).collect();
        let count = order.iter().map(|node| flow.component(*node) + 1).max().unwrap_or(0);
        let mut all = Sparse::default();
        numbers.values().for_each(|number| all.add(*number as usize));
        let mut above: BTreeMap<u32, Arc<Sparse>> = BTreeMap::new();
        for node in &order {
            let Some(number) = numbers.get(node) else { continue };
            let mut up = std::iter::successors(flow.idom(*node), |node| flow.idom(*node));
            let mut row = up.find_map(|node| above.get(&node.0)).map_or_else(Sparse::default, |row| (**row).clone());
            row.add(*number as usize);
            above.insert(node.0, Arc::new(row));
        }
        let mut members: Vec<Vec<Node>> = vec![Vec::new(); count];
        order.iter().for_each(|node| members[flow.component(*node)].push(*node));
        let own = |component: usize, into: &mut Sparse| {
            members[component].iter().filter_map(|node| numbers.get(node)).for_each(|n| into.add(*n as usize));
        };
        let has_points: Vec<bool> =
            members.iter().map(|nodes| nodes.iter().any(|node| numbers.contains_key(node))).collect();
        // Ways lead from higher components to lower ones.
        let mut ahead: Vec<Arc<Sparse>> = Vec::with_capacity(count);
        for component in 0..count {
            let mut next: Vec<usize> = Vec::new();
            for to in members[component].iter().flat_map(|node| graph.successors(*node)) {
                let to = flow.component(to);
                if to != component && !next.contains(&to) {
                    next.push(to);
                }
            }
            let cyclic = members[component].first().is_some_and(|node| flow.cyclic(*node)) && has_points[component];
            ahead.push(union(&next, cyclic.then_some(component), &ahead, &has_points, &own));
        }
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        for node in &order {
            let from = flow.component(*node);
            for to in graph.successors(*node).map(|to| flow.component(to)) {
                if to != from {
                    before[to].push(from);
                }
            }
        }
        for list in &mut before {
            list.sort_unstable();
            list.dedup();
        }
        let empty = Arc::new(Sparse::default());
        let mut followed: Vec<Arc<Sparse>> = vec![empty; count];
        for component in (0..count).rev() {
            let cyclic = members[component].first().is_some_and(|node| flow.cyclic(*node)) && has_points[component];
            followed[component] = union(&before[component], cyclic.then_some(component), &followed, &has_points, &own);
        }
        let mut past: Vec<Arc<Sparse>> = Vec::with_capacity(count);
        for (component, followed_here) in followed.iter().enumerate() {
            let same = component.checked_sub(1).filter(|before| Arc::ptr_eq(&followed[*before], followed_here));
            past.push(match same {
                Some(before) => past[before].clone(),
                None => Arc::new(all.without(followed_here)),
            });
        }
        Self { ahead, past, above, children }
    }
}

// The points of the components and all that their rows have. A row that would be equal to the only one is shared.
fn union(
    components: &[usize],
    itself: Option<usize>,
    rows: &[Arc<Sparse>],
    has_points: &[bool],
    own: &dyn Fn(usize, &mut Sparse),
) -> Arc<Sparse> {
    if let ([only], None) = (components, itself)
        && !has_points[*only]
    {
        return rows[*only].clone();
    }
    let mut row = Sparse::default();
    for component in components {
        row.add_all(&rows[*component]);
        own(*component, &mut row);
    }
    itself.into_iter().for_each(|component| own(component, &mut row));
    Arc::new(row)
}
