//! Counts pairs by their verdicts, and harmful pairs by their causes.

use crate::base::counted;
use crate::campaign::{Finding, PairFacts, Subject, Verdict};
use crate::detect::Rank;
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

/// Counts the harmful pairs and the findings about them: `17 harmful pairs and 1 order pair of 2 causes`. `None` if
/// each pair is a finding of its own.
pub(super) fn grouped<'f, 'r: 'f>(findings: impl IntoIterator<Item = &'f Finding<'r, Pair>>) -> Option<String> {
    let (mut causes, mut races, mut orders) = (0_u64, 0_u64, 0_u64);
    for finding in findings {
        let Subject::Pair { pair, .. } = finding.subject else { continue };
        if pair.verdict() == Verdict::Harmful {
            causes += 1;
            let all = std::iter::once(pair).chain(finding.pairs.iter().copied());
            let of_orders = all.filter(|pair| pair.rank == Rank::Order.letter()).count() as u64;
            orders += of_orders;
            races += finding.count() - of_orders;
        }
    }
    let pairs = match (races, orders) {
        (races, 0) => counted(races, "harmful pair"),
        (0, orders) => counted(orders, "harmful order pair"),
        (races, orders) => format!("{} and {}", counted(races, "harmful pair"), counted(orders, "order pair")),
    };
    (races + orders > causes).then(|| format!("{pairs} of {}", counted(causes, "cause")))
}
