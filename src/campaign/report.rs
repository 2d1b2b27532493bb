//! What a campaign says of a program: plain data, to be printed or written by others.

use super::orders::{First, Flip};
use crate::detect::{Candidate, ContextKind, Pair, Rank};
use crate::event::{LimitKind, Outcome, SiteId};
use crate::sched::Released;
use crate::token::Token;
use std::collections::{BTreeMap, BTreeSet};

/// What detection found.
#[derive(Clone, Debug)]
pub struct Phase1 {
    /// Detection runs that were done.
    pub runs: u32,
    /// Potential pairs, by statement.
    pub candidates: Vec<Candidate>,
    /// Pairs of operations that are no race, and whose order may matter.
    pub orders: Vec<Candidate>,
    /// Failures of those runs.
    pub failures: Vec<FailureReport>,
    /// Limits that cut runs short, with how many: what comes after is not known.
    pub limits: BTreeMap<(LimitKind, u64), u32>,
    /// The steps of the longest of them.
    pub longest: u64,
    /// What they say of pairs that none of them showed.
    pub risk: Risk,
    /// The search of all states for pairs that none of them showed, if there was one.
    pub searched: Option<Searched>,
    /// Locations, locks, queues ... with more pairs than [`Plan::most_pairs`](super::Plan::most_pairs): of these some are left out.
    pub left_out: BTreeSet<String>,
    /// Whether none was interrupted.
    pub complete: bool,
}

/// Good and Turing's estimate of what detection may have missed: the chance that one more random walk shows a pair that none has shown. It is taken over the random walks
/// among the detection runs, since these are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Risk {
    /// Pairs that just one of the random walks showed.
    pub once: u32,
    /// Random walks.
    pub walks: u32,
}

impl Risk {
    /// The estimate, from 0 to 1. Of no walks nothing is known: 1.
    #[must_use]
    pub fn estimate(self) -> f64 {
        if self.walks == 0 { 1.0 } else { (f64::from(self.once) / f64::from(self.walks)).min(1.0) }
    }
}

/// A search of all states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Searched {
    /// States that were visited.
    pub states: u64,
    /// Whether these are all.
    pub complete: bool,
}

/// A possible livelock: a run that can go on for ever, although every thread gets its turns.
#[derive(Clone, Debug)]
pub struct Endless {
    /// The threads that never come to an end, by their pedigree.
    pub threads: Vec<String>,
    /// How many states a run can go round in.
    pub states: usize,
    /// A run there and twice round, cut off by its limit of steps.
    pub evidence: Evidence,
}

/// A way in which runs ended.
#[derive(Clone, Debug)]
pub struct FailureReport {
    /// What makes two ends the same.
    pub signature: String,
    /// How many runs ended so.
    pub runs: u32,
    /// The run to show: the first of those with the least stall, with its token. What follows is said of this run.
    pub evidence: Evidence,
    /// How it ended.
    pub outcome: Outcome,
    /// Its steps.
    pub steps: u64,
    /// The virtual clock at its end, in milliseconds.
    pub virtual_time: u64,
    /// Its stall, in virtual milliseconds.
    pub stall: u64,
}

/// A run with its token.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The strategy that it comes from.
    pub strategy: String,
    /// The seed that it comes from.
    pub seed: u64,
    /// Its token as text.
    pub token: String,
}

impl Evidence {
    /// The run of a token.
    pub(super) fn of(token: &Token) -> Self {
        Self { strategy: token.strategy.clone(), seed: token.seed, token: token.to_string() }
    }
}

/// What is known of a pair.
#[derive(Clone, Debug)]
pub struct PairReport {
    /// The pair.
    pub pair: Pair,
    /// The location of the first evidence, by name.
    pub place: String,
    /// How suspicious it is.
    pub rank: Rank,
    /// The kinds of contexts that detection saw.
    pub kinds: BTreeSet<ContextKind>,
    /// Whether no run of detection showed it, and a search of all states did.
    pub searched: bool,
    /// What the trials prove.
    pub verdict: Verdict,
    /// The runs that prove it: one that has both statements side by side, or two with both orders of the same two accesses, that of the first statement first.
    pub proof: Vec<Evidence>,
    /// Trials that were done.
    pub trials: u32,
    /// Each of them.
    pub made: Vec<MadeTrial>,
    /// Of those, how many were made in each way, in the order in which they were tried.
    pub ways: Vec<WayReport>,
    /// Why a search has not decided it, if it was asked and has not.
    pub undecided_by_search: Option<Undecided>,
    /// Runs that had both statements side by side.
    pub adjacent: u32,
    /// Trials that performed both statements.
    pub reached: u32,
    /// The first trial that failed, from 1, in whatever way.
    pub first_failure: Option<u32>,
    /// Continuations of a confirmed pair, or else trials, by which statement came first: [`First::A`], [`First::B`].
    pub orders: [OrderReport; 2],
    /// Of those the ones in which neither order was seen.
    pub undecided: u32,
    /// What [`hurts`](Self::hurts): the order, and the signature of the failure, with what that rests on.
    pub harms: BTreeMap<(First, String), Claim>,
    /// Failures of both orders that come significantly more often with one of them.
    pub more_often: Vec<MoreOften>,
    /// Whether a search has shown a failure of one order for the other order as well, from the same state, though no run of that order had it.
    pub either: bool,
    /// Trials that were cut by a limit of the tool.
    pub limits: u32,
    /// Whether all trials were done.
    pub complete: bool,
}

/// Why a failure is blamed on one order: what the other order does from the same state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Claim {
    /// A search of all that the other order can come to from there has no such failure.
    Exhaustive {
        /// States that follow.
        states: u64,
    },
    /// No run has it.
    Runs {
        /// Runs of the other order from there.
        runs: u32,
        /// Its chance in them is at most this: otherwise none in so many runs would have less than this pair's failure's part of [`CHANCE`](super::CHANCE).
        at_most: f64,
        /// Runs of the order itself that failed so,
        fails: u32,
        /// of so many.
        of: u32,
    },
}

/// A failure that comes with both orders, and significantly more often with one of them: the order matters, and is not to blame.
#[derive(Clone, PartialEq, Debug)]
pub struct MoreOften {
    /// The order with which it comes more often.
    pub first: First,
    /// The failure.
    pub signature: String,
    /// Runs of this order that failed so, and how many there were.
    pub this: (u32, u32),
    /// The same of the other order, from the same states with the same seeds.
    pub other: (u32, u32),
    /// Fisher's exact test: how likely such a difference is where the order does not matter. Less than [`CHANCE`](super::CHANCE) by the number of failures that were compared.
    pub chance: f64,
}

/// A trial of a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadeTrial {
    /// How its choices were made,
    pub strategy: String,
    /// and from which seed.
    pub seed: u64,
    /// How it ended; empty if it came to no end.
    pub signature: String,
    /// How long it was.
    pub steps: u64,
    /// Which statement came first, judged by the first two accesses that conflict.
    pub first: Option<First>,
    /// Whether both were side by side.
    pub adjacent: bool,
}

/// Trials that were made in one way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WayReport {
    /// How their choices were made.
    pub strategy: String,
    /// How many.
    pub trials: u32,
    /// How many did what they were to do: bring both statements side by side, or bring the order about.
    pub hits: u32,
    /// Why what was held was let go, and in how many of them; those are left out that ended while it was held, or held nothing.
    pub released: BTreeMap<Released, u32>,
}

/// What a search says of a pair that it neither proves nor refutes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undecided {
    /// Both orders of the two statements happen, but not of the same two accesses, as far as these were looked for.
    BothOrders,
    /// One order never happens; but some run failed, or went past the one access, after the other, and it could not be told whether that had still been to come.
    CutOff,
    /// There are too many states.
    Cut,
}

/// A proof that a pair is false.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// All states that there are: in none of them both accesses are pending side by side.
    pub states: u64,
    /// What no run does.
    pub never: Never,
}

/// What no run does with a pair that is false.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Never {
    /// It performs this statement first and then that one, on the same memory, in two threads or tasks.
    Order {
        /// The first.
        first: SiteId,
        /// And then this.
        then: SiteId,
    },
    /// It turns two instances: of each two that meet one comes first in every run that performs both.
    Turned,
}

/// A verdict on a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// At some step both statements were pending and enabled, in different threads, on one location, one writing (RaceFuzzer).
    Adjacent,
    /// The same two instances were performed in both orders.
    Flipped(Box<Flip>),
    /// It is false: a search of all states has neither.
    Refuted(Refutation),
    /// Neither was seen. It says nothing more.
    Unconfirmed,
}

impl Verdict {
    /// Whether the pair is proved to be real.
    #[must_use]
    pub fn confirmed(&self) -> bool {
        matches!(self, Verdict::Adjacent | Verdict::Flipped(_))
    }

    /// Whether the pair is proved to be false.
    #[must_use]
    pub fn refuted(&self) -> bool {
        matches!(self, Verdict::Refuted(_))
    }
}

/// What the runs did in which one statement came first.
#[derive(Clone, Debug)]
pub struct OrderReport {
    /// Which statement.
    pub first: First,
    /// Runs with this order.
    pub runs: u32,
    /// Those in which the other access never came, though it was still to come.
    pub cut_off: u32,
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
    /// The way that did most often what proves the verdict: bring both side by side, or an order about.
    #[must_use]
    pub fn best_way(&self) -> Option<&WayReport> {
        let directed = self.verdict == Verdict::Adjacent;
        let proves = |w: &&WayReport| w.hits > 0 && w.strategy.starts_with("hold:") != directed;
        self.ways.iter().filter(proves).max_by_key(|w| (w.hits, w.trials))
    }

    /// Whether both orders fail: in runs, or one of them by a search.
    #[must_use]
    pub fn fails_either_way(&self) -> bool {
        self.either || self.orders.iter().all(|order| order.failed() > 0)
    }

    /// Failures that one order has and the other has not, from some point at which the pair was decided: with the order that has them.
    #[must_use]
    pub fn hurts(&self) -> Vec<(First, &FailureReport)> {
        let of =
            |order: &'_ OrderReport, f: &FailureReport| self.harms.contains_key(&(order.first, f.signature.clone()));
        let all = self.orders.iter().flat_map(|o| o.failures.iter().map(move |f| (o, f)));
        all.filter(|(o, f)| of(o, f)).map(|(o, f)| (o.first, f)).collect()
    }
}
