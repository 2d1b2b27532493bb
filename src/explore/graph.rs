//! The strongly connected components of the graph of states of a search that has ended.

use super::Cut;
use super::table::{StateId, Table};
use super::transitions::{Mover, Transitions};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

/// A strongly connected component with a transition inside, and what its states and transitions have in common.
pub(super) struct Component {
    /// Its states, in an order that may depend on the number of workers.
    pub(super) states: Vec<StateId>,
    /// Bits of the actors that are open in all states.
    pub(super) always: u64,
    /// Bits of the actors that are open somewhere, and never act, not even into states in which runs end.
    pub(super) never_act: u64,
    /// Bits of the actors that act inside.
    pub(super) acts: u64,
    /// Bits of the actors that begin a task inside.
    pub(super) begins: u64,
    /// Whether no transition leads out of it.
    pub(super) is_closed: bool,
    // Mark of its states.
    mark: u32,
}

// Marks of states: not visited; visited, and in no component that is kept. The marks from `KEPT` down are components
// that are kept. Lower ones are the indices of the states on the stack.
const NEW: u32 = u32::MAX;
const DONE: u32 = u32::MAX - 1;
const KEPT: u32 = u32::MAX - 2;

// No number of a state.
const NONE: u32 = u32::MAX;

struct Frame {
    state: StateId,
    low: u32,
    // Its next transition, and the end of its transitions.
    next: u32,
    end: u32,
}

/// The graph of a search that has ended. States in which runs end, and states that were not visited, are left out.
pub(super) struct Graph<'s> {
    log: &'s Transitions,
    // Number of states in the table before those of each shard.
    offsets: Vec<usize>,
    // By the place of a state in the table: its number in the log, and its mark.
    numbers: Vec<u32>,
    marks: Vec<u32>,
}

impl<'s> Graph<'s> {
    pub(super) fn new<N>(log: &'s Transitions, table: &Table<N>) -> Self {
        let (offsets, len) = (table.offsets(), table.len() as usize);
        let mut numbers = vec![NONE; len];
        for (number, state) in (0..).zip(&log.states) {
            let known = &mut numbers[state.id.place(&offsets)];
            // A state that was expanded twice was expanded in full at last, and in part before.
            if *known == NONE || log.range(*known).len() < log.range(number).len() {
                *known = number;
            }
        }
        Self { log, offsets, numbers, marks: vec![NEW; len] }
    }

    fn place(&self, id: StateId) -> usize {
        id.place(&self.offsets)
    }

    fn mark(&self, id: StateId) -> u32 {
        self.marks[self.place(id)]
    }

    // Returns the targets and the actors of the transitions of a state that was expanded.
    fn of(&self, id: StateId) -> impl Iterator<Item = (StateId, Mover)> + '_ {
        let range = self.log.range(self.numbers[self.place(id)]);
        self.log.to[range.clone()].iter().copied().zip(self.log.by[range].iter().copied())
    }

    /// Returns the bits of the actors that are open in a state that was expanded.
    pub(super) fn open(&self, id: StateId) -> u64 {
        let left_out = self.log.states[self.numbers[self.place(id)] as usize].left_out;
        self.of(id).fold(left_out, |open, (_, by)| open | by.bit())
    }

    /// Returns the components that have a transition inside and of which `keep` is true, in an order that does not
    /// depend on the number of workers.
    ///
    /// # Errors
    ///
    /// Returns [`Cut::Stopped`] if the caller has stopped the search.
    // Tarjan's algorithm without recursion.
    pub(super) fn components(
        &mut self,
        stop: &AtomicBool,
        keep: impl Fn(&Component) -> bool,
    ) -> Result<Vec<Component>, Cut> {
        let (mut frames, mut stack, mut found) = (Vec::<Frame>::new(), Vec::new(), Vec::new());
        let mut next = 0;
        // All states are reached from the first one, which was expanded first.
        for root in &self.log.states {
            let mut enter = (self.mark(root.id) == NEW).then_some(root.id);
            loop {
                if let Some(state) = enter.take() {
                    let place = self.place(state);
                    self.marks[place] = next;
                    stack.push(state);
                    let range = self.log.range(self.numbers[place]);
                    frames.push(Frame { state, low: next, next: range.start as u32, end: range.end as u32 });
                    next += 1;
                }
                let Some(frame) = frames.last_mut() else { break };
                if frame.next < frame.end {
                    let to = self.log.to[frame.next as usize];
                    frame.next += 1;
                    let place = to.place(&self.offsets);
                    match self.marks[place] {
                        NEW => enter = (self.numbers[place] != NONE).then_some(to),
                        mark if mark < next => frame.low = frame.low.min(mark),
                        _ => {}
                    }
                    continue;
                }
                let (state, low) = (frame.state, frame.low);
                frames.pop();
                if self.mark(state) != low {
                    frames.last_mut().into_iter().for_each(|caller| caller.low = caller.low.min(low));
                    continue;
                }
                if stop.load(Ordering::Relaxed) {
                    return Err(Cut::Stopped);
                }
                let size = stack.iter().rev().take_while(|id| **id != state).count() + 1;
                let members = stack.split_off(stack.len() - size);
                let mark = KEPT - found.len() as u32;
                match self.component(members, mark) {
                    Some(component) if keep(&component) => found.push(component),
                    Some(component) => self.set_marks(&component.states, DONE),
                    None => {}
                }
            }
        }
        Ok(found)
    }

    // Returns the component of these states, which get this mark; `None` if there is no transition inside.
    fn component(&mut self, states: Vec<StateId>, mark: u32) -> Option<Component> {
        if let [alone] = states[..]
            && self.of(alone).all(|(to, _)| to != alone)
        {
            self.set_marks(&states, DONE);
            return None;
        }
        self.set_marks(&states, mark);
        let (mut always, mut somewhere, mut follows) = (u64::MAX, 0, 0);
        let (mut acts, mut begins, mut is_closed) = (0, 0, true);
        for state in &states {
            let mut open = self.log.states[self.numbers[self.place(*state)] as usize].left_out;
            for (to, by) in self.of(*state) {
                let place = self.place(to);
                let bit = by.bit();
                open |= bit;
                follows |= bit;
                if self.marks[place] == mark {
                    acts |= bit;
                    begins |= if by.begins() { bit } else { 0 };
                } else if self.numbers[place] != NONE {
                    is_closed = false;
                }
            }
            always &= open;
            somewhere |= open;
        }
        Some(Component { states, always, never_act: somewhere & !follows, acts, begins, is_closed, mark })
    }
    fn set_marks(&mut self, states: &[StateId], mark: u32) {
        for state in states {
            let place = self.place(*state);
            self.marks[place] = mark;
        }
    }

    /// Returns a way from a state of a component that was kept back to it, on which every actor acts that acts in the
    /// component. The state is both the first and the last one.
    pub(super) fn round(&self, component: &Component, entry: StateId) -> Vec<StateId> {
        let mut way = vec![entry];
        let mut wanted = component.acts;
        let mut at = entry;
        while wanted != 0 || at != entry || way.len() == 1 {
            let goal = |to: StateId, by: u64| if wanted != 0 { by & wanted != 0 } else { to == entry };
            let Some(more) = self.nearest(component, at, goal) else { break };
            for (to, by) in more {
                wanted &= !by;
                way.push(to);
                at = to;
            }
        }
        way
    }

    // Returns the shortest way inside the component whose last transition satisfies `goal`: the states after the first
    // one, each with the bit of the actor that leads to it.
    fn nearest(
        &self,
        component: &Component,
        from: StateId,
        goal: impl Fn(StateId, u64) -> bool,
    ) -> Option<Vec<(StateId, u64)>> {
        let mut before: BTreeMap<StateId, (StateId, u64)> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(state) = queue.pop_front() {
            for (to, by) in self.of(state) {
                let by = by.bit();
                if self.mark(to) != component.mark {
                    continue;
                }
                if goal(to, by) {
                    let mut way = vec![(to, by)];
                    let mut at = state;
                    while at != from
                        && let Some((previous, by)) = before.get(&at)
                    {
                        way.push((at, *by));
                        at = *previous;
                    }
                    way.reverse();
                    return Some(way);
                }
                if to != from && !before.contains_key(&to) {
                    before.insert(to, (state, by));
                    queue.push_back(to);
                }
            }
        }
        None
    }

    /// Returns the states of a component to which the search has found a shortest way from outside, in any order.
    pub(super) fn entries<N>(&self, component: &Component, table: &Table<N>) -> impl Iterator<Item = StateId> {
        let outside = move |id: &StateId| table.parent(*id).is_none_or(|parent| self.mark(parent) != component.mark);
        component.states.iter().copied().filter(outside)
    }
}

#[cfg(test)]
mod tests {
    use super::{Graph, Transitions};
    use crate::base::{Rng, mix};
    use crate::explore::table::{StateId, StateWay, Table};
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    // A transition: its source, its target, the bit of its actor, and whether it begins a task.
    type Edge = (usize, usize, u64, bool);

    // What a component is by its definition.
    #[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
    struct Expected {
        states: Vec<StateId>,
        always: u64,
        never_act: u64,
        acts: u64,
        begins: u64,
        is_closed: bool,
    }

    struct Drawn {
        table: Table<()>,
        ids: Vec<StateId>,
        // States in which runs end, or that were not visited, are not expanded.
        expanded: Vec<bool>,
        left_out: Vec<u64>,
        edges: Vec<Edge>,
    }

    fn draw(rng: &mut Rng) -> Drawn {
        let n = 1 + rng.below(9) as usize;
        let mut seed = 0;
        let table = Table::new(false, 4);
        let mut add = |parent| {
            seed += 1;
            let digest = u128::from(mix(seed, 1)) << 64 | u128::from(mix(seed, 2));
            table.insert(StateWay { digest, parent, rank: 0, sleep: 0 }, || ())
        };
        let first = add(StateId::NONE);
        let ids: Vec<StateId> = std::iter::once(first).chain((1..n).map(|_| add(first))).collect();
        let expanded = (0..n).map(|state| state == 0 || rng.below(8) > 0).collect();
        let left_out = (0..n).map(|_| if rng.coin() { 1u64 << rng.below(6) } else { 0 }).collect();
        let bit = |rng: &mut Rng| if rng.below(9) == 0 { 0 } else { 1 << rng.below(6) };
        let mut edge = |_| (rng.below(n as u32) as usize, rng.below(n as u32) as usize, bit(rng), rng.below(4) == 0);
        let edges = (0..n + n / 2).map(&mut edge).collect();
        Drawn { table, ids, expanded, left_out, edges }
    }

    fn log(drawn: &Drawn) -> Transitions {
        let mut all = Transitions::default();
        for (state, id) in drawn.ids.iter().enumerate().filter(|(state, _)| drawn.expanded[*state]) {
            let mut worker = Transitions::default();
            // A state that could not be expanded in full before.
            if state == 1 {
                worker.begin(*id, 0);
            }
            worker.begin(*id, drawn.left_out[state]);
            for (_, to, by, begins) in drawn.edges.iter().filter(|(from, ..)| *from == state) {
                worker.add(drawn.ids[*to], *by, *begins);
            }
            all.append(&mut worker);
        }
        all
    }

    // The components by their definition: states that reach each other by at least one transition.
    fn naive(drawn: &Drawn) -> BTreeSet<Expected> {
        let n = drawn.ids.len();
        let edges: Vec<&Edge> = drawn.edges.iter().filter(|(from, ..)| drawn.expanded[*from]).collect();
        let mut reach = vec![vec![false; n]; n];
        edges.iter().filter(|(_, to, ..)| drawn.expanded[*to]).for_each(|(from, to, ..)| reach[*from][*to] = true);
        for via in 0..n {
            for from in 0..n {
                for to in 0..n {
                    reach[from][to] |= reach[from][via] && reach[via][to];
                }
            }
        }
        let component = |state: usize| -> Vec<usize> {
            (0..n).filter(|other| reach[state][*other] && reach[*other][state]).collect()
        };
        let expected = |states: Vec<usize>| {
            let of = |state: usize| edges.iter().filter(move |(from, ..)| *from == state);
            let open = |state: usize| of(state).fold(drawn.left_out[state], |open, (.., by, _)| open | by);
            let has = |state: &usize| states.contains(state);
            let inside = || edges.iter().filter(|(from, to, ..)| has(from) && has(to));
            let follows = states.iter().flat_map(|state| of(*state)).fold(0, |all, (.., by, _)| all | by);
            let mut ids: Vec<StateId> = states.iter().map(|state| drawn.ids[*state]).collect();
            ids.sort_unstable();
            Expected {
                states: ids,
                always: states.iter().fold(u64::MAX, |all, state| all & open(*state)),
                never_act: states.iter().fold(0, |all, state| all | open(*state)) & !follows,
                acts: inside().fold(0, |all, (.., by, _)| all | by),
                begins: inside().filter(|(.., begins)| *begins).fold(0, |all, (.., by, _)| all | by),
                is_closed: edges.iter().all(|(from, to, ..)| !has(from) || has(to) || !drawn.expanded[*to]),
            }
        };
        (0..n).map(component).filter(|states| !states.is_empty()).map(expected).collect()
    }

    #[test]
    fn components_are_those_of_the_definition() {
        let (mut rng, stop) = (Rng::seeded(21), AtomicBool::new(false));
        let mut seen = 0;
        for _ in 0..3_000 {
            let drawn = draw(&mut rng);
            let log = log(&drawn);
            let mut graph = Graph::new(&log, &drawn.table);
            let found = graph.components(&stop, |_| true).expect("the search is not stopped");
            for component in &found {
                let round = graph.round(component, component.states[0]);
                assert_eq!((round[0], round.last()), (component.states[0], round.first()));
                assert!(round.iter().all(|state| component.states.contains(state)));
            }
            seen += found.len();
            let found = found.into_iter().map(|mut c| {
                c.states.sort_unstable();
                let (states, is_closed) = (c.states, c.is_closed);
                Expected { states, always: c.always, never_act: c.never_act, acts: c.acts, begins: c.begins, is_closed }
            });
            assert_eq!(found.collect::<BTreeSet<_>>(), naive(&drawn), "{:?}", drawn.edges);
        }
        assert!(seen > 2_000, "only {seen} components");
    }
}
