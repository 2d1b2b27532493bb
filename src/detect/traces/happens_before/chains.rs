//! The chains of a trace, numbered so that the chains of one thread are close together.
//!
//! Numbers are given in regions, each of which is a tree of blocks of a clock. The first chain of a thread shares a
//! block with those of other threads: most threads have no other chain. Further chains have blocks of their own, and
//! a thread with many chains has regions of its own. So a clock of one thread's operations is empty in most places,
//! and what it shares with other clocks it shares in large parts.

use super::queue::ChainLog;
use crate::base::{Id, IndexVec};
use crate::detect::relation::clock::{ChainId, Point, WIDTH};
use crate::detect::relation::lanes::{ChainSet, Lanes};
use crate::detect::relation::tree::Share;
use crate::trace::ThreadNo;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut, Range};

// Replaces the last epoch of a chain whose last context has not ended; larger than any epoch in use.
const RUNNING: u32 = u32::MAX >> 1;

// Number of chains of a region: two levels of a clock.
const REGION: usize = WIDTH * WIDTH;

// Number of chains from which on a thread has regions of its own.
const MANY: usize = REGION / 4;

// Number of chains that ended last that a new context tries to continue.
const MOST_ENDED: usize = 32;

pub(in crate::detect) struct Chains {
    // Logs of all chains, also of numbers in between that are not in use.
    logs: IndexVec<ChainId, ChainLog>,
    // Last epoch of each chain, or `RUNNING` if its last context has not ended.
    lasts: Vec<u32>,
    owners: IndexVec<ChainId, ThreadNo>,
    // Begin of the last task of each chain that the environment has posted; 0 if there is none.
    fired: Vec<u32>,
    // The owner of the chains of each block.
    blocks: Vec<Owner>,
    // The threads that have a region for themselves.
    regions: Vec<Option<ThreadNo>>,
    // Numbers that are not in use: blocks of the last region that threads share, and `firsts` for first chains. `of`
    // has those of each thread.
    shared: Range<usize>,
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

// Data of each thread.
#[derive(Clone, Default)]
struct OfThread {
    chains: Vec<ChainId>,
    left: Range<usize>,
    // Its chains without the first one.
    further: ChainSet,
    // Its chains that ended last, as `Chains::ended`.
    ended: VecDeque<ChainId>,
    // The chains that have posted to this looper.
    posted: ChainSet,
    // Its chains with tasks that the environment has posted.
    fired: ChainSet,
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
            fired: Vec::new(),
            blocks: Vec::new(),
            regions: Vec::new(),
            shared: 0..0,
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
        while self.logs.len() <= number {
            self.logs.add(ChainLog::default());
            self.lasts.push(RUNNING);
            self.fired.push(0);
            self.owners.add(ThreadNo(u32::MAX));
        }
        let (chain, of) = (ChainId::new(number), &mut self.of[thread]);
        self.owners[chain] = thread;
        if !of.chains.is_empty() {
            of.further.insert(chain);
        }
        of.chains.push(chain);
        chain
    }

    // Returns the range from which the next chain of a thread gets its number.
    fn left(&mut self, thread: ThreadNo) -> &mut Range<usize> {
        let of = &mut self.of[thread];
        if of.chains.is_empty() { &mut self.firsts } else { &mut of.left }
    }

    // Reserves numbers for further chains.
    fn reserve(&mut self, thread: ThreadNo) -> Range<usize> {
        let known = self.of[thread].chains.len();
        if known >= MANY {
            return self.region(Some(thread));
        }
        if self.shared.is_empty() {
            self.shared = self.region(None);
        }
        let from = self.shared.start;
        self.shared.start += WIDTH;
        self.blocks.resize((from / WIDTH + 1).max(self.blocks.len()), Owner::Several);
        self.blocks[from / WIDTH] = if known == 0 { Owner::Several } else { Owner::One(thread) };
        from..from + WIDTH
    }

    // Returns the numbers of a new region.
    fn region(&mut self, owner: Option<ThreadNo>) -> Range<usize> {
        self.regions.push(owner);
        let end = self.regions.len() * REGION;
        end - REGION..end
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

    /// Returns which chains of a tree belong to a thread, by the level of the tree and its place among those of this
    /// level.
    pub(super) fn share(&self, thread: ThreadNo, level: u32, place: usize) -> Share {
        let region = match level {
            0 => place / WIDTH,
            1 => place,
            _ => return if self.own(level, place, thread) == 0 { Share::None } else { Share::Parts },
        };
        match self.regions[region] {
            Some(owner) if owner == thread => Share::All,
            Some(_) => Share::None,
            None if level == 1 && self.own(level, place, thread) == 0 => Share::None,
            None if level == 1 => Share::Parts,
            None => match self.lanes(place, thread) {
                0 => Share::None,
                Lanes::MAX => Share::All,
                lanes => Share::Lanes(lanes),
            },
        }
    }

    /// Returns the parts of a tree that have chains of a thread, by the level of the tree and its place among those of
    /// this level; of a block the chains themselves.
    pub(super) fn own(&self, level: u32, place: usize, thread: ThreadNo) -> Lanes {
        let OfThread { chains, further, .. } = &self.of[thread];
        let lane = |first: &ChainId| {
            let of_level = first.index() / WIDTH.pow(level);
            if of_level / WIDTH == place { 1 << (of_level % WIDTH) } else { 0 }
        };
        chains.first().map_or(0, lane) | further.parts(level, place)
    }

    /// Returns the chains of a thread, in the order in which they were added.
    pub(super) fn of(&self, thread: ThreadNo) -> &[ChainId] {
        &self.of[thread].chains
    }

    /// Returns the chains of a block that belong to a thread.
    pub(super) fn lanes(&self, block: usize, thread: ThreadNo) -> Lanes {
        match self.regions[block * WIDTH / REGION].map_or_else(|| self.blocks[block], Owner::One) {
            Owner::One(owner) if owner == thread => Lanes::MAX,
            Owner::One(_) => 0,
            // A shared block contains only first chains.
            Owner::Several => self.own(0, block, thread),
        }
    }

    /// Returns the parts of a tree that have chains which have posted to a looper.
    pub(super) fn posted(&self, level: u32, place: usize, looper: ThreadNo) -> Lanes {
        self.of[looper].posted.parts(level, place)
    }

    pub(super) fn has_posted(&mut self, chain: ChainId, looper: ThreadNo) {
        self.of[looper].posted.insert(chain);
    }

    /// Records that a task begins that the environment has posted.
    pub(super) fn has_fired(&mut self, begin: Point) {
        let owner = self.owners[begin.chain];
        self.of[owner].fired.insert(begin.chain);
        self.fired[begin.chain.index()] = begin.epoch;
    }

    /// Returns the parts of a tree that have chains of a looper with tasks that the environment has posted.
    pub(super) fn fired(&self, level: u32, place: usize, looper: ThreadNo) -> Lanes {
        self.of[looper].fired.parts(level, place)
    }

    /// Returns the begins of the last tasks in the chains of a block that the environment has posted.
    pub(super) fn last_fired(&self, block: usize) -> &[u32] {
        &self.fired[block * WIDTH..self.fired.len().min((block + 1) * WIDTH)]
    }

    /// Returns the parts of a tree that have chains of which some state on their thread may know a task only in part.
    /// All other states on that thread that know a task know it to its end.
    pub(super) fn parts(&self, level: u32, place: usize, looper: ThreadNo) -> Lanes {
        self.of[looper].parts.parts(level, place)
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
