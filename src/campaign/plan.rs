//! Defines the plan of a campaign, and its environment.

use crate::base::mix;
use crate::detect::{DetectorId, Pair};
use crate::event::SiteId;
use crate::sched::{SiteSpec, site_text};
use crate::statics::Statics;
use crate::vm::Model;
use crate::world::{Limits, Program, Setup};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Plan of a campaign: everything that its result depends on. The one exception is `jobs`, which does not change the
/// result.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignPlan, TrialPlan};
/// use raceflip::vm::Model;
///
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let trials = TrialPlan { count: 500, ..TrialPlan::default() };
/// let plan = CampaignPlan { seed: 7, trials, jobs: 4, ..CampaignPlan::new(&model) };
/// assert_eq!(plan.detection.runs, CampaignPlan::RUNS);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CampaignPlan<P = Model> {
    /// Program under test.
    pub program: Arc<P>,
    /// Limits of each run.
    pub limits: Limits,
    /// Seed of the campaign. Run `i` has the seed `mix(seed, i)`.
    pub seed: u64,
    /// Detection of potential pairs.
    pub detection: DetectionPlan,
    /// Trials of pairs.
    pub trials: TrialPlan,
    /// Searches of all states.
    pub search: StatePlan,
    /// What is in one order in every run, by static analysis: pairs that it orders are false, and are not driven.
    /// `None` to leave it out.
    pub ordered: Option<Arc<Statics>>,
    /// Number of workers.
    pub jobs: usize,
}

/// Plan of the detection of potential pairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetectionPlan {
    /// Minimum number of detection runs. Detection continues until the last two thirds of its runs have shown nothing
    /// new, up to twenty times this number.
    pub runs: u32,
    /// Maximum number of potential pairs kept for one location, and of order pairs for one lock, queue and so on.
    /// Without it their number may be the square of the number of statements.
    pub most_pairs: u32,
    /// Detectors that find the pairs.
    pub detectors: Vec<DetectorId>,
}

/// Plan of the trials: which pairs they drive, and how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrialPlan {
    /// Number of trials of each pair, for each kind of scheduler that drives it.
    pub count: u32,
    /// Whether trials also drive order pairs.
    pub orders: bool,
    /// Whether both orders of a confirmed pair are continued from the same states and compared. Without the comparison,
    /// no pair is harmful.
    pub compare: bool,
    /// Pairs to drive, whether or not detection finds them; `None` for the pairs that detection finds.
    pub pairs: Option<Vec<Pair>>,
}

/// Plan of the searches of all states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatePlan {
    /// Whether the campaign searches all states: for pairs that no detection run shows, and for pairs that no run
    /// confirms.
    pub explore: Explore,
    /// Maximum number of states that a search visits.
    pub states: u64,
    /// Whether the campaign looks for possible livelocks even if no run reached the step limit.
    pub livelocks: bool,
}

/// Part of a campaign that is left to a search of all states.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Explore {
    /// Pairs that detection has not seen and pairs that no run confirms, if the states are few enough.
    #[default]
    Auto,
    /// Nothing: no search is made.
    Off,
    /// All pairs: no trials are made. Nothing is decided about a program whose states cannot be searched.
    Only,
}

impl<P> Clone for CampaignPlan<P> {
    fn clone(&self) -> Self {
        let (program, detection, trials) = (self.program.clone(), self.detection.clone(), self.trials.clone());
        let ordered = self.ordered.clone();
        Self { program, detection, trials, ordered, ..*self }
    }
}

impl CampaignPlan {
    /// Default of [`DetectionPlan::runs`]: the minimum number of detection runs.
    pub const RUNS: u32 = 50;
    /// Default of [`DetectionPlan::most_pairs`]: potential pairs of one location.
    pub const MOST_PAIRS: u32 = crate::detect::MOST_PAIRS;
    /// Default of [`TrialPlan::count`].
    pub const TRIALS: u32 = 60;
    /// Default of [`StatePlan::states`].
    pub const STATES: u64 = 30_000;
}

impl Default for DetectionPlan {
    fn default() -> Self {
        let (runs, most_pairs) = (CampaignPlan::RUNS, CampaignPlan::MOST_PAIRS);
        Self { runs, most_pairs, detectors: vec![DetectorId::HYBRID] }
    }
}

impl Default for TrialPlan {
    fn default() -> Self {
        Self { count: CampaignPlan::TRIALS, orders: false, compare: true, pairs: None }
    }
}

impl Default for StatePlan {
    fn default() -> Self {
        Self { explore: Explore::default(), states: CampaignPlan::STATES, livelocks: false }
    }
}

impl<P> CampaignPlan<P> {
    /// Returns the plan of `raceflip confirm` with its defaults and one worker.
    #[must_use]
    pub fn new(program: &P) -> Self
    where
        P: Clone,
    {
        Self::of(Arc::new(program.clone()))
    }

    /// Like [`new`](Self::new), for a program that cannot be cloned.
    #[must_use]
    pub fn of(program: Arc<P>) -> Self {
        Self {
            program,
            limits: Limits::default(),
            seed: 0,
            detection: DetectionPlan::default(),
            trials: TrialPlan::default(),
            search: StatePlan::default(),
            ordered: None,
            jobs: 1,
        }
    }
}

impl<P: Program> CampaignPlan<P> {
    /// Returns the declarations of the program.
    pub(super) fn setup(&self) -> &Setup {
        self.program.setup()
    }

    /// Returns a site by its own name.
    ///
    /// # Panics
    ///
    /// Panics if the program does not have the site.
    #[must_use]
    pub fn site(&self, site: SiteId) -> SiteSpec {
        site_text(&self.setup().sites, site).parse().unwrap_or_else(|e| panic!("a site's own name: {e}"))
    }

    /// Returns the plan of a campaign that is `times` as large and uses other seeds.
    pub(crate) fn larger(&self, times: u32) -> Self {
        let mut larger = Self { seed: mix(self.seed, u64::MAX), ..self.clone() };
        larger.detection.runs = self.detection.runs.saturating_mul(times);
        larger.trials.count = self.trials.count.saturating_mul(times);
        larger
    }
}

/// Receiver of progress reports. A campaign may call it from several threads.
pub trait CampaignProgress: Sync {
    /// Reports that a phase begins: its name, and the number of runs that it will perform.
    fn phase(&self, name: &str, runs: u64);
    /// Reports that one run is finished.
    fn done(&self);
    /// Reports what a learning campaign knows after a round.
    fn learned(&self, _: &FuzzProgress<'_>) {}
}

/// What a learning campaign knows so far.
#[derive(Clone, Copy, Debug)]
pub struct FuzzProgress<'c> {
    /// Number of possible pairs, and of those that some run has shown.
    pub pairs: (u64, u64),
    /// Number of states of the coarsest view.
    pub states: u64,
    /// Number of runs that together show all pairs.
    pub corpus: u64,
    /// The signatures of the failures, each with its number of runs.
    pub failures: &'c [(&'c str, u32)],
}

/// Ignores all progress reports.
pub struct NoProgress;

impl CampaignProgress for NoProgress {
    fn phase(&self, _: &str, _: u64) {}
    fn done(&self) {}
}

/// Environment of a campaign: its stop flag and its receiver of progress reports. It is not part of the
/// [`CampaignPlan`].
#[derive(Clone, Copy)]
pub struct CampaignContext<'c> {
    /// Stop flag. Once it is set, no further run begins, the current runs are abandoned, and the campaign returns what
    /// it knows.
    pub stop: &'c AtomicBool,
    /// Receiver of progress reports.
    pub progress: &'c dyn CampaignProgress,
}
