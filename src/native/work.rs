//! The phases of a check: the statements are met, runs look for a failure, pairs of accesses are driven into both
//! orders.

use super::checked::{CheckFailure, CheckReport, CheckedPair};
use super::checker::{Checker, RunKind};
use super::program::NativeProgram;
use super::report;
use super::same;
use crate::base::mix;
use crate::campaign::{
    CampaignContext, CampaignPlan, Confirmation, FailureReport, FuzzPlan, NoProgress, PairFacts, PairReport, Verdict,
    confirm, counts, fuzz,
};
use crate::event::{Outcome, SiteId};
use crate::exec::{LoopEnd, NoObserver, run};
use crate::sched::{Exhaustive, RandomWalk, Replay, ScheduleRecorder, Strategy, StrategySpec};
use crate::shrink::{Effort, shrink};
use crate::token::Token;
use crate::world::{Program, signature};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

// Number of random runs with which the statements of a program are met first.
const FIRST_RUNS: u64 = 16;

// Maximum number of times that a campaign is begun anew because its runs have met new statements. A program that
// computes its statements, as from a table of functions, may go on forever.
const MOST_TABLES: usize = 32;

// A run may be so many times as long as the longest random walk, and has at least so many steps.
const MOST_TIMES: u64 = 50;
const LEAST_STEPS: u64 = 5_000;

// Number of a run, from 1, and its token.
type Failed = (u64, Token);

// What runs have found.
#[derive(Default)]
struct Found {
    runs: u64,
    failed: Option<Failed>,
    // Number of runs that reached a limit, and the limit.
    limited: Option<(u64, u64)>,
    // Number of steps of the longest run.
    longest: u64,
    complete: bool,
    // Pairs of sites that were side by side, if all runs were performed.
    adjacent: Option<BTreeSet<(SiteId, SiteId)>>,
}

impl Checker {
    /// Checks a program, until `stop` is set.
    pub(super) fn checked(&self, program: &NativeProgram, stop: &AtomicBool) -> Result<CheckReport, Box<CheckFailure>> {
        let failed = |found: &Found| found.failed.as_ref().map(|(_, token)| token.signature.clone());
        let first = settled(program.clone(), failed, |program| self.met(program, stop));
        let (program, mut lost) = (first.program, first.lost);
        if let Some((number, token)) = &first.result.failed {
            return Err(self.failure(&program, *number, token));
        }
        // A random walk lets every thread act again and again, so this is no matter of the schedule.
        if let Some((runs, limit)) = first.result.limited {
            return Err(Box::new(report::limited(runs, limit)));
        }
        if self.repeats && !stop.load(Ordering::Relaxed) {
            same::repeats(&program, self.limits, self.seed)?;
        }
        let patient = self.within_reason(first.result.longest);
        patient.looked(program, &mut lost, stop).and_then(|report| match lost {
            // A run has failed when its statements were not known yet, and no run has failed since.
            Some(what) => Err(Box::new(report::lost(&what))),
            None => Ok(report),
        })
    }

    // Returns the checker with a limit of steps that fits a program whose random walks are so long. Other strategies
    // may leave a thread alone that waits in a loop.
    fn within_reason(&self, longest: u64) -> Self {
        let steps = self.limits.steps.min(LEAST_STEPS.max(longest.saturating_mul(MOST_TIMES)));
        self.clone().steps(steps)
    }

    // Looks for a failure, and for pairs that race. `lost` is a failure that came once.
    fn looked(
        &self,
        program: Arc<NativeProgram>,
        lost: &mut Option<String>,
        stop: &AtomicBool,
    ) -> Result<CheckReport, Box<CheckFailure>> {
        let failed = |found: &Found| found.failed.as_ref().map(|(_, token)| token.signature.clone());
        let looked = settled((*program).clone(), failed, |program| self.look(program, stop));
        let (program, mut found) = (looked.program, looked.result);
        *lost = lost.take().or(looked.lost);
        if let Some((number, token)) = &found.failed {
            return Err(self.failure(&program, *number, token));
        }
        let mut pairs = Vec::new();
        if self.confirms && !stop.load(Ordering::Relaxed) {
            let first = |found: &Confirmation| failures(found).next().map(|failure| failure.signature.clone());
            let context = || CampaignContext { stop, progress: &NoProgress };
            let confirmed =
                settled((*program).clone(), first, |program| confirm(&self.plan(program.clone()), context()));
            if let Some(failure) = failures(&confirmed.result).next() {
                return Err(self.failure(&confirmed.program, found.runs, &token_of(failure)));
            }
            // Statements that were met only now have other numbers than those of the search.
            if !Arc::ptr_eq(&confirmed.first, &confirmed.program) {
                (found.adjacent, found.complete) = (None, false);
            }
            *lost = lost.take().or(confirmed.lost);
            let pair = |pair| checked_pair(&confirmed.program, pair, found.adjacent.as_ref());
            pairs = confirmed.result.pairs.iter().map(pair).collect();
        }
        let cut = found.limited.map_or(0, |(runs, _)| runs);
        Ok(CheckReport { runs: found.runs, cut, complete: found.complete, pairs })
    }

    /// Replays the run of a token. Fails if the run does.
    ///
    /// # Panics
    ///
    /// The token does not fit the program.
    pub(super) fn replayed(&self, program: &NativeProgram, token: &Token) -> Result<(), Box<CheckFailure>> {
        let stop = AtomicBool::new(false);
        let met = settled(program.clone(), |_: &Found| None, |program| self.met(program, &stop)).program;
        let again = settled(
            (*met).clone(),
            |_: &LoopEnd| None,
            |program| {
                let mut replay = Replay::new(Arc::new(token.schedule.clone()));
                let mut machine = program.machine(token.limits);
                run(&mut machine, &mut replay, token.seed, &mut NoObserver, &stop).end
            },
        );
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

    fn plan(&self, program: Arc<NativeProgram>) -> CampaignPlan<NativeProgram> {
        CampaignPlan { limits: self.limits, seed: self.seed, jobs: self.jobs, ..CampaignPlan::of(program) }
    }

    // Shrinks a failing run, performs it once more, and reports it.
    fn failure(&self, program: &NativeProgram, number: u64, token: &Token) -> Box<CheckFailure> {
        let stop = AtomicBool::new(false);
        let shrunk = shrink(program, token, Effort::QUICK, &stop).ok();
        let token = shrunk.map_or_else(|| token.clone(), |shrunk| shrunk.token);
        Box::new(report::failure(program, number, &token))
    }

    // Performs runs that look for a failure.
    fn look(&self, program: &Arc<NativeProgram>, stop: &AtomicBool) -> Found {
        match &self.kind {
            RunKind::Learning => self.learn(program, stop),
            RunKind::Drawn(spec) => self.draw(program, spec, stop),
            RunKind::Every { preemptions } => self.every(program, *preemptions, stop),
        }
    }

    fn learn(&self, program: &Arc<NativeProgram>, stop: &AtomicBool) -> Found {
        let fuzzing = FuzzPlan { runs: self.runs, keeps_going: false };
        let found = fuzz(&self.plan(program.clone()), &fuzzing, CampaignContext { stop, progress: &NoProgress });
        Found {
            runs: found.runs,
            failed: found.failures.first().map(|failure| (failure.run, token_of(&failure.report))),
            limited: found.limits.iter().next().map(|((_, limit), runs)| (*runs, *limit)),
            ..Found::default()
        }
    }

    // Draws runs by a strategy.
    fn draw(&self, program: &NativeProgram, spec: &StrategySpec, stop: &AtomicBool) -> Found {
        let limits = self.limits;
        let steps = || {
            let mut machine = program.machine(limits);
            run(&mut machine, &mut RandomWalk::new(), self.seed, &mut NoObserver, stop).steps
        };
        let spec = spec.clone().profiled(steps).with_counts(|surw| counts(program, limits, surw));
        let strategy = spec.and_then(|spec| spec.build(&program.setup().sites).map(|strategy| (spec, strategy)));
        let (spec, mut strategy) = strategy.unwrap_or_else(|e| panic!("the strategy cannot be used here: {e}"));
        let mut runs = Runs::new(self, program, spec.to_string());
        while runs.found.runs < self.runs && runs.next(&mut strategy, stop) {}
        runs.found
    }

    // Performs every run, one after the other.
    fn every(&self, program: &NativeProgram, preemptions: Option<u32>, stop: &AtomicBool) -> Found {
        let mut all = Exhaustive::new(preemptions);
        let mut runs = Runs::new(self, program, "found".to_owned());
        loop {
            // A search with an old table of statements would be begun anew.
            if !runs.next(&mut all, stop) || program.has_grown() {
                break;
            }
            if runs.diverged && !all.is_redundant() {
                // A choice of the run before was not open any more: something decides that is not the scheduler's.
                break;
            }
            if !all.advance() {
                runs.found.complete = all.is_complete();
                break;
            }
            if runs.found.runs >= self.runs {
                break;
            }
        }
        let complete = runs.found.complete && runs.found.limited.is_none();
        Found { adjacent: complete.then(|| all.adjacent().clone()), ..runs.found }
    }

    // Meets the statements of a program by random runs. The result is the first of them that fails.
    fn met(&self, program: &NativeProgram, stop: &AtomicBool) -> Found {
        let mut runs = Runs::new(self, program, "random".to_owned());
        // A failing run does not end this: the others meet statements too.
        while runs.performed < FIRST_RUNS && !stop.load(Ordering::Relaxed) {
            runs.next(&mut RandomWalk::new(), stop);
        }
        runs.found
    }
}

// Runs of a program by a strategy.
struct Runs<'c> {
    checker: &'c Checker,
    program: &'c NativeProgram,
    machine: crate::world::Machine<super::Native>,
    strategy: String,
    performed: u64,
    // Whether the last run could not follow its strategy to an end.
    diverged: bool,
    found: Found,
}

impl<'c> Runs<'c> {
    fn new(checker: &'c Checker, program: &'c NativeProgram, strategy: String) -> Self {
        let machine = program.machine(checker.limits);
        Self { checker, program, machine, strategy, performed: 0, diverged: false, found: Found::default() }
    }

    // Performs the next run. Returns whether others may follow: it has not failed, and was not interrupted.
    fn next(&mut self, strategy: &mut impl Strategy, stop: &AtomicBool) -> bool {
        let (seed, mut recorder) = (mix(self.checker.seed, self.performed), ScheduleRecorder::new());
        let summary = run(&mut self.machine, strategy, seed, &mut recorder, stop);
        self.performed += 1;
        self.diverged = matches!(summary.end, LoopEnd::Diverged(_));
        let outcome = match &summary.end {
            LoopEnd::Outcome(outcome) => outcome,
            // An exhaustive search leaves a run that only swaps independent steps of another one.
            LoopEnd::Diverged(_) => return true,
            LoopEnd::Interrupted => return false,
        };
        self.found.runs += 1;
        self.found.longest = self.found.longest.max(summary.steps);
        match outcome {
            Outcome::Ok => return true,
            Outcome::Limit(_, limit) => {
                self.found.limited.get_or_insert((0, *limit)).0 += 1;
                return true;
            }
            _ => {}
        }
        if self.found.failed.is_none() {
            let token = Token {
                program: self.program.digest(),
                defines: Vec::new(),
                limits: self.checker.limits,
                strategy: self.strategy.clone(),
                seed,
                signature: signature(self.program.setup(), outcome),
                schedule: recorder.schedule(&self.machine.world),
            };
            self.found.failed = Some((self.found.runs, token));
        }
        false
    }
}

// The result of work with a program whose statements are all known.
struct Settled<R> {
    // The program with which the work began.
    first: Arc<NativeProgram>,
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
    let first = Arc::new(program);
    let (mut program, mut lost) = (first.clone(), None);
    for _ in 0..MOST_TABLES {
        let result = work(&program);
        match program.grown() {
            None => return Settled { first, program, result, lost },
            Some(grown) => {
                lost = lost.or_else(|| fails(&result));
                program = Arc::new(grown);
            }
        }
    }
    let result = work(&program);
    Settled { first, program, result, lost }
}

fn token_of(failure: &FailureReport) -> Token {
    failure.evidence.token.parse().expect("a campaign writes tokens that can be read")
}

// Returns the failures of a campaign.
fn failures(found: &Confirmation) -> impl Iterator<Item = &FailureReport> {
    let of_pairs = found.pairs.iter().flat_map(PairFacts::failures);
    found.phase1.failures.iter().chain(of_pairs).chain(&found.unexplained)
}

// `adjacent` has the pairs that are side by side in some state, if all states are known. A pair that is not among them
// is false.
fn checked_pair(
    program: &NativeProgram,
    pair: &PairReport,
    adjacent: Option<&BTreeSet<(SiteId, SiteId)>>,
) -> CheckedPair {
    let site = |site| report::place(program.setup(), site);
    let (a, b) = (pair.pair.a, pair.pair.b);
    let is_false = adjacent.is_some_and(|adjacent| !adjacent.contains(&(a.min(b), a.max(b))));
    CheckedPair {
        a: site(a),
        b: site(b),
        object: pair.discovery.place.clone(),
        verdict: match pair.verdict() {
            Verdict::Unconfirmed if is_false => Verdict::Refuted,
            verdict => verdict,
        },
        tokens: pair.evidence.iter().map(|run| run.token.clone()).collect(),
    }
}
