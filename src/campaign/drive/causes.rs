//! Finds the causes of an access: the operations that can be held so that another access comes first.
//!
//! The causes of an access are, going back from it:
//!
//! - the post, fork or firing that made its thread or task, and the enable of that firing;
//! - the wake-ups of its thread or task: writes, notifies, releases of semaphores, arrivals at barriers, interrupts and
//!   ends of threads;
//! - the causes of all these.
//!
//! Causes that both accesses have in common cannot be held, since the other access would wait, too.

use crate::campaign::order::InstancePair;
use crate::campaign::runs::observations::{TouchTarget, touched};
use crate::detect::Instance;
use crate::event::{AccessPlace, Cause, ContextId, Event, EventId, EventKind, Op, PostTime, SiteId, ThreadId, Value};
use crate::exec::Observer;
use crate::world::{Change, Effects, How, LockHold, Signal, Thing, ThingEffect as Effect, World};
use std::collections::{BTreeMap, BTreeSet};

/// One operation of the run, or the firing of an event.
#[derive(Default)]
pub(super) struct DoneOperation {
    /// Thread and context that performed the operation; `None` for a firing.
    pub(super) performer: Option<(ThreadId, ContextId)>,
    pub(super) site: Option<SiteId>,
    /// Ordinal of this step at its statement in its context, from 1. Both halves of an operation count, as in
    /// `Moment::Step`.
    pub(super) nth: u32,
    /// Ordinal of this execution of the statement in its context, from 1. An operation of two halves counts once, as in
    /// `Instance`.
    pub(super) visit: u32,
    /// Operation with its value; `None` for a firing.
    pub(super) op: Option<(Op, Value)>,
    /// Context that the operation makes.
    pub(super) makes: Option<ContextId>,
    /// Target and delay class, if the operation is a post.
    pub(super) post: Option<(ThreadId, PostTime, bool)>,
    /// The looper of the task, if it is a firing.
    pub(super) fires_to: Option<ThreadId>,
    /// Whether the operation may have to wait for the clock: a post with a delay, the end of a sleep, a wait with a
    /// timeout.
    pub(super) timed: bool,
    /// Operation that woke it up, or enabled it if it is a firing. The maker of its context is not meant.
    pub(super) let_go: Option<usize>,
    /// Acquisition of the outermost lock that the performer holds.
    pub(super) outermost: Option<usize>,
}

/// Observer that records the operations of a run with their causes.
#[derive(Default)]
pub(super) struct Causes {
    pub(super) done: Vec<DoneOperation>,
    // Indices into `done`, by context and by step.
    of: BTreeMap<ContextId, Vec<usize>>,
    at_step: BTreeMap<u64, usize>,
    made_by: BTreeMap<ContextId, usize>,
    // Number of steps at each statement in its context, and of its executions.
    counts: BTreeMap<(ContextId, SiteId), (u32, u32)>,
    // Locks that each thread holds, with the index of their acquisition, the outermost first.
    held: BTreeMap<ThreadId, Vec<(LockHold, usize)>>,
    // Index of the last operation that may have woken a thread that waits for a thing. Writes of memory are those of
    // `AllMemory`.
    sent: BTreeMap<Thing, usize>,
    enables: BTreeMap<EventId, Vec<usize>>,
    // The last step that has let a row of a component be fired, for each cause.
    lets: BTreeMap<Cause, usize>,
    last: BTreeMap<ThreadId, usize>,
}

// Maximum number of operations of a run that are recorded. It is enough for models, and bounds the memory.
const MOST: usize = 1 << 16;

// Maximum number of executions of a statement that are searched for two that conflict.
const MOST_OF_A_SITE: usize = 64;

// Maximum number of pairs of later tasks.
const MOST_LATER: usize = 5;

impl Causes {
    fn add(&mut self, world: &World, event: &Event, (op, value, refused): (&Op, Value, bool), made: Option<ContextId>) {
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
        let selected = world.selected_effects(op, value).unwrap_or_default();
        let let_go = effects.touches().chain(selected.iter().copied()).find_map(received);
        let let_go = let_go.filter(|i| self.done[*i].performer.is_some_and(|(_, c)| c != context));
        let outermost = self.held.get(&thread).and_then(|locks| locks.first()).map(|(_, i)| *i);
        let (post, timed) = match op {
            Op::Post { target, time, is_async, .. } => {
                let late = matches!(time, PostTime::After(1..) | PostTime::At(_));
                (Some((world.thread_of(*target), *time, *is_async)), late)
            }
            Op::Wake | Op::Reacquire { .. } | Op::Await { timeout: Some(_) } | Op::DownFor { .. } => (None, true),
            Op::AcquireFor { .. } | Op::Select { timeout: Some(_), .. } | Op::Selected { .. } => (None, true),
            _ => (None, false),
        };
        let makes = made.filter(|_| !matches!(op, Op::Begin));
        self.done.push(DoneOperation {
            performer: Some(performer),
            site: event.site,
            nth,
            visit,
            op: Some((*op, value)),
            makes,
            post,
            fires_to: None,
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
        if !refused {
            self.keep(thread, effects, at);
        }
        self.keep_signals(effects.touches().chain(selected), at);
        if let Op::Enable { event, .. } = op {
            self.enables.entry(*event).or_default().push(at);
        }
    }

    // Records the locks that are held.
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
    }

    // Records the operations that may wake up later ones.
    fn keep_signals(&mut self, touches: impl Iterator<Item = Effect>, at: usize) {
        for (thing, how) in touches.filter(|(_, how)| how.signal() == Signal::Sends) {
            match (thing, how) {
                // The end of an object's life turns no condition.
                (Thing::Memory(AccessPlace::Life(_)), _) => {}
                (_, How::Write) => _ = self.sent.insert(Thing::AllMemory, at),
                _ => _ = self.sent.insert(thing, at),
            }
        }
    }

    // Returns the accesses at these two steps.
    pub(super) fn at_steps(&self, steps: (u64, u64)) -> Option<(usize, usize)> {
        Some((*self.at_step.get(&steps.0)?, *self.at_step.get(&steps.1)?))
    }

    // Returns the first two operations of these statements that conflict and are of different threads or tasks.
    fn first_pair(&self, world: &World, a: SiteId, b: SiteId) -> Option<(usize, usize)> {
        let of =
            |site: SiteId| self.done.iter().enumerate().filter(move |(_, d)| d.site == Some(site)).take(MOST_OF_A_SITE);
        let touched = |d: &DoneOperation| self.touched(world, d).map(|(touch, _)| touch);
        of(a).find_map(|(i, x)| {
            let is_partner = |y: &DoneOperation| {
                let contexts = x.performer.map(|p| p.1) != y.performer.map(|p| p.1);
                contexts && touched(x).zip(touched(y)).is_some_and(|(x, y)| x.conflicts(&y))
            };
            of(b).find(|(_, y)| is_partner(y)).map(|(j, _)| (i, j))
        })
    }

    pub(super) fn touched(&self, world: &World, done: &DoneOperation) -> Option<(TouchTarget, String)> {
        let (op, value) = done.op.as_ref()?;
        touched(world, Some(done.performer?.0), op, *value)
    }

    /// Returns the accesses at these steps, or else the first accesses of these statements that conflict.
    pub(in crate::campaign) fn pair(
        &self,
        world: &World,
        (a, b): (SiteId, SiteId),
        steps: Option<(u64, u64)>,
    ) -> Option<(usize, usize)> {
        steps.and_then(|steps| self.at_steps(steps)).or_else(|| self.first_pair(world, a, b))
    }

    /// Returns pairs of later operations of these statements that conflict, at least one of them in another task than
    /// in the first pair. Pairs near the last or the first task come first, and of equally near ones the later: the
    /// tasks between them are likely to be like one of the two ends.
    pub(in crate::campaign) fn later(
        &self,
        world: &World,
        sites: (SiteId, SiteId),
        (a, b): (usize, usize),
    ) -> Vec<(usize, usize)> {
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
                let same_thing = || touched(x).zip(touched(y)).is_some_and(|(x, y)| x.conflicts(&y));
                if is_new && !known && is_later && same_thing() {
                    all.push((x, y));
                }
            }
        }
        // Distance of an operation to the first or the last one of its statement, whichever is nearer.
        let ends = |of: &[usize], at: usize| {
            let i = of.iter().position(|x| *x == at).unwrap_or(0);
            i.min(of.len() - 1 - i)
        };
        all.sort_by_key(|(x, y)| (ends(&of_a, *x) + ends(&of_b, *y), std::cmp::Reverse((*x, *y))));
        all.truncate(MOST_LATER);
        all
    }

    // Returns the first operation of a statement in each thread or task. `first` comes first, and stands for its own
    // thread or task.
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

    /// Returns the two accesses as instances, with the location that they share.
    pub(in crate::campaign) fn instances(&self, world: &World, a: usize, b: usize) -> Option<InstancePair> {
        let instance = |done: &DoneOperation| {
            let (_, context) = done.performer?;
            let context = world.contexts().name(world.setup(), context);
            Some(Instance { site: done.site?, context, visit: done.visit })
        };
        let (x, y) = (&self.done[a], &self.done[b]);
        let ((of_x, at_x), (of_y, at_y)) = (self.touched(world, x)?, self.touched(world, y)?);
        let place = of_x.common(&at_x, (&of_y, &at_y)).to_owned();
        Some(InstancePair { a: instance(x)?, b: instance(y)?, place })
    }

    /// Returns the number of executions of a statement in the run.
    pub(in crate::campaign) fn visits(&self, site: SiteId) -> u32 {
        self.done.iter().filter(|d| d.site == Some(site)).count() as u32
    }

    /// Returns all causes of an operation, with the operation itself.
    pub(super) fn causes(&self, of: usize) -> BTreeSet<usize> {
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

    /// Returns the statements of these two operations and of all their causes.
    pub(in crate::campaign) fn sites(&self, (a, b): (usize, usize)) -> Vec<SiteId> {
        let both = self.causes(a).into_iter().chain(self.causes(b));
        let sites: BTreeSet<SiteId> = both.filter_map(|i| self.done[i].site).collect();
        sites.into_iter().collect()
    }
}

impl Observer for Causes {
    fn event(&mut self, world: &World, event: &Event) {
        if self.done.len() >= MOST {
            return;
        }
        match &event.what {
            EventKind::Performed { op, made, value, refused } => {
                self.add(world, event, (op, *value, *refused), *made);
            }
            EventKind::Fire(fired, context) => {
                let at = self.done.len();
                let nth = world.contexts().chain(*context).last().map_or(1, |(_, n)| *n) as usize;
                // The events that may fire initially pay for the first firings. Later ones are paid for by an enable
                // each.
                let paid = world.setup().events[*fired].initially as usize;
                let nth = nth.checked_sub(1 + paid);
                let enable = nth.and_then(|n| self.enables.get(fired)?.get(n)).copied();
                // Of the steps that have let a row of a component be fired, the last one counts.
                let lets = world.causes(*context).filter_map(|cause| self.lets.get(&cause).copied()).max();
                let enable = lets.or(enable.filter(|_| !world.is_row(*fired)));
                let (makes, fires_to) = (Some(*context), Some(world.setup().events[*fired].looper));
                self.done.push(DoneOperation { makes, fires_to, let_go: enable, ..DoneOperation::default() });
                self.made_by.insert(*context, at);
            }
            EventKind::Lets(cause) => {
                if let Some(at) = event.thread.and_then(|t| self.last.get(&t)) {
                    self.lets.insert(*cause, *at);
                }
            }
            EventKind::Resumed { context, .. } => {
                // The resumption is let go by the step that has caused it.
                let cause = event.thread.and_then(|t| self.last.get(&t).copied());
                if let Some(at) = cause {
                    self.made_by.insert(*context, at);
                }
            }
            // The begin of a run that stays in the queue makes the next run.
            EventKind::Repeated { task, .. } => {
                if let Some(at) = self.done.len().checked_sub(1) {
                    self.made_by.insert(*task, at);
                }
            }
            EventKind::ThreadExit => {
                if let Some((thread, at)) = event.thread.and_then(|t| Some((t, *self.last.get(&t)?))) {
                    self.sent.insert(Thing::End(thread), at);
                }
            }
            _ => {}
        }
    }
}
