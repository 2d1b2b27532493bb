//! A check: many runs of a closure, the pairs of accesses that race, and the first failure, shrunk.

use super::checked::{CheckFailure, CheckReport};
use super::program::NativeProgram;
use super::run::dropping;
use crate::sched::StrategySpec;
use crate::token::Token;
use crate::world::{Limits, Program};
use parking_lot::{Condvar, Mutex};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a closure is checked.
///
/// # Examples
///
/// ```
/// use raceflip::native::{Checker, sync::{Arc, Mutex}, thread};
///
/// let report = Checker::new().runs(200).seed(7).try_check(|| {
///     let total = Arc::new(Mutex::new(0));
///     let other = total.clone();
///     let adder = thread::spawn(move || *other.lock().unwrap() += 1);
///     *total.lock().unwrap() += 1;
///     adder.join().unwrap();
///     assert_eq!(*total.lock().unwrap(), 2);
/// });
/// assert_eq!(report.unwrap().runs, 200);
/// ```
#[derive(Clone, Debug)]
pub struct Checker {
    name: Option<String>,
    pub(super) kind: RunKind,
    pub(super) runs: u64,
    pub(super) seed: u64,
    pub(super) jobs: usize,
    pub(super) confirms: bool,
    pub(super) repeats: bool,
    pub(super) limits: Limits,
    time: Option<Duration>,
}

/// How the runs are made that look for a failure.
#[derive(Clone, Debug)]
pub(super) enum RunKind {
    /// They learn from the runs before them.
    Learning,
    /// A strategy draws them.
    Drawn(StrategySpec),
    /// Every run is performed, or every one with few preemptions.
    Every { preemptions: Option<u32> },
}

/// Checks a closure with the default [`Checker`]: the closure runs under the scheduler many times.
///
/// If the variable `RACEFLIP_REPLAY` has the token of a run of this check, that run is replayed instead.
///
/// # Panics
///
/// A run fails: a thread panics, threads are blocked forever, or two accesses of a [`Shared`](super::Shared) value
/// conflict. The panic has the report.
///
/// # Examples
///
/// ```should_panic
/// use raceflip::native::{Shared, check, thread};
///
/// check(|| {
///     let screen = Shared::new(Some("screen"));
///     let other = screen.clone();
///     let reply = thread::spawn(move || other.with(|screen| assert!(screen.is_some(), "the screen is gone")));
///     screen.set(None);
///     reply.join().unwrap();
/// });
/// ```
#[track_caller]
pub fn check(f: impl Fn() + Send + Sync + 'static) {
    Checker::new().check(f);
}

/// Replays the run of a token, and panics with its report if it fails.
///
/// # Panics
///
/// The run fails, or the token does not fit the closure.
#[track_caller]
pub fn replay(token: &str, f: impl Fn() + Send + Sync + 'static) {
    if let Err(failure) = Checker::new().replay(token, f) {
        panic!("{failure}");
    }
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl Checker {
    /// Default number of runs.
    pub const RUNS: u64 = 1_000;

    /// Creates a checker with the default options: [`RUNS`](Self::RUNS) runs, seed 0, one worker.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: None,
            kind: RunKind::Learning,
            runs: Self::RUNS,
            seed: 0,
            jobs: 1,
            confirms: true,
            repeats: true,
            limits: Limits::default(),
            time: None,
        }
    }

    /// Sets the name of the program, which its tokens carry. By default it is the name of the test.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Lets a strategy draw the runs, instead of runs that learn from those before them: `pct:3`, `pos`, `random`. The
    /// manual's page on strategies has all of them.
    ///
    /// # Panics
    ///
    /// The text names no strategy.
    #[must_use]
    pub fn strategy(self, strategy: &str) -> Self {
        let spec = strategy.parse().unwrap_or_else(|e| panic!("{e}"));
        Self { kind: RunKind::Drawn(spec), ..self }
    }

    /// Performs every run, one after the other, up to the [number of runs](Self::runs). If none is left and none has
    /// failed, no run of the closure fails ([`CheckReport::complete`]), and pairs of accesses that are never side by
    /// side are refuted. Runs that only swap independent steps of other runs are left out.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::native::{Checker, sync::{Arc, Mutex}, thread};
    ///
    /// let report = Checker::new().every_run().try_check(|| {
    ///     let total = Arc::new(Mutex::new(0));
    ///     let other = total.clone();
    ///     let adder = thread::spawn(move || *other.lock().unwrap() += 1);
    ///     *total.lock().unwrap() += 1;
    ///     adder.join().unwrap();
    ///     assert_eq!(*total.lock().unwrap(), 2);
    /// });
    /// assert!(report.unwrap().complete);
    /// ```
    #[must_use]
    pub fn every_run(self) -> Self {
        Self { kind: RunKind::Every { preemptions: None }, ..self }
    }

    /// Performs every run with at most this many preemptions: steps of one thread while the thread before it could go
    /// on.
    #[must_use]
    pub fn preemptions(self, most: u32) -> Self {
        Self { kind: RunKind::Every { preemptions: Some(most) }, ..self }
    }

    /// Sets the number of runs that look for a failure.
    #[must_use]
    pub fn runs(self, runs: u64) -> Self {
        Self { runs, ..self }
    }

    /// Sets the seed: equal seeds give equal results.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the number of workers. It changes no result.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs: jobs.max(1), ..self }
    }

    /// Sets whether pairs of accesses that race are looked for and driven into both orders, if no run fails.
    #[must_use]
    pub fn confirm(self, confirms: bool) -> Self {
        Self { confirms, ..self }
    }

    /// Sets whether a few runs are performed twice, with the same choices. If the second one differs, something decides
    /// that the scheduler does not control, and the check fails.
    #[must_use]
    pub fn repeats(self, repeats: bool) -> Self {
        Self { repeats, ..self }
    }

    /// Sets a limit of time for the check. What was not performed by then is left out; no failure comes of it.
    #[must_use]
    pub fn time_limit(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }

    /// Sets the maximum number of steps of a run.
    #[must_use]
    pub fn steps(self, steps: u64) -> Self {
        Self { limits: Limits { steps, ..self.limits }, ..self }
    }

    /// Checks a closure, and panics with the report of a failure.
    ///
    /// # Panics
    ///
    /// A run fails.
    #[track_caller]
    pub fn check(self, f: impl Fn() + Send + Sync + 'static) -> CheckReport {
        let name = self.name_at(Location::caller());
        if let Ok(token) = std::env::var("RACEFLIP_REPLAY") {
            match self.replay_named(&name, &token, f) {
                Ok(()) => return CheckReport { runs: 1, cut: 0, complete: false, pairs: Vec::new() },
                Err(failure) => panic!("{failure}"),
            }
        }
        match self.check_named(&name, f) {
            Ok(report) => report,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Checks a closure.
    ///
    /// # Errors
    ///
    /// A run fails.
    #[track_caller]
    pub fn try_check(self, f: impl Fn() + Send + Sync + 'static) -> Result<CheckReport, Box<CheckFailure>> {
        let name = self.name_at(Location::caller());
        self.check_named(&name, f)
    }

    /// Replays the run of a token.
    ///
    /// # Errors
    ///
    /// The run fails, or the token does not fit the closure.
    #[track_caller]
    pub fn replay(self, token: &str, f: impl Fn() + Send + Sync + 'static) -> Result<(), Box<CheckFailure>> {
        let name = self.name_at(Location::caller());
        self.replay_named(&name, token, f)
    }

    // The name of the program: that of the test, which the test harness gives to its thread.
    fn name_at(&self, at: &Location<'_>) -> String {
        let test = || std::thread::current().name().filter(|name| *name != "main").map(str::to_owned);
        self.name.clone().or_else(test).unwrap_or_else(|| at.file().to_owned())
    }

    fn check_named(&self, name: &str, f: impl Fn() + Send + Sync + 'static) -> Result<CheckReport, Box<CheckFailure>> {
        let program = NativeProgram::new(name, f);
        on_thread(|| {
            let result = within(self.time, |stop| self.checked(&program, stop));
            // What the closure owns may have destructors with operations.
            dropping(|| drop(program));
            result
        })
    }

    fn replay_named(
        &self,
        name: &str,
        token: &str,
        f: impl Fn() + Send + Sync + 'static,
    ) -> Result<(), Box<CheckFailure>> {
        let token: Token = token.parse().unwrap_or_else(|e| panic!("this is no token of a run: {e}"));
        let program = NativeProgram::new(name, f);
        assert!(
            program.digest() == token.program,
            "the token belongs to another check: this one has the name `{name}`"
        );
        on_thread(|| {
            let result = self.replayed(&program, &token);
            dropping(|| drop(program));
            result
        })
    }
}

// Calls `f` with a flag that is set after this time.
fn within<R>(time: Option<Duration>, f: impl FnOnce(&AtomicBool) -> R) -> R {
    let (stop, ended, ends) = (AtomicBool::new(false), Mutex::new(false), Condvar::new());
    let Some(time) = time else { return f(&stop) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut ended = ended.lock();
            ends.wait_while_for(&mut ended, |ended| !*ended, time);
            stop.store(true, Ordering::Relaxed);
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(&stop)));
        *ended.lock() = true;
        ends.notify_all();
        result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })
}

// Calls `f` on a thread of its own: a run that was given up in the middle of unwinding leaves its thread panicking.
fn on_thread<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| match scope.spawn(f).join() {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    })
}
