//! What the graph of all states says of a pair: whether it is real, and which failures one order has that the other has not, from the same state.

use crate::truth::{Failures, Graph, Occurrence, fixpoint};
use raceflip::campaign::First;
use raceflip::detect::{Instance, Pair};
use raceflip::vm::Model;
use std::collections::{BTreeMap, BTreeSet};

/// A failure with an order: which statement of the pair comes first, and what runs fail by.
pub(crate) type Harm = (First, String);

impl Graph {
    /// Every pair of statements that is side by side in some state, with what one order of the two fails by and the other does not, in the same state.
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

    // What runs can fail by in which these two threads act next, one after the other.
    fn after(&self, at: usize, one: u32, other: u32) -> Failures {
        let by = |at: usize, thread: u32| self.nodes[at].edges.iter().find(|e| e.thread == Some(thread));
        let first = by(at, one).expect("it is enabled").to;
        // The run may have ended.
        self.reach[by(first, other).map_or(first, |e| e.to)]
    }

    // Failures of the one set that are not in the other, also if the two contexts change their roles.
    fn lacking(&self, this: Failures, other: Failures, roles: [u32; 2]) -> BTreeSet<String> {
        let names = self.texts(this & !other);
        let others = self.texts(other);
        names.into_iter().filter(|f| !others.contains(&self.swapped(f, roles))).collect()
    }

    fn texts(&self, set: Failures) -> BTreeSet<String> {
        (0..self.failures.len()).filter(|i| set >> i & 1 == 1).map(|i| self.failures[i].clone()).collect()
    }

    // The failure with the names of two threads of one array changed for each other; of others it stays what it is.
    fn swapped(&self, failure: &str, roles: [u32; 2]) -> String {
        let root = |name: u32| self.names[name as usize].split('/').next().expect("a name has a part").to_owned();
        let [x, y] = roles.map(root);
        let array = |name: &str| name.split_once('[').map(|(array, _)| array.to_owned());
        let Some(threads) = failure.strip_prefix("deadlock ") else { return failure.to_owned() };
        if array(&x).is_none() || array(&x) != array(&y) {
            return failure.to_owned();
        }
        let rename = |name: &str| {
            let (head, tail) = name.split_at(name.find('/').unwrap_or(name.len()));
            let head = if head == x {
                &y
            } else if head == y {
                &x
            } else {
                head
            };
            format!("{head}{tail}")
        };
        let mut names: Vec<String> = threads.split(", ").map(rename).collect();
        names.sort();
        format!("deadlock {}", names.join(", "))
    }

    /// The accesses that an instance of a campaign may be; more than one if it is at different locations in different runs.
    pub(crate) fn occurrences_of(&self, instance: &Instance) -> Vec<u32> {
        let is = |o: &Occurrence| {
            o.site == instance.site && o.visit == instance.visit && self.names[o.context as usize] == instance.context
        };
        self.numbers(is)
    }

    fn numbers(&self, is: impl Fn(&Occurrence) -> bool) -> Vec<u32> {
        self.occurrences.iter().enumerate().filter(|(_, o)| is(o)).map(|(i, _)| i as u32).collect()
    }

    /// Whether two accesses conflict: of different threads or tasks, on one location, one writing. Of other operations only the first of that is asked.
    pub(crate) fn conflict(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|i| &self.occurrences[i as usize]);
        if a.place.is_none() || b.place.is_none() {
            return a.context != b.context;
        }
        let place = |o: &Occurrence| o.place.map_or("", |place| self.names[place as usize].as_str());
        let is_in = |field: &Occurrence, life: &Occurrence| {
            life.is_life
                && life.writes
                && place(field).strip_prefix(place(life)).is_some_and(|rest| rest.starts_with('.'))
        };
        let same = a.place == b.place && (a.writes || b.writes);
        a.context != b.context && (same || is_in(a, b) || is_in(b, a))
    }

    /// The conflicting accesses of two statements; that of the first statement first, and of one statement twice that of the instance whose name is less.
    pub(crate) fn conflicting(&self, pair: Pair) -> Vec<(u32, u32)> {
        let key = |i: u32| {
            let o = &self.occurrences[i as usize];
            (self.names[o.context as usize].as_str(), o.visit)
        };
        let [of_a, of_b] = [pair.a, pair.b].map(|site| self.numbers(|o| o.site == site));
        let all = of_a.iter().flat_map(|a| of_b.iter().map(move |b| (*a, *b)));
        all.filter(|(a, b)| (pair.a != pair.b || key(*a) < key(*b)) && self.conflict(*a, *b)).collect()
    }

    /// The accesses that come one before the other in some run, at once or not.
    pub(crate) fn orders(&self) -> BTreeSet<(u32, u32)> {
        let of = |done: &'_ [u32], then: u32| done.iter().map(move |first| (*first, then)).collect::<Vec<_>>();
        let edges = self.nodes.iter().flat_map(|n| n.edges.iter().map(move |e| (n, e)));
        edges.filter_map(|(n, e)| Some(of(&n.done, e.performs?))).flatten().collect()
    }

    /// What one order of two accesses fails by and the other one does not, from some state from which both are possible. A run has an order as soon as its first access has come,
    /// whatever becomes of the other one.
    pub(crate) fn flip_harms(&self, a: u32, b: u32) -> BTreeSet<Harm> {
        let sides = [Side::new(self, a, b), Side::new(self, b, a)];
        let roles = [a, b].map(|i| self.occurrences[i as usize].context);
        let is_open = |at: &usize| {
            let node = &self.nodes[*at];
            !is_done(node, a) && !is_done(node, b) && sides.iter().all(|s| s.comes[*at])
        };
        let mut harms = BTreeSet::new();
        // Most states are alike in this.
        let fails: BTreeSet<[Failures; 2]> =
            (0..self.nodes.len()).filter(is_open).map(|at| [sides[0].fails[at], sides[1].fails[at]]).collect();
        for [by_a, by_b] in fails {
            harms.extend(self.lacking(by_a, by_b, roles).into_iter().map(|f| (First::A, f)));
            harms.extend(self.lacking(by_b, by_a, roles).into_iter().map(|f| (First::B, f)));
        }
        harms
    }

    /// Whether some run performs the first access when the second one could still have come, and would have if the first one had not been performed: its own task is taken
    /// away right before it, as `docs/verdicts.md` has it.
    pub(crate) fn cuts_off(&self, model: &Model, first: u32, then: u32) -> bool {
        let performs = |at: &usize| {
            let node = &self.nodes[*at];
            !is_done(node, then) && node.edges.iter().any(|e| e.performs == Some(first))
        };
        (0..self.nodes.len()).filter(performs).any(|at| self.comes_without(model, at, first, then))
    }
}

fn is_done(node: &crate::truth::Node, access: u32) -> bool {
    node.done.binary_search(&access).is_ok()
}

/// One order of two accesses, `first` before `then`, from every state in which neither is done.
struct Side {
    /// What runs fail by that perform `first`, and not `then` before it.
    fails: Vec<Failures>,
    /// Whether there are such runs.
    comes: Vec<bool>,
}

impl Side {
    fn new(graph: &Graph, first: u32, then: u32) -> Self {
        let count = graph.nodes.len();
        let mut side = Self { fails: vec![0; count], comes: vec![false; count] };
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
