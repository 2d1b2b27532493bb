//! The nodes of a program: everything that may have elements as its values or as its indices. Nodes between which
//! values flow are joined (union-find).

use super::Breach;
use crate::event::BodyId;
use crate::lang::ast::Span;
use crate::lang::program::{ClassId, GlobalId, LocalId};
use std::collections::BTreeMap;

/// Something that may have elements as its values or as its indices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::lang) enum Node {
    /// The values of a local, or of the elements of a local array.
    Local(BodyId, LocalId),
    /// The values of a global.
    Value(GlobalId),
    /// An index of a global array; 0 is the outermost one.
    Dimension(GlobalId, usize),
    /// The values of a field.
    Field(ClassId, u32),
    /// What a body returns.
    Result(BodyId),
    /// The indices of an array of locks.
    Locks { first: u32, len: u32 },
    /// The indices of an array of conditions.
    Conditions { first: u32, len: u32 },
}

/// The value of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flow {
    /// A value of a node.
    Of(Node),
    /// A constant.
    Constant(i64, Span),
    /// A number that was computed.
    Computed(Span),
    /// No number.
    Other,
}

/// The nodes of a program, and what is known of them.
#[derive(Default)]
pub(in crate::lang) struct Nodes {
    numbers: BTreeMap<Node, usize>,
    parents: Vec<usize>,
    // The first breach of a rule at each root.
    broken: Vec<Option<Breach>>,
    // The constants that are values of each root.
    constants: Vec<Vec<(i64, Span)>>,
    /// What rules out that any thread is renamed.
    pub(super) refusals: Vec<Breach>,
    /// Locks, conditions and threads that a constant names, by their number.
    pub(super) named_locks: Vec<(i64, Span)>,
    pub(super) named_conditions: Vec<(i64, Span)>,
    pub(super) named_threads: Vec<(i64, Span)>,
    /// Constants that flow into nodes in properties, with the index of the property.
    pub(super) named_in_properties: Vec<(Node, i64, Span, usize)>,
    /// The property that is walked over now.
    pub(super) property: Option<usize>,
    /// Arrays of several dimensions of which one index is found by steps while another one is known already.
    pub(super) half_indexed: Vec<(GlobalId, Span)>,
}

impl Nodes {
    fn number(&mut self, node: Node) -> usize {
        let next = self.parents.len();
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            self.parents.push(next);
            self.broken.push(None);
            self.constants.push(Vec::new());
        }
        number
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    /// Returns the root of a node, which stands for all nodes that are joined with it.
    pub(super) fn root(&mut self, node: Node) -> usize {
        let number = self.number(node);
        self.find(number)
    }

    /// Returns the root of a node that was met.
    pub(super) fn known_root(&self, node: Node) -> Option<usize> {
        let mut at = *self.numbers.get(&node)?;
        while self.parents[at] != at {
            at = self.parents[at];
        }
        Some(at)
    }

    /// Joins two nodes.
    pub(super) fn join(&mut self, one: Node, other: Node) {
        let (one, other) = (self.root(one), self.root(other));
        if one == other {
            return;
        }
        self.parents[other] = one;
        let constants = std::mem::take(&mut self.constants[other]);
        self.constants[one].extend(constants);
        // The breach that comes first in the text is the one to show.
        let breaches = [self.broken[one].take(), self.broken[other].take()];
        self.broken[one] = breaches.into_iter().flatten().min_by_key(|(at, _)| *at);
    }

    /// Records that a rule is broken at a node.
    pub(super) fn breach(&mut self, node: Node, at: Span, why: impl Into<String>) {
        let root = self.root(node);
        let known = self.broken[root].take();
        self.broken[root] = known.into_iter().chain([(at, why.into())]).min_by_key(|(at, _)| *at);
    }

    /// Records that a rule is broken by the use of a value.
    pub(super) fn misuse(&mut self, value: Flow, at: Span, why: &str) {
        if let Flow::Of(node) = value {
            self.breach(node, at, why);
        }
    }

    /// Records that a value flows into a node.
    pub(super) fn flow(&mut self, to: Node, value: Flow) {
        match value {
            Flow::Of(from) => self.join(to, from),
            Flow::Constant(value, at) => {
                if let Some(property) = self.property {
                    self.named_in_properties.push((to, value, at, property));
                    return;
                }
                let root = self.root(to);
                self.constants[root].push((value, at));
            }
            Flow::Computed(at) => self.breach(to, at, "a number that is computed is no index of a thread"),
            Flow::Other => {}
        }
    }

    /// Records that two values are compared for equality.
    pub(super) fn compare(&mut self, left: Flow, right: Flow) {
        match (left, right) {
            (Flow::Of(node), other) | (other, Flow::Of(node)) => self.flow(node, other),
            _ => {}
        }
    }

    /// Returns the first breach of a rule at a root.
    pub(super) fn broken(&self, root: usize) -> Option<Breach> {
        self.broken[root].clone()
    }

    /// Returns the constants that are values of a root.
    pub(super) fn constants(&self, root: usize) -> &[(i64, Span)] {
        &self.constants[root]
    }

    /// Returns all nodes with their roots.
    pub(super) fn all(&mut self) -> Vec<(Node, usize)> {
        let nodes: Vec<Node> = self.numbers.keys().copied().collect();
        nodes.into_iter().map(|node| (node, self.root(node))).collect()
    }
}
