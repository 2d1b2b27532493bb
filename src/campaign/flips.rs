//! Pairs that every run orders and that flip all the same: two tasks of one looper whose posts one thread makes, in an order that others have decided.
//!
//! No happens-before of one run shows them, since it orders the tasks by their posts. Two runs do: the same two accesses on one location, in both orders.

use super::sightings::{Watch, common_place};
use crate::detect::{Instance, Pair};
use crate::event::{Event, SiteId};
use crate::exec::Observer;
use crate::world::World;
use std::collections::BTreeMap;

// Accesses of a run that are compared, and pairs of accesses that are kept.
const MOST_ACCESSES: usize = 400;
const MOST_PAIRS: usize = 20_000;

/// Watches a run for accesses of tasks.
pub(super) struct Tasks<'s> {
    watch: Watch<'s>,
}

/// Two accesses of tasks of one looper, on one location, in the order of their names; and whether the first came first.
pub(super) type Seen = (Instance, Instance, String, bool);

impl<'s> Tasks<'s> {
    /// Watches all these statements, which are sorted.
    pub(super) fn new(sites: &'s [SiteId]) -> Self {
        Self { watch: Watch::new(sites) }
    }

    /// What was seen.
    pub(super) fn finish(self, world: &World) -> Vec<Seen> {
        let sightings = self.watch.finish(world);
        let tasks: Vec<_> = sightings.seen.iter().filter(|s| s.task_of.is_some()).take(MOST_ACCESSES).collect();
        let mut seen = Vec::new();
        for (i, x) in tasks.iter().enumerate() {
            for y in &tasks[i + 1..] {
                if x.task_of != y.task_of || !x.conflicts(y) {
                    continue;
                }
                let place = common_place(&x.place, &y.place).to_owned();
                let (first, second) = (x.instance.clone(), y.instance.clone());
                seen.push(match x.instance < y.instance {
                    true => (first, second, place, true),
                    false => (second, first, place, false),
                });
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

/// A pair that flips, with a run that shows it.
pub(super) struct Flip {
    pub(super) pair: Pair,
    pub(super) place: String,
    /// The number of the run that showed the second order.
    pub(super) run: u64,
}

/// Collects what many runs have shown.
#[derive(Default)]
pub(super) struct Flips {
    seen: BTreeMap<(Instance, Instance, String), [bool; 2]>,
    found: BTreeMap<Pair, Flip>,
}

impl Flips {
    pub(super) fn add(&mut self, run: u64, seen: Vec<Seen>) {
        for (x, y, place, first) in seen {
            let pair = Pair::new(x.site, y.site);
            let key = (x, y, place);
            if self.seen.len() >= MOST_PAIRS && !self.seen.contains_key(&key) {
                continue;
            }
            let place = key.2.clone();
            let orders = self.seen.entry(key).or_default();
            orders[usize::from(first)] = true;
            if *orders == [true, true] {
                self.found.entry(pair).or_insert(Flip { pair, place, run });
            }
        }
    }

    /// How many pairs flip.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    pub(super) fn finish(self) -> impl Iterator<Item = Flip> {
        self.found.into_values()
    }
}
