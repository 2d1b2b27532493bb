//! Estimates the size of a search that was cut.
//!
//! - Schedules, by Knuth's estimator (*Estimating the efficiency of backtrack programs*): a random run counts as many
//!   schedules as the product of the numbers of its choices.
//! - States, by counting: the visited states and the further states that random runs reach. That is a certain lower
//!   bound, not an estimate. The fraction of visited states on the random runs does not estimate the fraction of all
//!   states: visited states lie near the start, which all runs pass, so that a space of more than a million states
//!   would be estimated at 15,607 ± 1,556.
//!
//! The random runs take about a tenth of the work of the search, and a small fixed amount where that was little, or
//! when the caller has stopped the search.

use super::SearchPlan;
use super::choices::OpenChoices;
use super::ends::{EndCondition, end_condition};
use super::monitor::{Monitor, ProductState};
use crate::base::{Rng, mix};
use crate::event::{Actor, Choice};
use crate::world::{Canonicalizer, Program, Snapshot};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

const PROBES: u64 = 400;
// Random runs are cut after this many steps.
const STEPS: usize = 2_000;
// A run without end still grows if it reached a new state in the last one `LAST`-th of its steps.
const LAST: usize = 4;
// Work of the random runs, in bytes of states: `LEAST_WORK` in any case, else one `PART_OF_WORK`-th of the work of the
// search.
const LEAST_WORK: u64 = 64 << 20;
const PART_OF_WORK: u64 = 10;
// Digests of the states on the runs take at most one `PART_OF_MEMORY`-th of the memory bound. `OF_A_DIGEST`: bytes of a
// digest in a set, approximately.
const PART_OF_MEMORY: u64 = 32;
const OF_A_DIGEST: u64 = 32;
// Largest part of the sum that one run may have for the standard error to be meaningful: rare and large runs are
// missing from a sample.
const MOST_OF_ONE: f64 = 0.1;
// Number of runs that follow one fixed order of the actors. They may take one `PART_OF_DRIVEN`-th of that work.
const DRIVEN: u64 = 16;
const PART_OF_DRIVEN: u64 = 4;

/// Estimated size of a whole search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Number of random runs behind the estimate.
    pub probes: u64,
    /// Estimated number of schedules: the mean over the runs.
    pub schedules: f64,
    /// Standard error of the number of schedules, from the variance of the runs.
    pub schedules_error: f64,
    /// Share of the largest run in the sum of all runs, from 0 to 1.
    pub largest: f64,
    /// Number of distinct states on the runs.
    pub sampled: u64,
    /// Number of distinct states on the runs that the search had visited.
    pub visited: u64,
    /// Number of runs that did not end within the step limit of the estimator.
    pub endless: u64,
    /// Number of runs without end that were still reaching new states of their own, including those of 16 more runs
    /// that follow one fixed order of the actors. If it is not 0, there may be infinitely many states.
    pub growing: u64,
}

impl Estimate {
    /// Returns a lower bound of the number of states: the visited ones and the others on the runs.
    #[must_use]
    pub fn at_least(&self, visited: u64) -> u64 {
        visited + (self.sampled - self.visited)
    }

    /// Returns the standard error of the number of schedules. `None` if it is not known: if some runs have no end, or
    /// if one run weighs so much that the sample probably lacks others that weigh more.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let known = self.endless == 0 && self.largest <= MOST_OF_ONE && self.schedules_error.is_finite();
        known.then_some(self.schedules_error)
    }
}

/// Performs random runs: up to the full number, or as many as a tenth of `work` allows (`work` is the bytes of all
/// states that the search looked at). Some more runs follow one fixed order of the actors, as a scheduler does that
/// starves some of them: often only such runs show that there is no end.
pub(super) fn estimate<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    first: &ProductState<P::Guest, M>,
    work: u64,
    visited: impl Fn(u128) -> bool,
    stop: &AtomicBool,
) -> Estimate {
    let work = (work / PART_OF_WORK).max(LEAST_WORK);
    let most_sampled = (plan.bounds.memory / PART_OF_MEMORY / OF_A_DIGEST).max(2 * STEPS as u64);
    let mut prober = Prober {
        plan,
        first,
        choices: OpenChoices::default(),
        numbers: Canonicalizer::new(),
        left: 0,
        most_sampled,
        stop,
    };
    let (mut endless, mut growing) = (0, 0);
    prober.left = work / PART_OF_DRIVEN;
    for probe in 0..DRIVEN {
        let rank = |choice: &Choice| mix(probe, actor_number(choice.actor));
        let driven = prober.run(&mut BTreeSet::new(), |choices| {
            (0..choices.len()).max_by_key(|i| rank(&choices[*i])).unwrap_or_default()
        });
        // A run that was abandoned for lack of work shows nothing.
        growing += u64::from(prober.left > 0 && driven.is_some_and(|run| run.grows()));
    }
    prober.left = work;
    let mut sampled = BTreeSet::new();
    let mut sizes = Vec::new();
    while (sizes.len() as u64) < PROBES && prober.left > 0 {
        let mut rng = Rng::seeded(mix(0, sizes.len() as u64));
        let run = prober.run(&mut sampled, |choices| rng.below(choices.len() as u32) as usize);
        // A run that was abandoned for lack of work is ignored if there are others.
        let Some(run) = run.filter(|run| run.ended || prober.left > 0 || sizes.is_empty()) else { break };
        endless += u64::from(!run.ended);
        growing += u64::from(run.grows());
        sizes.push(run.size);
    }
    let probes = sizes.len() as u64;
    let n = probes as f64;
    let sum = sizes.iter().sum::<f64>();
    let mean = sum / n;
    let variance = sizes.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    let known = sampled.iter().filter(|digest| visited(**digest)).count() as u64;
    Estimate {
        probes,
        schedules: mean,
        schedules_error: (variance / n).sqrt(),
        largest: sizes.iter().copied().fold(0.0, f64::max) / sum,
        sampled: sampled.len() as u64,
        visited: known,
        endless,
        growing,
    }
}

// A distinct number for each actor.
fn actor_number(actor: Actor) -> u64 {
    match actor {
        Actor::Clock => 0,
        Actor::Stop => 1,
        Actor::Thread(thread) => 2 + 2 * u64::from(thread.0),
        Actor::Event(event) => 3 + 2 * u64::from(event.0),
    }
}

// Summary of one run.
struct WalkSummary {
    ended: bool,
    // Product of the numbers of choices at each step: the number of schedules that the run represents.
    size: f64,
    steps: usize,
    // Last step at which the run reached a state that was new to it.
    newest: usize,
}

impl WalkSummary {
    fn grows(&self) -> bool {
        !self.ended && self.newest > self.steps - self.steps / LAST
    }
}

struct Prober<'p, P: Program, M> {
    plan: &'p SearchPlan<'p, P>,
    first: &'p ProductState<P::Guest, M>,
    choices: OpenChoices,
    numbers: Canonicalizer,
    // Bytes of states that the runs may still look at.
    left: u64,
    // Number of digests for which there is room.
    most_sampled: u64,
    // Once the caller has stopped the search, little more work is done.
    stop: &'p AtomicBool,
}

impl<P: Program<Guest: Snapshot>, M: Monitor> Prober<'_, P, M> {
    // Performs a run with the choices of `pick`; `None` if no work is left for it.
    fn run(&mut self, sampled: &mut BTreeSet<u128>, mut pick: impl FnMut(&[Choice]) -> usize) -> Option<WalkSummary> {
        if self.left == 0 {
            return None;
        }
        let mut node = self.first.clone();
        let mut made = WalkSummary { ended: false, size: 1.0, steps: 0, newest: 0 };
        let mut own = BTreeSet::new();
        while made.steps < STEPS && self.left > 0 {
            let digest = node.digest(&mut self.numbers);
            sampled.insert(digest);
            if sampled.len() as u64 >= self.most_sampled {
                self.left = 0;
            }
            made.steps += 1;
            if own.insert(digest) {
                made.newest = made.steps;
            }
            if let EndCondition::Ended(_) = end_condition(&mut node.machine) {
                made.ended = true;
                break;
            }
            node.machine.canonical_in(&mut self.numbers);
            self.choices.list(&node.machine.world, &self.numbers, self.plan.clock);
            let all = &self.choices.all;
            if all.is_empty() {
                made.ended = true;
                break;
            }
            let choice = all[pick(all)];
            made.size *= all.len() as f64;
            // The search does not continue here either, so this run counts as ended.
            if !node.follow(choice) {
                made.ended = true;
                break;
            }
            let most = if self.stop.load(Ordering::Relaxed) { LEAST_WORK } else { u64::MAX };
            self.left = self.left.min(most).saturating_sub(node.bytes());
        }
        Some(made)
    }
}
