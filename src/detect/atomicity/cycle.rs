//! The cycles of a violated transaction: for each edge that leaves it and each edge that comes back, the shortest path
//! between them. Edges that agree in bodies, statements, location and kind count as one.

use super::edges::Edges;
use super::findings::FoundCycle;
use super::lifetime::Lifetimes;
use super::spec::{TransactionNo, Transactions};
use super::steps::{ContextNo, StepKind, StepNo, Steps};
use super::words::{Words, edge_class};
use super::{Blame, Cycle, EdgeKind, EdgeRules};
use crate::base::IndexVec;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of different edges that leave one transaction, beyond which no more paths are searched.
const MOST_LEAVES: usize = 64;

/// An edge of a path, by its steps.
pub(super) type Hop = (StepNo, StepNo, EdgeKind);

/// Finds the cycles of transactions of one trace.
pub(super) struct Cycles<'a> {
    steps: &'a Steps<'a>,
    transactions: &'a Transactions,
    rules: EdgeRules,
    words: Words<'a>,
    // Computed when the first cycle is asked for: a trace without violations needs none of this.
    graph: OnceCell<Graph>,
}

struct Graph {
    edges: Edges,
    // By whether the blame is joint.
    lifetimes: [Lifetimes; 2],
    // The steps of each transaction.
    members: IndexVec<TransactionNo, Vec<StepNo>>,
}

// How a step was reached: by an edge or by program order from another step, or because it is in one unit with it.
#[derive(Clone, Copy)]
enum Reached {
    Start(Hop),
    Edge(StepNo, EdgeKind),
    With(StepNo),
}

impl<'a> Cycles<'a> {
    pub(super) fn new(steps: &'a Steps<'a>, transactions: &'a Transactions, rules: EdgeRules) -> Self {
        Self { steps, transactions, rules, words: Words::new(steps, transactions), graph: OnceCell::new() }
    }

    fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| {
            let mut members: IndexVec<TransactionNo, Vec<StepNo>> =
                self.transactions.all.iter().map(|_| Vec::new()).collect();
            for step in self.steps.all.ids() {
                if let Some(transaction) = self.transactions.of_step(step) {
                    members[transaction].push(step);
                }
            }
            Graph {
                edges: Edges::of(self.steps, self.transactions, self.rules),
                lifetimes: [false, true].map(|joint| Lifetimes::of(self.steps, self.transactions, joint)),
                members,
            }
        })
    }

    /// Returns the cycles of a transaction, with `joint` those through other transactions as wholes. `None` if `stop`
    /// was set.
    pub(super) fn of(&self, transaction: TransactionNo, joint: bool, stop: &AtomicBool) -> Option<Vec<FoundCycle>> {
        let graph = self.graph();
        let is_inside = |step: StepNo| self.transactions.of_step(step) == Some(transaction);
        let mut leaves: BTreeMap<String, Vec<Hop>> = BTreeMap::new();
        for from in &graph.members[transaction] {
            let next = graph.edges.next(*from).map(|to| (*from, to, EdgeKind::Program));
            let edges = graph.edges.from(*from).iter().map(|edge| (*from, edge.to, edge.kind));
            for hop in edges.chain(next).filter(|(_, to, _)| !is_inside(*to)) {
                leaves.entry(edge_class(&self.words, hop)).or_default().push(hop);
            }
        }
        let mut leaves: Vec<Vec<Hop>> = leaves.into_values().collect();
        leaves.sort_by_key(|hops| hops.iter().min().copied());
        let mut found = Vec::new();
        for hops in leaves.into_iter().take(MOST_LEAVES) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            found.extend(
                self.paths(transaction, joint, &hops).into_iter().map(|path| self.cycle(transaction, joint, &path)),
            );
        }
        Some(found)
    }

    // Returns the shortest path from these edges to each class of edges that come back.
    fn paths(&self, transaction: TransactionNo, joint: bool, leaves: &[Hop]) -> Vec<Vec<Hop>> {
        let graph = self.graph();
        let own = &self.transactions.all[transaction];
        let end = graph.lifetimes[usize::from(joint)].of[transaction].to;
        let mut reached: BTreeMap<StepNo, Reached> = BTreeMap::new();
        let mut open: BTreeSet<(u32, StepNo)> = BTreeSet::new();
        let mut costs: BTreeMap<StepNo, u32> = BTreeMap::new();
        let mut units: BTreeSet<ContextNo> = BTreeSet::new();
        let mut wholes: BTreeSet<TransactionNo> = BTreeSet::new();
        let mut back: BTreeMap<String, Vec<Hop>> = BTreeMap::new();
        let mut order = Vec::new();
        let mut reach = |open: &mut BTreeSet<(u32, StepNo)>,
                         reached: &mut BTreeMap<StepNo, Reached>,
                         step: StepNo,
                         cost: u32,
                         how: Reached| {
            let known = costs.get(&step).copied();
            if step >= end || known.is_some_and(|known| known <= cost) {
                return;
            }
            if let Some(known) = known {
                open.remove(&(known, step));
            }
            costs.insert(step, cost);
            open.insert((cost, step));
            reached.insert(step, how);
        };
        for hop in leaves {
            reach(&mut open, &mut reached, hop.1, 1, Reached::Start(*hop));
        }
        while let Some((cost, at)) = open.pop_first() {
            let next = graph.edges.next(at).map(|to| (at, to, EdgeKind::Program));
            let edges = graph.edges.from(at).iter().map(|edge| (at, edge.to, edge.kind));
            for hop @ (_, to, kind) in edges.chain(next) {
                if self.transactions.of_step(to) == Some(transaction) {
                    let class = edge_class(&self.words, hop);
                    if !back.contains_key(&class) {
                        back.insert(class.clone(), path_to(&reached, hop));
                        order.push(class);
                    }
                } else if kind == EdgeKind::Program {
                    reach(&mut open, &mut reached, to, cost, Reached::With(at));
                } else {
                    reach(&mut open, &mut reached, to, cost + 1, Reached::Edge(at, kind));
                }
            }
            let context = self.steps.all[at].context;
            if self.is_mate(own, transaction, context) && units.insert(context) {
                let span = self.steps.task_of(context).and_then(|task| self.steps.spans[task]);
                let mut member = span.map(|(first, _)| first);
                while let Some(step) = member {
                    reach(&mut open, &mut reached, step, cost, Reached::With(at));
                    member = graph.edges.next(step);
                }
            }
            if let Some(other) = self.transactions.of_step(at).filter(|other| joint && wholes.insert(*other)) {
                for step in &graph.members[other] {
                    reach(&mut open, &mut reached, *step, cost, Reached::With(at));
                }
            }
        }
        order.into_iter().filter_map(|class| back.remove(&class)).collect()
    }

    // Whether a context is a task that the transaction cannot interrupt: on one of its loopers, and not its own.
    fn is_mate(&self, own: &super::Transaction, transaction: TransactionNo, context: ContextNo) -> bool {
        let Some(task) = self.steps.task_of(context) else { return false };
        if own.loopers.binary_search(&self.steps.trace.tasks[task].looper).is_err() {
            return false;
        }
        // Only a block is a part of a task.
        let first = self.steps.all[own.first].context;
        let is_own = match self.transactions.specification {
            super::Specification::Blocks => first == context,
            _ => self.steps.spans[task].is_some_and(|(begin, _)| self.transactions.of_step(begin) == Some(transaction)),
        };
        !is_own
    }

    // Whether program order and causes alone lead from the start of an edge to its end: then every run has this order.
    fn is_forced(&self, (from, to, kind): Hop) -> bool {
        if kind.is_must() {
            return true;
        }
        let graph = self.graph();
        let mut seen: BTreeSet<StepNo> = BTreeSet::new();
        let mut open: Vec<StepNo> = vec![from];
        while let Some(at) = open.pop() {
            let causes = graph.edges.from(at).iter().filter(|edge| edge.kind.is_must()).map(|edge| edge.to);
            for next in causes.chain(graph.edges.next(at)).filter(|next| *next <= to) {
                if next == to {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }

    // Makes a cycle of a path.
    fn cycle(&self, transaction: TransactionNo, joint: bool, path: &[Hop]) -> FoundCycle {
        let own = &self.transactions.all[transaction];
        let threads: BTreeSet<_> =
            path.iter().flat_map(|(from, to, _)| [self.steps.thread_of(*from), self.steps.thread_of(*to)]).collect();
        let edges = || path.iter().filter(|(.., kind)| *kind != EdgeKind::Program);
        let musts = edges().filter(|hop| self.is_forced(**hop)).count();
        let others = edges().count() - musts;
        let priority = match (musts, others) {
            (0, _) if threads.len() == 1 => 1,
            (0, _) => 2,
            (_, 0) => 4,
            _ => 3,
        };
        let outside = |step: &StepNo| self.transactions.of_step(*step) != Some(transaction);
        let writes = |step: &StepNo| matches!(self.steps.all[*step].kind, StepKind::Write(_));
        let mut intruding =
            path.iter().flat_map(|(from, to, _)| [*from, *to]).filter(outside).filter(writes).peekable();
        let same_value = intruding.peek().is_some() && intruding.all(|step| self.words.is_unchanged(step));
        let initialization = path.first().is_some_and(|(from, ..)| self.words.is_first_write(*from));
        let blame = if joint {
            let all = path.iter().flat_map(|(from, to, _)| [*from, *to]);
            let names = all.filter_map(|step| self.transactions.of_step(step));
            let names: BTreeSet<String> = names.map(|t| self.transactions.all[t].declared.clone()).collect();
            Blame::Joint(names.into_iter().collect())
        } else {
            Blame::Certain
        };
        let edges = path.iter().map(|hop| self.words.edge(*hop, transaction)).collect();
        let cycle = Cycle { transaction: own.name.clone(), edges, priority, same_value, initialization };
        FoundCycle { declared: own.declared.clone(), blame, cycle }
    }
}

// Returns the path to an edge that comes back, from the edge that leaves.
fn path_to(reached: &BTreeMap<StepNo, Reached>, last: Hop) -> Vec<Hop> {
    let mut path = vec![last];
    let mut at = last.0;
    while let Some(how) = reached.get(&at) {
        match *how {
            Reached::Start(hop) => {
                path.push(hop);
                break;
            }
            Reached::Edge(from, kind) => {
                path.push((from, at, kind));
                at = from;
            }
            Reached::With(other) => at = other,
        }
    }
    path.reverse();
    path
}
