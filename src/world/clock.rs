//! The virtual clock: it stands still until somebody moves it, and may move while threads could run.

use super::World;
use crate::event::{Happening, LimitKind, Outcome, ThreadId};

/// Whether a deadline has passed.
#[inline]
pub(super) fn due(deadline: Option<u64>, now: u64) -> bool {
    deadline.is_some_and(|d| d <= now)
}

// Delays of one run that are remembered for the critical instants; more are drawn by programs that compute delays.
const MOST_DELAYS: usize = 64;

/// How long a unit of the clock is: `down / up` milliseconds; one, but in an exhaustive search (`docs/semantics.md`, *The clock*). The instant 1 is 1 in every scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Units in `down` milliseconds.
    pub up: u64,
    /// Divides every delay in milliseconds, and every instant less 1.
    pub down: u64,
    /// The greatest number that divides `down` and all that the app has asked for: less than `down` says that the scale does not fit.
    pub fits: u64,
}

impl Default for Scale {
    fn default() -> Self {
        Self::new(1, 1)
    }
}

impl Scale {
    /// `up` units in `down` milliseconds.
    #[must_use]
    pub fn new(up: u64, down: u64) -> Self {
        Self { up, down, fits: down }
    }

    /// The app asks for a duration.
    #[inline]
    fn asked_for(&mut self, milliseconds: u64) {
        if self.fits > 1 {
            self.fits = divisor(self.fits, milliseconds);
        }
    }

    /// The units of a duration.
    #[inline]
    fn units(self, milliseconds: u64) -> u64 {
        if self.down == 1 && self.up == 1 {
            return milliseconds;
        }
        u64::try_from(u128::from(milliseconds) * u128::from(self.up) / u128::from(self.down)).unwrap_or(u64::MAX)
    }

    /// The millisecond that an instant in units lies in.
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

    /// The instant of a millisecond, in units.
    #[inline]
    pub(crate) fn instant(self, millisecond: u64) -> u64 {
        match millisecond {
            0 => 0,
            _ => self.units(millisecond - 1).saturating_add(1),
        }
    }
}

/// The greatest common divisor.
pub(crate) fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl World {
    /// Runs the clock in units of this scale from now on. For a search, before anything has happened.
    pub(crate) fn set_scale(&mut self, scale: Scale) {
        self.scale = scale;
    }

    /// The scale of the clock.
    #[must_use]
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// How many deadlines lie ahead: instants, each once.
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

    /// The last instant that the clock may move to at once, while a deadline lies ahead: the last deadline, or the last constant of an `at`.
    #[must_use]
    pub(crate) fn last_instant(&self) -> u64 {
        let constant = self.setup.instants.last().map_or(0, |last| self.scale.instant(*last));
        self.deadlines().max().unwrap_or(self.now).max(constant)
    }

    /// The largest instant that the app may post `at`, in units.
    pub(super) fn absolute_until(&self) -> u64 {
        match self.setup.absolute_until {
            u64::MAX => u64::MAX,
            until => self.scale.instant(until),
        }
    }

    /// The instant `delay` milliseconds from now; a negative delay is none.
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

    /// An absolute instant; 0 or less is the front.
    pub(super) fn at(&mut self, instant: i64) -> u64 {
        let instant = u64::try_from(instant).unwrap_or(0);
        self.scale.asked_for(instant.saturating_sub(1));
        let instant = self.scale.instant(instant);
        self.horizon = self.horizon.max(instant);
        instant
    }

    fn deadlines(&self) -> impl Iterator<Item = u64> + '_ {
        let messages = self.threads.iter().filter_map(|t| t.queue.as_ref()).flat_map(|q| q.after(self.now));
        self.timeouts().chain(messages)
    }

    // Those of threads.
    fn timeouts(&self) -> impl Iterator<Item = u64> + '_ {
        self.timed.iter().filter_map(|t| self.threads[t].deadline).filter(|d| *d > self.now)
    }

    /// Whether a deadline lies ahead.
    #[inline]
    #[must_use]
    pub fn clock_open(&self) -> bool {
        self.horizon > self.now && self.deadlines().next().is_some()
    }

    /// The first deadline that lies ahead; now if there is none.
    #[must_use]
    pub fn next_deadline(&self) -> u64 {
        let messages = self.threads.iter().filter_map(|t| t.queue.as_ref()?.after(self.now).next());
        self.timeouts().chain(messages).min().unwrap_or(self.now)
    }

    /// The critical instants, ascending: each deadline ahead, each deadline less each delay of the app, each constant of an `at`.
    #[must_use]
    pub fn instants(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.instants_into(&mut all);
        all
    }

    /// [`instants`](Self::instants), into a vector that is used again and again.
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

    /// Moves the clock to an instant after now.
    pub(crate) fn tick(&mut self, to: u64) {
        debug_assert!(to > self.now);
        if self.scale.milliseconds(to) > self.limits.time {
            self.end(Outcome::Limit(LimitKind::VirtualTime, self.limits.time));
            return;
        }
        if !self.enabled.is_empty() {
            self.stall += to - self.now;
        }
        self.now = to;
        for thread in self.timed.clone().iter() {
            self.refresh(thread);
            self.check_cycle(thread);
        }
        for i in 0..self.threads.len() {
            if self.threads[ThreadId(i as u32)].queue.is_some() {
                self.refresh_looper(ThreadId(i as u32));
            }
        }
        self.record(None, None, None, || Happening::Tick);
    }
}
