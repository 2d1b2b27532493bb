//! How large the whole is, of which a search that was cut has visited a part.
//!
//! - Schedules, by Knuth's estimator (*Estimating the efficiency of backtrack programs*): a random run counts as many as the product of its choices.
//! - States, by recapture: the share of the states on random runs that were visited is taken for the share of all.

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
}

impl Estimate {
    /// How many states there are, if the runs met a visited one as easily as another; with the standard error. `None` if they met too few.
    #[must_use]
    pub fn states(&self, visited: u64) -> Option<(f64, f64)> {
        let share = self.visited as f64 / self.met as f64;
        if self.visited < 10 {
            return None;
        }
        let error = ((1.0 - share) / (share * self.met as f64)).sqrt();
        let states = visited as f64 / share;
        Some((states, states * error))
    }
}

/// Makes random runs.
pub(super) fn estimate<M: Monitor>(plan: &Plan<'_>, first: &Node<M>, visited: impl Fn(u128) -> bool) -> Estimate {
    let (mut choices, mut numbers) = (Choices::default(), Canonicalizer::new());
    let mut met = BTreeSet::new();
    let mut sizes = Vec::new();
    let mut endless = 0;
    for probe in 0..PROBES {
        let mut rng = Rng::seeded(mix(0, probe));
        let mut node = first.clone();
        let mut size = 1.0f64;
        let mut ended = false;
        for _ in 0..STEPS {
            met.insert(node.digest(&mut numbers));
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
        }
        endless += u64::from(!ended);
        sizes.push(size);
    }
    let n = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / n;
    let variance = sizes.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (n - 1.0);
    let known = met.iter().filter(|digest| visited(**digest)).count() as u64;
    Estimate {
        probes: PROBES,
        schedules: mean,
        schedules_error: (variance / n).sqrt(),
        met: met.len() as u64,
        visited: known,
        endless,
    }
}
