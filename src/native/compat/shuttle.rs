//! The names of [shuttle](https://docs.rs/shuttle): `use raceflip::native::compat::shuttle;` is the line that changes.
//!
//! The manual's page on it:
//!
#![doc = include_str!("../../../docs/shuttle.md")]

pub use crate::native::thread::thread_local;
use crate::native::{CheckFailure, Checker};
pub use crate::native::{future, hint, sync, thread};
use scheduler::Scheduler;
use std::path::PathBuf;
use std::time::Duration;

/// Random values that belong to the run.
pub mod rand {
    pub use crate::native::rand::{below, coin};
}

/// Strategies, by the names that shuttle has for them.
pub mod scheduler {
    use crate::native::Checker;

    /// A strategy with its number of runs.
    pub trait Scheduler {
        /// Returns the checker that performs these runs.
        fn checker(&self) -> Checker;
    }

    fn runs(iterations: usize) -> Checker {
        Checker::new().confirm(false).runs(iterations as u64)
    }

    /// Each open thread with the same probability.
    #[derive(Clone, Debug)]
    pub struct RandomScheduler {
        seed: u64,
        iterations: usize,
    }

    impl RandomScheduler {
        /// Creates a scheduler with seed 0: equal programs have equal runs.
        #[must_use]
        pub fn new(iterations: usize) -> Self {
            Self::new_from_seed(0, iterations)
        }

        /// Creates a scheduler with this seed.
        #[must_use]
        pub fn new_from_seed(seed: u64, iterations: usize) -> Self {
            Self { seed, iterations }
        }
    }

    impl Scheduler for RandomScheduler {
        fn checker(&self) -> Checker {
            runs(self.iterations).seed(self.seed).strategy("random")
        }
    }

    /// Random priorities (PCT).
    #[derive(Clone, Debug)]
    pub struct PctScheduler {
        seed: u64,
        depth: usize,
        iterations: usize,
    }

    impl PctScheduler {
        /// Creates a scheduler for bugs of this depth, at least 1, with seed 0.
        #[must_use]
        pub fn new(depth: usize, iterations: usize) -> Self {
            Self::new_from_seed(0, depth, iterations)
        }

        /// Creates a scheduler with this seed.
        #[must_use]
        pub fn new_from_seed(seed: u64, depth: usize, iterations: usize) -> Self {
            Self { seed, depth, iterations }
        }
    }

    impl Scheduler for PctScheduler {
        fn checker(&self) -> Checker {
            runs(self.iterations).seed(self.seed).strategy(&format!("pct:{}", self.depth))
        }
    }

    /// Random priorities, drawn anew for operations that conflict (POS), in place of shuttle's uniform random walk.
    #[derive(Clone, Debug)]
    pub struct UrwRandomScheduler {
        iterations: usize,
    }

    impl UrwRandomScheduler {
        /// Creates a scheduler with seed 0.
        #[must_use]
        pub fn new(iterations: usize) -> Self {
            Self { iterations }
        }
    }

    impl Scheduler for UrwRandomScheduler {
        fn checker(&self) -> Checker {
            runs(self.iterations).strategy("pos")
        }
    }

    /// Every run, one after the other.
    #[derive(Clone, Debug)]
    pub struct DfsScheduler {
        iterations: Option<usize>,
    }

    impl DfsScheduler {
        /// Creates a scheduler that performs at most this many runs. Random values are choices of the search, so the
        /// second argument of shuttle's changes nothing.
        #[must_use]
        pub fn new(iterations: Option<usize>, _allow_random_data: bool) -> Self {
            Self { iterations }
        }
    }

    impl Scheduler for DfsScheduler {
        fn checker(&self) -> Checker {
            let most = self.iterations.map_or(u64::MAX, |most| most as u64);
            Checker::new().confirm(false).every_run().runs(most)
        }
    }

    /// Threads in turn.
    #[derive(Clone, Debug)]
    pub struct RoundRobinScheduler {
        iterations: usize,
    }

    impl RoundRobinScheduler {
        /// Creates a scheduler.
        #[must_use]
        pub fn new(iterations: usize) -> Self {
            Self { iterations }
        }
    }

    impl Scheduler for RoundRobinScheduler {
        fn checker(&self) -> Checker {
            runs(self.iterations).strategy("round-robin")
        }
    }
}

/// What a run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaxSteps {
    /// The default limit of raceflip: there is always one.
    None,
    /// A run that takes more steps fails.
    FailAfter(usize),
}

/// What becomes of the token of a failing run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailurePersistence {
    /// The panic has it.
    Print,
    /// The panic has it, and a file `schedule.txt` in this folder (by default the current one).
    File(Option<PathBuf>),
    /// The panic has the text of the failure alone.
    None,
}

/// Options of a [`Runner`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Size of a stack. All threads have stacks of 1 MiB.
    pub stack_size: usize,
    /// What becomes of the token of a failing run.
    pub failure_persistence: FailurePersistence,
    /// Maximum number of steps of a run.
    pub max_steps: MaxSteps,
    /// Maximum time of all runs. When it is over, the check ends without a failure.
    pub max_time: Option<Duration>,
}

impl Config {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self {
            stack_size: 1 << 20,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::None,
            max_time: None,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// Performs the runs of a scheduler.
#[derive(Debug)]
pub struct Runner<S> {
    scheduler: S,
    config: Config,
}

impl<S: Scheduler> Runner<S> {
    /// Creates a runner.
    #[must_use]
    pub fn new(scheduler: S, config: Config) -> Self {
        Self { scheduler, config }
    }

    /// Performs the runs, and returns their number.
    ///
    /// # Panics
    ///
    /// A run fails.
    #[track_caller]
    pub fn run(self, f: impl Fn() + Send + Sync + 'static) -> usize {
        let mut checker = self.scheduler.checker();
        if let MaxSteps::FailAfter(most) = self.config.max_steps {
            checker = checker.steps(most as u64);
        }
        if let Some(time) = self.config.max_time {
            checker = checker.time_limit(time);
        }
        match checker.try_check(f) {
            Ok(report) => usize::try_from(report.runs).unwrap_or(usize::MAX),
            Err(failure) => self.config.failure_persistence.fail(&failure),
        }
    }
}

impl FailurePersistence {
    #[track_caller]
    fn fail(&self, failure: &CheckFailure) -> ! {
        match self {
            FailurePersistence::Print => panic!("{failure}"),
            FailurePersistence::None => panic!("{}", failure.what),
            FailurePersistence::File(folder) => {
                let file = folder.clone().unwrap_or_default().join("schedule.txt");
                match std::fs::write(&file, &failure.token) {
                    Ok(()) => panic!("{failure}The token is in {}.", file.display()),
                    Err(e) => panic!("{failure}The token could not be written to {}: {e}", file.display()),
                }
            }
        }
    }
}

#[track_caller]
fn run(scheduler: impl Scheduler, f: impl Fn() + Send + Sync + 'static) {
    Runner::new(scheduler, Config::new()).run(f);
}

/// Performs this many random runs.
#[track_caller]
pub fn check_random(f: impl Fn() + Send + Sync + 'static, iterations: usize) {
    run(scheduler::RandomScheduler::new(iterations), f);
}

/// Performs this many runs by PCT, for bugs of this depth.
#[track_caller]
pub fn check_pct(f: impl Fn() + Send + Sync + 'static, iterations: usize, depth: usize) {
    run(scheduler::PctScheduler::new(depth, iterations), f);
}

/// Performs this many runs by partial order sampling.
#[track_caller]
pub fn check_urw(f: impl Fn() + Send + Sync + 'static, iterations: usize) {
    run(scheduler::UrwRandomScheduler::new(iterations), f);
}

/// Performs every run, or this many.
#[track_caller]
pub fn check_dfs(f: impl Fn() + Send + Sync + 'static, max_iterations: Option<usize>) {
    run(scheduler::DfsScheduler::new(max_iterations, false), f);
}

/// Performs a few runs twice with the same choices, and fails if something decides that the scheduler does not control.
#[track_caller]
pub fn check_uncontrolled_nondeterminism(f: impl Fn() + Send + Sync + 'static, max_iterations: usize) {
    run(scheduler::RandomScheduler::new(max_iterations), f);
}

/// Replays the run of a token.
///
/// # Panics
///
/// The run fails, or the text is no token of raceflip: seeds and schedules of shuttle have no meaning here.
#[track_caller]
pub fn replay(f: impl Fn() + Send + Sync + 'static, token: &str) {
    assert!(token.trim().starts_with("rf"), "this is no token of raceflip; schedules of shuttle cannot be replayed");
    if let Err(failure) = Checker::new().replay(token.trim(), f) {
        panic!("{failure}");
    }
}

/// Replays the run of the token in a file.
///
/// # Panics
///
/// As [`replay`], or if the file cannot be read.
#[track_caller]
pub fn replay_from_file(f: impl Fn() + Send + Sync + 'static, path: impl AsRef<std::path::Path>) {
    let path = path.as_ref();
    let token = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{} cannot be read: {e}", path.display()));
    replay(f, &token);
}
