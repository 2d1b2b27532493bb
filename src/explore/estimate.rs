//! How large the whole is, of which a search that was cut has visited a part.
//!
//! - Schedules, by Knuth's estimator (*Estimating the efficiency of backtrack programs*): a random run counts as many as the product of its choices.
//! - States, by counting: those that were visited and those that random runs came to besides. That is a certain bound from below and no estimate. The share of the states on the
//!   runs that were visited says nothing of the share of all: what is visited lies near the start, where all runs pass, so that 15,607 ± 1,556 would come of a million
//!   and more.
//!
//! The random runs take about a tenth of the work of the search, and never much where that was little.

use super::Plan;
use super::choices::Choices;
use super::ends::{Standing, standing};
use super::monitor::{Monitor, Node};
use crate::base::{Rng, mix};
use crate::event::{Actor, Choice};
use crate::world::Canonicalizer;
use std::collections::BTreeSet;

const PROBES: u64 = 400;
// Of a longer run only the start counts.
const STEPS: usize = 2_000;
// A run that is not at its end has found the end of its states if its last steps, one part of so many, came to no new one.
const LAST: usize = 4;
// Bytes of states that the runs may look at in any case, and the part of those that the search has looked at.
const LEAST_WORK: u64 = 64 << 20;
const PART_OF_WORK: u64 = 10;
// Of the memory that is allowed, the part for digests of states that were met, and bytes of one in a set, about.
const PART_OF_MEMORY: u64 = 32;
const OF_A_DIGEST: u64 = 32;
// The part of the sum that one run may be for its error to say something: what is rare and large is in no sample.
const MOST_OF_ONE: f64 = 0.1;
// Runs that keep to one order of the actors, and their part of that work.
const DRIVEN: u64 = 16;
const PART_OF_DRIVEN: u64 = 4;

/// An estimate of the whole.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Random runs that it rests on.
    pub probes: u64,
    /// How many schedules there are: the mean over the runs.
    pub schedules: f64,
    /// The standard error of that, as the runs have it.
    pub schedules_error: f64,
    /// The part of the largest run in the sum of all.
    pub largest: f64,
    /// Different states on the runs.
    pub met: u64,
    /// How many of them were visited.
    pub visited: u64,
    /// Runs that came to no end within the steps that were looked at.
    pub endless: u64,
    /// Those of them that still came to states that were new to them, and those of 16 more runs that keep to one order of the actors: there may be infinitely many.
    pub growing: u64,
}

impl Estimate {
    /// So many states there are at least: the visited ones, and those of the runs that were not.
    #[must_use]
    pub fn at_least(&self, visited: u64) -> u64 {
        visited + (self.met - self.visited)
    }

    /// The standard error of the number of schedules. `None` if it is not known: of runs without end, or where one run weighs so much that others that weigh more were hardly met.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let known = self.endless == 0 && self.largest <= MOST_OF_ONE && self.schedules_error.is_finite();
        known.then_some(self.schedules_error)
    }
}

/// Makes random runs: as many as are due, or as can be made with a tenth of the `work` of the search, the bytes of all states that it looked at. Some more keep to
/// one order of the actors, as a scheduler may that starves some of them: that there is no end is often seen of such runs alone.
pub(super) fn estimate<M: Monitor>(
    plan: &Plan<'_>,
    first: &Node<M>,
    work: u64,
    visited: impl Fn(u128) -> bool,
) -> Estimate {
    let work = (work / PART_OF_WORK).max(LEAST_WORK);
    let most_met = (plan.bounds.memory / PART_OF_MEMORY / OF_A_DIGEST).max(2 * STEPS as u64);
    let mut prober =
        Prober { plan, first, choices: Choices::default(), numbers: Canonicalizer::new(), left: 0, most_met };
    let (mut endless, mut growing) = (0, 0);
    prober.left = work / PART_OF_DRIVEN;
    for probe in 0..DRIVEN {
        let rank = |choice: &Choice| mix(probe, actor_number(choice.actor));
        let driven = prober.run(&mut BTreeSet::new(), |choices| {
            (0..choices.len()).max_by_key(|i| rank(&choices[*i])).unwrap_or_default()
        });
        // One that was left for the work shows nothing.
        growing += u64::from(prober.left > 0 && driven.is_some_and(|run| run.grows()));
    }
    prober.left = work;
    let mut met = BTreeSet::new();
    let mut sizes = Vec::new();
    while (sizes.len() as u64) < PROBES && prober.left > 0 {
        let mut rng = Rng::seeded(mix(0, sizes.len() as u64));
        let run = prober.run(&mut met, |choices| rng.below(choices.len() as u32) as usize);
        // Of a run that was left for the work there is nothing to learn if others were made.
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
    let known = met.iter().filter(|digest| visited(**digest)).count() as u64;
    Estimate {
        probes,
        schedules: mean,
        schedules_error: (variance / n).sqrt(),
        largest: sizes.iter().copied().fold(0.0, f64::max) / sum,
        met: met.len() as u64,
        visited: known,
        endless,
        growing,
    }
}

// A number for each actor.
fn actor_number(actor: Actor) -> u64 {
    match actor {
        Actor::Clock => 0,
        Actor::Stop => 1,
        Actor::Thread(thread) => 2 + 2 * u64::from(thread.0),
        Actor::Event(event) => 3 + 2 * u64::from(event.0),
    }
}

// One run of those that are made.
struct Made {
    ended: bool,
    // The product of its choices.
    size: f64,
    steps: usize,
    // The step at which it came to a state that was new to it.
    newest: usize,
}

impl Made {
    fn grows(&self) -> bool {
        !self.ended && self.newest > self.steps - self.steps / LAST
    }
}

struct Prober<'p, M: Monitor> {
    plan: &'p Plan<'p>,
    first: &'p Node<M>,
    choices: Choices,
    numbers: Canonicalizer,
    // Bytes of states that may be looked at yet.
    left: u64,
    // Digests that there is room for.
    most_met: u64,
}

impl<M: Monitor> Prober<'_, M> {
    // A run of these choices; `None` if there is no work left for it.
    fn run(&mut self, met: &mut BTreeSet<u128>, mut pick: impl FnMut(&[Choice]) -> usize) -> Option<Made> {
        if self.left == 0 {
            return None;
        }
        let mut node = self.first.clone();
        let mut made = Made { ended: false, size: 1.0, steps: 0, newest: 0 };
        let mut own = BTreeSet::new();
        while made.steps < STEPS && self.left > 0 {
            let digest = node.digest(&mut self.numbers);
            met.insert(digest);
            if met.len() as u64 >= self.most_met {
                self.left = 0;
            }
            made.steps += 1;
            if own.insert(digest) {
                made.newest = made.steps;
            }
            if let Standing::Ended(_) = standing(&mut node.machine) {
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
            // The search goes no further here either, so this is no run without end.
            if !node.follow(choice) {
                made.ended = true;
                break;
            }
            self.left = self.left.saturating_sub(node.bytes());
        }
        Some(made)
    }
}
