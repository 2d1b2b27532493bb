//! The virtual clock. It advances only when a choice says so, and may also advance while threads are enabled.

use super::World;
use crate::event::{EventKind, LimitKind, Outcome, ThreadId};
use smallvec::SmallVec;

/// Returns whether a deadline has passed.
#[inline]
pub(super) fn due(deadline: Option<u64>, now: u64) -> bool {
    deadline.is_some_and(|d| d <= now)
}

// Maximum number of delays of one run that are kept for the critical instants. A program that computes delays may use
// more.
const MOST_DELAYS: usize = 64;

/// Unit of the virtual clock: `down / up` milliseconds. It is one millisecond except in an exhaustive search
/// (`docs/semantics.md`, *The clock*). Instant 1 is the same in every scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Number of units in `down` milliseconds.
    pub up: u64,
    /// Number of milliseconds in `up` units. If the scale fits, it divides every delay in milliseconds, and every
    /// instant less 1.
    pub down: u64,
    /// Greatest common divisor of `down` and all durations (and instants less 1) that the app has used so far, in
    /// milliseconds. If it is less than `down`, the scale does not fit.
    pub fits: u64,
}

impl Default for Scale {
    fn default() -> Self {
        Self::new(1, 1)
    }
}

impl Scale {
    /// Creates a scale with `up` units in `down` milliseconds.
    #[must_use]
    pub fn new(up: u64, down: u64) -> Self {
        Self { up, down, fits: down }
    }

    /// Records that the app has used a duration.
    #[inline]
    fn asked_for(&mut self, milliseconds: u64) {
        if self.fits > 1 {
            self.fits = divisor(self.fits, milliseconds);
        }
    }

    /// Returns a duration in units, rounded down.
    #[inline]
    fn units(self, milliseconds: u64) -> u64 {
        if self.down == 1 && self.up == 1 {
            return milliseconds;
        }
        u64::try_from(u128::from(milliseconds) * u128::from(self.up) / u128::from(self.down)).unwrap_or(u64::MAX)
    }

    /// Returns the millisecond that contains an instant of this scale.
    #[must_use]
    pub fn milliseconds(self, instant: u64) -> u64 {
        match instant {
            0 => 0,
            _ => {
                let passed = u128::from(instant - 1) * u128::from(self.down) / u128::from(self.up);
                u64::try_from(passed + 1).unwrap_or(u64::MAX)
            }
        }
    }

    /// Returns the instant of a millisecond in units, rounded down.
    #[inline]
    pub(crate) fn instant(self, millisecond: u64) -> u64 {
        match millisecond {
            0 => 0,
            _ => self.units(millisecond - 1).saturating_add(1),
        }
    }
}

/// Returns the greatest common divisor.
pub(crate) fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl World {
    /// Sets the unit of the clock. A search calls this before it starts the machine.
    pub(crate) fn set_scale(&mut self, scale: Scale) {
        self.scale = scale;
    }

    /// Returns the unit of the clock.
    #[must_use]
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Returns the number of different instants after now at which a deadline lies.
    #[must_use]
    pub(crate) fn deadlines_ahead(&self) -> usize {
        if self.horizon <= self.now {
            return 0;
        }
        let mut all: smallvec::SmallVec<[u64; 16]> = self.deadlines().collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    /// Returns the last instant to which one move of the clock can go while a deadline lies ahead: the last deadline,
    /// or the last constant of an `at`, whichever is later.
    #[must_use]
    pub(crate) fn last_instant(&self) -> u64 {
        let constant = self.setup.instants.last().map_or(0, |last| self.scale.instant(*last));
        self.deadlines().max().unwrap_or(self.now).max(constant)
    }

    /// Returns the largest instant for which the app may post with `at`, in units. `u64::MAX` if the app computes one.
    pub(super) fn absolute_until(&self) -> u64 {
        match self.setup.absolute_until {
            u64::MAX => u64::MAX,
            until => self.scale.instant(until),
        }
    }

    /// Returns the instant that is `delay` milliseconds after now. A negative delay counts as 0.
    pub(super) fn after(&mut self, delay: i64) -> u64 {
        let delay = u64::try_from(delay).unwrap_or(0);
        if delay > 0
            && self.setup.delays.binary_search(&delay).is_err()
            && self.delays.len() < MOST_DELAYS
            && let Err(at) = self.delays.binary_search(&delay)
        {
            self.delays.insert(at, delay);
        }
        self.scale.asked_for(delay);
        let instant = self.now.saturating_add(self.scale.units(delay));
        self.horizon = self.horizon.max(instant);
        instant
    }

    /// Returns the instant of the clock in milliseconds, for a program that reads it. A search then needs a clock of
    /// milliseconds.
    pub(super) fn read_clock(&mut self) -> i64 {
        self.scale.asked_for(1);
        i64::try_from(self.scale.milliseconds(self.now)).unwrap_or(i64::MAX)
    }

    /// Returns an absolute instant, given in milliseconds, in units. 0 or less means the front of a queue.
    pub(super) fn at(&mut self, instant: i64) -> u64 {
        let instant = u64::try_from(instant).unwrap_or(0);
        self.scale.asked_for(instant.saturating_sub(1));
        let instant = self.scale.instant(instant);
        self.horizon = self.horizon.max(instant);
        instant
    }

    fn deadlines(&self) -> impl Iterator<Item = u64> + '_ {
        self.timeouts().chain(self.queues().flat_map(|q| q.after(self.now)))
    }

    // Deadlines of threads that are not due yet.
    fn timeouts(&self) -> impl Iterator<Item = u64> + '_ {
        self.timed.iter().filter_map(|t| self.threads[t].deadline).filter(|d| *d > self.now)
    }

    /// Returns whether the clock may move, which is the case while a deadline lies ahead.
    #[inline]
    #[must_use]
    pub fn clock_open(&self) -> bool {
        self.horizon > self.now
            && (self.queues().any(|queue| queue.has_later(self.now)) || self.timeouts().next().is_some())
    }

    /// Returns the first deadline after now. Returns now if there is none.
    #[must_use]
    pub fn next_deadline(&self) -> u64 {
        let messages = self.queues().filter_map(|q| q.after(self.now).next());
        self.timeouts().chain(messages).min().unwrap_or(self.now)
    }

    /// Returns the critical instants after now, ascending: each deadline, each deadline minus each delay of the app,
    /// and each constant of an `at`.
    #[must_use]
    pub fn instants(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.instants_into(&mut all);
        all
    }

    /// Computes the [`instants`](Self::instants) into a vector that can be reused.
    pub fn instants_into(&self, all: &mut Vec<u64>) {
        all.clear();
        for deadline in self.deadlines() {
            all.push(deadline);
            all.extend(self.setup.delays.iter().chain(&self.delays).filter_map(|d| deadline.checked_sub(*d)));
        }
        all.extend(&self.setup.instants);
        all.retain(|i| *i > self.now);
        all.sort_unstable();
        all.dedup();
    }

    // Refreshes the threads whose deadline is after `before` and not after now. The deadlines of the other threads have
    // changed nothing. A thread whose wait has timed out needs its lock back, and may close a cycle of locks.
    fn pass_deadlines(&mut self, before: u64) {
        let passed = |t: &ThreadId| self.threads[*t].deadline.is_some_and(|d| before < d && d <= self.now);
        let passed: SmallVec<[ThreadId; 8]> = self.timed.iter().filter(passed).collect();
        for thread in &passed {
            self.refresh(*thread);
        }
        if passed.iter().any(|thread| self.lock_cycle(*thread).is_some()) {
            // The report begins with the lowest thread of the cycle that has a deadline.
            for thread in self.timed.clone().iter() {
                self.check_cycle(thread);
            }
        }
    }

    /// Moves the clock to an instant after now, or ends the run if that is beyond the limit of time. The time counts as
    /// stall if a thread is enabled.
    pub(crate) fn tick(&mut self, to: u64) {
        debug_assert!(to > self.now);
        if self.scale.milliseconds(to) > self.limits.time {
            self.end(Outcome::Limit(LimitKind::VirtualTime, self.limits.time));
            return;
        }
        if !self.enabled.is_empty() {
            self.stall += to - self.now;
        }
        let before = std::mem::replace(&mut self.now, to);
        self.pass_deadlines(before);
        for looper in self.loopers.clone().iter() {
            self.refresh_looper(looper);
        }
        self.record(None, None, None, || EventKind::Tick);
    }
}
