//! What a context knows of what is before it, in a relation that is transitive only in part.
//!
//! DroidRacer derives no order between two operations of one thread by way of another thread (rules TRANS-ST and TRANS-MT): two tasks of one looper that take a lock in
//! turn stay unordered. A vector clock would order them. So there are several clocks, by the shape of the paths that lead here. A *block* of a path is a maximal part of it on one thread.
//!
//! | | points of | by |
//! |---|---|---|
//! | `st` | this thread | a path on this thread alone |
//! | `far` | this thread | a path that came back through several others |
//! | `far` | another thread | a path through a third one |
//! | `two` | the thread u | a path of two blocks: u, then here |
//! | `long` | the thread u | a longer path, through u and here alone |
//! | `back` | this thread | a path that came back through the thread v alone |
//!
//! A point of this thread is before what happens here if it is in `st`, one of another thread if it is in `two` or `far`. The rest is what others need: a point that has come back through v alone is
//! known to a third thread, but in v nothing orders it. What is `far` tells every receiver at least as much as if it were in `two`, `long` or `back`: what these have
//! besides is dropped when `far` covers it, so that after some exchange there is one clock, whose blocks all share.

use super::chains::{Lanes, Whose};
use crate::detect::clock::{Block, ChainId, Clock, Point, WIDTH, join, join_block, knows};
use crate::trace::ThreadNo;
use std::sync::Arc;

/// From one thread to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop<'c> {
    pub(super) from: ThreadNo,
    pub(super) to: ThreadNo,
    /// Nothing will go back: one of the two is the environment, whose every act is a thread of its own, or the first one has ended.
    pub(super) fleeting: bool,
    /// The chains of the receiver.
    pub(super) own: &'c [ChainId],
}

/// Nothing is known of the chains of a block.
pub(super) const NOTHING: Block = [0; WIDTH];

/// Clocks by thread. invariant: ascending
type ByThread = Vec<(ThreadNo, Arc<Clock>)>;

/// What a context knows. A copy shares all clocks.
#[derive(Clone, Default, Debug)]
pub(super) struct State {
    st: Arc<Clock>,
    far: Arc<Clock>,
    two: ByThread,
    long: ByThread,
    back: ByThread,
    // All that `two` and `long` know, if those are many: so that a receiver need not look at each. It may know more, but that `far` knows as well.
    many: Option<Arc<Clock>>,
}

// More clocks by thread than this are many.
const MANY: usize = if cfg!(test) { 3 } else { 16 };

impl State {
    /// Up to where a chain of this thread is st-before.
    pub(super) fn st(&self, chain: ChainId) -> u32 {
        self.st.get(chain)
    }

    /// Up to where a chain of another thread is before.
    pub(super) fn mt(&self, chain: ChainId, owner: ThreadNo) -> u32 {
        self.far.get(chain).max(get(&self.two, owner, chain))
    }

    /// How far a chain of a thread is known by a path of any shape. A post of the environment is on a thread of its own, so that what knows the begin of its task in any way
    /// comes after the post.
    pub(super) fn any(&self, chain: ChainId, owner: ThreadNo) -> u32 {
        let back = self.back.iter().map(|(_, clock)| clock.get(chain)).max().unwrap_or(0);
        self.st(chain).max(self.mt(chain, owner)).max(get(&self.long, owner, chain)).max(back)
    }

    /// How many blocks of chains may be known by paths on this thread.
    pub(super) fn st_blocks(&self) -> usize {
        self.st.len()
    }

    /// How many blocks of chains may be known.
    pub(super) fn blocks(&self) -> usize {
        let others = self.two.iter().chain(&self.long).chain(&self.back).map(|(_, clock)| clock.len());
        others.chain([self.st.len(), self.far.len()]).max().unwrap_or(0)
    }

    /// What is st-before, of the chains of a block.
    pub(super) fn st_block(&self, block: usize) -> &Block {
        self.st.block(block).map_or(&NOTHING, |st| st)
    }

    /// Of the chains of a block: up to where each is before what happens here.
    pub(super) fn reach(&self, block: usize, whose: Whose) -> Option<Arc<Block>> {
        match whose {
            Whose::Own => self.st.block(block).cloned(),
            Whose::Of(thread) => {
                let mut reach = self.far.block(block).cloned();
                let two = of(&self.two, thread).and_then(|two| two.block(block));
                two.into_iter().for_each(|two| join_block(&mut reach, two));
                reach
            }
            Whose::Several(own) => {
                let (st, far) = (self.st_block(block), self.far.block(block).map_or(&NOTHING, |far| far));
                let is_own = |k: usize| own >> k & 1 == 1;
                let mut reach = Some(Arc::new(std::array::from_fn(|k| if is_own(k) { st[k] } else { far[k] })));
                // Of `two` no chain is of this thread.
                blocks(&self.two, block).for_each(|two| join_block(&mut reach, two));
                reach
            }
        }
    }

    /// The chains of a block that are known further by a path of any shape.
    pub(super) fn any_news(&self, block: usize, known: &Block) -> Lanes {
        let plain = self.far.block(block).into_iter().chain(self.st.block(block));
        let lists = [&self.two, &self.long, &self.back].into_iter().flat_map(|list| blocks(list, block));
        plain.chain(lists).fold(0, |lanes, reach| lanes | news(reach, known))
    }

    /// Learns a point of the own thread that is st-before.
    pub(super) fn learn(&mut self, point: Point) {
        if !self.st.has(point) {
            Arc::make_mut(&mut self.st).learn(point);
        }
    }

    /// Learns what is st-before, all of it by an edge of the own thread.
    pub(super) fn join(&mut self, other: &State) {
        join(&mut self.st, &other.st);
        let grown = join(&mut self.far, &other.far);
        let lists = [(&mut self.two, &other.two), (&mut self.long, &other.long), (&mut self.back, &other.back)];
        for (mine, theirs) in lists {
            for (thread, clock) in theirs {
                learn(&self.far, mine, *thread, clock);
            }
        }
        match (&mut self.many, &other.many) {
            (Some(many), Some(theirs)) => _ = join(many, theirs),
            (Some(many), None) => other.by_two().for_each(|(_, clock)| _ = join(many, clock)),
            (None, _) => {}
        }
        self.count();
        if grown {
            self.trim();
        }
    }

    /// Learns what another thread knows, by an edge from there.
    pub(super) fn receive(&mut self, other: &State, hop: Hop<'_>) {
        let Hop { from, to, fleeting, own } = hop;
        let mut grown = join(&mut self.far, &other.far);
        // Of the receiver's own points the way back is remembered, unless nobody goes there again.
        let returns = |owner: ThreadNo| owner == to && !fleeting;
        let returning = [&other.two, &other.long].into_iter().filter_map(|list| of(list, to).filter(|_| returns(to)));
        match &other.many {
            // What is of the receiver's chains is of the receiver.
            Some(many) if own.len() < other.by_two().count() => {
                let mut many = many.clone();
                for chain in own.iter().filter(|_| !fleeting) {
                    if many.get(*chain) > 0 {
                        Arc::make_mut(&mut many).forget(*chain);
                    }
                }
                grown |= join(&mut self.far, &many);
            }
            _ => {
                for (_, clock) in other.by_two().filter(|(owner, _)| !returns(*owner)) {
                    grown |= join(&mut self.far, clock);
                }
            }
        }
        for clock in returning {
            learn(&self.far, &mut self.back, from, clock);
        }
        for (via, clock) in &other.back {
            let returns = *via == to;
            if returns {
                learn(&self.far, &mut self.long, from, clock);
            } else {
                grown |= join(&mut self.far, clock);
            }
        }
        learn(&self.far, &mut self.two, from, &other.st);
        if let Some(many) = &mut self.many {
            let news = [&self.two, &self.long].into_iter().filter_map(|list| of(list, from));
            news.for_each(|clock| _ = join(many, clock));
        }
        self.count();
        if grown {
            self.trim();
        }
    }

    fn by_two(&self) -> impl Iterator<Item = &(ThreadNo, Arc<Clock>)> {
        self.two.iter().chain(&self.long)
    }

    // There may be many clocks by thread now, or no more.
    fn count(&mut self) {
        if self.two.len() + self.long.len() <= MANY {
            self.many = None;
        } else if self.many.is_none() {
            let mut many = Arc::default();
            self.by_two().for_each(|(_, clock)| _ = join(&mut many, clock));
            self.many = Some(many);
        }
    }

    // Drops what `far` covers, after it has grown: nothing that it covers was learned.
    fn trim(&mut self) {
        let far = &self.far;
        for list in [&mut self.two, &mut self.long, &mut self.back] {
            list.retain(|(_, clock)| !far.covers(clock));
        }
    }
}

// Learns a clock of a thread, if `far` does not cover it.
fn learn(far: &Clock, list: &mut ByThread, thread: ThreadNo, clock: &Arc<Clock>) {
    if !far.covers(clock) {
        join(entry(list, thread), clock);
    }
}

fn of(list: &ByThread, thread: ThreadNo) -> Option<&Arc<Clock>> {
    let at = list.binary_search_by_key(&thread, |(t, _)| *t).ok()?;
    Some(&list[at].1)
}

fn get(list: &ByThread, thread: ThreadNo, chain: ChainId) -> u32 {
    of(list, thread).map_or(0, |clock| clock.get(chain))
}

/// The chains of a block that are known further.
pub(super) fn news(reach: &Block, known: &Block) -> Lanes {
    if knows(known, reach) {
        return 0;
    }
    (0..WIDTH).fold(0, |lanes, k| lanes | Lanes::from(reach[k] > known[k]) << k)
}

fn blocks(list: &ByThread, block: usize) -> impl Iterator<Item = &Arc<Block>> {
    list.iter().filter_map(move |(_, clock)| clock.block(block))
}

fn entry(list: &mut ByThread, thread: ThreadNo) -> &mut Arc<Clock> {
    let at = list.binary_search_by_key(&thread, |(t, _)| *t).unwrap_or_else(|at| {
        list.insert(at, (thread, Arc::default()));
        at
    });
    &mut list[at].1
}
