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
    /// Runs that came to no end within the steps that were looked at.
    pub endless: u64,
    /// Those of them that still came to states that were new to them: there may be infinitely many.
    pub growing: u64,
}

impl Estimate {
    /// How many states there are, if the runs met a visited one as easily as another; with the standard error. `None` if they met too few, and if
    /// there may be infinitely many ([`growing`](Self::growing)).
    #[must_use]
    pub fn states(&self, visited: u64) -> Option<(f64, f64)> {
        let share = self.visited as f64 / self.met as f64;
        if self.visited < 10 || self.growing > 0 {
            return None;
        }
        let error = ((1.0 - share) / (share * self.met as f64)).sqrt();
        let states = visited as f64 / share;
        Some((states, states * error))
    }
}

/// Makes random runs: as many as are due, or as can be made with a tenth of the `work` of the search, the bytes of all states that it looked at.
pub(super) fn estimate<M: Monitor>(
    plan: &Plan<'_>,
    first: &Node<M>,
    work: u64,
    visited: impl Fn(u128) -> bool,
) -> Estimate {
    let (mut choices, mut numbers) = (Choices::default(), Canonicalizer::new());
    let mut met = BTreeSet::new();
    let mut sizes = Vec::new();
    let (mut endless, mut growing) = (0, 0);
    let mut left = (work / PART_OF_WORK).max(LEAST_WORK);
    while (sizes.len() as u64) < PROBES && left > 0 {
        let mut rng = Rng::seeded(mix(0, sizes.len() as u64));
        let mut node = first.clone();
        let mut size = 1.0f64;
        let mut ended = false;
        let mut own = BTreeSet::new();
        // The step at which it came to a state that was new to it.
        let (mut steps, mut newest) = (0, 0);
        while steps < STEPS && left > 0 {
            let digest = node.digest(&mut numbers);
            met.insert(digest);
            steps += 1;
            if own.insert(digest) {
                newest = steps;
            }
            if let Standing::Ended(_) = standing(&mut node.machine) {
                ended = true;
                break;
            }
            node.machine.canonical_in(&mut numbers);
            choices.list(&node.machine.world, &numbers, plan.clock);
            let all = &choices.all;
            let Some(choice) = all.get(rng.below(all.len().max(1) as u32) as usize) else { break };
            size *= all.len() as f64;
            if !node.follow(*choice) {
                break;
            }
            left = left.saturating_sub(node.bytes());
        }
        // Of a run that was left for the work there is nothing to learn if others were made.
        if !ended && left == 0 && !sizes.is_empty() {
            break;
        }
        endless += u64::from(!ended);
        growing += u64::from(!ended && newest > steps - steps / LAST);
        sizes.push(size);
    }
    let probes = sizes.len() as u64;
    let n = probes as f64;
    let mean = sizes.iter().sum::<f64>() / n;
    let variance = sizes.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    let known = met.iter().filter(|digest| visited(**digest)).count() as u64;
    Estimate {
        probes,
        schedules: mean,
        schedules_error: (variance / n).sqrt(),
        met: met.len() as u64,
        visited: known,
        endless,
        growing,
    }
}
