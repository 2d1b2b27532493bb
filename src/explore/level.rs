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

/// The vectors of a level, each with a number. They are in pieces, so that a piece can be given back before the others.
pub(super) struct Arena {
    pieces: Vec<Vec<u32>>,
    len: usize,
    width: usize,
}

// Vectors in a piece. invariant: a power of two
const PIECE: usize = 1 << 10;

impl Arena {
    /// Returns an arena for vectors of this many numbers.
    pub(super) fn new(width: usize) -> Self {
        Self { pieces: Vec::new(), len: 0, width }
    }

    /// Returns the vector with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[u32] {
        let number = number as usize;
        &self.pieces[number / PIECE][number % PIECE * self.width..][..self.width]
    }

    // Adds a vector and returns it. At most `more` vectors will be added, with this one.
    fn add(&mut self, vector: &[u32], more: usize) -> &mut [u32] {
        if self.len / PIECE == self.pieces.len() {
            self.pieces.push(Vec::with_capacity(more.min(PIECE) * self.width));
        }
        let piece = &mut self.pieces[self.len / PIECE];
        piece.extend_from_slice(vector);
        self.len += 1;
        let start = piece.len() - self.width;
        &mut piece[start..]
    }

    // Gives back the pieces before that of this vector. `done` is the number of those that were given back before.
    fn give_back(&mut self, number: u32, done: &mut usize) {
        let until = number as usize / PIECE;
        self.pieces[*done..until].fill_with(Vec::new);
        *done = until;
    }
}

/// A level of a breadth-first search.
pub(super) struct Level<G: Snapshot, M> {
    /// The states by rank.
    pub(super) states: Vec<FreshState<StateNode<G, M>>>,
    /// The vectors of the states that have one.
    pub(super) arena: Arena,
    // Number of the vector in the arena, by the place of the state in the level.
    places: Vec<u32>,
}

impl<G: Snapshot, M> Level<G, M> {
    /// Returns a level without states.
    pub(super) fn new(shared: Option<&Shared<G>>) -> Self {
        let width = shared.map_or(0, |shared| shared.slots.len());
        Self { states: Vec::new(), arena: Arena::new(width), places: Vec::new() }
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
        let width = self.arena.width;
        if width == 0 {
            return;
        }
        let mut before = std::mem::replace(&mut self.arena, Arena::new(width));
        let (places, mut done) = (std::mem::take(&mut self.places), 0);
        self.places.reserve_exact(self.states.len());
        let mut more = self.states.len();
        for state in &mut self.states {
            let number = self.arena.len as u32;
            match &state.node {
                StateNode::Near(near) => {
                    // The states are in the order of their parents.
                    let parent = places[place_of(state.rank)];
                    before.give_back(parent, &mut done);
                    near.apply(self.arena.add(before.get(parent), more));
                }
                StateNode::Vector(vector) => _ = self.arena.add(vector, more),
                StateNode::Stored(_) | StateNode::Whole(_) => {
                    self.places.push(u32::MAX);
                    continue;
                }
            }
            more -= 1;
            self.places.push(number);
            state.node = StateNode::Stored(number);
        }
    }
}
