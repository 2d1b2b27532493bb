//! Which instances of a pair's statements a run performed, and in which order.

use crate::base::IdSet;
use crate::detect::{Instance, things};
use crate::event::{Access, AccessPlace, ContextId, Event, EventId, Happening, Op, SiteId, ThreadId, Value};
use crate::exec::Observer;
use crate::world::{Made, MessageKind, World};
use std::collections::{BTreeMap, BTreeSet};

/// An instance that was performed.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    pub(super) instance: Instance,
    pub(super) place: String,
    pub(super) step: u64,
    /// The events that could fire after it.
    pub(super) fireable: IdSet<EventId>,
    touch: Touch,
}

/// The name of what two operations have in common. Of an access to a field and the end of its object it is the object, which has the shorter name; of an await it is what
/// the other one does.
pub(super) fn common_place<'p>(x: &'p str, y: &'p str) -> &'p str {
    if y.is_empty() || !x.is_empty() && x.len() <= y.len() { x } else { y }
}

/// What an operation is done to.
#[derive(Clone, Debug)]
pub(super) enum Touch {
    Memory(Access),
    /// Locks, queues and the like, by name.
    Things(Vec<String>),
    /// An await may read anything.
    Anything,
}

impl Touch {
    pub(super) fn conflicts(&self, other: &Touch) -> bool {
        match (self, other) {
            (Touch::Memory(a), Touch::Memory(b)) => a.conflicts(b),
            (Touch::Things(a), Touch::Things(b)) => a.iter().any(|x| b.contains(x)),
            (Touch::Anything, other) | (other, Touch::Anything) => !matches!(other, Touch::Anything),
            _ => false,
        }
    }

    /// Whether what is done to this, which is at `at`, is done at this location, or in this object.
    pub(super) fn is_at(&self, at: &str, place: &str) -> bool {
        matches!(self, Touch::Anything)
            || at.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The name of a location. The end of an object and an access to its field are on one: the object.
fn place_name(world: &World, place: AccessPlace) -> String {
    match place {
        AccessPlace::Life(object) => world.object_name(object),
        place => world.place_name(place),
    }
}

// What an operation is done to, and the name of that; `None` of the second half of a wait, and of what is done to nothing.
pub(super) fn touched(world: &World, thread: Option<ThreadId>, op: &Op, value: Value) -> Option<(Touch, String)> {
    if let Some(access) = op.access() {
        return Some((Touch::Memory(access), place_name(world, access.place)));
    }
    match things(world, thread?, op, value) {
        None => Some((Touch::Anything, String::new())),
        Some(names) => names.first().cloned().map(|name| (Touch::Things(names), name)),
    }
}

impl Sighting {
    /// Whether it is at this location, or in this object.
    pub(super) fn is_at(&self, place: &str) -> bool {
        self.touch.is_at(&self.place, place)
    }

    /// Whether two of one run are of different contexts and touch the same memory, one writing, or are done to the same lock, queue ...
    pub(super) fn conflicts(&self, other: &Sighting) -> bool {
        self.instance.context != other.instance.context && self.touch.conflicts(&other.touch)
    }
}

/// What a thread or task did, as far as a cut must know it.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    /// The step at which it was forked, posted or fired.
    pub(super) made: u64,
    /// The step at which it ended, or was taken out of its queue without having run.
    pub(super) gone: Option<u64>,
    /// Its operations: the step and the statement of each.
    pub(super) path: Vec<(u64, Option<SiteId>)>,
    /// The pedigree of its maker.
    pub(super) maker: Option<String>,
    /// The event that it is a firing of.
    pub(super) event: Option<EventId>,
}

impl Life {
    /// Whether it was there right after this step.
    pub(super) fn is_there(&self, step: u64) -> bool {
        self.made <= step && self.gone.is_none_or(|gone| gone > step)
    }

    /// Whether it has performed the instance, which is of this context.
    pub(super) fn has_performed(&self, instance: &Instance) -> bool {
        self.path.iter().filter(|(_, site)| *site == Some(instance.site)).count() >= instance.visit as usize
    }
}

/// What one run showed of some statements.
#[derive(Clone, Debug, Default)]
pub(super) struct Sightings {
    /// In the order of performance.
    pub(super) seen: Vec<Sighting>,
    /// All threads and tasks by pedigree; none at all if there were too many to keep.
    pub(super) lives: BTreeMap<String, Life>,
}

// Of each statement of a run this many instances are kept, the first ones: a hot loop tells nothing new after that.
const MOST_OF_A_SITE: usize = 32;
// Of a run with more threads and tasks, or with more operations, no lives are kept, and it proves no cut.
const MOST_LIVES: usize = 512;
const MOST_OPERATIONS: usize = 1 << 14;

/// Watches a run for some statements.
#[derive(Clone)]
pub(super) struct Watch<'s> {
    sites: &'s [SiteId],
    raw: Vec<Raw>,
    counts: Vec<usize>,
    visits: BTreeMap<(SiteId, ContextId), u32>,
    lives: BTreeMap<ContextId, Life>,
    operations: usize,
    // Posted or fired, and not begun.
    queued: BTreeSet<ContextId>,
    // A looper may have died since its queue was looked at.
    may_have_gone: bool,
}

/// What a task of a looper did.
pub(super) struct OfTask {
    pub(super) site: SiteId,
    pub(super) context: ContextId,
    pub(super) visit: u32,
    pub(super) touch: Touch,
    pub(super) place: String,
    pub(super) looper: ThreadId,
}

#[derive(Clone)]
struct Raw {
    site: SiteId,
    context: ContextId,
    visit: u32,
    touch: Touch,
    place: String,
    step: u64,
    fireable: IdSet<EventId>,
    task_of: Option<ThreadId>,
}

impl<'s> Watch<'s> {
    /// Watches for these statements, which are sorted.
    pub(super) fn new(sites: &'s [SiteId]) -> Self {
        Self {
            sites,
            raw: Vec::new(),
            counts: vec![0; sites.len()],
            visits: BTreeMap::new(),
            lives: BTreeMap::new(),
            operations: 0,
            queued: BTreeSet::new(),
            may_have_gone: false,
        }
    }

    /// What was seen, by name.
    pub(super) fn finish(self, world: &World) -> Sightings {
        let contexts = world.contexts();
        let name = |context: ContextId| contexts.name(world.setup(), context);
        let too_many = self.keeps_too_many();
        let seen = self
            .raw
            .into_iter()
            .map(|Raw { site, context, visit, touch, place, step, fireable, .. }| Sighting {
                instance: Instance { site, context: name(context), visit },
                place,
                step,
                fireable,
                touch,
            })
            .collect();
        let named = |(context, mut life): (ContextId, Life)| {
            life.maker = contexts.parent(context).map(name);
            life.event = if let Made::Event(event) = contexts.made(context) { Some(event) } else { None };
            (name(context), life)
        };
        let lives = if too_many { BTreeMap::new() } else { self.lives.into_iter().map(named).collect() };
        Sightings { seen, lives }
    }

    /// What tasks of loopers did, in the order of performance, by what it is in this run.
    pub(super) fn of_tasks(self) -> impl Iterator<Item = OfTask> {
        self.raw.into_iter().filter_map(|Raw { site, context, visit, touch, place, task_of, .. }| {
            Some(OfTask { site, context, visit, touch, place, looper: task_of? })
        })
    }

    fn keeps_too_many(&self) -> bool {
        self.lives.len() > MOST_LIVES || self.operations > MOST_OPERATIONS
    }

    fn make(&mut self, context: ContextId, step: u64) {
        self.lives.entry(context).or_insert_with(|| Life { made: step, ..Life::default() });
    }

    // What was taken out of a queue will not run.
    fn look_at_queues(&mut self, world: &World, step: u64) {
        self.may_have_gone = false;
        let queues = world.threads().iter().filter_map(|t| t.queue.as_ref());
        let there: BTreeSet<ContextId> = queues
            .flat_map(|q| q.messages())
            .filter_map(|m| if let MessageKind::Task(task) = &m.kind { Some(task.context) } else { None })
            .collect();
        for context in std::mem::take(&mut self.queued) {
            if there.contains(&context) {
                self.queued.insert(context);
            } else if let Some(life) = self.lives.get_mut(&context) {
                life.gone = Some(step);
            }
        }
    }

    // Keeps what a cut must know of threads and tasks.
    fn follow(&mut self, world: &World, event: &Event) {
        match (&event.what, event.context) {
            (Happening::ThreadInit, Some(context)) => self.make(context, event.step),
            (Happening::Fire(_, context), _) => {
                self.make(*context, event.step);
                self.queued.insert(*context);
                // A looper that has quit takes nothing; else it stands near the end of its queue, and nothing else has gone.
                let queues = world.threads().iter().filter_map(|t| t.queue.as_ref());
                let mut last = queues.flat_map(|queue| queue.messages().rev().take(1));
                let stands = last.any(|m| matches!(&m.kind, MessageKind::Task(task) if task.context == *context));
                if self.may_have_gone || !stands {
                    self.look_at_queues(world, event.step);
                }
            }
            (Happening::End | Happening::ThreadExit, Some(context)) => {
                self.may_have_gone |= event.what == Happening::ThreadExit;
                if let Some(life) = self.lives.get_mut(&context) {
                    life.gone.get_or_insert(event.step);
                }
            }
            (Happening::Performed { op, made, .. }, Some(context)) => {
                self.operations += 1;
                if let Some(life) = self.lives.get_mut(&context) {
                    life.path.push((event.step, event.site));
                }
                match (op, made) {
                    (Op::Begin, Some(begun)) => {
                        self.queued.remove(begun);
                    }
                    (Op::Post { .. }, Some(made)) => {
                        self.make(*made, event.step);
                        self.queued.insert(*made);
                    }
                    (_, Some(made)) => self.make(*made, event.step),
                    // A begin without a task leaves the loop and drops what is left.
                    (Op::Cancel { .. } | Op::Quit { .. } | Op::Begin, None) => self.look_at_queues(world, event.step),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

impl Observer for Watch<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        if !self.keeps_too_many() {
            self.follow(world, event);
        }
        let (Happening::Performed { op, value, .. }, Some(context), Some(site)) =
            (&event.what, event.context, event.site)
        else {
            return;
        };
        let Ok(at) = self.sites.binary_search(&site) else { return };
        if self.counts[at] >= MOST_OF_A_SITE {
            return;
        }
        self.counts[at] += 1;
        let Some((touch, place)) = touched(world, event.thread, op, *value) else { return };
        let visit = self.visits.entry((site, context)).or_insert(0);
        *visit += 1;
        let (visit, fireable) = (*visit, world.fireable().clone());
        let task_of = event.thread.filter(|t| world.thread(*t).home != context);
        self.raw.push(Raw { site, context, visit, touch, place, step: event.step, fireable, task_of });
    }
}
