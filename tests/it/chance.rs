//! Statistics for tests of strategies with probabilistic guarantees. All seeds are fixed, so a test that has passed
//! once cannot fail by chance.

/// Maximum probability that a scheduler that keeps its promise fails one comparison.
pub(crate) const CHANCE: f64 = 1e-6;

/// Returns the least number of hits in `n` trials of probability `p` whose lower tail is above [`CHANCE`]. A smaller
/// number of hits cannot be explained by chance.
pub(crate) fn least_hits(n: u64, p: f64) -> u64 {
    // Starts with P(X = 0) and derives P(X = i + 1) from P(X = i), in logarithms because the first value is tiny.
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

/// Returns Pearson's statistic of counts against probabilities, all of which must be above 0.
pub(crate) fn chi_squared(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    let n = counts.iter().sum::<u64>() as f64;
    counts.iter().zip(probabilities).map(|(k, p)| (*k as f64 - n * p).powi(2) / (n * p)).sum()
}

/// Returns the value that Pearson's statistic exceeds with probability [`CHANCE`] for this number of classes (Wilson
/// and Hilferty's approximation).
pub(crate) fn chi_squared_limit(classes: usize) -> f64 {
    // The quantile of the normal distribution with an upper tail of 1e-6.
    const Z: f64 = 4.7534;
    let f = (classes - 1) as f64;
    f * (1.0 - 2.0 / (9.0 * f) + Z * (2.0 / (9.0 * f)).sqrt()).powi(3)
}

#[test]
fn limits_are_what_they_say() {
    for classes in (3..40).step_by(2) {
        // With an even number of degrees of freedom, the upper tail is a sum: that of a Poisson distribution.
        let (half, mut term, mut tail) = (chi_squared_limit(classes) / 2.0, 1.0, 0.0);
        for k in 1..=(classes - 1) / 2 {
            tail += term;
            term *= half / k as f64;
        }
        tail *= (-half).exp();
        assert!(tail > CHANCE / 5.0 && tail < CHANCE * 2.0, "{classes}: {tail}");
    }
    // Ten equal tosses of a coin are not yet significant; twenty are.
    assert_eq!((least_hits(10, 0.5), least_hits(20, 0.5)), (0, 1));
}
