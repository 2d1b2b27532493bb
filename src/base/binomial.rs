//! Statistics of counts: confidence intervals and exact tests.
//!
//! Only sums, products and quotients are used, so the same counts give the same bytes on every machine.

/// Returns the 95 % confidence interval of Clopper and Pearson for the probability of a hit. It holds the probabilities
/// under which neither `hits` or more nor `hits` or fewer has a probability below 1/40. At least 95 % of such intervals
/// contain the true probability.
/// # Examples
///
/// ```
/// let (low, high) = raceflip::base::interval(30, 30);
/// assert!((low - 0.8843).abs() < 1e-4 && high == 1.0);
/// ```
#[must_use]
pub fn interval(hits: u32, trials: u32) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let low = if hits == 0 { 0.0 } else { bisect(|p| at_least(hits, trials, p) < 0.025) };
    let high = if hits >= trials { 1.0 } else { bisect(|p| 1.0 - at_least(hits + 1, trials, p) > 0.025) };
    (low, high)
}

/// Returns the upper bound, at a confidence of 95 %, of the probability of an event that occurred in none of `trials`
/// trials: 1 - 0.05^(1/n).
///
/// # Examples
///
/// ```
/// assert!((raceflip::base::at_most(60) - 0.0487).abs() < 1e-4);
/// assert_eq!(raceflip::base::at_most(0), 1.0);
/// ```
#[must_use]
pub fn at_most(trials: u32) -> f64 {
    at_most_by(trials, 0.05)
}

/// Returns the greatest probability of an event under which `trials` trials without it have a probability of at least
/// `chance`: 1 - chance^(1/n).
///
/// # Examples
///
/// ```
/// assert!(raceflip::base::at_most_by(800, 1e-6) < 1.0 / 50.0);
/// ```
#[must_use]
pub fn at_most_by(trials: u32, chance: f64) -> f64 {
    if trials == 0 { 1.0 } else { bisect(|p| power(1.0 - p, trials) > chance) }
}

/// Returns the probability that all of `hits` hits fall into the first `n` trials and none into the other `m`, if every
/// distribution of the hits over the trials is equally likely (Fisher's exact test, one-sided).
///
/// # Examples
///
/// ```
/// assert!((raceflip::base::all_in_one(2, 3, 3) - 0.2).abs() < 1e-12);
/// ```
#[must_use]
pub fn all_in_one(hits: u32, n: u32, m: u32) -> f64 {
    (0..hits.min(n)).map(|i| f64::from(n - i) / (f64::from(n - i) + f64::from(m))).product()
}

/// Returns the p-value of Fisher's exact test, two-sided: the probability of a result that is at most as likely as `x`
/// hits in `n` trials beside `y` hits in `m` trials, if both kinds of trials have the same probability of a hit.
///
/// # Examples
///
/// ```
/// // The lady tasting tea.
/// assert!((raceflip::base::fisher((3, 4), (1, 4)) - 0.4857).abs() < 1e-4);
/// ```
#[must_use]
pub fn fisher((x, n): (u32, u32), (y, m): (u32, u32)) -> f64 {
    let hits = x + y;
    let (least, most) = (hits.saturating_sub(m), hits.min(n));
    // The weight of each table is relative to the observed one. `ratio(k)` is the weight of k + 1 hits in the first
    // group relative to that of k hits.
    let ratio = |k: u32| {
        let (k, hits, n, m) = (f64::from(k), f64::from(hits), f64::from(n), f64::from(m));
        (hits - k) * (n - k) / ((k + 1.0) * (m - hits + k + 1.0))
    };
    let (mut all, mut rare) = (0.0, 0.0);
    let mut add = |weight: f64| {
        all += weight;
        // Tables that are exactly as likely as the observed one may differ from it by rounding.
        if weight <= 1.0 + 1e-7 {
            rare += weight;
        }
    };
    let mut weight = 1.0;
    for k in x..=most {
        add(weight);
        weight *= ratio(k);
    }
    weight = 1.0;
    for k in (least..x).rev() {
        weight /= ratio(k);
        add(weight);
    }
    rare / all
}

// Returns the point in 0..1 up to which `holds` is true. It must be true at 0 and change at most once.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

fn power(mut base: f64, mut n: u32) -> f64 {
    let mut all = 1.0;
    while n > 0 {
        if n % 2 == 1 {
            all *= base;
        }
        base *= base;
        n /= 2;
    }
    all
}

// The probability of at least `k` hits. Terms are relative to the largest one, so that no term that matters underflows.
fn at_least(k: u32, n: u32, p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 && k > 0 { 0.0 } else { 1.0 };
    }
    let odds = p / (1.0 - p);
    let mode = ((f64::from(n) + 1.0) * p).min(f64::from(n)) as u32;
    let (mut all, mut tail) = (0.0, 0.0);
    let mut add = |i: u32, term: f64| {
        all += term;
        if i >= k {
            tail += term;
        }
    };
    let mut term = 1.0;
    for i in mode..=n {
        add(i, term);
        term *= f64::from(n - i) / f64::from(i + 1) * odds;
    }
    term = 1.0;
    for i in (0..mode).rev() {
        term *= f64::from(i + 1) / f64::from(n - i) / odds;
        add(i, term);
    }
    tail / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        // The expected intervals are those of R: binom.test(k, n)$conf.int
        for (k, n, low, high) in [
            (0, 10, 0.0, 0.308_497),
            (1, 10, 0.002_529, 0.445_016),
            (5, 10, 0.187_086, 0.812_914),
            (29, 30, 0.827_831, 0.999_156),
            (50, 100, 0.398_321, 0.601_679),
        ] {
            let (l, h) = interval(k, n);
            assert!((l - low).abs() < 1e-5 && (h - high).abs() < 1e-5, "{k} of {n}: {l}..{h}");
        }
    }

    #[test]
    fn the_exact_test_is_that_of_the_tables() {
        // The expected values are sums of hypergeometric terms, computed with integers.
        for (x, n, y, m, p) in [
            (3, 4, 1, 4, 0.485_714),
            (10, 12, 1, 9, 0.001_905),
            (0, 10, 0, 10, 1.0),
            (5, 5, 5, 5, 1.0),
            (8, 10, 1, 6, 0.034_965),
        ] {
            assert!((fisher((x, n), (y, m)) - p).abs() < 2e-6, "{x} of {n}, {y} of {m}: {}", fisher((x, n), (y, m)));
            assert!((fisher((y, m), (x, n)) - p).abs() < 2e-6, "the same the other way round");
        }
        assert!((all_in_one(5, 10, 10) - 252.0 / 15_504.0).abs() < 1e-12);
    }

    #[test]
    fn no_hit_bounds_as_the_rule_of_three_does() {
        for n in [100, 1_000, 100_000] {
            assert!((at_most(n) * f64::from(n) - 3.0).abs() < 0.05, "{n}");
        }
    }
}
