//! shuttle and loom: runs of a program until one fails.
//!
//! A program tells a failure with [`failed`], so that nothing panics and nobody prints; shuttle's schedulers are wrapped so that the run then ends, and no other begins. A panic all the same
//! (shuttle's deadlock) is a failure as well. loom can only be ended by a panic.

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

/// A program under test; whole threads of it run on one thread of the system.
pub(crate) type Program = Arc<dyn Fn() + Send + Sync>;

thread_local! {
    static FAILED: Cell<bool> = const { Cell::new(false) };
    static BEGUN: Cell<u64> = const { Cell::new(0) };
}

/// The run fails.
pub(crate) fn failed() {
    FAILED.set(true);
}

/// An assertion of a program.
pub(crate) fn assert_that(holds: bool) {
    if !holds {
        failed();
    }
}

/// A scheduler of shuttle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    Random,
    /// Of depth 3.
    Pct,
    /// Uniform random walk: SURW with all operations.
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

// A scheduler that counts runs, and ends the run that fails and all. It is never dropped: shuttle's random scheduler prints its seed then, if it has not come to its end.
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

// shuttle sets a hook that prints, once: after that panics are silenced.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        shuttle::Runner::new(RandomScheduler::new_from_seed(0, 1), config()).run(|| {});
        set_hook(Box::new(|_| {}));
    });
}

/// For each seed the number of shuttle's first run that fails.
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

/// How loom's search of a program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Searched {
    /// It fails in this run, from 1.
    Fails(u64),
    /// It does not fail in so many runs, which are all.
    Through(u64),
    /// It does not fail in so many runs, and there are more.
    Cut(u64),
}

/// loom's search, which draws nothing, up to so many runs. `branches` is how many scheduling points a run may have.
pub(crate) fn loom_search(program: &Program, branches: usize, most: u64) -> Searched {
    silence();
    let mut search = loom::model::Builder::new();
    search.max_branches = branches;
    // It looks at the number of runs only where it would write a checkpoint, and before a run.
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
