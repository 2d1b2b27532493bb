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

impl World {
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
        let instant = self.now.saturating_add(delay);
        self.horizon = self.horizon.max(instant);
        instant
    }

    /// An absolute instant; 0 or less is the front.
    pub(super) fn at(&mut self, instant: i64) -> u64 {
        let instant = u64::try_from(instant).unwrap_or(0);
        self.horizon = self.horizon.max(instant);
        instant
    }

    fn deadlines(&self) -> impl Iterator<Item = u64> + '_ {
        let threads = self.timed.iter().filter_map(|t| self.threads[t].deadline);
        let messages = self.threads.iter().filter_map(|t| t.queue.as_ref()).flat_map(|q| q.messages().map(|m| m.when));
        threads.chain(messages).filter(|d| *d > self.now)
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
        self.deadlines().min().unwrap_or(self.now)
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
        if to > self.limits.time {
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
