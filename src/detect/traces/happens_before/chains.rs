//! The chains of a trace, numbered so that the chains of one thread are close together.
//!
//! The first chain of a thread shares a block of a clock with those of other threads: most threads have no other
//! chain. Further chains have blocks of their own. A clock of one thread's operations is therefore empty in most
//! places, and a lookup for a thread reads only its blocks.

use super::queue::ChainLog;
use crate::base::{Id, IndexVec};
use crate::detect::relation::clock::{ChainId, ClockBlock, PAGE, Point, WIDTH};
use crate::trace::ThreadNo;
use std::ops::{Index, IndexMut, Range};

// Replaces the last epoch of a chain whose last context has not ended; larger than any epoch in use.
const RUNNING: u32 = u32::MAX >> 1;

/// A subset of the chains of a block, as bits.
pub(super) type Lanes = u32;

pub(in crate::detect) struct Chains {
    // Logs of all chains, also of reserved numbers that are not in use.
    logs: IndexVec<ChainId, ChainLog>,
    // Last epoch of each chain, or `RUNNING` if its last context has not ended.
    lasts: Vec<u32>,
    owners: IndexVec<ChainId, ThreadNo>,
    blocks: Vec<Owner>,
    // Reserved numbers that are not in use: `firsts` for first chains, `of` for further chains of each thread.
    firsts: Range<usize>,
    of: IndexVec<ThreadNo, OfThread>,
}

// Owner of the chains of a block.
#[derive(Clone, Copy, Debug)]
enum Owner {
    One(ThreadNo),
    Several,
}

/// Owner of the chains of a block, from the point of view of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChainOwner {
    /// The chains are the thread's own.
    Own,
    /// The chains belong to another thread.
    Of(ThreadNo),
    /// The chains belong to several threads; those in the set are the thread's own.
    Several(Lanes),
}

// Data of each thread.
#[derive(Clone, Default)]
struct OfThread {
    chains: Vec<ChainId>,
    left: Range<usize>,
    // By block: the chains that have posted to this looper.
    posted: Vec<Lanes>,
    // By block: the chains of which some state knows a task only in part.
    parts: Vec<Lanes>,
}

impl Chains {
    pub(in crate::detect) fn new(threads: usize) -> Self {
        let of = (0..threads).map(|_| OfThread::default()).collect();
        Self { logs: IndexVec::new(), lasts: Vec::new(), owners: IndexVec::new(), blocks: Vec::new(), firsts: 0..0, of }
    }

    /// Adds a chain for a thread.
    pub(in crate::detect) fn add(&mut self, thread: ThreadNo) -> ChainId {
        let next = self.left(thread).next();
        let number = next.unwrap_or_else(|| {
            let Range { start, end } = self.reserve(thread);
            *self.left(thread) = start + 1..end;
            start
        });
        let chain = ChainId::new(number);
        self.owners[chain] = thread;
        self.of[thread].chains.push(chain);
        chain
    }

    // Returns the range from which the next chain of a thread gets its number.
    fn left(&mut self, thread: ThreadNo) -> &mut Range<usize> {
        let of = &mut self.of[thread];
        if of.chains.is_empty() { &mut self.firsts } else { &mut of.left }
    }

    // Reserves numbers for further chains.
    fn reserve(&mut self, thread: ThreadNo) -> Range<usize> {
        let (owner, blocks) = match self.of[thread].chains.len() {
            0 => (Owner::Several, 1),
            // A thread with many chains is likely to get more.
            known => (Owner::One(thread), known.div_ceil(WIDTH).min(PAGE)),
        };
        let from = self.logs.len();
        self.blocks.extend((0..blocks).map(|_| owner));
        for _ in 0..blocks * WIDTH {
            self.logs.add(ChainLog::default());
            self.lasts.push(RUNNING);
            self.owners.add(ThreadNo(u32::MAX));
        }
        from..self.logs.len()
    }

    /// Records that a context begins on a chain.
    pub(in crate::detect) fn begin(&mut self, chain: ChainId) {
        self.lasts[chain.index()] = RUNNING;
    }

    /// Records that the last context of a chain ends at this point.
    pub(in crate::detect) fn end(&mut self, at: Point) {
        self.lasts[at.chain.index()] = at.epoch;
    }

    /// Returns the point at which a context that knows the chain up to `known` would begin on it: `None` unless
    /// everything on the chain is before the context.
    pub(in crate::detect) fn next(&self, chain: ChainId, known: u32) -> Option<Point> {
        let last = self.lasts[chain.index()];
        (known >= last).then(|| Point { chain, epoch: last + 1 })
    }

    /// Returns the same as [`next`](Self::next) for the first suitable chain of a block.
    pub(in crate::detect) fn next_of(&self, block: usize, known: &ClockBlock) -> Option<Point> {
        let lasts = &self.lasts[block * WIDTH..][..WIDTH];
        // This rarely succeeds, so all chains are tested at once first.
        if !known.iter().zip(lasts).fold(false, |any, (known, last)| any | (known >= last)) {
            return None;
        }
        let chains = (0..WIDTH).map(|k| ChainId::new(block * WIDTH + k));
        chains.zip(known).find_map(|(chain, known)| self.next(chain, *known))
    }

    /// Returns the thread that owns a chain.
    pub(super) fn owner(&self, chain: ChainId) -> ThreadNo {
        self.owners[chain]
    }

    /// Number of blocks of chains.
    pub(in crate::detect) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the owner of the chains of a block, from the point of view of a thread.
    pub(super) fn owner_of(&self, block: usize, thread: ThreadNo) -> ChainOwner {
        match self.blocks[block] {
            Owner::One(owner) if owner == thread => ChainOwner::Own,
            Owner::One(owner) => ChainOwner::Of(owner),
            Owner::Several => ChainOwner::Several(self.lanes(block, thread)),
        }
    }

    /// Returns the chains of a thread, in the order in which they were added.
    pub(super) fn of(&self, thread: ThreadNo) -> &[ChainId] {
        &self.of[thread].chains
    }

    /// Returns the chains of a block that belong to a thread.
    pub(super) fn lanes(&self, block: usize, thread: ThreadNo) -> Lanes {
        match self.blocks[block] {
            Owner::One(owner) if owner == thread => Lanes::MAX,
            Owner::One(_) => 0,
            // A shared block contains only first chains.
            Owner::Several => match self.of[thread].chains.first() {
                Some(first) if first.index() / WIDTH == block => 1 << (first.index() % WIDTH),
                _ => 0,
            },
        }
    }

    /// Returns the chains of a block that have posted to a looper.
    pub(super) fn posted(&self, block: usize, looper: ThreadNo) -> Lanes {
        self.of[looper].posted.get(block).copied().unwrap_or(0)
    }

    pub(super) fn has_posted(&mut self, chain: ChainId, looper: ThreadNo) {
        set(&mut self.of[looper].posted, chain);
    }

    /// Returns the chains of a block of which some state on their thread may know a task only in part. All other
    /// states on that thread that know a task know it to its end.
    pub(super) fn parts(&self, block: usize, looper: ThreadNo) -> Lanes {
        self.of[looper].parts.get(block).copied().unwrap_or(0)
    }

    pub(super) fn is_known_in_part(&mut self, chain: ChainId) {
        let owner = self.owners[chain];
        set(&mut self.of[owner].parts, chain);
    }
}

fn set(lanes: &mut Vec<Lanes>, chain: ChainId) {
    let (block, k) = (chain.0 as usize / WIDTH, chain.0 as usize % WIDTH);
    if lanes.len() <= block {
        lanes.resize(block + 1, 0);
    }
    lanes[block] |= 1 << k;
}

impl Index<ChainId> for Chains {
    type Output = ChainLog;

    fn index(&self, chain: ChainId) -> &ChainLog {
        &self.logs[chain]
    }
}

impl IndexMut<ChainId> for Chains {
    fn index_mut(&mut self, chain: ChainId) -> &mut ChainLog {
        &mut self.logs[chain]
    }
}
