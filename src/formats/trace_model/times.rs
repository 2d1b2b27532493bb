//! The times of posts in a model.

use crate::event::PostTime;
use crate::trace::{Task, Trace};
use std::collections::BTreeMap;

// Delays and instants from here on are replaced by small ones of the same order: about 25 days, which is less than the
// virtual time of a run. EM-Explorer's traces have no delays, and the reader assumes very large ones.
const LARGE: i64 = 1 << 31;

// The milliseconds between two large times.
const STEP: i64 = 10;

/// The times of a trace as a model has them.
pub(super) struct Times {
    large: BTreeMap<i64, i64>,
}

impl Times {
    pub(super) fn new(trace: &Trace) -> Self {
        let time = |task: &Task| match task.time {
            PostTime::After(time) | PostTime::At(time) => time,
            _ => 0,
        };
        let longest = trace.tasks.iter().map(time).filter(|time| *time < LARGE).max().unwrap_or_default().max(0);
        let mut large: BTreeMap<i64, i64> =
            trace.tasks.iter().map(time).filter(|time| *time >= LARGE).map(|time| (time, 0)).collect();
        for (short, n) in large.values_mut().zip(1..) {
            *short = longest + n * STEP;
        }
        Self { large }
    }

    fn short(&self, time: i64) -> i64 {
        self.large.get(&time).copied().unwrap_or(time)
    }

    /// Returns the options of a post. Only the looper itself can post a microtask.
    pub(super) fn of(&self, task: &Task, by_looper: bool) -> String {
        match task.time {
            PostTime::Now | PostTime::After(..=0) => String::new(),
            PostTime::After(delay) => format!(" after {}", self.short(delay)),
            PostTime::Front | PostTime::At(..=0) => " at front".to_owned(),
            PostTime::At(time) => format!(" at {}", self.short(time)),
            PostTime::Micro if by_looper => " micro".to_owned(),
            PostTime::Micro => String::new(),
            PostTime::Idle { keep } => if keep { " idle keep" } else { " idle" }.to_owned(),
        }
    }
}
