//! Statistics for tests of strategies that promise probabilities. All seeds are fixed, so that nothing here fails by chance once it has passed.

/// How likely it is, at most, that a scheduler that keeps its promise fails one comparison.
pub(crate) const CHANCE: f64 = 1e-6;

/// The least number of hits in `n` trials of probability `p` that has a lower tail above [`CHANCE`]: fewer are too few to be chance.
pub(crate) fn least_hits(n: u64, p: f64) -> u64 {
    // P(X = 0), then P(X = i + 1) from P(X = i); in logarithms, as the first is tiny.
    let (mut log, mut tail, mut i) = (n as f64 * (1.0 - p).ln(), 0.0, 0);
    loop {
        tail += log.exp();
        if tail > CHANCE {
            return i;
        }
        log += ((n - i) as f64 / (i + 1) as f64).ln() + (p / (1.0 - p)).ln();
        i += 1;
    }
}

/// Pearson's statistic of counts against probabilities, all of them above 0.
pub(crate) fn chi_squared(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    let n = counts.iter().sum::<u64>() as f64;
    counts.iter().zip(probabilities).map(|(k, p)| (*k as f64 - n * p).powi(2) / (n * p)).sum()
}

/// What that statistic exceeds with a probability of [`CHANCE`], for so many classes (Wilson and Hilferty's approximation).
pub(crate) fn chi_squared_limit(classes: usize) -> f64 {
    // The point of the normal distribution above which 1e-6 of it lies.
    const Z: f64 = 4.7534;
    let f = (classes - 1) as f64;
    f * (1.0 - 2.0 / (9.0 * f) + Z * (2.0 / (9.0 * f)).sqrt()).powi(3)
}

#[test]
fn limits_are_what_they_say() {
    for classes in (3..40).step_by(2) {
        // Of an even number of degrees of freedom the upper tail is a sum: that of a Poisson distribution.
        let (half, mut term, mut tail) = (chi_squared_limit(classes) / 2.0, 1.0, 0.0);
        for k in 1..=(classes - 1) / 2 {
            tail += term;
            term *= half / k as f64;
        }
        tail *= (-half).exp();
        assert!(tail > CHANCE / 5.0 && tail < CHANCE * 2.0, "{classes}: {tail}");
    }
    // Ten coins that all fall the same way are no proof yet, twenty are.
    assert_eq!((least_hits(10, 0.5), least_hits(20, 0.5)), (0, 1));
}
