//! Finds and judges the races of a program, and checks the `expect` lines of a model.
//!
//! A campaign consists of detection runs, trials of each pair, a comparison of both orders, and proofs.
//!
//! - [`detect()`] is phase 1: it finds potential pairs over many runs.
//! - [`confirm()`] is both phases: it returns each pair with a [`Verdict`], the failures of each order, and a token for
//!   each failure.
//! - [`test()`] tests one variant of a model with random walks, saved failures and a campaign, until each `expect` line
//!   is judged.
//! - [`fuzz()`] looks for any failure, by runs that learn from each other.
//! - [`judge`] and [`judge_pairs`] check one line against known ends of runs, or against a finished campaign.
//!
//! A [`CampaignPlan`] holds everything that a result depends on. A [`CampaignContext`] holds the stop flag and the
//! receiver of progress reports. Work runs in parallel; the number of workers does not change a result.

mod cause;
mod confirm;
mod confirmation;
mod drive;
mod expect;
mod find;
mod finding;
mod fuzz;
mod judge;
mod order;
mod plan;
mod report;
mod ring;
mod run;
mod runs;
mod verdict;
mod violation;

pub use crate::detect::Instance;
pub use crate::exec::{EndKind, RunResult};
pub use cause::{Effect, groups, leading_violations};
pub use confirm::confirm;
pub use confirmation::Confirmation;
pub use drive::ways::{counts, holds};
pub use expect::ends::{EndMismatch, judge, named};
pub use expect::race::{RaceMismatch, judge_pairs};
pub use expect::saved::{SavedSeed, SeedResult};
pub use expect::test_result::{LineResult, LineVerdict, Origin, ShownEnds, TestPlan, TestResult};
pub use expect::truth::Truth;
pub use expect::variant::{RARE, test};
pub use find::atomicity::{DetectedViolations, ShownViolations, detect_violations};
pub use find::detection::detect;
pub use finding::{Finding, PairFacts, Results, RunKind, Subject};
pub use fuzz::{
    CoveringRun, FuzzCoverage, FuzzFailure, FuzzInputs, FuzzKeeper, FuzzMemory, FuzzMemoryError, FuzzPlan, FuzzReport,
    FuzzStart, HowMade, Input, InputMemory, InputSpace, KnownFailure, KnownPair, ModelInputs, NewStates, OrderKind,
    PairCoverage, PairMemory, RareState, RareView, RunBase, StateMemory, fuzz, fuzz_from, statement_text,
    with_smaller_input,
};
pub use judge::claims::{BELOW, CHANCE};
pub use judge::continuations::SEEDS;
pub use judge::violations::confirm_violations;
pub use order::{First, Flip, InstancePair, StaticOrder};
pub use plan::{
    CampaignContext, CampaignPlan, CampaignProgress, DetectionPlan, Explore, FuzzProgress, NoProgress, StatePlan,
    TrialPlan,
};
pub(crate) use report::best_way;
pub use report::{
    Claim, Comparison, Coverage, Discovery, FailureReport, FrequencyDifference, LivelockCycle, MadeTrial, NeverClaim,
    OrderReport, PairReport, PairSide, Phase1, Proof, Refutation, Risk, RunEvidence, SearchSize, Trials, WayReport,
};
pub use ring::{GoalTrial, RingFacts, RingProof, RingReport};
pub use run::{CONTINUED, FUZZED, RunId, RunSource, SEARCHED};
pub(crate) use runs::alike::key as failure_key;
pub use runs::alike::same_failure;
pub use runs::parallel::in_order;
pub use runs::trial::{RepeatedRun, Trial, remake};
pub use verdict::{Harm, PairStatus, UndecidedReason, Verdict};
pub use violation::{
    ConfirmedViolation, ConfirmedViolations, DirectedRuns, KnownHarm, OpenHarm, SearchAnswer, SerialRuns,
    ViolationFacts, ViolationHarm, ViolationScope, ViolationVerdict,
};
