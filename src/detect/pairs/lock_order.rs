//! The lock order of a run: which lock a thread or task wanted while it held which other one. Deadlock rings are found
//! in it (`rings`).
//!
//! An edge is one acquisition with one of the locks that were held around it. The acquisitions at which threads are
//! blocked at the end of the run, in a deadlock for example, are edges as well, although they were never performed.
//!
//! - The return from a wait acquires its lock. The wait has released that lock and no other one.
//! - The two sides of a reader-writer lock are two holds. A writer that has announced itself keeps readers out, so an
//!   announcement is a claim like a hold.
//! - A timed acquisition gives up, so that it is blocked for no longer than that: it is no edge. Its lock is held like
//!   any other one. A unit of a semaphore belongs to no thread, so that semaphores are no part of a ring.

use super::watch::{Act, OperationKey, RunState};
use crate::base::mutant::{self, Mutant};
use crate::detect::relation::clock::Point;
use crate::detect::relation::contexts::ContextClock;
use crate::detect::relation::held::LocksetId;
use crate::event::{ContextId, Op, RwLockId, SiteId, ThreadId, Value};
use crate::world::{Change, LockHold, Thing, World};
use std::collections::BTreeMap;

// Maximum number of different edges of a run, of contexts that are kept for each of them, and of locks around an
// acquisition that count: the innermost ones. They bound the work in programs with thousands of locks.
const MOST_EDGES: usize = 1_024;
const MOST_CONTEXTS: usize = 8;
const MOST_AROUND: usize = 16;

/// What keeps other threads from a lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum LockClaim {
    /// A lock, or one side of a reader-writer lock, is held.
    Hold(LockHold),
    /// A writer has announced itself, and does not hold the lock yet.
    Announced(RwLockId),
}

impl LockClaim {
    /// Whether a thread that wants this waits for the thread with the claim.
    pub(super) fn blocks(self, wanted: LockHold) -> bool {
        match self {
            LockClaim::Hold(hold) if mutant::is(Mutant::RingOfReaders) => hold.thing() == wanted.thing(),
            LockClaim::Hold(hold) => hold.excludes(wanted),
            LockClaim::Announced(lock) => wanted == LockHold::Read(lock),
        }
    }

    /// Returns the lock.
    pub(super) fn thing(self) -> Thing {
        match self {
            LockClaim::Hold(hold) => hold.thing(),
            LockClaim::Announced(lock) => Thing::RwLock(lock),
        }
    }

    /// Returns the name of the claim: `lock l`, `read rw`, `announced write rw`.
    pub(super) fn name(self, world: &World) -> String {
        match self {
            LockClaim::Hold(hold) => hold.name(world),
            LockClaim::Announced(lock) => format!("announced {}", LockHold::Write(lock).name(world)),
        }
    }
}

/// A claim of a thread, with the operation that made it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MadeClaim {
    pub(super) claim: LockClaim,
    pub(super) site: SiteId,
    pub(super) step: u64,
}

/// An acquisition of a lock by a thread or task that had a claim on another one.
#[derive(Clone)]
pub(super) struct LockEdge {
    pub(super) made: MadeClaim,
    pub(super) wanted: LockHold,
    pub(super) site: SiteId,
    /// Step of the acquisition; the last step of the run if it was never performed.
    pub(super) step: u64,
    /// Whether the thread is blocked here at the end of the run.
    pub(super) pending: bool,
    pub(super) context: ContextId,
    by: OperationKey,
    at: Point,
    clock: ContextClock,
}

impl LockEdge {
    /// Whether two contexts may be at these acquisitions at the same time: they may run at once, hold no lock that
    /// excludes the other one's, and neither acquisition is before the other one in every run.
    pub(super) fn may_meet(&self, other: &LockEdge, watch: &RunState) -> bool {
        if mutant::is(Mutant::RingOfOneThread) && self.context == other.context {
            return self.step != other.step;
        }
        self.context != other.context
            && (!self.by.is_same_looper(&other.by) || mutant::is(Mutant::RingOfOneLooper))
            && (!watch.held.exclude(self.by.lockset, other.by.lockset) || mutant::is(Mutant::RingUnderCommonLock))
            && (!self.clock.has(other.at) && !other.clock.has(self.at) || mutant::is(Mutant::RingInForcedOrder))
    }
}

// Edges that differ in none of this are occurrences of one edge.
type EdgeKey = (LockClaim, SiteId, LockHold, OperationKey);

/// The lock order of a run, up to the latest event.
#[derive(Default)]
pub(in crate::detect) struct LockOrder {
    // Claims by thread, the outermost first. invariant: no claim twice
    claims: BTreeMap<ThreadId, Vec<MadeClaim>>,
    // For each edge the first and the last occurrence of some contexts: whatever is ordered with an occurrence between
    // the two is nearly always ordered with one of them.
    edges: BTreeMap<EdgeKey, Vec<(LockEdge, Option<LockEdge>)>>,
}

impl LockOrder {
    /// Processes an operation. `watch.held` has the lock sets before it.
    pub(in crate::detect) fn observe(
        &mut self,
        world: &World,
        watch: &mut RunState,
        (op, value, act): (&Op, Value, &Act),
    ) {
        if act.refused {
            return;
        }
        let thread = act.thread;
        match *op {
            Op::Announce(_) if mutant::is(Mutant::RingWithoutAnnounced) => {}
            Op::Announce(lock) => self.claim(LockClaim::Announced(lock), act),
            Op::Reacquire { lock, .. } => self.want(watch, LockHold::Lock(lock), act),
            _ => {}
        }
        match world.effects(thread, op).hold() {
            Some((hold, Change::Taken)) => {
                let is_new = watch.held.count_of(thread, hold) == 0;
                // A timed acquisition has a value. A reader that reads again waits for a writer that has announced
                // itself.
                if (is_new || matches!(hold, LockHold::Read(_))) && (value == 0 || mutant::is(Mutant::RingOfTimed)) {
                    self.want(watch, hold, act);
                }
                if let LockHold::Write(lock) = hold {
                    self.give_up(thread, LockClaim::Announced(lock));
                }
                if is_new {
                    self.claim(LockClaim::Hold(hold), act);
                }
            }
            Some((hold, Change::GivenUp)) if watch.held.count_of(thread, hold) == 1 => {
                self.give_up(thread, LockClaim::Hold(hold));
            }
            _ => {}
        }
    }

    fn claim(&mut self, claim: LockClaim, act: &Act) {
        let made = MadeClaim { claim, site: act.by.site, step: act.when.step };
        self.claims.entry(act.thread).or_default().push(made);
    }

    fn give_up(&mut self, thread: ThreadId, claim: LockClaim) {
        if mutant::is(Mutant::RingWithReleased) {
            return;
        }
        if let Some(claims) = self.claims.get_mut(&thread)
            && let Some(at) = claims.iter().rposition(|made| made.claim == claim)
        {
            claims.remove(at);
        }
    }

    // Keeps the edges of an acquisition that was performed.
    fn want(&mut self, watch: &mut RunState, wanted: LockHold, act: &Act) {
        let around = self.around(act.thread, wanted);
        if around.is_empty() {
            return;
        }
        let Some(clock) = watch.now(act.when.context).cloned() else { return };
        let by = OperationKey { lockset: without(watch, act.by.lockset, wanted), ..act.by };
        for made in around {
            let (step, context, at) = (act.when.step, act.when.context, act.when.at.hybrid());
            let clock = clock.clone();
            self.keep(LockEdge { made, wanted, site: by.site, step, pending: false, context, by, at, clock });
        }
    }

    // Returns the innermost claims of a thread that wants this lock. The lock that a wait has released is none.
    fn around(&self, thread: ThreadId, wanted: LockHold) -> Vec<MadeClaim> {
        let is_other = |made: &&MadeClaim| match (made.claim, wanted) {
            (LockClaim::Hold(LockHold::Lock(held)), LockHold::Lock(wanted)) => held != wanted,
            _ => true,
        };
        let claims = self.claims.get(&thread).into_iter().flatten().rev();
        claims.filter(is_other).take(MOST_AROUND).copied().collect()
    }

    fn keep(&mut self, edge: LockEdge) {
        let key = (edge.made.claim, edge.made.site, edge.wanted, edge.by);
        if self.edges.len() >= MOST_EDGES && !self.edges.contains_key(&key) {
            return;
        }
        let known = self.edges.entry(key).or_default();
        match known.iter().position(|(first, _)| first.context == edge.context) {
            Some(at) => known[at].1 = Some(edge),
            None if known.len() < MOST_CONTEXTS => known.push((edge, None)),
            None => {}
        }
    }

    /// Returns all edges of a run that has ended in this state, those at which threads are blocked first.
    pub(super) fn finish(&self, watch: &mut RunState, world: &World) -> Vec<LockEdge> {
        let mut edges = Vec::new();
        if !mutant::is(Mutant::RingWithoutBlocked) {
            world.threads().ids().for_each(|thread| edges.extend(self.blocked(watch, world, thread)));
        }
        let known = self.edges.values().flatten();
        edges.extend(known.flat_map(|(first, last)| std::iter::once(first).chain(last)).cloned());
        edges
    }

    // Returns the edges of a thread that is blocked at a lock.
    fn blocked(&self, watch: &mut RunState, world: &World, thread: ThreadId) -> Vec<LockEdge> {
        let (Some(wanted), Some(site)) = (world.wanted(thread), world.thread(thread).site) else { return Vec::new() };
        let context = world.thread(thread).context;
        let Some(clock) = watch.now(context).cloned() else { return Vec::new() };
        let lockset = watch.held.lockset(thread);
        let lockset = without(watch, lockset, wanted);
        let by = OperationKey { site, looper: RunState::looper(world, thread, context), lockset };
        let (step, at) = (world.steps(), clock.at());
        let edge = |made| LockEdge { made, wanted, site, step, pending: true, context, by, at, clock: clock.clone() };
        self.around(thread, wanted).into_iter().map(edge).collect()
    }
}

// The lock set around an acquisition. At the return from a wait it does not contain the lock that the wait has
// released.
fn without(watch: &mut RunState, set: LocksetId, wanted: LockHold) -> LocksetId {
    if matches!(wanted, LockHold::Lock(_)) { watch.held.without(set, wanted) } else { set }
}
