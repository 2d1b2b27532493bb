//! What is known of a register in all runs: a range of values.

use crate::event::Value;
use crate::lang::ast::BinaryOp;

/// All values from `low` to `high`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub(super) low: Value,
    pub(super) high: Value,
}

impl Range {
    /// Any value.
    pub(super) const ANY: Self = Self { low: Value::MIN, high: Value::MAX };

    /// This value alone.
    pub(super) fn of(value: Value) -> Self {
        Self { low: value, high: value }
    }

    /// Returns the value, if there is only one.
    pub(super) fn single(self) -> Option<Value> {
        (self.low == self.high).then_some(self.low)
    }

    /// Returns the values of both.
    pub(super) fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Returns the values of both, with each end that grows at its extreme, so that the analysis of a loop ends.
    pub(super) fn widen(self, other: Self) -> Self {
        let low = if other.low < self.low { Value::MIN } else { self.low };
        Self { low, high: if other.high > self.high { Value::MAX } else { self.high } }
    }

    /// Returns the values that are in both; `None` if there are none.
    pub(super) fn meet(self, low: Value, high: Value) -> Option<Self> {
        let met = Self { low: self.low.max(low), high: self.high.min(high) };
        (met.low <= met.high).then_some(met)
    }

    /// Returns the values as indices below `count`; `None` if some may be others.
    pub(super) fn indices(self, count: usize) -> Option<std::ops::RangeInclusive<usize>> {
        let high = usize::try_from(self.high).ok().filter(|high| *high < count)?;
        Some(usize::try_from(self.low).ok()?..=high)
    }

    /// Applies an operator. Overflows give any value.
    pub(super) fn binary(op: BinaryOp, a: Self, b: Self) -> Self {
        if let (Some(a), Some(b)) = (a.single(), b.single()) {
            return op.value(a, b).map_or(Self::ANY, Self::of);
        }
        let of = |low: Option<Value>, high: Option<Value>| match (low, high) {
            (Some(low), Some(high)) => Self { low, high },
            _ => Self::ANY,
        };
        let decided = |yes: bool, no: bool| match (yes, no) {
            (true, _) => Self::of(1),
            (_, true) => Self::of(0),
            _ => Self { low: 0, high: 1 },
        };
        let apart = a.high < b.low || b.high < a.low;
        match op {
            BinaryOp::Add => of(a.low.checked_add(b.low), a.high.checked_add(b.high)),
            BinaryOp::Sub => of(a.low.checked_sub(b.high), a.high.checked_sub(b.low)),
            BinaryOp::Rem if a.low >= 0 && b.low > 0 => Self { low: 0, high: a.high.min(b.high - 1) },
            BinaryOp::Lt => decided(a.high < b.low, a.low >= b.high),
            BinaryOp::Le => decided(a.high <= b.low, a.low > b.high),
            BinaryOp::Gt => decided(a.low > b.high, a.high <= b.low),
            BinaryOp::Ge => decided(a.low >= b.high, a.high < b.low),
            BinaryOp::Eq => decided(false, apart),
            BinaryOp::Ne => decided(apart, false),
            _ => Self::ANY,
        }
    }

    /// Returns `base + index * stride`.
    pub(super) fn step(base: Self, index: Self, stride: u32) -> Self {
        let scaled = |index: Value| index.checked_mul(Value::from(stride));
        match (scaled(index.low), scaled(index.high)) {
            (Some(low), Some(high)) => Self::binary(BinaryOp::Add, base, Self { low, high }),
            _ => Self::ANY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Range;
    use crate::lang::ast::BinaryOp;

    /// Every value that an operator gives for values of two ranges is in the range that it gives for the ranges.
    #[test]
    fn ranges_contain_what_operators_give() {
        use BinaryOp::{Add, And, Div, Eq, Ge, Gt, Le, Lt, Mul, Ne, Or, Rem, Sub};
        let ends = [-3, -1, 0, 1, 2, 5];
        let ranges =
            || ends.iter().flat_map(|a| ends.iter().filter(move |b| a <= *b).map(|b| Range { low: *a, high: *b }));
        for op in [Or, And, Eq, Ne, Lt, Le, Gt, Ge, Add, Sub, Mul, Div, Rem] {
            for (a, b) in ranges().flat_map(|a| ranges().map(move |b| (a, b))) {
                let all = Range::binary(op, a, b);
                for (x, y) in (a.low..=a.high).flat_map(|x| (b.low..=b.high).map(move |y| (x, y))) {
                    let Some(value) = op.value(x, y) else { continue };
                    assert!(all.low <= value && value <= all.high, "{x} {op:?} {y} is not in {all:?}");
                }
            }
        }
        let extreme = Range { low: i64::MAX - 1, high: i64::MAX };
        assert_eq!(Range::binary(Add, extreme, Range { low: 0, high: 1 }), Range::ANY);
        assert_eq!(Range::step(Range::of(3), Range { low: 0, high: 2 }, 4), Range { low: 3, high: 11 });
    }
}
