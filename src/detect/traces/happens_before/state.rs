//! The state of a context: its knowledge of what is before it, in a relation that is transitive only in part.
//!
//! DroidRacer derives no order between two operations of one thread through another thread (rules TRANS-ST and
//! TRANS-MT): two tasks of one looper that take a lock in turn stay unordered. A vector clock would order them. A
//! state therefore has several clocks, by the shape of the paths that lead to the context. A *block* of a path is a
//! maximal part of it on one thread.
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
//! A point of this thread is before the context's next operation if it is in `st`; a point of another thread if it is
//! in `two` or `far`. The other clocks serve receivers: a point that has come back through v alone is known to a
//! third thread, but in v nothing orders it. A point in `far` gives every receiver at least as much as the same point
//! in `two`, `long` or `back`. Clocks of these that `far` covers are therefore dropped, so that after some exchange
//! there is one clock, whose blocks all states share.

use super::chains::ChainOwner;
use crate::detect::relation::clock::{ChainId, Clock, ClockBlock, Point, WIDTH, join, join_block, knows};
use crate::detect::relation::lanes::Lanes;
use crate::trace::ThreadNo;
use std::sync::Arc;

/// An edge from one thread to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadEdge<'c> {
    pub(super) from: ThreadNo,
    pub(super) to: ThreadNo,
    /// Whether nothing can go back: one of the two threads is the environment, whose every act is a thread of its
    /// own, or the first thread has ended.
    pub(super) fleeting: bool,
    /// Chains of the receiver.
    pub(super) own: &'c [ChainId],
}

/// A block of which nothing is known.
pub(super) const NOTHING: ClockBlock = [0; WIDTH];

/// Clocks by thread. invariant: ascending
type ByThread = Vec<(ThreadNo, Arc<Clock>)>;

/// The state of a context. A copy shares all clocks.
#[derive(Clone, Default, Debug)]
pub(super) struct ContextState {
    st: Arc<Clock>,
    far: Arc<Clock>,
    two: ByThread,
    long: ByThread,
    back: ByThread,
    // Join of all clocks in `two` and `long`, if those are many, so that a receiver need not look at each. It may
    // also contain older points that `far` covers.
    many: Option<Arc<Clock>>,
}

// Number of clocks by thread above which `many` is kept.
const MANY: usize = if cfg!(test) { 3 } else { 16 };

impl ContextState {
    /// Returns the epoch up to which a chain of this thread is st-before.
    pub(super) fn st(&self, chain: ChainId) -> u32 {
        self.st.get(chain)
    }

    /// Returns the epoch up to which a chain of another thread is before.
    pub(super) fn mt(&self, chain: ChainId, owner: ThreadNo) -> u32 {
        self.far.get(chain).max(get(&self.two, owner, chain))
    }

    /// Returns the epoch up to which a chain of a thread is known by a path of any shape. It serves posts of the
    /// environment: each is a thread of its own, so that a state that knows the begin of its task by any path comes
    /// after the post.
    pub(super) fn any(&self, chain: ChainId, owner: ThreadNo) -> u32 {
        let back = self.back.iter().map(|(_, clock)| clock.get(chain)).max().unwrap_or(0);
        self.st(chain).max(self.mt(chain, owner)).max(get(&self.long, owner, chain)).max(back)
    }

    /// Upper bound of the number of blocks of chains that are known.
    pub(super) fn blocks(&self) -> usize {
        let others = self.two.iter().chain(&self.long).chain(&self.back).map(|(_, clock)| clock.len());
        others.chain([self.st.len(), self.far.len()]).max().unwrap_or(0)
    }

    /// Returns the epochs up to which the chains of a block are st-before.
    pub(super) fn st_block(&self, block: usize) -> &ClockBlock {
        self.st.block(block).map_or(&NOTHING, |st| st)
    }

    /// Returns the epochs up to which the chains of a block are before the context's next operation.
    pub(super) fn reach(&self, block: usize, owner_of: ChainOwner) -> Option<Arc<ClockBlock>> {
        match owner_of {
            ChainOwner::Own => self.st.block(block).cloned(),
            ChainOwner::Of(thread) => {
                let mut reach = self.far.block(block).cloned();
                let two = of(&self.two, thread).and_then(|two| two.block(block));
                two.into_iter().for_each(|two| join_block(&mut reach, two));
                reach
            }
            ChainOwner::Several(own) => {
                let (st, far) = (self.st_block(block), self.far.block(block).map_or(&NOTHING, |far| far));
                let is_own = |k: usize| own >> k & 1 == 1;
                let mut reach = Some(Arc::new(std::array::from_fn(|k| if is_own(k) { st[k] } else { far[k] })));
                // No chain in `two` belongs to this thread.
                blocks(&self.two, block).for_each(|two| join_block(&mut reach, two));
                reach
            }
        }
    }

    /// Returns the chains of a block that are known further than `known` by a path of any shape.
    pub(super) fn any_news(&self, block: usize, known: &ClockBlock) -> Lanes {
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

    /// Learns a state that is st-before, by an edge within the thread.
    pub(super) fn join(&mut self, other: &ContextState) {
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

    /// Learns the state of another thread, by an edge from there.
    pub(super) fn receive(&mut self, other: &ContextState, hop: ThreadEdge<'_>) {
        let ThreadEdge { from, to, fleeting, own } = hop;
        let mut grown = join(&mut self.far, &other.far);
        // For the receiver's own points the state keeps through which thread they came back, unless nothing can go
        // back.
        let returns = |owner: ThreadNo| owner == to && !fleeting;
        let returning = [&other.two, &other.long].into_iter().filter_map(|list| of(list, to).filter(|_| returns(to)));
        match &other.many {
            // Points of the receiver's own chains are removed: they belong to the receiver.
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

    // Creates or drops `many`, by the number of clocks by thread.
    fn count(&mut self) {
        if self.two.len() + self.long.len() <= MANY {
            self.many = None;
        } else if self.many.is_none() {
            let mut many = Arc::default();
            self.by_two().for_each(|(_, clock)| _ = join(&mut many, clock));
            self.many = Some(many);
        }
    }

    // Drops the clocks that `far` covers, after it has grown. `learn` adds none that it covers.
    fn trim(&mut self) {
        let far = &self.far;
        for list in [&mut self.two, &mut self.long, &mut self.back] {
            list.retain(|(_, clock)| !far.covers(clock));
        }
    }
}

// Learns a clock of a thread, unless `far` covers it.
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

/// Returns the chains of a block that `reach` knows further than `known`.
pub(super) fn news(reach: &ClockBlock, known: &ClockBlock) -> Lanes {
    if knows(known, reach) {
        return 0;
    }
    (0..WIDTH).fold(0, |lanes, k| lanes | Lanes::from(reach[k] > known[k]) << k)
}

fn blocks(list: &ByThread, block: usize) -> impl Iterator<Item = &Arc<ClockBlock>> {
    list.iter().filter_map(move |(_, clock)| clock.block(block))
}

fn entry(list: &mut ByThread, thread: ThreadNo) -> &mut Arc<Clock> {
    let at = list.binary_search_by_key(&thread, |(t, _)| *t).unwrap_or_else(|at| {
        list.insert(at, (thread, Arc::default()));
        at
    });
    &mut list[at].1
}
