//! Finds and judges the races of a program, and checks the `expect` lines of a model.
//!
//! A campaign consists of detection runs, trials of each pair, a comparison of both orders, and proofs.
//!
//! - [`detect()`] is phase 1: it finds potential pairs over many runs.
//! - [`confirm()`] is both phases: it returns each pair with a [`Verdict`], the failures of each order, and a token for
//!   each failure.
//! - [`test()`] tests one variant of a model with random walks, saved failures and a campaign, until each `expect` line
//!   is judged.
//! - [`judge`] and [`judge_pairs`] check one line against known ends of runs, or against a finished campaign.
//!
//! A [`Plan`] holds everything that a result depends on. A [`Context`] holds the stop flag and the receiver of progress
//! reports. Work runs in parallel; the number of workers does not change a result.

mod confirm;
mod drive;
mod expect;
mod find;
mod finding;
mod judge;
mod order;
mod plan;
mod report;
mod run;
mod runs;

pub use crate::detect::Instance;
pub use crate::exec::{EndKind, Ended};
pub use confirm::confirm;
pub use drive::ways::{counts, holds};
pub use expect::ends::{Unmet, judge, named};
pub use expect::race::{Broken, judge_pairs};
pub use expect::saved::{Saved, SavedEnd};
pub use expect::tested::{Line, LineVerdict, Origin, Shown, TestPlan, Tested};
pub use expect::truth::Truth;
pub use expect::variant::{RARE, test};
pub use find::detection::detect;
pub use finding::{Confirmation, Finding, Harm, Judged, Results, RunKind, Status, Subject, Verdict};
pub use judge::claims::{BELOW, CHANCE};
pub use judge::continuations::SEEDS;
pub use order::{First, Flip, InstancePair};
pub use plan::{Context, Explore, Plan, Progress, Silent};
pub(crate) use report::best_way;
pub use report::{
    Claim, Comparison, Coverage, Discovery, Endless, Evidence, FailureReport, MadeTrial, MoreOften, Never, OrderReport,
    PairReport, Phase1, Proof, Refutation, Risk, Searched, Trials, Undecided, WayReport,
};
pub use run::{CONTINUED, Run, RunId, SEARCHED};
pub use runs::alike::same_failure;
pub use runs::parallel::in_order;
pub use runs::trial::{Remade, Trial, remake};
