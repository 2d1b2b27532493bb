//! The visited set: 128-bit digests of canonical states, each with the state that it was first reached from.
//!
//! A state costs 16 bytes for its digest, 4 for its parent and 4 to 8 for its slot. The digests are spread over shards, each behind a lock of its own;
//! a state is named by its shard and its number in it. What is found in a level is kept beside until the level is done, so that
//! of two ways to a state the lesser one counts, whichever worker came first.

use parking_lot::{Mutex, MutexGuard};

const SHARD_BITS: u32 = 6;
/// The most shards of a table.
pub(super) const SHARDS: usize = 1 << SHARD_BITS;
const INDEX_BITS: u32 = 24;
const TAG_BITS: u32 = 32 - INDEX_BITS;

pub(super) const MOST_IN_SHARD: usize = (1 << INDEX_BITS) - 1;

/// The most states that a search may be asked for: digests fall into the shards evenly, but not quite.
pub const MOST_STATES: u64 = 1_000_000_000;

/// A state that was visited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct StateId(u32);

impl StateId {
    /// The parent of the first state.
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
}

/// A way to a state.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// The digest of the state.
    pub(super) digest: u128,
    /// The state before it.
    pub(super) parent: StateId,
    /// See [`Fresh::rank`].
    pub(super) rank: u64,
    /// What need not be tried after it.
    pub(super) sleep: u64,
}

/// A state that was found in this level, or has to be looked at again.
pub(super) struct Fresh<N> {
    pub(super) id: StateId,
    /// The least way to it: the place of its parent in the level before, then the choice.
    pub(super) rank: u64,
    /// What the search goes on with.
    pub(super) node: N,
    /// What need not be tried from here.
    pub(super) sleep: u64,
}

/// Where a state was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// In this level.
    Now,
    /// In an earlier one.
    Before,
}

struct Shard<N> {
    // An index and some bits of the digest each; all ones if empty. invariant: a power of two, at most 7/8 full
    slots: Vec<u32>,
    digests: Vec<u128>,
    parents: Vec<StateId>,
    // What was left asleep in each state; empty without reduction.
    sleeps: Vec<u64>,
    // States from here on were found in this level; `fresh` has them in order, then those that woke up.
    level_start: usize,
    fresh: Vec<Fresh<N>>,
    again: Vec<Fresh<N>>,
}

const EMPTY: u32 = u32::MAX;

/// The visited set. `N` is what a level keeps of each of its states.
pub(super) struct Table<N> {
    // invariant: a power of two of them
    shards: Vec<Mutex<Shard<N>>>,
    sleeps: bool,
}

impl<N: Clone> Table<N> {
    /// An empty table; `sleeps` says whether it keeps a sleep set with each state.
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

    /// Adds a state, or a way to one that is known. The node is copied where the search has to go on with it, into one of `spare` if there is one.
    pub(super) fn insert(&self, way: Way, node: &N, spare: &mut Vec<N>) -> (Seen, StateId) {
        let number = (way.digest >> (128 - SHARD_BITS)) as usize & (self.shards.len() - 1);
        let shard = &mut *self.locked(number);
        match shard.find(way.digest) {
            Ok(index) if index >= shard.level_start => {
                let fresh = &mut shard.fresh[index - shard.level_start];
                if fresh.add(&way, node) {
                    shard.parents[index] = way.parent;
                }
                (Seen::Now, StateId::new(number, index))
            }
            Ok(index) => {
                let id = StateId::new(number, index);
                if self.sleeps && shard.sleeps[index] & !way.sleep != 0 {
                    match shard.again.iter_mut().find(|f| f.id == id) {
                        Some(known) => _ = known.add(&way, node),
                        None => shard.again.push(Fresh::new(id, &way, copied(node, spare))),
                    }
                }
                (Seen::Before, id)
            }
            Err(slot) => {
                let id = StateId::new(number, shard.digests.len());
                shard.add(slot, &way, self.sleeps);
                shard.fresh.push(Fresh::new(id, &way, copied(node, spare)));
                (Seen::Now, id)
            }
        }
    }

    /// Ends the level: what was found in it, by rank, and the states that have to be looked at again.
    pub(super) fn next_level(&self, out: &mut Vec<Fresh<N>>) {
        for shard in &self.shards {
            let shard = &mut *shard.lock();
            for fresh in &shard.fresh {
                if self.sleeps {
                    shard.sleeps[fresh.id.index()] = fresh.sleep;
                }
            }
            for again in &mut shard.again {
                let stored = &mut shard.sleeps[again.id.index()];
                // Only what was asleep until now is tried.
                let awake = *stored & !again.sleep;
                *stored &= again.sleep;
                again.sleep = !awake;
            }
            out.append(&mut shard.fresh);
            out.append(&mut shard.again);
            shard.level_start = shard.digests.len();
        }
        out.sort_unstable_by_key(|f| f.rank);
    }

    /// How many states there are.
    pub(super) fn len(&self) -> u64 {
        self.shards.iter().map(|s| s.lock().digests.len() as u64).sum()
    }

    /// Bytes that it takes, without what the levels keep.
    pub(super) fn bytes(&self) -> u64 {
        let one = |s: &Mutex<Shard<N>>| {
            let s = s.lock();
            s.slots.capacity() * 4 + s.digests.capacity() * 16 + s.parents.capacity() * 4 + s.sleeps.capacity() * 8
        };
        self.shards.iter().map(|s| one(s) as u64).sum()
    }

    /// Whether a digest is there.
    pub(super) fn contains(&self, digest: u128) -> bool {
        let number = (digest >> (128 - SHARD_BITS)) as usize & (self.shards.len() - 1);
        self.locked(number).find(digest).is_ok()
    }

    /// The digest of a state.
    pub(super) fn digest(&self, of: StateId) -> u128 {
        self.locked(of.shard()).digests[of.index()]
    }

    /// The digests on the way from the first state to this one, both included.
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

fn copied<N: Clone>(node: &N, spare: &mut Vec<N>) -> N {
    match spare.pop() {
        Some(mut old) => {
            old.clone_from(node);
            old
        }
        None => node.clone(),
    }
}

impl<N: Clone> Fresh<N> {
    fn new(id: StateId, way: &Way, node: N) -> Self {
        Self { id, rank: way.rank, node, sleep: way.sleep }
    }

    // Another way to it; whether it is the least so far.
    fn add(&mut self, way: &Way, node: &N) -> bool {
        self.sleep &= way.sleep;
        let less = way.rank < self.rank;
        if less {
            self.rank = way.rank;
            self.node.clone_from(node);
        }
        less
    }
}

impl<N> Shard<N> {
    fn place(&self, digest: u128) -> usize {
        digest as usize & (self.slots.len() - 1)
    }

    fn tag(digest: u128) -> u32 {
        (digest >> 64) as u32 & ((1 << TAG_BITS) - 1)
    }

    // The index of a digest, or the slot where it belongs.
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

    fn add(&mut self, slot: usize, way: &Way, sleeps: bool) {
        let index = self.digests.len();
        assert!(index < MOST_IN_SHARD, "the bound of states is far below");
        let entry = |index: usize, digest| Self::tag(digest) << INDEX_BITS | index as u32;
        self.slots[slot] = entry(index, way.digest);
        // A little more room at a time than is needed: doubling would take up to twice the memory.
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
