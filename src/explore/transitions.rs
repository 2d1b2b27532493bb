//! The transitions of the graph of states, as the workers of a search record them.

use super::table::StateId;

/// The transitions that a search has followed: five bytes for each, and sixteen for each state.
#[derive(Clone, Default)]
pub(super) struct Transitions {
    /// The expanded states; one that was expanded twice is there twice.
    pub(super) states: Vec<ExpandedState>,
    /// Targets of the transitions, and their actors.
    pub(super) to: Vec<StateId>,
    pub(super) by: Vec<Mover>,
}

#[derive(Clone, Copy)]
pub(super) struct ExpandedState {
    /// Bits of the actors that are open here and whose choices were not followed.
    pub(super) left_out: u64,
    pub(super) id: StateId,
    // Index of its first transition. The last one is before the first one of the next state.
    first: u32,
}

/// The actor of a transition: its bit in sleep sets, and whether it begins a task.
#[derive(Clone, Copy)]
pub(super) struct Mover(u8);

impl Mover {
    const BEGINS: u8 = 0x80;

    /// No actor.
    pub(super) const NO_ACTOR: Self = Self(u64::BITS as u8);

    // `bit` is the bit of the actor; 0 if it has none.
    fn new(bit: u64, begins: bool) -> Self {
        Self(bit.trailing_zeros() as u8 | if begins { Self::BEGINS } else { 0 })
    }

    pub(super) fn bit(self) -> u64 {
        1u64.checked_shl(u32::from(self.0 & !Self::BEGINS)).unwrap_or(0)
    }

    pub(super) fn begins(self) -> bool {
        self.0 & Self::BEGINS != 0
    }
}

impl Transitions {
    /// Begins the transitions of a state. `left_out`: the bits of open actors whose choices are not followed.
    pub(super) fn begin(&mut self, id: StateId, left_out: u64) {
        grow(&mut self.states, ExpandedState { left_out, id, first: self.to.len() as u32 });
    }

    /// Adds a transition of the state that was begun last. `bit` is that of the actor; 0 if it has none.
    #[inline]
    pub(super) fn add(&mut self, to: StateId, bit: u64, begins: bool) {
        grow(&mut self.to, to);
        grow(&mut self.by, Mover::new(bit, begins));
    }

    /// Adds the transitions of another worker, and empties them.
    pub(super) fn append(&mut self, other: &mut Transitions) {
        let before = self.to.len() as u32;
        reserve(&mut self.states, other.states.len());
        self.states.extend(other.states.drain(..).map(|s| ExpandedState { first: s.first + before, ..s }));
        reserve(&mut self.to, other.to.len());
        self.to.append(&mut other.to);
        reserve(&mut self.by, other.by.len());
        self.by.append(&mut other.by);
    }

    /// Bytes that the transitions take, with what the search for components will take.
    pub(super) fn bytes(&self) -> u64 {
        let a_transition = size_of::<StateId>() + size_of::<Mover>();
        let a_state = size_of::<ExpandedState>() + IN_SEARCH;
        (self.to.len() * a_transition + self.states.len() * a_state) as u64
    }

    /// Whether there are as many transitions as can be numbered.
    pub(super) fn is_full(&self) -> bool {
        self.to.len() as u64 > MOST
    }

    /// Returns the transitions of an expanded state.
    pub(super) fn range(&self, number: u32) -> std::ops::Range<usize> {
        let number = number as usize;
        let end = self.states.get(number + 1).map_or(self.to.len(), |next| next.first as usize);
        self.states[number].first as usize..end
    }
}

// Bytes of a state during the search for components: its number, its mark, its place on the stack, its frame, and its
// part. The last two are those of states on one way.
const IN_SEARCH: usize = 84;

// A batch of states adds fewer transitions than are left.
const MOST: u64 = 1 << 31;

fn grow<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        reserve(items, 1);
    }
    items.push(item);
}

// Grows by an eighth once it is large: doubling would take up to twice the memory.
fn reserve<T>(items: &mut Vec<T>, more: usize) {
    if items.capacity() - items.len() < more {
        let many = items.len() > 1 << 16;
        items.reserve_exact(more.max(64).max(if many { items.len() / 8 } else { items.len() }));
    }
}
