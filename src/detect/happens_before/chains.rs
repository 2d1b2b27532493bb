//! The chains of a trace, so numbered that what is known of one thread lies together.
//!
//! The first chain of a thread shares a block of a clock with those of other threads: most threads have no other. Further ones have blocks of their own, so that a clock of what one thread
//! has done is empty in most places, and whoever asks for a thread looks at its blocks alone.

use super::queue::Log;
use crate::base::{Id, IndexVec};
use crate::detect::clock::{Block, ChainId, PAGE, Point, WIDTH};
use crate::trace::ThreadNo;
use std::ops::{Index, IndexMut, Range};

// No epoch: the last context of a chain has not ended.
const RUNNING: u32 = u32::MAX >> 1;

/// Some chains of a block, as bits.
pub(super) type Lanes = u32;

pub(super) struct Chains {
    // With those that are not there yet.
    logs: IndexVec<ChainId, Log>,
    // The last epoch of each, if its last context has ended; else no epoch.
    lasts: Vec<u32>,
    owners: IndexVec<ChainId, ThreadNo>,
    blocks: Vec<Owner>,
    // Numbers that are left: for first chains, and for the others of each thread.
    firsts: Range<usize>,
    of: IndexVec<ThreadNo, OfThread>,
}

// Whose the chains of a block are.
#[derive(Clone, Copy, Debug)]
enum Owner {
    One(ThreadNo),
    Several,
}

/// The same, as a thread sees it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose {
    /// Its own.
    Own,
    /// Another thread's.
    Of(ThreadNo),
    /// Several threads', and these are its own.
    Several(Lanes),
}

// What is kept for each thread.
#[derive(Clone, Default)]
struct OfThread {
    chains: Vec<ChainId>,
    left: Range<usize>,
    // By block: the chains that have posted to this looper.
    posted: Vec<Lanes>,
    // By block: the chains of which some states know less than a whole task.
    parts: Vec<Lanes>,
}

impl Chains {
    pub(super) fn new(threads: usize) -> Self {
        let of = (0..threads).map(|_| OfThread::default()).collect();
        Self { logs: IndexVec::new(), lasts: Vec::new(), owners: IndexVec::new(), blocks: Vec::new(), firsts: 0..0, of }
    }

    /// A new chain of a thread.
    pub(super) fn add(&mut self, thread: ThreadNo) -> ChainId {
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

    // The numbers from which the next chain of a thread gets its own.
    fn left(&mut self, thread: ThreadNo) -> &mut Range<usize> {
        let of = &mut self.of[thread];
        if of.chains.is_empty() { &mut self.firsts } else { &mut of.left }
    }

    // More of them.
    fn reserve(&mut self, thread: ThreadNo) -> Range<usize> {
        let (owner, blocks) = match self.of[thread].chains.len() {
            0 => (Owner::Several, 1),
            // The more there are, the more there will be.
            known => (Owner::One(thread), known.div_ceil(WIDTH).min(PAGE)),
        };
        let from = self.logs.len();
        self.blocks.extend((0..blocks).map(|_| owner));
        for _ in 0..blocks * WIDTH {
            self.logs.add(Log::default());
            self.lasts.push(RUNNING);
            self.owners.add(ThreadNo(u32::MAX));
        }
        from..self.logs.len()
    }

    /// A context begins on a chain.
    pub(super) fn begin(&mut self, chain: ChainId) {
        self.lasts[chain.index()] = RUNNING;
    }

    /// It ends.
    pub(super) fn end(&mut self, at: Point) {
        self.lasts[at.chain.index()] = at.epoch;
    }

    /// Where a context would begin on this chain that knows it so far: if all that was there before is before it.
    pub(super) fn next(&self, chain: ChainId, known: u32) -> Option<Point> {
        let last = self.lasts[chain.index()];
        (known >= last).then(|| Point { chain, epoch: last + 1 })
    }

    /// The same for the first one of a block.
    pub(super) fn next_of(&self, block: usize, known: &Block) -> Option<Point> {
        let lasts = &self.lasts[block * WIDTH..][..WIDTH];
        // Seldom any.
        if !known.iter().zip(lasts).fold(false, |any, (known, last)| any | (known >= last)) {
            return None;
        }
        let chains = (0..WIDTH).map(|k| ChainId::new(block * WIDTH + k));
        chains.zip(known).find_map(|(chain, known)| self.next(chain, *known))
    }

    /// Whose a chain is.
    pub(super) fn owner(&self, chain: ChainId) -> ThreadNo {
        self.owners[chain]
    }

    /// How many blocks of chains there are.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Whose the chains of a block are, for a thread.
    pub(super) fn whose(&self, block: usize, thread: ThreadNo) -> Whose {
        match self.blocks[block] {
            Owner::One(owner) if owner == thread => Whose::Own,
            Owner::One(owner) => Whose::Of(owner),
            Owner::Several => Whose::Several(self.lanes(block, thread)),
        }
    }

    /// Those of a thread, in the order in which they began.
    pub(super) fn of(&self, thread: ThreadNo) -> &[ChainId] {
        &self.of[thread].chains
    }

    /// The chains of a block that are a thread's.
    pub(super) fn lanes(&self, block: usize, thread: ThreadNo) -> Lanes {
        match self.blocks[block] {
            Owner::One(owner) if owner == thread => Lanes::MAX,
            Owner::One(_) => 0,
            // Only first chains are there.
            Owner::Several => match self.of[thread].chains.first() {
                Some(first) if first.index() / WIDTH == block => 1 << (first.index() % WIDTH),
                _ => 0,
            },
        }
    }

    /// The chains of a block that have posted to a looper.
    pub(super) fn posted(&self, block: usize, looper: ThreadNo) -> Lanes {
        self.of[looper].posted.get(block).copied().unwrap_or(0)
    }

    pub(super) fn has_posted(&mut self, chain: ChainId, looper: ThreadNo) {
        set(&mut self.of[looper].posted, chain);
    }

    /// The chains of a block of which some state on their thread may know a task in part: all other states there that know a task know it to its end.
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
    type Output = Log;

    fn index(&self, chain: ChainId) -> &Log {
        &self.logs[chain]
    }
}

impl IndexMut<ChainId> for Chains {
    fn index_mut(&mut self, chain: ChainId) -> &mut Log {
        &mut self.logs[chain]
    }
}
