//! The names of [loom](https://docs.rs/loom): `use raceflip::native::compat::loom;` is the line that changes.
//!
//! The manual's page on it:
//!
#![doc = include_str!("../../../docs/loom.md")]

pub use crate::native::thread::thread_local;
pub use crate::native::{cell, future, hint, sync, thread};

/// Performs every run of a closure.
///
/// # Panics
///
/// A run fails.
#[track_caller]
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    self::model::Builder::new().check(f);
}

/// Options of a search through all runs.
pub mod model {
    use crate::native::Checker;
    use std::time::Duration;

    /// Options of a search through all runs. There is no limit of the number of threads.
    #[derive(Clone, Debug)]
    #[non_exhaustive]
    pub struct Builder {
        /// Maximum number of preemptions of a run.
        pub preemption_bound: Option<usize>,
        /// Maximum number of steps of a run.
        pub max_branches: usize,
        /// Maximum number of runs.
        pub max_permutations: Option<usize>,
        /// Maximum time of all runs. When it is over, the check ends without a failure.
        pub max_duration: Option<Duration>,
    }

    impl Default for Builder {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Builder {
        /// Creates the default options: every run, each of at most 1,000 steps.
        #[must_use]
        pub fn new() -> Self {
            Self { preemption_bound: None, max_branches: 1_000, max_permutations: None, max_duration: None }
        }

        /// Performs every run of a closure within these bounds.
        ///
        /// # Panics
        ///
        /// A run fails.
        #[track_caller]
        pub fn check(&self, f: impl Fn() + Send + Sync + 'static) {
            let runs = self.max_permutations.map_or(u64::MAX, |most| most as u64);
            let checker = Checker::new().confirm(false).runs(runs).steps(self.max_branches as u64);
            let bound = self.preemption_bound.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
            let checker = bound.map_or_else(|| checker.clone().every_run(), |most| checker.clone().preemptions(most));
            let checker = self.max_duration.map_or(checker.clone(), |time| checker.time_limit(time));
            if let Err(failure) = checker.try_check(f) {
                panic!("{failure}");
            }
        }
    }
}
