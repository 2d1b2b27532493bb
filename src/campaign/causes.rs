//! What brings an access about: the operations that can be held so that another access comes first.
//!
//! The causes of an access are, going back from it: the post, fork or firing of its thread or task, the enable of that firing, the writes, notifies,
//! releases of semaphores and ends of threads that let its thread or task go on, and the causes of all these. Those that the other access has as well cannot be held: it would wait, too.

use super::orders::InstancePair;
use super::sightings::{Touch, common_place, touched};
use crate::detect::Instance;
use crate::event::{AccessPlace, ContextId, Event, EventId, Happening, Op, PostTime, SiteId, ThreadId, Value};
use crate::exec::Observer;
use crate::sched::{Hold, Moment};
use crate::world::{Change, Effects, How, LockHold, Signal, Thing, Touch as Effect, World};
use std::collections::{BTreeMap, BTreeSet};

// One operation of the run, or a firing.
#[derive(Default)]
struct Done {
    // Nobody's, of a firing.
    performer: Option<(ThreadId, ContextId)>,
    site: Option<SiteId>,
    // Ordinal of this step at its statement in its context, from 1; both halves of an operation count, as in `Moment::Step`.
    nth: u32,
    // Ordinal of this execution of the statement, from 1: an operation of two halves counts once, as in `Instance`.
    visit: u32,
    // What was done; nothing of a firing.
    op: Option<(Op, Value)>,
    // The context that it makes.
    makes: Option<ContextId>,
    // Of a post: to whom, and in which delay class.
    post: Option<(ThreadId, PostTime, bool)>,
    // It may have to wait for the clock: a post with a delay, the end of a sleep.
    timed: bool,
    // What let it go on, besides its context.
    let_go: Option<usize>,
    // The acquisition of the outermost lock that its performer holds.
    outermost: Option<usize>,
}

/// Watches a run for what brings what about.
#[derive(Default)]
pub(super) struct Causes {
    done: Vec<Done>,
    // Indices into it: of each context, of each step.
    of: BTreeMap<ContextId, Vec<usize>>,
    at_step: BTreeMap<u64, usize>,
    made_by: BTreeMap<ContextId, usize>,
    // Of each statement in its context: steps, and executions.
    counts: BTreeMap<(ContextId, SiteId), (u32, u32)>,
    // Locks that are held, with their acquisitions, the outermost first.
    held: BTreeMap<ThreadId, Vec<(LockHold, usize)>>,
    // The last operation that has sent something to those that wait for a thing. Writes of memory are those of `AllMemory`.
    sent: BTreeMap<Thing, usize>,
    enables: BTreeMap<EventId, Vec<usize>>,
    last: BTreeMap<ThreadId, usize>,
}

// Operations of a run that are looked at: enough for what models do, and no endless memory.
const MOST: usize = 1 << 16;

// Performances of a statement that are looked through for two that conflict.
const MOST_OF_A_SITE: usize = 64;

// Pairs of later tasks that are tried.
const MOST_LATER: usize = 5;

// Ways that are tried for an order.
const MOST_WAYS: usize = 8;

impl Causes {
    fn add(&mut self, world: &World, event: &Event, (op, value): (&Op, Value), made: Option<ContextId>) {
        let Some(performer @ (thread, context)) = event.thread.zip(event.context) else { return };
        let at = self.done.len();
        let (nth, visit) = event.site.map_or((0, 0), |site| {
            let (steps, visits) = self.counts.entry((context, site)).or_default();
            *steps += 1;
            *visits += u32::from(!op.is_second_half());
            (*steps, *visits)
        });
        let effects = world.effects(thread, op);
        let received = |(thing, how): Effect| {
            let gave_up = how == How::Down && op.taken(value).is_none();
            if how.signal() == Signal::Receives && !gave_up { self.sent.get(&thing).copied() } else { None }
        };
        let let_go = effects.touches().find_map(received);
        let let_go = let_go.filter(|i| self.done[*i].performer.is_some_and(|(_, c)| c != context));
        let outermost = self.held.get(&thread).and_then(|locks| locks.first()).map(|(_, i)| *i);
        let (post, timed) = match op {
            Op::Post { target, time, is_async, .. } => {
                let late = matches!(time, PostTime::After(1..) | PostTime::At(_));
                (Some((world.thread_of(*target), *time, *is_async)), late)
            }
            Op::Wake | Op::Reacquire { .. } | Op::Await { timeout: Some(_) } | Op::DownFor { .. } => (None, true),
            _ => (None, false),
        };
        let makes = made.filter(|_| !matches!(op, Op::Begin));
        self.done.push(Done {
            performer: Some(performer),
            site: event.site,
            nth,
            visit,
            op: Some((*op, value)),
            makes,
            post,
            timed,
            let_go,
            outermost,
        });
        self.of.entry(context).or_default().push(at);
        self.at_step.entry(event.step).or_insert(at);
        self.last.insert(thread, at);
        if let Some(made) = makes {
            self.made_by.insert(made, at);
        }
        self.keep(thread, effects, at);
        if let Op::Enable { event, .. } = op {
            self.enables.entry(*event).or_default().push(at);
        }
    }

    // The locks that the thread holds after it, and what it has sent.
    fn keep(&mut self, thread: ThreadId, effects: Effects, at: usize) {
        let locks = self.held.entry(thread).or_default();
        match effects.hold() {
            Some((hold, Change::Taken)) => locks.push((hold, at)),
            Some((hold, Change::GivenUp)) => {
                if let Some(i) = locks.iter().rposition(|(lock, _)| *lock == hold) {
                    locks.remove(i);
                }
            }
            None => {}
        }
        for (thing, how) in effects.touches().filter(|(_, how)| how.signal() == Signal::Sends) {
            match (thing, how) {
                // The end of an object's life turns no condition.
                (Thing::Memory(AccessPlace::Life(_)), _) => {}
                (_, How::Write) => _ = self.sent.insert(Thing::AllMemory, at),
                _ => _ = self.sent.insert(thing, at),
            }
        }
    }

    // The accesses at these two steps.
    fn at_steps(&self, steps: (u64, u64)) -> Option<(usize, usize)> {
        Some((*self.at_step.get(&steps.0)?, *self.at_step.get(&steps.1)?))
    }

    // The first two operations of these statements that conflict, of different threads or tasks.
    fn first_pair(&self, world: &World, a: SiteId, b: SiteId) -> Option<(usize, usize)> {
        let of =
            |site: SiteId| self.done.iter().enumerate().filter(move |(_, d)| d.site == Some(site)).take(MOST_OF_A_SITE);
        let touched = |d: &Done| self.touched(world, d).map(|(touch, _)| touch);
        of(a).find_map(|(i, x)| {
            let meets = |y: &Done| {
                let contexts = x.performer.map(|p| p.1) != y.performer.map(|p| p.1);
                contexts && touched(x).zip(touched(y)).is_some_and(|(x, y)| x.conflicts(&y))
            };
            of(b).find(|(_, y)| meets(y)).map(|(j, _)| (i, j))
        })
    }

    fn touched(&self, world: &World, done: &Done) -> Option<(Touch, String)> {
        let (op, value) = done.op.as_ref()?;
        touched(world, Some(done.performer?.0), op, *value)
    }

    /// The accesses at these steps, else the first of these statements that conflict.
    pub(super) fn pair(
        &self,
        world: &World,
        (a, b): (SiteId, SiteId),
        steps: Option<(u64, u64)>,
    ) -> Option<(usize, usize)> {
        steps.and_then(|steps| self.at_steps(steps)).or_else(|| self.first_pair(world, a, b))
    }

    /// Pairs of later operations of these statements that conflict, at least one of them in another task than in the first pair: with the last tasks first, since what is between
    /// them is likelier to be like one of the two.
    pub(super) fn later(&self, world: &World, sites: (SiteId, SiteId), (a, b): (usize, usize)) -> Vec<(usize, usize)> {
        let (of_a, of_b) = (self.first_of_each(sites.0, a), self.first_of_each(sites.1, b));
        let is_task = |at: usize| self.done[at].performer.is_some_and(|(t, c)| world.thread(t).home != c);
        let context = |at: usize| self.done[at].performer.map(|(_, context)| context);
        let mut all: Vec<(usize, usize)> = Vec::new();
        for &x in &of_a {
            for &y in &of_b {
                let is_new = (x, y) != (a, b) && context(x) != context(y);
                let known = sites.0 == sites.1 && ((x, y) == (b, a) || all.contains(&(y, x)));
                let is_later = (x != a && is_task(x)) || (y != b && is_task(y));
                let touched = |at: usize| self.touched(world, &self.done[at]).map(|(touch, _)| touch);
                let meet = || touched(x).zip(touched(y)).is_some_and(|(x, y)| x.conflicts(&y));
                if is_new && !known && is_later && meet() {
                    all.push((x, y));
                }
            }
        }
        // By how near each is to the last of its statement, or to the first.
        let ends = |of: &[usize], at: usize| {
            let i = of.iter().position(|x| *x == at).unwrap_or(0);
            i.min(of.len() - 1 - i)
        };
        all.sort_by_key(|(x, y)| (ends(&of_a, *x) + ends(&of_b, *y), std::cmp::Reverse((*x, *y))));
        all.truncate(MOST_LATER);
        all
    }

    // The first operation of a statement in each task or thread; this one of its own, and first.
    fn first_of_each(&self, site: SiteId, first: usize) -> Vec<usize> {
        let mut seen: BTreeSet<ContextId> = self.done[first].performer.iter().map(|(_, context)| *context).collect();
        let mut all = vec![first];
        for (at, done) in self.done.iter().enumerate().filter(|(_, d)| d.site == Some(site)).take(MOST_OF_A_SITE) {
            if done.performer.is_some_and(|(_, context)| seen.insert(context)) {
                all.push(at);
            }
        }
        all
    }

    /// These two accesses by name.
    pub(super) fn instances(&self, world: &World, a: usize, b: usize) -> Option<InstancePair> {
        let instance = |done: &Done| {
            let (_, context) = done.performer?;
            let context = world.contexts().name(world.setup(), context);
            Some(Instance { site: done.site?, context, visit: done.visit })
        };
        let place = |done: &Done| self.touched(world, done).map(|(_, place)| place);
        let (x, y) = (&self.done[a], &self.done[b]);
        let (of_x, of_y) = (place(x)?, place(y)?);
        let place = common_place(&of_x, &of_y).to_owned();
        Some(InstancePair { a: instance(x)?, b: instance(y)?, place })
    }

    /// How often a statement was stepped at in the run.
    pub(super) fn visits(&self, site: SiteId) -> u32 {
        self.done.iter().filter(|d| d.site == Some(site)).count() as u32
    }

    // All causes of an operation, with itself.
    fn causes(&self, of: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([of]);
        let mut open = vec![of];
        while let Some(at) = open.pop() {
            let mut new = Vec::new();
            match self.done[at].performer {
                Some((_, context)) => {
                    new.extend(self.made_by.get(&context));
                    let before = self.of.get(&context).into_iter().flatten().take_while(|i| **i <= at);
                    new.extend(before.filter_map(|i| self.done[*i].let_go));
                }
                None => new.extend(self.done[at].let_go),
            }
            for cause in new {
                if found.insert(cause) {
                    open.push(cause);
                }
            }
        }
        found
    }

    /// The statements of these two operations and of all their causes.
    pub(super) fn sites(&self, (a, b): (usize, usize)) -> Vec<SiteId> {
        let both = self.causes(a).into_iter().chain(self.causes(b));
        let sites: BTreeSet<SiteId> = both.filter_map(|i| self.done[i].site).collect();
        sites.into_iter().collect()
    }

    fn moment(&self, world: &World, at: usize) -> Option<Moment> {
        match self.done[at].makes {
            Some(made) => Some(Moment::Makes(world.contexts().chain(made))),
            None => self.itself(world, at),
        }
    }

    // The operation itself, also if it makes something.
    fn itself(&self, world: &World, at: usize) -> Option<Moment> {
        let done = &self.done[at];
        let (context, site) = (done.performer?.1, done.site?);
        Some(Moment::Step { context: world.contexts().chain(context), site, nth: done.nth })
    }

    /// The ways to let `first` come before `then`, the nearest to `then` first. The world is that of the end of the run.
    pub(super) fn ways(&self, world: &World, first: usize, then: usize) -> Vec<Hold> {
        let (of_first, of_then) = (self.causes(first), self.causes(then));
        let Some((whole, second)) = self.moment(world, first).zip(self.itself(world, then)) else { return Vec::new() };
        let looper = self.done[first].performer.map(|(thread, _)| thread);
        // Nothing may be held that `first` needs after it in the same thread or task.
        let needed = |p: usize| {
            let context = self.done[p].performer.map(|(_, c)| c);
            context.is_some() && of_first.iter().any(|q| *q > p && self.done[*q].performer.map(|(_, c)| c) == context)
        };
        // Inside its lock, where that is what brings the access about: who comes first through a lock may decide whether it is performed.
        let (mut ways, mut inside) = (Vec::new(), Vec::new());
        for p in of_then.iter().rev().copied().filter(|p| !of_first.contains(p)) {
            let done = &self.done[p];
            // A post of the other access to the same queue in the same class: whoever stands there first runs first.
            let same = |q: &usize| done.post.is_some() && self.done[*q].post == done.post;
            let post = of_first.iter().rev().copied().filter(|q| !of_then.contains(q)).find(same);
            let until = post.and_then(|q| self.moment(world, q));
            let blocks = until.is_none() && done.performer.map(|(thread, _)| thread) == looper;
            if let Some(what) = self.moment(world, p).filter(|_| !blocks && !needed(p)) {
                let outermost = done.outermost.and_then(|i| self.moment(world, i));
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

impl Observer for Causes {
    fn event(&mut self, world: &World, event: &Event) {
        if self.done.len() >= MOST {
            return;
        }
        match &event.what {
            Happening::Performed { op, made, value } => self.add(world, event, (op, *value), *made),
            Happening::Fire(fired, context) => {
                let at = self.done.len();
                let nth = world.contexts().chain(*context).last().map_or(1, |(_, n)| *n) as usize;
                // Those that the event starts with pay the first firings.
                let paid = world.setup().events[*fired].initially as usize;
                let nth = nth.checked_sub(1 + paid);
                let enable = nth.and_then(|n| self.enables.get(fired)?.get(n)).copied();
                self.done.push(Done { makes: Some(*context), let_go: enable, ..Done::default() });
                self.made_by.insert(*context, at);
            }
            Happening::ThreadExit => {
                if let Some((thread, at)) = event.thread.and_then(|t| Some((t, *self.last.get(&t)?))) {
                    self.sent.insert(Thing::End(thread), at);
                }
            }
            _ => {}
        }
    }
}
