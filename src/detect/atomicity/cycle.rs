//! The cycles of a violated transaction: for each edge that leaves it and each edge that comes back, the shortest path
//! between them. Edges that agree in bodies, statements, location and kind count as one.

use super::edges::Edges;
use super::findings::FoundCycle;
use super::lifetime::Lifetimes;
use super::spec::{TransactionNo, Transactions};
use super::steps::{ContextNo, StepKind, StepNo, Steps};
use super::words::{EdgeClass, Words};
use super::{Blame, Cycle, EdgeKind, EdgeRules};
use crate::base::IndexVec;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of different edges that leave one transaction, beyond which no more paths are searched.
const MOST_LEAVES: usize = 64;

/// Number of steps that are visited to decide whether an edge is forced. An edge that is not decided counts as not
/// forced, so that its cycle has a better priority.
const MOST_FORCED: usize = 20_000;

/// An edge of a path, by its steps.
pub(super) type Hop = (StepNo, StepNo, EdgeKind);

/// Finds the cycles of transactions of one trace.
pub(super) struct Cycles<'a> {
    steps: &'a Steps<'a>,
    transactions: &'a Transactions,
    rules: EdgeRules,
    // Computed when the first cycle is asked for: a trace without violations needs none of this.
    graph: OnceCell<Graph<'a>>,
}

struct Graph<'a> {
    words: Words<'a>,
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
        Self { steps, transactions, rules, graph: OnceCell::new() }
    }

    fn graph(&self) -> &Graph<'a> {
        self.graph.get_or_init(|| {
            let mut members: IndexVec<TransactionNo, Vec<StepNo>> =
                self.transactions.all.iter().map(|_| Vec::new()).collect();
            for step in self.steps.all.ids() {
                if let Some(transaction) = self.transactions.of_step(step) {
                    members[transaction].push(step);
                }
            }
            Graph {
                words: Words::new(self.steps, self.transactions),
                edges: Edges::of(self.steps, self.transactions, self.rules),
                lifetimes: [false, true].map(|joint| Lifetimes::of(self.steps, self.transactions, joint)),
                members,
            }
        })
    }

    /// Returns the cycles of a transaction, with `joint` those through other transactions as wholes, and whether all
    /// were searched: the searches for its paths visit at most `allowance` steps, but they find at least one cycle.
    /// `None` if `stop` was set.
    pub(super) fn of(
        &self,
        transaction: TransactionNo,
        joint: bool,
        allowance: usize,
        stop: &AtomicBool,
    ) -> Option<(Vec<FoundCycle>, bool)> {
        let graph = self.graph();
        let own: BTreeSet<ContextNo> =
            graph.members[transaction].iter().map(|step| self.steps.all[*step].context).collect();
        let mut leaves: BTreeMap<EdgeClass, Vec<Hop>> = BTreeMap::new();
        for from in &graph.members[transaction] {
            let next = graph.edges.next(*from).map(|to| (*from, to, EdgeKind::Program));
            let edges = graph.edges.from(*from).iter().map(|edge| (*from, edge.to, edge.kind));
            let leaving = |hop: &Hop| self.transactions.of_step(hop.1) != Some(transaction);
            for hop in edges.chain(next).filter(leaving) {
                leaves.entry(graph.words.class(hop)).or_default().push(hop);
            }
        }
        let mut leaves: Vec<Vec<Hop>> = leaves.into_values().collect();
        leaves.sort_by_key(|hops| hops.iter().min().copied());
        let (mut paths, mut left) = (Vec::new(), allowance);
        let mut complete = leaves.len() <= MOST_LEAVES;
        for hops in leaves.iter().take(MOST_LEAVES) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let mut search = PathSearch::new(self, (transaction, joint), &own, hops);
            complete &= search.run(&mut left, usize::MAX);
            paths.append(&mut search.found);
        }
        if paths.is_empty() {
            let mut search = PathSearch::new(self, (transaction, joint), &own, &leaves.concat());
            let mut unlimited = usize::MAX;
            search.run(&mut unlimited, 1);
            paths.append(&mut search.found);
        }
        let cycles = paths.iter().map(|path| self.cycle(transaction, joint, path)).collect();
        Some((cycles, complete))
    }

    // Whether a context is a task that the transaction cannot interrupt: on one of its loopers, and none of its own.
    fn is_mate(&self, transaction: TransactionNo, own: &BTreeSet<ContextNo>, context: ContextNo) -> bool {
        let Some(task) = self.steps.task_of(context) else { return false };
        let looper = &self.steps.trace.tasks[task].looper;
        self.transactions.all[transaction].loopers.binary_search(looper).is_ok() && !own.contains(&context)
    }

    // Whether an edge is a cause, or program order, forks and posts alone lead from its start to its end: then what is
    // at its end was made by what is at its start. An enable only allows an event.
    fn is_forced(&self, (from, to, kind): Hop) -> bool {
        if kind.is_must() {
            return true;
        }
        let graph = self.graph();
        let mut seen: BTreeSet<StepNo> = BTreeSet::new();
        let mut open: Vec<StepNo> = vec![from];
        while let Some(at) = open.pop().filter(|_| seen.len() < MOST_FORCED) {
            let makes = !matches!(self.steps.all[at].kind, StepKind::Enable(_));
            let causes = graph.edges.from(at).iter().filter(|edge| makes && edge.kind.is_must()).map(|edge| edge.to);
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

    // Whether a transaction does not access the location of one of its steps before that step.
    fn is_first_access(&self, transaction: TransactionNo, step: StepNo) -> bool {
        let place = |at: StepNo| match self.steps.all[at].kind {
            StepKind::Read(place) | StepKind::Write(place) => Some(place),
            _ => None,
        };
        let own = &self.graph().members[transaction];
        own.iter().take_while(|at| **at < step).all(|at| place(*at) != place(step))
    }

    // Makes a cycle of a path.
    fn cycle(&self, transaction: TransactionNo, joint: bool, path: &[Hop]) -> FoundCycle {
        let words = &self.graph().words;
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
        let same_value = intruding.peek().is_some() && intruding.all(|step| words.is_unchanged(step));
        let initialization = path
            .first()
            .is_some_and(|(from, ..)| words.is_first_write(*from) && self.is_first_access(transaction, *from));
        let blame = if joint {
            let all = path.iter().flat_map(|(from, to, _)| [*from, *to]);
            let names = all.filter_map(|step| self.transactions.of_step(step));
            let names: BTreeSet<String> = names.map(|t| self.transactions.all[t].declared.clone()).collect();
            Blame::Joint(names.into_iter().collect())
        } else {
            Blame::Certain
        };
        let edges = path.iter().map(|hop| words.edge(*hop, transaction)).collect();
        let cycle = Cycle { transaction: own.name.clone(), edges, priority, same_value, initialization };
        FoundCycle { declared: own.declared.clone(), blame, cycle }
    }
}

// A search for the shortest paths from some edges that leave a transaction to each class of edges that come back.
struct PathSearch<'c, 'a> {
    cycles: &'c Cycles<'a>,
    transaction: TransactionNo,
    joint: bool,
    // The contexts that have a step of the transaction.
    own: &'c BTreeSet<ContextNo>,
    // Nothing from here on can lead back.
    end: StepNo,
    reached: BTreeMap<StepNo, (u32, Reached)>,
    // By the number of edges to a step.
    open: BTreeSet<(u32, StepNo)>,
    // The tasks and transactions that count as one node and were entered.
    tasks: BTreeSet<ContextNo>,
    wholes: BTreeSet<TransactionNo>,
    back: BTreeSet<EdgeClass>,
    found: Vec<Vec<Hop>>,
}

impl<'c, 'a> PathSearch<'c, 'a> {
    fn new(
        cycles: &'c Cycles<'a>,
        (transaction, joint): (TransactionNo, bool),
        own: &'c BTreeSet<ContextNo>,
        leaves: &[Hop],
    ) -> Self {
        let mut search = Self {
            cycles,
            transaction,
            joint,
            own,
            end: cycles.graph().lifetimes[usize::from(joint)].of[transaction].to,
            reached: BTreeMap::new(),
            open: BTreeSet::new(),
            tasks: BTreeSet::new(),
            wholes: BTreeSet::new(),
            back: BTreeSet::new(),
            found: Vec::new(),
        };
        leaves.iter().for_each(|hop| search.reach(hop.1, 1, Reached::Start(*hop)));
        search
    }

    fn reach(&mut self, step: StepNo, cost: u32, how: Reached) {
        if step >= self.end {
            return;
        }
        if let Some((known, _)) = self.reached.get(&step) {
            if *known <= cost {
                return;
            }
            self.open.remove(&(*known, step));
        }
        self.reached.insert(step, (cost, how));
        self.open.insert((cost, step));
    }

    // Searches until `most` paths are found, or `left` steps were visited. Returns false if that ended the search.
    fn run(&mut self, left: &mut usize, most: usize) -> bool {
        let Cycles { steps, transactions, .. } = self.cycles;
        let graph = self.cycles.graph();
        while let Some((cost, at)) = self.open.pop_first() {
            if *left == 0 || self.found.len() >= most {
                return false;
            }
            *left -= 1;
            let next = graph.edges.next(at).map(|to| (at, to, EdgeKind::Program));
            let edges = graph.edges.from(at).iter().map(|edge| (at, edge.to, edge.kind));
            for hop in edges.chain(next) {
                let (_, to, kind) = hop;
                if transactions.of_step(to) == Some(self.transaction) {
                    if self.back.insert(graph.words.class(hop)) {
                        let path = self.path_to(hop);
                        self.found.push(path);
                    }
                } else if kind == EdgeKind::Program {
                    self.reach(to, cost, Reached::With(at));
                } else {
                    self.reach(to, cost + 1, Reached::Edge(at, kind));
                }
            }
            let context = steps.all[at].context;
            if self.cycles.is_mate(self.transaction, self.own, context) && self.tasks.insert(context) {
                let span = steps.task_of(context).and_then(|task| steps.spans[task]);
                let mut member = span.map(|(first, _)| first);
                while let Some(step) = member {
                    self.reach(step, cost, Reached::With(at));
                    member = graph.edges.next(step);
                }
            }
            let other = transactions.of_step(at).filter(|_| self.joint);
            if let Some(other) = other.filter(|other| self.wholes.insert(*other)) {
                graph.members[other].iter().for_each(|step| self.reach(*step, cost, Reached::With(at)));
            }
        }
        true
    }

    // Returns the path to an edge that comes back, from the edge that leaves.
    fn path_to(&self, last: Hop) -> Vec<Hop> {
        let mut path = vec![last];
        let mut at = last.0;
        while let Some((_, how)) = self.reached.get(&at) {
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
}
