//! Records which instances of a pair's statements a run performed, and in which order.

use crate::base::IdSet;
use crate::detect::{Instance, things};
use crate::event::{
    Access, AccessKind, AccessPlace, ContextId, Event, EventId, EventKind, Op, SiteId, ThreadId, Value,
};
use crate::exec::Observer;
use crate::world::{CreationKind, MessageKind, World};
use std::collections::{BTreeMap, BTreeSet};

/// Instance that a run performed.
#[derive(Clone, Debug)]
pub(in crate::campaign) struct Observation {
    pub(in crate::campaign) instance: Instance,
    pub(in crate::campaign) place: String,
    pub(in crate::campaign) step: u64,
    /// Events that were able to fire after it.
    pub(super) fireable: IdSet<EventId>,
    /// Step of the last write to the location before it, if the observer follows writes.
    pub(super) written: Option<u64>,
    touch: TouchTarget,
}

/// Returns the name of the location that two operations share. For an access to a field and the end of its object it is
/// the object, which has the shorter name. For an await it is the location of the other operation.
pub(in crate::campaign) fn common_place<'p>(x: &'p str, y: &'p str) -> &'p str {
    if y.is_empty() || !x.is_empty() && x.len() <= y.len() { x } else { y }
}

/// Target of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::campaign) enum TouchTarget {
    Memory(Access),
    /// Names of locks, queues and the like.
    Things(Vec<String>),
    /// Target of an await, which may read anything.
    Anything,
}

impl TouchTarget {
    pub(in crate::campaign) fn conflicts(&self, other: &TouchTarget) -> bool {
        match (self, other) {
            (TouchTarget::Memory(a), TouchTarget::Memory(b)) => a.conflicts(b),
            (TouchTarget::Things(a), TouchTarget::Things(b)) => a.iter().any(|x| b.contains(x)),
            (TouchTarget::Anything, other) | (other, TouchTarget::Anything) => !matches!(other, TouchTarget::Anything),
            _ => false,
        }
    }

    /// Returns the name of what this target, whose name is `at`, and another one share.
    pub(in crate::campaign) fn common<'p>(
        &'p self,
        at: &'p str,
        (other, other_at): (&'p TouchTarget, &'p str),
    ) -> &'p str {
        let (TouchTarget::Things(a), TouchTarget::Things(b)) = (self, other) else { return common_place(at, other_at) };
        // The same one for both orders of two operations.
        let place = |name: &&String| Some(a.iter().position(|n| n == *name)? + b.iter().position(|n| n == *name)?);
        let shared = a.iter().filter_map(|name| Some((place(&name)?, name))).min();
        shared.map_or_else(|| common_place(at, other_at), |(_, name)| name)
    }

    /// Returns whether this target, whose name is `at`, is at the location `place` or in that object.
    pub(in crate::campaign) fn is_at(&self, at: &str, place: &str) -> bool {
        matches!(self, TouchTarget::Anything)
            // A wait touches its wait set, and the thread that an interrupt touches.
            || matches!(self, TouchTarget::Things(names) if names.iter().any(|name| name == place))
            || at.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Returns the name of a location. The end of an object has the name of the object.
fn place_name(world: &World, place: AccessPlace) -> String {
    match place {
        AccessPlace::Life(object) => world.object_name(object),
        place => world.place_name(place),
    }
}

// Returns the target of an operation, and its name. `None` for the second half of a wait, and for an operation without
// a target.
pub(in crate::campaign) fn touched(
    world: &World,
    thread: Option<ThreadId>,
    op: &Op,
    value: Value,
) -> Option<(TouchTarget, String)> {
    if let Some(access) = world.performed_access(op, value) {
        return Some((TouchTarget::Memory(access), place_name(world, access.place)));
    }
    match things(world, thread?, op, value) {
        None => Some((TouchTarget::Anything, String::new())),
        Some(names) => names.first().cloned().map(|name| (TouchTarget::Things(names), name)),
    }
}

impl Observation {
    /// Returns the name of what two operations share.
    pub(in crate::campaign) fn common<'p>(&'p self, other: &'p Observation) -> &'p str {
        self.touch.common(&self.place, (&other.touch, &other.place))
    }

    /// Returns whether the instance is at this location, or in this object.
    pub(in crate::campaign) fn is_at(&self, place: &str) -> bool {
        self.touch.is_at(&self.place, place)
    }

    /// Returns whether two instances of one run conflict: they are of different contexts, and touch the same memory and
    /// one of them writes, or have the same lock, queue and so on as their target.
    pub(in crate::campaign) fn conflicts(&self, other: &Observation) -> bool {
        self.instance.context != other.instance.context && self.touch.conflicts(&other.touch)
    }
}

/// Life of a thread or task, as far as the judgment of a cut needs it.
#[derive(Clone, Debug, Default)]
pub(in crate::campaign) struct Lifetime {
    /// Step at which it was forked, posted or fired.
    pub(in crate::campaign) made: u64,
    /// Step at which it ended, or was taken out of its queue without having run.
    pub(in crate::campaign) gone: Option<u64>,
    /// Step and statement of each of its operations.
    pub(super) path: Vec<(u64, Option<SiteId>)>,
    /// Pedigree of its maker.
    pub(in crate::campaign) maker: Option<String>,
    /// Event whose firing it is.
    pub(in crate::campaign) event: Option<EventId>,
}

impl Lifetime {
    /// Returns whether the thread or task existed right after this step.
    pub(super) fn is_there(&self, step: u64) -> bool {
        self.made <= step && self.gone.is_none_or(|gone| gone > step)
    }

    /// Returns whether it has performed the instance, which must be of this context.
    pub(super) fn has_performed(&self, instance: &Instance) -> bool {
        self.path.iter().filter(|(_, site)| *site == Some(instance.site)).count() >= instance.visit as usize
    }
}

/// Instances of the watched statements that one run performed, with the lives of its threads and tasks.
#[derive(Clone, Debug, Default)]
pub(in crate::campaign) struct Observations {
    /// Instances in the order in which they were performed.
    pub(in crate::campaign) seen: Vec<Observation>,
    /// Lives of all threads and tasks by pedigree; empty if there were too many to keep.
    pub(in crate::campaign) lives: BTreeMap<String, Lifetime>,
}

// Maximum number of instances of a statement that are kept, the first ones. A hot loop shows nothing new after that.
const MOST_OF_A_SITE: usize = 32;
// Maximum number of threads and tasks, and of operations. A run with more keeps no lives, and cannot prove a cut.
const MOST_LIVES: usize = 512;
const MOST_OPERATIONS: usize = 1 << 14;

/// Observer of a run for some statements.
#[derive(Clone)]
pub(in crate::campaign) struct PairWatch<'s> {
    sites: &'s [SiteId],
    raw: Vec<Raw>,
    counts: Vec<usize>,
    // Instances that are kept in any case: the visits of these statements.
    wanted: Vec<(SiteId, u32)>,
    visits: BTreeMap<(SiteId, ContextId), u32>,
    lives: BTreeMap<ContextId, Lifetime>,
    operations: usize,
    // Tasks that were posted or fired, and have not begun.
    queued: BTreeSet<ContextId>,
    // Whether a looper may have died since its queue was last checked.
    may_have_gone: bool,
    // Statements whose writes are followed, and the step of the last write to each location.
    writers: Option<&'s IdSet<SiteId>>,
    written: BTreeMap<AccessPlace, u64>,
}

/// Operation of a task of a looper.
pub(in crate::campaign) struct OfTask {
    pub(in crate::campaign) site: SiteId,
    pub(in crate::campaign) context: ContextId,
    pub(in crate::campaign) visit: u32,
    pub(in crate::campaign) touch: TouchTarget,
    pub(in crate::campaign) place: String,
    pub(in crate::campaign) looper: ThreadId,
}

// Sighting with the identifiers of its run. Names are computed once, at the end of the run.
#[derive(Clone)]
struct Raw {
    site: SiteId,
    context: ContextId,
    visit: u32,
    touch: TouchTarget,
    place: String,
    step: u64,
    fireable: IdSet<EventId>,
    written: Option<u64>,
    task_of: Option<ThreadId>,
}

impl<'s> PairWatch<'s> {
    /// Creates an observer for these statements, which must be sorted.
    pub(in crate::campaign) fn new(sites: &'s [SiteId]) -> Self {
        Self {
            sites,
            raw: Vec::new(),
            counts: vec![0; sites.len()],
            wanted: Vec::new(),
            visits: BTreeMap::new(),
            lives: BTreeMap::new(),
            operations: 0,
            queued: BTreeSet::new(),
            may_have_gone: false,
            writers: None,
            written: BTreeMap::new(),
        }
    }

    /// Lets the observer follow the writes of these statements, so that it knows which write each access has followed.
    pub(in crate::campaign) fn following(self, writers: &'s IdSet<SiteId>) -> Self {
        Self { writers: (!writers.is_empty()).then_some(writers), ..self }
    }

    /// Lets the observer keep these instances even if their statements are performed too often for all to be kept.
    pub(in crate::campaign) fn wanting(self, instances: &[&Instance]) -> Self {
        Self { wanted: instances.iter().map(|i| (i.site, i.visit)).collect(), ..self }
    }

    /// Returns the instances that were seen, with their names.
    pub(in crate::campaign) fn finish(self, world: &World) -> Observations {
        let contexts = world.contexts();
        let name = |context: ContextId| contexts.name(world.setup(), context);
        let too_many = self.keeps_too_many();
        let seen = self
            .raw
            .into_iter()
            .map(|Raw { site, context, visit, touch, place, step, fireable, written, .. }| Observation {
                instance: Instance { site, context: name(context), visit },
                place,
                step,
                fireable,
                written,
                touch,
            })
            .collect();
        let named = |(context, mut life): (ContextId, Lifetime)| {
            life.maker = contexts.parent(context).map(name);
            life.event = if let CreationKind::Event(event) = contexts.made(context) { Some(event) } else { None };
            (name(context), life)
        };
        let lives = if too_many { BTreeMap::new() } else { self.lives.into_iter().map(named).collect() };
        Observations { seen, lives }
    }

    /// Returns the operations of tasks of loopers in the order in which they were performed, with the identifiers of
    /// this run.
    pub(in crate::campaign) fn of_tasks(self) -> impl Iterator<Item = OfTask> {
        self.raw.into_iter().filter_map(|Raw { site, context, visit, touch, place, task_of, .. }| {
            Some(OfTask { site, context, visit, touch, place, looper: task_of? })
        })
    }

    fn keeps_too_many(&self) -> bool {
        self.lives.len() > MOST_LIVES || self.operations > MOST_OPERATIONS
    }

    fn make(&mut self, context: ContextId, step: u64) {
        self.lives.entry(context).or_insert_with(|| Lifetime { made: step, ..Lifetime::default() });
    }

    // Ends the lives of tasks that were taken out of a queue, since they will not run.
    fn look_at_queues(&mut self, world: &World, step: u64) {
        self.may_have_gone = false;
        let queues = world.queues();
        let there: BTreeSet<ContextId> = queues.flat_map(|q| q.waiting_tasks()).map(|task| task.context).collect();
        for context in std::mem::take(&mut self.queued) {
            if there.contains(&context) {
                self.queued.insert(context);
            } else if let Some(life) = self.lives.get_mut(&context) {
                life.gone = Some(step);
            }
        }
    }

    // Records an operation if its statement is watched. `access` is its access, if writes are followed.
    fn observe(
        &mut self,
        world: &World,
        event: &Event,
        (context, site): (ContextId, SiteId),
        (op, value): (&Op, Value),
        access: Option<Access>,
    ) {
        let Ok(at) = self.sites.binary_search(&site) else { return };
        if self.counts[at] >= MOST_OF_A_SITE && self.wanted.is_empty() {
            return;
        }
        let Some((touch, place)) = touched(world, event.thread, op, value) else { return };
        let visit = self.visits.entry((site, context)).or_insert(0);
        *visit += 1;
        if self.counts[at] >= MOST_OF_A_SITE && !self.wanted.contains(&(site, *visit)) {
            return;
        }
        self.counts[at] += 1;
        let (visit, fireable) = (*visit, world.fireable().clone());
        let written = access.and_then(|access| self.written.get(&access.place).copied());
        let task_of = event.thread.filter(|t| world.thread(*t).home != context && !world.shares_queue(*t));
        self.raw.push(Raw { site, context, visit, touch, place, step: event.step, fireable, written, task_of });
    }

    // Updates the lives of threads and tasks.
    fn follow(&mut self, world: &World, event: &Event) {
        match (&event.what, event.context) {
            (EventKind::ThreadInit, Some(context)) => self.make(context, event.step),
            (EventKind::Fire(_, context), _) => {
                self.make(*context, event.step);
                self.queued.insert(*context);
                // A looper that has quit does not take the message. If the message is the last one of some queue, no
                // queue needs a scan: no message has gone.
                let queues = world.queues();
                let mut last = queues.flat_map(|queue| queue.messages().rev().take(1));
                let is_queued = last.any(|m| matches!(&m.kind, MessageKind::Task(task) if task.context == *context));
                if self.may_have_gone || !is_queued {
                    self.look_at_queues(world, event.step);
                }
            }
            (EventKind::Repeated { task, .. }, _) => {
                self.make(*task, event.step);
                self.queued.insert(*task);
            }
            (EventKind::End | EventKind::ThreadExit, Some(context)) => {
                self.may_have_gone |= event.what == EventKind::ThreadExit;
                if let Some(life) = self.lives.get_mut(&context) {
                    life.gone.get_or_insert(event.step);
                }
            }
            (EventKind::Resumed { context, .. }, _) => _ = self.queued.insert(*context),
            (EventKind::JobExit(job), _) => {
                if let Some(life) = self.lives.get_mut(&world.thread(*job).home) {
                    life.gone.get_or_insert(event.step);
                }
            }
            (EventKind::Performed { op, made, .. }, Some(context)) => {
                self.operations += 1;
                if let Some(life) = self.lives.get_mut(&context) {
                    life.path.push((event.step, event.site));
                }
                match (op, made) {
                    (Op::Begin, Some(begun)) => {
                        self.queued.remove(begun);
                    }
                    (Op::Post { .. } | Op::Launch { .. }, Some(made)) => {
                        self.make(*made, event.step);
                        self.queued.insert(*made);
                    }
                    (_, Some(made)) => self.make(*made, event.step),
                    // A begin without a task leaves the loop and drops the remaining messages.
                    (Op::Cancel { .. } | Op::CancelMessage(_) | Op::Quit { .. } | Op::Begin, None) => {
                        self.look_at_queues(world, event.step)
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

impl Observer for PairWatch<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        if !self.keeps_too_many() {
            self.follow(world, event);
        }
        let (EventKind::Performed { op, value, .. }, Some(context), Some(site)) =
            (&event.what, event.context, event.site)
        else {
            return;
        };
        let access = self.writers.and_then(|_| world.performed_access(op, *value));
        self.observe(world, event, (context, site), (op, *value), access);
        if let Some(access) = access.filter(|access| access.kind == AccessKind::Write)
            && self.writers.is_some_and(|writers| writers.contains(site))
        {
            self.written.insert(access.place, event.step);
        }
    }
}
