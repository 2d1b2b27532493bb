//! Summarizes the results of several seeds for one cell: the schedule in which each seed found the bug first.

/// Numbers of the first failing schedules, from 1, by seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    /// First failing schedule by seed; `None` if the seed did not find the bug.
    pub(crate) firsts: Vec<Option<u64>>,
    /// Maximum number of schedules per seed.
    pub(crate) cap: u64,
}

impl Tally {
    /// Returns the number of seeds that found the bug.
    pub(crate) fn found(&self) -> usize {
        self.firsts.iter().flatten().count()
    }

    /// Returns whether every seed found the bug.
    pub(crate) fn always(&self) -> bool {
        self.found() == self.firsts.len()
    }

    /// Returns the mean over the seeds that found the bug; `None` if there are none.
    pub(crate) fn mean(&self) -> Option<f64> {
        let found = self.found();
        (found > 0).then(|| self.firsts.iter().flatten().sum::<u64>() as f64 / found as f64)
    }

    /// Returns the geometric mean over all seeds. A seed that found nothing counts with all its schedules, so that the
    /// result is a lower bound; `None` if there are no seeds.
    pub(crate) fn geometric_mean_or_cap(&self) -> Option<f64> {
        let all: Vec<f64> = self.firsts.iter().map(|n| n.unwrap_or(self.cap) as f64).collect();
        geometric_mean(&all)
    }

    /// Formats the largest number: `345`, or `> 10,000` if a seed found nothing.
    pub(crate) fn most_text(&self) -> String {
        match self.firsts.iter().flatten().max() {
            Some(most) if self.always() => indicatif::HumanCount(*most).to_string(),
            _ => format!("> {}", indicatif::HumanCount(self.cap)),
        }
    }

    /// Returns the median over all seeds (with an even number of seeds, the mean of the middle two); `None` if one of
    /// the middle seeds found nothing.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut all: Vec<u64> = self.firsts.iter().map(|n| n.unwrap_or(u64::MAX)).collect();
        all.sort_unstable();
        let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
        (high != u64::MAX).then(|| (low as f64 + high as f64) / 2.0)
    }

    /// Formats the mean: `12.3`; `12.3 (7/20)` if only 7 of 20 seeds found the bug; `0/20` if none did.
    pub(crate) fn mean_text(&self) -> String {
        let seeds = self.firsts.len();
        match self.mean() {
            None => format!("0/{seeds}"),
            Some(mean) if self.always() => number(mean),
            Some(mean) => format!("{} ({}/{seeds})", number(mean), self.found()),
        }
    }

    /// Formats the median: `12`, or `> 10,000` if it is above the cap.
    pub(crate) fn median_text(&self) -> String {
        match self.median() {
            Some(median) => number(median),
            None => format!("> {}", indicatif::HumanCount(self.cap)),
        }
    }
}

/// Formats a number of schedules for people: `1.5`, `27.3`, `1,234`.
pub(crate) fn number(n: f64) -> String {
    if n >= 999.5 {
        return indicatif::HumanCount(n.round() as u64).to_string();
    }
    let text = format!("{n:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Returns the geometric mean; `None` for an empty list.
pub(crate) fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let sum: f64 = ratios.iter().map(|r| r.ln()).sum();
    (!ratios.is_empty()).then(|| (sum / ratios.len() as f64).exp())
}
