//! Violations of atomicity that detection runs show.

use crate::campaign::run::RunSource;
use crate::campaign::runs::endless::bounded;
use crate::campaign::runs::parallel;
use crate::campaign::runs::stream::{Stream, seed_of};
use crate::campaign::runs::trial::{Trial, Worker};
use crate::campaign::{CampaignContext, CampaignPlan};
use crate::detect::TraceRecorder;
use crate::detect::atomicity::{Atomicity, AtomicityOptions, OfRuns, SeenFinding, Specification, analyze};
use crate::event::Event;
use crate::exec::{LoopEnd, Observer};
use crate::token::Token;
use crate::trace::Trace;
use crate::world::{Program, World};
use std::sync::atomic::AtomicBool;

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

/// Records the trace of a run.
#[derive(Default)]
struct Recorder(TraceRecorder);

impl Observer for Recorder {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
    }
}

/// A run with its trace, and what each specification shows in it.
pub(in crate::campaign) struct RecordedRun {
    pub(in crate::campaign) trial: Trial,
    pub(in crate::campaign) trace: Trace,
    pub(in crate::campaign) found: Vec<Atomicity>,
}

/// Performs a run, and analyzes its trace under each of these specifications. `None` if it was interrupted.
pub(in crate::campaign) fn record<P: Program>(
    worker: &mut Worker<'_, P>,
    run: &RunSource,
    (specifications, options): (&[Specification], AtomicityOptions),
    stop: &AtomicBool,
) -> Option<RecordedRun> {
    let mut seen = Recorder::default();
    let trial = worker.perform(run, &mut seen, stop);
    if trial.summary.end == LoopEnd::Interrupted {
        return None;
    }
    let trace = seen.0.finish();
    let found = specifications.iter().map(|of| analyze(&trace, *of, options, stop)).collect::<Option<_>>()?;
    Some(RecordedRun { trial, trace, found })
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
            let run = stream.run(seed_of(plan, i as u64));
            let recorded = record(worker, &run, (specifications, options), context.stop);
            context.progress.done();
            recorded.map(|recorded| (recorded.trial.run, recorded.found))
        },
        |_, recorded| {
            let Some((run, found)) = recorded else { return };
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
