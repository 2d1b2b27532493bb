//! What several seeds say of one cell: in which schedule each of them found the bug first.

/// The first failing schedule of each seed, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    /// By seed; `None` where it was not found.
    pub(crate) firsts: Vec<Option<u64>>,
    /// Schedules of a seed at most.
    pub(crate) cap: u64,
}

impl Tally {
    /// Seeds that found it.
    pub(crate) fn found(&self) -> usize {
        self.firsts.iter().flatten().count()
    }

    /// Whether every seed found it.
    pub(crate) fn always(&self) -> bool {
        self.found() == self.firsts.len()
    }

    /// The mean over the seeds that found it.
    pub(crate) fn mean(&self) -> Option<f64> {
        let found = self.found();
        (found > 0).then(|| self.firsts.iter().flatten().sum::<u64>() as f64 / found as f64)
    }

    /// The median over all seeds: the mean of the two in the middle; `None` if one of these found nothing.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut all: Vec<u64> = self.firsts.iter().map(|n| n.unwrap_or(u64::MAX)).collect();
        all.sort_unstable();
        let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
        (high != u64::MAX).then(|| (low as f64 + high as f64) / 2.0)
    }

    /// `12.3`, `12.3 (7/20)`, `0/20`: the mean, and how many seeds found it where not all of them did.
    pub(crate) fn mean_text(&self) -> String {
        let seeds = self.firsts.len();
        match self.mean() {
            None => format!("0/{seeds}"),
            Some(mean) if self.always() => number(mean),
            Some(mean) => format!("{} ({}/{seeds})", number(mean), self.found()),
        }
    }

    /// `12`, or `> 10,000`: the median.
    pub(crate) fn median_text(&self) -> String {
        match self.median() {
            Some(median) => number(median),
            None => format!("> {}", indicatif::HumanCount(self.cap)),
        }
    }
}

/// `1.5`, `27.3`, `1,234`: schedules for people.
pub(crate) fn number(n: f64) -> String {
    if n >= 999.5 {
        return indicatif::HumanCount(n.round() as u64).to_string();
    }
    let text = format!("{n:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The mean of logarithms, as a number again; `None` of nothing.
pub(crate) fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let sum: f64 = ratios.iter().map(|r| r.ln()).sum();
    (!ratios.is_empty()).then(|| (sum / ratios.len() as f64).exp())
}
