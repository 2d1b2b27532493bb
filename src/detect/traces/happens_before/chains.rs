//! The chains of a trace, numbered so that the chains of one thread are close together.
//!
//! The first chain of a thread shares a block of a clock with those of other threads: most threads have no other
//! chain. Further chains have blocks of their own. A clock of one thread's operations is therefore empty in most
//! places, and a lookup for a thread reads only its blocks.

use super::queue::ChainLog;
use crate::base::{Id, IndexVec};
use crate::detect::relation::clock::{ChainId, PAGE, Point, WIDTH};
use crate::detect::relation::lanes::{ChainSet, Lanes};
use crate::trace::ThreadNo;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut, Range};

// Replaces the last epoch of a chain whose last context has not ended; larger than any epoch in use.
const RUNNING: u32 = u32::MAX >> 1;

// Number of chains that ended last that a new context tries to continue.
const MOST_ENDED: usize = 32;

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
    // Chains of all threads whose last context has ended, in the order of the ends. A chain may have been continued
    // since. (In some relations, a context may continue a chain of another thread.)
    ended: VecDeque<ChainId>,
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
    // Its chains that ended last, as `Chains::ended`.
    ended: VecDeque<ChainId>,
    // The chains that have posted to this looper.
    posted: ChainSet,
    // The chains of which some state knows a task only in part.
    parts: ChainSet,
}

impl Chains {
    pub(in crate::detect) fn new(threads: usize) -> Self {
        let of = (0..threads).map(|_| OfThread::default()).collect();
        Self {
            logs: IndexVec::new(),
            lasts: Vec::new(),
            owners: IndexVec::new(),
            blocks: Vec::new(),
            firsts: 0..0,
            of,
            ended: VecDeque::new(),
        }
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

    /// Records that the last context of a chain ends at this point.
    pub(in crate::detect) fn end(&mut self, at: Point) {
        self.lasts[at.chain.index()] = at.epoch;
        for ended in [&mut self.ended, &mut self.of[self.owners[at.chain]].ended] {
            if ended.len() == MOST_ENDED {
                ended.pop_front();
            }
            ended.push_back(at.chain);
        }
    }

    /// Returns the point at which a context of a thread begins. It continues a chain on which everything is before it,
    /// one of the preferred chains or one that has ended lately, since few chains mean small clocks; otherwise it gets
    /// a new chain. `known`: how far the context knows a chain.
    pub(in crate::detect) fn place(
        &mut self,
        thread: ThreadNo,
        preferred: &[ChainId],
        known: impl Fn(ChainId) -> u32,
    ) -> Point {
        let next = |chain: &ChainId| {
            let last = self.lasts[chain.index()];
            (known(*chain) >= last).then(|| Point { chain: *chain, epoch: last + 1 })
        };
        let ended = self.of[thread].ended.iter().rev().chain(self.ended.iter().rev());
        let free = preferred.iter().chain(ended).find_map(next);
        let at = free.unwrap_or_else(|| Point { chain: self.add(thread), epoch: 1 });
        self.lasts[at.chain.index()] = RUNNING;
        at
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
        self.of[looper].posted.of(block)
    }

    pub(super) fn has_posted(&mut self, chain: ChainId, looper: ThreadNo) {
        self.of[looper].posted.insert(chain);
    }

    /// Returns the chains of a block of which some state on their thread may know a task only in part. All other
    /// states on that thread that know a task know it to its end.
    pub(super) fn parts(&self, block: usize, looper: ThreadNo) -> Lanes {
        self.of[looper].parts.of(block)
    }

    pub(super) fn is_known_in_part(&mut self, chain: ChainId) {
        let owner = self.owners[chain];
        self.of[owner].parts.insert(chain);
    }
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
