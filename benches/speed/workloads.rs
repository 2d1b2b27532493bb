//! Defines the workloads: the same small programs for every tool, each at some sizes.

use std::fmt;
use std::str::FromStr;

/// A program with its sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Workload {
    /// Two threads add to a counter that nothing protects.
    Counter,
    /// Threads that each repeat `iterations` times: lock, increment, unlock.
    Lock { threads: u64, iterations: u64 },
    /// RaceFuzzer's figure 2 with `k` statements before the racing read.
    Figure2 { k: u64 },
    /// A looper that runs `tasks` tasks posted by two threads.
    Looper { tasks: u64 },
}

use Workload::{Counter, Figure2, Lock, Looper};

/// All workloads. Those of the lock have about 1,000 scheduling points per run in raceflip.
pub(crate) const ALL: [Workload; 10] = [
    Counter,
    Lock { threads: 2, iterations: 125 },
    Lock { threads: 4, iterations: 63 },
    Lock { threads: 10, iterations: 25 },
    Figure2 { k: 5 },
    Figure2 { k: 50 },
    Figure2 { k: 500 },
    Looper { tasks: 1_000 },
    Looper { tasks: 10_000 },
    Looper { tasks: 100_000 },
];

impl Workload {
    /// Returns the number of iterations of a run: increments of the counter, statements under figure 2's lock, or
    /// tasks.
    pub(crate) fn iterations(self) -> u64 {
        match self {
            Counter => 2,
            Lock { threads, iterations } => threads * iterations,
            Figure2 { k } => k,
            Looper { tasks } => tasks,
        }
    }

    /// Returns whether the other tools run it, too. Longer loopers only show whether the cost of a task grows.
    pub(crate) fn compared(self) -> bool {
        !matches!(self, Looper { tasks: 1_001.. })
    }

    /// Returns the name for people.
    pub(crate) fn title(self) -> String {
        match self {
            Counter => "counter, 2 threads".to_owned(),
            Lock { threads, .. } => format!("lock, {threads} threads"),
            Figure2 { k } => format!("figure 2, k = {k}"),
            Looper { tasks } => format!("looper, {} tasks", crate::numbers::grouped(tasks)),
        }
    }
}

/// Formats the name on the command line, such as `lock-4`.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Counter => write!(f, "counter"),
            Lock { threads, .. } => write!(f, "lock-{threads}"),
            Figure2 { k } => write!(f, "figure2-{k}"),
            Looper { tasks } => write!(f, "looper-{tasks}"),
        }
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        ALL.into_iter().find(|w| w.to_string() == name).ok_or_else(|| format!("there is no workload `{name}`"))
    }
}
