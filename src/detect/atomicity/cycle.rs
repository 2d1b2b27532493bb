//! The cycles of a violated transaction: for each edge that leaves it and each edge that comes back, the shortest path
//! between them. Edges that agree in bodies, statements, location and kind count as one.

use super::edges::Edges;
use super::findings::FoundCycle;
use super::forced::Makers;
use super::lifetime::Lifetimes;
use super::spec::{TransactionNo, Transactions};
use super::steps::{ContextNo, StepKind, StepNo, Steps};
use super::words::{EdgeClass, Words};
use super::{Blame, Cycle, EdgeKind, EdgeRules};
use crate::base::{Id, IndexVec};
use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
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
    // Computed when the first cycle is asked for: a trace without violations needs none of this.
    graph: OnceCell<Graph<'a>>,
    reached: RefCell<ReachedSteps>,
}

struct Graph<'a> {
    words: Words<'a>,
    edges: Edges,
    makers: Makers,
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
        Self { steps, transactions, rules, graph: OnceCell::new(), reached: RefCell::default() }
    }

    fn graph(&self) -> &Graph<'a> {
        self.graph.get_or_init(|| {
            let mut counts: IndexVec<TransactionNo, usize> = self.transactions.all.iter().map(|_| 0).collect();
            let owners = self.steps.all.ids().filter_map(|step| self.transactions.of_step(step));
            owners.for_each(|transaction| counts[transaction] += 1);
            let mut members: IndexVec<TransactionNo, Vec<StepNo>> =
                counts.iter().map(|count| Vec::with_capacity(*count)).collect();
            for step in self.steps.all.ids() {
                if let Some(transaction) = self.transactions.of_step(step) {
                    members[transaction].push(step);
                }
            }
            Graph {
                words: Words::new(self.steps, self.transactions),
                edges: Edges::of(self.steps, self.transactions, self.rules),
                makers: Makers::of(self.steps),
                lifetimes: [false, true].map(|joint| Lifetimes::of(self.steps, self.transactions, joint)),
                members,
            }
        })
    }

    /// Returns the cycles of a transaction, with `joint` those through other transactions as wholes, and whether all
    /// were searched: the searches for its paths follow at most `allowance` edges, but they find at least one cycle.
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
        let mut reached = self.reached.borrow_mut();
        let mut complete = leaves.len() <= MOST_LEAVES;
        for hops in leaves.iter().take(MOST_LEAVES) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let mut search = PathSearch::new(self, (transaction, joint), &own, &mut reached, hops);
            complete &= search.run(&mut left, usize::MAX);
            paths.append(&mut search.found);
        }
        if paths.is_empty() {
            let mut search = PathSearch::new(self, (transaction, joint), &own, &mut reached, &leaves.concat());
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
        kind.is_must() || self.graph().makers.leads(self.steps, from, to)
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

// The steps that a search has reached, with the number of edges to each of them. One table serves all searches.
#[derive(Default)]
struct ReachedSteps {
    // For each step of the trace its entry, from 1; 0 if it was not reached.
    entry: Vec<u32>,
    entries: Vec<(StepNo, u32, Reached)>,
}

impl ReachedSteps {
    // Forgets everything. The trace has so many steps.
    fn clear(&mut self, steps: usize) {
        self.entry.resize(steps, 0);
        self.entries.drain(..).for_each(|(step, ..)| self.entry[step.index()] = 0);
    }

    fn get(&self, step: StepNo) -> Option<(u32, Reached)> {
        let at = (self.entry[step.index()] as usize).checked_sub(1)?;
        let (_, cost, how) = self.entries[at];
        Some((cost, how))
    }

    // Keeps the way to a step, unless as short a one is known. Returns whether it is kept.
    fn insert(&mut self, step: StepNo, cost: u32, how: Reached) -> bool {
        let entry = &mut self.entry[step.index()];
        if *entry == 0 {
            self.entries.push((step, cost, how));
            *entry = self.entries.len() as u32;
            return true;
        }
        let known = &mut self.entries[*entry as usize - 1];
        let is_shorter = cost < known.1;
        if is_shorter {
            *known = (step, cost, how);
        }
        is_shorter
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
    reached: &'c mut ReachedSteps,
    // The steps to visit: those with as many edges as the current one, and those with one more.
    open: BinaryHeap<Reverse<StepNo>>,
    further: BinaryHeap<Reverse<StepNo>>,
    // The next step of the context of the current one, which is open as well. Most often it is the next to visit.
    next: Option<StepNo>,
    // The number of edges to the current step.
    cost: u32,
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
        reached: &'c mut ReachedSteps,
        leaves: &[Hop],
    ) -> Self {
        reached.clear(cycles.steps.all.len());
        let mut search = Self {
            cycles,
            transaction,
            joint,
            own,
            end: cycles.graph().lifetimes[usize::from(joint)].of[transaction].to,
            reached,
            open: BinaryHeap::new(),
            further: BinaryHeap::new(),
            next: None,
            cost: 1,
            tasks: BTreeSet::new(),
            wholes: BTreeSet::new(),
            back: BTreeSet::new(),
            found: Vec::new(),
        };
        leaves.iter().for_each(|hop| search.reach(hop.1, 1, Reached::Start(*hop)));
        search
    }

    fn reach(&mut self, step: StepNo, cost: u32, how: Reached) {
        if step < self.end && self.reached.insert(step, cost, how) {
            let open = if cost == self.cost { &mut self.open } else { &mut self.further };
            open.push(Reverse(step));
        }
    }

    // Keeps the next step of the context of the current one.
    fn reach_next(&mut self, from: StepNo, step: StepNo) {
        if step < self.end
            && self.reached.insert(step, self.cost, Reached::With(from))
            && let Some(other) = self.next.replace(step)
        {
            self.open.push(Reverse(other));
        }
    }

    // Returns the next step to visit, and how it was reached: one with the fewest edges to it, and of these the first
    // one.
    fn pop(&mut self) -> Option<(StepNo, Reached)> {
        loop {
            if self.open.is_empty() && self.next.is_none() {
                std::mem::swap(&mut self.open, &mut self.further);
                self.cost += 1;
            }
            let is_first = |next: &StepNo| self.open.peek().is_none_or(|Reverse(other)| next < other);
            let step = match self.next.take_if(|next| is_first(next)) {
                Some(next) => next,
                None => self.open.pop()?.0,
            };
            // A shorter way to it may have been found since.
            if let Some((_, how)) = self.reached.get(step).filter(|(cost, _)| *cost == self.cost) {
                return Some((step, how));
            }
        }
    }

    // Searches until `most` paths are found, or `left` edges were followed. Returns false if that ended the search.
    fn run(&mut self, left: &mut usize, most: usize) -> bool {
        let Cycles { steps, transactions, .. } = self.cycles;
        let graph = self.cycles.graph();
        while let Some((at, how)) = self.pop() {
            if *left == 0 || self.found.len() >= most {
                return false;
            }
            let cost = self.cost;
            *left = left.saturating_sub(1 + graph.edges.from(at).len());
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
                    self.reach_next(at, to);
                } else {
                    self.reach(to, cost + 1, Reached::Edge(at, kind));
                }
            }
            // From a step of the same context or transaction that was visited, these were entered.
            let from = if let Reached::With(from) = how { Some(from) } else { None };
            let context = steps.all[at].context;
            let is_new = from.is_none_or(|from| steps.all[from].context != context);
            if is_new && self.cycles.is_mate(self.transaction, self.own, context) && self.tasks.insert(context) {
                let span = steps.task_of(context).and_then(|task| steps.spans[task]);
                let mut member = span.map(|(first, _)| first);
                while let Some(step) = member {
                    self.reach(step, cost, Reached::With(at));
                    member = graph.edges.next(step);
                }
            }
            let is_new = |other: &TransactionNo| from.is_none_or(|from| transactions.of_step(from) != Some(*other));
            let other = transactions.of_step(at).filter(|_| self.joint).filter(is_new);
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
        while let Some((_, how)) = self.reached.get(at) {
            match how {
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
