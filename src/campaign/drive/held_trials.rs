//! Performs the held trials of a pair: one access is held until the other one has been performed, in each way that the
//! causes allow.

use super::pair_trials::{PairTrials, is_sure};
use super::ways::{HoldTrial, HoldTrials, prepare, prepare_between};
use crate::campaign::order::{First, InstancePair};
use crate::campaign::runs::stream::Stream;
use crate::sched::StrategySpec;
use crate::world::Program;

/// Number of runs of each way before the best one is chosen.
pub(in crate::campaign) const PILOT: u32 = 4;

// Other writes are kept out if fewer than one in so many trials with the write first have no other write between.
const SELDOM_DIRECT: usize = 4;

// Maximum number of ways that are tried for a pair of later tasks: the nearest ones.
const MOST_OF_LATER: usize = 4;

impl<P: Program> PairTrials<'_, P> {
    // Performs a few runs of each way, with fresh counts.
    fn pilot(&mut self, mut ways: Vec<HoldTrial>, instances: &InstancePair) -> Vec<HoldTrial> {
        for way in &mut ways {
            (way.trials, way.hits) = (0, 0);
            self.try_way(way, PILOT.min(self.plan.trials.count), instances);
        }
        ways
    }

    // Gives the best way of each of these orders its share of the trials: half of the plan's.
    fn settle(&mut self, held: &mut HoldTrials, orders: &[First]) {
        for wanted in orders {
            if let Some(at) = held.best(*wanted) {
                let n = (self.plan.trials.count / 2).saturating_sub(held.ways[at].trials);
                self.try_way(&mut held.ways[at], n, &held.instances);
            }
        }
    }

    // Performs `n` trials of a way, and counts those with the wanted order.
    fn try_way(&mut self, way: &mut HoldTrial, n: u32, instances: &InstancePair) {
        let wanted = way.wanted;
        self.perform_way(way, n, |d, i| d.order(i, instances).is_some_and(|observed| observed.first == wanted));
    }

    // Performs `n` trials of a way, and counts those in which the read met what the write had written.
    fn try_between(&mut self, way: &mut HoldTrial, n: u32, instances: &InstancePair) {
        let write = way.wanted;
        self.perform_way(way, n, |d, i| d.orders.is_direct(i, instances, write) == Some(true));
    }

    // Performs `n` trials of a way, and counts those that reach its goal.
    fn perform_way(&mut self, way: &mut HoldTrial, n: u32, hit: impl Fn(&mut Self, usize) -> bool) {
        if self.stopped() {
            return;
        }
        let runs = self.draw(&StrategySpec::Hold(way.spec.clone()), n);
        let (trials, hits) = self.tally(way.spec.to_string(), runs, hit);
        way.trials += trials;
        way.hits += hits;
    }

    // Holds one access until the other one has been performed, in every way that the causes allow.
    pub(super) fn hold(&mut self, stream: &Stream, profiles: impl Iterator<Item = u64>) {
        let prepared = profiles
            .map(|seed| (seed, prepare(self.plan, stream, self.pair, seed, self.context.stop)))
            .find(|(_, prepared)| !prepared.is_empty());
        let Some((seed, prepared)) = prepared else { return };
        let mut prepared = prepared.into_iter();
        let Some(mut held) = prepared.next() else { return };
        self.orders.drive(held.instances.clone());
        let ways = std::mem::take(&mut held.ways);
        held.ways = self.pilot(ways, &held.instances);
        self.settle(&mut held, &[First::A, First::B]);
        // Random walks may seldom reach both operations. For orders without a reliable way the others follow the run
        // that shows both operations.
        let good = |w: &HoldTrial, wanted| w.wanted == wanted && w.hits > 0 && is_sure(w.hits, w.trials);
        let seldom = [First::A, First::B].into_iter().filter(|wanted| !held.ways.iter().any(|w| good(w, *wanted)));
        let seldom: Vec<First> = seldom.collect();
        let mut guided: Vec<HoldTrial> = held.ways.iter().filter(|w| seldom.contains(&w.wanted)).cloned().collect();
        guided.iter_mut().for_each(|way| way.spec.guided = true);
        let guided = self.pilot(guided, &held.instances);
        held.ways.extend(guided);
        self.settle(&mut held, &seldom);
        self.keep_out(stream, &held, seed);
        self.held = Some(held);
        // Harm may come only with a later task.
        for mut later in prepared {
            let mut ways = std::mem::take(&mut later.ways);
            ways.truncate(MOST_OF_LATER);
            later.ways = self.pilot(ways, &later.instances);
            self.later.push(later);
        }
    }

    // If other writes come between the write and the read in most trials with the write first, keeps them out in some
    // trials. Only then does the read meet what the write has written: the null of a free, for example.
    fn keep_out(&mut self, stream: &Stream, held: &HoldTrials, profile: u64) {
        let Some(write) = self.write.filter(|_| self.may_be_between()) else { return };
        let of_trials = self.trials().into_iter();
        let direct: Vec<bool> = of_trials.filter_map(|i| self.orders.is_direct(i, &held.instances, write)).collect();
        let read = direct.iter().filter(|direct| **direct).count();
        if read * SELDOM_DIRECT >= direct.len().max(1) {
            return;
        }
        let pair = (self.pair, write);
        let Some(mut between) = prepare_between(self.plan, stream, pair, profile, self.context.stop) else { return };
        for way in &mut between.ways {
            self.try_between(way, PILOT.min(self.plan.trials.count), &between.instances);
        }
        if let Some(at) = between.best(write) {
            let n = (self.plan.trials.count / 2).saturating_sub(between.ways[at].trials);
            self.try_between(&mut between.ways[at], n, &between.instances);
            // The other order needs nothing new.
            between.ways.extend(held.best(write.other()).map(|at| held.ways[at].clone()));
            self.between = Some(between);
        }
    }
}
