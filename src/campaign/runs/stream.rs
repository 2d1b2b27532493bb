//! Chooses the runs of detection. A run is determined by its own seed alone, whatever the campaign's seed is.
//!
//! The first run is a round robin, which is what most runs in the field look like. The seed of each other run decides
//! its strategy: half of the runs are random walks, the others are PCT and delay bounding, which reach places that
//! random walks do not.
//!
//! A model whose runs fail early hides later behavior. So a few profiling runs come before, always the same ones: the
//! round robin and some random walks. If one of them fails, then
//!
//! - half of the runs that are no random walks avoid the statements at which runs failed (`avoid:`), each with a
//!   probability of 3/4, and with a probability of 1/2 one more statement of the program, since the cause of a failure
//!   may be another statement than the one that fails. Of a failure, its statement and the one that its thread
//!   performed before it are avoided; of a deadlock, the last statement of each thread;
//! - PCT and delay bounding assume another length of a run. The round robin may have failed after a few steps, so they
//!   take the length of the longest profiling run, some of which avoid the failures. They multiply it by 1, 2, 4 or 8,
//!   since the code behind the failure may be longer still. Half of them make only one priority change, or one delay.

use super::trial::{Trial, Worker};
use crate::base::{Rng, mix};
use crate::campaign::CampaignPlan;
use crate::campaign::run::{RunId, RunSource};
use crate::event::{Event, EventKind, Outcome, SiteId, ThreadId};
use crate::exec::Observer;
use crate::sched::{AvoidSpec, DelaySpec, PctSpec, RandomSpec, RoundRobinSpec, SiteSpec, StrategySpec};
use crate::world::{Program, ThreadStage, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

// Number of random walks among the profiling runs. They show a failure of every third run with a probability of 0.96.
const WALKS: u64 = 8;

// Number of rounds, and of runs in a round, that avoid the statements known to fail so far, to find further ones.
const ROUNDS: u64 = 4;
const RUNS_OF_A_ROUND: u64 = 2;

// Maximum number of statements that are avoided.
const MOST_AVOIDED: usize = 8;

// Purposes of random numbers that are drawn from the seed of a run.
const FOR_STEPS: u64 = 1 << 51;
const FOR_SITES: u64 = 1 << 52;

/// Strategy of detection: it maps a seed to a run.
pub(in crate::campaign) struct Stream {
    // Length of a run that PCT and delay bounding assume, in steps.
    steps: u32,
    // Whether a profiling run failed.
    fails: bool,
    // Statements at which profiling runs failed.
    failing: Vec<SiteSpec>,
    // All statements of the program; empty if no statement failed.
    all: Vec<SiteSpec>,
}

impl Stream {
    /// Performs the profiling runs, and derives the strategy of detection from them.
    pub(in crate::campaign) fn new<P: Program>(plan: &CampaignPlan<P>, stop: &AtomicBool) -> Self {
        let mut profile =
            ProfileRuns { worker: Worker::new(plan), stop, longest: 1, fails: false, failing: BTreeSet::new() };
        let round_robin = profile.look(StrategySpec::RoundRobin(RoundRobinSpec), 0);
        (1..=WALKS).for_each(|seed| drop(profile.look(StrategySpec::Random(RandomSpec), seed)));
        for round in 0..ROUNDS {
            let known = profile.failing.len();
            let sites = profile.failing.iter().map(|site| plan.site(*site)).collect();
            let avoid = StrategySpec::Avoid(AvoidSpec { sites });
            if known == 0 || round > 0 && known == MOST_AVOIDED {
                break;
            }
            (0..RUNS_OF_A_ROUND).for_each(|i| drop(profile.look(avoid.clone(), 1 + i)));
            if profile.failing.len() == known {
                break;
            }
        }
        let ProfileRuns { longest, fails, failing, .. } = profile;
        let steps = if fails { longest } else { round_robin.summary.steps };
        let failing: Vec<SiteSpec> = failing.into_iter().map(|site| plan.site(site)).collect();
        let all = plan.setup().sites.ids().filter(|_| !failing.is_empty());
        Self {
            steps: u32::try_from(steps).unwrap_or(u32::MAX).max(1),
            fails,
            all: all.map(|site| plan.site(site)).collect(),
            failing,
        }
    }

    /// Returns the run of a seed.
    pub(in crate::campaign) fn run(&self, seed: u64) -> RunSource {
        let avoids = !self.failing.is_empty() && seed >> 2 & 1 == 1;
        let one = self.fails && seed >> 3 & 1 == 1;
        let strategy = match (seed, seed % 4) {
            (0, _) => StrategySpec::RoundRobin(RoundRobinSpec),
            (_, 0 | 1) => StrategySpec::Random(RandomSpec),
            _ if avoids => StrategySpec::Avoid(self.avoided(seed)),
            (_, 2) => StrategySpec::Pct(PctSpec { depth: if one { 2 } else { 3 }, steps: Some(self.steps_of(seed)) }),
            _ => StrategySpec::Delay(DelaySpec { delays: if one { 1 } else { 3 }, steps: Some(self.steps_of(seed)) }),
        };
        RunSource::Drawn(RunId { strategy, seed })
    }

    fn steps_of(&self, seed: u64) -> u32 {
        let doubled = if self.fails { Rng::seeded(mix(seed, FOR_STEPS)).below(4) } else { 0 };
        self.steps.saturating_mul(1 << doubled)
    }

    fn avoided(&self, seed: u64) -> AvoidSpec {
        let mut rng = Rng::seeded(mix(seed, FOR_SITES));
        let mut sites: Vec<SiteSpec> = self.failing.iter().filter(|_| rng.below(4) > 0).cloned().collect();
        if rng.coin() {
            let other = &self.all[rng.below(self.all.len() as u32) as usize];
            if !sites.contains(other) {
                sites.push(other.clone());
            }
        }
        AvoidSpec { sites: if sites.is_empty() { self.failing.clone() } else { sites } }
    }
}

/// Returns the seed of the `i`-th detection run, from 0.
pub(in crate::campaign) fn seed_of<P>(plan: &CampaignPlan<P>, i: u64) -> u64 {
    if i == 0 { 0 } else { mix(plan.seed, i).max(1) }
}

// State of the profiling runs.
struct ProfileRuns<'p, P: Program> {
    worker: Worker<'p, P>,
    stop: &'p AtomicBool,
    longest: u64,
    fails: bool,
    failing: BTreeSet<SiteId>,
}

impl<P: Program> ProfileRuns<'_, P> {
    fn look(&mut self, strategy: StrategySpec, seed: u64) -> Trial {
        let mut seen = LastSteps::default();
        let trial = self.worker.perform(&RunSource::Drawn(RunId { strategy, seed }), &mut seen, self.stop);
        self.longest = self.longest.max(trial.summary.steps);
        self.fails |= trial.failed();
        let sites: Vec<SiteId> = match trial.summary.outcome() {
            // The failure may have been decided by the statement before, which read the value that is used.
            Some(Outcome::Failure(_)) => {
                seen.by_thread.get(&seen.last).into_iter().flatten().flatten().copied().collect()
            }
            Some(Outcome::Deadlock(_)) => {
                let alive =
                    self.worker.machine.world.threads().enumerate().filter(|(_, t)| t.status == ThreadStage::Alive);
                alive.filter_map(|(id, _)| seen.by_thread.get(&Some(id))?[0]).collect()
            }
            _ => Vec::new(),
        };
        for site in sites {
            if self.failing.len() < MOST_AVOIDED {
                self.failing.insert(site);
            }
        }
        trial
    }
}

// Thread that acted last, and the last two different statements of each thread, the last one first.
#[derive(Default)]
struct LastSteps {
    last: Option<ThreadId>,
    by_thread: BTreeMap<Option<ThreadId>, [Option<SiteId>; 2]>,
}

impl Observer for LastSteps {
    fn event(&mut self, _: &World, event: &Event) {
        if let (EventKind::Performed { .. } | EventKind::Thrown(_), Some(_), Some(_)) =
            (&event.what, event.thread, event.site)
        {
            self.last = event.thread;
            let of = self.by_thread.entry(event.thread).or_default();
            if of[0] != event.site {
                *of = [event.site, of[0]];
            }
        }
    }
}
