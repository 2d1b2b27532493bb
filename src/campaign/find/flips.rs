//! Finds pairs that every run orders and that flip nevertheless: two tasks of one looper that one thread posts, in an
//! order that other threads have decided.
//!
//! No happens-before relation of a single run shows them, since it orders the tasks by their posts. Two runs do: they
//! perform the same two accesses on one location in both orders.

use crate::campaign::runs::observations::{OfTask, PairWatch, common_place};
use crate::detect::Pair;
use crate::event::{Event, SiteId};
use crate::exec::Observer;
use crate::sched::{ContextNames, NameId, Names};
use crate::world::World;
use std::collections::BTreeMap;

// Maximum number of accesses of a run that are compared, and of pairs of accesses that are kept.
const MOST_ACCESSES: usize = 400;
const MOST_PAIRS: usize = 20_000;

/// Observer of a run that records the accesses of tasks.
pub(in crate::campaign) struct Tasks<'s> {
    watch: PairWatch<'s>,
}

/// Accesses of tasks in one run, with the pairs that flip if another run has them in the other order.
#[derive(Default)]
pub(in crate::campaign) struct TaskAccesses {
    // Names of the tasks. In a chain of posts each name is longer than the one before, so that they are compared by
    // their numbers.
    names: Names,
    accesses: Vec<TaskAccess>,
    // Pairs of conflicting accesses of two tasks of one looper, as indices into `accesses`. The access that was
    // performed first comes first.
    pairs: Vec<(u32, u32)>,
}

struct TaskAccess {
    site: SiteId,
    task: NameId,
    visit: u32,
    place: String,
}

impl<'s> Tasks<'s> {
    /// Creates an observer for these statements, which must be sorted.
    pub(in crate::campaign) fn new(sites: &'s [SiteId]) -> Self {
        Self { watch: PairWatch::new(sites) }
    }

    /// Returns the accesses that were seen.
    pub(in crate::campaign) fn finish(self, world: &World) -> TaskAccesses {
        let of_tasks: Vec<OfTask> = self.watch.of_tasks().take(MOST_ACCESSES).collect();
        let mut seen = TaskAccesses::default();
        let mut known = ContextNames::default();
        for (i, x) in of_tasks.iter().enumerate() {
            let task = known.add_context(world, x.context, &mut seen.names);
            seen.accesses.push(TaskAccess { site: x.site, task, visit: x.visit, place: x.place.clone() });
            for (j, y) in of_tasks.iter().enumerate().skip(i + 1) {
                if x.looper == y.looper && x.context != y.context && x.touch.conflicts(&y.touch) {
                    seen.pairs.push((i as u32, j as u32));
                }
            }
        }
        seen
    }
}

impl Observer for Tasks<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        self.watch.event(world, event);
    }
}

/// Pair that flips, with a run that shows it.
pub(in crate::campaign) struct FlippingPair {
    pub(in crate::campaign) pair: Pair,
    pub(in crate::campaign) place: String,
    /// Number of the run that showed the second order.
    pub(in crate::campaign) run: u64,
}

// Name of one access of a task, which is the same in every run: statement, task, and ordinal in the task.
type AccessKey = (SiteId, NameId, u32);

/// Collects the accesses of tasks over many runs.
#[derive(Default)]
pub(super) struct Flips {
    names: Names,
    places: BTreeMap<String, u32>,
    // Orders that were seen of two accesses at one place: whether the lesser one came last, and whether it came first.
    seen: BTreeMap<(AccessKey, AccessKey, u32), [bool; 2]>,
    found: BTreeMap<Pair, FlippingPair>,
}

impl Flips {
    pub(in crate::campaign) fn add(&mut self, run: u64, seen: TaskAccesses) {
        let tasks = self.names.add_all(&seen.names, seen.accesses.iter().map(|access| access.task));
        let keys: Vec<AccessKey> = seen.accesses.iter().zip(tasks).map(|(a, task)| (a.site, task, a.visit)).collect();
        for (x, y) in seen.pairs {
            let (x, y) = (x as usize, y as usize);
            let place = common_place(&seen.accesses[x].place, &seen.accesses[y].place);
            let pair = Pair::new(keys[x].0, keys[y].0);
            let number = self.places.len() as u32;
            let number = match self.places.get(place) {
                Some(known) => *known,
                None => *self.places.entry(place.to_owned()).or_insert(number),
            };
            let first = keys[x] < keys[y];
            let key = if first { (keys[x], keys[y], number) } else { (keys[y], keys[x], number) };
            if self.seen.len() >= MOST_PAIRS && !self.seen.contains_key(&key) {
                continue;
            }
            let orders = self.seen.entry(key).or_default();
            orders[usize::from(first)] = true;
            if *orders == [true, true] {
                self.found.entry(pair).or_insert_with(|| FlippingPair { pair, place: place.to_owned(), run });
            }
        }
    }

    /// Returns the number of pairs that flip.
    pub(in crate::campaign) fn len(&self) -> usize {
        self.found.len()
    }

    pub(in crate::campaign) fn finish(self) -> impl Iterator<Item = FlippingPair> {
        self.found.into_values()
    }
}
