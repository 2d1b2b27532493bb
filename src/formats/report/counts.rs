//! Counts pairs by their verdicts.

use crate::campaign::{PairFacts, Verdict};
use crate::formats::campaign::Pair;

/// The number of pairs with each verdict.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct VerdictCounts {
    pub(super) harmful: usize,
    pub(super) real: usize,
    pub(super) refuted: usize,
    pub(super) unconfirmed: usize,
}

impl VerdictCounts {
    pub(super) fn of(pairs: &[Pair]) -> Self {
        let mut counts = VerdictCounts::default();
        for pair in pairs {
            *match pair.verdict() {
                Verdict::Harmful => &mut counts.harmful,
                Verdict::Real => &mut counts.real,
                Verdict::Refuted => &mut counts.refuted,
                Verdict::Unconfirmed => &mut counts.unconfirmed,
            } += 1;
        }
        counts
    }

    pub(super) fn all(self) -> usize {
        self.harmful + self.real + self.refuted + self.unconfirmed
    }

    pub(super) fn add(&mut self, other: VerdictCounts) {
        self.harmful += other.harmful;
        self.real += other.real;
        self.refuted += other.refuted;
        self.unconfirmed += other.unconfirmed;
    }

    /// Lists the nonzero counts: `1 harmful, 2 real`.
    pub(super) fn words(self) -> String {
        let each = [
            (self.harmful, Verdict::Harmful),
            (self.real, Verdict::Real),
            (self.refuted, Verdict::Refuted),
            (self.unconfirmed, Verdict::Unconfirmed),
        ];
        let some = each.iter().filter(|(n, _)| *n > 0).map(|(n, verdict)| format!("{n} {}", verdict.word()));
        some.collect::<Vec<_>>().join(", ")
    }
}
