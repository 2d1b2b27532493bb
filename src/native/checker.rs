//! A check: many runs of a closure, the pairs of accesses that race, and the first failure, shrunk.

use super::program::NativeProgram;
use super::report;
use crate::base::mix;
use crate::campaign::{
    CampaignContext, CampaignPlan, FuzzPlan, NoProgress, PairFacts, PairReport, Verdict, confirm, fuzz,
};
use crate::event::Outcome;
use crate::exec::{LoopEnd, NoObserver, run};
use crate::sched::{RandomWalk, Replay};
use crate::shrink::{Effort, shrink};
use crate::token::Token;
use crate::world::{Limits, Program, signature};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Number of random runs with which the statements of a program are met first.
const FIRST_RUNS: u64 = 16;

// Maximum number of times that a campaign is begun anew because its runs have met new statements. A program that
// computes its statements, as from a table of functions, may go on for ever.
const MOST_TABLES: usize = 32;

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
    runs: u64,
    seed: u64,
    jobs: usize,
    confirms: bool,
    limits: Limits,
}

/// The result of a check without a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckReport {
    /// Number of runs that looked for a failure.
    pub runs: u64,
    /// Pairs of accesses that race, with their verdicts; empty if none were looked for.
    pub pairs: Vec<CheckedPair>,
}

/// Two accesses that race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedPair {
    /// The first access: `write at src/pool.rs:12:9`.
    pub a: String,
    /// The second access.
    pub b: String,
    /// The value that both access.
    pub object: String,
    /// The verdict on the pair.
    pub verdict: Verdict,
    /// Tokens of runs that prove it.
    pub tokens: Vec<String>,
}

/// A failure of a check.
#[derive(Clone, Debug)]
pub struct CheckFailure {
    /// Number of the run that failed, from 1; 0 if it was replayed.
    pub run: u64,
    /// How the run ended: `panic: left != right at src/pool.rs:12:9`.
    pub what: String,
    /// Token of the smallest run that fails in this way.
    pub token: String,
    /// The report: how the run ended, its steps, and how to replay it.
    pub text: String,
}

impl fmt::Display for CheckFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CheckFailure {}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs, no failure", self.runs)?;
        for pair in &self.pairs {
            write!(f, "\n{} race on {}: {} ~ {}", pair.verdict, pair.object, pair.a, pair.b)?;
        }
        Ok(())
    }
}

/// Checks a closure with the default [`Checker`]: the closure runs under the scheduler many times.
///
/// If the variable `RACEFLIP_REPLAY` has the token of a run of this check, that run is replayed instead.
///
/// # Panics
///
/// A run fails: a thread panics, threads are blocked for ever, or two accesses of a [`Shared`](super::Shared) value
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
        let limits = Limits::default();
        Self { name: None, runs: Self::RUNS, seed: 0, jobs: 1, confirms: true, limits }
    }

    /// Sets the name of the program, which its tokens carry. By default it is the name of the test.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
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
            eprintln!("raceflip: RACEFLIP_REPLAY is set, so that run alone is performed");
            match self.replay_named(&name, &token, f) {
                Ok(()) => return CheckReport { runs: 1, pairs: Vec::new() },
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
        on_thread(|| self.checked(met(program, self)))
    }

    fn checked(&self, program: NativeProgram) -> Result<CheckReport, Box<CheckFailure>> {
        let stop = AtomicBool::new(false);
        let context = || CampaignContext { stop: &stop, progress: &NoProgress };
        let plan = |program: &Arc<NativeProgram>| CampaignPlan {
            limits: self.limits,
            seed: self.seed,
            jobs: self.jobs,
            ..CampaignPlan::of(program.clone())
        };
        let fuzzing = FuzzPlan { runs: self.runs, keeps_going: false };
        let (program, found) = settled(program, |program| fuzz(&plan(program), &fuzzing, context()));
        if let Some(failure) = found.failures.first() {
            let token = failure.report.evidence.token.parse().expect("a campaign writes tokens that can be read");
            return Err(Box::new(self.failure(&program, failure.run, &token)));
        }
        if !self.confirms {
            return Ok(CheckReport { runs: found.runs, pairs: Vec::new() });
        }
        let again = NativeProgram::clone(&program);
        let (program, confirmed) = settled(again, |program| confirm(&plan(program), context()));
        let failing = confirmed.phase1.failures.iter().chain(confirmed.pairs.iter().flat_map(PairFacts::failures));
        if let Some(failure) = failing.chain(&confirmed.unexplained).next() {
            let token = failure.evidence.token.parse().expect("a campaign writes tokens that can be read");
            return Err(Box::new(self.failure(&program, found.runs, &token)));
        }
        let pairs = confirmed.pairs.iter().map(|pair| checked_pair(&program, pair)).collect();
        Ok(CheckReport { runs: found.runs, pairs })
    }

    // Shrinks a failing run, performs it once more, and reports it.
    fn failure(&self, program: &NativeProgram, number: u64, token: &Token) -> CheckFailure {
        let stop = AtomicBool::new(false);
        let shrunk = shrink(program, token, Effort::QUICK, &stop).ok();
        let token = shrunk.map_or_else(|| token.clone(), |shrunk| shrunk.token);
        report::failure(program, number, &token)
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
            let stop = AtomicBool::new(false);
            let (program, end) = settled(met(program, self), |program| {
                let mut replay = Replay::new(Arc::new(token.schedule.clone()));
                let mut machine = program.machine(token.limits);
                run(&mut machine, &mut replay, token.seed, &mut NoObserver, &stop).end
            });
            match end {
                LoopEnd::Diverged(divergence) => {
                    panic!("the run cannot be replayed, because the code has changed: {divergence}")
                }
                LoopEnd::Outcome(outcome) if outcome != Outcome::Ok => {
                    let again = Token { signature: signature(program.setup(), &outcome), ..token.clone() };
                    Err(Box::new(report::failure(&program, 0, &again)))
                }
                _ => Ok(()),
            }
        })
    }
}

// Meets the statements of a program by random runs.
fn met(program: NativeProgram, checker: &Checker) -> NativeProgram {
    let stop = AtomicBool::new(false);
    let (program, ()) = settled(program, |program| {
        let mut machine = program.machine(checker.limits);
        for number in 0..FIRST_RUNS {
            run(&mut machine, &mut RandomWalk::new(), mix(checker.seed, number), &mut NoObserver, &stop);
        }
    });
    NativeProgram::clone(&program)
}

// Performs work with a program, and performs it anew with all statements that it has met, until it meets no new ones.
fn settled<R>(program: NativeProgram, work: impl Fn(&Arc<NativeProgram>) -> R) -> (Arc<NativeProgram>, R) {
    let mut program = Arc::new(program);
    for _ in 0..MOST_TABLES {
        let result = work(&program);
        match program.grown() {
            None => return (program, result),
            Some(grown) => program = Arc::new(grown),
        }
    }
    let result = work(&program);
    (program, result)
}

// Calls `f` on a thread of its own: a run that was given up in the middle of unwinding leaves its thread panicking.
fn on_thread<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| match scope.spawn(f).join() {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    })
}

fn checked_pair(program: &NativeProgram, pair: &PairReport) -> CheckedPair {
    let site = |site| report::place(program.setup(), site);
    CheckedPair {
        a: site(pair.pair.a),
        b: site(pair.pair.b),
        object: pair.discovery.place.clone(),
        verdict: pair.verdict(),
        tokens: pair.evidence.iter().map(|run| run.token.clone()).collect(),
    }
}
