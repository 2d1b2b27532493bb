//! Shrinking of schedules: a run that ends in the same way, with as few preemptions and reorderings as can be found.
//!
//! A run is the list of its [`Deviation`]s from a default scheduler ([`Steady`](crate::sched::Steady)) that lets each thread run until it cannot go on: the fewer, the fewer places
//! there are at which the order matters. [`shrink`] tries runs near the one it was given, as delta debugging does (`passes`), until nothing gets better; then all runs
//! with few deviations, as far as its [`Effort`] goes (`search`). What it returns has been run, and replays.
//!
//! The idea of deviations from a scheduler that is fixed is that of preemption bounding (Musuvathi and Qadeer, PLDI 2007) and delay bounding (Emmi et al., POPL 2011).

mod attempts;
mod course;
mod deviation;
mod passes;
mod search;
mod words;

pub use course::Course;
pub use deviation::{Departures, Deviation};
pub use words::Departure;

use crate::event::Outcome;
use crate::exec::{End, Unobserved, run};
use crate::sched::{Divergence, Recorder, Replay};
use crate::token::Token;
use crate::vm::{Code, Vm};
use crate::world::{Limits, Machine, World, signature};
use attempts::{Attempts, Best};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use words::Worded;

/// What must stay of a run: true of a world in its last state, and how it ended.
pub type Goal<'g> = dyn Fn(&World, &Outcome) -> bool + 'g;

/// How much is tried: the first bound that is reached ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Runs.
    pub runs: u64,
    /// Steps of all runs.
    pub steps: u64,
}

impl Effort {
    /// Where shrinking is the work: seconds at most.
    pub const FULL: Self = Self { runs: 20_000, steps: 10_000_000 };
    /// Where it goes along with other work: a fraction of a second.
    pub const QUICK: Self = Self { runs: 1_000, steps: 500_000 };
}

/// How long a run is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size {
    /// Deviations from the default scheduler.
    pub deviations: u64,
    /// Steps.
    pub steps: u64,
}

/// What came of shrinking.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The run: the one that was given, if none is better.
    pub token: Token,
    /// How it ends.
    pub outcome: Outcome,
    /// Its deviations, in words.
    pub departures: Vec<Departure>,
    /// The size of the run that was given.
    pub before: Size,
    /// The size of this one, never larger.
    pub after: Size,
    /// Runs that were tried.
    pub runs: u64,
    /// Whether all runs with fewer deviations were tried, of at most [`longest`] steps: none of these ends so.
    pub fewest: bool,
    /// Whether it was interrupted: more might have been found.
    pub interrupted: bool,
}

impl Shrunk {
    /// Whether the run is another one than the one that was given.
    #[must_use]
    pub fn is_smaller(&self) -> bool {
        self.after < self.before
    }
}

/// Why a run cannot be shrunk.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ShrinkError {
    /// The token is of another program, or of one that was edited.
    #[error(transparent)]
    Diverged(#[from] Box<Divergence>),
    /// All its choices could be made, and the run ended in another way than the token says.
    #[error("expected {expected}, found {found}")]
    EndsOtherwise {
        /// The signature of the token.
        expected: String,
        /// That of the run.
        found: String,
    },
    /// It was interrupted before the run was at its end.
    #[error("interrupted")]
    Interrupted,
}

/// The most steps of a run that is tried, for a run of so many: a scheduler that never preempts can wait busily for ever.
#[must_use]
pub fn longest(steps: u64) -> u64 {
    steps.saturating_mul(2).saturating_add(100)
}

/// A run with the signature of the token's, and fewer deviations, or fewer steps with as many, if there is one that is found. The outcome may be any:
/// the shortest way to `ok` is found as well.
///
/// The same token and effort give the same result. `stop` interrupts it: what is best by then is returned.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::{RandomWalk, Recorder}, vm::Model, world::{Limits, signature}};
/// use raceflip::{shrink::{Effort, shrink}, token::Token};
/// # use std::sync::atomic::AtomicBool;
/// # let stop = AtomicBool::new(false);
/// let text = "var x = 0; thread a { x += 1; x += 1; x += 1 }; thread b { x += 1; assert x == 4, \"lost\" }";
/// let model = Model::from_text("add.race", text, &[])?;
/// let mut machine = model.machine(Limits::default());
/// let mut recorder = Recorder::new(RandomWalk::new());
/// let summary = run(&mut machine, &mut recorder, 3, &mut Unobserved, &stop);
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
/// let shrunk = shrink(&model.code, &token, Effort::QUICK, &stop)?;
/// // Thread b goes first.
/// assert!(shrunk.after.deviations == 1 && shrunk.fewest);
/// assert_eq!(shrunk.token.signature, token.signature);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shrink(code: &Arc<Code>, token: &Token, effort: Effort, stop: &AtomicBool) -> Result<Shrunk, ShrinkError> {
    let same = |_: &World, outcome: &Outcome| signature(&code.setup, outcome) == token.signature;
    shrink_to(code, token, &same, effort, stop, &|_| {})
}

/// [`shrink`] with a goal of one's own, which the run of the token must reach; and with somebody who is told how many runs were tried, after each.
pub fn shrink_to(
    code: &Arc<Code>,
    token: &Token,
    goal: &Goal<'_>,
    effort: Effort,
    stop: &AtomicBool,
    told: &dyn Fn(u64),
) -> Result<Shrunk, ShrinkError> {
    let (given, outcome) = replayed(code, token, goal, stop)?;
    // Where the limit is the goal, a run has to come to it.
    let most = if matches!(outcome, Outcome::Limit(..)) { token.limits.steps } else { longest(given.steps) };
    let limits = Limits { steps: token.limits.steps.min(most), ..token.limits };
    let mut machine = Machine::new(Vm::new(code.clone()), limits);
    let size = |run: &Best| Size { deviations: run.deviations.len() as u64, steps: run.steps };
    let mut attempts = Attempts::new(&mut machine, goal, effort, stop, told, given.clone());
    attempts.passes();
    let fewest = attempts.search();
    if !fewest {
        // What the search has found may be better still nearby.
        attempts.passes();
    }
    let runs = attempts.runs;
    let (before, after) = (size(&given), size(&attempts.best));
    // A run that is shorter is short: nobody waits for its end.
    let (best, wait) = if after < before { (attempts.best, &AtomicBool::new(false)) } else { (given, stop) };
    let (token, departures, ended) = recorded(code, token, best.deviations, wait);
    Ok(Shrunk {
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

// The run of the token, strictly.
fn replayed(
    code: &Arc<Code>,
    token: &Token,
    goal: &Goal<'_>,
    stop: &AtomicBool,
) -> Result<(Best, Outcome), ShrinkError> {
    let mut machine = Machine::new(Vm::new(code.clone()), token.limits);
    let mut departures = Departures::new(Replay::new(Arc::new(token.schedule.clone())));
    let summary = run(&mut machine, &mut departures, token.seed, &mut Unobserved, stop);
    let outcome = match summary.end {
        End::Interrupted => return Err(ShrinkError::Interrupted),
        End::Diverged(divergence) => return Err(divergence.into()),
        End::Outcome(outcome) => outcome,
    };
    if let Some(left) = departures.inner().left_over(summary.steps) {
        return Err(Box::new(left).into());
    }
    if !goal(&machine.world, &outcome) {
        let found = signature(&code.setup, &outcome);
        return Err(ShrinkError::EndsOtherwise { expected: token.signature.clone(), found });
    }
    Ok((Best::new(&departures, summary.steps), outcome))
}

// The run with these deviations under the limits of the token that it comes from: its token, and the deviations in words.
fn recorded(
    code: &Arc<Code>,
    from: &Token,
    deviations: Vec<Deviation>,
    stop: &AtomicBool,
) -> (Token, Vec<Departure>, Option<Outcome>) {
    let mut machine = Machine::new(Vm::new(code.clone()), from.limits);
    let mut recorder = Recorder::new(Worded::new(Course::new(deviations)));
    let summary = run(&mut machine, &mut recorder, 0, &mut Unobserved, stop);
    let Some(outcome) = summary.outcome() else { return (from.clone(), Vec::new(), None) };
    let signature = signature(&code.setup, outcome);
    let (worded, schedule) = recorder.into_parts(&machine.world);
    (
        Token { program: code.digest() as u64, signature, schedule, ..from.clone() },
        worded.departures,
        Some(outcome.clone()),
    )
}
