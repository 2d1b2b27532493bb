//! The nodes of a search: the states that are found and not visited. Those of one level are in one arena, as vectors.

use super::components::Shared;
use super::monitor::ProductState;
use super::table::{FreshState, Table};
use super::worker::place_of;
use crate::world::Snapshot;

/// A state from which a search continues.
pub(super) enum StateNode<G, M> {
    /// A state that differs from its parent in the slot of a thread, and in at most one other slot.
    Near(NearState),
    /// The numbers of the contents of its slots.
    Vector(Box<[u32]>),
    /// The same, as the vector with this number in the arena of the level.
    Stored(u32),
    /// A state that does not fit into slots.
    Whole(Box<ProductState<G, M>>),
}

/// The difference of a state from its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearState {
    /// Slot of the thread that has acted, and its new content.
    pub(super) thread: (u32, u32),
    /// The other slot and its new content; the slot of the thread again if there is none.
    pub(super) met: (u32, u32),
}

impl NearState {
    /// Changes the vector of the parent into that of the state.
    #[inline]
    pub(super) fn apply(&self, vector: &mut [u32]) {
        vector[self.met.0 as usize] = self.met.1;
        vector[self.thread.0 as usize] = self.thread.1;
    }
}

/// A level of a breadth-first search.
pub(super) struct Level<G: Snapshot, M> {
    /// The states by rank.
    pub(super) states: Vec<FreshState<StateNode<G, M>>>,
    /// The vectors of the states that have one.
    pub(super) arena: Vec<u32>,
    // Number of the vector in the arena, by the place of the state in the level.
    places: Vec<u32>,
    width: usize,
}

impl<G: Snapshot, M> Level<G, M> {
    /// Returns a level without states.
    pub(super) fn new(shared: Option<&Shared<G>>) -> Self {
        let width = shared.map_or(0, |shared| shared.slots.len());
        Self { states: Vec::new(), arena: Vec::new(), places: Vec::new(), width }
    }

    /// Replaces the level by the next one.
    pub(super) fn next(&mut self, table: &Table<StateNode<G, M>>) {
        let mut states = Vec::new();
        table.next_level(&mut states);
        self.take(states);
    }

    /// Replaces the level by these states.
    pub(super) fn take(&mut self, states: Vec<FreshState<StateNode<G, M>>>) {
        self.states = states;
        if self.width == 0 {
            return;
        }
        let (before, places) = (std::mem::take(&mut self.arena), std::mem::take(&mut self.places));
        self.arena.reserve_exact(self.states.len() * self.width);
        self.places.reserve_exact(self.states.len());
        for state in &mut self.states {
            let number = (self.arena.len() / self.width) as u32;
            match &state.node {
                StateNode::Near(near) => {
                    let parent = places[place_of(state.rank)] as usize * self.width;
                    self.arena.extend_from_slice(&before[parent..][..self.width]);
                    let at = self.arena.len() - self.width;
                    near.apply(&mut self.arena[at..]);
                }
                StateNode::Vector(vector) => self.arena.extend_from_slice(vector),
                StateNode::Stored(_) | StateNode::Whole(_) => {
                    self.places.push(u32::MAX);
                    continue;
                }
            }
            self.places.push(number);
            state.node = StateNode::Stored(number);
        }
    }
}

/// Returns the vector with this number in an arena.
pub(super) fn stored<'a, G: Snapshot>(arena: &'a [u32], shared: &Shared<G>, number: u32) -> &'a [u32] {
    let width = shared.slots.len();
    &arena[number as usize * width..][..width]
}
