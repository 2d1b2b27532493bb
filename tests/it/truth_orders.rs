//! Derives verdicts about pairs from the graph of all states: whether a pair is real, and which failures one order has
//! that the other order does not have from the same state.

use crate::truth::{Failures, Graph, Occurrence, fixpoint};
use raceflip::campaign::First;
use raceflip::detect::{Instance, Pair};
use raceflip::vm::Model;
use std::collections::{BTreeMap, BTreeSet};

/// A harm: the statement of the pair that comes first, and the failure of that order.
pub(crate) type Harm = (First, String);

impl Graph {
    /// Returns every pair of statements that is side by side in some state, with the failures that one order of the two
    /// has and the other order does not have from the same state.
    pub(crate) fn beside(&self) -> BTreeMap<Pair, BTreeSet<Harm>> {
        let mut all: BTreeMap<Pair, BTreeSet<Harm>> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            for beside in &node.beside {
                let [a, b] = beside.threads;
                let of = [self.after(at, a, b), self.after(at, b, a)];
                let harms = all.entry(beside.pair).or_default();
                for (first, this, other) in [(First::A, of[0], of[1]), (First::B, of[1], of[0])] {
                    harms.extend(self.lacking(this, other, [a, b]).into_iter().map(|f| (first, f)));
                }
            }
        }
        all
    }

    // Failures that runs can reach if thread `one` acts next and thread `other` right after it.
    fn after(&self, at: usize, one: u32, other: u32) -> Failures {
        let by = |at: usize, thread: u32| self.nodes[at].edges.iter().find(|e| e.thread == Some(thread));
        let first = by(at, one).expect("it is enabled").to;
        // The run may have ended after the first step.
        self.reach[by(first, other).map_or(first, |e| e.to)]
    }

    // Failures of `this` that are not in `other`, by their [`keys`](key). A failure also counts as present in `other`
    // if it is there with the two contexts exchanged.
    fn lacking(&self, this: Failures, other: Failures, roles: [u32; 2]) -> BTreeSet<String> {
        let names = self.keys(this & !other);
        let others = self.keys(other);
        names.into_iter().filter(|f| !others.contains(f) && !others.contains(&self.swapped(f, roles))).collect()
    }

    fn keys(&self, set: Failures) -> BTreeSet<String> {
        (0..self.failures.len()).filter(|i| set >> i & 1 == 1).map(|i| key(&self.failures[i])).collect()
    }

    // Exchanges the names of two threads of one array in the key of a deadlock; returns any other failure unchanged.
    fn swapped(&self, failure: &str, roles: [u32; 2]) -> String {
        let root = |name: u32| self.names[name as usize].split('/').next().expect("a name has a part").to_owned();
        let [x, y] = roles.map(root);
        let array = |name: &str| name.split_once('[').map(|(array, _)| array.to_owned());
        if array(&x).is_none() || array(&x) != array(&y) {
            return failure.to_owned();
        }
        of_threads(failure, |name| {
            let (head, tail) = name.split_at(name.find('/').unwrap_or(name.len()));
            let head = if head == x {
                &y
            } else if head == y {
                &x
            } else {
                head
            };
            format!("{head}{tail}")
        })
    }

    /// Returns the accesses that match an instance of a campaign. There is more than one if the instance accesses
    /// different locations in different runs.
    pub(crate) fn occurrences_of(&self, instance: &Instance) -> Vec<u32> {
        let is = |o: &Occurrence| {
            o.site == instance.site && o.visit == instance.visit && self.names[o.context as usize] == instance.context
        };
        self.numbers(is)
    }

    fn numbers(&self, is: impl Fn(&Occurrence) -> bool) -> Vec<u32> {
        self.occurrences.iter().enumerate().filter(|(_, o)| is(o)).map(|(i, _)| i as u32).collect()
    }

    /// Returns whether two operations conflict: they belong to different threads or tasks, touch one location, and one
    /// of them writes. If one of them is not an access, only the first condition counts.
    pub(crate) fn conflict(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|i| &self.occurrences[i as usize]);
        if a.place.is_none() || b.place.is_none() {
            return a.context != b.context;
        }
        let place = |o: &Occurrence| o.place.map_or("", |place| self.names[place as usize].as_str());
        // The deletion of an object conflicts with every access to one of its fields.
        let is_in = |field: &Occurrence, life: &Occurrence| {
            life.is_life
                && life.writes
                && place(field).strip_prefix(place(life)).is_some_and(|rest| rest.starts_with('.'))
        };
        let same = a.place == b.place && (a.writes || b.writes);
        a.context != b.context && (same || is_in(a, b) || is_in(b, a))
    }

    /// Returns the conflicting accesses of the two statements of a pair, that of statement `a` first. If both
    /// statements are the same, the access with the lesser context name and ordinal comes first.
    pub(crate) fn conflicting(&self, pair: Pair) -> Vec<(u32, u32)> {
        let key = |i: u32| {
            let o = &self.occurrences[i as usize];
            (self.names[o.context as usize].as_str(), o.visit)
        };
        let [of_a, of_b] = [pair.a, pair.b].map(|site| self.numbers(|o| o.site == site));
        let all = of_a.iter().flat_map(|a| of_b.iter().map(move |b| (*a, *b)));
        all.filter(|(a, b)| (pair.a != pair.b || key(*a) < key(*b)) && self.conflict(*a, *b)).collect()
    }

    /// Returns all pairs of accesses of which the first comes before the second in some run, directly or not.
    pub(crate) fn orders(&self) -> BTreeSet<(u32, u32)> {
        let of = |done: &'_ [u32], then: u32| done.iter().map(move |first| (*first, then)).collect::<Vec<_>>();
        let edges = self.nodes.iter().flat_map(|n| n.edges.iter().map(move |e| (n, e)));
        edges.filter_map(|(n, e)| Some(of(&n.done, e.performs?))).flatten().collect()
    }

    /// Returns the failures that one order of two accesses has and the other does not have, from some state in which
    /// both orders are possible. A run has an order as soon as its first access has been performed, whether or not the
    /// other access follows.
    pub(crate) fn flip_harms(&self, a: u32, b: u32) -> BTreeSet<Harm> {
        let sides = [Side::new(self, a, b), Side::new(self, b, a)];
        let roles = [a, b].map(|i| self.occurrences[i as usize].context);
        let is_open = |at: &usize| {
            let node = &self.nodes[*at];
            !is_done(node, a) && !is_done(node, b) && sides.iter().all(|s| s.comes[*at])
        };
        let mut harms = BTreeSet::new();
        // Most states have the same pair of sets, so each distinct pair is compared once.
        let fails: BTreeSet<[Failures; 2]> =
            (0..self.nodes.len()).filter(is_open).map(|at| [sides[0].fails[at], sides[1].fails[at]]).collect();
        for [by_a, by_b] in fails {
            harms.extend(self.lacking(by_a, by_b, roles).into_iter().map(|f| (First::A, f)));
            harms.extend(self.lacking(by_b, by_a, roles).into_iter().map(|f| (First::B, f)));
        }
        harms
    }

    /// Returns whether some run performs `first` while `then` was still to come: `then` comes if the task of `first` is
    /// removed right before that access, as `docs/verdicts.md` defines it.
    pub(crate) fn cuts_off(&self, model: &Model, first: u32, then: u32) -> bool {
        let performs = |at: &usize| {
            let node = &self.nodes[*at];
            !is_done(node, then) && node.edges.iter().any(|e| e.performs == Some(first))
        };
        (0..self.nodes.len()).filter(performs).any(|at| self.comes_without(model, at, first, then))
    }
}

/// Returns the name by which a campaign tells failures apart: threads and tasks of a deadlock are named by what they
/// run, without their ordinals (`docs/verdicts.md`).
pub(crate) fn key(failure: &str) -> String {
    of_threads(failure, |name| {
        let parts = name.split('/').map(|part| part.split('#').next().unwrap_or(part));
        parts.collect::<Vec<_>>().join("/")
    })
}

// Renames the threads of a deadlock, in the order of their names; returns any other failure unchanged.
fn of_threads(failure: &str, rename: impl Fn(&str) -> String) -> String {
    let Some(threads) = failure.strip_prefix("deadlock ") else { return failure.to_owned() };
    let mut names: Vec<String> = threads.split(", ").map(rename).collect();
    names.sort();
    format!("deadlock {}", names.join(", "))
}

fn is_done(node: &crate::truth::Node, access: u32) -> bool {
    node.done.binary_search(&access).is_ok()
}

/// One order of two accesses, `first` before `then`, for every state in which neither has been performed.
struct Side {
    /// For each state, the failures of the runs from it that perform `first`, and not `then` before it.
    fails: Vec<Failures>,
    /// For each state, whether such a run exists.
    comes: Vec<bool>,
}

impl Side {
    fn new(graph: &Graph, first: u32, then: u32) -> Self {
        let count = graph.nodes.len();
        let mut side = Self { fails: vec![0; count], comes: vec![false; count] };
        // A state in which `first` or `then` has been performed is decided. Any other state takes the union over its
        // edges, except the edges that perform `then`.
        fixpoint(count, |at| {
            let node = &graph.nodes[at];
            if is_done(node, first) || is_done(node, then) {
                return false;
            }
            let before = (side.fails[at], side.comes[at]);
            for edge in node.edges.iter().filter(|e| e.performs != Some(then)) {
                let is_first = edge.performs == Some(first);
                side.fails[at] |= if is_first { graph.reach[edge.to] } else { side.fails[edge.to] };
                side.comes[at] |= is_first || side.comes[edge.to];
            }
            before != (side.fails[at], side.comes[at])
        });
        side
    }
}
