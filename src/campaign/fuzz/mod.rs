//! A campaign that learns from run to run. It looks for any failure: no pair of accesses is named, none has to be
//! detected first. A run asks for a reads-from pair that no run has shown yet, or begins where few runs have been.
//!
//! Reads-from pairs between statements, and a scheduler that prefers and never forbids ([`Asked`]), are RFF's (Wolff et
//! al., *Greybox Fuzzing for Concurrency Testing*, ASPLOS 2024). Which pair is asked for (one, the least seen and asked
//! for, with all its instances), locks and queues as locations, and runs from rare states are ours.
//!
//! Runs come in rounds. The runs of a round are planned in order, performed by any number of workers, and learned from
//! in order when all of them have ended. So the number of workers does not change a result.
//!
//! - `shown`: what a run shows, as an observer;
//! - `pairs`, `rare`: what is learned of pairs and of states;
//! - `plan`: the kinds of runs, and the length of rounds;
//! - `rounds`: hands the runs of a round to the workers;
//! - `worker`: performs runs;
//! - `state`: everything that was learned;
//! - `inputs`, `names`: programs with other values of constants, and what they have in common;
//! - `smaller`: smaller inputs with the same failure;
//! - `covering`: runs that together show all pairs, for a corpus;
//! - `memory`: what another process needs to go on;
//! - `search`: a campaign in progress;
//! - `coverage`: the report on pairs, statements and states.

mod coverage;
mod covering;
mod inputs;
mod memory;
mod model_inputs;
mod names;
mod pairs;
mod plan;
mod rare;
mod rounds;
mod search;
mod shown;
mod smaller;
mod state;
#[cfg(test)]
mod tests;
mod worker;

pub use coverage::{FuzzCoverage, NewStates, OrderKind, PairCoverage, statement_text};
pub use covering::CoveringRun;
pub use inputs::{FuzzInputs, Input, InputSpace};
pub use memory::{FuzzKeeper, FuzzMemory, FuzzMemoryError, InputMemory, KnownFailure, PairMemory, StateMemory};
pub use model_inputs::ModelInputs;
pub use pairs::KnownPair;
pub use rare::{RareState, RareView};
pub use smaller::with_smaller_input;

use crate::campaign::plan::{CampaignContext, CampaignPlan};
use crate::campaign::report::FailureReport;
use crate::event::LimitKind;
use crate::token::Token;
use crate::world::{Program, Statement};
use plan::PlannedRun;
use search::Campaign;
use shown::ReadPair;
use std::collections::BTreeMap;

/// Plan of a learning campaign, beside the plan of every campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FuzzPlan {
    /// Maximum number of runs.
    pub runs: u64,
    /// Whether the campaign goes on after a failure, to collect others.
    pub keeps_going: bool,
}

impl FuzzPlan {
    /// Default of [`runs`](Self::runs).
    pub const RUNS: u64 = 10_000;
}

impl Default for FuzzPlan {
    fn default() -> Self {
        Self { runs: Self::RUNS, keeps_going: false }
    }
}

/// What a learning campaign begins with.
pub struct FuzzStart<'k, P> {
    /// The programs with other values of constants that are drawn as well.
    pub inputs: Option<&'k dyn InputSpace<P>>,
    /// State of an earlier campaign with the same plan, from which this one goes on.
    pub memory: Option<FuzzMemory>,
    /// Saved runs that are performed first, if there is no memory. They have no numbers, and what they show counts as
    /// seen.
    pub saved: Vec<Token>,
    /// Keeps the state of the campaign.
    pub keeper: Option<&'k mut dyn FuzzKeeper>,
}

impl<P> Default for FuzzStart<'_, P> {
    fn default() -> Self {
        Self { inputs: None, memory: None, saved: Vec::new(), keeper: None }
    }
}

/// Result of a learning campaign.
#[derive(Clone, Debug)]
pub struct FuzzReport {
    /// Number of runs. Without [`FuzzPlan::keeps_going`], the last one is the first that failed.
    pub runs: u64,
    /// Failures, in the order in which they were found.
    pub failures: Vec<FuzzFailure>,
    /// Runs that ended at a limit. That is no failure.
    pub limits: BTreeMap<(LimitKind, u64), u64>,
    /// What the runs have shown.
    pub coverage: FuzzCoverage,
    /// The inputs, with the declarations to which the statements of this report refer.
    pub inputs: FuzzInputs,
    /// Runs that together show all pairs that were seen in runs without a failure, in the order in which they came.
    pub covering: Vec<CoveringRun>,
    /// Number of saved runs with which the campaign began.
    pub began: u64,
    /// Whether the campaign was not interrupted.
    pub complete: bool,
}

/// A failure, and how it was found.
#[derive(Clone, Debug)]
pub struct FuzzFailure {
    /// Number of the first run with this failure, from 1. It is 0 for a saved run with which the campaign began.
    pub run: u64,
    /// How that run was made.
    pub made: HowMade,
    /// Values of the varied constants in that run.
    pub input: Input,
    /// Smaller values with which runs fail in the same way, if some were looked for and found. The report is of such a
    /// run then.
    pub smaller_input: Option<Input>,
    /// The failure.
    pub report: FailureReport,
}

/// How a run was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HowMade {
    /// The pair that the run was asked for: writer and reader. `None` if it was not asked.
    pub asked: Option<(Statement, Statement)>,
    /// Number of steps of another run that it repeated first, if it began at a rare state.
    pub repeated: Option<u64>,
    /// How actors were chosen otherwise.
    pub base: RunBase,
}

/// How a run chooses where nothing else is asked of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RunBase {
    /// As a random walk.
    Random,
    /// By partial order sampling.
    Pos,
    /// By PCT, with a depth that is drawn.
    Pct,
    /// As a saved run.
    Saved,
}

impl HowMade {
    const SAVED: Self = Self { asked: None, repeated: None, base: RunBase::Saved };

    fn of(planned: &PlannedRun) -> Self {
        let asked: Option<ReadPair> = planned.ask.as_ref().map(|(pair, _)| *pair);
        let repeated = planned.beginning.as_ref().map(|beginning| beginning.steps);
        Self { asked, repeated, base: planned.kind.base }
    }
}

/// Performs a learning campaign.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, CampaignPlan, FuzzPlan, NoProgress, fuzz};
/// # use std::sync::atomic::AtomicBool;
/// let text = "var x = 0; thread a { x = 1; x = 2 }; thread b { for i in 0..50 { skip }; assert x != 1 }";
/// let model = raceflip::vm::Model::from_text("window.race", text, &[])?;
/// let stop = AtomicBool::new(false);
/// let context = CampaignContext { stop: &stop, progress: &NoProgress };
/// let report = fuzz(&CampaignPlan::new(&model), &FuzzPlan { runs: 200, keeps_going: false }, context);
/// // A random walk takes far more runs. Here one is asked that the assert reads what `x = 1` has written.
/// assert!(report.runs < 10 && report.failures.len() == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fuzz<P: Program>(plan: &CampaignPlan<P>, fuzz: &FuzzPlan, context: CampaignContext<'_>) -> FuzzReport {
    Campaign::new(plan, *fuzz, None).perform(&[], None, context)
}

/// Performs a learning campaign that goes on from another one, or begins with saved runs.
///
/// # Errors
///
/// Returns a [`FuzzMemoryError`] if the campaign cannot go on from the given memory.
pub fn fuzz_from<P: Program>(
    plan: &CampaignPlan<P>,
    fuzz: &FuzzPlan,
    start: FuzzStart<'_, P>,
    context: CampaignContext<'_>,
) -> Result<FuzzReport, FuzzMemoryError> {
    let FuzzStart { inputs, memory, saved, keeper } = start;
    match memory {
        Some(memory) => Ok(Campaign::resume(plan, *fuzz, inputs, &memory)?.perform(&[], keeper, context)),
        None => Ok(Campaign::new(plan, *fuzz, inputs).perform(&saved, keeper, context)),
    }
}
