//! Strongly connected components of the state graph of a finished search, without the graph: the states are visited
//! again, depth first, and each is asked for its successors again. That costs a look-up for most transitions, and no
//! memory for them.
//!
//! Tarjan's algorithm. The state that is visited is one vector, which each step changes and the way back restores.

use super::choices::OpenChoices;
use super::ends::{EndCondition, end_condition};
use super::level::{NearState, StateNode};
use super::monitor::{NoMonitor, ProductState, kept};
use super::searched::SearchState;
use super::sleep::bit;
use super::table::{StateId, Table};
use super::vectors::VectorWorker;
use super::{SearchContext, SearchPlan};
use crate::event::Actor;
use crate::world::{Canonicalizer, Program, Snapshot};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;

/// A component of the state graph, with what its states and transitions have in common.
pub(super) struct Component {
    pub(super) states: usize,
    /// Its states to which the search has found a shortest way from outside.
    pub(super) entries: Vec<StateId>,
    /// Actors that are open in all states, in the bits of sleep sets.
    pub(super) always: u64,
    /// Actors that act inside.
    pub(super) acts: u64,
    /// Actors that begin a task inside.
    pub(super) begins: u64,
    // Mark of its states.
    mark: u32,
}

/// Why the components of a search are not known.
pub(super) enum Unknown {
    /// Some states are no vectors, so that they cannot be visited again.
    Whole,
    /// The caller has stopped the search.
    Stopped,
    /// There is not enough memory.
    Memory,
}

// Marks of states: not visited; visited, and in no component that is kept. All marks from `KEPT` down are components
// that are kept. Lower ones are the indices of the states on the stack.
const NEW: u32 = u32::MAX;
const DONE: u32 = u32::MAX - 1;
const KEPT: u32 = u32::MAX - 2;
// Components that are kept at most.
const MOST: u32 = 1 << 16;

// A step to a successor, or back.
enum Move {
    Near(NearState),
    To(Box<[u32]>),
}

struct Successor {
    id: StateId,
    by: u64,
    begins: bool,
    way: Move,
}

struct Frame {
    id: StateId,
    low: u32,
    // Index of the first successor of this state among those that wait.
    first: usize,
    open: u64,
    acts: u64,
    begins: u64,
    // Whether a transition leads back to the state itself.
    is_loop: bool,
    // The actor that has led here, and whether it began a task.
    by: u64,
    has_begun: bool,
    back: Option<Move>,
}

/// The states of a search, as a graph that is asked for its transitions.
pub(super) struct StateGraph<'s, P: Program<Guest: Snapshot>> {
    plan: &'s SearchPlan<'s, P>,
    table: &'s Table<StateNode<P::Guest, NoMonitor>>,
    vectors: VectorWorker<P::Guest>,
    context: SearchContext<'s>,
    choices: OpenChoices,
    numbers: Canonicalizer,
    // Number of states before those of each shard.
    offsets: Vec<usize>,
    first: (StateId, Vec<u32>),
    marks: Vec<u32>,
}

impl<'s, P: Program<Guest: Snapshot>> StateGraph<'s, P> {
    /// Returns the graph of a finished search; `None` if it has not stored vectors.
    pub(super) fn new(
        plan: &'s SearchPlan<'s, P>,
        searched: &'s SearchState<P::Guest, NoMonitor>,
        context: SearchContext<'s>,
    ) -> Option<Self> {
        let (shared, scratch) = searched.vectors.as_ref()?;
        let offsets = searched.table.offsets();
        let mut vectors = VectorWorker::new(plan, shared, scratch);
        let vector = vectors.scratch.vector_of(shared, &searched.first.machine)?;
        let first = searched.table.find(kept(vectors.scratch.digest_of(shared, &vector)))?;
        Some(Self {
            first: (first, vector),
            plan,
            table: &searched.table,
            vectors,
            context,
            choices: OpenChoices::default(),
            numbers: Canonicalizer::new(),
            offsets,
            marks: vec![NEW; searched.table.len() as usize],
        })
    }

    fn place(&self, id: StateId) -> usize {
        id.place(&self.offsets)
    }

    // Adds the successors of a state to `out`, in the order of its choices. Returns the actors that are open.
    fn successors(&mut self, id: StateId, vector: &[u32], out: &mut Vec<Successor>) -> Result<u64, Unknown> {
        let vectors = &mut self.vectors;
        let look = vectors.look(vector, false, &mut self.choices, &mut self.numbers);
        if look.may_end {
            vectors.scratch.load(&vectors.shared, vector);
            if let EndCondition::Ended(_) = end_condition(&mut vectors.scratch.machine) {
                vectors.scratch.forget_all();
                return Ok(0);
            }
        }
        if look.by_machine {
            vectors.take_over(vector, &self.choices);
        }
        vectors.scratch.machine.world.number_declared(&mut self.numbers);
        let digest = self.table.digest(id);
        let choices = std::mem::take(&mut vectors.choices);
        let mut open = 0;
        for (choice, near) in &choices {
            let by = bit(&self.numbers, choice.actor);
            open |= by;
            let (digest, way) = match near {
                Some(near) => (digest.wrapping_add(near.difference), Move::Near(near.to)),
                None => {
                    vectors.scratch.load(&vectors.shared, vector);
                    vectors.scratch.machine.step(*choice);
                    let is_vector = vectors.scratch.intern_all(&vectors.shared, vector, &mut vectors.next);
                    vectors.scratch.forget_all();
                    // A run that has ended has no successors, so it is in no component.
                    if vectors.scratch.machine.world.outcome().is_some() {
                        continue;
                    }
                    if !is_vector {
                        vectors.choices = choices;
                        return Err(Unknown::Whole);
                    }
                    (
                        vectors.scratch.digest_of(&vectors.shared, &vectors.next),
                        Move::To(vectors.next.as_slice().into()),
                    )
                }
            };
            // Transitions into states that were not visited are left out.
            let Some(id) = self.table.find(kept(digest)) else { continue };
            let facts = |number| vectors.scratch.facts(number);
            let begins = matches!(choice.actor, Actor::Thread(t) if facts(vector[t.0 as usize]).begins);
            out.push(Successor { id, by, begins, way });
        }
        vectors.choices = choices;
        Ok(open)
    }

    /// Returns the components that have a transition inside and of which `keep` is true, in an order that does not
    /// depend on the number of workers.
    pub(super) fn components(&mut self, keep: impl Fn(&Component) -> bool) -> Result<Vec<Component>, Unknown> {
        let (first, mut at) = self.first.clone();
        let (mut frames, mut waiting, mut stack) = (Vec::<Frame>::new(), Vec::<Successor>::new(), Vec::new());
        let (mut found, mut next) = (Vec::new(), 0);
        let most = self.plan.bounds.memory.saturating_sub(self.table.bytes()) as usize;
        let mut enter = Some(Successor { id: first, by: 0, begins: false, way: Move::To(at.clone().into()) });
        loop {
            if let Some(to) = enter.take() {
                let place = self.place(to.id);
                self.marks[place] = next;
                stack.push(to.id);
                let back = go(&mut at, to.way);
                let first = waiting.len();
                let open = self.successors(to.id, &at, &mut waiting)?;
                let (by, has_begun) = (to.by, to.begins);
                let frame = Frame {
                    id: to.id,
                    low: next,
                    first,
                    open,
                    acts: 0,
                    begins: 0,
                    is_loop: false,
                    by,
                    has_begun,
                    back: Some(back),
                };
                frames.push(frame);
                next += 1;
                let bytes = frames.len() * size_of::<Frame>() + waiting.len() * size_of::<Successor>();
                if bytes + (self.marks.len() + stack.len()) * size_of::<u32>() > most {
                    return Err(Unknown::Memory);
                }
                if self.context.stop.load(Ordering::Relaxed) {
                    return Err(Unknown::Stopped);
                }
            }
            let Some(frame) = frames.last_mut() else { return Ok(found) };
            if waiting.len() > frame.first {
                // The last one first: the order of the visits is that of the choices, turned round.
                let Some(to) = waiting.pop() else { continue };
                match self.marks[to.id.place(&self.offsets)] {
                    NEW => enter = Some(to),
                    mark if mark < next => {
                        frame.low = frame.low.min(mark);
                        frame.acts |= to.by;
                        frame.is_loop |= to.id == frame.id;
                        frame.begins |= if to.begins { to.by } else { 0 };
                    }
                    _ => {}
                }
                continue;
            }
            let Some(mut frame) = frames.pop() else { continue };
            if self.marks[self.place(frame.id)] == frame.low {
                let size = stack.iter().rev().take_while(|id| **id != frame.id).count() + 1;
                let members = stack.split_off(stack.len() - size);
                let mark = KEPT - found.len() as u32;
                let (always, acts, begins) = (frame.open, frame.acts, frame.begins);
                let mut component = Component { states: size, entries: Vec::new(), always, acts, begins, mark };
                let has_transition = size > 1 || frame.is_loop;
                let is_kept = has_transition && found.len() < MOST as usize && keep(&component);
                for id in &members {
                    let place = self.place(*id);
                    self.marks[place] = if is_kept { mark } else { DONE };
                }
                if is_kept {
                    let outside = |id: &StateId| {
                        self.table.parent(*id).is_none_or(|parent| self.marks[self.place(parent)] != mark)
                    };
                    component.entries = members.iter().copied().filter(outside).collect();
                    found.push(component);
                }
            } else if let Some(caller) = frames.last_mut() {
                caller.low = caller.low.min(frame.low);
                caller.open &= frame.open;
                caller.acts |= frame.acts | frame.by;
                caller.begins |= frame.begins | if frame.has_begun { frame.by } else { 0 };
            }
            if let Some(back) = frame.back.take() {
                go(&mut at, back);
            }
        }
    }

    /// Returns a way from a state of a component back to it on which every actor acts that acts in the component, as
    /// digests, beginning with that of the state.
    pub(super) fn round(
        &mut self,
        component: &Component,
        entry: StateId,
        node: &ProductState<P::Guest, NoMonitor>,
    ) -> Result<Vec<u128>, Unknown> {
        let Some(start) = self.vectors.scratch.vector_of(&self.vectors.shared, &node.machine) else {
            return Err(Unknown::Whole);
        };
        let mut way = vec![self.table.digest(entry)];
        let mut wanted = component.acts;
        let mut at = (entry, start);
        while wanted != 0 || at.0 != entry || way.len() == 1 {
            let goal = |to: StateId, by: u64| if wanted != 0 { by & wanted != 0 } else { to == entry };
            let Some(more) = self.nearest(component, &at, goal)? else { break };
            for (id, by, vector) in more {
                wanted &= !by;
                way.push(self.table.digest(id));
                at = (id, vector);
            }
        }
        Ok(way)
    }

    // Returns the shortest way inside the component whose last transition satisfies `goal`.
    fn nearest(
        &mut self,
        component: &Component,
        from: &(StateId, Vec<u32>),
        goal: impl Fn(StateId, u64) -> bool,
    ) -> Result<Option<Vec<Reached>>, Unknown> {
        let mut before: BTreeMap<StateId, Reached> = BTreeMap::new();
        let mut queue = VecDeque::from([from.clone()]);
        let mut successors = Vec::new();
        while let Some((state, vector)) = queue.pop_front() {
            successors.clear();
            self.successors(state, &vector, &mut successors)?;
            for to in successors.drain(..) {
                if self.marks[self.place(to.id)] != component.mark {
                    continue;
                }
                let mut there = vector.clone();
                go(&mut there, to.way);
                if goal(to.id, to.by) {
                    let mut way = vec![(to.id, to.by, there)];
                    let mut at = state;
                    while at != from.0
                        && let Some((previous, by, vector)) = before.remove(&at)
                    {
                        way.push((at, by, vector));
                        at = previous;
                    }
                    way.reverse();
                    return Ok(Some(way));
                }
                if to.id != from.0 && !before.contains_key(&to.id) {
                    before.insert(to.id, (state, to.by, there.clone()));
                    queue.push_back((to.id, there));
                }
            }
        }
        Ok(None)
    }
}

// A state of a way: its number, the actors of the transition, and its vector.
type Reached = (StateId, u64, Vec<u32>);

// Changes a vector into that of another state. Returns the way back.
fn go(at: &mut Vec<u32>, way: Move) -> Move {
    match way {
        Move::Near(to) => {
            let (thread, met) = (to.thread.0, to.met.0);
            let back = NearState { thread: (thread, at[thread as usize]), met: (met, at[met as usize]) };
            to.apply(at);
            Move::Near(back)
        }
        Move::To(vector) => Move::To(std::mem::replace(at, vector.into()).into()),
    }
}
