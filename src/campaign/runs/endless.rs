//! Bounds the runs of a program that never ends and never rests, such as an app with a permanent timer.
//!
//! Every run of such a program reaches the step limit, and most of its steps repeat what its first ones have shown. A
//! few profiling runs tell how long a run shows something new: a statement, or two statements of different threads one
//! after the other. The campaign's runs are then [`FACTOR`] times as long as the longest time that one of these took.
//! So three quarters of a profiling run have shown nothing new when it reaches the bound. This is the rule by which
//! phase 1 ends as well, for the steps of a run instead of the runs.
//!
//! The bound is a step limit like any other: it is part of the plan, of tokens and of reports. A program of which a
//! profiling run ends before the limit keeps its limit, and so does a plan with another limit than the default.

use super::trial::Worker;
use crate::campaign::CampaignPlan;
use crate::campaign::run::{RunId, RunSource};
use crate::event::{Event, EventKind, LimitKind, Outcome, SiteId, ThreadId};
use crate::exec::Observer;
use crate::sched::{RandomSpec, RoundRobinSpec, StrategySpec};
use crate::world::{Limits, Program, World};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

// Number of random walks among the profiling runs.
const WALKS: u64 = 4;

// Length of a run, as a multiple of the number of steps in which it shows something new.
const FACTOR: u64 = 4;

// Minimum length of a run. It costs milliseconds.
const LEAST: u64 = 1_000;

/// Returns the plan with a lower step limit, if all profiling runs reach the limit and have shown nothing new for a
/// long time. `None` if the plan stays as it is.
pub(in crate::campaign) fn bounded<P: Program>(plan: &CampaignPlan<P>, stop: &AtomicBool) -> Option<CampaignPlan<P>> {
    if plan.limits.steps != Limits::default().steps {
        return None;
    }
    let walks = (1..=WALKS).map(|seed| RunId { strategy: StrategySpec::Random(RandomSpec), seed });
    let first = RunId { strategy: StrategySpec::RoundRobin(RoundRobinSpec), seed: 0 };
    let mut worker = Worker::new(plan);
    let mut news = 0;
    for run in std::iter::once(first).chain(walks) {
        let mut seen = News::default();
        let trial = worker.perform(&RunSource::Drawn(run), &mut seen, stop);
        if !matches!(trial.summary.outcome(), Some(Outcome::Limit(LimitKind::Steps, _))) {
            return None;
        }
        news = news.max(seen.last);
    }
    let steps = news.saturating_mul(FACTOR).max(LEAST);
    let limits = Limits { steps: steps.min(plan.limits.steps), ..plan.limits };
    (steps < plan.limits.steps).then(|| CampaignPlan { limits, ..plan.clone() })
}

// What a run has shown so far.
#[derive(Default)]
struct News {
    // Number of steps until the last one that showed something new.
    last: u64,
    // Statements of two threads, one after the other; a statement with itself stands for the statement alone.
    seen: BTreeSet<(SiteId, SiteId)>,
    before: Option<(ThreadId, SiteId)>,
}

impl Observer for News {
    fn event(&mut self, _: &World, event: &Event) {
        let (EventKind::Performed { .. }, Some(thread), Some(site)) = (&event.what, event.thread, event.site) else {
            return;
        };
        let before = self.before.replace((thread, site)).filter(|(other, _)| *other != thread);
        let mut is_new = self.seen.insert((site, site));
        if let Some((_, other)) = before {
            is_new |= self.seen.insert((other, site));
        }
        if is_new {
            self.last = event.step + 1;
        }
    }
}
