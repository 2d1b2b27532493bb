//! The strongly connected components of the graph of states of a search that has ended.

use super::Cut;
use super::table::{StateId, Table};
use super::transitions::{Mover, Transitions};
use std::sync::atomic::{AtomicBool, Ordering};

/// A strongly connected component with a transition inside, and what its states and transitions have in common.
pub(super) struct Component {
    /// Its states, in an order that may depend on the number of workers.
    pub(super) states: Vec<StateId>,
    /// What they have in common.
    pub(super) traits: Traits,
    // Mark of its states.
    mark: u32,
}

/// What the states and transitions of a component have in common. Actors are given by their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Traits {
    /// Actors that are open in all states.
    pub(super) always: u64,
    /// Actors that are open in some state.
    pub(super) somewhere: u64,
    /// Actors that act in some state, be it into a state in which runs end.
    pub(super) follows: u64,
    /// Actors that act inside.
    pub(super) acts: u64,
    /// Actors that begin a task inside.
    pub(super) begins: u64,
    /// Whether no transition leads out of it, but for those into states in which runs end.
    pub(super) is_closed: bool,
}

impl Traits {
    /// Returns the actors that are open somewhere and never act.
    pub(super) fn never_act(&self) -> u64 {
        self.somewhere & !self.follows
    }

    // Adds those of states of the same component.
    fn merge(&mut self, other: &Self) {
        self.always &= other.always;
        self.somewhere |= other.somewhere;
        self.follows |= other.follows;
        self.acts |= other.acts;
        self.begins |= other.begins;
        self.is_closed &= other.is_closed;
    }

    // Adds a transition inside.
    fn add(&mut self, by: Mover) {
        self.acts |= by.bit();
        self.begins |= if by.begins() { by.bit() } else { 0 };
    }
}

// Marks of states: not visited; in which runs end, or that was not visited by the search; visited, and in no component
// that is kept. The marks from `KEPT` down are components that are kept. Lower ones are places on the stack.
const NEW: u32 = u32::MAX;
const NOT_EXPANDED: u32 = u32::MAX - 1;
const DONE: u32 = u32::MAX - 2;
const KEPT: u32 = u32::MAX - 3;

// No number of a state.
const NONE: u32 = u32::MAX;

// A state on the way from the first one: its place on the stack, its next transition, and the end of its transitions.
struct Frame {
    place: u32,
    next: u32,
    end: u32,
}

// States on the stack that are known to be in one component: those from `start` to the start of the next part.
struct Part {
    start: u32,
    // The transition that leads to its first state.
    entered: Mover,
    // Whether there is a transition between its states.
    is_cyclic: bool,
    traits: Traits,
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
        let (mut numbers, mut marks) = (vec![NONE; len], vec![NOT_EXPANDED; len]);
        for (number, state) in (0..).zip(&log.states) {
            let place = state.id.place(&offsets);
            let known = &mut numbers[place];
            // A state that was expanded twice was expanded in full at last, and in part before.
            if *known == NONE || log.range(*known).len() < log.range(number).len() {
                *known = number;
            }
            marks[place] = NEW;
        }
        Self { log, offsets, numbers, marks }
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
    // Gabow's algorithm (*Path-based depth-first search for strong and biconnected components*), without recursion: the
    // stack is divided into parts, and a transition back merges all parts from the one that it leads to. So what the
    // states of a component have in common is collected on the way.
    pub(super) fn components(
        &mut self,
        stop: &AtomicBool,
        keep: impl Fn(&Traits) -> bool,
    ) -> Result<Vec<Component>, Cut> {
        let (mut frames, mut stack, mut found) = (Vec::<Frame>::new(), Vec::<StateId>::new(), Vec::new());
        let mut parts = Vec::<Part>::new();
        // All states are reached from the first one, which was expanded first.
        for root in &self.log.states {
            let mut enter = (self.mark(root.id) == NEW).then_some((root.id, Mover::NO_ACTOR));
            loop {
                if let Some((state, by)) = enter.take() {
                    let place = stack.len() as u32;
                    let (range, traits) = self.visit(state, place);
                    stack.push(state);
                    parts.push(Part { start: place, entered: by, is_cyclic: false, traits });
                    frames.push(Frame { place, next: range.start as u32, end: range.end as u32 });
                }
                let Some(frame) = frames.last_mut() else { break };
                let Some(part) = parts.last_mut() else { break };
                if frame.next < frame.end {
                    let at = frame.next as usize;
                    frame.next += 1;
                    let (to, by) = (self.log.to[at], self.log.by[at]);
                    match self.marks[to.place(&self.offsets)] {
                        NEW => enter = Some((to, by)),
                        NOT_EXPANDED => {}
                        mark if (mark as usize) < stack.len() => {
                            if part.start > mark {
                                merge(&mut parts, mark);
                            }
                            parts.last_mut().into_iter().for_each(|part| {
                                part.is_cyclic = true;
                                part.traits.add(by);
                            });
                        }
                        _ => part.traits.is_closed = false,
                    }
                    continue;
                }
                let start = part.start;
                if frames.pop().is_some_and(|frame| frame.place != start) {
                    continue;
                }
                let Some(part) = parts.pop() else { break };
                // The transition that led here leaves its own component.
                parts.last_mut().into_iter().for_each(|before| before.traits.is_closed = false);
                if stop.load(Ordering::Relaxed) {
                    return Err(Cut::Stopped);
                }
                let is_kept = part.is_cyclic && keep(&part.traits);
                let mark = if is_kept { KEPT - found.len() as u32 } else { DONE };
                for state in &stack[start as usize..] {
                    self.marks[state.place(&self.offsets)] = mark;
                }
                if is_kept {
                    found.push(Component { states: stack[start as usize..].to_vec(), traits: part.traits, mark });
                }
                stack.truncate(start as usize);
            }
        }
        Ok(found)
    }

    // Marks a state with its place on the stack. Returns its transitions, and the traits of the state alone.
    fn visit(&mut self, state: StateId, on_stack: u32) -> (std::ops::Range<usize>, Traits) {
        let place = self.place(state);
        self.marks[place] = on_stack;
        let number = self.numbers[place];
        let range = self.log.range(number);
        let follows = self.log.by[range.clone()].iter().fold(0, |all, by| all | by.bit());
        let open = self.log.states[number as usize].left_out | follows;
        (range, Traits { always: open, somewhere: open, follows, acts: 0, begins: 0, is_closed: true })
    }

    /// Returns a way from a state of a component that was kept back to it, on which every actor acts that acts in the
    /// component: the states after the first one, each with the bit of the actor that leads to it.
    pub(super) fn round(&self, component: &Component, entry: StateId) -> Vec<(StateId, u64)> {
        let (mut way, mut seen) = (Vec::new(), Seen { stamps: vec![0; self.marks.len()], stamp: 0 });
        let mut wanted = component.traits.acts;
        let mut at = entry;
        while wanted != 0 || at != entry || way.is_empty() {
            let goal = |to: StateId, by: u64| if wanted != 0 { by & wanted != 0 } else { to == entry };
            let Some(more) = self.nearest(component, at, &mut seen, goal) else { break };
            for (to, by) in more {
                wanted &= !by;
                way.push((to, by));
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
        seen: &mut Seen,
        goal: impl Fn(StateId, u64) -> bool,
    ) -> Option<Vec<(StateId, u64)>> {
        // States in the order in which they are reached, each with the bit of the actor that leads to it, and the index
        // of the state before it.
        let mut reached = vec![(from, 0, 0)];
        seen.stamp += 1;
        seen.stamps[self.place(from)] = seen.stamp;
        let mut next = 0;
        while let Some((state, ..)) = reached.get(next).copied() {
            for (to, by) in self.of(state) {
                let (place, by) = (self.place(to), by.bit());
                if self.marks[place] != component.mark {
                    continue;
                }
                if goal(to, by) {
                    let mut way = vec![(to, by)];
                    let mut at = next;
                    while at != 0 {
                        let (state, by, before) = reached[at];
                        way.push((state, by));
                        at = before;
                    }
                    way.reverse();
                    return Some(way);
                }
                if seen.stamps[place] != seen.stamp {
                    seen.stamps[place] = seen.stamp;
                    reached.push((to, by, next));
                }
            }
            next += 1;
        }
        None
    }

    /// Returns the states of a component to which the search has found a shortest way from outside, in any order.
    pub(super) fn entries<N>(&self, component: &Component, table: &Table<N>) -> impl Iterator<Item = StateId> {
        let outside = move |id: &StateId| table.parent(*id).is_none_or(|parent| self.mark(parent) != component.mark);
        component.states.iter().copied().filter(outside)
    }
}

// States that a search from some state has reached: by place in the table, the number of the last such search.
struct Seen {
    stamps: Vec<u32>,
    stamp: u32,
}

// Merges the parts that begin after this place of the stack into the part that it belongs to.
fn merge(parts: &mut Vec<Part>, place: u32) {
    while let [.., into, part] = &mut parts[..]
        && part.start > place
    {
        into.is_cyclic = true;
        into.traits.merge(&part.traits);
        into.traits.add(part.entered);
        parts.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::{Graph, Traits, Transitions};
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
        traits: Traits,
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
            let traits = Traits {
                always: states.iter().fold(u64::MAX, |all, state| all & open(*state)),
                somewhere: states.iter().fold(0, |all, state| all | open(*state)),
                follows,
                acts: inside().fold(0, |all, (.., by, _)| all | by),
                begins: inside().filter(|(.., begins)| *begins).fold(0, |all, (.., by, _)| all | by),
                is_closed: edges.iter().all(|(from, to, ..)| !has(from) || has(to) || !drawn.expanded[*to]),
            };
            Expected { states: ids, traits }
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
                let first = component.states[0];
                let round = graph.round(component, first);
                assert_eq!(round.last().map(|(state, _)| *state), Some(first));
                assert!(round.iter().all(|(state, _)| component.states.contains(state)));
                assert_eq!(
                    round.iter().fold(0, |all, (_, by)| all | by) & component.traits.acts,
                    component.traits.acts
                );
                for (from, (to, by)) in std::iter::once(first).chain(round.iter().map(|(s, _)| *s)).zip(&round) {
                    assert!(graph.of(from).any(|(target, mover)| (target, mover.bit()) == (*to, *by)));
                }
            }
            seen += found.len();
            let found = found.into_iter().map(|mut component| {
                component.states.sort_unstable();
                Expected { states: component.states, traits: component.traits }
            });
            assert_eq!(found.collect::<BTreeSet<_>>(), naive(&drawn), "{:?}", drawn.edges);
        }
        assert!(seen > 2_000, "only {seen} components");
    }
}
