//! Builds the graph of all states of a small model, with all facts that a campaign's verdicts are about: which accesses
//! are side by side, which come before which, and how runs can fail from each state on.
//!
//! The builder is a plain walk over states. It shares the machine with the product, but none of the product's searches.
//! The clock advances by milliseconds. Two paths lead to the same state only if the rest of the run is the same, *and*
//! threads, tasks and objects with the same names have been created, *and* the same accesses have been performed. A
//! state thus says which instances of a statement have been performed, and which orders are still possible is a
//! question about the graph.

use crate::stateless::{choices, next_instants};
use raceflip::base::Id;
use raceflip::detect::Pair;
use raceflip::event::{
    AccessKind, AccessPlace, Actor, BodyId, Choice, ContextId, Event, EventKind, Outcome, SiteId, ThreadId,
};
use raceflip::vm::{Model, Vm};
use raceflip::world::{CreationKind, Limits, Machine, MessageKind, ThreadStage, signature};
use std::collections::{BTreeMap, BTreeSet};

/// Set of failures: bit `i` stands for `Graph::failures[i]`.
pub(crate) type Failures = u64;

/// An access or another operation of a statement that was performed: its statement, its thread or task, its ordinal
/// there, and its location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Occurrence {
    pub(crate) site: SiteId,
    /// Index of the thread or task in [`Graph::names`].
    pub(crate) context: u32,
    /// Ordinal of this execution of the statement in its thread or task, from 1.
    pub(crate) visit: u32,
    /// Index of the location in [`Graph::names`]; `None` if the operation is not an access.
    pub(crate) place: Option<u32>,
    /// Whether the access is to the lifetime of an object (a use or a deletion) instead of to a cell.
    pub(crate) is_life: bool,
    /// Whether the access is a write.
    pub(crate) writes: bool,
}

/// A choice that is made in a state, and the state that it leads to.
pub(crate) struct Edge {
    pub(crate) to: usize,
    /// Index in [`Graph::names`] of the thread that acts; `None` if an event or the clock does.
    pub(crate) thread: Option<u32>,
    /// Index in [`Graph::occurrences`] of the operation that the choice performs.
    pub(crate) performs: Option<u32>,
}

/// Two conflicting accesses that are side by side: both are pending and enabled, in two threads.
pub(crate) struct Beside {
    pub(crate) pair: Pair,
    /// The thread that is pending at the first statement of the pair, then the one at the second. If both statements
    /// are the same, the thread with the lesser name comes first.
    pub(crate) threads: [u32; 2],
}

/// A state of the graph.
#[derive(Default)]
pub(crate) struct Node {
    pub(crate) edges: Vec<Edge>,
    /// Failures of the runs that end in this state.
    pub(crate) ends: Failures,
    pub(crate) beside: Vec<Beside>,
    /// Operations that were performed on the way to this state, as sorted indices into [`Graph::occurrences`].
    pub(crate) done: Vec<u32>,
    /// The state from which this one was first reached, and the choice made there; `None` for the initial state.
    from: Option<(usize, Choice)>,
}

/// The graph of all states; node 0 is the initial state.
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// Failures by their signatures, as campaigns tell them apart.
    pub(crate) failures: Vec<String>,
    pub(crate) occurrences: Vec<Occurrence>,
    /// Names of threads, tasks and locations.
    pub(crate) names: Vec<String>,
    /// For each state, the failures that runs can reach from it.
    pub(crate) reach: Vec<Failures>,
}

/// Builds the graph of all states of a model. Returns `None` if there are more than `most` states or more than 64
/// failures. With `all`, states record the operations of all kinds that were performed, not only the accesses.
pub(crate) fn graph(model: &Model, most: usize, all: bool) -> Option<Graph> {
    graph_with(model, most, all, &mut |_| ())
}

/// Like [`graph`], and shows `look` each state in which the run goes on, once.
pub(crate) fn graph_with(model: &Model, most: usize, all: bool, look: &mut dyn FnMut(&Machine<Vm>)) -> Option<Graph> {
    let mut machine = model.machine(Limits::default());
    machine.start(true);
    let mut walk = Walk::new(model, most, all);
    walk.state(State { machine, names: Vec::new(), done: Vec::new() }, None)?;
    while let Some((at, state)) = walk.open.pop() {
        walk.expand(at, state, look)?;
    }
    let reach = reach(&walk.nodes);
    let Walk { nodes, failures, occurrences, names, .. } = walk;
    Some(Graph { nodes, failures: failures.all, occurrences: occurrences.all, names: names.all, reach })
}

impl Graph {
    /// Returns whether `then` comes in some run from state `at` in which the thread that is about to perform `first`
    /// leaves its task instead. If so, `first` alone cut `then` off (`docs/verdicts.md`). Also returns false if more
    /// than `MOST` states follow.
    pub(crate) fn comes_without(&self, model: &Model, at: usize, first: u32, then: u32) -> bool {
        const MOST: usize = 20_000;
        let mut way = Vec::new();
        let mut here = at;
        while let Some((from, choice)) = self.nodes[here].from {
            way.push(choice);
            here = from;
        }
        // Replays the path from the initial state to state `at`.
        let mut machine = model.machine(Limits::default());
        machine.start(true);
        way.iter().rev().for_each(|choice| machine.step(*choice));
        let [first, then] = [first, then].map(|i| &self.occurrences[i as usize]);
        let stands_there = |t: &ThreadId| {
            let thread = machine.world.thread(*t);
            let name = machine.world.contexts().name(&model.code.setup, thread.context);
            thread.site == Some(first.site) && name == self.names[first.context as usize]
        };
        let Some(thread) = machine.world.enabled().iter().find(stands_there) else { return false };
        machine.abandon(thread);
        // `seen` counts the executions of `then`'s statement in its context, to recognize the one with its ordinal.
        let before = self.nodes[at].done.iter().map(|i| &self.occurrences[*i as usize]);
        let seen = before.filter(|o| o.site == then.site && o.context == then.context).count() as u32;
        let (mut open, mut met) = (vec![(machine, seen)], BTreeSet::new());
        while let Some((mut machine, seen)) = open.pop() {
            if !met.insert((machine.canonical().digest(), seen)) {
                continue;
            }
            if met.len() > MOST {
                return false;
            }
            for choice in choices(&mut machine, next_instants).unwrap_or_default() {
                if choice.actor == Actor::Stop {
                    continue;
                }
                let mut next = machine.clone();
                next.step(choice);
                let world = &next.world;
                let is_then = |event: &Event| {
                    let is_access = matches!(&event.what, EventKind::Performed { op, .. } if then.place.is_none() || op.access().is_some());
                    let name = event.context.map(|c| world.contexts().name(&model.code.setup, c));
                    is_access
                        && event.site == Some(then.site)
                        && name.as_ref() == Some(&self.names[then.context as usize])
                };
                let seen = seen + u32::from(world.recorded().iter().any(is_then));
                if seen == then.visit {
                    return true;
                }
                open.push((next, seen));
            }
        }
        false
    }
}

/// Returns for each node the failures that can be reached from it along edges.
fn reach(nodes: &[Node]) -> Vec<Failures> {
    let mut all: Vec<Failures> = nodes.iter().map(|n| n.ends).collect();
    fixpoint(nodes.len(), |at| {
        let found = nodes[at].edges.iter().fold(all[at], |set, edge| set | all[edge.to]);
        std::mem::replace(&mut all[at], found) != found
    });
    all
}

/// Calls `changes` for all numbers below `count`, the last one first, until no call reports a change.
pub(crate) fn fixpoint(count: usize, mut changes: impl FnMut(usize) -> bool) {
    let mut again = true;
    while again {
        again = false;
        for at in (0..count).rev() {
            again |= changes(at);
        }
    }
}

/// Values with numbers, in the order in which they were first seen.
struct Interned<T> {
    all: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

impl<T: Ord + Clone> Interned<T> {
    fn new() -> Self {
        Self { all: Vec::new(), numbers: BTreeMap::new() }
    }

    fn number(&mut self, thing: T) -> u32 {
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        self.all.push(thing.clone());
        let number = self.all.len() as u32 - 1;
        self.numbers.insert(thing, number);
        number
    }
}

/// A state that the walk has still to expand.
struct State {
    machine: Machine<Vm>,
    /// For each context of the machine, the index of its name in [`Graph::names`].
    names: Vec<u32>,
    done: Vec<u32>,
}

struct Walk<'m> {
    model: &'m Model,
    most: usize,
    all: bool,
    kinds: Vec<CreationKind>,
    nodes: Vec<Node>,
    met: BTreeMap<Vec<u32>, usize>,
    open: Vec<(usize, State)>,
    failures: Interned<String>,
    occurrences: Interned<Occurrence>,
    names: Interned<String>,
}

impl<'m> Walk<'m> {
    fn new(model: &'m Model, most: usize, all: bool) -> Self {
        let setup = &model.code.setup;
        let bodies = (0..setup.bodies.len()).map(|i| CreationKind::Body(BodyId::new(i)));
        let classes = (0..setup.classes.len()).map(|i| CreationKind::Class(i as u32));
        Self {
            model,
            most,
            all,
            kinds: bodies.chain(classes).chain([CreationKind::Looper]).collect(),
            nodes: Vec::new(),
            met: BTreeMap::new(),
            open: Vec::new(),
            failures: Interned::new(),
            occurrences: Interned::new(),
            names: Interned::new(),
        }
    }

    // Returns the number of a state. A new state is put on the list of those to expand.
    fn state(&mut self, mut state: State, from: Option<(usize, Choice)>) -> Option<usize> {
        let contexts = state.machine.world.contexts();
        for id in state.names.len()..contexts.len() {
            let name = contexts.name(&self.model.code.setup, ContextId::new(id));
            state.names.push(self.names.number(name));
        }
        let key = self.key(&state);
        if let Some(known) = self.met.get(&key) {
            return Some(*known);
        }
        let at = self.nodes.len();
        if at >= self.most || self.failures.all.len() > 64 {
            return None;
        }
        self.met.insert(key, at);
        self.nodes.push(Node { done: state.done.clone(), from, ..Node::default() });
        self.open.push((at, state));
        Some(at)
    }

    // Returns the identity of a state: its future (the canonical state), the names of its contexts, the operations that
    // were performed on the way, and how the run ended, if it has.
    fn key(&self, state: &State) -> Vec<u32> {
        const NEXT: u32 = u32::MAX;
        let world = &state.machine.world;
        let canonical = state.machine.canonical();
        let mut key: Vec<u32> = (0..4).map(|i| (canonical.digest() >> (32 * i)) as u32).collect();
        let name = |context: ContextId| state.names[context.index()];
        for thread in &canonical.threads {
            let thread = world.thread(*thread);
            key.extend([name(thread.home), name(thread.context)]);
            let messages = thread.queue.iter().flat_map(|q| q.messages());
            key.extend(messages.map(|m| match &m.kind {
                MessageKind::Task(task) => name(task.context),
                MessageKind::Fence(_) => NEXT - 1,
            }));
            // The names of idle handlers, which are not messages, are needed as well.
            key.extend(thread.queue.iter().flat_map(|q| q.waiting_tasks()).map(|task| name(task.context)));
            key.push(NEXT);
        }
        // Names are numbered by their creator, so the counts of created items determine the names of the next ones.
        let mut made: Vec<[u32; 3]> = Vec::new();
        for id in 0..state.names.len() {
            let context = ContextId::new(id);
            made.push([name(context), NEXT, 0]);
            for (i, kind) in self.kinds.iter().enumerate() {
                let count = world.contexts().counted(Some(context), *kind);
                if count > 0 {
                    made.push([name(context), i as u32, count]);
                }
            }
        }
        made.sort_unstable();
        key.extend(made.into_iter().flatten());
        key.push(NEXT);
        key.extend(&state.done);
        // The canonical state leaves the outcome out, since nothing follows it. Two runs that have failed in different
        // ways can therefore have the same canonical state.
        if let Some(outcome) = world.outcome() {
            key.push(NEXT);
            key.extend(signature(&self.model.code.setup, outcome).bytes().map(u32::from));
        }
        key
    }

    // Expands a state: adds an edge for each choice, the outcomes of runs that end here, and the pairs side by side.
    fn expand(&mut self, at: usize, mut state: State, look: &mut dyn FnMut(&Machine<Vm>)) -> Option<()> {
        let choices = match choices(&mut state.machine, next_instants) {
            Ok(choices) => choices,
            Err(outcome) => {
                self.end(at, &outcome);
                return Some(());
            }
        };
        self.note_beside(at, &state);
        look(&state.machine);
        for choice in choices {
            if choice.actor == Actor::Stop {
                self.end(at, &state.machine.world.rest_outcome());
                continue;
            }
            let edge = self.step(at, &state, choice)?;
            self.nodes[at].edges.push(edge);
        }
        Some(())
    }

    fn end(&mut self, at: usize, outcome: &Outcome) {
        if matches!(outcome, Outcome::Failure(_) | Outcome::Deadlock(_) | Outcome::Stuck { .. }) {
            let bit = self.failures.number(signature(&self.model.code.setup, outcome));
            // `state` gives up once there are more than 64 failures, so a shift that is too large loses nothing.
            self.nodes[at].ends |= 1u64.checked_shl(bit).unwrap_or(0);
        }
    }

    fn step(&mut self, at: usize, from: &State, choice: Choice) -> Option<Edge> {
        let mut next = State { machine: from.machine.clone(), names: from.names.clone(), done: from.done.clone() };
        next.machine.step(choice);
        let thread = match choice.actor {
            Actor::Thread(thread) => Some(from.names[from.machine.world.thread(thread).home.index()]),
            _ => None,
        };
        let world = &next.machine.world;
        let performed = world.recorded().iter().find_map(|event| match &event.what {
            // The second half of an operation (after a wait, a sleep or a barrier) is no operation of its own.
            EventKind::Performed { op, .. } if op.is_second_half() => None,
            EventKind::Performed { op, .. } => Some((op.access(), event.site?, event.context?)),
            _ => None,
        });
        let performs = performed.filter(|(access, ..)| self.all || access.is_some()).map(|(access, site, context)| {
            let context = from.names[context.index()];
            let is_same = |id: &&u32| {
                let o = &self.occurrences.all[**id as usize];
                o.site == site && o.context == context
            };
            let occurrence = Occurrence {
                site,
                context,
                visit: 1 + from.done.iter().filter(is_same).count() as u32,
                place: access.map(|access| self.names.number(world.place_name(access.place))),
                is_life: access.is_some_and(|access| matches!(access.place, AccessPlace::Life(_))),
                writes: access.is_some_and(|access| access.kind == AccessKind::Write),
            };
            self.occurrences.number(occurrence)
        });
        if let Some(id) = performs
            && let Err(place) = next.done.binary_search(&id)
        {
            next.done.insert(place, id);
        }
        Some(Edge { to: self.state(next, Some((at, choice)))?, thread, performs })
    }

    // Adds the pairs that are side by side: two enabled threads whose pending accesses conflict.
    fn note_beside(&mut self, at: usize, state: &State) {
        let world = &state.machine.world;
        let mut pending = Vec::new();
        for id in world.enabled().iter() {
            let thread = world.thread(id);
            if thread.status != ThreadStage::Alive {
                continue;
            }
            let Some((access, site)) = thread.pending.access().zip(thread.site) else { continue };
            let name = state.names[thread.home.index()];
            for (other, there, who) in &pending {
                if !access.conflicts(other) {
                    continue;
                }
                let pair = Pair::new(site, *there);
                let is_first = if site == *there {
                    self.names.all[name as usize] < self.names.all[*who as usize]
                } else {
                    pair.a == site
                };
                let threads = if is_first { [name, *who] } else { [*who, name] };
                self.nodes[at].beside.push(Beside { pair, threads });
            }
            pending.push((access, site, name));
        }
    }
}
