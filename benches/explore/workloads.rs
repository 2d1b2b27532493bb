//! What is searched through: the same small programs for every tool, each at some sizes; and two more for raceflip alone, to see how it grows.
//!
//! A step is a visible operation: a read or write of shared memory, what is done to a lock or a semaphore, a post, the begin of a task. What a thread does
//! by itself belongs to the step before. Threads and loopers of the compared programs go on for ever, so that no tool has an end of its own to count.

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
    /// Of a program that has one; else 0.
    pub(crate) second: u64,
}

const fn of(program: Program, n: u64, second: u64) -> Workload {
    Workload { program, n, second }
}

use Program::{Buffer, Peterson, Philosophers, Readers, Tasks, Threads};

/// Those whose counts are compared before anything is timed.
pub(crate) const SMALL: [Workload; 7] = [
    of(Philosophers, 3, 0),
    of(Peterson, 2, 5),
    of(Readers, 2, 0),
    of(Philosophers, 6, 0),
    of(Buffer, 2, 3),
    of(Peterson, 3, 2),
    of(Readers, 5, 0),
];

/// Those that are timed: a million states and more.
pub(crate) const LARGE: [Workload; 4] =
    [of(Philosophers, 12, 0), of(Buffer, 3, 5), of(Peterson, 4, 5), of(Readers, 9, 0)];

/// So many threads, up to 4^`most` states.
pub(crate) fn threads(most: u64) -> Vec<Workload> {
    (1..=most).map(|n| of(Threads, n, 0)).collect()
}

/// So many tasks of each poster; one more is four times the states, nearly.
pub(crate) fn tasks(most: u64) -> Vec<Workload> {
    (1..=most).map(|n| of(Tasks, n, 0)).collect()
}

impl Workload {
    /// The model for raceflip.
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

    /// The model for SPIN, if it is compared.
    pub(crate) fn promela(self) -> Option<&'static str> {
        match self.program {
            Philosophers => Some(include_str!("../models/explore/philosophers.pml")),
            Buffer => Some(include_str!("../models/explore/buffer.pml")),
            Peterson => Some(include_str!("../models/explore/peterson.pml")),
            Readers => Some(include_str!("../models/explore/readers.pml")),
            Threads | Tasks => None,
        }
    }

    /// What it grows by: threads, or tasks in all.
    pub(crate) fn size(self) -> u64 {
        if self.program == Tasks { 2 * self.n } else { self.n }
    }

    /// The constants of both models that have other values.
    pub(crate) fn defines(self) -> Vec<(&'static str, u64)> {
        let second = match self.program {
            Buffer => Some("SLOTS"),
            Peterson => Some("ROUNDS"),
            Philosophers | Readers | Threads | Tasks => None,
        };
        [("N", self.n)].into_iter().chain(second.map(|name| (name, self.second))).collect()
    }
}

/// For people.
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

/// How large a state space is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    /// Distinct states that can be reached.
    pub(crate) states: u64,
    /// Steps out of those, each counted once for each state.
    pub(crate) transitions: u64,
}

/// What one search did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Searched {
    pub(crate) counts: Counts,
    /// Of the search alone, without compiling and loading.
    pub(crate) took: Duration,
    pub(crate) memory: Memory,
}

/// What a search needed, in bytes; `None` where the tool or the system does not tell.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Memory {
    /// The set of visited states, with what leads back from each.
    pub(crate) visited: Option<u64>,
    /// The whole process at its largest.
    pub(crate) peak: Option<u64>,
}
