//! Phase 2 for one pair: the runs that may bring its two accesses side by side, or into both orders.
//!
//! Detection's runs are looked at once more: they may show both orders already. Accesses of two threads are driven by RaceFuzzer's scheduler, and from a later
//! visit on. What is never side by side is flipped: one of them is held until the other has been performed, in each way that the causes
//! allow, first a few runs of each, then most of the way that does it most often.

use super::causes::Causes;
use super::cuts::{Cuts, Suspect, Trying};
use super::orders::{Came, First, Flip, InstancePair, Orders, order_in};
use super::refute::SideBySide;
use super::report::WayReport;
use super::sightings::{Sightings, Watch};
use super::stream::{Stream, seed_of};
use super::trial::{Run, RunId, SEARCHED, Trial, Worker};
use super::ways::{Held, HeldWay, patience, prepare, spec};
use super::{Context, Plan, parallel};
use crate::base::mix;
use crate::detect::{Candidate, ContextKind, Pair};
use crate::event::{Event, SiteId};
use crate::exec::{End, Observer};
use crate::sched::{Hit, StrategySpec};
use crate::world::World;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;

// Runs of each way before the best one is known.
const PILOT: u32 = 4;

// Ways that are tried for a pair of later tasks, the nearest ones.
const MOST_OF_LATER: usize = 4;

// Pairs of instances that came in one order only, and runs of each, that are looked through for one that is cut off.
const MOST_OF_ONE_ORDER: usize = 16;
const MOST_SUSPECTS: usize = 32;

// Runs that are looked through for how a pair comes about that detection has not seen.
const MOST_PROFILES: u64 = 8;

/// One pair, and what its runs have shown.
pub(super) struct Driven<'d> {
    pub(super) plan: &'d Plan,
    pub(super) context: Context<'d>,
    pub(super) pair: Pair,
    // Its number in the campaign: its runs have seeds of their own.
    number: u64,
    /// Steps of the longest run of detection.
    pub(super) longest: u64,
    pub(super) sites: Vec<SiteId>,
    pub(super) orders: Orders,
    cuts: Cuts,
    pub(super) trials: Vec<Trial>,
    // For each trial, which statement came first, judged by the first two accesses that conflict.
    pub(super) decided: Vec<Option<First>>,
    /// Trials after those of detection.
    pub(super) from: usize,
    // The kinds of runs that were made, and how often they did what they were to do.
    pub(super) ways: Vec<WayReport>,
    /// Runs with both accesses side by side.
    pub(super) hits: Vec<(usize, Hit)>,
    /// The ways to bring each order about, and the best one of each.
    pub(super) held: Option<Held>,
    /// The same for pairs of later tasks.
    pub(super) later: Vec<Held>,
    /// Whether all runs were made.
    pub(super) complete: bool,
    // Whether runs that hold something are looked through for both accesses side by side: whoever is held at its access stands there when the other one acts.
    looks: bool,
    drawn: u64,
}

// Whether what was tried comes about nearly always: in 95 % of the trials.
fn is_sure(hits: u32, trials: u32) -> bool {
    hits * 20 >= trials * 19
}

// A trial that is watched.
struct Looking<'s> {
    watch: Watch<'s>,
    side: Option<SideBySide>,
}

impl Observer for Looking<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        self.watch.event(world, event);
        if let Some(side) = &mut self.side {
            side.event(world, event);
        }
    }
}

impl<'d> Driven<'d> {
    pub(super) fn new(plan: &'d Plan, context: Context<'d>, pair: Pair, number: u64, longest: u64) -> Self {
        let mut sites = vec![pair.a, pair.b];
        sites.dedup();
        Self {
            plan,
            context,
            pair,
            number,
            longest,
            sites,
            orders: Orders::new(pair.a, pair.b),
            cuts: Cuts::default(),
            trials: Vec::new(),
            decided: Vec::new(),
            from: 0,
            ways: Vec::new(),
            hits: Vec::new(),
            held: None,
            later: Vec::new(),
            complete: true,
            looks: false,
            drawn: 0,
        }
    }

    /// The runs that are trials: neither detection's nor those that a search has found.
    pub(super) fn trials(&self) -> Vec<usize> {
        let searched = |i: &usize| matches!(self.trials[*i].run, Run::Made { by: SEARCHED, .. });
        (self.from..self.trials.len()).filter(|i| !searched(i)).collect()
    }

    /// Whether a run has proved it.
    pub(super) fn is_confirmed(&mut self) -> bool {
        !self.hits.is_empty() || self.flip().is_some()
    }

    /// Two runs that performed two instances in both orders; one that needs no cut if there is one.
    pub(super) fn flip(&mut self) -> Option<Flip> {
        if let Some((instances, runs)) = self.orders.flip() {
            return Some(Flip { instances, runs: runs.map(|i| self.trials[i].run.clone()), cut: None });
        }
        for (instances, cut) in self.orders.of_one_order().into_iter().take(MOST_OF_ONE_ORDER) {
            for (i, step) in self.suspects(&instances, cut) {
                let run = self.trials[i].run.clone();
                if self.is_cut(&run, &instances, (cut, step)) {
                    let known = self.trials[self.orders.known(&instances)?].run.clone();
                    let runs = if cut == First::A { [run, known] } else { [known, run] };
                    return Some(Flip { instances, runs, cut: Some(cut) });
                }
            }
        }
        None
    }

    // Runs that may have cut off an order of two instances, each with the step of the one that it performed.
    fn suspects(&self, instances: &InstancePair, cut: First) -> Vec<(usize, u64)> {
        let suspect =
            |i| self.orders.suspect(i, instances).filter(|(first, _)| *first == cut).map(|(_, step)| (i, step));
        (0..self.trials.len()).filter_map(suspect).take(MOST_SUSPECTS).collect()
    }

    /// Whether some run may have cut an order off that no run shows: it is not proved that the access that did not come was not to come any more.
    pub(super) fn may_be_cut(&mut self) -> bool {
        self.orders.of_one_order().iter().any(|(instances, cut)| {
            self.suspects(instances, *cut).into_iter().any(|(i, step)| {
                let trying = Trying { plan: self.plan, sites: &self.sites, stop: self.context.stop };
                let suspect = Suspect { run: &self.trials[i].run, pair: instances, first: *cut, step };
                !self.cuts.is_settled(&trying, &suspect)
            })
        })
    }

    fn is_cut(&mut self, run: &Run, pair: &InstancePair, (first, step): (First, u64)) -> bool {
        let Some(known) = self.orders.known(pair).map(|known| self.trials[known].run.clone()) else { return false };
        let trying = Trying { plan: self.plan, sites: &self.sites, stop: self.context.stop };
        self.cuts.is_cut(&trying, &Suspect { run, pair, first, step }, &known)
    }

    /// Which of these two instances came first in a run of the pair, or cut off the other one.
    pub(super) fn order(&mut self, i: usize, pair: &InstancePair) -> Option<Came> {
        self.orders.order(i, pair).map(Came::both).or_else(|| {
            let run = self.trials[i].run.clone();
            let suspect = self.orders.suspect(i, pair)?;
            self.is_cut(&run, pair, suspect).then_some(Came::cut_off(suspect.0))
        })
    }

    /// The same of a run that is not one of the pair's.
    pub(super) fn order_in(&mut self, trial: &Trial, sightings: &Sightings, pair: &InstancePair) -> Option<Came> {
        order_in(sightings, pair).map(Came::both).or_else(|| {
            let suspect = self.orders.suspect_in(sightings, trial.failed(), pair)?;
            self.is_cut(&trial.run, pair, suspect).then_some(Came::cut_off(suspect.0))
        })
    }

    /// Which statement came first in a run of the pair: judged by the first two accesses that conflict, or by one that cut off another.
    pub(super) fn any_order(&mut self, i: usize) -> Option<First> {
        self.decided[i].or_else(|| {
            let pairs = self.orders.pairs(MOST_OF_ONE_ORDER);
            pairs.iter().find_map(|pair| self.order(i, pair)).map(|came| came.first)
        })
    }

    /// The same of a run that is not one of the pair's.
    pub(super) fn any_order_in(&mut self, trial: &Trial, sightings: &Sightings) -> Option<First> {
        let first = self.orders.first_in(sightings);
        first.or_else(|| {
            let pairs = self.orders.pairs(MOST_OF_ONE_ORDER);
            pairs.iter().find_map(|pair| self.order_in(trial, sightings, pair)).map(|came| came.first)
        })
    }

    // Long enough that no run of phase 1 would have been cut, short enough that a livelock is left soon.
    fn patience(&self) -> u64 {
        patience(self.longest)
    }

    fn stopped(&self) -> bool {
        self.context.stop.load(Ordering::Relaxed)
    }

    /// Looks at the runs of detection.
    pub(super) fn look_at_detection(&mut self, stream: &Stream, runs: u32) {
        let runs: Vec<Run> = (0..u64::from(runs)).map(|i| stream.run(seed_of(self.plan, i))).collect();
        self.perform(&runs);
        self.from = self.trials.len();
    }

    /// Makes a run that somebody else has found.
    pub(super) fn look_at(&mut self, run: Run) {
        self.looks = true;
        self.perform(&[run]);
        self.looks = false;
    }

    /// The trials.
    pub(super) fn drive(&mut self, candidate: &Candidate, stream: &Stream) {
        // Of a pair that detection has not seen no kinds are known.
        let only_looper = candidate.kinds.iter().eq([&ContextKind::SameLooper]);
        if !only_looper && candidate.is_race() {
            self.direct(stream);
        }
        // What is seldom brought side by side may be brought into either order all the same.
        let seldom = self.ways.iter().all(|way| !is_sure(way.hits, way.trials));
        if seldom || candidate.kinds.contains(&ContextKind::SameLooper) {
            // The run that detection has seen it in; else the first one that shows how it comes about.
            self.looks = !only_looper && candidate.is_race();
            let others = 0..if candidate.count == 0 { MOST_PROFILES } else { 0 };
            let runs = std::iter::once(candidate.evidence.run).chain(others);
            self.hold(stream, runs.map(|run| seed_of(self.plan, run)));
            self.looks = false;
        }
    }

    /// The statements that matter for it: its own, and those of what brings them about.
    pub(super) fn interesting(&self) -> Vec<SiteId> {
        self.held.as_ref().map_or_else(|| self.sites.clone(), |held| held.causes.clone())
    }

    /// Trials by a scheduler that drives nothing; how many of them showed something new of it.
    pub(super) fn look(&mut self, strategy: &StrategySpec, n: u32) -> u32 {
        self.looks = true;
        let runs = self.draw(strategy, n);
        self.looks = false;
        let (from, hits) = (runs.start, self.hits.clone());
        self.tally(strategy.to_string(), runs, |_, i| hits.iter().any(|(at, _)| *at == i));
        let mut news = 0;
        for i in from..self.trials.len() {
            let signature = &self.trials[i].signature;
            let fails = self.trials[i].failed() && self.trials[..i].iter().all(|t| t.signature != *signature);
            news += u32::from(fails || self.orders.is_new(i));
        }
        news
    }

    // Runs of this strategy.
    fn draw(&mut self, strategy: &StrategySpec, n: u32) -> Range<usize> {
        let seed = mix(self.plan.seed, 1 << 32 | self.number);
        let ids =
            (self.drawn..self.drawn + u64::from(n)).map(|i| RunId { strategy: strategy.clone(), seed: mix(seed, i) });
        let runs: Vec<Run> = ids.map(Run::Drawn).collect();
        self.drawn += u64::from(n);
        self.perform(&runs)
    }

    // Makes these runs, and watches them; those that were interrupted are left out.
    fn perform(&mut self, runs: &[Run]) -> Range<usize> {
        let from = self.trials.len();
        self.context.progress.phase("driving a pair", runs.len() as u64);
        let (sites, pair, looks, stop) = (&self.sites, self.pair, self.looks, self.context.stop);
        let results = parallel::map(
            self.plan.jobs,
            runs.len(),
            stop,
            || Worker::new(self.plan),
            |worker, i| {
                let side = looks.then(|| SideBySide::new(pair));
                let mut watch = Looking { watch: Watch::new(sites), side };
                let trial = worker.perform(&runs[i], &mut watch, stop);
                let hit = watch.side.and_then(|side| side.hit);
                (trial, watch.watch.finish(&worker.machine.world), hit)
            },
            || self.context.progress.done(),
        );
        for (trial, sightings, hit) in results.into_iter().flatten().filter(|(t, ..)| t.summary.end != End::Interrupted)
        {
            let at = self.add(trial, sightings);
            self.hits.extend(hit.map(|hit| (at, hit)));
        }
        self.complete &= self.trials.len() - from == runs.len();
        from..self.trials.len()
    }

    // Adds a run that was watched.
    fn add(&mut self, trial: Trial, sightings: Sightings) -> usize {
        let Pair { a, b } = self.pair;
        self.decided.push(self.orders.add(sightings, trial.failed()));
        let at = self.trials.len();
        self.hits.extend(trial.races.iter().find(|h| h.is_of(a, b)).map(|hit| (at, *hit)));
        self.trials.push(trial);
        at
    }

    fn tally(&mut self, strategy: String, runs: Range<usize>, hit: impl Fn(&mut Self, usize) -> bool) -> (u32, u32) {
        let (trials, hits) = (runs.len() as u32, runs.clone().filter(|i| hit(self, *i)).count() as u32);
        let at = self.ways.iter().position(|w| w.strategy == strategy).unwrap_or_else(|| {
            self.ways.push(WayReport { strategy, trials: 0, hits: 0, released: BTreeMap::new() });
            self.ways.len() - 1
        });
        let way = &mut self.ways[at];
        way.trials += trials;
        way.hits += hits;
        for released in self.trials[runs].iter().filter_map(|t| t.released) {
            *way.released.entry(released).or_default() += 1;
        }
        (trials, hits)
    }

    fn is_hit(&mut self, run: usize) -> bool {
        let Pair { a, b } = self.pair;
        self.trials[run].races.iter().any(|h| h.is_of(a, b))
    }

    // RaceFuzzer; and from a later visit on.
    fn direct(&mut self, stream: &Stream) {
        let Pair { a, b } = self.pair;
        let (a, b) = (spec(self.plan, a), spec(self.plan, b));
        let strategy =
            |visits| StrategySpec::Directed { a: a.clone(), b: b.clone(), patience: self.patience(), visits };
        let (plain, n) = (strategy(None), self.plan.trials);
        let first = n.min(4 * PILOT);
        let counts = self.visits(stream);
        let later = strategy(Some(counts));
        let mut rates = Vec::new();
        for strategy in [plain, later] {
            let runs = self.draw(&strategy, first);
            let (trials, hits) = self.tally(strategy.to_string(), runs, Self::is_hit);
            rates.push((hits, trials, strategy));
            // A statement that is visited once has no later visit. Else what harm there is may come with one, however often the first ones meet.
            if counts.0.max(counts.1) <= 1 || n <= first {
                break;
            }
        }
        let made: u32 = rates.iter().map(|r| r.1).sum();
        let best = rates.into_iter().reduce(|best, other| if other.0 > best.0 { other } else { best });
        if let Some((_, _, strategy)) = best.filter(|_| made < n && !self.stopped()) {
            let runs = self.draw(&strategy, n - made);
            self.tally(strategy.to_string(), runs, Self::is_hit);
        }
    }

    // How often each statement is visited, in the round robin.
    fn visits(&self, stream: &Stream) -> (u32, u32) {
        let mut causes = Causes::default();
        Worker::new(self.plan).perform(&stream.run(0), &mut causes, self.context.stop);
        (causes.visits(self.pair.a).max(1), causes.visits(self.pair.b).max(1))
    }

    // Some runs of each way.
    fn pilot(&mut self, mut ways: Vec<HeldWay>, instances: &InstancePair) -> Vec<HeldWay> {
        for way in &mut ways {
            (way.trials, way.hits) = (0, 0);
            self.try_way(way, PILOT.min(self.plan.trials), instances);
        }
        ways
    }

    // The rest of the trials by the best way of each of these orders.
    fn settle(&mut self, held: &mut Held, orders: &[First]) {
        for wanted in orders {
            if let Some(at) = held.best(*wanted) {
                let n = (self.plan.trials / 2).saturating_sub(held.ways[at].trials);
                self.try_way(&mut held.ways[at], n, &held.instances);
            }
        }
    }

    fn try_way(&mut self, way: &mut HeldWay, n: u32, instances: &InstancePair) {
        if self.stopped() {
            return;
        }
        let wanted = way.wanted;
        let runs = self.draw(&StrategySpec::Hold(way.spec.clone()), n);
        let hit = |d: &mut Self, i: usize| d.order(i, instances).is_some_and(|came| came.first == wanted);
        let (trials, hits) = self.tally(way.spec.to_string(), runs, hit);
        way.trials += trials;
        way.hits += hits;
    }

    // Hold one of them until the other has been performed.
    fn hold(&mut self, stream: &Stream, profiles: impl Iterator<Item = u64>) {
        let prepared = profiles
            .map(|seed| prepare(self.plan, stream, self.pair, seed, self.context.stop))
            .find(|prepared| !prepared.is_empty());
        let mut prepared = prepared.into_iter().flatten();
        let Some(mut held) = prepared.next() else { return };
        self.orders.drive(held.instances.clone());
        let ways = std::mem::take(&mut held.ways);
        held.ways = self.pilot(ways, &held.instances);
        self.settle(&mut held, &[First::A, First::B]);
        // Where walks seldom come to both operations the run that shows them is followed.
        let good = |w: &HeldWay, wanted| w.wanted == wanted && w.hits > 0 && is_sure(w.hits, w.trials);
        let seldom = [First::A, First::B].into_iter().filter(|wanted| !held.ways.iter().any(|w| good(w, *wanted)));
        let seldom: Vec<First> = seldom.collect();
        let mut guided: Vec<HeldWay> = held.ways.iter().filter(|w| seldom.contains(&w.wanted)).cloned().collect();
        guided.iter_mut().for_each(|way| way.spec.guided = true);
        let guided = self.pilot(guided, &held.instances);
        held.ways.extend(guided);
        self.settle(&mut held, &seldom);
        self.held = Some(held);
        // Harm may come with a later task alone.
        for mut later in prepared {
            let mut ways = std::mem::take(&mut later.ways);
            ways.truncate(MOST_OF_LATER);
            later.ways = self.pilot(ways, &later.instances);
            self.later.push(later);
        }
    }
}
