//! What a count of hits says of their probability. Only sums, products and quotients are used, so that the same counts give the same bytes on every machine.

/// The interval of Clopper and Pearson: probabilities under which neither so many hits nor so few would be rarer than one time in forty each. 95 % of such intervals hold the
/// probability, or more.
///
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

/// The greatest probability (at a confidence of 95 %) of what was not seen in so many trials: 1 - 0.05^(1/n).
///
/// # Examples
///
/// ```
/// assert!((raceflip::base::at_most(60) - 0.0487).abs() < 1e-4);
/// assert_eq!(raceflip::base::at_most(0), 1.0);
/// ```
#[must_use]
pub fn at_most(trials: u32) -> f64 {
    if trials == 0 { 1.0 } else { bisect(|p| power(1.0 - p, trials) > 0.05) }
}

// Where something stops to be true that is true at 0.
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

// The probability of `k` hits or more. Terms are taken relative to the largest one, so that none of them that matters is too small.
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
        // R: binom.test(k, n)$conf.int
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
    fn no_hit_bounds_as_the_rule_of_three_does() {
        for n in [100, 1_000, 100_000] {
            assert!((at_most(n) * f64::from(n) - 3.0).abs() < 0.05, "{n}");
        }
    }
}
