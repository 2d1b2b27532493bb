//! Options of a campaign, which `detect` and `confirm` share, and numbers of runs and workers.

use super::{DefineArgs, JobArgs, LimitArgs, SeedArgs, head};
use crate::campaign;
use crate::cli::io::load::Model;
use crate::detect::{DetectorId, Pair};
use crate::statics::{StaticPair, Statics, StaticsOptions, analyze};
use clap::ValueEnum;
use clap::builder::{PossibleValue, RangedI64ValueParser};
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

/// Returns the parser for numbers of runs. The range bounds the memory, since the findings of all runs of a pair are
/// kept until it is judged. A longer campaign is another one, with another seed.
pub(in crate::cli) fn number_of_runs() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=100_000)
}

/// Options of a campaign.
#[derive(clap::Args, Debug)]
pub(in crate::cli) struct CampaignArgs {
    #[command(flatten)]
    seed: SeedArgs,
    /// Minimum number of detection runs; they continue until two thirds of them found nothing new
    #[arg(long, value_name = "N", default_value_t = campaign::CampaignPlan::RUNS, value_parser = number_of_runs(), help_heading = head::EFFORT)]
    runs: u32,
    /// Maximum number of potential pairs of one location; the result says if some are left out
    #[arg(long, value_name = "N", default_value_t = campaign::CampaignPlan::MOST_PAIRS, value_parser = clap::value_parser!(u32).range(1..), help_heading = head::EFFORT)]
    most_pairs: u32,
    /// Detector of potential pairs (`all`: the union of all that observe runs); the others report fewer pairs
    /// than `hybrid`, more of them real
    #[arg(long, value_enum, default_value_t, value_name = "DETECTOR", help_heading = head::EFFORT)]
    pub(in crate::cli) detector: DetectorArg,
    #[command(flatten)]
    pub(in crate::cli) jobs: JobArgs,
    #[command(flatten)]
    pub(in crate::cli) defines: DefineArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl CampaignArgs {
    /// Returns the plan of the campaign for this model.
    pub(in crate::cli) fn plan(&self, model: &Model, trials: campaign::TrialPlan) -> campaign::CampaignPlan {
        campaign::CampaignPlan {
            limits: self.limits.resolve(),
            seed: self.seed.seed,
            jobs: workers(self.jobs.jobs),
            detection: campaign::DetectionPlan {
                runs: self.runs,
                most_pairs: self.most_pairs,
                detectors: self.detector.resolve(),
            },
            trials,
            ..campaign::CampaignPlan::new(model)
        }
    }

    /// Returns the plan with what static analysis says of the model: the pairs, if it is the detector, and with
    /// `refutes` the orders that refute pairs.
    pub(in crate::cli) fn analyzed(
        &self,
        model: &Model,
        mut plan: campaign::CampaignPlan,
        refutes: bool,
    ) -> campaign::CampaignPlan {
        let detects = self.detector == DetectorArg::Static && plan.trials.pairs.is_none();
        if detects || refutes {
            let options = StaticsOptions { reasons: refutes, ..StaticsOptions::default() };
            let statics = analyze(&model.program, &options);
            if detects {
                plan.trials.pairs = Some(static_pairs(&statics));
            }
            plan.ordered = refutes.then(|| Arc::new(statics));
        }
        plan
    }
}

/// Returns the pairs that static analysis reports, without those whose order is settled.
fn static_pairs(statics: &Statics) -> Vec<Pair> {
    let open = |pair: &StaticPair| pair.is_open() && pair.settled.is_none();
    statics.pairs().into_iter().filter(open).map(|pair| pair.pair).collect()
}

/// Detectors of a campaign, the value of `--detector`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cli) enum DetectorArg {
    /// A detector of potential pairs.
    Pairs(DetectorId),
    /// Static executes-before: the pairs that nothing orders, whether or not a run shows them.
    Static,
    /// The analysis of atomicity, which finds no pairs.
    Atomicity,
    /// All that observe runs.
    All,
}

impl Default for DetectorArg {
    fn default() -> Self {
        Self::Pairs(DetectorId::HYBRID)
    }
}

impl DetectorArg {
    /// Returns the detectors of potential pairs.
    pub(in crate::cli) fn resolve(self) -> Vec<DetectorId> {
        match self {
            Self::Pairs(by) => vec![by],
            // The pairs are given; what runs show of them is reported as well.
            Self::Static => vec![DetectorId::HYBRID],
            Self::Atomicity => Vec::new(),
            Self::All => DetectorId::of_runs().collect(),
        }
    }
}

impl ValueEnum for DetectorArg {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<DetectorArg>> = LazyLock::new(|| {
            DetectorId::of_runs()
                .map(DetectorArg::Pairs)
                .chain([DetectorArg::Static, DetectorArg::Atomicity, DetectorArg::All])
                .collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Pairs(by) => PossibleValue::new(by.name()).help(by.row()?.help?),
            Self::Static => PossibleValue::new("static").help("Pairs that nothing orders, found without running"),
            Self::Atomicity => {
                PossibleValue::new("atomicity").help("Parts that are meant to happen in one piece and do not")
            }
            Self::All => PossibleValue::new("all").help("All that observe runs, and atomicity"),
        })
    }
}

/// Returns the number of workers: as many as were asked for, or one for each core.
pub(in crate::cli) fn workers(jobs: Option<u16>) -> usize {
    jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from)
}
