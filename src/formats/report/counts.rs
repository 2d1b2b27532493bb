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
    let (pairs, all, causes) = harmful(findings);
    (all > causes).then(|| format!("{pairs} of {}", counted(causes, "cause")))
}

/// Counts the harmful pairs, with the findings about them where these are fewer.
pub(super) fn harmful_pairs<'f, 'r: 'f>(findings: impl IntoIterator<Item = &'f Finding<'r, Pair>>) -> String {
    let (pairs, all, causes) = harmful(findings);
    if all > causes { format!("{pairs} of {}", counted(causes, "cause")) } else { pairs }
}

// Counts the harmful pairs: in words, as a number, and the findings that lead them.
fn harmful<'f, 'r: 'f>(findings: impl IntoIterator<Item = &'f Finding<'r, Pair>>) -> (String, u64, u64) {
    let (mut causes, mut races, mut orders) = (0_u64, 0_u64, 0_u64);
    for finding in findings {
        let own = match finding.subject {
            Subject::Pair { pair, .. } if pair.verdict() == Verdict::Harmful => Some(pair),
            Subject::Violation(_) if !finding.pairs.is_empty() => None,
            _ => continue,
        };
        causes += 1;
        for pair in own.into_iter().chain(finding.pairs.iter().copied()) {
            *if pair.rank == Rank::Order.letter() { &mut orders } else { &mut races } += 1;
        }
    }
    let pairs = match (races, orders) {
        (races, 0) => counted(races, "harmful pair"),
        (0, orders) => counted(orders, "harmful order pair"),
        (races, orders) => format!("{} and {}", counted(races, "harmful pair"), counted(orders, "order pair")),
    };
    (pairs, races + orders, causes)
}
