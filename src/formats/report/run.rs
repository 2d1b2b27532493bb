//! Replays the run of a token for a report.

use crate::event::{SiteId, SiteKind};
use crate::exec;
use crate::formats::campaign::Access;
use crate::formats::failure_place::{FailurePlace, failing};
use crate::formats::timeline::{
    Gap, Item, Mark, Marks, RowKind, Timeline, TimelineRecorder, TimelineRow, Window, mermaid,
};
use crate::formats::violations::JudgedViolation;
use crate::sched::Replay;
use crate::token::Token;
use crate::vm::Model;
use crate::world::{Limits, signature};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Number of rows at the start and at the end of a long run that are kept. Code scanning shows 1,000 locations of a
// result, and a pair has two runs, each of which occurs in two code flows.
const FIRST: usize = 60;
const LAST: usize = 120;
// Maximum number of rows that describe the end of a run: a deadlock has one for each thread.
const ENDING: usize = 40;

/// A run that was reproduced from its token.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ReplayedRun {
    /// The steps and their consequences, in order. The middle of a long run is left out.
    pub steps: Vec<RunStep>,
    /// The failure, if the run failed.
    pub failing: Option<FailurePlace>,
    /// A Mermaid diagram of the run, if the run is short.
    pub diagram: Option<String>,
}

/// A step of a run, a consequence of one, or a gap in place of steps that are left out.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RunStep {
    /// Number of the step in the run, from 1; 0 for a gap, and for a row that belongs to no step.
    pub number: u64,
    /// The thread or looper that acts, by its pedigree; `None` for the clock and for a row about all threads.
    pub thread: Option<String>,
    /// The event in words.
    pub what: String,
    /// The place of the statement in the model: line and column, from 1.
    pub at: Option<(u32, u32)>,
    /// The mark, if the step belongs to the pair or fails.
    pub mark: Option<Mark>,
    /// The `kinds` of the step, of the words that SARIF 2.1.0 recommends (3.38.8).
    pub kinds: Vec<&'static str>,
    /// Whether this is a gap in place of steps that are left out.
    pub gap: bool,
}

/// Replays a token of this model under its limits, and marks the steps of the statements `marked`. Returns `None` if
/// the token is invalid or belongs to another program, if the run leaves its recording, or if the token asks for higher
/// limits than `allowed`.
///
/// # Examples
///
/// ```
/// use raceflip::{formats::report::replayed, vm::Model, world::Limits};
///
/// let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// assert_eq!(replayed(&model, "rf1-this-is-none", &Limits::default(), &[]), None);
/// # Ok::<(), raceflip::vm::ModelError>(())
/// ```
#[must_use]
pub fn replayed(model: &Model, token: &str, allowed: &Limits, marked: &[&Access]) -> Option<ReplayedRun> {
    let is_marked = |site: SiteId| {
        let s = &model.code.setup.sites[site];
        marked.iter().any(|a| (a.line, a.column, &*a.kind, &a.place) == (s.line, s.column, s.kind.word(), &s.place))
    };
    let sites = model.code.setup.sites.ids().filter(|s| is_marked(*s)).collect();
    replayed_with(model, token, allowed, |_| Some(Marks { sites, ..Marks::default() }))
}

/// Replays the run that shows a violation of atomicity, as [`replayed`] does, with the transaction marked.
#[must_use]
pub fn replayed_violation(model: &Model, of: &JudgedViolation, allowed: &Limits) -> Option<ReplayedRun> {
    replayed_with(model, &of.shown()?.token, allowed, |model| of.marks(model, allowed))
}

fn replayed_with(
    model: &Model,
    token: &str,
    allowed: &Limits,
    marks: impl FnOnce(&Model) -> Option<Marks>,
) -> Option<ReplayedRun> {
    let token: Token = token.parse().ok()?;
    if token.program != model.digest() || token.limits.kept_from(allowed, None).is_some() {
        return None;
    }
    let (window, marks) = (Window::Ends { first: FIRST, last: LAST }, marks(model)?);
    let mut recorder = TimelineRecorder::new(&model.program, model.source.text(), window, marks);
    let mut machine = model.machine(token.limits.within(allowed));
    let mut replay = Replay::new(Arc::new(token.schedule));
    let summary = exec::run(&mut machine, &mut replay, token.seed, &mut recorder, &AtomicBool::new(false));
    let outcome = summary.outcome()?;
    if replay.left_over(summary.steps).is_some() || signature(&model.code.setup, outcome) != token.signature {
        return None;
    }
    let timeline = recorder.finish(&machine.world, &summary);
    let rows = timeline.items.len() + timeline.ending.len();
    let diagram = (rows < mermaid::MOST).then(|| mermaid::diagram(&timeline));
    Some(ReplayedRun { steps: steps(model, &timeline), failing: failing(model, outcome), diagram })
}

fn steps(model: &Model, timeline: &Timeline) -> Vec<RunStep> {
    let items = timeline.items.iter().map(|item| match item {
        Item::Row(row) => step(model, timeline, row),
        Item::Gap(gap) => left_out(gap),
    });
    let ending = timeline.ending.iter().take(ENDING).map(|row| step(model, timeline, row));
    let mut steps: Vec<RunStep> = items.chain(ending).collect();
    if timeline.ending.len() > ENDING {
        let what = format!("... {} more", timeline.ending.len() - ENDING);
        steps.push(RunStep { what, gap: true, ..RunStep::default() });
    }
    steps
}

fn left_out(gap: &Gap) -> RunStep {
    RunStep { what: format!("... {} steps left out", gap.steps), gap: true, ..RunStep::default() }
}

fn step(model: &Model, timeline: &Timeline, row: &TimelineRow) -> RunStep {
    let site = row.site.map(|s| &model.code.setup.sites[s]);
    let ends = if row.ends && row.counts { ", ends" } else { "" };
    let mut kinds = kinds(row.kind, site.map(|s| s.kind));
    if row.mark.is_some() {
        kinds.push("danger");
    }
    RunStep {
        number: if row.counts { row.step } else { 0 },
        thread: row.column.map(|c| timeline.columns[c].name.clone()),
        what: format!("{}{ends}", row.what),
        at: site.map(|s| (s.line, s.column)),
        mark: row.mark,
        kinds,
        gap: false,
    }
}

fn kinds(kind: RowKind, site: Option<SiteKind>) -> Vec<&'static str> {
    use SiteKind::{Acquire, Branch, Down, ReadLock, ReadUnlock, Release, Up, WriteLock, WriteUnlock};
    match (kind, site) {
        (RowKind::Post | RowKind::Fork | RowKind::Fire, _) => vec!["call"],
        (RowKind::Begin, _) => vec!["enter", "function"],
        (RowKind::Step, Some(Acquire | ReadLock | WriteLock | Down)) => vec!["acquire", "lock"],
        (RowKind::Step, Some(Release | ReadUnlock | WriteUnlock | Up)) => vec!["release", "lock"],
        (RowKind::Step, Some(kind)) if kind.access().is_some() || kind.is_atomic() => vec!["memory"],
        (RowKind::Step, Some(Branch)) => vec!["branch"],
        _ => Vec::new(),
    }
}
