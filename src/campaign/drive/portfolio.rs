//! Performs further trials of open pairs, which are neither driven into both orders nor refuted. Other schedulers try
//! them, and more trials go to the pairs where they pay off.
//!
//! A trial pays off if it shows something new about its pair: an order of two instances, or a failure, that no run of
//! the pair has shown. Each pair first gets the trials of the plan. Then rounds of a fixed size are drawn by Thompson
//! sampling (Thompson 1933; Beta posteriors, one arm for each pair), until the common budget is used up or all pairs
//! are at their cap. The posteriors change only after a round, and all numbers are integers. So neither the number of
//! workers nor the machine changes a result.

use super::pair_trials::PairTrials;
use super::ways::counts;
use crate::base::{Rng, mix};
use crate::campaign::{CampaignContext, CampaignPlan};
use crate::detect::Pair;
use crate::event::{AccessKind, SiteId};
use crate::sched::{AskedSpec, AskedWriter, PctSpec, PctcpSpec, PosSpec, RandomSpec, StrategySpec, SurwSpec};
use crate::world::Program;
use std::sync::atomic::Ordering;

// Number of trials of a round.
const ROUND: usize = 8;

// Maximum number of trials of a pair, as a multiple of the plan's.
const CAP: u32 = 4;

// Exclusive upper bound of the uniform random numbers.
const UNIFORM: u32 = 1 << 31;

/// Arm of the bandit: trials of a pair, and how many of them paid off.
#[derive(Clone, Copy, Default)]
struct Arm {
    trials: u32,
    paid: u32,
    done: bool,
}

impl Arm {
    // Draws from Beta(1 + paid, 1 + not paid): the order statistic of rank `paid` (from 0) among `trials` + 1 uniform
    // numbers.
    fn draw(self, rng: &mut Rng) -> u32 {
        let mut uniform: Vec<u32> = (0..=self.trials).map(|_| rng.below(UNIFORM)).collect();
        let (_, nth, _) = uniform.select_nth_unstable(self.paid as usize);
        *nth
    }
}

// Draws the number of trials of each arm in a round. Arms that are finished or at their cap get none.
fn round(arms: &[Arm], cap: u32, left: u32, rng: &mut Rng) -> Vec<u32> {
    let mut slots = vec![0; arms.len()];
    for _ in 0..ROUND.min(left as usize) {
        let open = (0..arms.len()).filter(|i| !arms[*i].done && arms[*i].trials + slots[*i] < cap);
        let drawn = open.map(|i| (arms[i].draw(rng), i)).max_by_key(|(draw, i)| (*draw, std::cmp::Reverse(*i)));
        let Some((_, arm)) = drawn else { break };
        slots[arm] += 1;
    }
    slots
}

/// Performs further trials of these pairs until each is confirmed or the budget is used up. The budget is twice the
/// trials of the plan for each pair on average.
pub(in crate::campaign) fn try_portfolio<P: Program>(
    plan: &CampaignPlan<P>,
    context: CampaignContext<'_>,
    pairs: &mut [&mut PairTrials<'_, P>],
) {
    let mut arms = vec![Arm::default(); pairs.len()];
    let portfolios: Vec<Vec<StrategySpec>> = pairs.iter().map(|pair| portfolio(plan, pair)).collect();
    let mut rng = Rng::seeded(mix(plan.seed, 1 << 50));
    let trials = plan.trials.count;
    let mut left = trials.saturating_mul(pairs.len() as u32);
    let mut slots = vec![trials; pairs.len()];
    loop {
        for (i, n) in slots.into_iter().enumerate().filter(|(_, n)| *n > 0) {
            try_arm(&mut arms[i], pairs[i], &portfolios[i], n);
        }
        slots = round(&arms, trials.saturating_mul(CAP), left, &mut rng);
        let drawn: u32 = slots.iter().sum();
        if drawn == 0 || context.stop.load(Ordering::Relaxed) {
            break;
        }
        left -= drawn;
    }
}

// Performs `n` trials of a pair, with the schedulers in turn.
fn try_arm<P: Program>(arm: &mut Arm, pair: &mut PairTrials<'_, P>, portfolio: &[StrategySpec], n: u32) {
    let mut counts = vec![0; portfolio.len()];
    for i in 0..n {
        counts[(arm.trials + i) as usize % portfolio.len()] += 1;
    }
    for (strategy, n) in portfolio.iter().zip(counts).filter(|(_, n)| *n > 0) {
        arm.paid += pair.look(strategy, n);
    }
    arm.trials += n;
    arm.done = pair.is_confirmed();
}

// Schedulers that are tried: a random walk, partial orders (POS), orders of the statements that matter for the pair
// (SURW), few priority changes (PCTCP over chains of tasks, PCT), and runs in which one statement is asked to follow
// the other one.
fn portfolio<P: Program>(plan: &CampaignPlan<P>, pair: &PairTrials<'_, P>) -> Vec<StrategySpec> {
    let steps = Some(u32::try_from(pair.longest.max(1)).unwrap_or(u32::MAX));
    let sites = pair.interesting().into_iter().map(|site| plan.site(site)).collect();
    let surw = StrategySpec::Surw(SurwSpec { sites, counts: None });
    let surw = surw.with_counts(|surw| counts(&*plan.program, plan.limits, surw));
    vec![
        StrategySpec::Random(RandomSpec),
        StrategySpec::Pos(PosSpec),
        surw.unwrap_or_else(|e| panic!("sites of this program: {e}")),
        StrategySpec::Pctcp(PctcpSpec { depth: 2, steps }),
        StrategySpec::Pct(PctSpec { depth: 3, steps }),
    ]
    .into_iter()
    .chain(asked(plan, pair))
    .collect()
}

// Asks that one statement of a pair reads what the other one has written, for each that writes.
fn asked<P: Program>(plan: &CampaignPlan<P>, pair: &PairTrials<'_, P>) -> Vec<StrategySpec> {
    let Pair { a, b } = pair.pair;
    let sites = &plan.setup().sites;
    let writes = |site: SiteId| sites[site].kind.access() != Some(AccessKind::Read);
    let mut ways = vec![(a, b), (b, a)];
    ways.dedup();
    let ask = |(writer, reader)| AskedSpec {
        writer: AskedWriter::Site(plan.site(writer)),
        reader: plan.site(reader),
        pos: true,
        once: false,
        passes: 0,
        patience: 2 * pair.longest + 100,
    };
    ways.into_iter().filter(|(writer, _)| writes(*writer)).map(|way| StrategySpec::Asked(ask(way))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pays_gets_more_and_nobody_more_than_the_cap() {
        let mut rng = Rng::seeded(1);
        let mut arms = [Arm { trials: 20, paid: 10, done: false }, Arm { trials: 20, paid: 0, done: false }];
        let mut drawn = [0; 2];
        for _ in 0..100 {
            for (n, of) in drawn.iter_mut().zip(round(&arms, 1_000, 8, &mut rng)) {
                *n += of;
            }
        }
        assert!(drawn[0] > 760, "{drawn:?}");
        assert_eq!(round(&arms, 23, 8, &mut rng), [3, 3]);
        assert_eq!(round(&arms, 23, 2, &mut rng).iter().sum::<u32>(), 2);
        arms[0].done = true;
        assert_eq!(round(&arms, 100, 8, &mut rng), [0, 8]);
        arms[1].done = true;
        assert_eq!(round(&arms, 100, 8, &mut rng), [0, 0]);
    }

    /// The mean of Beta(1 + s, 1 + f) is (1 + s) / (2 + s + f), its variance mean * (1 - mean) / (3 + s + f).
    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let mut rng = Rng::seeded(2);
        for (paid, trials) in [(0, 0), (0, 9), (3, 10), (10, 10)] {
            let arm = Arm { trials, paid, done: false };
            let draws: Vec<f64> = (0..20_000).map(|_| f64::from(arm.draw(&mut rng)) / f64::from(UNIFORM)).collect();
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            let variance = draws.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / 20_000.0;
            let (s, n) = (f64::from(paid), f64::from(trials));
            let true_mean = (1.0 + s) / (2.0 + n);
            let true_variance = true_mean * (1.0 - true_mean) / (3.0 + n);
            assert!((mean - true_mean).abs() < 0.01, "{mean} {true_mean}");
            assert!((variance / true_variance - 1.0).abs() < 0.05, "{variance} {true_variance}");
        }
    }
}
