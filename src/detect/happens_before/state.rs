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

use crate::detect::clock::{Block, ChainId, Clock, Point, WIDTH};
use crate::trace::ThreadNo;
use std::sync::Arc;

/// From one thread to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) from: ThreadNo,
    pub(super) to: ThreadNo,
    /// Nothing will go back: one of the two is the environment, whose every act is a thread of its own, or the first one has ended.
    pub(super) fleeting: bool,
}

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
}

impl State {
    /// Up to where a chain of this thread is st-before.
    pub(super) fn st(&self, chain: ChainId) -> u32 {
        self.st.get(chain)
    }

    /// What is st-before, chain by chain.
    pub(super) fn st_points(&self) -> impl Iterator<Item = Point> + '_ {
        self.st.points()
    }

    /// Up to where a chain of another thread is before.
    pub(super) fn mt(&self, chain: ChainId, owner: ThreadNo) -> u32 {
        self.far.get(chain).max(of(&self.two, owner, chain))
    }

    /// How far a chain of a thread is known by a path of any shape. A post of the environment is on a thread of its own, so that what knows the begin of its task in any way
    /// comes after the post.
    pub(super) fn any(&self, chain: ChainId, owner: ThreadNo) -> u32 {
        let back = self.back.iter().map(|(_, clock)| clock.get(chain)).max().unwrap_or(0);
        self.st(chain).max(self.mt(chain, owner)).max(of(&self.long, owner, chain)).max(back)
    }

    /// How many blocks of chains may be known.
    pub(super) fn blocks(&self) -> usize {
        let others = self.two.iter().chain(&self.long).chain(&self.back).map(|(_, clock)| clock.len());
        others.chain([self.st.len(), self.far.len()]).max().unwrap_or(0)
    }

    /// Of the chains of a block: up to where each is before what happens here, where `owns` says which are of this thread; and up to where by a path of any shape.
    pub(super) fn reach(&self, block: usize, owns: impl Fn(usize) -> bool) -> (Block, Block) {
        const NOTHING: Block = [0; WIDTH];
        let (st, far) = (self.st.block(block), self.far.block(block));
        let (st, far) = (st.map_or(&NOTHING, |st| st), far.map_or(&NOTHING, |far| far));
        let mut reach = NOTHING;
        let mut any = NOTHING;
        for k in 0..WIDTH {
            reach[k] = if owns(block * WIDTH + k) { st[k] } else { far[k] };
            any[k] = st[k].max(far[k]);
        }
        let known = |list: &ByThread, into: &mut Block| {
            for known in list.iter().filter_map(|(_, clock)| clock.block(block)) {
                into.iter_mut().zip(known.iter()).for_each(|(to, from)| *to = (*to).max(*from));
            }
        };
        // Of `two` no chain is of this thread.
        known(&self.two, &mut reach);
        [&self.two, &self.long, &self.back].into_iter().for_each(|list| known(list, &mut any));
        (reach, any)
    }

    /// Whether both know the same of a block, as far as one look tells.
    pub(super) fn has_same(&self, other: &State, block: usize) -> bool {
        let same = |a: Option<&Arc<Block>>, b: Option<&Arc<Block>>| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        let plain = |state: &State| {
            let mut others = state.two.iter().chain(&state.long).chain(&state.back);
            others.all(|(_, clock)| clock.block(block).is_none())
        };
        same(self.st.block(block), other.st.block(block))
            && same(self.far.block(block), other.far.block(block))
            && plain(self)
            && plain(other)
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
        join(&mut self.far, &other.far);
        let lists = [(&mut self.two, &other.two), (&mut self.long, &other.long), (&mut self.back, &other.back)];
        for (mine, theirs) in lists {
            theirs.iter().for_each(|(thread, clock)| join(entry(mine, *thread), clock));
        }
        self.trim();
    }

    /// Learns what another thread knows, by an edge from there.
    pub(super) fn receive(&mut self, other: &State, hop: Hop) {
        let Hop { from, to, fleeting } = hop;
        join(&mut self.far, &other.far);
        // Of the receiver's own points the way back is remembered, unless nobody goes there again.
        for (owner, clock) in other.two.iter().chain(&other.long) {
            let returns = *owner == to && !fleeting;
            join(if returns { entry(&mut self.back, from) } else { &mut self.far }, clock);
        }
        for (via, clock) in &other.back {
            join(if *via == to { entry(&mut self.long, from) } else { &mut self.far }, clock);
        }
        join(entry(&mut self.two, from), &other.st);
        self.trim();
    }

    // Drops what `far` covers.
    fn trim(&mut self) {
        let far = &self.far;
        for list in [&mut self.two, &mut self.long, &mut self.back] {
            list.retain(|(_, clock)| !far.covers(clock));
        }
    }
}

fn of(list: &ByThread, thread: ThreadNo, chain: ChainId) -> u32 {
    list.iter().find(|(t, _)| *t == thread).map_or(0, |(_, clock)| clock.get(chain))
}

fn entry(list: &mut ByThread, thread: ThreadNo) -> &mut Arc<Clock> {
    let at = list.binary_search_by_key(&thread, |(t, _)| *t).unwrap_or_else(|at| {
        list.insert(at, (thread, Arc::default()));
        at
    });
    &mut list[at].1
}

fn join(mine: &mut Arc<Clock>, theirs: &Arc<Clock>) {
    if mine.len() == 0 {
        *mine = theirs.clone();
    } else if !Arc::ptr_eq(mine, theirs) && theirs.len() > 0 && !mine.covers(theirs) {
        Arc::make_mut(mine).join(theirs);
    }
}
