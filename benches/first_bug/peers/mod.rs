//! Runs programs under shuttle and loom until a run fails.
//!
//! A program reports a failure with [`failed`], so that nothing panics or prints. A wrapper around shuttle's schedulers
//! then ends the run, and no other run begins. A panic (shuttle's deadlock) also counts as a failure. loom's search can
//! be ended only by a panic.

pub(crate) mod programs;
pub(crate) mod windows;

use crate::runs::{Budget, by_seed};
use crate::tally::Tally;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId, UrwRandomScheduler};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

/// A program under test. All its threads run on one thread of the system.
pub(crate) type Program = Arc<dyn Fn() + Send + Sync>;

thread_local! {
    static FAILED: Cell<bool> = const { Cell::new(false) };
    static BEGUN: Cell<u64> = const { Cell::new(0) };
}

/// Marks the current run as failed.
pub(crate) fn failed() {
    FAILED.set(true);
}

/// Asserts a condition of a program; marks the run as failed if it does not hold.
pub(crate) fn assert_that(holds: bool) {
    if !holds {
        failed();
    }
}

/// A scheduler of shuttle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    Random,
    /// PCT of depth 3.
    Pct,
    /// Uniform random walk: SURW with all operations as interesting events.
    Urw,
}

pub(crate) const PEERS: [Peer; 3] = [Peer::Random, Peer::Pct, Peer::Urw];

impl Peer {
    fn scheduler(self, seed: u64, cap: u64) -> Box<dyn Scheduler + Send> {
        let runs = cap as usize;
        match self {
            Self::Random => Box::new(RandomScheduler::new_from_seed(seed, runs)),
            Self::Pct => Box::new(PctScheduler::new_from_seed(seed, 3, runs)),
            Self::Urw => Box::new(UrwRandomScheduler::new_from_seed(seed, runs)),
        }
    }
}

// A scheduler that counts runs, and ends the failing run and the search. It is never dropped, because shuttle's random
// scheduler would print its seed then unless it has performed all its runs.
struct UntilFailure(ManuallyDrop<Box<dyn Scheduler + Send>>);

impl Scheduler for UntilFailure {
    fn new_execution(&mut self) -> Option<Schedule> {
        if FAILED.get() {
            return None;
        }
        let schedule = self.0.new_execution()?;
        BEGUN.set(BEGUN.get() + 1);
        Some(schedule)
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        if FAILED.get() {
            return None;
        }
        self.0.next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

fn config() -> shuttle::Config {
    let mut config = shuttle::Config::new();
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.max_steps = shuttle::MaxSteps::None;
    config.silence_warnings = true;
    config
}

// Silences panics. shuttle installs a hook that prints, but only once, so this runs shuttle first and then replaces the
// hook.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        shuttle::Runner::new(RandomScheduler::new_from_seed(0, 1), config()).run(|| {});
        set_hook(Box::new(|_| {}));
    });
}

/// Returns for each seed the number of shuttle's first run that fails.
pub(crate) fn shuttle_first_failures(program: &Program, peer: Peer, budget: Budget) -> Tally {
    silence();
    by_seed(budget, || (), |(), seed| shuttle_first_failure(program, peer, seed, budget.cap))
}

fn shuttle_first_failure(program: &Program, peer: Peer, seed: u64, cap: u64) -> Option<u64> {
    FAILED.set(false);
    BEGUN.set(0);
    let program = program.clone();
    let done = catch_unwind(AssertUnwindSafe(|| {
        let runner = shuttle::Runner::new(UntilFailure(ManuallyDrop::new(peer.scheduler(seed, cap))), config());
        runner.run(move || program());
    }));
    (FAILED.get() || done.is_err()).then(|| BEGUN.get())
}

/// Result of loom's search of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Searched {
    /// The run with this number (from 1) fails.
    Fails(u64),
    /// No run fails; the search is complete after this number of runs.
    Through(u64),
    /// No run fails in this number of runs, but the search is not complete.
    Cut(u64),
}

/// Performs loom's search, which is deterministic, up to `most` runs. `branches` is the maximum number of scheduling
/// points of a run.
pub(crate) fn loom_search(program: &Program, branches: usize, most: u64) -> Searched {
    silence();
    let mut search = loom::model::Builder::new();
    search.max_branches = branches;
    // loom checks the number of runs only before a run and only when it would write a checkpoint.
    search.checkpoint_interval = most as usize + 1;
    search.max_permutations = Some(search.checkpoint_interval);
    let (program, done) = (program.clone(), Arc::new(AtomicU64::new(0)));
    let count = done.clone();
    FAILED.set(false);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        search.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            program();
            assert!(!FAILED.get(), "the program fails");
        });
    }));
    let runs = done.load(Ordering::Relaxed);
    match ended {
        Err(_) if FAILED.get() => Searched::Fails(runs),
        Ok(()) if runs <= most => Searched::Through(runs),
        _ => Searched::Cut(runs),
    }
}
