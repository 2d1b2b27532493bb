//! Drives the deadlock rings that detection has found: the trials of a ring hold each thread before the lock that it
//! wants until its neighbour has that lock.

use super::held_trials::PILOT;
use super::pair_trials::is_sure;
use super::ring_ways::prepare_ring;
use crate::base::mix;
use crate::campaign::report::WayReport;
use crate::campaign::ring::{RingProof, RingReport};
use crate::campaign::run::{RunId, RunSource, SEARCHED};
use crate::campaign::runs::failures::Failures;
use crate::campaign::runs::parallel;
use crate::campaign::runs::states::States;
use crate::campaign::runs::stream::{Stream, seed_of};
use crate::campaign::runs::trial::{Trial, Worker};
use crate::campaign::verdict::UndecidedReason;
use crate::campaign::{CampaignContext, CampaignPlan};
use crate::detect::{RingCandidate, Rings};
use crate::event::{Outcome, SiteId};
use crate::exec::LoopEnd;
use crate::sched::{HoldSpec, StrategySpec};
use crate::world::Program;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A ring with the runs that were performed for it.
pub(in crate::campaign) struct RingTrials<'d, P: Program> {
    plan: &'d CampaignPlan<P>,
    context: CampaignContext<'d>,
    candidate: &'d RingCandidate,
    // Seed of the trials of this ring, and their number.
    seed: u64,
    drawn: u64,
    // The deadlocks of the runs that ended with the ring closed.
    closed: Failures,
    // Failures of other trials.
    others: Vec<Trial>,
    report: RingReport,
}

impl<'d, P: Program> RingTrials<'d, P> {
    /// Returns a ring without trials. `number` is its index in the campaign. It gives its runs seeds of their own.
    pub(in crate::campaign) fn new(
        plan: &'d CampaignPlan<P>,
        context: CampaignContext<'d>,
        candidate: &'d RingCandidate,
        number: u64,
    ) -> Self {
        let (report, closed) = (RingReport::new(candidate), Failures::default());
        let seed = mix(plan.seed, 1 << 33 | number);
        Self { plan, context, candidate, seed, drawn: 0, closed, others: Vec::new(), report }
    }

    /// Returns whether some run ended with the ring closed.
    pub(in crate::campaign) fn is_confirmed(&self) -> bool {
        self.closed.len() > 0
    }

    /// Returns whether no run was interrupted.
    pub(in crate::campaign) fn is_complete(&self) -> bool {
        self.report.complete
    }

    /// Adds the detection run that ended with the ring closed, if there is one.
    pub(in crate::campaign) fn look_at_detection(&mut self, stream: &Stream) {
        if let Some(run) = self.candidate.closed {
            self.perform(&[stream.run(seed_of(self.plan, run))]);
        }
    }

    /// Performs the trials: some of each way, and the rest of the way that closes the ring most often. If no way is
    /// reliable, the ways are tried again, and the other threads follow the run that shows the acquisitions.
    pub(in crate::campaign) fn drive(&mut self, stream: &Stream) {
        if !self.candidate.performed {
            return;
        }
        let (profile, stop) = (seed_of(self.plan, self.candidate.run), self.context.stop);
        let mut ways = prepare_ring(self.plan, stream, &self.candidate.ring, profile, stop);
        if !self.try_ways(&ways) {
            ways.iter_mut().for_each(|way| way.guided = true);
            self.try_ways(&ways);
        }
        // The bound on a ring that does not close needs as many trials as a ring that does.
        if let Some(nearest) = ways.first_mut().filter(|_| !self.is_confirmed()) {
            nearest.guided = false;
            self.try_way(nearest, self.plan.trials.count.saturating_sub(self.report.trials()));
        }
    }

    // Tries these ways. Returns whether the best of them is reliable.
    fn try_ways(&mut self, ways: &[HoldSpec]) -> bool {
        let count = self.plan.trials.count;
        let tried: Vec<(u32, u32)> = ways.iter().map(|way| self.try_way(way, PILOT.min(count))).collect();
        let best = tried.iter().enumerate().filter(|(_, (hits, _))| *hits > 0);
        // Of equally good ways the nearest one wins.
        let Some((at, _)) = best.max_by_key(|(at, (hits, _))| (*hits, std::cmp::Reverse(*at))) else { return false };
        let (hits, trials) = tried[at];
        let (more_hits, more) = self.try_way(&ways[at], count.saturating_sub(trials));
        is_sure(hits + more_hits, trials + more)
    }

    // Performs trials of a way. Returns the number of those that closed the ring, and of all.
    fn try_way(&mut self, way: &HoldSpec, n: u32) -> (u32, u32) {
        if n == 0 || self.context.stop.load(Ordering::Relaxed) {
            return (0, 0);
        }
        let strategy = StrategySpec::Hold(way.clone());
        let run = |i| RunSource::Drawn(RunId { strategy: strategy.clone(), seed: mix(self.seed, i) });
        let runs: Vec<RunSource> = (self.drawn..self.drawn + u64::from(n)).map(run).collect();
        self.drawn += u64::from(n);
        let results = self.perform(&runs);
        let (hits, trials) = (results.iter().filter(|(closed, _)| *closed).count() as u32, results.len() as u32);
        self.report.made.extend(results.iter().filter_map(|(closed, trial)| trial.of_goal(*closed)));
        let strategy = strategy.to_string();
        let known = self.report.ways.iter().position(|way| way.strategy == strategy).unwrap_or_else(|| {
            self.report.ways.push(WayReport { strategy, trials: 0, hits: 0, released: BTreeMap::new() });
            self.report.ways.len() - 1
        });
        let way = &mut self.report.ways[known];
        way.trials += trials;
        way.hits += hits;
        for released in results.iter().filter_map(|(_, trial)| trial.released) {
            *way.released.entry(released).or_default() += 1;
        }
        (hits, trials)
    }

    // Performs these runs, and returns each with whether it ended with the ring closed. Interrupted runs are left out.
    fn perform(&mut self, runs: &[RunSource]) -> Vec<(bool, Trial)> {
        let (plan, ring, stop) = (self.plan, &self.candidate.ring, self.context.stop);
        self.context.progress.phase("driving a ring", runs.len() as u64);
        let results = parallel::map(
            plan.jobs,
            runs.len(),
            stop,
            || Worker::new(plan),
            |worker, i| {
                let mut rings = Rings::new();
                let trial = worker.perform(&runs[i], &mut rings, stop);
                let found = rings.finish(&worker.machine.world);
                let is_deadlock = matches!(trial.summary.outcome(), Some(Outcome::Deadlock(_)));
                (is_deadlock && found.iter().any(|known| known.closed.is_some() && known.ring == *ring), trial)
            },
            || self.context.progress.done(),
        );
        let is_whole = |(_, trial): &(bool, Trial)| trial.summary.end != LoopEnd::Interrupted;
        let results: Vec<(bool, Trial)> = results.into_iter().flatten().filter(is_whole).collect();
        self.report.complete &= results.len() == runs.len();
        for (closed, trial) in results.iter().filter(|(_, trial)| trial.failed()) {
            if *closed { self.closed.add(trial) } else { self.others.push(trial.clone()) }
        }
        results
    }

    /// Judges a ring that no run has closed by all states: every run that ends with the ring closed ends with threads
    /// blocked at its statements.
    pub(in crate::campaign) fn judge(&mut self, states: &Result<States, u64>) {
        let Ok(states) = states else {
            self.report.undecided_by_search = Some(UndecidedReason::Cut);
            return;
        };
        let wants: Vec<SiteId> = self.candidate.ring.parts().iter().map(|part| part.wants).collect();
        let ends = states.found.ends.iter().filter(|(end, _)| has_all(&end.blocked, &wants));
        let ways: Vec<RunSource> =
            ends.map(|(_, way)| RunSource::Made { choices: Arc::new(way.choices.clone()), by: SEARCHED }).collect();
        if ways.is_empty() {
            self.report.proof = RingProof::Refuted { states: states.len() };
            return;
        }
        // A search keeps one run for all that end with the same threads blocked at the same statements.
        self.perform(&ways);
        if !self.is_confirmed() {
            self.report.undecided_by_search = Some(UndecidedReason::OtherDeadlock);
        }
    }

    /// Returns the report of the ring, and the trials that failed in another way.
    pub(in crate::campaign) fn finish(self) -> (RingReport, Vec<Trial>) {
        let Self { plan, context, closed, others, mut report, .. } = self;
        if closed.len() > 0 {
            report.proof = RingProof::Closed;
        }
        report.deadlocks = closed.finish(plan);
        report.complete &= !context.stop.load(Ordering::Relaxed);
        (report, others)
    }
}

// Whether the blocked statements contain all of these, each as often as it is wanted.
fn has_all(blocked: &[Option<SiteId>], wants: &[SiteId]) -> bool {
    let count = |site: SiteId| wants.iter().filter(|other| **other == site).count();
    wants.iter().all(|site| blocked.iter().filter(|other| **other == Some(*site)).count() >= count(*site))
}
