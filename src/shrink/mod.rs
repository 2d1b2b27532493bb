//! Shrinks schedules: finds a run that ends in the same way with as few preemptions and reorderings as possible.
//!
//! A run is represented by its list of [`Deviation`]s from a default scheduler ([`Steady`](crate::sched::Steady)) that
//! lets each thread run until it blocks or ends. The fewer deviations a run has, the fewer are the points at which its
//! order matters. Shrinking has two parts:
//!
//! - Passes over runs near the given one, as in delta debugging, until no pass finds a better run (`passes`).
//! - A search of all runs with few deviations, as far as the [`Effort`] permits (`search`).
//!
//! The returned run has been performed, and its token replays it.
//!
//! The idea of deviations from a fixed scheduler comes from preemption bounding (Musuvathi and Qadeer, PLDI 2007) and
//! delay bounding (Emmi et al., POPL 2011).

mod attempts;
mod deviation;
mod followers;
mod passes;
mod search;
mod words;

pub use deviation::{Departures, Deviation};
pub use followers::DeviationFollower;
pub use words::DescribedDeviation;

use crate::event::Outcome;
use crate::exec::{LoopEnd, run};
use crate::sched::{Divergence, Replay, ScheduleRecorder};
use crate::token::Token;
use crate::world::{Limits, Program, World, signature};
use attempts::{Attempts, BestRun};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use words::DepartureRecorder;

/// The property that a shrunk run must keep: a predicate on the final state of the world and the outcome of the run.
pub type ShrinkGoal<'g> = dyn Fn(&World, &Outcome) -> bool + 'g;

/// Budget for shrinking one run. Shrinking stops at the bound that is reached first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Maximum number of runs that are tried.
    pub runs: u64,
    /// Maximum number of steps of all tried runs together.
    pub steps: u64,
}

impl Effort {
    /// Bounds of a command that only shrinks: seconds at most.
    pub const FULL: Self = Self { runs: 20_000, steps: 10_000_000 };
    /// Bounds for shrinking besides other work: a fraction of a second.
    pub const QUICK: Self = Self { runs: 1_000, steps: 500_000 };
}

/// Size of a run. Sizes compare by deviations first, then by steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size {
    /// Number of deviations from the default scheduler.
    pub deviations: u64,
    /// Number of steps.
    pub steps: u64,
}

/// The smallest run that was found, and the work that it took.
#[derive(Clone, Debug)]
pub struct ShrinkResult {
    /// The token of the smallest run that was found, or the given token if no run is smaller.
    pub token: Token,
    /// The outcome of the run of `token`.
    pub outcome: Outcome,
    /// The deviations of the run of `token`, in words. Empty if an interruption prevented their recording.
    pub departures: Vec<DescribedDeviation>,
    /// Size of the given run.
    pub before: Size,
    /// Size of the best run, never larger than `before`.
    pub after: Size,
    /// Number of runs that were tried.
    pub runs: u64,
    /// Whether all runs with fewer deviations and at most [`longest`] steps were tried, so that none of them reaches
    /// the goal.
    pub fewest: bool,
    /// Whether the shrinking was interrupted, so that a smaller run might still have been found.
    pub interrupted: bool,
}

impl ShrinkResult {
    /// Returns whether a run smaller than the given one was found.
    #[must_use]
    pub fn is_smaller(&self) -> bool {
        self.after < self.before
    }
}

/// Why a run cannot be shrunk.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ShrinkError {
    /// The token belongs to another program, or to an older text of this one.
    #[error(transparent)]
    Diverged(#[from] Box<Divergence>),
    /// All recorded choices were possible, but the run does not end as the token says.
    #[error("expected {expected}, found {found}")]
    EndsOtherwise {
        /// The signature in the token.
        expected: String,
        /// The signature of the replayed run.
        found: String,
    },
    /// The shrinking was interrupted before the replay of the given run ended.
    #[error("interrupted")]
    Interrupted,
}

/// Returns the most steps that a tried run may take if the given run takes `steps`. The bound is needed because a
/// scheduler without preemptions can busy-wait forever.
#[must_use]
pub fn longest(steps: u64) -> u64 {
    steps.saturating_mul(2).saturating_add(100)
}

/// Returns a run with the signature of the token and fewer deviations, or as many deviations and fewer steps, if one is
/// found. The outcome may be any: the shortest run that ends `ok` is found as well.
///
/// The result depends only on the token and the effort, unless `stop` interrupts the shrinking: then the best run so
/// far is returned.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::run, sched::{RandomWalk, ScheduleRecorder}, vm::Model, world::{Limits, signature}};
/// use raceflip::{shrink::{Effort, shrink}, token::Token};
/// # use std::sync::atomic::AtomicBool;
/// # let stop = AtomicBool::new(false);
/// let text = "var x = 0; thread a { x += 1; x += 1; x += 1 }; thread b { x += 1; assert x == 4, \"lost\" }";
/// let model = Model::from_text("add.race", text, &[])?;
/// let mut machine = model.machine(Limits::default());
/// let mut recorder = ScheduleRecorder::new();
/// let summary = run(&mut machine, &mut RandomWalk::new(), 3, &mut recorder, &stop);
/// let token = Token {
///     program: model.digest(),
///     defines: vec![],
///     limits: Limits::default(),
///     strategy: "random".to_owned(),
///     seed: 3,
///     signature: signature(&model.code.setup, summary.outcome().expect("it ends")),
///     schedule: recorder.schedule(&machine.world),
/// };
/// assert!(token.signature.contains("lost"));
/// let shrunk = shrink(&model, &token, Effort::QUICK, &stop)?;
/// // Thread b goes first.
/// assert!(shrunk.after.deviations == 1 && shrunk.fewest);
/// assert_eq!(shrunk.token.signature, token.signature);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shrink<P: Program>(
    program: &P,
    token: &Token,
    effort: Effort,
    stop: &AtomicBool,
) -> Result<ShrinkResult, ShrinkError> {
    let same = |_: &World, outcome: &Outcome| signature(program.setup(), outcome) == token.signature;
    shrink_to(program, token, &same, effort, stop, &|_| {})
}

/// Like [`shrink`] with the given goal, which the run of the token must reach. Calls `report_progress` after each tried
/// run with the number of runs so far.
pub fn shrink_to<P: Program>(
    program: &P,
    token: &Token,
    goal: &ShrinkGoal<'_>,
    effort: Effort,
    stop: &AtomicBool,
    report_progress: &dyn Fn(u64),
) -> Result<ShrinkResult, ShrinkError> {
    let (given, outcome) = replayed(program, token, goal, stop)?;
    // If the limit of steps is the goal, a run has to reach it, and must not be cut off earlier.
    let most = if matches!(outcome, Outcome::Limit(..)) { token.limits.steps } else { longest(given.steps) };
    let limits = Limits { steps: token.limits.steps.min(most), ..token.limits };
    let mut machine = program.machine(limits);
    let size = |run: &BestRun| Size { deviations: run.deviations.len() as u64, steps: run.steps };
    let mut attempts = Attempts::new(&mut machine, goal, effort, stop, report_progress, given.clone());
    attempts.passes();
    let fewest = attempts.search();
    if !fewest {
        // The search may have found a better run: runs near that one are still untried.
        attempts.passes();
    }
    let runs = attempts.runs;
    let (before, after) = (size(&given), size(&attempts.best));
    // A smaller run is recorded without heeding `stop`: it is short, and half of it would be no result.
    let (best, wait) = if after < before { (attempts.best, &AtomicBool::new(false)) } else { (given, stop) };
    let (token, departures, ended) = recorded(program, token, best.deviations, wait);
    Ok(ShrinkResult {
        token,
        outcome: ended.unwrap_or(outcome),
        departures,
        before,
        after,
        runs,
        fewest,
        interrupted: stop.load(Ordering::Relaxed),
    })
}

// Replays the token strictly: its choices must all be possible, and its run must reach the goal.
fn replayed<P: Program>(
    program: &P,
    token: &Token,
    goal: &ShrinkGoal<'_>,
    stop: &AtomicBool,
) -> Result<(BestRun, Outcome), ShrinkError> {
    let mut machine = program.machine(token.limits);
    let mut replay = Replay::new(Arc::new(token.schedule.clone()));
    let mut departures = Departures::new();
    let summary = run(&mut machine, &mut replay, token.seed, &mut departures, stop);
    let outcome = match summary.end {
        LoopEnd::Interrupted => return Err(ShrinkError::Interrupted),
        LoopEnd::Diverged(divergence) => return Err(divergence.into()),
        LoopEnd::Outcome(outcome) => outcome,
    };
    if let Some(left) = replay.left_over(summary.steps) {
        return Err(Box::new(left).into());
    }
    if !goal(&machine.world, &outcome) {
        let found = signature(program.setup(), &outcome);
        return Err(ShrinkError::EndsOtherwise { expected: token.signature.clone(), found });
    }
    Ok((BestRun::new(&departures, summary.steps), outcome))
}

// Performs the run with these deviations under the limits of the token `from`. Returns its token, its deviations in
// words, and its outcome, or `from`, no deviations and no outcome if it is interrupted.
fn recorded<P: Program>(
    program: &P,
    from: &Token,
    deviations: Vec<Deviation>,
    stop: &AtomicBool,
) -> (Token, Vec<DescribedDeviation>, Option<Outcome>) {
    let mut machine = program.machine(from.limits);
    let (mut recorder, mut worded) = (ScheduleRecorder::new(), DepartureRecorder::default());
    let summary =
        run(&mut machine, &mut DeviationFollower::new(deviations), 0, &mut (&mut recorder, &mut worded), stop);
    let Some(outcome) = summary.outcome() else { return (from.clone(), Vec::new(), None) };
    let signature = signature(program.setup(), outcome);
    let schedule = recorder.schedule(&machine.world);
    let token = Token { program: program.digest(), signature, schedule, ..from.clone() };
    (token, worded.departures, Some(outcome.clone()))
}
