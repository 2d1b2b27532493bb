//! Finds what to hold so that operations of a run come in a wanted order.
//!
//! A goal consists of sequences of operations, and of operations that are kept out of the first sequence: each of these
//! comes before its first operation, or after its last one. All of that is orders of two operations, and for each of
//! them one cause of the later operation is held until the earlier one has been performed.

use super::causes::Causes;
use crate::campaign::runs::observations::TouchTarget;
use crate::event::{AccessKind, ContextId, PostTime, SiteId};
use crate::sched::{Hold, Moment};
use crate::world::World;
use std::collections::BTreeSet;

// Maximum number of ways for a goal.
const MOST_WAYS: usize = 8;

// Maximum number of operations that are kept out of a sequence. They come before it or after it, in this many
// combinations at most.
const MOST_KEPT_OUT: usize = 4;
const MOST_COMBINATIONS: usize = 4;

/// Sequences of operations that are wanted, and the operations to keep out of the first one, as indices of the run that
/// shows their causes.
pub(super) struct Goal {
    /// The sequences, each with its operations in order. They may have operations in common.
    pub(super) sequences: Vec<Vec<usize>>,
    /// The operations that are kept out of the first sequence.
    pub(super) without: Vec<usize>,
}

impl Goal {
    /// Returns the goal that two operations come in this order.
    pub(super) fn of_two(first: usize, then: usize) -> Self {
        Self { sequences: vec![vec![first, then]], without: Vec::new() }
    }

    /// Whether it has an order of more than two operations, or several orders.
    pub(super) fn is_longer(&self) -> bool {
        self.sequences.len() > 1 || self.sequences.iter().any(|sequence| sequence.len() > 2)
    }
}

// Where an operation that is kept out may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    After,
    Before,
}

impl Causes {
    /// Returns a goal with the first two operations of the first sequence given. `sequences` has all statements. Each
    /// further statement stands for its operation that is in the goal already, or else for its first one that conflicts
    /// with another one of its sequence, or else for its first one. `None` if the run does not perform a statement.
    pub(super) fn goal(
        &self,
        world: &World,
        (first, then): (usize, usize),
        sequences: &[Vec<SiteId>],
        without: &[SiteId],
    ) -> Option<Goal> {
        let mut all: Vec<Vec<usize>> = Vec::new();
        let mut known = vec![first, then];
        for (i, statements) in sequences.iter().enumerate() {
            let mut sequence = if i == 0 { known.clone() } else { Vec::new() };
            for site in &statements[sequence.len()..] {
                let is_here = |at: &usize| self.done[*at].site == Some(*site) && !sequence.contains(at);
                let conflicts = |at: &usize| sequence.iter().any(|of| self.conflict(world, *at, *of));
                let of_site = || (0..self.done.len()).filter(|at| is_here(at));
                let in_goal = known.iter().copied().find(is_here);
                let next = in_goal.or_else(|| of_site().find(conflicts)).or_else(|| of_site().next())?;
                sequence.push(next);
                known.push(next);
            }
            all.push(sequence);
        }
        let without = self.kept_out(world, all.first()?, |site| without.contains(&site));
        Some(Goal { sequences: all, without })
    }

    /// Returns the statements of other writes to the location at which `read` reads.
    pub(super) fn other_writers(&self, world: &World, write: usize, read: usize) -> Vec<SiteId> {
        let writes = |i: &usize| {
            let touched = self.touched(world, &self.done[*i]).map(|(touch, _)| touch);
            matches!(touched, Some(TouchTarget::Memory(access)) if access.kind == AccessKind::Write)
        };
        let others = self.kept_out(world, &[write, read], |_| true).into_iter().filter(writes);
        let sites: BTreeSet<SiteId> = others.filter_map(|i| self.done[i].site).collect();
        sites.into_iter().collect()
    }

    // Returns the operations to keep out of a sequence: the first one of each thread or task at each of these
    // statements that conflicts with one of the sequence.
    fn kept_out(&self, world: &World, order: &[usize], is_one: impl Fn(SiteId) -> bool) -> Vec<usize> {
        let mut seen: BTreeSet<(SiteId, ContextId)> = BTreeSet::new();
        let mut all = Vec::new();
        for (i, done) in self.done.iter().enumerate() {
            let Some((site, (_, context))) = done.site.zip(done.performer) else { continue };
            if is_one(site)
                && !order.contains(&i)
                && self.place(order, i).is_some()
                && order.iter().any(|of| self.conflict(world, i, *of))
                && seen.insert((site, context))
            {
                all.push(i);
            }
            if all.len() == MOST_KEPT_OUT {
                break;
            }
        }
        all
    }

    fn conflict(&self, world: &World, x: usize, y: usize) -> bool {
        let touched = |i: usize| self.touched(world, &self.done[i]).map(|(touch, _)| touch);
        touched(x).zip(touched(y)).is_some_and(|(x, y)| x.conflicts(&y))
    }

    fn context(&self, at: usize) -> Option<ContextId> {
        self.done[at].performer.map(|(_, context)| context)
    }

    // Returns the places where an operation that is kept out of a sequence may come, as far as its own thread or task
    // does not decide it; `None` if it does.
    fn place(&self, order: &[usize], at: usize) -> Option<Vec<Place>> {
        let (first, last) = (order[0], order[order.len() - 1]);
        let mut places = vec![Place::After, Place::Before];
        for of in order.iter().filter(|of| self.context(**of) == self.context(at)) {
            if (at < *of && *of == first) || (at > *of && *of == last) {
                return None;
            }
            places.retain(|place| (*place == Place::Before) == (at < *of));
        }
        (!places.is_empty()).then_some(places)
    }

    /// Returns the ways to bring a goal about, the nearest ones first. Each way is a set of holds.
    pub(super) fn ways(&self, world: &World, goal: &Goal) -> Vec<Vec<Hold>> {
        let Some(sequence) = goal.sequences.first() else { return Vec::new() };
        let mut ways = Vec::new();
        for combination in self.combinations(sequence, &goal.without) {
            let mut orders: Vec<(usize, usize)> = Vec::new();
            orders.extend(of_place(&combination, Place::Before).map(|early| (early, sequence[0])));
            orders.extend(goal.sequences.iter().flat_map(|sequence| sequence.windows(2)).map(|two| (two[0], two[1])));
            let last = sequence[sequence.len() - 1];
            orders.extend(of_place(&combination, Place::After).map(|late| (last, late)));
            let before = |then: usize| earlier(&orders, then);
            // A thread or task keeps its own order.
            let is_kept = |(first, then): &(usize, usize)| self.context(*first) == self.context(*then) && first < then;
            let open = orders.iter().filter(|order| !is_kept(order));
            let sets: Vec<Vec<Hold>> =
                open.map(|order| self.pair_ways(world, *order, &before(order.1), goal)).collect();
            // The orders have different numbers of ways. The last way of an order stands for those that are missing.
            let most = sets.iter().map(Vec::len).max().unwrap_or(0);
            if sets.iter().all(|set| !set.is_empty()) {
                let nth = |n: usize| sets.iter().map(|set| set[n.min(set.len() - 1)].clone()).collect::<Vec<Hold>>();
                ways.extend((0..most).map(|n| (n, nth(n))));
            }
        }
        ways.sort_by_key(|(n, _)| *n);
        ways.truncate(MOST_WAYS);
        ways.into_iter().map(|(_, way)| way).collect()
    }

    // Returns where the operations that are kept out come, in each combination: first all of them as late as possible.
    fn combinations(&self, order: &[usize], without: &[usize]) -> Vec<Vec<(usize, Place)>> {
        let mut all = vec![Vec::new()];
        for at in without {
            let Some(places) = self.place(order, *at) else { continue };
            let extended = |combination: &Vec<(usize, Place)>| {
                let one = |place: &Place| combination.iter().copied().chain([(*at, *place)]).collect::<Vec<_>>();
                places.iter().map(one).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(extended).take(MOST_COMBINATIONS).collect();
        }
        all
    }

    // Moment at which an operation can be held: the making of its context if it makes one, otherwise the operation
    // itself.
    fn moment(&self, world: &World, at: usize) -> Option<Moment> {
        match self.done[at].makes {
            Some(made) => Some(Moment::Makes(world.contexts().chain(made))),
            None => self.itself(world, at),
        }
    }

    // Moment of the operation itself, even if it makes a context.
    fn itself(&self, world: &World, at: usize) -> Option<Moment> {
        let done = &self.done[at];
        let (context, site) = (done.performer?.1, done.site?);
        Some(Moment::Step { context: world.contexts().chain(context), site, nth: done.nth })
    }

    // Returns the ways to force `first` before `then`, the nearest to `then` first. Nothing is held that `first` needs,
    // or another operation that has to come before `then` (`before`, with `first`). A lock that the goal itself takes
    // is not stopped at. `world` is the state at the end of the run.
    fn pair_ways(&self, world: &World, (first, then): (usize, usize), before: &[usize], goal: &Goal) -> Vec<Hold> {
        let (of_first, of_then) = (self.causes(first), self.causes(then));
        let of_before: BTreeSet<usize> = before.iter().flat_map(|of| self.causes(*of)).collect();
        let Some((whole, second)) = self.moment(world, first).zip(self.itself(world, then)) else { return Vec::new() };
        // Whether a thread that is held at `p` cannot perform one of the earlier operations. Another worker of the same
        // pool can.
        let performer = |of: usize| self.done[of].performer.map(|(t, _)| t).filter(|t| !world.shares_queue(*t));
        let stops = |p: usize| {
            let (thread, context) = (self.done[p].performer.map(|(thread, _)| thread), self.context(p));
            let is_stopped = |of: &usize| *of == first || self.context(*of) != context;
            before.iter().filter(|of| is_stopped(of)).any(|of| performer(*of).is_some_and(|t| Some(t) == thread))
        };
        // A cause must not be held if one of the earlier operations needs a later operation of the same thread or task.
        let needed = |p: usize| {
            let context = self.context(p);
            context.is_some() && of_before.iter().any(|q| *q > p && self.context(*q) == context)
        };
        // Ways that hold inside a lock come last: the default is to stop before the outermost lock. They are for
        // accesses that are performed only if their thread comes first through the lock.
        let (mut ways, mut inside) = (Vec::new(), Vec::new());
        for p in of_then.iter().rev().copied().filter(|p| !of_before.contains(p)) {
            let done = &self.done[p];
            // The other access may depend on a post to the same queue in the same class: the task that is posted first
            // runs first. It is enough to hold one post until the other one.
            let same = |q: &usize| done.post.is_some() && self.done[*q].post == done.post;
            let post = of_first.iter().rev().copied().filter(|q| !of_then.contains(q)).find(same);
            // A thread that would be stopped may wait for a firing to the queue in the same way. (For two operations no
            // such way was known before, and their runs stay what they were.)
            let fired = |q: &usize| {
                let post = self.done[*q].fires_to.map(|looper| (looper, PostTime::Now, false));
                post.is_some() && done.post == post
            };
            let firing = || of_first.iter().rev().copied().filter(|q| !of_then.contains(q)).find(fired);
            let post = post.or_else(|| firing().filter(|_| goal.is_longer() && stops(p)));
            let until = post.and_then(|q| self.moment(world, q));
            let blocks = until.is_none() && stops(p);
            if let Some(what) = self.moment(world, p).filter(|_| !blocks && !needed(p)) {
                let is_wanted = |i: &usize| goal.sequences.iter().flatten().any(|of| of == i);
                let outermost = done.outermost.filter(|i| !is_wanted(i)).and_then(|i| self.moment(world, i));
                let until = until.unwrap_or_else(|| whole.clone());
                if outermost.is_some() {
                    inside.push(Hold {
                        what: what.clone(),
                        outermost: None,
                        until: until.clone(),
                        second: second.clone(),
                    });
                }
                ways.push(Hold { what, outermost, until, second: second.clone() });
            }
            let tick = Hold { what: Moment::Tick, outermost: None, until: whole.clone(), second: second.clone() };
            if done.timed && !ways.contains(&tick) {
                ways.push(tick);
            }
        }
        ways.append(&mut inside);
        ways.truncate(MOST_WAYS);
        ways
    }
}

fn of_place(combination: &[(usize, Place)], wanted: Place) -> impl Iterator<Item = usize> {
    combination.iter().filter(move |(_, place)| *place == wanted).map(|(at, _)| *at)
}

// Returns the operations that have to come before another one, directly or not.
fn earlier(orders: &[(usize, usize)], then: usize) -> Vec<usize> {
    let mut all: Vec<usize> = Vec::new();
    let mut open = vec![then];
    while let Some(at) = open.pop() {
        for (first, _) in orders.iter().filter(|(_, then)| *then == at) {
            if *first != then && !all.contains(first) {
                all.push(*first);
                open.push(*first);
            }
        }
    }
    all
}
