//! Sets of numbers that share their common parts. They represent lock sets: a thread that holds n locks creates n
//! sets.
//!
//! The sets are big-endian Patricia tries (Okasaki and Gill, "Fast Mergeable Integer Maps", 1998), and each node
//! exists once. A set with one member more or less than another one therefore costs one path of nodes, not a copy,
//! and two sets are equal if and only if their ids are.

use std::collections::BTreeMap;

/// A set in [`Sets`]. The ids depend on the order in which the sets were created.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::detect) struct SetId(pub(in crate::detect) u32);

/// Sets of numbers.
#[derive(Default)]
pub(in crate::detect) struct Sets {
    nodes: Vec<SetNode>,
    ids: BTreeMap<SetNode, SetId>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SetNode {
    Leaf(u32),
    Branch(Branch),
}

// invariant: neither half is empty; the members of both halves agree in the bits above `bit`, which are `prefix`;
// members of `zero` lack `bit`, members of `one` have it
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Branch {
    prefix: u32,
    bit: u32,
    zero: SetId,
    one: SetId,
}

impl SetId {
    /// The empty set.
    pub(in crate::detect) const EMPTY: SetId = SetId(u32::MAX);
}

// Returns the bits of the number above this one.
fn above(number: u32, bit: u32) -> u32 {
    number & !(bit | (bit - 1))
}

impl Branch {
    fn may_have(&self, number: u32) -> bool {
        above(number, self.bit) == self.prefix
    }

    fn half(&self, number: u32) -> SetId {
        if number & self.bit == 0 { self.zero } else { self.one }
    }

    fn with_half(self, number: u32, half: SetId) -> Self {
        if number & self.bit == 0 { Self { zero: half, ..self } } else { Self { one: half, ..self } }
    }
}

impl Sets {
    fn node(&self, set: SetId) -> Option<SetNode> {
        self.nodes.get(set.0 as usize).copied()
    }

    fn add(&mut self, node: SetNode) -> SetId {
        let Self { nodes, ids } = self;
        *ids.entry(node).or_insert_with(|| {
            nodes.push(node);
            SetId(nodes.len() as u32 - 1)
        })
    }

    // Returns the union of two disjoint sets. Each is given with one of its members, and all its members agree with
    // that member in the bits above the highest bit in which the two given members differ.
    fn both(&mut self, (a, of_a): (u32, SetId), (b, of_b): (u32, SetId)) -> SetId {
        let bit = 1 << (31 - (a ^ b).leading_zeros());
        let (zero, one) = if a & bit == 0 { (of_a, of_b) } else { (of_b, of_a) };
        self.add(SetNode::Branch(Branch { prefix: above(a, bit), bit, zero, one }))
    }

    /// Returns the set with this number added.
    pub(in crate::detect) fn with(&mut self, set: SetId, number: u32) -> SetId {
        let leaf = SetNode::Leaf(number);
        match self.node(set) {
            None => self.add(leaf),
            Some(node) if node == leaf => set,
            Some(SetNode::Leaf(other)) => {
                let leaf = self.add(leaf);
                self.both((number, leaf), (other, set))
            }
            Some(SetNode::Branch(branch)) if branch.may_have(number) => {
                let half = self.with(branch.half(number), number);
                self.add(SetNode::Branch(branch.with_half(number, half)))
            }
            Some(SetNode::Branch(branch)) => {
                let leaf = self.add(leaf);
                self.both((number, leaf), (branch.prefix, set))
            }
        }
    }

    /// Returns the set with this number removed.
    pub(in crate::detect) fn without(&mut self, set: SetId, number: u32) -> SetId {
        match self.node(set) {
            Some(SetNode::Leaf(other)) if other == number => SetId::EMPTY,
            Some(SetNode::Branch(branch)) if branch.may_have(number) => {
                let branch = branch.with_half(number, self.without(branch.half(number), number));
                match branch {
                    Branch { zero: SetId::EMPTY, one: left, .. } | Branch { zero: left, one: SetId::EMPTY, .. } => left,
                    branch => self.add(SetNode::Branch(branch)),
                }
            }
            _ => set,
        }
    }

    /// Whether the number is in the set.
    pub(in crate::detect) fn has(&self, set: SetId, number: u32) -> bool {
        let mut at = self.node(set);
        while let Some(SetNode::Branch(branch)) = at {
            if !branch.may_have(number) {
                return false;
            }
            at = self.node(branch.half(number));
        }
        at == Some(SetNode::Leaf(number))
    }

    /// Whether two sets have a member in common.
    pub(in crate::detect) fn intersects(&self, a: SetId, b: SetId) -> bool {
        if a == b {
            return a != SetId::EMPTY;
        }
        match (self.node(a), self.node(b)) {
            (None, _) | (_, None) => false,
            (Some(SetNode::Leaf(number)), _) => self.has(b, number),
            (_, Some(SetNode::Leaf(number))) => self.has(a, number),
            (Some(SetNode::Branch(x)), Some(SetNode::Branch(y))) => {
                if x.bit == y.bit {
                    x.prefix == y.prefix && (self.intersects(x.zero, y.zero) || self.intersects(x.one, y.one))
                } else if x.bit > y.bit {
                    x.may_have(y.prefix) && self.intersects(x.half(y.prefix), b)
                } else {
                    y.may_have(x.prefix) && self.intersects(a, y.half(x.prefix))
                }
            }
        }
    }

    /// Returns the members in ascending order.
    pub(in crate::detect) fn members(&self, set: SetId) -> impl Iterator<Item = u32> + '_ {
        let mut todo: Vec<SetId> = vec![set];
        std::iter::from_fn(move || {
            while let Some(node) = todo.pop().and_then(|set| self.node(set)) {
                match node {
                    SetNode::Leaf(number) => return Some(number),
                    SetNode::Branch(Branch { zero, one, .. }) => todo.extend([one, zero]),
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_plain_sets_and_keeps_each_once() {
        let mut rng = crate::base::Rng::seeded(5);
        let mut sets = Sets::default();
        let mut all = vec![(SetId::EMPTY, BTreeSet::new()); 8];
        for round in 0..6_000 {
            let (i, j) = (rng.below(8) as usize, rng.below(8) as usize);
            // Numbers near each other, and at both ends of the range.
            let number = rng.below(40).wrapping_sub(10);
            let (set, plain) = &mut all[i];
            if rng.coin() {
                *set = sets.with(*set, number);
                plain.insert(number);
            } else {
                *set = sets.without(*set, number);
                plain.remove(&number);
            }
            if round % 50 == 0 {
                all[i] = all[j].clone();
            }
            let ((a, plain), (b, other)) = (&all[i], &all[j]);
            assert!(sets.members(*a).eq(plain.iter().copied()));
            assert_eq!(sets.has(*a, number), plain.contains(&number));
            assert_eq!(sets.intersects(*a, *b), !plain.is_disjoint(other));
            assert_eq!(a == b, plain == other);
        }
    }

    #[test]
    fn a_set_with_one_more_costs_a_path() {
        let mut sets = Sets::default();
        let all = (0..4_096).fold(SetId::EMPTY, |set, number| sets.with(set, number));
        assert!(sets.nodes.len() < 4_096 * 14, "{}", sets.nodes.len());
        let none = (0..4_096).fold(all, |set, number| sets.without(set, number));
        assert_eq!(none, SetId::EMPTY);
        assert!(sets.nodes.len() < 4_096 * 28, "{}", sets.nodes.len());
    }
}
