//! Defines what a campaign reports about a program: plain data that other modules print or write.

use crate::campaign::order::{First, Flip, StaticOrder};
use crate::campaign::verdict::UndecidedReason;
use crate::detect::{Candidate, ContextKind, Pair, Rank, RingCandidate, UseFree};
use crate::event::{LimitKind, Outcome, SiteId};
use crate::sched::ReleaseReason;
use crate::token::Token;
use std::collections::{BTreeMap, BTreeSet};

/// Result of detection (phase 1).
#[derive(Clone, Debug)]
pub struct Phase1 {
    /// Number of detection runs.
    pub runs: u32,
    /// Potential pairs, in the order of their statements.
    pub candidates: Vec<Candidate>,
    /// Use-free races that a filter excludes (rank D). They are not driven.
    pub filtered: Vec<Candidate>,
    /// Order pairs: pairs of operations that are not a race, but whose order may matter.
    pub orders: Vec<Candidate>,
    /// Deadlock rings that may close, the shortest and nearest first. None if the plan names the pairs to drive.
    pub rings: Vec<RingCandidate>,
    /// Failures of the detection runs.
    pub failures: Vec<FailureReport>,
    /// Number of steps of the longest detection run.
    pub longest: u64,
    /// What detection may have missed.
    pub coverage: Coverage,
}

/// What detection may have missed.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// Estimate of the pairs that no detection run showed.
    pub risk: Risk,
    /// Limits that cut detection runs short, each with the number of runs. What these runs would have done later is
    /// unknown.
    pub limits: BTreeMap<(LimitKind, u64), u32>,
    /// Names of the locations, locks, queues and so on with more pairs than
    /// [`DetectionPlan::most_pairs`](super::DetectionPlan::most_pairs). Some of their pairs are left out.
    pub left_out: BTreeSet<String>,
    /// Search of all states for pairs that no detection run showed; `None` if there was none.
    pub searched: Option<SearchSize>,
    /// Whether no detection run was interrupted.
    pub complete: bool,
}

/// Residual risk after Good and Turing: an estimate of the probability that one more random walk shows a pair that no
/// walk has shown. Only the random walks among the detection runs count, since they all have the same distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Risk {
    /// Number of pairs that exactly one random walk showed.
    pub once: u32,
    /// Number of random walks.
    pub walks: u32,
}

impl Risk {
    /// Returns the estimate, from 0 to 1. It is 1 without random walks, since nothing is known then.
    #[must_use]
    pub fn estimate(self) -> f64 {
        if self.walks == 0 { 1.0 } else { (f64::from(self.once) / f64::from(self.walks)).min(1.0) }
    }
}

/// Extent of a search of all states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchSize {
    /// Number of states that the search visited.
    pub states: u64,
    /// Whether the search visited all states.
    pub complete: bool,
}

/// Possible livelock: a run that can continue forever although every thread gets its turns.
#[derive(Clone, Debug)]
pub struct LivelockCycle {
    /// Pedigrees of the threads that never end.
    pub threads: Vec<String>,
    /// Number of states of the cycle that a run can repeat.
    pub states: usize,
    /// Run that enters these states and passes through them twice. Its step limit cuts it off there.
    pub evidence: RunEvidence,
}

/// Failure with all runs that ended in it.
#[derive(Clone, Debug)]
pub struct FailureReport {
    /// Signature of the failure. Two ends with equal signatures are the same failure.
    pub signature: String,
    /// Number of runs that ended in this failure.
    pub runs: u32,
    /// Run to show: the first of the runs with the least stall, with its token. `outcome`, `steps`, `virtual_time` and
    /// `stall` are those of this run.
    pub evidence: RunEvidence,
    /// Outcome of the run to show.
    pub outcome: Outcome,
    /// Number of steps of the run to show.
    pub steps: u64,
    /// Virtual clock at the end of the run to show, in milliseconds.
    pub virtual_time: u64,
    /// Stall of the run to show, in virtual milliseconds.
    pub stall: u64,
}

/// Run with its token.
#[derive(Clone, Debug)]
pub struct RunEvidence {
    /// Strategy that performed the run.
    pub strategy: String,
    /// Seed of the run.
    pub seed: u64,
    /// Token of the run, as text.
    pub token: String,
}

impl RunEvidence {
    /// Returns the run that a token replays.
    pub(super) fn of(token: &Token) -> Self {
        Self { strategy: token.strategy.clone(), seed: token.seed, token: token.to_string() }
    }
}

/// Everything that a campaign knows about one pair. [`verdict`](Self::verdict) sums it up in one word.
#[derive(Clone, Debug)]
pub struct PairReport {
    /// Pair of statements.
    pub pair: Pair,
    /// What detection knows about the pair.
    pub discovery: Discovery,
    /// Proof of the verdict, by the trials or by a search.
    pub proof: Proof,
    /// Runs that prove the verdict: one run with both statements side by side, or two runs with both orders of the same
    /// two accesses. The first of the two has the first statement first.
    pub evidence: Vec<RunEvidence>,
    /// Reason why a search did not decide the pair; `None` if it decided it, or if there was no search.
    pub undecided_by_search: Option<UndecidedReason>,
    /// Trials of the pair.
    pub trials: Trials,
    /// Comparison of both orders.
    pub comparison: Comparison,
    /// Index of the confirmed ring with which an order pair is reported; `None` for any other pair.
    pub ring: Option<u32>,
}

/// What detection knows about a pair.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// Name of the location in the first evidence.
    pub place: String,
    /// Rank of the pair: how suspicious it is.
    pub rank: Rank,
    /// Kinds of contexts in which detection saw the pair.
    pub kinds: BTreeSet<ContextKind>,
    /// What a detector of use-free races says about the pair; `None` if none reports it.
    pub use_free: Option<UseFree>,
    /// Whether only a search of all states showed the pair, and no detection run.
    pub searched: bool,
    /// The statements of the pair with their contexts, in the order of the pair.
    pub sides: [PairSide; 2],
}

/// One side of a pair: a statement, and what the thread or task runs that performs it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PairSide {
    /// What the context runs: the last part of its pedigree, without ordinals and indices. Threads of one array have
    /// the same name, and so have all tasks of one body. It is empty if a report from an older version lacks it.
    pub context: String,
    /// Line of the statement in the model, from 1.
    pub line: u32,
    /// Column of the statement in the model, from 1.
    pub column: u32,
    /// Name of the statement in the syntax of `--strategy directed:`. No other statement has it.
    pub site: String,
}

/// Trials of a pair.
#[derive(Clone, Debug)]
pub struct Trials {
    /// Number of trials.
    pub count: u32,
    /// Trials that a strategy has drawn, one by one.
    pub made: Vec<MadeTrial>,
    /// Trials by strategy, in the order in which the strategies were tried.
    pub ways: Vec<WayReport>,
    /// Number of trials with both statements side by side.
    pub adjacent: u32,
    /// Number of trials that performed both statements.
    pub reached: u32,
    /// Ordinal of the first trial that failed in any way, from 1.
    pub first_failure: Option<u32>,
    /// Number of trials that a limit of the tool cut short.
    pub limits: u32,
    /// Whether all planned trials were performed.
    pub complete: bool,
}

/// Comparison of both orders of a pair.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Runs by the statement that came first: [`First::A`], then [`First::B`]. They are the continuations of a
    /// confirmed pair, otherwise its trials.
    pub orders: [OrderReport; 2],
    /// Number of the runs behind `orders` in which neither order was seen.
    pub undecided: u32,
    /// Failures that an order is to blame for: the order and the signature, with the claim that they rest on. See
    /// [`PairReport::hurts`].
    pub harms: BTreeMap<(First, String), Claim>,
    /// Failures of both orders that come significantly more often with one of them.
    pub more_often: Vec<FrequencyDifference>,
    /// Whether a search has shown that a failure of one order also comes with the other order from the same state,
    /// although no run of the other order had it.
    pub either: bool,
}

/// Reason why a failure is blamed on one order: what the other order does from the same state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Claim {
    /// Proof by search: no state that the other order can reach from there ends in this failure.
    Exhaustive {
        /// Number of states that follow with the other order.
        states: u64,
    },
    /// Statistical claim: no run of the other order has this failure.
    Runs {
        /// Number of runs of the other order from the same state.
        runs: u32,
        /// Upper bound of the probability that a run of the other order has this failure. With a higher one, no failure
        /// in so many runs would be less likely than the share that this failure has of [`CHANCE`](super::CHANCE).
        at_most: f64,
        /// Number of runs of the blamed order that had this failure.
        fails: u32,
        /// Number of runs of the blamed order.
        of: u32,
    },
}

/// Failure that comes with both orders, and significantly more often with one of them. The order matters, but is not to
/// blame.
#[derive(Clone, PartialEq, Debug)]
pub struct FrequencyDifference {
    /// Order with which the failure comes more often.
    pub first: First,
    /// Signature of the failure.
    pub signature: String,
    /// Runs of this order: how many had the failure, and how many there were.
    pub this: (u32, u32),
    /// Runs of the other order, from the same states with the same seeds: how many had the failure, and how many there
    /// were.
    pub other: (u32, u32),
    /// Result of Fisher's exact test: the probability of such a difference if the order does not matter. It is less
    /// than [`CHANCE`](super::CHANCE) divided by the number of failures that were compared.
    pub chance: f64,
}

/// One trial of a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadeTrial {
    /// Strategy that made the choices of the trial.
    pub strategy: String,
    /// Seed of the trial.
    pub seed: u64,
    /// Signature of the outcome; empty if the trial had none.
    pub signature: String,
    /// Number of steps of the trial.
    pub steps: u64,
    /// Statement that came first, judged by the first two accesses that conflict; `None` if neither order was seen.
    pub first: Option<First>,
    /// Whether both statements were side by side in the trial.
    pub adjacent: bool,
}

/// All trials of a pair by one strategy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WayReport {
    /// Strategy that made the choices of these trials.
    pub strategy: String,
    /// Number of trials by this strategy.
    pub trials: u32,
    /// Number of trials that reached their goal: both statements side by side, or the intended order.
    pub hits: u32,
    /// Reasons why a hold was released, each with the number of trials. Trials that held nothing, or that ended while
    /// something was held, are not counted.
    pub released: BTreeMap<ReleaseReason, u32>,
}

/// Proof that a pair is false.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// Number of states, which is all that there are. In none of them both accesses are side by side.
    pub states: u64,
    /// Property of the pair that no run has.
    pub never: NeverClaim,
}

/// Property that no run has if a pair is false.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeverClaim {
    /// An order: no run performs `first` and later `then` on the same memory in two threads or tasks.
    Order {
        /// Statement that never comes first.
        first: SiteId,
        /// Statement that never follows it.
        then: SiteId,
        /// Whether only that is claimed: `then` never reads what `first` has written, since another write always comes
        /// between.
        direct: bool,
    },
    /// A flip: of each two instances that meet, the same one comes first in every run that performs both.
    Turned,
}

/// Proof of the verdict on a pair. [`Verdict`](super::Verdict) is the verdict itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// Real: at some step both statements were pending and enabled, in different threads, on one location, and one of
    /// them writes (RaceFuzzer).
    Adjacent,
    /// Real: the same two instances were performed in both orders.
    Flipped(Box<Flip>),
    /// False: a search of all states has neither found both statements side by side nor a flip.
    Refuted(Refutation),
    /// False: the accesses are in one order in every run, or no run has both, by static analysis.
    Ordered(Box<StaticOrder>),
    /// Neither confirmed nor refuted. It says nothing more.
    Unconfirmed,
}

impl Proof {
    /// Returns whether the pair is proved to be real.
    #[must_use]
    pub fn confirmed(&self) -> bool {
        matches!(self, Proof::Adjacent | Proof::Flipped(_))
    }

    /// Returns whether the pair is proved to be false.
    #[must_use]
    pub fn refuted(&self) -> bool {
        matches!(self, Proof::Refuted(_) | Proof::Ordered(_))
    }
}

/// Runs in which the same statement of a pair came first, with their failures.
#[derive(Clone, Debug)]
pub struct OrderReport {
    /// Statement that came first.
    pub first: First,
    /// Number of runs with this order.
    pub runs: u32,
    /// Number of these runs that did not fail and in which the other access never came although it was still to come.
    pub cut_off: u32,
    /// Failures of these runs, the most frequent first.
    pub failures: Vec<FailureReport>,
    /// First run with this order that did not fail; `None` if all failed.
    pub passes: Option<RunEvidence>,
    /// Exceptions of references that the app has caught: the name, the statement, and the number of runs.
    pub caught: Vec<(String, SiteId, u32)>,
}

impl OrderReport {
    /// Returns the number of runs with this order that failed.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.failures.iter().map(|f| f.runs).sum()
    }
}

impl Comparison {
    /// Returns a comparison without any runs.
    pub(super) fn nothing() -> Self {
        let order =
            |first| OrderReport { first, runs: 0, cut_off: 0, failures: Vec::new(), passes: None, caught: Vec::new() };
        let orders = [order(First::A), order(First::B)];
        Self { orders, undecided: 0, harms: BTreeMap::new(), more_often: Vec::new(), either: false }
    }

    /// Returns the failures of the runs of both orders.
    pub fn failures(&self) -> impl Iterator<Item = &FailureReport> {
        self.orders.iter().flat_map(|order| &order.failures)
    }
}

impl PairReport {
    /// Returns the strategy with the most hits of the kind that proves the verdict: both statements side by side, or an
    /// order.
    #[must_use]
    pub fn best_way(&self) -> Option<&WayReport> {
        best_way(&self.trials.ways, self.proof == Proof::Adjacent, |w| (&w.strategy, w.hits, w.trials))
    }

    /// Returns whether both orders fail, in runs or as a search has shown for one of them.
    #[must_use]
    pub fn fails_either_way(&self) -> bool {
        self.comparison.either || self.comparison.orders.iter().all(|order| order.failed() > 0)
    }

    /// Returns the failures that one order has and the other one has not from some state in which both orders were
    /// compared, each with the order that has it.
    #[must_use]
    pub fn hurts(&self) -> Vec<(First, &FailureReport)> {
        let Comparison { orders, harms, .. } = &self.comparison;
        let of = |order: &'_ OrderReport, f: &FailureReport| harms.contains_key(&(order.first, f.signature.clone()));
        let all = orders.iter().flat_map(|o| o.failures.iter().map(move |f| (o, f)));
        all.filter(|(o, f)| of(o, f)).map(|(o, f)| (o.first, f)).collect()
    }
}

/// Returns the strategy with the most hits of the kind that proves the verdict: both statements side by side if
/// `directed`, an order otherwise. `of` returns name, hits and trials of a strategy.
pub(crate) fn best_way<W>(ways: &[W], directed: bool, of: impl Fn(&W) -> (&str, u32, u32)) -> Option<&W> {
    let proves = |way: &&W| {
        let (strategy, hits, _) = of(way);
        hits > 0 && strategy.starts_with("hold:") != directed
    };
    ways.iter().filter(proves).max_by_key(|way| {
        let (_, hits, trials) = of(way);
        (hits, trials)
    })
}
