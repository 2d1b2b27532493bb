//! Records the orders of instances over many runs. Two runs that performed the same two instances on one location in
//! both orders prove that a pair flips.

use super::observations::{Observation, Observations};
use crate::campaign::order::{First, InstancePair};
use crate::detect::Instance;
use crate::event::SiteId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Order of the two accesses of a pair in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::campaign) struct ObservedOrder {
    pub(in crate::campaign) first: First,
    /// Whether the second access never came, although it was still to come.
    pub(super) is_cut_off: bool,
}

impl ObservedOrder {
    /// Order of a run that performed both accesses.
    pub(in crate::campaign) fn both(first: First) -> Self {
        Self { first, is_cut_off: false }
    }

    /// Order of a run in which the first access cut off the other one.
    pub(in crate::campaign) fn cut_off(first: First) -> Self {
        Self { first, is_cut_off: true }
    }
}

/// First run with each order of two instances.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct FirstRuns {
    runs: [Option<usize>; 2],
}

/// Collects the orders of the instances of one pair.
pub(in crate::campaign) struct OrderEvidence {
    pair: (SiteId, SiteId),
    seen: BTreeMap<InstancePair, FirstRuns>,
    // Pair of instances that held trials aim at. Preferred as evidence for a flip, because it has the most runs.
    target_instances: Option<InstancePair>,
    // Statement whose write the other one must read. An order with another write between the two does not count.
    read_directly: Option<First>,
    runs: Vec<(Observations, bool)>,
}

// Maximum number of pairs of instances that are kept. Only loops exceed it.
const MOST_INSTANCE_PAIRS: usize = 10_000;

impl OrderEvidence {
    pub(in crate::campaign) fn new(a: SiteId, b: SiteId) -> Self {
        Self { pair: (a, b), seen: BTreeMap::new(), target_instances: None, read_directly: None, runs: Vec::new() }
    }

    // Returns the pair of instances of two sightings, of which `x` came first, and the order. `None` if they do not
    // conflict or are no instances of this pair.
    fn instance_pair(&self, x: &Observation, y: &Observation) -> Option<(InstancePair, First)> {
        let sites = (x.instance.site, y.instance.site);
        let (a, b) = self.pair;
        let x_is_a = if a == b { sites == (a, a) && x.instance < y.instance } else { sites == (a, b) };
        let x_is_b = if a == b { sites == (a, a) && x.instance > y.instance } else { sites == (b, a) };
        if !(x_is_a || x_is_b) || !x.conflicts(y) {
            return None;
        }
        let place = x.common(y);
        let (a, b, first) = if x_is_a { (x, y, First::A) } else { (y, x, First::B) };
        if self.is_between(first, x, y) {
            return None;
        }
        Some((InstancePair { a: a.instance.clone(), b: b.instance.clone(), place: place.to_owned() }, first))
    }

    /// Counts the order with the write of `write` first only if the other statement reads it: if no other write to the
    /// location comes between. A free before a use does no harm otherwise (CAFA).
    pub(in crate::campaign) fn demand_direct(&mut self, write: First) {
        self.read_directly = Some(write);
    }

    /// Returns the statement of [`OrderEvidence::demand_direct`], if it was called.
    pub(in crate::campaign) fn direct(&self) -> Option<First> {
        self.read_directly
    }

    // Whether the order does not count, since another write to the location came between the two.
    fn is_between(&self, first: First, x: &Observation, y: &Observation) -> bool {
        self.read_directly == Some(first) && y.written != Some(x.step)
    }

    /// Returns, of a run that performed both instances with the write of `write` first, whether no other write to the
    /// location came between. Needs observers that follow writes.
    pub(in crate::campaign) fn is_direct(&self, run: usize, pair: &InstancePair, write: First) -> Option<bool> {
        let (first, x, y) = both_of(&self.runs[run].0, pair)?;
        (first == write).then(|| y.written == Some(x.step))
    }

    /// Adds the next run. Returns the statement that came first in it, judged by the first two instances that conflict.
    pub(in crate::campaign) fn add(&mut self, observations: Observations, failed: bool) -> Option<First> {
        let run = self.runs.len();
        let mut decided = None;
        for (i, x) in observations.seen.iter().enumerate() {
            for y in &observations.seen[i + 1..] {
                let Some((pair, first)) = self.instance_pair(x, y) else { continue };
                decided.get_or_insert(first);
                if self.seen.len() < MOST_INSTANCE_PAIRS || self.seen.contains_key(&pair) {
                    self.seen.entry(pair).or_default().runs[first as usize].get_or_insert(run);
                }
            }
        }
        self.runs.push((observations, failed));
        decided
    }

    /// Whether a run was the first one to show an order of two instances.
    pub(in crate::campaign) fn is_new(&self, run: usize) -> bool {
        self.seen.values().any(|seen| seen.runs.contains(&Some(run)))
    }

    /// Sets the pair of instances that held trials aim at from now on.
    pub(in crate::campaign) fn drive(&mut self, instances: InstancePair) {
        self.target_instances = Some(instances);
    }

    /// Whether a run performed both statements. If both are one statement: whether two threads or tasks performed it.
    pub(in crate::campaign) fn reached(&self, run: usize) -> bool {
        let seen = &self.runs[run].0.seen;
        let (a, b) = self.pair;
        let of = |site: SiteId| seen.iter().filter(move |s| s.instance.site == site);
        of(a).any(|x| of(b).any(|y| x.instance.context != y.instance.context))
    }

    /// Returns which of the two instances came first in an added run; `None` if it did not perform both.
    pub(in crate::campaign) fn order(&self, run: usize, pair: &InstancePair) -> Option<First> {
        self.order_in(&self.runs[run].0, pair)
    }

    /// Returns which of the two instances came first in a run; `None` if it did not perform both.
    pub(in crate::campaign) fn order_in(&self, observations: &Observations, pair: &InstancePair) -> Option<First> {
        let (first, x, y) = both_of(observations, pair)?;
        (!self.is_between(first, x, y)).then_some(first)
    }

    /// Returns which of the two instances may have cut off the other one in an added run, and the step at which it was
    /// performed.
    pub(in crate::campaign) fn suspect(&self, run: usize, pair: &InstancePair) -> Option<(First, u64)> {
        let (observations, failed) = &self.runs[run];
        self.suspect_in(observations, *failed, pair)
    }

    /// Returns which of the two instances may have cut off the other one in a run that is not added, and the step at
    /// which it was performed.
    pub(in crate::campaign) fn suspect_in(
        &self,
        observations: &Observations,
        failed: bool,
        pair: &InstancePair,
    ) -> Option<(First, u64)> {
        let cuts = |y, x| self.cuts((observations, failed), pair, y, x);
        let by_b = cuts(&pair.b, &pair.a).map(|step| (First::B, step));
        by_b.or_else(|| cuts(&pair.a, &pair.b).map(|step| (First::A, step)))
    }

    // Returns the step at which the run performed `y`, if `x` seems to have been still to come then, and the run failed
    // or went past `x` afterwards. Only the performed statements are compared, not the values.
    fn cuts(
        &self,
        (observations, failed): (&Observations, bool),
        pair: &InstancePair,
        y: &Instance,
        x: &Instance,
    ) -> Option<u64> {
        let y = observations.seen.iter().find(|s| s.instance == *y && s.is_at(&pair.place))?;
        let went_past = match observations.lives.get(&x.context) {
            Some(life) if life.has_performed(x) => return None,
            Some(life) => failed || life.gone.is_some(),
            None => failed,
        };
        let known = self.seen.get(pair)?.runs.into_iter().flatten();
        let mut known = known.map(|known| &self.runs[known].0);
        (went_past && known.any(|known| is_ahead(observations, y, x, known))).then_some(y.step)
    }

    /// Adds all orders of instances that were seen, each as the first and the second instance and the location.
    pub(in crate::campaign) fn collect_orders(&self, orders: &mut BTreeSet<(Arc<Instance>, Arc<Instance>, String)>) {
        for (InstancePair { a, b, place }, seen) in &self.seen {
            let [a, b] = [a, b].map(|instance| Arc::new(instance.clone()));
            let both = [(&a, &b), (&b, &a)].into_iter().zip(seen.runs).filter(|(_, run)| run.is_some());
            orders.extend(both.map(|((first, then), _)| (first.clone(), then.clone(), place.clone())));
        }
    }

    /// Returns the first run that performed both instances, in either order.
    pub(in crate::campaign) fn known(&self, pair: &InstancePair) -> Option<usize> {
        self.seen.get(pair)?.runs.into_iter().flatten().min()
    }

    /// Returns at most `most` pairs of instances that some run performed both of.
    pub(in crate::campaign) fn pairs(&self, most: usize) -> Vec<InstancePair> {
        self.seen.keys().take(most).cloned().collect()
    }

    /// Returns the pairs of instances that came in one order only, each with the order that was not seen.
    pub(in crate::campaign) fn of_one_order(&self) -> Vec<(InstancePair, First)> {
        let missing = |seen: &FirstRuns| match seen.runs {
            [Some(_), None] => Some(First::B),
            [None, Some(_)] => Some(First::A),
            _ => None,
        };
        self.seen.iter().filter_map(|(pair, seen)| Some((pair.clone(), missing(seen)?))).collect()
    }

    /// Returns the statement that came first in a run that is not added, judged by the first two instances that
    /// conflict.
    pub(in crate::campaign) fn first_in(&self, observations: &Observations) -> Option<First> {
        let seen = &observations.seen;
        let pairs = seen.iter().enumerate().flat_map(|(i, x)| seen[i + 1..].iter().map(move |y| (x, y)));
        pairs.filter_map(|(x, y)| self.instance_pair(x, y)).map(|(_, first)| first).next()
    }

    /// Returns two instances that runs performed in both orders, with the first run of each order.
    pub(in crate::campaign) fn flip(&self) -> Option<(InstancePair, [usize; 2])> {
        let target_instances = self.target_instances.as_ref().and_then(|pair| self.seen.get_key_value(pair));
        target_instances.into_iter().chain(&self.seen).find_map(|(pair, seen)| match seen.runs {
            [Some(a), Some(b)] => Some((pair.clone(), [a, b])),
            _ => None,
        })
    }
}

// Returns the two instances in the order in which a run performed them, and which one came first.
fn both_of<'o>(
    observations: &'o Observations,
    pair: &InstancePair,
) -> Option<(First, &'o Observation, &'o Observation)> {
    let find =
        |i: &Instance| observations.seen.iter().enumerate().find(|(_, s)| s.instance == *i && s.is_at(&pair.place));
    let ((i, a), (j, b)) = (find(&pair.a)?, find(&pair.b)?);
    Some(if i < j { (First::A, a, b) } else { (First::B, b, a) })
}

// Whether `x` seems to have been still to come when `y` was performed. That is so if the thread or task of `x` exists
// at that step, and the statements that it has performed are a prefix of those in a run that performed `x`. Otherwise
// it had taken another path before. If it did not exist yet, its maker is judged, and so on; without a maker, its event
// must have been able to fire.
fn is_ahead(observations: &Observations, y: &Observation, x: &Instance, known: &Observations) -> bool {
    let mut name = &x.context;
    loop {
        let Some(then) = known.lives.get(name) else { return false };
        if let Some(life) = observations.lives.get(name).filter(|life| life.made <= y.step) {
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
