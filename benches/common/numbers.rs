//! Statistics of several rounds, and numbers formatted for people.

/// Median and range of the results of several rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// The median; with an even number of values, the mean of the middle two.
    pub(crate) median: f64,
    /// The least value.
    pub(crate) least: f64,
    /// The largest value.
    pub(crate) most: f64,
}

impl Spread {
    /// Computes the spread of at least one value.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (half, last) = (values.len() / 2, values.len() - 1);
        let median = if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 };
        Self { median, least: values[0], most: values[last] }
    }

    /// Returns the spread multiplied by a factor, for example in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { median: self.median * factor, least: self.least * factor, most: self.most * factor }
    }
}

/// Formats a spread: `3.21 M (3.1 M..3.3 M)`.
pub(crate) fn spread(spread: Spread, number: fn(f64) -> String) -> String {
    format!("{} ({}..{})", number(spread.median), number(spread.least), number(spread.most))
}

/// Formats a number with three digits: `3.21 M`.
pub(crate) fn short(n: f64) -> String {
    let (n, unit) = match n {
        ..1e3 => (n, ""),
        ..1e6 => (n / 1e3, " k"),
        ..1e9 => (n / 1e6, " M"),
        _ => (n / 1e9, " G"),
    };
    let digits = if n >= 99.95 { 0 } else { 1 + usize::from(n < 9.995) };
    format!("{n:.digits$}{unit}")
}

/// Formats a ratio: `3.21×`.
pub(crate) fn times(n: f64) -> String {
    format!("{}×", short(n))
}

/// Formats a number with groups of digits: `1,000`.
pub(crate) fn grouped(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
}

/// A logarithmic axis over whole decades.
pub(crate) struct Axis {
    /// Power of ten at the start of the axis.
    pub(crate) from: i32,
    /// Power of ten at the end of the axis.
    pub(crate) to: i32,
    // First pixel and length of the axis, in pixels.
    start: f64,
    length: f64,
}

impl Axis {
    /// Returns an axis for all of these values, from pixel `start` on, with a length in pixels.
    pub(crate) fn over(values: &[Spread], start: f64, length: f64) -> Self {
        let least = values.iter().map(|v| v.least).fold(f64::INFINITY, f64::min);
        let most = values.iter().map(|v| v.most).fold(1.0, f64::max);
        let from = least.log10().floor() as i32;
        Self { from, to: (most.log10().ceil() as i32).max(from + 1), start, length }
    }

    /// Returns the position of a value, in pixels.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.start + self.length * (value.log10() - f64::from(self.from)) / f64::from(self.to - self.from)
    }
}
