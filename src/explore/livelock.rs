//! Finds possible livelocks: runs that continue forever although every thread gets its turns, and in which a thread
//! that should end never does.
//!
//! They are the strongly connected components of the state graph (Tarjan) that are *just*: each thread that is
//! enabled in all their states acts in the component, and the clock moves if it always can. In such a component a
//! thread that is no daemon stays alive, or a looper is in a task and never begins another one. A run round the
//! component is a schedule that no fair scheduler need leave. Whether a real scheduler leaves it is not decided, so
//! the livelock is only possible.

use super::finds::Edge;
use super::monitor::NoMonitor;
use super::searched::SearchStorage;
use super::table::StateId;
use super::worker::FIRST_EVENT_BIT;
use super::{Cut, RunChoices, SearchContext, SearchPlan, path, search};
use crate::event::{Op, ThreadId};
use crate::world::{Canonicalizer, Program, Snapshot, ThreadStage};
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
    let plan = SearchPlan { reduce: false, pairs: false, ..plan.clone() };
    let (scale, searched) = search(&plan, &NoMonitor, SearchStorage::Graph, context);
    if searched.cut.is_some() {
        return (Vec::new(), searched.cut);
    }
    let graph = Graph::new(&searched.finds.edges, &searched.finds.open);
    let mut found = Vec::new();
    for component in graph.components() {
        if !graph.is_just(&component) {
            continue;
        }
        // The component is entered at its state with the shortest way from the start.
        let Some(entry) = component.iter().copied().min_by_key(|s| (searched.table.way(graph.ids[*s]).len(), *s))
        else {
            continue;
        };
        let to = searched.table.way(graph.ids[entry]);
        let Some(choices) = path::through(&searched.first, &to, plan.clock) else { continue };
        let mut node = searched.first.clone();
        choices.iter().for_each(|choice| _ = node.follow(*choice));
        let mut numbers = Canonicalizer::new();
        node.machine.canonical_in(&mut numbers);
        let begins = graph.begins(&component);
        let world = &node.machine.world;
        let lives = |thread: ThreadId| {
            let t = world.thread(thread);
            let bit = super::worker::bit(&numbers, crate::event::Actor::Thread(thread));
            let between = world.queue(thread).is_some() && (begins & bit != 0 || !t_in_task(t));
            t.status == ThreadStage::Alive && !t.daemon && !between
        };
        let threads: Vec<ThreadId> = world.threads().ids().filter(|t| lives(*t)).collect();
        if threads.is_empty() {
            continue;
        }
        let round: Vec<u128> =
            graph.round(&component, entry).iter().map(|s| searched.table.digest(graph.ids[*s])).collect();
        let mut all = choices.clone();
        let mut length = 0;
        for _ in 0..2 {
            let Some(once) = path::through(&node, &round, plan.clock) else { break };
            once.iter().for_each(|choice| _ = node.follow(*choice));
            length = once.len() as u64;
            all.extend(once);
        }
        let Some(way) = path::cut_off(&plan, scale, &all) else { continue };
        let start = choices.len() as u64;
        found.push(Livelock { states: component.len(), threads, round: (start, start + length), way });
    }
    (found, None)
}

fn t_in_task(t: &crate::world::ThreadRecord) -> bool {
    t.context != t.home || !matches!(t.pending, Op::Begin)
}

struct Graph {
    ids: Vec<StateId>,
    // Index in `edges` at which the edges of each state begin.
    first: Vec<usize>,
    // Target, actor's bit, and whether the edge begins a task.
    edges: Vec<(u32, u64, bool)>,
    open: Vec<u64>,
}

impl Graph {
    fn new(edges: &[Edge], open: &[(StateId, u64)]) -> Self {
        let mut states: Vec<(StateId, u64)> = open.to_vec();
        states.sort_unstable();
        let ids: Vec<StateId> = states.iter().map(|(id, _)| *id).collect();
        let at = |id: StateId| ids.binary_search(&id).ok();
        // Edges into states that were not visited are left out.
        let mut all: Vec<(usize, u32, u64, bool)> =
            edges.iter().filter_map(|e| Some((at(e.from)?, at(e.to)? as u32, e.by, e.begins))).collect();
        all.sort_unstable();
        let mut first = vec![0; ids.len() + 1];
        all.iter().for_each(|(from, ..)| first[from + 1] += 1);
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let edges = all.into_iter().map(|(_, to, by, begins)| (to, by, begins)).collect();
        Self { first, edges, open: states.iter().map(|(_, open)| *open).collect(), ids }
    }

    fn of(&self, state: usize) -> &[(u32, u64, bool)] {
        &self.edges[self.first[state]..self.first[state + 1]]
    }

    // Tarjan's algorithm without recursion. Returns the components with an edge inside, in the order in which they
    // are completed.
    fn components(&self) -> Vec<BTreeSet<usize>> {
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

    // Whether every actor that is open in all states of the component acts in it. Events are exempt, since they need
    // never fire.
    fn is_just(&self, component: &BTreeSet<usize>) -> bool {
        let events = (1u64 << super::worker::CLOCK_BIT) - (1 << FIRST_EVENT_BIT);
        let always = component.iter().fold(u64::MAX, |mask, s| mask & self.open[*s]);
        let acts = self.inside(component).fold(0, |mask, (_, by, _)| mask | by);
        always & !acts & !events == 0
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
