//! What a context knows of what is before it, in a relation that is transitive only in part.
//!
//! DroidRacer derives no order between two operations of one thread by way of another thread (rules TRANS-ST and TRANS-MT): two tasks of one looper that take a lock in
//! turn stay unordered. A vector clock would order them. So of each chain of contexts three epochs are known, by the shape of the paths that lead here. A *block* of a path
//! is a maximal part of it on one thread.
//!
//! | | a point of this thread | a point of another thread u |
//! |---|---|---|
//! | `direct` | a path on this thread alone | a path of two blocks: u, then here |
//! | `far` | it came back through several threads | a path through a third thread |
//! | `near` | it came back through the thread `via` alone | a longer path, through u and here alone |
//!
//! A point is before what happens here if it is `direct`, or of another thread and `far`. The rest is what others need: a point that has come back through u alone is
//! known to a third thread, but in u it would be ordered by nothing but u and here. Each of `direct`, `far`, `near` of another thread tells a receiver as much as the ones
//! after it in the order far, direct, near; so a path of a worse shape counts only if it reaches further.

use crate::trace::ThreadNo;
use std::sync::Arc;

crate::define_id! {
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// A chain of contexts of one thread, each of which is st-before the next.
    ChainNo
}

/// An epoch of a chain: what a context does between two operations that tell others something. Epochs count from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Point {
    /// The chain.
    pub(super) chain: ChainNo,
    /// How far on it.
    pub(super) epoch: u32,
}

/// How far a chain is known, by the shape of the path.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Known {
    pub(super) direct: u32,
    pub(super) far: u32,
    // invariant: more than `far`, or 0
    near: u32,
    // The thread that `near` came back through, + 1; 0 for points of another thread.
    via: u32,
}

impl Known {
    fn is_nothing(self) -> bool {
        self == Known::default()
    }

    /// How far it is known by a path of any shape. A post of the environment is on a thread of its own, so that what knows the begin of its task in any way
    /// comes after the post.
    pub(super) fn any(self) -> u32 {
        self.direct.max(self.far).max(self.near)
    }

    fn join(self, other: Known) -> Known {
        let far = self.far.max(other.far);
        let (high, low) = if self.near >= other.near { (self, other) } else { (other, self) };
        // What came back through two different threads has come back through several.
        let far = if high.via == low.via { far } else { far.max(low.near) };
        Known { direct: self.direct.max(other.direct), far, near: high.near, via: high.via }.trimmed()
    }

    fn trimmed(self) -> Known {
        if self.near <= self.far { Known { near: 0, via: 0, ..self } } else { self }
    }

    /// The same in the thread `to`, which learns it from the thread `from`. The point is of the thread `owner`.
    fn carried(self, hop: Hop, owner: ThreadNo) -> Known {
        let Known { direct, far, near, via } = self;
        if owner == hop.from {
            if near > 0 && via == hop.to.0 + 1 && !hop.fleeting {
                Known { direct, far, near, via: 0 }.trimmed()
            } else {
                Known { direct, far: far.max(near), near: 0, via: 0 }
            }
        } else if owner == hop.to {
            let near = direct.max(near);
            if hop.fleeting {
                Known { direct: 0, far: far.max(near), near: 0, via: 0 }
            } else {
                Known { direct: 0, far, near, via: hop.from.0 + 1 }.trimmed()
            }
        } else {
            Known { direct: 0, far: far.max(direct).max(near), near: 0, via: 0 }
        }
    }
}

/// From one thread to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) from: ThreadNo,
    pub(super) to: ThreadNo,
    /// One of the two is the environment, whose every act is a thread of its own: nothing comes back to it.
    pub(super) fleeting: bool,
}

const WIDTH: u32 = 16;
type Block = [Known; WIDTH as usize];

/// What a context knows. Blocks of chains are shared, so that a copy costs a pointer for each block that is known at all.
#[derive(Clone, Default, Debug)]
pub(super) struct State {
    // invariant: ascending by number
    blocks: Vec<(u32, Arc<Block>)>,
}

impl State {
    /// How far the chain is known.
    pub(super) fn get(&self, chain: ChainNo) -> Known {
        let number = chain.0 / WIDTH;
        // Few blocks are the rule.
        let at = if self.blocks.len() <= 4 {
            self.blocks.iter().position(|(n, _)| *n == number)
        } else {
            self.blocks.binary_search_by_key(&number, |(n, _)| *n).ok()
        };
        at.map_or_else(Known::default, |at| self.blocks[at].1[(chain.0 % WIDTH) as usize])
    }

    /// What is known, chain by chain.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ChainNo, Known)> + '_ {
        self.blocks.iter().flat_map(|(number, block)| {
            let chain = move |k: usize| ChainNo(number * WIDTH + k as u32);
            let known = block.iter().enumerate().filter(|(_, known)| !known.is_nothing());
            known.map(move |(k, known)| (chain(k), *known))
        })
    }

    /// Learns a point of the own thread that is st-before.
    pub(super) fn learn(&mut self, point: Point) {
        let number = point.chain.0 / WIDTH;
        let at = self.blocks.binary_search_by_key(&number, |(n, _)| *n).unwrap_or_else(|at| {
            self.blocks.insert(at, (number, Arc::new(Block::default())));
            at
        });
        let slot = (point.chain.0 % WIDTH) as usize;
        if self.blocks[at].1[slot].direct < point.epoch {
            Arc::make_mut(&mut self.blocks[at].1)[slot].direct = point.epoch;
        }
    }

    /// Learns what is st-before, all of it by an edge of the own thread.
    pub(super) fn join(&mut self, other: &State) {
        let mut at = 0;
        for (number, theirs) in &other.blocks {
            while self.blocks.get(at).is_some_and(|(n, _)| n < number) {
                at += 1;
            }
            match self.blocks.get_mut(at) {
                Some((n, mine)) if n == number => join_block(mine, theirs),
                _ => self.blocks.insert(at, (*number, theirs.clone())),
            }
            at += 1;
        }
    }

    /// Learns what another thread knows, by an edge from there. `owner` tells whose a chain is.
    pub(super) fn receive(&mut self, other: &State, hop: Hop, owner: impl Fn(ChainNo) -> ThreadNo) {
        let mut at = 0;
        for (number, theirs) in &other.blocks {
            while self.blocks.get(at).is_some_and(|(n, _)| n < number) {
                at += 1;
            }
            let carried = carry_block(*number, theirs, hop, &owner);
            match self.blocks.get_mut(at) {
                Some((n, mine)) if n == number => join_block(mine, &carried),
                _ => self.blocks.insert(at, (*number, carried)),
            }
            at += 1;
        }
    }
}

// Sharing keeps later joins cheap: a block that knows no more is taken over.
fn join_block(mine: &mut Arc<Block>, theirs: &Arc<Block>) {
    if Arc::ptr_eq(mine, theirs) {
        return;
    }
    let mut joined = **mine;
    let (mut is_mine, mut is_theirs) = (true, true);
    for (slot, (m, t)) in joined.iter_mut().zip(mine.iter().zip(theirs.iter())) {
        let both = if m == t { *m } else { m.join(*t) };
        is_mine &= both == *m;
        is_theirs &= both == *t;
        *slot = both;
    }
    if is_theirs {
        *mine = theirs.clone();
    } else if !is_mine {
        *mine = Arc::new(joined);
    }
}

fn carry_block(number: u32, theirs: &Arc<Block>, hop: Hop, owner: &impl Fn(ChainNo) -> ThreadNo) -> Arc<Block> {
    let mut carried = **theirs;
    let mut same = true;
    for (k, slot) in carried.iter_mut().enumerate() {
        if !slot.is_nothing() {
            let known = slot.carried(hop, owner(ChainNo(number * WIDTH + k as u32)));
            same &= known == *slot;
            *slot = known;
        }
    }
    if same { theirs.clone() } else { Arc::new(carried) }
}

#[cfg(test)]
mod tests {
    use super::{Known, State};

    #[test]
    fn a_point_that_came_back_through_two_threads_is_far() {
        let through = |via, near| Known { direct: 0, far: 0, near, via };
        let both = through(1, 5).join(through(2, 3));
        assert_eq!(both, Known { direct: 0, far: 3, near: 5, via: 1 });
        assert_eq!(through(1, 4).join(through(2, 4)), Known { direct: 0, far: 4, near: 0, via: 0 });
        assert!(State::default().iter().next().is_none());
    }
}
