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
    /// Failures that one order has and the other has not: the signatures, with the order.
    #[must_use]
    pub fn hurts(&self) -> Vec<(First, &FailureReport)> {
        let [a, b] = &self.orders;
        let only = |x: &'_ OrderReport, y: &'_ OrderReport, f: &FailureReport| {
            let _ = x;
            y.failures.iter().all(|g| g.signature != f.signature)
        };
        let from_a = a.failures.iter().filter(|f| only(a, b, f)).map(|f| (First::A, f));
        let from_b = b.failures.iter().filter(|f| only(b, a, f)).map(|f| (First::B, f));
        from_a.chain(from_b).collect()
    }
}
