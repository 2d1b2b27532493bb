//! Performs the runs that shrinking tries, counts them, and keeps the best one.

use super::deviation::{Departures, Deviation, Segment};
use super::followers::{DeviationFollower, SegmentFollower};
use super::{Effort, ShrinkGoal};
use crate::base::{Digester, Id};
use crate::event::{Actor, Choice};
use crate::exec::{LoopEnd, RunSummary, run};
use crate::sched::Strategy;
use crate::world::{Guest, Machine};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// A run that reaches the goal.
#[derive(Clone)]
pub(super) struct BestRun {
    pub(super) deviations: Vec<Deviation>,
    pub(super) segments: Vec<Segment>,
    pub(super) steps: u64,
}

impl BestRun {
    pub(super) fn new(run: &Departures, steps: u64) -> Self {
        Self { deviations: run.deviations().to_vec(), segments: run.segments(steps), steps }
    }

    // Runs compare by deviations and steps. Between equals, later deviations and smaller answers are better.
    fn measure(&self) -> (usize, u64, u64, u64) {
        let early = self.deviations.iter().map(|d| self.steps.saturating_sub(d.step)).sum();
        let answers = self.deviations.iter().fold(0, |sum: u64, d| sum.saturating_add(d.choice.argument));
        (self.deviations.len(), self.steps, early, answers)
    }
}

/// The tried runs, the budget, and the best run so far.
pub(super) struct Attempts<'a, G> {
    machine: &'a mut Machine<G>,
    goal: &'a ShrinkGoal<'a>,
    effort: Effort,
    stop: &'a AtomicBool,
    report_progress: &'a dyn Fn(u64),
    pub(super) best: BestRun,
    pub(super) runs: u64,
    steps: u64,
    tried: BTreeSet<u128>,
}

impl<'a, G: Guest> Attempts<'a, G> {
    pub(super) fn new(
        machine: &'a mut Machine<G>,
        goal: &'a ShrinkGoal<'a>,
        effort: Effort,
        stop: &'a AtomicBool,
        report_progress: &'a dyn Fn(u64),
        best: BestRun,
    ) -> Self {
        Self { machine, goal, effort, stop, report_progress, best, runs: 0, steps: 0, tried: BTreeSet::new() }
    }

    /// Returns whether the effort is used up or the shrinking was interrupted.
    pub(super) fn spent(&self) -> bool {
        self.runs >= self.effort.runs || self.steps >= self.effort.steps || self.stop.load(Ordering::Relaxed)
    }

    /// Returns the number of runs that may still be tried.
    pub(super) fn left(&self) -> u64 {
        self.effort.runs.saturating_sub(self.runs)
    }

    /// Tries the run with these deviations. Returns whether it is better than the best run so far, which it then
    /// replaces. A list that was tried before is not tried again.
    pub(super) fn deviate(&mut self, deviations: Vec<Deviation>) -> bool {
        let of = deviations.iter().map(|d| (d.step, d.choice));
        if self.spent() || !self.tried.insert(digest(0, of)) {
            return false;
        }
        self.attempt(&mut DeviationFollower::new(deviations), &mut Departures::new())
    }

    /// Tries the run with this sequence of choices. Returns whether it is better than the best run so far, which it
    /// then replaces.
    pub(super) fn follow(&mut self, segments: Vec<Segment>) -> bool {
        let of = segments.iter().map(|s| (s.count, s.choice));
        if self.spent() || !self.tried.insert(digest(1, of)) {
            return false;
        }
        self.attempt(&mut SegmentFollower::new(segments), &mut Departures::new())
    }

    /// Tries the run with these deviations. Returns up to `most` further deviations that are possible after the last of
    /// them, and whether these are all.
    pub(super) fn survey(&mut self, deviations: &[Deviation], most: usize) -> (Vec<Deviation>, bool) {
        let from = deviations.last().map_or(0, |d| d.step + 1);
        let mut departures = Departures::new().surveying(from, most);
        self.attempt(&mut DeviationFollower::new(deviations.to_vec()), &mut departures);
        let (others, all) = departures.others();
        (others.to_vec(), all)
    }

    fn attempt(&mut self, strategy: &mut impl Strategy, departures: &mut Departures) -> bool {
        let summary: RunSummary = run(self.machine, strategy, 0, departures, self.stop);
        self.runs += 1;
        self.steps += summary.steps;
        (self.report_progress)(self.runs);
        let LoopEnd::Outcome(outcome) = &summary.end else { return false };
        if !(self.goal)(&self.machine.world, outcome) {
            return false;
        }
        let found = BestRun::new(departures, summary.steps);
        let better = found.measure() < self.best.measure();
        if better {
            self.best = found;
        }
        better
    }
}

fn digest(what: u64, choices: impl Iterator<Item = (u64, Choice)>) -> u128 {
    let mut digest = Digester::new();
    digest.word(what);
    for (place, Choice { actor, argument }) in choices {
        let (kind, number) = match actor {
            Actor::Thread(thread) => (0, thread.index()),
            Actor::Event(event) => (1, event.index()),
            Actor::Clock => (2, 0),
            Actor::Stop => (3, 0),
        };
        digest.word(place).word(kind).word(number as u64).word(argument);
    }
    digest.finish()
}
