//! Performs phase 2 for one pair: the trials that may bring its two accesses side by side, or into both orders.
//!
//! - Detection's runs are checked again, since they may show both orders already.
//! - RaceFuzzer's scheduler drives accesses of two threads: from their first visits on, and from a later visit on.
//! - A pair that is seldom side by side is flipped: one access is held until the other one has been performed, in each
//!   way that the causes allow. Each way gets a few runs. Most runs go to the way that succeeds most often.

use super::causes::Causes;
use super::coming::ComingAnswers;
use super::cuts::{CutContext, CutSuspect, CutTrials};
use super::held_trials::PILOT;
use super::ways::{HoldTrials, patience};
use crate::base::{IdSet, IndexVec, mix};
use crate::campaign::order::{First, Flip, InstancePair};
use crate::campaign::report::WayReport;
use crate::campaign::run::{RunId, RunSource, SEARCHED};
use crate::campaign::runs::observations::{Observations, PairWatch};
use crate::campaign::runs::orders::{ObservedOrder, OrderEvidence};
use crate::campaign::runs::parallel;
use crate::campaign::runs::side::SideBySide;
use crate::campaign::runs::stream::{Stream, seed_of};
use crate::campaign::runs::trial::{Trial, Worker};
use crate::campaign::{CampaignContext, CampaignPlan};
use crate::detect::{Candidate, ContextKind, Instance, Pair};
use crate::event::{AccessKind, Event, Site, SiteId};
use crate::exec::{LoopEnd, Observer};
use crate::sched::{DirectedSpec, Hit, StrategySpec};
use crate::world::{Program, World};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;

// Maximum number of pairs of instances with one order only, and of runs for each of them, that are checked for a cut.
const MOST_OF_ONE_ORDER: usize = 16;
const MOST_SUSPECTS: usize = 32;

// Maximum number of detection runs that are searched for the causes of a pair that detection has not seen.
const MOST_PROFILES: u64 = 8;

/// A pair with the runs that were performed for it, and their results.
pub(in crate::campaign) struct PairTrials<'d, P: Program> {
    pub(in crate::campaign) plan: &'d CampaignPlan<P>,
    pub(in crate::campaign) context: CampaignContext<'d>,
    pub(in crate::campaign) pair: Pair,
    // Index of the pair in the campaign. It gives its runs seeds of their own.
    number: u64,
    /// Number of steps of the longest detection run.
    pub(in crate::campaign) longest: u64,
    pub(in crate::campaign) sites: Vec<SiteId>,
    // Of a write and a read: the statement that writes, and all statements that may write to that location.
    pub(super) write: Option<First>,
    writers: IdSet<SiteId>,
    pub(in crate::campaign) orders: OrderEvidence,
    pub(super) cuts: CutTrials,
    pub(super) coming: ComingAnswers,
    pub(in crate::campaign) trials: Vec<Trial>,
    // For each run the statement that came first, judged by the first two accesses that conflict.
    pub(in crate::campaign) decided: Vec<Option<First>>,
    /// Index of the first run that is not one of detection's.
    pub(in crate::campaign) from: usize,
    // Trials and hits by strategy.
    pub(in crate::campaign) ways: Vec<WayReport>,
    /// Runs with both accesses side by side, by their index in `trials`.
    pub(in crate::campaign) hits: Vec<(usize, Hit)>,
    /// Ways to force each order of the driven instances, with their hits; `None` before the first hold.
    pub(in crate::campaign) held: Option<HoldTrials>,
    /// Ways to force each order of the instances in later tasks.
    pub(in crate::campaign) later: Vec<HoldTrials>,
    /// Ways to let the write come first and to keep other writes out between it and the read, where such writes come
    /// between in most trials.
    pub(in crate::campaign) between: Option<HoldTrials>,
    /// Whether no run was interrupted.
    pub(in crate::campaign) complete: bool,
    // Whether runs are also checked for adjacency: a thread that is held at its access is pending there while the other
    // one acts. Directed runs report their races themselves.
    looks: bool,
    drawn: u64,
}

// Whether a way succeeds nearly always: in at least 95 % of its trials.
pub(super) fn is_sure(hits: u32, trials: u32) -> bool {
    hits * 20 >= trials * 19
}

// Returns which statement of a pair writes, if the other one reads, and the statements that may write to that location.
fn writers(sites: &IndexVec<SiteId, Site>, pair: Pair) -> (Option<First>, IdSet<SiteId>) {
    let is = |site: SiteId, kind| sites[site].kind.access() == Some(kind) && !sites[site].kind.is_atomic();
    let (write, read) = match (is(pair.a, AccessKind::Write), is(pair.b, AccessKind::Write)) {
        (true, false) if is(pair.b, AccessKind::Read) => (First::A, pair.b),
        (false, true) if is(pair.a, AccessKind::Read) => (First::B, pair.a),
        _ => return (None, IdSet::new()),
    };
    let mut writers = IdSet::new();
    for (site, of) in sites.enumerate() {
        if is(site, AccessKind::Write) && of.can_conflict(&sites[read]) {
            writers.set(site, true);
        }
    }
    (Some(write), writers)
}

// Observers of a trial.
struct TrialObservers<'s> {
    watch: PairWatch<'s>,
    side: Option<SideBySide>,
}

impl Observer for TrialObservers<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        self.watch.event(world, event);
        if let Some(side) = &mut self.side {
            side.event(world, event);
        }
    }
}

impl<'d, P: Program> PairTrials<'d, P> {
    pub(in crate::campaign) fn new(
        plan: &'d CampaignPlan<P>,
        context: CampaignContext<'d>,
        candidate: &Candidate,
        number: u64,
        longest: u64,
    ) -> Self {
        let pair = candidate.pair;
        let mut sites = vec![pair.a, pair.b];
        sites.dedup();
        let (write, writers) = writers(&plan.setup().sites, pair);
        let mut orders = OrderEvidence::new(pair.a, pair.b);
        // CAFA: a free comes before a use only if the use meets the null.
        if let Some(free) = write.filter(|_| candidate.use_free.is_some()) {
            orders.demand_direct(free);
        }
        Self {
            plan,
            context,
            pair,
            number,
            longest,
            sites,
            write,
            writers,
            orders,
            cuts: CutTrials::default(),
            coming: ComingAnswers::default(),
            trials: Vec::new(),
            decided: Vec::new(),
            from: 0,
            ways: Vec::new(),
            hits: Vec::new(),
            held: None,
            later: Vec::new(),
            between: None,
            complete: true,
            looks: false,
            drawn: 0,
        }
    }

    /// Returns an observer of runs for the two statements.
    pub(in crate::campaign) fn watch(&self) -> PairWatch<'_> {
        let watch = PairWatch::new(&self.sites);
        if self.may_be_between() || self.orders.direct().is_some() { watch.following(&self.writers) } else { watch }
    }

    /// Returns whether another statement may write to the location between the write and the read of the pair.
    pub(super) fn may_be_between(&self) -> bool {
        self.writers.len() > 1
    }

    /// Returns the indices of the trials: all runs except those of detection and those that a search has found.
    pub(in crate::campaign) fn trials(&self) -> Vec<usize> {
        let searched = |i: &usize| matches!(self.trials[*i].run, RunSource::Made { by: SEARCHED, .. });
        (self.from..self.trials.len()).filter(|i| !searched(i)).collect()
    }

    /// Returns whether some run, or two of them, have proved the pair.
    pub(in crate::campaign) fn is_confirmed(&mut self) -> bool {
        !self.hits.is_empty() || self.flip().is_some()
    }

    /// Returns two runs that performed two instances in both orders. A flip without a cut is preferred.
    pub(in crate::campaign) fn flip(&mut self) -> Option<Flip> {
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
        self.coming.proved.clone()
    }

    // Returns the runs that may have cut off one order of two instances, each with the step at which it performed the
    // first one.
    pub(super) fn suspects(&self, instances: &InstancePair, cut: First) -> Vec<(usize, u64)> {
        let suspect =
            |i| self.orders.suspect(i, instances).filter(|(first, _)| *first == cut).map(|(_, step)| (i, step));
        (0..self.trials.len()).filter_map(suspect).take(MOST_SUSPECTS).collect()
    }

    // Whether the run cut off the other one of two instances. Without a run that performed both there is nothing to
    // follow.
    fn is_cut(&mut self, run: &RunSource, pair: &InstancePair, (first, step): (First, u64)) -> bool {
        let Some(known) = self.orders.known(pair).map(|known| self.trials[known].run.clone()) else { return false };
        let cut_context = CutContext { plan: self.plan, sites: &self.sites, stop: self.context.stop };
        self.cuts.is_cut(&cut_context, &CutSuspect { run, pair, first, step }, &known)
    }

    /// Returns which of the two instances came first in a run of the pair, or cut off the other one.
    pub(in crate::campaign) fn order(&mut self, i: usize, pair: &InstancePair) -> Option<ObservedOrder> {
        self.orders.order(i, pair).map(ObservedOrder::both).or_else(|| {
            let run = self.trials[i].run.clone();
            let suspect = self.orders.suspect(i, pair)?;
            self.is_cut(&run, pair, suspect).then_some(ObservedOrder::cut_off(suspect.0))
        })
    }

    /// Returns which of the two instances came first, or cut off the other one, in a run that is not one of the pair's.
    pub(in crate::campaign) fn order_in(
        &mut self,
        trial: &Trial,
        observations: &Observations,
        pair: &InstancePair,
    ) -> Option<ObservedOrder> {
        self.orders.order_in(observations, pair).map(ObservedOrder::both).or_else(|| {
            let suspect = self.orders.suspect_in(observations, trial.failed(), pair)?;
            self.is_cut(&trial.run, pair, suspect).then_some(ObservedOrder::cut_off(suspect.0))
        })
    }

    /// Returns the statement that came first in a run of the pair, judged by the first two accesses that conflict, or
    /// by a cut.
    pub(in crate::campaign) fn any_order(&mut self, i: usize) -> Option<First> {
        self.decided[i].or_else(|| {
            let pairs = self.orders.pairs(MOST_OF_ONE_ORDER);
            pairs.iter().find_map(|pair| self.order(i, pair)).map(|observed| observed.first)
        })
    }

    /// Returns the statement that came first in a run that is not one of the pair's, judged by the first two accesses
    /// that conflict, or by a cut.
    pub(in crate::campaign) fn any_order_in(&mut self, trial: &Trial, observations: &Observations) -> Option<First> {
        let first = self.orders.first_in(observations);
        first.or_else(|| {
            let pairs = self.orders.pairs(MOST_OF_ONE_ORDER);
            pairs.iter().find_map(|pair| self.order_in(trial, observations, pair)).map(|observed| observed.first)
        })
    }

    // Patience of directed runs: long enough for every run of phase 1, short enough to leave a livelock soon.
    fn patience(&self) -> u64 {
        patience(self.longest)
    }

    pub(super) fn stopped(&self) -> bool {
        self.context.stop.load(Ordering::Relaxed)
    }

    /// Performs the runs of detection again, and adds them to those of the pair.
    pub(in crate::campaign) fn look_at_detection(&mut self, stream: &Stream, runs: u32) {
        let runs: Vec<RunSource> = (0..u64::from(runs)).map(|i| stream.run(seed_of(self.plan, i))).collect();
        self.perform(&runs, &[]);
        self.from = self.trials.len();
    }

    /// Performs a run that a search has found, checks it for adjacency, and adds it to the runs of the pair. `wanted`
    /// are instances that it has to show.
    pub(in crate::campaign) fn look_at(&mut self, run: RunSource, wanted: &[&Instance]) {
        self.looks = true;
        self.perform(&[run], wanted);
        self.looks = false;
    }

    /// Performs the trials of the pair.
    pub(in crate::campaign) fn drive(&mut self, candidate: &Candidate, stream: &Stream) {
        // A pair that detection has not seen has no kinds, so that every way is tried.
        let only_looper = candidate.kinds.iter().eq([&ContextKind::SameLooper]);
        if !only_looper && candidate.is_race() {
            self.direct(stream);
        }
        // A pair that is seldom side by side may still come in both orders.
        let seldom = self.ways.iter().all(|way| !is_sure(way.hits, way.trials));
        if seldom || candidate.kinds.contains(&ContextKind::SameLooper) {
            self.looks = !only_looper && candidate.is_race();
            // The run that detection has seen the pair in; otherwise the first detection run that shows its causes.
            let others = 0..if candidate.count == 0 { MOST_PROFILES } else { 0 };
            let runs = std::iter::once(candidate.evidence.run).chain(others);
            self.hold(stream, runs.map(|run| seed_of(self.plan, run)));
            self.looks = false;
        }
    }

    /// Returns the statements that matter for the pair: its own ones, and those of its causes.
    pub(super) fn interesting(&self) -> Vec<SiteId> {
        self.held.as_ref().map_or_else(|| self.sites.clone(), |held| held.causes.clone())
    }

    /// Performs trials with a scheduler that does not drive the pair. Returns how many of them showed a new failure, or
    /// a new order of two instances.
    pub(in crate::campaign) fn look(&mut self, strategy: &StrategySpec, n: u32) -> u32 {
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

    // Performs runs of a strategy with new seeds of the pair. Returns their indices.
    pub(super) fn draw(&mut self, strategy: &StrategySpec, n: u32) -> Range<usize> {
        let seed = mix(self.plan.seed, 1 << 32 | self.number);
        let ids =
            (self.drawn..self.drawn + u64::from(n)).map(|i| RunId { strategy: strategy.clone(), seed: mix(seed, i) });
        let runs: Vec<RunSource> = ids.map(RunSource::Drawn).collect();
        self.drawn += u64::from(n);
        self.perform(&runs, &[])
    }

    // Performs these runs, watches them, and adds them. Interrupted runs are left out, and make the trials incomplete.
    fn perform(&mut self, runs: &[RunSource], wanted: &[&Instance]) -> Range<usize> {
        let from = self.trials.len();
        self.context.progress.phase("driving a pair", runs.len() as u64);
        let (watch, pair, looks, stop) = (self.watch().wanting(wanted), self.pair, self.looks, self.context.stop);
        let results = parallel::map(
            self.plan.jobs,
            runs.len(),
            stop,
            || Worker::new(self.plan),
            |worker, i| {
                let side = looks.then(|| SideBySide::new(pair));
                let mut watch = TrialObservers { watch: watch.clone(), side };
                let trial = worker.perform(&runs[i], &mut watch, stop);
                let hit = watch.side.and_then(|side| side.hit);
                (trial, watch.watch.finish(&worker.machine.world), hit)
            },
            || self.context.progress.done(),
        );
        for (trial, observations, hit) in
            results.into_iter().flatten().filter(|(t, ..)| t.summary.end != LoopEnd::Interrupted)
        {
            let at = self.add(trial, observations);
            self.hits.extend(hit.map(|hit| (at, hit)));
        }
        self.complete &= self.trials.len() - from == runs.len();
        from..self.trials.len()
    }

    // Adds a run that was watched. Returns its index.
    fn add(&mut self, trial: Trial, observations: Observations) -> usize {
        let Pair { a, b } = self.pair;
        self.decided.push(self.orders.add(observations, trial.failed()));
        let at = self.trials.len();
        self.hits.extend(trial.races.iter().find(|h| h.is_of(a, b)).map(|hit| (at, *hit)));
        self.trials.push(trial);
        at
    }

    // Adds these runs to the counts of a strategy. Returns the number of runs, and of those that reached their goal.
    pub(super) fn tally(
        &mut self,
        strategy: String,
        runs: Range<usize>,
        hit: impl Fn(&mut Self, usize) -> bool,
    ) -> (u32, u32) {
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

    // Drives the pair with RaceFuzzer's scheduler, from the first visits on and from a later visit on. The strategy
    // with more hits in the first runs gets the rest of the trials.
    fn direct(&mut self, stream: &Stream) {
        let Pair { a, b } = self.pair;
        let (a, b) = (self.plan.site(a), self.plan.site(b));
        let strategy = |visits| {
            StrategySpec::Directed(DirectedSpec { a: a.clone(), b: b.clone(), patience: self.patience(), visits })
        };
        let (plain, n) = (strategy(None), self.plan.trials.count);
        let first = n.min(4 * PILOT);
        let counts = self.visits(stream);
        let later = strategy(Some(counts));
        let mut rates = Vec::new();
        for strategy in [plain, later] {
            let runs = self.draw(&strategy, first);
            let (trials, hits) = self.tally(strategy.to_string(), runs, Self::is_hit);
            rates.push((hits, trials, strategy));
            // A statement that is visited once has no later visit. Otherwise both strategies are tried, even if the
            // first visits meet often: harm may come only with a later visit.
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

    // Number of visits of each statement in the round robin, at least 1.
    fn visits(&self, stream: &Stream) -> (u32, u32) {
        let mut causes = Causes::default();
        Worker::new(self.plan).perform(&stream.run(0), &mut causes, self.context.stop);
        (causes.visits(self.pair.a).max(1), causes.visits(self.pair.b).max(1))
    }
}
