//! What a campaign says of a program: plain data, to be printed or written by others.

use super::orders::{First, Flip};
use super::trial::RunId;
use crate::detect::{Candidate, ContextKind, Pair};
use crate::event::{LimitKind, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// What detection found.
#[derive(Clone, Debug)]
pub struct Phase1 {
    /// Detection runs that were done.
    pub runs: u32,
    /// Potential pairs, by statement.
    pub candidates: Vec<Candidate>,
    /// Failures of those runs.
    pub failures: Vec<FailureReport>,
    /// Limits that cut runs short, with how many: what comes after is not known.
    pub limits: BTreeMap<(LimitKind, u64), u32>,
    /// The steps of the longest of them.
    pub longest: u64,
    /// Whether all were done.
    pub complete: bool,
}

/// A way in which runs ended.
#[derive(Clone, Debug)]
pub struct FailureReport {
    /// What makes two ends the same.
    pub signature: String,
    /// The first one.
    pub outcome: Outcome,
    /// How many runs ended so.
    pub runs: u32,
    /// The least stall of them, in virtual milliseconds.
    pub least_stall: u64,
    /// The run to show: the first, with its token.
    pub evidence: Evidence,
}

/// A run with its token.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Which run.
    pub id: RunId,
    /// Its token as text.
    pub token: String,
}

/// What is known of a pair.
#[derive(Clone, Debug)]
pub struct PairReport {
    /// The pair.
    pub pair: Pair,
    /// The location of the first evidence, by name.
    pub place: String,
    /// The kinds of contexts that detection saw.
    pub kinds: BTreeSet<ContextKind>,
    /// What the trials prove.
    pub verdict: Verdict,
    /// Trials that were done.
    pub trials: u32,
    /// Of those, directed ones, and directed ones that brought both statements to be pending at once.
    pub directed: (u32, u32),
    /// Runs by which statement came first: [`First::A`], [`First::B`].
    pub orders: [OrderReport; 2],
    /// Trials in which neither order was seen.
    pub undecided: u32,
    /// Trials that were cut by a limit of the tool.
    pub limits: u32,
    /// Whether all trials were done.
    pub complete: bool,
}

/// A verdict on a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// At some step both statements were pending and enabled, in different threads, on one location, one writing (RaceFuzzer).
    Adjacent,
    /// The same two instances were performed in both orders.
    Flipped(Flip),
    /// Neither was seen. It says nothing more.
    Unconfirmed,
}

impl Verdict {
    /// Whether the pair is proved to be real.
    #[must_use]
    pub fn confirmed(&self) -> bool {
        *self != Verdict::Unconfirmed
    }
}

/// What the runs did in which one statement came first.
#[derive(Clone, Debug)]
pub struct OrderReport {
    /// Which statement.
    pub first: First,
    /// Runs with this order.
    pub runs: u32,
    /// Their failures, the most frequent first.
    pub failures: Vec<FailureReport>,
    /// The first run with this order that did not fail.
    pub passes: Option<Evidence>,
}

impl OrderReport {
    /// Runs that failed.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.failures.iter().map(|f| f.runs).sum()
    }
}

impl PairReport {
    /// Failures that one order has and the other has not: the signatures, with the order. Of an order that no trial took nothing can be said.
    #[must_use]
    pub fn hurts(&self) -> Vec<(First, &FailureReport)> {
        let [a, b] = &self.orders;
        let without =
            |y: &OrderReport, f: &FailureReport| y.runs > 0 && y.failures.iter().all(|g| g.signature != f.signature);
        let from_a = a.failures.iter().filter(|f| without(b, f)).map(|f| (First::A, f));
        let from_b = b.failures.iter().filter(|f| without(a, f)).map(|f| (First::B, f));
        from_a.chain(from_b).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SiteId;
    use crate::sched::StrategySpec;

    fn order(first: First, runs: u32, signatures: &[&str]) -> OrderReport {
        let id = RunId { strategy: StrategySpec::Random, seed: 0 };
        let evidence = Evidence { id, token: String::new() };
        let failure = |signature: &&str| FailureReport {
            signature: (*signature).to_owned(),
            outcome: Outcome::Stuck { messages: 1 },
            runs: 1,
            least_stall: 0,
            evidence: evidence.clone(),
        };
        OrderReport { first, runs, failures: signatures.iter().map(failure).collect(), passes: None }
    }

    #[test]
    fn it_hurts_where_one_order_fails_and_the_other_was_seen_not_to() {
        let check = |a: (u32, &[&str]), b: (u32, &[&str]), expected: &[(First, &str)]| {
            let report = PairReport {
                pair: Pair::new(SiteId(0), SiteId(1)),
                place: String::new(),
                kinds: BTreeSet::new(),
                verdict: Verdict::Adjacent,
                trials: 0,
                directed: (0, 0),
                orders: [order(First::A, a.0, a.1), order(First::B, b.0, b.1)],
                undecided: 0,
                limits: 0,
                complete: true,
            };
            let hurts: Vec<_> = report.hurts().into_iter().map(|(first, f)| (first, f.signature.as_str())).collect();
            assert_eq!(hurts, expected);
        };
        check((9, &["x"]), (1, &[]), &[(First::A, "x")]);
        check((9, &["x", "y"]), (9, &["y"]), &[(First::A, "x")]);
        check((9, &["x"]), (9, &["y"]), &[(First::A, "x"), (First::B, "y")]);
        check((9, &["x"]), (9, &["x"]), &[]);
        // The other order was never seen: nothing is known of it.
        check((9, &["x"]), (0, &[]), &[]);
        check((0, &[]), (9, &["x"]), &[]);
    }
}
