//! Orders of instances over many runs: two runs that performed the same two instances on one location in both orders prove that a pair flips.

use super::sightings::{Instance, Sighting, Sightings};
use crate::event::SiteId;
use std::collections::BTreeMap;

/// Which statement of a pair came first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum First {
    /// The first statement of the pair (of one statement twice: the instance whose name is less).
    A,
    /// The second.
    B,
}

impl First {
    fn other(self) -> First {
        match self {
            First::A => First::B,
            First::B => First::A,
        }
    }
}

/// Two instances of a pair, on one location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct InstancePair {
    /// The instance of the first statement.
    pub a: Instance,
    /// Of the second.
    pub b: Instance,
    /// The location, by name.
    pub place: String,
}

/// What was seen of two instances: in each order, the first run that had it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Seen {
    runs: [Option<usize>; 2],
}

/// A flip: the runs that show the two orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flip {
    /// Which instances.
    pub instances: InstancePair,
    /// The run in which the first statement came first, and the other one.
    pub runs: [usize; 2],
    /// The order that only a *cut* shows: that run performed the other instance, and then failed, or the thread or task of this one went on past it.
    pub cut: Option<First>,
}

/// Collects the orders of one pair.
pub(super) struct Orders {
    pair: (SiteId, SiteId),
    seen: BTreeMap<InstancePair, Seen>,
    runs: Vec<(Sightings, bool)>,
}

// Instance pairs that are kept of one pair; more come from loops only.
const MOST_INSTANCE_PAIRS: usize = 10_000;

impl Orders {
    pub(super) fn new(a: SiteId, b: SiteId) -> Self {
        Self { pair: (a, b), seen: BTreeMap::new(), runs: Vec::new() }
    }

    // The pair of two sightings of which `x` came first, and which side that is.
    fn instance_pair(&self, x: &Sighting, y: &Sighting) -> Option<(InstancePair, First)> {
        let sites = (x.instance.site, y.instance.site);
        let (a, b) = self.pair;
        let x_is_a = if a == b { sites == (a, a) && x.instance < y.instance } else { sites == (a, b) };
        let x_is_b = if a == b { sites == (a, a) && x.instance > y.instance } else { sites == (b, a) };
        if !(x_is_a || x_is_b) || !x.conflicts(y) {
            return None;
        }
        // An access to a field and the end of its object: the shorter name is the object's.
        let place = if x.place.len() <= y.place.len() { &x.place } else { &y.place };
        let (a, b, first) = if x_is_a { (x, y, First::A) } else { (y, x, First::B) };
        Some((InstancePair { a: a.instance.clone(), b: b.instance.clone(), place: place.clone() }, first))
    }

    /// Adds the next run; returns which statement came first in it, judged by the first two instances that conflict.
    pub(super) fn add(&mut self, sightings: Sightings, failed: bool) -> Option<First> {
        let run = self.runs.len();
        let mut decided = None;
        for (i, x) in sightings.seen.iter().enumerate() {
            for y in &sightings.seen[i + 1..] {
                let Some((pair, first)) = self.instance_pair(x, y) else { continue };
                decided.get_or_insert(first);
                if self.seen.len() < MOST_INSTANCE_PAIRS || self.seen.contains_key(&pair) {
                    self.seen.entry(pair).or_default().runs[first as usize].get_or_insert(run);
                }
            }
        }
        self.runs.push((sightings, failed));
        decided
    }

    /// Which statement a run cut off the other one with: it performed one instance of a known pair, not the other one, and then failed or went past it.
    pub(super) fn cut(&self, run: usize) -> Option<First> {
        self.seen.keys().find_map(|pair| self.cut_of(pair, run))
    }

    fn cut_of(&self, pair: &InstancePair, run: usize) -> Option<First> {
        if self.cuts(run, pair, &pair.b, &pair.a) {
            Some(First::B)
        } else if self.cuts(run, pair, &pair.a, &pair.b) {
            Some(First::A)
        } else {
            None
        }
    }

    // Whether the run performed `y`, never `x`, and after `y` failed or went past `x`. A context that had ended before `y` was past `x` already: that is no order.
    fn cuts(&self, run: usize, pair: &InstancePair, y: &Instance, x: &Instance) -> bool {
        let (sightings, failed) = &self.runs[run];
        let Some(y) = sightings.seen.iter().find(|s| s.instance == *y && s.place == pair.place) else { return false };
        if sightings.seen.iter().any(|s| s.instance == *x) {
            return false;
        }
        match sightings.ended.get(&x.context) {
            Some(end) => *end > y.step,
            None => *failed,
        }
    }

    /// Two runs that performed two instances in both orders; one that needs no cut if there is one.
    pub(super) fn flip(&self) -> Option<Flip> {
        let whole = self.seen.iter().find_map(|(pair, seen)| match seen.runs {
            [Some(a), Some(b)] => Some(Flip { instances: pair.clone(), runs: [a, b], cut: None }),
            _ => None,
        });
        whole.or_else(|| {
            self.seen.iter().find_map(|(pair, seen)| {
                let (known, run) = match seen.runs {
                    [Some(run), None] => (First::A, run),
                    [None, Some(run)] => (First::B, run),
                    _ => return None,
                };
                let missing = known.other();
                let cut = (0..self.runs.len()).find(|r| self.cut_of(pair, *r) == Some(missing))?;
                let runs = if known == First::A { [run, cut] } else { [cut, run] };
                Some(Flip { instances: pair.clone(), runs, cut: Some(missing) })
            })
        })
    }
}
