//! How large the whole is, of which a search that was cut has visited a part.
//!
//! - Schedules, by Knuth's estimator (*Estimating the efficiency of backtrack programs*): a random run counts as many as the product of its choices.
//! - States, by recapture: the share of the states on random runs that were visited is taken for the share of all. Where runs go on and come to new states
//!   as long as they are followed, that says nothing of the states behind, of which there may be infinitely many: then there is no estimate of them.
//!
//! The random runs take about a tenth of the work of the search, and never much where that was little.

use super::Plan;
use super::choices::Choices;
use super::ends::{Standing, standing};
use super::monitor::{Monitor, Node};
use crate::base::{Rng, mix};
use crate::event::{Actor, Choice};
use crate::world::Canonicalizer;
use std::collections::{BTreeMap, BTreeSet};

// States on the random runs: on one of them, or on more (2).
type Met = BTreeMap<u128, u8>;

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
    /// The standard error of that.
    pub schedules_error: f64,
    /// Different states on the runs.
    pub met: u64,
    /// How many of them were visited.
    pub visited: u64,
    /// How many of the different states were on just one of the runs.
    pub once: u64,
    /// Runs that came to no end within the steps that were looked at.
    pub endless: u64,
    /// Those of them that still came to states that were new to them, and those of 16 more runs that keep to one order of the actors: there may be infinitely many.
    pub growing: u64,
}

impl Estimate {
    /// How many states there are, if the runs met a visited one as easily as another; with the standard error. `None` if they met too few, or none but visited ones, and if
    /// there may be infinitely many ([`growing`](Self::growing)).
    #[must_use]
    pub fn states(&self, visited: u64) -> Option<(f64, f64)> {
        let share = self.visited as f64 / self.met as f64;
        // Runs that met nothing but what was visited say nothing of what was not.
        let nothing_new = self.met == self.visited;
        if nothing_new || self.visited < 10 || self.growing > 0 {
            return None;
        }
        let error = ((1.0 - share) / (share * self.met as f64)).sqrt();
        let states = visited as f64 / share;
        Some((states, states * error))
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
        let driven = prober.run(&mut Met::new(), |choices| {
            (0..choices.len()).max_by_key(|i| rank(&choices[*i])).unwrap_or_default()
        });
        // One that was left for the work shows nothing.
        growing += u64::from(prober.left > 0 && driven.is_some_and(|run| run.grows()));
    }
    prober.left = work;
    let mut met = Met::new();
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
    let mean = sizes.iter().sum::<f64>() / n;
    let variance = sizes.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    let known = met.keys().filter(|digest| visited(**digest)).count() as u64;
    Estimate {
        probes,
        schedules: mean,
        schedules_error: (variance / n).sqrt(),
        met: met.len() as u64,
        visited: known,
        once: met.values().filter(|runs| **runs == 1).count() as u64,
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
    fn run(&mut self, met: &mut Met, mut pick: impl FnMut(&[Choice]) -> usize) -> Option<Made> {
        if self.left == 0 {
            return None;
        }
        let mut node = self.first.clone();
        let mut made = Made { ended: false, size: 1.0, steps: 0, newest: 0 };
        let mut own = BTreeSet::new();
        while made.steps < STEPS && self.left > 0 {
            let digest = node.digest(&mut self.numbers);
            let new = own.insert(digest);
            if new {
                met.entry(digest).and_modify(|runs| *runs = 2).or_insert(1);
            }
            if met.len() as u64 >= self.most_met {
                self.left = 0;
            }
            made.steps += 1;
            if new {
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
                break;
            }
            let choice = all[pick(all)];
            made.size *= all.len() as f64;
            if !node.follow(choice) {
                break;
            }
            self.left = self.left.saturating_sub(node.bytes());
        }
        Some(made)
    }
}
