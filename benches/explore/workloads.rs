//! Defines the workloads: the same small programs for every tool, each at some sizes, and two more for raceflip alone,
//! to measure its growth.
//!
//! A step is a visible operation: a read or write of shared memory, an operation on a lock or a semaphore, a post, or
//! the begin of a task. Local work of a thread belongs to the step before it. Threads and loopers of the compared
//! programs run forever, so no tool counts ends in addition.

use clap::ValueEnum;
use std::fmt;
use std::time::Duration;

/// A program, without its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Program {
    /// `n` philosophers that take their forks in order.
    Philosophers,
    /// `n` producers and `n` consumers of a ring with `second` slots.
    Buffer,
    /// Peterson's algorithm for `n` threads, which count modulo `second`.
    Peterson,
    /// Two writers and `n` readers of two variables.
    Readers,
    /// `n` threads with a variable of their own each.
    Threads,
    /// Two threads that post `n` tasks each to a looper.
    Tasks,
}

/// A program with its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Workload {
    pub(crate) program: Program,
    pub(crate) n: u64,
    /// Second size of a program that has one; otherwise 0.
    pub(crate) second: u64,
}

const fn of(program: Program, n: u64, second: u64) -> Workload {
    Workload { program, n, second }
}

use Program::{Buffer, Peterson, Philosophers, Readers, Tasks, Threads};

/// Workloads whose counts are compared before any time is measured.
pub(crate) const SMALL: [Workload; 7] = [
    of(Philosophers, 3, 0),
    of(Peterson, 2, 5),
    of(Readers, 2, 0),
    of(Philosophers, 6, 0),
    of(Buffer, 2, 3),
    of(Peterson, 3, 2),
    of(Readers, 5, 0),
];

/// Workloads that are timed; they have a million states or more.
pub(crate) const LARGE: [Workload; 4] =
    [of(Philosophers, 12, 0), of(Buffer, 3, 5), of(Peterson, 4, 5), of(Readers, 9, 0)];

/// Returns the workloads with 1 to `most` threads, which have up to 4^`most` states.
pub(crate) fn threads(most: u64) -> Vec<Workload> {
    (1..=most).map(|n| of(Threads, n, 0)).collect()
}

/// Returns the workloads with 1 to `most` tasks per poster. One more task gives nearly four times the states.
pub(crate) fn tasks(most: u64) -> Vec<Workload> {
    (1..=most).map(|n| of(Tasks, n, 0)).collect()
}

impl Workload {
    /// Returns the model for raceflip.
    pub(crate) fn race(self) -> &'static str {
        match self.program {
            Philosophers => include_str!("../models/explore/philosophers.race"),
            Buffer => include_str!("../models/explore/buffer.race"),
            Peterson => include_str!("../models/explore/peterson.race"),
            Readers => include_str!("../models/explore/readers.race"),
            Threads => include_str!("../models/explore/threads.race"),
            Tasks => include_str!("../models/explore/tasks.race"),
        }
    }

    /// Returns the model for SPIN; `None` if the program is not compared.
    pub(crate) fn promela(self) -> Option<&'static str> {
        match self.program {
            Philosophers => Some(include_str!("../models/explore/philosophers.pml")),
            Buffer => Some(include_str!("../models/explore/buffer.pml")),
            Peterson => Some(include_str!("../models/explore/peterson.pml")),
            Readers => Some(include_str!("../models/explore/readers.pml")),
            Threads | Tasks => None,
        }
    }

    /// Returns the number by which a program grows: threads, or tasks in all.
    pub(crate) fn size(self) -> u64 {
        if self.program == Tasks { 2 * self.n } else { self.n }
    }

    /// Returns the constants that are set in both models.
    pub(crate) fn defines(self) -> Vec<(&'static str, u64)> {
        let second = match self.program {
            Buffer => Some("SLOTS"),
            Peterson => Some("ROUNDS"),
            Philosophers | Readers | Threads | Tasks => None,
        };
        [("N", self.n)].into_iter().chain(second.map(|name| (name, self.second))).collect()
    }
}

/// Formats the workload for people.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, n, second } = self;
        match program {
            Philosophers => write!(f, "philosophers, {n}"),
            Buffer => write!(f, "buffer, {n} + {n}, {second} slots"),
            Peterson => write!(f, "Peterson, {n} threads"),
            Readers => write!(f, "readers and writers, {n} + 2"),
            Threads => write!(f, "threads, {n}"),
            Tasks => write!(f, "tasks, 2 × {n}"),
        }
    }
}

/// Size of a state space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    /// Number of distinct reachable states.
    pub(crate) states: u64,
    /// Number of steps out of all states, counted once for each state.
    pub(crate) transitions: u64,
}

/// Result of one search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Searched {
    pub(crate) counts: Counts,
    /// Duration of the search alone, without compiling and loading.
    pub(crate) took: Duration,
    pub(crate) memory: Memory,
}

/// Memory of a search in bytes; `None` if the tool or the system does not report it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Memory {
    /// Size of the set of visited states, including the links that lead back from each.
    pub(crate) visited: Option<u64>,
    /// Peak size of the whole process.
    pub(crate) peak: Option<u64>,
}
