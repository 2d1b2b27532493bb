//! From a program to verdicts: detection runs, trials of each pair, in parallel, and what they prove; and whether a model's `expect` lines hold.
//!
//! - [`detect()`] is phase 1: potential pairs over many runs.
//! - [`confirm()`] is both phases: each pair with a [`Verdict`], the failures of each order, and a token for each.
//! - [`test()`] tests one variant of a model: random walks, saved failures and a campaign, until each `expect` line is judged.
//! - [`judge`] and [`judge_pairs`] hold a line against ends, or against a campaign, that somebody has already.
//!
//! A [`Plan`] says all that a result depends on. A [`Context`] is how to stop it and whom to tell how far it is.

mod alike;
mod causes;
mod claims;
mod confirm;
mod continued;
mod continuing;
mod cuts;
mod detection;
mod drive;
mod endless;
mod expect;
mod expect_order;
mod expect_race;
mod failures;
mod flips;
mod implied;
mod instances;
mod orders;
mod parallel;
mod refute;
mod report;
mod resist;
mod saved;
mod searched;
mod sightings;
mod smaller;
mod stream;
mod tally;
mod tested;
mod trial;
mod truth;
mod variant;
mod ways;

pub use crate::detect::Instance;
pub use crate::exec::{EndKind, Ended};
pub use alike::same_failure;
pub use claims::{BELOW, CHANCE};
pub use confirm::{Confirmation, confirm};
pub use continuing::SEEDS;
pub use detection::detect;
pub use expect::{Unmet, judge, named};
pub use expect_race::{Broken, judge_pairs};
pub use orders::{First, Flip, InstancePair};
pub use parallel::in_order;
pub use report::{
    Claim, Endless, Evidence, FailureReport, MadeTrial, MoreOften, Never, OrderReport, PairReport, Phase1, Refutation,
    Risk, Searched, Undecided, Verdict, WayReport,
};
pub use saved::{Saved, SavedEnd};
pub use tested::{Line, LineVerdict, Origin, Shown, TestPlan, Tested};
pub use trial::{CONTINUED, Remade, Run, RunId, SEARCHED, Trial, remake};
pub use truth::Truth;
pub use variant::{RARE, test};
pub use ways::{counts, holds};

use crate::base::mix;
use crate::detect::{Detector, Pair};
use crate::vm::Model;
use crate::world::Limits;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a campaign does: everything that its result depends on, but for `jobs`, which it must not.
///
/// # Examples
///
/// ```
/// use raceflip::{campaign::Plan, vm::Model};
///
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let plan = Plan { seed: 7, trials: 500, jobs: 4, ..Plan::new(&model) };
/// assert_eq!(plan.runs, Plan::RUNS);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Plan {
    /// The model.
    pub model: Arc<Model>,
    /// Limits of each run.
    pub limits: Limits,
    /// The campaign's seed; run `i` has `mix(seed, i)`.
    pub seed: u64,
    /// Detection runs at least: they go on until two thirds of them have brought nothing new, up to twenty times as many.
    pub runs: u32,
    /// Potential pairs that are kept of one location, and order pairs of one lock, queue ...: there may be as many as the square of its statements.
    pub most_pairs: u32,
    /// Which detectors find the pairs.
    pub detectors: Vec<Detector>,
    /// Whether order pairs are driven as well.
    pub orders: bool,
    /// The pairs to drive, whatever detection finds; `None` for those that it finds.
    pub pairs: Option<Vec<Pair>>,
    /// Trials of each pair, for each kind of driving it.
    pub trials: u32,
    /// Whether all states are searched: for pairs that no run of detection shows, and for those that no run confirms.
    pub explore: Explore,
    /// States that are searched at most.
    pub states: u64,
    /// Whether possible livelocks are looked for although no run came to the limit of steps.
    pub livelocks: bool,
    /// Workers.
    pub jobs: usize,
}

/// What a campaign leaves to a search of all states.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Explore {
    /// Pairs that detection has not seen, and pairs that no run confirms, if there are not too many states.
    #[default]
    Auto,
    /// Nothing.
    Off,
    /// All pairs: no trials are made.
    Only,
}

impl Plan {
    /// Detection runs at least, unless told otherwise.
    pub const RUNS: u32 = 50;
    /// Potential pairs of one location, unless told otherwise.
    pub const MOST_PAIRS: u32 = crate::detect::MOST_PAIRS;
    /// Trials unless told otherwise.
    pub const TRIALS: u32 = 60;
    /// States unless told otherwise.
    pub const STATES: u64 = 20_000;

    /// The plan of `raceflip confirm`, with one worker.
    #[must_use]
    pub fn new(model: &Model) -> Self {
        Self {
            model: Arc::new(model.clone()),
            limits: Limits::default(),
            seed: 0,
            runs: Self::RUNS,
            most_pairs: Self::MOST_PAIRS,
            detectors: vec![Detector::Hybrid],
            orders: false,
            pairs: None,
            trials: Self::TRIALS,
            explore: Explore::default(),
            states: Self::STATES,
            livelocks: false,
            jobs: 1,
        }
    }
}

impl Plan {
    /// A larger campaign, of other runs.
    pub(crate) fn larger(&self, times: u32) -> Self {
        Self {
            seed: mix(self.seed, u64::MAX),
            runs: self.runs.saturating_mul(times),
            trials: self.trials.saturating_mul(times),
            ..self.clone()
        }
    }
}

/// Who is told how far a campaign is; it may be told from several threads.
pub trait Progress: Sync {
    /// A phase begins: its name, and the number of runs it will do.
    fn phase(&self, name: &str, runs: u64);
    /// One run is done.
    fn done(&self);
}

/// Tells nobody.
pub struct Silent;

impl Progress for Silent {
    fn phase(&self, _: &str, _: u64) {}
    fn done(&self) {}
}

/// What a campaign needs besides its plan.
#[derive(Clone, Copy)]
pub struct Context<'c> {
    /// Set to stop: no further run is begun, the one at hand is given up, and what is known is returned.
    pub stop: &'c AtomicBool,
    /// Told of each run.
    pub progress: &'c dyn Progress,
}
