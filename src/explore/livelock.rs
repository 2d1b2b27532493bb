//! Finds possible livelocks: runs that continue forever although every thread gets its turns, and in which a thread
//! that should end never does.
//!
//! They are the strongly connected components of the state graph (Tarjan) that are *just*: each thread that is
//! enabled in all their states acts in the component, and the clock moves if it always can. In such a component a
//! thread that is no daemon stays alive, or a looper is in a task and never begins another one. A run round the
//! component is a schedule that no fair scheduler need leave. Whether a real scheduler leaves it is not decided, so
//! the livelock is only possible.

use super::components::Shared;
use super::cycles::{StateGraph, Unknown};
use super::finds::Edge;
use super::monitor::{NoMonitor, ProductState};
use super::searched::{SearchState, SearchStorage};
use super::sleep::FIRST_EVENT_BIT;
use super::table::StateId;
use super::{ClockMode, Cut, RunChoices, SearchContext, SearchPlan, SearchReport, explored, path, search};
use crate::event::{Op, ThreadId};
use crate::world::{Canonicalizer, Program, Scale, Snapshot, ThreadStage};
use std::collections::{BTreeMap, BTreeSet};

/// A component of the state graph that a run need not leave.
#[derive(Clone, Debug)]
pub struct Livelock {
    /// Number of states of the component.
    pub states: usize,
    /// Threads that stay alive in the component.
    pub threads: Vec<ThreadId>,
    /// The cycle of the run: number of its first step in the component, and of the step after one round.
    pub round: (u64, u64),
    /// A shortest run to the component and twice round it, cut off by its step limit.
    pub way: RunChoices,
}

/// Returns the possible livelocks of a program. If a bound cuts the search, returns none, and the bound.
#[must_use]
pub fn livelocks<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    context: SearchContext<'_>,
) -> (Vec<Livelock>, Option<Cut>) {
    let plan = plan.in_full();
    let first = super::first(&plan, Scale::default(), &NoMonitor);
    if plan.clock == ClockMode::Critical || Shared::new(&first.machine, 0).is_none() {
        return of_graph(&plan, context);
    }
    let (scale, searched) = search(&plan, &NoMonitor, SearchStorage::States, context);
    of_search(&plan, scale, &searched, context)
}

/// Like [`explore`](super::explore), and returns the possible livelocks as well, unless the search is cut: it searches
/// once for both wherever it can. `phase` is called when it begins to look for livelocks. The second result is `None`
/// if the livelocks are not known, as after a search that has left out states.
#[must_use]
pub fn explore_with_livelocks<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    context: SearchContext<'_>,
    phase: impl FnOnce(),
) -> (SearchReport, Option<Vec<Livelock>>) {
    let (scale, searched) = search(plan, &NoMonitor, SearchStorage::States, context);
    if searched.cut.is_some() || searched.relations.is_some() {
        return (explored(plan, scale, searched, context), None);
    }
    phase();
    let (found, cut) = match plan.reduces() {
        true => livelocks(plan, context),
        false => of_search(plan, scale, &searched, context),
    };
    (explored(plan, scale, searched, context), cut.is_none().then_some(found))
}

// Returns the livelocks of a search that is over.
fn of_search<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    searched: &SearchState<P::Guest, NoMonitor>,
    context: SearchContext<'_>,
) -> (Vec<Livelock>, Option<Cut>) {
    if searched.cut.is_some() {
        return (Vec::new(), searched.cut);
    }
    if !searched.finds.goes_back {
        return (Vec::new(), None);
    }
    match of_vectors(plan, scale, searched, context) {
        Ok(found) => (found, None),
        Err(Unknown::Whole) => of_graph(&plan.in_full(), context),
        Err(Unknown::Stopped) => (Vec::new(), Some(Cut::Stopped)),
        Err(Unknown::Memory) => (Vec::new(), Some(Cut::Memory)),
    }
}

// Returns the livelocks of a search whose states are vectors.
fn of_vectors<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    searched: &SearchState<P::Guest, NoMonitor>,
    context: SearchContext<'_>,
) -> Result<Vec<Livelock>, Unknown> {
    let Some(mut graph) = StateGraph::new(plan, searched, context) else { return Err(Unknown::Whole) };
    let mut found = Vec::new();
    for component in graph.components(|c| is_just(c.always, c.acts))? {
        // The component is entered at its state with the shortest way from the start.
        let length = |s: &StateId| (searched.table.way(*s).len(), searched.table.digest(*s));
        let Some(entry) = component.entries.iter().copied().min_by_key(length) else { continue };
        let cycle = Cycle { states: component.states, begins: component.begins, entry: searched.table.way(entry) };
        let round = |node: &ProductState<_, _>| graph.round(&component, entry, node);
        found.extend(livelock(plan, scale, &searched.first, &cycle, round)?);
    }
    Ok(found)
}

// Searches again, and keeps the graph of states.
fn of_graph<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    context: SearchContext<'_>,
) -> (Vec<Livelock>, Option<Cut>) {
    let (scale, searched) = search(plan, &NoMonitor, SearchStorage::Graph, context);
    if searched.cut.is_some() {
        return (Vec::new(), searched.cut);
    }
    let graph = Graph::new(&searched.finds.edges, &searched.finds.open);
    let mut found = Vec::new();
    for component in graph.components() {
        if !graph.is_just(&component) {
            continue;
        }
        let length = |s: &usize| (searched.table.way(graph.ids[*s]).len(), *s);
        let Some(entry) = component.iter().copied().min_by_key(length) else { continue };
        let entry_way = searched.table.way(graph.ids[entry]);
        let cycle = Cycle { states: component.len(), begins: graph.begins(&component), entry: entry_way };
        let digest = |s: &usize| searched.table.digest(graph.ids[*s]);
        let round = |_: &ProductState<_, _>| Ok(graph.round(&component, entry).iter().map(digest).collect());
        found.extend(livelock(plan, scale, &searched.first, &cycle, round).unwrap_or_default());
    }
    (found, None)
}

// A just component.
struct Cycle {
    states: usize,
    // Bits of the actors that begin a task inside.
    begins: u64,
    // Digests of the states on the shortest way to it.
    entry: Vec<u128>,
}

// Returns the livelock of a component; `None` if no thread that should end stays alive in it. `round` returns the
// digests of the states on a way round the component, given the state at its entry.
fn livelock<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    first: &ProductState<P::Guest, NoMonitor>,
    cycle: &Cycle,
    round: impl FnOnce(&ProductState<P::Guest, NoMonitor>) -> Result<Vec<u128>, Unknown>,
) -> Result<Option<Livelock>, Unknown> {
    let Some(choices) = path::through(first, &cycle.entry, plan.clock) else { return Ok(None) };
    let mut node = first.clone();
    choices.iter().for_each(|choice| _ = node.follow(*choice));
    let mut numbers = Canonicalizer::new();
    node.machine.canonical_in(&mut numbers);
    let world = &node.machine.world;
    let lives = |thread: ThreadId| {
        let t = world.thread(thread);
        let bit = super::sleep::bit(&numbers, crate::event::Actor::Thread(thread));
        let between = world.queue(thread).is_some() && (cycle.begins & bit != 0 || !t_in_task(t));
        t.status == ThreadStage::Alive && !t.daemon && !between
    };
    let threads: Vec<ThreadId> = world.threads().ids().filter(|t| lives(*t)).collect();
    if threads.is_empty() {
        return Ok(None);
    }
    let round = round(&node)?;
    let mut all = choices.clone();
    let mut length = 0;
    for _ in 0..2 {
        let Some(once) = path::through(&node, &round, plan.clock) else { break };
        once.iter().for_each(|choice| _ = node.follow(*choice));
        length = once.len() as u64;
        all.extend(once);
    }
    let Some(way) = path::cut_off(plan, scale, &all) else { return Ok(None) };
    let start = choices.len() as u64;
    Ok(Some(Livelock { states: cycle.states, threads, round: (start, start + length), way }))
}

// Whether every actor that is open in all states of a component acts in it. Events are exempt, since they need never
// fire.
fn is_just(always: u64, acts: u64) -> bool {
    let events = (1u64 << super::sleep::CLOCK_BIT) - (1 << FIRST_EVENT_BIT);
    always & !acts & !events == 0
}

fn t_in_task(t: &crate::world::ThreadRecord) -> bool {
    t.context != t.home || !matches!(t.pending, Op::Begin)
}

/// The graph of the states of a search, as lists of edges.
pub(super) struct Graph {
    pub(super) ids: Vec<StateId>,
    // Index in `edges` at which the edges of each state begin.
    first: Vec<usize>,
    // Target, actor's bit, and whether the edge begins a task.
    edges: Vec<(u32, u64, bool)>,
    // Bits of the actors that are open in each state, and of those that act there, also into states in which runs end.
    pub(super) open: Vec<u64>,
    acts: Vec<u64>,
}

impl Graph {
    pub(super) fn new(edges: &[Edge], open: &[(StateId, u64)]) -> Self {
        let mut states: Vec<(StateId, u64)> = open.to_vec();
        states.sort_unstable();
        let ids: Vec<StateId> = states.iter().map(|(id, _)| *id).collect();
        let at = |id: StateId| ids.binary_search(&id).ok();
        let mut acts = vec![0; ids.len()];
        edges.iter().filter_map(|e| Some((at(e.from)?, e.by))).for_each(|(from, by)| acts[from] |= by);
        // Edges into states that were not visited are left out.
        let mut all: Vec<(usize, u32, u64, bool)> =
            edges.iter().filter_map(|e| Some((at(e.from)?, at(e.to)? as u32, e.by, e.begins))).collect();
        all.sort_unstable();
        let mut first = vec![0; ids.len() + 1];
        all.iter().for_each(|(from, ..)| first[from + 1] += 1);
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let edges = all.into_iter().map(|(_, to, by, begins)| (to, by, begins)).collect();
        Self { first, edges, open: states.iter().map(|(_, open)| *open).collect(), acts, ids }
    }

    fn of(&self, state: usize) -> &[(u32, u64, bool)] {
        &self.edges[self.first[state]..self.first[state + 1]]
    }

    /// Returns whether no edge leads out of a component.
    pub(super) fn is_closed(&self, component: &BTreeSet<usize>) -> bool {
        component.iter().flat_map(|state| self.of(*state)).all(|(to, ..)| component.contains(&(*to as usize)))
    }

    /// Returns the bits of the actors that are open somewhere in a component, and never act in it.
    pub(super) fn never_acts(&self, component: &BTreeSet<usize>) -> u64 {
        component.iter().fold(0, |mask, state| mask | self.open[*state])
            & !component.iter().fold(0, |mask, state| mask | self.acts[*state])
    }

    /// Returns the components with an edge inside, in the order in which they are completed.
    // Tarjan's algorithm without recursion.
    pub(super) fn components(&self) -> Vec<BTreeSet<usize>> {
        const NEW: u32 = u32::MAX;
        let n = self.ids.len();
        let (mut index, mut low) = (vec![NEW; n], vec![0u32; n]);
        let mut on_stack = vec![false; n];
        let (mut stack, mut next, mut found) = (Vec::new(), 0, Vec::new());
        for root in 0..n {
            if index[root] != NEW {
                continue;
            }
            let mut calls = vec![(root, 0)];
            while let Some((state, edge)) = calls.last_mut() {
                let state = *state;
                if *edge == 0 && index[state] == NEW {
                    (index[state], low[state]) = (next, next);
                    next += 1;
                    stack.push(state);
                    on_stack[state] = true;
                }
                if let Some((to, ..)) = self.of(state).get(*edge) {
                    let to = *to as usize;
                    *edge += 1;
                    if index[to] == NEW {
                        calls.push((to, 0));
                    } else if on_stack[to] {
                        low[state] = low[state].min(index[to]);
                    }
                    continue;
                }
                calls.pop();
                if let Some((caller, _)) = calls.last() {
                    low[*caller] = low[*caller].min(low[state]);
                }
                if low[state] == index[state] {
                    let mut component = BTreeSet::new();
                    while let Some(member) = stack.pop() {
                        on_stack[member] = false;
                        component.insert(member);
                        if member == state {
                            break;
                        }
                    }
                    if component.len() > 1 || self.of(state).iter().any(|(to, ..)| *to as usize == state) {
                        found.push(component);
                    }
                }
            }
        }
        found
    }

    fn is_just(&self, component: &BTreeSet<usize>) -> bool {
        let always = component.iter().fold(u64::MAX, |mask, s| mask & self.open[*s]);
        let acts = self.inside(component).fold(0, |mask, (_, by, _)| mask | by);
        is_just(always, acts)
    }

    fn begins(&self, component: &BTreeSet<usize>) -> u64 {
        self.inside(component).filter(|(.., begins)| *begins).fold(0, |mask, (_, by, _)| mask | by)
    }

    fn inside<'g>(&'g self, component: &'g BTreeSet<usize>) -> impl Iterator<Item = (u32, u64, bool)> + 'g {
        let edges = component.iter().flat_map(|s| self.of(*s).iter().copied());
        edges.filter(|(to, ..)| component.contains(&(*to as usize)))
    }

    // Returns a way from `entry` back to it on which every actor acts that acts in the component.
    fn round(&self, component: &BTreeSet<usize>, entry: usize) -> Vec<usize> {
        let mut way = vec![entry];
        let mut wanted = self.inside(component).fold(0, |mask, (_, by, _)| mask | by);
        let mut at = entry;
        while wanted != 0 || at != entry || way.len() == 1 {
            let goal = |to: usize, by: u64| if wanted != 0 { by & wanted != 0 } else { to == entry };
            let Some(more) = self.nearest(component, at, goal) else { break };
            for (to, by) in more {
                wanted &= !by;
                way.push(to);
                at = to;
            }
        }
        way
    }

    // Returns the shortest way inside the component whose last edge satisfies `goal`.
    fn nearest(
        &self,
        component: &BTreeSet<usize>,
        from: usize,
        goal: impl Fn(usize, u64) -> bool,
    ) -> Option<Vec<(usize, u64)>> {
        let mut before: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(state) = queue.pop_front() {
            for (to, by, _) in self.of(state) {
                let to = *to as usize;
                if !component.contains(&to) {
                    continue;
                }
                if goal(to, *by) {
                    let mut way = vec![(to, *by)];
                    let mut at = state;
                    while at != from {
                        let (previous, by) = before[&at];
                        way.push((at, by));
                        at = previous;
                    }
                    way.reverse();
                    return Some(way);
                }
                if to != from && !before.contains_key(&to) {
                    before.insert(to, (state, *by));
                    queue.push_back(to);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Livelock, SearchStorage, of_graph, of_vectors, search};
    use crate::event::ThreadId;
    use crate::explore::{NoMonitor, NoSearchProgress, SearchContext, SearchPlan};
    use crate::vm::Model;
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    const MODELS: [&str; 7] = [
        // Two components: one in which b waits for a, and one in which it waits forever.
        "atomic go = 0\nthread a { if * { go = 1 } }\nthread b { while go == 0 { yield } }",
        "lock x\nlock y\nthread a { loop { acquire x; acquire y; release y; release x } }\nthread b { loop { acquire y; release y } }",
        "atomic turn = 0\nthread t(i in 0..3) { loop { while turn != i { yield }; turn = (i + 1) % 3 } }",
        "looper main\nthread t { post tick() to main }\ntask tick() { post tick() to main }",
        "looper main\nvar x = 0\nthread t { post f() to main after 5; while x == 0 { sleep 2 } }\ntask f() { x = 1 }",
        "semaphore s = 1\nvar x = 0\nthread t(i in 0..3) { loop { down s; x = i; up s; if x == 2 { break } } }",
        "var x = 0\nthread a { x = 1 }\nthread b { x = 2; assert x == 2 }",
    ];

    fn forms(found: &[Livelock]) -> BTreeSet<(usize, Vec<ThreadId>)> {
        found.iter().map(|livelock| (livelock.states, livelock.threads.clone())).collect()
    }

    #[test]
    fn asking_again_finds_what_the_graph_shows() {
        let stop = AtomicBool::new(false);
        let context = SearchContext { stop: &stop, progress: &NoSearchProgress };
        let mut all = 0;
        for text in MODELS {
            let model = Model::from_text("livelock.race", text, &[]).expect(text);
            let plan = SearchPlan::new(&model);
            let (scale, searched) = search(&plan, &NoMonitor, SearchStorage::States, context);
            let Ok(again) = of_vectors(&plan, scale, &searched, context) else { panic!("no vectors: {text}") };
            let (graph, cut) = of_graph(&plan, context);
            assert_eq!((forms(&again), cut), (forms(&graph), None), "{text}");
            for livelock in &again {
                assert!(livelock.round.0 < livelock.round.1 && livelock.round.1 <= livelock.way.steps, "{text}");
            }
            all += again.len();
        }
        assert!(all >= 5, "only {all} livelocks: the test has lost its teeth");
    }
}
