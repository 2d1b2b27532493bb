//! A check: many runs of a closure, the pairs of accesses that race, and the first failure, shrunk.

use super::program::NativeProgram;
use super::report;
use super::run::dropping;
use crate::base::mix;
use crate::campaign::{
    CampaignContext, CampaignPlan, Confirmation, FailureReport, FuzzPlan, FuzzReport, NoProgress, PairFacts,
    PairReport, Verdict, confirm, fuzz,
};
use crate::event::Outcome;
use crate::exec::{LoopEnd, NoObserver, run};
use crate::sched::{RandomWalk, Replay, ScheduleRecorder};
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
// computes its statements, as from a table of functions, may go on forever.
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
        on_thread(|| {
            let result = self.checked(&program);
            // What the closure owns may have destructors with operations.
            dropping(|| drop(program));
            result
        })
    }

    fn checked(&self, program: &NativeProgram) -> Result<CheckReport, Box<CheckFailure>> {
        let stop = AtomicBool::new(false);
        let context = || CampaignContext { stop: &stop, progress: &NoProgress };
        let plan = |program: &Arc<NativeProgram>| CampaignPlan {
            limits: self.limits,
            seed: self.seed,
            jobs: self.jobs,
            ..CampaignPlan::of(program.clone())
        };
        let Settled { program, result, mut lost } = self.met(program.clone());
        if let Some((number, token)) = result {
            return Err(Box::new(self.failure(&program, number, &token)));
        }
        let fuzzing = FuzzPlan { runs: self.runs, keeps_going: false };
        let first = |found: &FuzzReport| found.failures.first().map(|failure| failure.report.signature.clone());
        let fuzzed = settled((*program).clone(), first, |program| fuzz(&plan(program), &fuzzing, context()));
        let (program, found) = (fuzzed.program, fuzzed.result);
        lost = lost.or(fuzzed.lost);
        if let Some(failure) = found.failures.first() {
            return Err(Box::new(self.failure(&program, failure.run, &token_of(&failure.report))));
        }
        if let Some(((_, limit), runs)) = found.limits.iter().next() {
            return Err(Box::new(report::limited(*runs, *limit)));
        }
        let confirmed = self.confirms.then(|| {
            let first = |found: &Confirmation| failures(found).next().map(|failure| failure.signature.clone());
            settled((*program).clone(), first, |program| confirm(&plan(program), context()))
        });
        let pairs = match confirmed {
            None => Vec::new(),
            Some(Settled { program, result, lost: more }) => {
                if let Some(failure) = failures(&result).next() {
                    return Err(Box::new(self.failure(&program, found.runs, &token_of(failure))));
                }
                lost = lost.or(more);
                result.pairs.iter().map(|pair| checked_pair(&program, pair)).collect()
            }
        };
        // A run has failed when its statements were not known yet, and no run has failed since.
        lost.map_or(Ok(CheckReport { runs: found.runs, pairs }), |what| Err(Box::new(report::lost(&what))))
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
            let result = self.replayed(&program, &token);
            dropping(|| drop(program));
            result
        })
    }

    fn replayed(&self, program: &NativeProgram, token: &Token) -> Result<(), Box<CheckFailure>> {
        let stop = AtomicBool::new(false);
        let met = self.met(program.clone()).program;
        let none = |_: &LoopEnd| None;
        let again = settled((*met).clone(), none, |program| {
            let mut replay = Replay::new(Arc::new(token.schedule.clone()));
            let mut machine = program.machine(token.limits);
            run(&mut machine, &mut replay, token.seed, &mut NoObserver, &stop).end
        });
        match again.result {
            LoopEnd::Diverged(divergence) => {
                panic!("the run cannot be replayed, because the code has changed: {divergence}")
            }
            LoopEnd::Outcome(outcome) if outcome != Outcome::Ok => {
                let token = Token { signature: signature(again.program.setup(), &outcome), ..token.clone() };
                Err(Box::new(report::failure(&again.program, 0, &token)))
            }
            _ => Ok(()),
        }
    }

    // Meets the statements of a program by random runs. The result is the number and the token of the first of them
    // that fails.
    fn met(&self, program: NativeProgram) -> Settled<Option<(u64, Token)>> {
        let stop = AtomicBool::new(false);
        let first = |failed: &Option<(u64, Token)>| failed.as_ref().map(|(_, token)| token.signature.clone());
        settled(program, first, |program| {
            let mut machine = program.machine(self.limits);
            let mut failed = None;
            for number in 0..FIRST_RUNS {
                let (seed, mut recorder) = (mix(self.seed, number), ScheduleRecorder::new());
                let summary = run(&mut machine, &mut RandomWalk::new(), seed, &mut recorder, &stop);
                let fails = summary.outcome().filter(|end| !matches!(end, Outcome::Ok | Outcome::Limit(..)));
                if let (None, Some(outcome)) = (&failed, fails) {
                    let token = Token {
                        program: program.digest(),
                        defines: Vec::new(),
                        limits: self.limits,
                        strategy: "random".to_owned(),
                        seed,
                        signature: signature(program.setup(), outcome),
                        schedule: recorder.schedule(&machine.world),
                    };
                    failed = Some((number + 1, token));
                }
            }
            failed
        })
    }
}

// The result of work with a program whose statements are all known.
struct Settled<R> {
    program: Arc<NativeProgram>,
    result: R,
    // A failure of earlier work, whose result was not used.
    lost: Option<String>,
}

// Performs work with a program, and performs it anew with all statements that it has met, until it meets no new ones.
// `fails` returns the failure that a result has.
fn settled<R>(
    program: NativeProgram,
    fails: impl Fn(&R) -> Option<String>,
    work: impl Fn(&Arc<NativeProgram>) -> R,
) -> Settled<R> {
    let (mut program, mut lost) = (Arc::new(program), None);
    for _ in 0..MOST_TABLES {
        let result = work(&program);
        match program.grown() {
            None => return Settled { program, result, lost },
            Some(grown) => {
                lost = lost.or_else(|| fails(&result));
                program = Arc::new(grown);
            }
        }
    }
    let result = work(&program);
    Settled { program, result, lost }
}

fn token_of(failure: &FailureReport) -> Token {
    failure.evidence.token.parse().expect("a campaign writes tokens that can be read")
}

// Returns the failures of a campaign.
fn failures(found: &Confirmation) -> impl Iterator<Item = &FailureReport> {
    let of_pairs = found.pairs.iter().flat_map(PairFacts::failures);
    found.phase1.failures.iter().chain(of_pairs).chain(&found.unexplained)
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
