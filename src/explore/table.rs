//! The visited set: 128-bit digests of canonical states, each with the state from which it was first reached.
//!
//! A state costs 16 bytes for its digest, 4 for its parent and 4 to 8 for its slot. Digests are spread over shards,
//! each behind its own lock; a state is named by its shard and its number there. The states found in a level are kept
//! aside until the level is done, so that of two ways to a state the lesser one counts, whichever worker came first.

use super::worker::place_of;
use parking_lot::{Mutex, MutexGuard};

const SHARD_BITS: u32 = 6;
/// Largest number of shards of a table.
pub(super) const SHARDS: usize = 1 << SHARD_BITS;
const INDEX_BITS: u32 = 24;
const TAG_BITS: u32 = 32 - INDEX_BITS;

pub(super) const MOST_IN_SHARD: usize = (1 << INDEX_BITS) - 1;

/// Largest bound of states that a search accepts: less than the capacity of all shards, since digests fall into the
/// shards evenly, but not exactly.
pub const MOST_STATES: u64 = 1_000_000_000;

/// A visited state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct StateId(u32);

impl StateId {
    /// Parent of the first state.
    pub(super) const NONE: StateId = StateId(u32::MAX);

    fn new(shard: usize, index: usize) -> Self {
        Self((shard as u32) << INDEX_BITS | index as u32)
    }

    fn shard(self) -> usize {
        (self.0 >> INDEX_BITS) as usize
    }

    fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// Returns a number less than that of all states. `offsets` is that of the table ([`Table::offsets`]).
    pub(super) fn place(self, offsets: &[usize]) -> usize {
        offsets[self.shard()] + self.index()
    }
}

/// A way to a state.
#[derive(Clone, Copy)]
pub(super) struct StateWay {
    /// Digest of the state.
    pub(super) digest: u128,
    /// State before it on the way.
    pub(super) parent: StateId,
    /// Rank of the way; see [`FreshState::rank`].
    pub(super) rank: u64,
    /// Sleep set of the state on this way: actors that need not be tried there.
    pub(super) sleep: u64,
}

/// A state that was found in this level, or has to be visited again.
pub(super) struct FreshState<N> {
    pub(super) id: StateId,
    /// Rank of the least way to it: the place of its parent in the level before, then the choice.
    pub(super) rank: u64,
    /// Node from which the search continues.
    pub(super) node: N,
    /// Sleep set: actors that need not be tried here.
    pub(super) sleep: u64,
}

/// When a state was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VisitTime {
    /// The state was found in this level.
    Now,
    /// The state was found in an earlier level.
    Before,
}

pub(super) struct Shard<N> {
    // Each slot has an index and some bits of the digest; all ones if empty. invariant: the length is a power of two,
    // at most 7/8 full
    slots: Vec<u32>,
    digests: Vec<u128>,
    parents: Vec<StateId>,
    // Sleep set of each state; empty without reduction.
    sleeps: Vec<u64>,
    // States from this index on were found in this level, and `fresh` has them in order. `again` has older states
    // that have to be visited again.
    level_start: usize,
    fresh: Vec<FreshState<N>>,
    again: Vec<FreshState<N>>,
}

const EMPTY: u32 = u32::MAX;

/// The visited set. `N` is the data that a level keeps for each of its states.
pub(super) struct Table<N> {
    // invariant: their number is a power of two
    shards: Vec<Mutex<Shard<N>>>,
    sleeps: bool,
}

impl<N> Table<N> {
    /// Returns an empty table. `sleeps`: whether it keeps a sleep set with each state.
    pub(super) fn new(sleeps: bool, shards: usize) -> Self {
        let shard = || Shard {
            slots: vec![EMPTY; 16],
            digests: Vec::new(),
            parents: Vec::new(),
            sleeps: Vec::new(),
            level_start: 0,
            fresh: Vec::new(),
            again: Vec::new(),
        };
        Self { shards: (0..shards.next_power_of_two().min(SHARDS)).map(|_| Mutex::new(shard())).collect(), sleeps }
    }

    fn locked(&self, shard: usize) -> MutexGuard<'_, Shard<N>> {
        self.shards[shard].lock()
    }

    /// Adds the first state.
    pub(super) fn insert(&self, way: StateWay, node: impl FnOnce() -> N) -> StateId {
        TableAccess::Shared(self).insert(way, node).1
    }

    /// Returns the access of a worker. `alone`: no other worker uses the table until the access is dropped.
    pub(super) fn access(&self, alone: bool) -> TableAccess<'_, N> {
        if alone {
            TableAccess::Alone(self, self.shards.iter().map(Mutex::lock).collect())
        } else {
            TableAccess::Shared(self)
        }
    }

    /// Ends the level. Adds to `out` the states that were found in it and those that have to be visited again, by
    /// rank.
    pub(super) fn next_level(&self, out: &mut Vec<FreshState<N>>) {
        out.reserve_exact(self.shards.iter().map(|shard| shard.lock().fresh.len()).sum());
        for shard in &self.shards {
            let shard = &mut *shard.lock();
            for fresh in &shard.fresh {
                if self.sleeps {
                    shard.sleeps[fresh.id.index()] = fresh.sleep;
                }
            }
            for again in &mut shard.again {
                let stored = &mut shard.sleeps[again.id.index()];
                // Only actors that were asleep until now have to be tried.
                let awake = *stored & !again.sleep;
                *stored &= again.sleep;
                again.sleep = !awake;
            }
            // A level may be much smaller than the one before it, so the memory of a large one is not kept.
            if shard.fresh.capacity() > MOST_SPARE {
                out.extend(std::mem::take(&mut shard.fresh));
            } else {
                out.append(&mut shard.fresh);
            }
            out.append(&mut shard.again);
            shard.level_start = shard.digests.len();
        }
        by_rank(out);
    }

    /// Number of states.
    pub(super) fn len(&self) -> u64 {
        TableAccess::Shared(self).len()
    }

    /// Bytes that the table takes, without the nodes of the level.
    pub(super) fn bytes(&self) -> u64 {
        TableAccess::Shared(self).bytes()
    }

    /// Whether the table has this digest.
    pub(super) fn contains(&self, digest: u128) -> bool {
        self.find(digest).is_some()
    }

    /// Returns the state with this digest.
    pub(super) fn find(&self, digest: u128) -> Option<StateId> {
        let number = (digest >> (128 - SHARD_BITS)) as usize & (self.shards.len() - 1);
        self.locked(number).find(digest).ok().map(|index| StateId::new(number, index))
    }

    /// Returns the state from which a state was first reached; `None` for the first one.
    pub(super) fn parent(&self, of: StateId) -> Option<StateId> {
        let parent = self.locked(of.shard()).parents[of.index()];
        (parent != StateId::NONE).then_some(parent)
    }

    /// Returns the number of states in the shards before each shard.
    pub(super) fn offsets(&self) -> Vec<usize> {
        let sizes = self.shards.iter().map(|shard| shard.lock().digests.len());
        sizes.scan(0, |sum, size| Some(std::mem::replace(sum, *sum + size))).collect()
    }

    /// Returns the digest of a state.
    pub(super) fn digest(&self, of: StateId) -> u128 {
        self.locked(of.shard()).digests[of.index()]
    }

    /// Returns the digests on the way from the first state to this one, both included.
    pub(super) fn way(&self, to: StateId) -> Vec<u128> {
        let mut way = Vec::new();
        let mut at = to;
        while at != StateId::NONE {
            let shard = self.locked(at.shard());
            way.push(shard.digests[at.index()]);
            at = shard.parents[at.index()];
        }
        way.reverse();
        way
    }
}

// States of a shard's level whose memory is kept for the next level.
const MOST_SPARE: usize = 64;

// Sorts states by rank. The rank begins with the place of the parent, and nearly all parents have few states, so that
// the states are put in their parents' order by counting.
fn by_rank<N>(states: &mut [FreshState<N>]) {
    let places = states.iter().map(|state| place_of(state.rank) + 1).max().unwrap_or(0);
    // Few states of many parents are those that are visited again.
    if states.len() < 32 || places > 8 * states.len() {
        return states.sort_unstable_by_key(|state| state.rank);
    }
    let mut next = vec![0u32; places + 1];
    states.iter().for_each(|state| next[place_of(state.rank) + 1] += 1);
    (1..next.len()).for_each(|place| next[place] += next[place - 1]);
    let mut goals: Vec<u32> = Vec::with_capacity(states.len());
    for state in &*states {
        let next = &mut next[place_of(state.rank)];
        goals.push(*next);
        *next += 1;
    }
    for i in 0..states.len() {
        while goals[i] as usize != i {
            let goal = goals[i] as usize;
            states.swap(i, goal);
            goals.swap(i, goal);
        }
    }
    for siblings in states.chunk_by_mut(|a, b| place_of(a.rank) == place_of(b.rank)) {
        siblings.sort_unstable_by_key(|state| state.rank);
    }
}

/// The access of a worker to the table.
pub(super) enum TableAccess<'t, N> {
    /// Other workers use the table at the same time, so that each access locks a shard.
    Shared(&'t Table<N>),
    /// No other worker does, and all shards are locked once.
    Alone(&'t Table<N>, Vec<MutexGuard<'t, Shard<N>>>),
}

impl<N> TableAccess<'_, N> {
    /// Adds a state, or another way to a known one. `node` makes the node of the state, if the search has to continue
    /// from it.
    #[inline]
    pub(super) fn insert(&mut self, way: StateWay, node: impl FnOnce() -> N) -> (VisitTime, StateId) {
        let number = (way.digest >> (128 - SHARD_BITS)) as usize;
        match self {
            Self::Shared(table) => {
                let number = number & (table.shards.len() - 1);
                table.locked(number).insert(number, way, table.sleeps, node)
            }
            Self::Alone(table, shards) => {
                let number = number & (shards.len() - 1);
                shards[number].insert(number, way, table.sleeps, node)
            }
        }
    }

    /// Number of states.
    pub(super) fn len(&self) -> u64 {
        self.sum(Shard::len)
    }

    /// Bytes that the table takes, without the nodes of the level.
    pub(super) fn bytes(&self) -> u64 {
        self.sum(Shard::bytes)
    }

    fn sum(&self, of: impl Fn(&Shard<N>) -> u64) -> u64 {
        match self {
            Self::Shared(table) => table.shards.iter().map(|shard| of(&shard.lock())).sum(),
            Self::Alone(_, shards) => shards.iter().map(|shard| of(shard)).sum(),
        }
    }

    /// Returns the digest of a state.
    #[inline]
    pub(super) fn digest(&self, of: StateId) -> u128 {
        match self {
            Self::Shared(table) => table.digest(of),
            Self::Alone(_, shards) => shards[of.shard()].digests[of.index()],
        }
    }
}

impl<N> FreshState<N> {
    fn new(id: StateId, way: &StateWay, node: N) -> Self {
        Self { id, rank: way.rank, node, sleep: way.sleep }
    }

    // Adds another way to the state. Returns whether it is the least so far.
    fn add(&mut self, way: &StateWay, node: impl FnOnce() -> N) -> bool {
        self.sleep &= way.sleep;
        let less = way.rank < self.rank;
        if less {
            self.rank = way.rank;
            self.node = node();
        }
        less
    }
}

impl<N> Shard<N> {
    // Adds a state to this shard, which has this number, as `TableAccess::insert` does.
    #[inline]
    fn insert(&mut self, number: usize, way: StateWay, sleeps: bool, node: impl FnOnce() -> N) -> (VisitTime, StateId) {
        match self.find(way.digest) {
            Ok(index) if index >= self.level_start => {
                let fresh = &mut self.fresh[index - self.level_start];
                if fresh.add(&way, node) {
                    self.parents[index] = way.parent;
                }
                (VisitTime::Now, StateId::new(number, index))
            }
            Ok(index) => {
                let id = StateId::new(number, index);
                // An actor that was asleep on all earlier ways is awake on this one, so the state is visited again.
                if sleeps && self.sleeps[index] & !way.sleep != 0 {
                    match self.again.iter_mut().find(|f| f.id == id) {
                        Some(known) => _ = known.add(&way, node),
                        None => self.again.push(FreshState::new(id, &way, node())),
                    }
                }
                (VisitTime::Before, id)
            }
            Err(slot) => {
                let id = StateId::new(number, self.digests.len());
                self.add(slot, &way, sleeps);
                self.fresh.push(FreshState::new(id, &way, node()));
                (VisitTime::Now, id)
            }
        }
    }

    fn len(&self) -> u64 {
        self.digests.len() as u64
    }

    fn bytes(&self) -> u64 {
        let digests = self.digests.capacity() * size_of::<u128>();
        let bytes = self.slots.capacity() * 4 + digests + self.parents.capacity() * 4 + self.sleeps.capacity() * 8;
        bytes as u64
    }

    fn place(&self, digest: u128) -> usize {
        digest as usize & (self.slots.len() - 1)
    }

    fn tag(digest: u128) -> u32 {
        (digest >> 64) as u32 & ((1 << TAG_BITS) - 1)
    }

    // Returns the index of a digest, or the slot where it belongs.
    fn find(&self, digest: u128) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = self.place(digest);
        loop {
            let entry = self.slots[slot];
            if entry == EMPTY {
                return Err(slot);
            }
            let index = (entry & ((1 << INDEX_BITS) - 1)) as usize;
            if entry >> INDEX_BITS == Self::tag(digest) && self.digests[index] == digest {
                return Ok(index);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn add(&mut self, slot: usize, way: &StateWay, sleeps: bool) {
        let index = self.digests.len();
        assert!(index < MOST_IN_SHARD, "the bound of states is far below");
        let entry = |index: usize, digest| Self::tag(digest) << INDEX_BITS | index as u32;
        self.slots[slot] = entry(index, way.digest);
        // Grows by an eighth: doubling would take up to twice the memory.
        grow(&mut self.digests, way.digest);
        grow(&mut self.parents, way.parent);
        if sleeps {
            grow(&mut self.sleeps, way.sleep);
        }
        if self.digests.len() * 8 > self.slots.len() * 7 {
            self.slots = vec![EMPTY; self.slots.len() * 2];
            for index in 0..self.digests.len() {
                let digest = self.digests[index];
                if let Err(slot) = self.find(digest) {
                    self.slots[slot] = entry(index, digest);
                }
            }
        }
    }
}

fn grow<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact(16 + items.len() / 8);
    }
    items.push(item);
}
