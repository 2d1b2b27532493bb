//! Cuts the graph of a job at its suspension points: each part runs in one piece, as a task does.
//!
//! A part begins behind one suspension point and ends at the next ones. It contains a copy of every node to which
//! control can come without another suspension. So a node that two suspension points lead to is in two parts, and a
//! part of a loop makes itself again.

use super::super::graph::{ContextKind, Ctx, Node, NodeData, NodeKind, Pause, Reader, Start, Sync};
use super::Unfolder;
use super::makers::Made;
use crate::base::Id;
use crate::lang::ast::TaskMode;
use crate::lang::program::NO_SITE;
use crate::world::{PostClass, Time};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of suspension points of a job that is cut.
const MOST_PARTS: usize = 64;

/// Maximum number of nodes that the parts of a job may have.
const MOST_COPIES: usize = 20_000;

/// The parts of a job, by the suspension points that make them.
#[derive(Default)]
struct Parts {
    of: BTreeMap<Node, Ctx>,
    /// Those whose graphs are not copied yet.
    open: Vec<(Node, Ctx)>,
}

impl Unfolder<'_> {
    /// Cuts the graph of a job at its suspension points.
    pub(super) fn split(&mut self, ctx: Ctx) {
        if self.graph.context(ctx).kind != ContextKind::Job {
            return;
        }
        let all: Vec<Node> = self.graph.nodes_of(ctx).collect();
        let pauses = all.iter().filter(|node| self.pause_at(**node).is_some()).count();
        let switches = all.iter().any(|node| self.pause_at(*node) == Some(Pause::Switch));
        let is_small = pauses <= MOST_PARTS && pauses * all.len() <= MOST_COPIES;
        let is_cut = is_small && !self.graph.context(ctx).folded && !self.is_full();
        let job = &mut self.graph.contexts[ctx.index()];
        // An exception may end a job anywhere.
        job.exit = None;
        if switches || (pauses > 0 && !is_cut) {
            (job.looper, job.class) = (None, None);
        }
        if !is_cut {
            for node in all {
                if self.pause_at(node).is_some() {
                    self.graph.nodes[node.index()].kind = NodeKind::Plain;
                }
            }
            return;
        }
        let mut parts = Parts::default();
        let head = self.reach(vec![self.graph.context(ctx).entry()]);
        let made: Vec<(Node, Ctx)> = head.iter().filter_map(|node| self.part(ctx, *node, &mut parts)).collect();
        while let Some((pause, part)) = parts.open.pop() {
            self.copy_part(ctx, pause, part, &mut parts);
        }
        // What comes behind the first suspension points is in the parts alone.
        for node in all.into_iter().filter(|node| !head.contains(node)) {
            if let NodeKind::Make(child) = self.graph.node(node).kind {
                self.graph.contexts[child.index()].makers.retain(|maker| *maker != node);
            }
            (self.graph.nodes[node.index()].kind, self.graph.nodes[node.index()].site) = (NodeKind::Plain, NO_SITE);
            self.graph.succ[node.index()].clear();
        }
        for (node, part) in made {
            self.graph.nodes[node.index()].kind = NodeKind::Make(part);
            self.graph.succ[node.index()].clear();
            self.graph.contexts[part.index()].makers.push(node);
        }
        let parts = parts.of.into_values().chain([ctx]);
        for part in parts {
            let nodes = self.graph.nodes_of(part).map(|node| self.graph.node(node).kind);
            let mut seen = BTreeSet::new();
            let children = nodes.filter_map(|kind| if let NodeKind::Make(child) = kind { Some(child) } else { None });
            let children = children.filter(|child| seen.insert(*child)).collect();
            let part = &mut self.graph.contexts[part.index()];
            part.children = children;
            part.folded |= part.makers.len() > 1;
        }
    }

    fn pause_at(&self, node: Node) -> Option<Pause> {
        if let NodeKind::Suspend(pause) = self.graph.node(node).kind { Some(pause) } else { None }
    }

    // Returns the nodes to which control comes without going on behind a suspension point, by number.
    fn reach(&self, from: Vec<Node>) -> BTreeSet<Node> {
        let (mut seen, mut open) = (from.iter().copied().collect::<BTreeSet<Node>>(), from);
        while let Some(node) = open.pop() {
            if self.pause_at(node).is_none() {
                open.extend(self.graph.successors(node).filter(|next| seen.insert(*next)));
            }
        }
        seen
    }

    // Returns a suspension point with the part that it makes.
    fn part(&mut self, whole: Ctx, node: Node, parts: &mut Parts) -> Option<(Node, Ctx)> {
        let pause = self.pause_at(node)?;
        if let Some(part) = parts.of.get(&node) {
            return Some((node, *part));
        }
        let job = self.graph.context(whole);
        let (body, looper, args) = (job.body, job.looper, job.args.clone());
        let mode = body.and_then(|body| self.program.bodies.get(body.index())).map(|body| body.mode);
        let at_once = |time, is_async| Some(PostClass { time, is_async });
        let (start, class) = match (pause, mode == Some(TaskMode::AsyncMicro)) {
            (Pause::Yield, true) => (Start::Message, at_once(Time::Micro, false)),
            (Pause::Yield, false) => (Start::Message, at_once(Time::Delay(0), true)),
            // A promise always suspends. What goes on with it decides whether that is a microtask.
            (_, true) => (Start::Later, None),
            (Pause::Sleep, false) => (Start::Later, at_once(Time::Delay(0), true)),
            (Pause::Switch | Pause::Other, false) => (Start::Either, None),
        };
        let class = class.filter(|_| looper.is_some());
        let part = self.add(Made { looper, class, start, ..Made::new(ContextKind::Job, body, args) }, false);
        self.graph.contexts[part.index()].whole = whole;
        self.walked.insert(part);
        parts.of.insert(node, part);
        parts.open.push((node, part));
        Some((node, part))
    }

    // Copies the nodes of a part.
    fn copy_part(&mut self, whole: Ctx, pause: Node, part: Ctx, parts: &mut Parts) {
        let from: Vec<Node> = self.graph.successors(pause).collect();
        let nodes = self.reach(from.clone());
        let entry = self.graph.nodes.len() as u32;
        let copies: BTreeMap<Node, u32> = nodes.iter().copied().zip(entry + 1..).collect();
        let copied = |nodes: &[Node]| -> SmallVec<[u32; 2]> {
            nodes.iter().filter_map(|node| copies.get(node).copied()).collect()
        };
        self.graph.nodes.push(NodeData { ctx: part, site: NO_SITE, kind: NodeKind::Plain, around: 0 });
        self.graph.succ.push(copied(&from));
        for node in nodes {
            let copy = Node(self.graph.nodes.len() as u32);
            let mut data = self.graph.node(node).clone();
            let made = self.part(whole, node, parts);
            let next: Vec<Node> = if made.is_some() { Vec::new() } else { self.graph.successors(node).collect() };
            data.ctx = part;
            data.kind = match data.kind {
                NodeKind::Suspend(_) => made.map_or(NodeKind::Plain, |(_, next)| NodeKind::Make(next)),
                NodeKind::Sync(Sync::Flag(test, reader)) if reader.ctx == whole => {
                    NodeKind::Sync(Sync::Flag(test, Reader { ctx: part, ..reader }))
                }
                kind => kind,
            };
            if let NodeKind::Make(child) = data.kind {
                self.graph.contexts[child.index()].makers.push(copy);
            }
            self.graph.nodes.push(data);
            self.graph.succ.push(copied(&next));
        }
        let end = self.graph.nodes.len() as u32;
        self.graph.contexts[part.index()].nodes = entry..end;
    }
}
