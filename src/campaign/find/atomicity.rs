//! Violations of atomicity that detection runs show.

use crate::campaign::run::RunSource;
use crate::campaign::runs::endless::bounded;
use crate::campaign::runs::parallel;
use crate::campaign::runs::stream::{Stream, seed_of};
use crate::campaign::runs::trial::Worker;
use crate::campaign::{CampaignContext, CampaignPlan};
use crate::detect::TraceRecorder;
use crate::detect::atomicity::{AtomicityOptions, OfRuns, SeenFinding, Specification, analyze};
use crate::event::Event;
use crate::exec::{LoopEnd, Observer};
use crate::token::Token;
use crate::world::{Program, World};

/// What one specification shows in detection runs.
#[derive(Debug)]
pub struct ShownViolations {
    /// The specification, and the numbers of transactions over all runs.
    pub seen: OfRuns,
    /// The findings, most suspicious first, each with a token of the first run that shows it.
    pub findings: Vec<(SeenFinding, Token)>,
}

/// The violations of atomicity that detection runs show.
#[derive(Debug)]
pub struct DetectedViolations {
    /// Number of runs.
    pub runs: u32,
    /// The result of each specification.
    pub specifications: Vec<ShownViolations>,
    /// Whether all runs were performed. False after an interruption.
    pub complete: bool,
}

struct Recorder(TraceRecorder);

impl Observer for Recorder {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
    }
}

/// Performs the detection runs of a plan, and returns which declared transactions they show not to be in one piece.
#[must_use]
pub fn detect_violations<P: Program>(
    plan: &CampaignPlan<P>,
    specifications: &[Specification],
    options: AtomicityOptions,
    context: CampaignContext<'_>,
) -> DetectedViolations {
    let shorter = bounded(plan, context.stop);
    let plan = shorter.as_ref().unwrap_or(plan);
    let stream = Stream::new(plan, context.stop);
    context.progress.phase("detecting", u64::from(plan.detection.runs));
    let mut all: Vec<OfRuns> = specifications.iter().map(|of| OfRuns::new(*of)).collect();
    let mut runs: Vec<RunSource> = Vec::new();
    parallel::in_order(
        plan.jobs,
        plan.detection.runs as usize,
        context.stop,
        || Worker::new(plan),
        |worker, i| {
            let mut seen = Recorder(TraceRecorder::new());
            let trial = worker.perform(&stream.run(seed_of(plan, i as u64)), &mut seen, context.stop);
            let trace = seen.0.finish();
            let found: Option<Vec<_>> =
                specifications.iter().map(|of| analyze(&trace, *of, options, context.stop)).collect();
            context.progress.done();
            (trial.run, found.filter(|_| trial.summary.end != LoopEnd::Interrupted))
        },
        |_, (run, found)| {
            let Some(found) = found else { return };
            all.iter_mut().zip(found).for_each(|(all, found)| all.add(runs.len(), found));
            runs.push(run);
        },
    );
    let mut worker = Worker::new(plan);
    let specifications = all.into_iter().map(|mut seen| {
        let findings = seen.finish();
        let findings = findings.into_iter().map(|finding| {
            let token = worker.token(&runs[finding.first]);
            (finding, token)
        });
        let findings = findings.collect();
        ShownViolations { seen, findings }
    });
    let specifications = specifications.collect();
    let complete = runs.len() == plan.detection.runs as usize;
    DetectedViolations { runs: runs.len() as u32, specifications, complete }
}
