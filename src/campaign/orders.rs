//! Orders of instances over many runs: two runs that performed the same two instances on one location in both orders prove that a pair flips.

use super::sightings::{Sighting, Sightings, common_place};
use super::trial::Run;
use crate::detect::Instance;
use crate::event::SiteId;
use std::collections::{BTreeMap, BTreeSet};

/// Which statement of a pair came first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum First {
    /// The first statement of the pair (of one statement twice: the instance whose name is less).
    A,
    /// The second.
    B,
}

impl First {
    /// The other order.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            First::A => First::B,
            First::B => First::A,
        }
    }
}

/// How the two accesses of a pair came in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Came {
    pub(super) first: First,
    /// Whether the other one never came, though it was still to come.
    pub(super) is_cut_off: bool,
}

impl Came {
    /// Both came.
    pub(super) fn both(first: First) -> Self {
        Self { first, is_cut_off: false }
    }

    /// The other one was cut off.
    pub(super) fn cut_off(first: First) -> Self {
        Self { first, is_cut_off: true }
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
    /// A run in which the first statement came first, and one with the other order.
    pub runs: [Run; 2],
    /// The order that only a *cut* shows: that run performed its first instance while the other one was still to come, and then failed or went past it.
    pub cut: Option<First>,
}

/// Collects the orders of one pair.
pub(super) struct Orders {
    pair: (SiteId, SiteId),
    seen: BTreeMap<InstancePair, Seen>,
    // Those that trials flip: if they do it is told of these, as their runs are the most.
    driven: Option<InstancePair>,
    runs: Vec<(Sightings, bool)>,
}

// Instance pairs that are kept of one pair; more come from loops only.
const MOST_INSTANCE_PAIRS: usize = 10_000;

impl Orders {
    pub(super) fn new(a: SiteId, b: SiteId) -> Self {
        Self { pair: (a, b), seen: BTreeMap::new(), driven: None, runs: Vec::new() }
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
        let place = common_place(&x.place, &y.place);
        let (a, b, first) = if x_is_a { (x, y, First::A) } else { (y, x, First::B) };
        Some((InstancePair { a: a.instance.clone(), b: b.instance.clone(), place: place.to_owned() }, first))
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

    /// Whether a run was the first to have two instances in some order.
    pub(super) fn is_new(&self, run: usize) -> bool {
        self.seen.values().any(|seen| seen.runs.contains(&Some(run)))
    }

    /// These two are what trials flip from now on.
    pub(super) fn drive(&mut self, instances: InstancePair) {
        self.driven = Some(instances);
    }

    /// Whether a run performed both statements (of one statement twice: in two threads or tasks).
    pub(super) fn reached(&self, run: usize) -> bool {
        let seen = &self.runs[run].0.seen;
        let (a, b) = self.pair;
        let of = |site: SiteId| seen.iter().filter(move |s| s.instance.site == site);
        of(a).any(|x| of(b).any(|y| x.instance.context != y.instance.context))
    }

    /// Which of these two instances came first in a run that performed both.
    pub(super) fn order(&self, run: usize, pair: &InstancePair) -> Option<First> {
        order_in(&self.runs[run].0, pair)
    }

    /// Which of these two instances an added run may have cut off the other one with, and after how many steps.
    pub(super) fn suspect(&self, run: usize, pair: &InstancePair) -> Option<(First, u64)> {
        let (sightings, failed) = &self.runs[run];
        self.suspect_in(sightings, *failed, pair)
    }

    /// The same of a run that is not added.
    pub(super) fn suspect_in(&self, sightings: &Sightings, failed: bool, pair: &InstancePair) -> Option<(First, u64)> {
        let cuts = |y, x| self.cuts((sightings, failed), pair, y, x);
        let by_b = cuts(&pair.b, &pair.a).map(|step| (First::B, step));
        by_b.or_else(|| cuts(&pair.a, &pair.b).map(|step| (First::A, step)))
    }

    // The step at which the run performed `y` while `x` was still to come, as far as what was performed tells, if it then failed or went past `x`.
    fn cuts(
        &self,
        (sightings, failed): (&Sightings, bool),
        pair: &InstancePair,
        y: &Instance,
        x: &Instance,
    ) -> Option<u64> {
        let y = sightings.seen.iter().find(|s| s.instance == *y && s.is_at(&pair.place))?;
        let went_past = match sightings.lives.get(&x.context) {
            Some(life) if life.has_performed(x) => return None,
            Some(life) => failed || life.gone.is_some(),
            None => failed,
        };
        let known = self.seen.get(pair)?.runs.into_iter().flatten();
        let mut known = known.map(|known| &self.runs[known].0);
        (went_past && known.any(|known| is_ahead(sightings, y, x, known))).then_some(y.step)
    }

    /// Adds the orders that were seen, wherever the two met: who came first, and who then.
    pub(super) fn came(&self, orders: &mut BTreeSet<(Instance, Instance)>) {
        for (InstancePair { a, b, .. }, seen) in &self.seen {
            let both = [(a, b), (b, a)].into_iter().zip(seen.runs).filter(|(_, run)| run.is_some());
            orders.extend(both.map(|((first, then), _)| (first.clone(), then.clone())));
        }
    }

    /// The first run that performed these two instances, in whichever order.
    pub(super) fn known(&self, pair: &InstancePair) -> Option<usize> {
        self.seen.get(pair)?.runs.into_iter().flatten().min()
    }

    /// Some pairs of instances that a run performed.
    pub(super) fn pairs(&self, most: usize) -> Vec<InstancePair> {
        self.seen.keys().take(most).cloned().collect()
    }

    /// The pairs of instances that came in one order only, with the other one.
    pub(super) fn of_one_order(&self) -> Vec<(InstancePair, First)> {
        let missing = |seen: &Seen| match seen.runs {
            [Some(_), None] => Some(First::B),
            [None, Some(_)] => Some(First::A),
            _ => None,
        };
        self.seen.iter().filter_map(|(pair, seen)| Some((pair.clone(), missing(seen)?))).collect()
    }

    /// Which statement came first in a run that is not added, judged by the first two instances that conflict.
    pub(super) fn first_in(&self, sightings: &Sightings) -> Option<First> {
        let seen = &sightings.seen;
        let pairs = seen.iter().enumerate().flat_map(|(i, x)| seen[i + 1..].iter().map(move |y| (x, y)));
        pairs.filter_map(|(x, y)| self.instance_pair(x, y)).map(|(_, first)| first).next()
    }

    /// Two instances that runs performed in both orders, and the first run of each order.
    pub(super) fn flip(&self) -> Option<(InstancePair, [usize; 2])> {
        let driven = self.driven.as_ref().and_then(|pair| self.seen.get_key_value(pair));
        driven.into_iter().chain(&self.seen).find_map(|(pair, seen)| match seen.runs {
            [Some(a), Some(b)] => Some((pair.clone(), [a, b])),
            _ => None,
        })
    }
}

/// Which of these two instances came first in a run that performed both.
pub(super) fn order_in(sightings: &Sightings, pair: &InstancePair) -> Option<First> {
    let at = |i: &Instance| sightings.seen.iter().position(|s| s.instance == *i && s.is_at(&pair.place));
    let (a, b) = (at(&pair.a)?, at(&pair.b)?);
    Some(if a < b { First::A } else { First::B })
}

// Whether `x` was still to come when `y` was performed. Its thread or task (if that was not made yet: who makes it, and so on) is there, and what it has done
// is the beginning of what it did in a run that performed `x`. Else it has gone another way before.
fn is_ahead(sightings: &Sightings, y: &Sighting, x: &Instance, known: &Sightings) -> bool {
    let mut name = &x.context;
    loop {
        let Some(then) = known.lives.get(name) else { return false };
        if let Some(life) = sightings.lives.get(name).filter(|life| life.made <= y.step) {
            let so_far = life.path.iter().take_while(|(step, _)| *step <= y.step);
            return life.is_there(y.step)
                && so_far.clone().count() <= then.path.len()
                && so_far.zip(&then.path).all(|(now, then)| now.1 == then.1);
        }
        match (&then.maker, then.event) {
            (Some(maker), _) => name = maker,
            (None, Some(event)) => return y.fireable.contains(event),
            (None, None) => return false,
        }
    }
}
