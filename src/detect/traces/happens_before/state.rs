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

use super::chains::Chains;
use crate::detect::relation::clock::{ChainId, ClockBlock, Point, knows};
use crate::detect::relation::lanes::{Lanes, lanes};
use crate::detect::relation::tree::{ClockStore, TreeClock};
use crate::trace::ThreadNo;
use smallvec::SmallVec;

/// An edge from one thread to another.
#[derive(Clone, Copy)]
pub(super) struct ThreadEdge<'c> {
    pub(super) from: ThreadNo,
    pub(super) to: ThreadNo,
    /// Whether nothing can go back: one of the two threads is the environment, whose every act is a thread of its
    /// own, or the first thread has ended.
    pub(super) fleeting: bool,
    pub(super) chains: &'c Chains,
}

/// Clocks by thread. invariant: ascending
type ByThread = SmallVec<[(ThreadNo, TreeClock); 2]>;

/// The state of a context.
#[derive(Clone, Default, Debug)]
pub(super) struct ContextState {
    st: TreeClock,
    far: TreeClock,
    two: ByThread,
    long: ByThread,
    back: ByThread,
    // Join of all clocks in `two` and `long`, if those are many, so that a receiver need not look at each. It may
    // also contain older points that `far` covers.
    many: Option<TreeClock>,
}

// Number of clocks by thread above which `many` is kept.
const MANY: usize = if cfg!(test) { 3 } else { 16 };

impl ContextState {
    /// Returns what is st-before.
    pub(super) fn st(&self) -> TreeClock {
        self.st
    }

    /// Returns the epoch up to which a chain of another thread is before.
    pub(super) fn mt(&self, clocks: &ClockStore, chain: ChainId, owner: ThreadNo) -> u32 {
        clocks.get(self.far, chain).max(get(clocks, &self.two, owner, chain))
    }

    /// Returns the epoch up to which a chain of a thread is known by a path of any shape. It serves posts of the
    /// environment: each is a thread of its own, so that a state that knows the begin of its task by any path comes
    /// after the post.
    pub(super) fn any(&self, clocks: &ClockStore, chain: ChainId, owner: ThreadNo) -> u32 {
        let back = self.back.iter().map(|(_, clock)| clocks.get(*clock, chain)).max().unwrap_or(0);
        let long = get(clocks, &self.long, owner, chain);
        clocks.get(self.st, chain).max(self.mt(clocks, chain, owner)).max(long).max(back)
    }

    /// Returns all clocks: what is known by a path of any shape.
    pub(super) fn all(&self) -> SmallVec<[TreeClock; 8]> {
        let lists = [&self.two, &self.long, &self.back].into_iter().flatten().map(|(_, clock)| *clock);
        [self.st, self.far].into_iter().chain(lists).collect()
    }

    /// Returns what is before the next operation of a context of this thread.
    pub(super) fn reach(&self, clocks: &mut ClockStore, chains: &Chains, thread: ThreadNo) -> TreeClock {
        let far = foreign(clocks, self.far, (chains, thread));
        let reach = clocks.join(self.st, far);
        self.two.iter().fold(reach, |reach, (_, clock)| clocks.join(reach, *clock))
    }

    /// Learns a point of the own thread that is st-before.
    pub(super) fn learn(&mut self, clocks: &mut ClockStore, point: Point) {
        self.st = clocks.learn(self.st, point);
    }

    /// Learns a state that is st-before, by an edge within the thread.
    pub(super) fn join(&mut self, clocks: &mut ClockStore, other: &ContextState) {
        self.st = clocks.join(self.st, other.st);
        let far = self.far;
        self.far = clocks.join(far, other.far);
        let lists = [(&mut self.two, &other.two), (&mut self.long, &other.long), (&mut self.back, &other.back)];
        for (mine, theirs) in lists {
            for (thread, clock) in theirs {
                learn(clocks, self.far, mine, (*thread, *clock));
            }
        }
        match (self.many, other.many) {
            (Some(many), Some(theirs)) => self.many = Some(clocks.join(many, theirs)),
            (Some(many), None) => {
                let many = other.by_two().fold(many, |many, (_, clock)| clocks.join(many, *clock));
                self.many = Some(many);
            }
            (None, _) => {}
        }
        self.count(clocks);
        if self.far != far {
            self.trim(clocks);
        }
    }

    /// Learns the state of another thread, by an edge from there.
    pub(super) fn receive(&mut self, clocks: &mut ClockStore, other: &ContextState, hop: ThreadEdge<'_>) {
        let ThreadEdge { from, to, fleeting, chains } = hop;
        let old = self.far;
        self.far = clocks.join(old, other.far);
        // For the receiver's own points the state keeps through which thread they came back, unless nothing can go
        // back.
        let returns = |owner: ThreadNo| owner == to && !fleeting;
        let returning = [&other.two, &other.long].into_iter().filter_map(|list| of(list, to).filter(|_| returns(to)));
        match other.many {
            // Points of the receiver's own chains belong to the receiver.
            Some(many) => {
                let many = if fleeting { many } else { foreign(clocks, many, (chains, to)) };
                self.far = clocks.join(self.far, many);
            }
            None => {
                for (_, clock) in other.by_two().filter(|(owner, _)| !returns(*owner)) {
                    self.far = clocks.join(self.far, *clock);
                }
            }
        }
        for clock in returning {
            learn(clocks, self.far, &mut self.back, (from, clock));
        }
        for (via, clock) in &other.back {
            let returns = *via == to;
            if returns {
                learn(clocks, self.far, &mut self.long, (from, *clock));
            } else {
                self.far = clocks.join(self.far, *clock);
            }
        }
        learn(clocks, self.far, &mut self.two, (from, other.st));
        if let Some(many) = self.many {
            let news = [&self.two, &self.long].into_iter().filter_map(|list| of(list, from));
            self.many = Some(news.fold(many, |many, clock| clocks.join(many, clock)));
        }
        self.count(clocks);
        if self.far != old {
            self.trim(clocks);
        }
    }

    fn by_two(&self) -> impl Iterator<Item = &(ThreadNo, TreeClock)> {
        self.two.iter().chain(&self.long)
    }

    // Creates or drops `many`, by the number of clocks by thread.
    fn count(&mut self, clocks: &mut ClockStore) {
        if self.two.len() + self.long.len() <= MANY {
            self.many = None;
        } else if self.many.is_none() {
            let many = self.by_two().fold(TreeClock::default(), |many, (_, clock)| clocks.join(many, *clock));
            self.many = Some(many);
        }
    }

    // Drops the clocks that `far` covers, after it has grown. `learn` adds none that it covers.
    fn trim(&mut self, clocks: &mut ClockStore) {
        for list in [&mut self.two, &mut self.long, &mut self.back] {
            list.retain(|(_, clock)| !clocks.covers(self.far, *clock));
        }
    }

    /// Shows each clock, to be changed.
    pub(super) fn visit(&mut self, each: &mut dyn FnMut(&mut TreeClock)) {
        let lists = [&mut self.two, &mut self.long, &mut self.back].into_iter().flatten().map(|(_, clock)| clock);
        [&mut self.st, &mut self.far].into_iter().chain(lists).chain(&mut self.many).for_each(each);
    }
}

// Returns a clock without what it knows of the chains of a thread.
fn foreign(clocks: &mut ClockStore, clock: TreeClock, (chains, thread): (&Chains, ThreadNo)) -> TreeClock {
    clocks.without(clock, thread.0, &|level, place| chains.share(thread, level, place))
}

// Learns a clock of a thread, unless `far` covers it.
fn learn(clocks: &mut ClockStore, far: TreeClock, list: &mut ByThread, (thread, clock): (ThreadNo, TreeClock)) {
    if !clocks.covers(far, clock) {
        let mine = entry(list, thread);
        *mine = clocks.join(*mine, clock);
    }
}

fn of(list: &ByThread, thread: ThreadNo) -> Option<TreeClock> {
    let at = list.binary_search_by_key(&thread, |(t, _)| *t).ok()?;
    Some(list[at].1)
}

fn get(clocks: &ClockStore, list: &ByThread, thread: ThreadNo, chain: ChainId) -> u32 {
    of(list, thread).map_or(0, |clock| clocks.get(clock, chain))
}

/// Returns the chains of a block that `reach` knows further than `known`.
pub(super) fn news(reach: &ClockBlock, known: &ClockBlock) -> Lanes {
    if knows(known, reach) {
        return 0;
    }
    lanes(|k| reach[k] > known[k])
}

fn entry(list: &mut ByThread, thread: ThreadNo) -> &mut TreeClock {
    let at = list.binary_search_by_key(&thread, |(t, _)| *t).unwrap_or_else(|at| {
        list.insert(at, (thread, TreeClock::default()));
        at
    });
    &mut list[at].1
}
