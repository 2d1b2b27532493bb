//! What each rule has added, in the order in which it did: the reasons of claims are read from it.

use super::facts::Facts;
use super::graph::{Ctx, Node, Sync};
use std::collections::BTreeMap;

/// A rule. Its operand is what it was applied to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    Fifo,
    Firings,
    Nopre,
    /// What begins inside of an operation has come to its end.
    Inside,
    Front,
    /// A task has come to its end, since it had begun.
    Ended(Ctx),
    /// A task has come to its end, since it was posted.
    Sure(Ctx),
    /// Ways come together that know different things.
    Ways(Node),
    /// The thread of this node runs messages.
    Loop(Node),
    /// A place at which the facts grow.
    Sync(Sync),
}

/// What one application of a rule has added.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) rule: Rule,
    pub(super) added: Facts,
}

/// The steps at each node at which facts grow.
#[derive(Default, Debug)]
pub(super) struct Log {
    steps: BTreeMap<Node, Vec<Step>>,
}

impl Log {
    /// Notes a step. `before` and `known` are the facts before it, and those of earlier passes.
    pub(super) fn note(&mut self, node: Node, rule: Rule, (before, known): (&Facts, &Facts), after: &Facts) {
        let added = after.without(before).without(known);
        if added != Facts::default() {
            self.steps.entry(node).or_default().push(Step { rule, added });
        }
    }

    /// Returns the steps at a node.
    pub(super) fn at(&self, node: Node) -> &[Step] {
        self.steps.get(&node).map_or(&[], Vec::as_slice)
    }
}
